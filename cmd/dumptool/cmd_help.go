package main

import (
	"github.com/spf13/cobra"
)

// newHelpCommand replaces cobra's own, which calls an unknown topic a success.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND]...",
		Short:       "print the help of a command",
		Long:        "help prints the help of a command, like COMMAND --help." + exitStatus(),
		Args:        cobra.ArbitraryArgs,
		Annotations: withoutSettings(),
		RunE:        func(cmd *cobra.Command, args []string) error { return runHelp(cmd.Root(), args) },
	}
}

// runHelp prints the help of the command that topic names.
func runHelp(root *cobra.Command, topic []string) error {
	cmd := root
	for _, word := range topic {
		sub := subcommand(cmd, word)
		if sub == nil {
			return unknownCommand(cmd, word)
		}
		cmd = sub
	}
	cmd.InitDefaultHelpFlag()
	return cmd.Help()
}

package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func newCompletionCommand(a *app) *cobra.Command {
	shells := []cobra.Completion{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "print a completion script for a shell",
		Long: `completion prints a script that completes commands and flags in a shell.
To use it in the running shell:

  bash        source <(dumptool completion bash)
  zsh         source <(dumptool completion zsh)
  fish        dumptool completion fish | source
  powershell  dumptool completion powershell | Out-String | Invoke-Expression

To use it in every shell, put that line into the shell's start-up file.` + exitStatus(),
		ValidArgs:   shells,
		Args:        oneShell,
		Annotations: withoutSettings(),
		RunE:        func(cmd *cobra.Command, args []string) error { return runCompletion(a, cmd.Root(), args[0]) },
	}
}

// oneShell is the Args of completion.
func oneShell(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || !slices.Contains(cmd.ValidArgs, args[0]) {
		return usagef("one shell is needed: %s", strings.Join(cmd.ValidArgs, ", "))
	}
	return nil
}

// runCompletion prints the script for one of the shells of the command.
func runCompletion(a *app, root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(a.out, true)
	case "zsh":
		return root.GenZshCompletion(a.out)
	case "fish":
		return root.GenFishCompletion(a.out, true)
	default:
		return root.GenPowerShellCompletionWithDesc(a.out)
	}
}

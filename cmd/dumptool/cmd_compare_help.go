package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the width of help texts.
const helpWidth = 80

// flagGroup is a part of a help text: flags that belong together.
type flagGroup struct {
	title string
	names []string
}

// compareGroups are the flags of compare and of the commands below it, those
// that most people need first.
func compareGroups() []flagGroup {
	return []flagGroup{
		{"What is compared", []string{"cpu", "npu", "op", "ops", "ops-from", "skip-keys", "exclude-node-list", "map-node-dict", "fusion",
			"inputs", "round", "max-elems", "version"}},
		{"Limits", []string{"profile", "atol", "rtol", "op-config", "tol-mode", "nan-policy", "max-error-ratio", "int-tol", "accum",
			"min-cos", "min-sqnr", "max-red", "max-mean-rel", "max-ulp"}},
		{"Shapes and axis orders", []string{"auto-layout", "transpose", "ref-format", "original-format", "crop-padding", "force-compare", "strict-dtype",
			"ref-dtype", "bin-dtype"}},
		{"Execution order, and which operator feeds which", []string{"order", "node-runtime-filename", "order-file", "consumer-map"}},
		{"Reports", []string{"out", "format", "topn", "diff-cnt", "diff-order", "extra-columns", "hpaa-version", "bom"}},
		{"Exit status", []string{"fail-on", "fail-fast", "exit-zero", "require-coverage", "baseline", "update-baseline", "baseline-slack"}},
		{"Other flags", []string{"jobs", helpFlag}},
	}
}

// groupedUsage prints the usage of a command with its flags in groups. Flags of
// no group are among the last.
func groupedUsage(cmd *cobra.Command, groups []flagGroup) error {
	var b strings.Builder
	b.WriteString("Usage:\n  " + cmd.UseLine() + "\n")
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-12s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	b.WriteString(groupedFlags(cmd.LocalFlags(), groups))
	if cmd.HasAvailableInheritedFlags() {
		b.WriteString("\nGlobal flags:\n" + cmd.InheritedFlags().FlagUsagesWrapped(helpWidth))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n'%s COMMAND --help' tells more about a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// groupedFlags are the lines about flags, a block for each group.
func groupedFlags(flags *pflag.FlagSet, groups []flagGroup) string {
	var b strings.Builder
	var grouped []string
	for _, g := range groups {
		grouped = append(grouped, g.names...)
	}
	for i, g := range groups {
		set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.names {
			if f := flags.Lookup(name); f != nil {
				set.AddFlag(f)
			}
		}
		if i == len(groups)-1 {
			flags.VisitAll(func(f *pflag.Flag) {
				if !slices.Contains(grouped, f.Name) {
					set.AddFlag(f)
				}
			})
		}
		if set.HasAvailableFlags() {
			b.WriteString("\n" + g.title + ":\n" + set.FlagUsagesWrapped(helpWidth))
		}
	}
	return b.String()
}

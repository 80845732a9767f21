package main

import (
	"strings"

	"github.com/spf13/cobra"
)

func newHPAACommand(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "hpaa",
		Short: "the NPU side of HPAA: raw pieces to tensors",
		Long: `hpaa has a command for what HPAA's driver leaves in dump_data below
$DUMP_MEMORY_PATH. Its arrays are compared by dumptool compare.`,
	})
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	cmd.AddCommand(newHPAAImportCommand(a))
	return cmd
}

// newNPUAnalysisCommand is hpaa import under the name that HPAA's script has.
func newNPUAnalysisCommand(a *app) *cobra.Command {
	cmd := newHPAAImportCommand(a)
	cmd.Use = strings.Replace(cmd.Use, cmd.Name(), cmd.Aliases[0], 1)
	cmd.Aliases = cmd.Aliases[1:]
	cmd.Hidden = true
	return cmd
}

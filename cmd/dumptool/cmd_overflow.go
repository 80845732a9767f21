package main

import (
	"github.com/spf13/cobra"
)

func newOverflowCommand(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "overflow",
		Short: "find out what overflowed, and why",
		Long: `overflow has commands for what a device leaves behind when numbers overflow:
the records that it writes (OpDebug dumps), their status words, and the dumps of
the operators.`,
	})
	cmd.Long += exitStatus(exitFound, exitNothing, exitInterrupted)
	cmd.AddCommand(
		newOverflowDecodeCommand(a),
		newOverflowStatusCommand(a),
		newOverflowAnalyzeCommand(a),
		newOverflowScanCommand(a),
		newOverflowWatchCommand(a),
	)
	return cmd
}

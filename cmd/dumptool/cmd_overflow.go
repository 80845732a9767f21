package main

import (
	"github.com/spf13/cobra"

	"dumptool/internal/report"
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
	)
	return cmd
}

// langFlag adds the flag for the language of causes and advice.
func langFlag(cmd *cobra.Command, lang *report.Lang) {
	*lang = report.English
	cmd.Flags().Var(lang, "lang", "language of causes and advice")
	completeValues(cmd, "lang", []string{string(report.English), string(report.Chinese)})
}

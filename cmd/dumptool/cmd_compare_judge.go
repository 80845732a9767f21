package main

import (
	"context"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/compare"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
)

type compareJudgeOptions struct {
	*comparison
	format string
}

func newCompareJudgeCommand(a *app) *cobra.Command {
	opts := &compareJudgeOptions{comparison: newComparison()}
	cmd := &cobra.Command{
		Use:   "judge COMPARE.JSON",
		Short: "judge a finished comparison by its evidence, or by other limits",
		Long: `judge reads the compare.json of a run and judges its rows without the tensors:
by their evidence, or by limits where any are given (--verdict). By limits a row
is judged exactly if all of its elements pass, if the worst one decides, or if
the limits are those of the run; for the others the number of errors is bounded,
and a row for which both answers are possible is UNDECIDED, which counts as
failed. Limits that are not given are those of the profile, not of the run.`,
		Example: `  dumptool compare judge report/compare.json --atol 0.001 --rtol 0.01
  dumptool compare judge report/compare.json --max-error-ratio 0.001`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runCompareJudge(cmd.Context(), a, opts, args) },
	}
	cmd.Long += formatHelp[*compare.Judgement]() + exitStatus(exitFound, exitNothing)
	define(cmd, opts.judge(cmd)...)
	formatFlag[*compare.Judgement](cmd, &opts.format)
	(*exitZero)(&opts.ExitZero).add(cmd.Flags(), "failures")
	return cmd
}

// runCompareJudge judges a document.
func runCompareJudge(_ context.Context, a *app, opts *compareJudgeOptions, args []string) error {
	if len(args) != 1 {
		return usagef("want one compare.json, got %s", lang.Count(len(args), "argument"))
	}
	if err := opts.load(""); err != nil {
		return err
	}
	doc, err := compare.ReadReport(args[0])
	if err != nil {
		return err
	}
	if doc.Interrupted {
		a.msg.Warnf("%s is of a run that was interrupted: rows are missing", args[0])
	}
	if n := doc.LeftOut; n > 0 {
		a.say([]batch.Message{batch.Warnf("%s lacks %s that passed (--rows bad): by other limits they are UNDECIDED", "%s 中没有 %s(--rows bad，均已通过)：按其他门限判定时为 UNDECIDED",
			args[0], lang.CountText(n, "row", "行"))})
	}
	j, err := compare.Judge(doc, opts.Options.Judge, opts.SideFiles.OpConfig)
	if err != nil {
		return safefile.WithPath(args[0], err)
	}
	if j.ByLevels {
		a.say([]batch.Message{batch.Infof("%s lacks the noise of its rows: the evidence is that of the run", "%s 中没有各行的噪声数据：采用比对时的证据", args[0])})
	}
	if err := printResult(a, opts.format, j, report.Options{}); err != nil {
		return err
	}
	return a.conclude(j.Outcome(args[0], opts.ExitZero))
}

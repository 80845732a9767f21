package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"dumptool/internal/compare"
	"dumptool/internal/report"
)

type compareJudgeOptions struct {
	judge    judgeFlags
	format   string
	exitZero bool
}

func newCompareJudgeCommand(a *app) *cobra.Command {
	opts := new(compareJudgeOptions)
	cmd := &cobra.Command{
		Use:   "judge COMPARE.JSON",
		Short: "judge a finished comparison by other limits",
		Long: `judge reads the compare.json of a run and judges its rows by other limits,
without the tensors. A row is judged exactly if all of its elements pass, if the
worst one decides, or if the limits are those of the run; for the others the
number of errors is bounded, and a row for which both answers are possible is
UNDECIDED, which counts as failed. Limits that are not given are those of the
profile, not of the run.`,
		Example: `  dumptool compare judge report/compare.json --atol 0.001 --rtol 0.01
  dumptool compare judge report/compare.json --max-error-ratio 0.001`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runCompareJudge(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitNothing)
	opts.judge.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&opts.format, "format", "text", "`FORMAT` of the report: text, json or csv")
	flags.BoolVar(&opts.exitZero, "exit-zero", false, "failures do not change the exit status")
	completeValues(cmd, "format", []string{"text", "json", "csv"})
	return cmd
}

// runCompareJudge judges a document.
func runCompareJudge(_ context.Context, a *app, opts *compareJudgeOptions, args []string) error {
	if len(args) != 1 {
		return usagef("want one compare.json, got %s", counted(len(args), "argument"))
	}
	format, err := oneOf("--format", opts.format, []string{"text", "json", "csv"})
	if err != nil {
		return err
	}
	var judge compare.JudgeOptions
	if err := opts.judge.resolve(&judge); err != nil {
		return err
	}
	config, err := opts.judge.load("")
	if err != nil {
		return err
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	doc, err := compare.ReadDocument(f)
	if err != nil {
		return errors.New(withPath(args[0], err))
	}
	if doc.Interrupted {
		a.msg.Warnf("%s is of a run that was interrupted: rows are missing", args[0])
	}
	var limits func(string) (atol, rtol *float64)
	if config != nil {
		limits = func(op string) (atol, rtol *float64) {
			l, _ := config.Find(op)
			return l.Atol, l.Rtol
		}
	}
	j, err := compare.Judge(doc, judge, limits)
	if err != nil {
		return errors.New(withPath(args[0], err))
	}
	write := map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return report.Text{Width: a.streams.OutWidth}.WriteJudgement(w, j) },
		"json": func(w io.Writer) error { return report.WriteJudgementJSON(w, j) },
		"csv":  func(w io.Writer) error { return report.WriteJudgementCSV(w, j) },
	}[format]
	if err := write(a.out); err != nil {
		return err
	}
	bad := j.Counts[compare.Fail] + j.Counts[compare.Undecided] + j.Counts[compare.ShapeMismatch] + j.Counts[compare.DTypeMismatch] + j.Counts[compare.Ambiguous]
	switch {
	case j.Counts[compare.Error] > 0:
		return incompletef("%s could not be read when the run was made", counted(j.Counts[compare.Error], "tensor"))
	case bad > 0 && !opts.exitZero:
		return reported(foundf("%d of %d rows failed or are undecided", bad, len(j.Rows)))
	case j.Compared == 0:
		return nothingf("%s has no row that was compared", args[0])
	}
	return nil
}

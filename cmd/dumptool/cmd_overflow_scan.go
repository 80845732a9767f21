package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"dumptool/internal/overflow"
	"dumptool/internal/report"
	"dumptool/internal/tensorfile"
)

type overflowScanOptions struct {
	output  reportOptions
	all     bool
	workers int
}

func newOverflowScanCommand(a *app) *cobra.Command {
	opts := new(overflowScanOptions)
	cmd := &cobra.Command{
		Use:   "scan PATH...",
		Short: "find NaN, infinities and saturated values in ordinary dumps",
		Long: `scan reads every tensor of dumps and .npy arrays once and shows those with NaN,
infinities or values at the limit of their floating-point type, in the order of
device, step and time; the first of each device is marked. Integers at the
limits of their type are counted, but are no finding by themselves.`,
		Example: `  dumptool overflow scan dumps
  dumptool overflow scan dumps --all --format csv > all.csv`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runOverflowScan(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *overflowScanOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "show good tensors too")
	flags.IntVarP(&o.workers, "jobs", "j", 0, "files read at a time; default: one per CPU")
	o.output.addFlags(cmd)
}

// runOverflowScan scans the trees that are given.
func runOverflowScan(ctx context.Context, a *app, opts *overflowScanOptions, args []string) error {
	if len(args) == 0 {
		return usagef("no file or folder given")
	}
	if err := opts.output.check(); err != nil {
		return err
	}
	list := tensorfile.Find(args, tensorfile.FindOptions{Skip: opts.output.out})
	for _, w := range list.Warnings {
		a.msg.Warnf("%s", w)
	}
	progress := a.msg.Progress("scanning")
	defer progress.Close()
	r, err := overflow.Scan(ctx, list, overflow.Options{Workers: opts.workers, All: opts.all, Observe: progress.Observe})
	progress.Close()
	if err != nil {
		return err
	}
	if r.Files == 0 && len(r.Problems) == 0 {
		return nothingf("neither dumps nor arrays among %s", counted(len(list.Entries), "file"))
	}
	err = a.writeReport(&opts.output, "overflow_scan", func(w io.Writer, format string, width int) error {
		switch format {
		case "json":
			return report.WriteScanJSON(w, r)
		case "csv":
			return report.WriteScanCSV(w, r)
		case "md":
			return report.WriteScanMarkdown(w, r)
		}
		return report.Text{Lang: opts.output.lang, Width: width}.WriteScan(w, r)
	})
	if err != nil {
		return err
	}
	found := fmt.Sprintf("bad tensors in %d of %s", r.BadFiles, counted(r.Files, "file"))
	if len(r.Problems) > 0 {
		return incompletef("%s, %s could not be read", found, counted(len(r.Problems), "file or tensor"))
	}
	a.msg.Infof("%s, %s read", found, counted(r.Tensors, "tensor"))
	if r.BadFiles > 0 {
		return reported(foundf("bad tensors found"))
	}
	return nil
}

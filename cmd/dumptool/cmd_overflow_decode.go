package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
)

type overflowDecodeOptions struct {
	paths    []string
	rounds   dumpdir.Selection
	out      string
	extended bool
	exitZero exitZero
}

func newOverflowDecodeCommand(a *app) *cobra.Command {
	opts := new(overflowDecodeOptions)
	cmd := &cobra.Command{
		Use:   "decode FILE...",
		Short: "turn overflow records into JSON",
		Long: `decode prints the overflow records (OpDebug dumps) in FILE as JSON, in the same
form as convert, for every kind of accelerator and both layouts of records. With
several records the output is a stream of JSON values, as jq reads it. -out
writes each to DIR/NAME.output.N.json instead.

FILE is a dump file under any name, a folder, in which all records are found and
other files left alone, or the JSON of a record, also as MindSpore writes it.
When MindSpore took a record of newer devices for one of older devices, what is
left of it is printed: unit, model, stream and task. Files that are named one by
one may also be bare payloads, in .bin, .npy or a dump without the usual name.

--extended prints an object with the record and what is known of it: the time in
the name of the file (in UTC), whether the record is valid and reports an
overflow, ids and status words in hex, the causes in English and Chinese with
advice, bits that no public source explains, and warnings. A record that cannot be read is an object with the key "error".

The exit status is 1 when a record reports an overflow, that is when it is
valid and a status word is not 0. A valid record the status of which is lost
counts too. Where some files could not be read it is 3 in any case.`,
		Example: `  dumptool overflow decode Opdebug.Node_OpDebug.171.16.1624605159913046
  dumptool overflow decode --extended dumps | jq -r '.areas[].causes[].en'
  dumptool overflow decode -out out dumps`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runOverflowDecode(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitNothing, exitInterrupted)
	define(cmd, append(roundFlags(&opts.rounds), morePaths(&opts.paths),
		cmdFlag{"extended", yes(&opts.extended), "print causes, hex values, time and warnings too", reporting, safe})...)
	outFlag(cmd.Flags(), &opts.out, "", "write files to folder `DIR`, not to stdout")
	opts.exitZero.add(cmd.Flags(), "overflows")
	return cmd
}

func runOverflowDecode(ctx context.Context, a *app, opts *overflowDecodeOptions, args []string) error {
	args = append(opts.paths, args...)
	if len(args) == 0 {
		return usagef("no file or folder given")
	}
	run, err := a.openRun(ctx, args, dumpdir.Options{Skip: opts.out}, opts.rounds)
	if err != nil {
		return err
	}
	if err := run.Choose(ctx, opts.rounds, nil, dumpdir.HeaderOptions{}); err != nil {
		return err
	}
	output := report.NewRecordOutput(opts.out, a.out, opts.extended)
	sum, err := watched(a, "decoding", func(observe func(batch.Event)) (overflow.DecodeSummary, error) {
		if opts.out == "" && a.streams.OutTTY { // a bar would be in the way of the results
			observe = nil
		}
		return overflow.Decode(ctx, run, observe, func(f *overflow.RecordFile) error {
			err := output.Write(f)
			a.say(f.Messages())
			return err
		})
	})
	if a.streams.OutTTY { // the prompt comes next
		err = cmp.Or(err, output.EndLine())
	}
	if err != nil {
		return err
	}
	return a.conclude(opts.exitZero.of(output.Outcome(run, &sum)))
}

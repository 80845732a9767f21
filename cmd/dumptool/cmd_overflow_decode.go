package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/opdebug"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/statusreg"
	"dumptool/internal/tensorfile"
)

type overflowDecodeOptions struct {
	out      string
	extended bool
	lang     report.Lang
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

--extended prints an object with the record and what there is to tell of it: the
time in the name of the file (in UTC), whether the record is valid and tells of
an overflow, ids and status words in hex, the causes in English and Chinese with
advice in the language of --lang, bits that no public source explains, and
warnings. A record that cannot be read is an object with the key "error".

The exit status is 1 when a record tells of an overflow, that is when it is
valid and a status word is not 0. A valid record the status of which is lost
counts too. Where some files could not be read it is 3 in any case.`,
		Example: `  dumptool overflow decode Opdebug.Node_OpDebug.171.16.1624605159913046
  dumptool overflow decode --extended dumps | jq -r '.areas[].causes[].en'
  dumptool overflow decode -out out dumps`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runOverflowDecode(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitNothing, exitInterrupted)
	opts.addFlags(cmd.Flags())
	langFlag(cmd, &opts.lang)
	return cmd
}

func (o *overflowDecodeOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.out, "out", "", "write files to folder `DIR`, not to stdout")
	alias(flags, "out", "output")
	flags.BoolVar(&o.extended, "extended", false, "print causes, hex values, time and warnings too")
}

func runOverflowDecode(ctx context.Context, a *app, opts *overflowDecodeOptions, args []string) error {
	if len(args) == 0 {
		return usagef("no file or folder given")
	}
	in := tensorfile.Find(args, tensorfile.FindOptions{Skip: opts.out})
	for _, w := range in.Warnings {
		a.msg.Warnf("%s", w)
	}
	progress := a.msg.Progress("decoding")
	defer progress.Close()
	var observe func(batch.Event)
	if opts.out != "" || !a.streams.OutTTY {
		observe = progress.Observe
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := overflow.NewRecordReader(args, in.Entries)
	p := &decodePrinter{app: a, opts: opts, written: map[string]string{}}
	var broken error
	err := batch.Run(ctx, batch.Options{Observe: observe}, in.Entries, nil,
		func(_ context.Context, e tensorfile.Entry) *overflow.RecordFile { return d.Read(e) },
		func(_ int, f *overflow.RecordFile) {
			if broken != nil {
				return
			}
			if broken = p.file(f); broken != nil {
				cancel()
			}
		})
	progress.Close()
	if broken != nil {
		return fmt.Errorf("cannot write the results: %w", broken)
	}
	return p.conclude(err)
}

// decodePrinter prints or writes records, one after the other.
type decodePrinter struct {
	*app
	opts    *overflowDecodeOptions
	printed bool
	written map[string]string // output files and the files they were made from

	files, failed      int // with records, with failures
	records, overflows int
	left, copies       int // no records, JSON of records that are there too
	lone               overflow.DecodedRecord
	why                string // of the last file that is no record
}

// file prints the records of a file. An error is one of stdout.
func (p *decodePrinter) file(f *overflow.RecordFile) error {
	switch {
	case f.IsCopy:
		p.copies++
		p.msg.Log().Debug("JSON of a record that is there too", "file", f.Entry.Path)
		return nil
	case f.NotRecord:
		p.left++
		p.why = fmt.Sprintf("%s: %s", f.Entry.Path, f.Why)
		p.msg.Log().Debug("no overflow record", "file", f.Entry.Path, "why", f.Why)
		return nil
	}
	p.files++
	failed := false
	for i := range f.Records {
		r := &f.Records[i]
		where := r.File
		if len(f.Records) > 1 {
			where += fmt.Sprintf(": output %d", r.Output)
		}
		for _, w := range r.Warnings {
			p.msg.Warnf("%s: %s", where, w)
		}
		if r.Err == nil && p.opts.out != "" {
			r.Err = p.write(f, r)
		} else if err := p.print(r); err != nil {
			return err
		}
		if r.Err != nil {
			p.msg.Errorf("%s", withPath(where, r.Err))
			failed = true
			continue
		}
		p.records++
		if yes, known := r.Overflowed(); yes || !known {
			p.overflows++
		}
		p.lone = *r
	}
	if failed {
		p.failed++
	}
	return nil
}

// form returns the record as it is to be printed.
func (p *decodePrinter) form(r *overflow.DecodedRecord) []byte {
	if p.opts.extended {
		return report.AppendRecordExtended(nil, r, p.opts.lang)
	}
	return report.AppendRecordJSON(nil, r)
}

// print prints a record to stdout. Only between records there is a newline:
// the output for one is what convert would write.
func (p *decodePrinter) print(r *overflow.DecodedRecord) error {
	form := p.form(r)
	if p.opts.out != "" || len(form) == 0 {
		return nil
	}
	if p.printed {
		fmt.Fprintln(p.out)
	}
	p.printed = true
	if _, err := p.out.Write(form); err != nil {
		return err
	}
	return p.out.Flush()
}

// write writes a record to its file below the output folder.
func (p *decodePrinter) write(f *overflow.RecordFile, r *overflow.DecodedRecord) error {
	dir := filepath.Join(p.opts.out, f.Entry.Dir)
	path := filepath.Join(dir, fmt.Sprintf("%s.output.%d.json", f.BaseName(), r.Output))
	if first, taken := p.written[path]; taken {
		return fmt.Errorf("%s has just been written from %s", path, first)
	}
	if err := safefile.CheckOutput(path, f.Entry.Path); err != nil {
		return err
	}
	if err := safefile.MkdirAll(dir); err != nil {
		return err
	}
	if err := safefile.WriteFile(path, p.form(r)); err != nil {
		return err
	}
	p.written[path] = f.Entry.Path
	return nil
}

// conclude prints the summary and returns the error of the run.
func (p *decodePrinter) conclude(err error) error {
	if p.printed && p.streams.OutTTY {
		fmt.Fprintln(p.out) // the prompt comes next
		if flushErr := p.out.Flush(); flushErr != nil {
			return flushErr
		}
	}
	if err != nil {
		return err
	}
	p.summary()
	switch {
	case p.failed == 1 && p.files == 1:
		return reported(incompletef("the file could not be decoded completely"))
	case p.failed > 0:
		return incompletef("%d of %d files could not be decoded completely", p.failed, p.files)
	case p.overflows > 0:
		return reported(foundf("a record tells of an overflow"))
	case p.records > 0:
		return nil
	case p.left == 1 && p.copies == 0:
		return nothingf("%s", p.why)
	case p.left == 0:
		return nothingf("no file found")
	}
	return nothingf("no overflow record found among %s", counted(p.left, "file"))
}

// summary says what was found, in words if it is little.
func (p *decodePrinter) summary() {
	switch {
	case p.records == 0:
	case p.records == 1 && p.lone.Record != nil:
		for _, area := range p.lone.Record.Overflows() {
			p.msg.Infof("%s", p.aboutArea(&area))
		}
	case p.records > 1:
		p.msg.Infof("%d of %s tell of an overflow", p.overflows, counted(p.records, "record"))
	}
	if p.opts.out != "" && p.records > 0 {
		p.msg.Infof("%s written to %s", counted(len(p.written), "file"), p.opts.out)
	}
	if p.records > 0 && p.left > 0 {
		p.msg.Infof("left out %s, no overflow record", counted(p.left, "file"))
	}
	if p.copies > 0 {
		p.msg.Infof("left out %s of records that are there too", counted(p.copies, "JSON file"))
	}
}

// aboutArea says in one line what overflowed.
func (p *decodePrinter) aboutArea(a *opdebug.Area) string {
	line := fmt.Sprintf("%s overflow: stream %d, task %d", a.Unit, a.StreamID, a.TaskID)
	for _, word := range a.Status {
		if word == 0 {
			continue
		}
		res := statusreg.Decode(overflow.UnitRegister(a.Unit), statusreg.Value{word})
		line += fmt.Sprintf(", status %v", res.Value)
		sep := ": "
		for i := range res.Entries {
			line += sep + p.opts.lang.Text(res.Entries[i].Meaning)
			sep = "; "
		}
		if !res.Unknown.IsZero() {
			line += fmt.Sprintf("%s%v is not documented", sep, res.Unknown)
		}
	}
	return line
}

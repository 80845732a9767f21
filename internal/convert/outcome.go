package convert

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/tensorfile"
)

// SplitPaths takes lists of paths with commas apart; a path that exists as it
// stands is one path.
func SplitPaths(values []string) []string {
	var paths []string
	for _, v := range values {
		if _, err := os.Stat(v); err == nil || !strings.Contains(v, ",") {
			paths = append(paths, v)
			continue
		}
		for p := range strings.SplitSeq(v, ",") {
			if p != "" {
				paths = append(paths, p)
			}
		}
	}
	return paths
}

// Open lists what is chosen of the run at paths, without what lies in the output
// folder, and what there is to warn of. The options for a single file are dropped
// where it is not one.
func (o *Options) Open(ctx context.Context, paths []string, noRecursive bool) (*dumpdir.Run, []string, error) {
	in, err := dumpdir.Open(ctx, paths, dumpdir.Options{NoRecursive: noRecursive, Skip: o.Out})
	if err != nil {
		return nil, nil, err
	}
	if err := in.Choose(ctx, o.Rounds, o.Ops, dumpdir.HeaderOptions{Version: o.Version, Workers: o.Workers}); err != nil {
		return nil, nil, err
	}
	warnings := in.TreeWarnings()
	if !in.Single && (o.Input != nil || o.Output != nil || o.Shape != nil) {
		warnings = append(warnings, "-o, -i and -s are for a single file: not used")
		o.Input, o.Output, o.Shape = nil, nil, nil
	}
	if o.Custom != nil {
		warnings = append(warnings, o.Custom.Warnings()...)
	}
	return in, warnings, nil
}

// Messages are what is to be said about the file.
func (r *Result) Messages() []batch.Message {
	path := r.Job.Path()
	if r.NotDump {
		return []batch.Message{batch.Debug("not a dump", "file", path, "why", r.why)}
	}
	var all []batch.Message
	for _, w := range r.Warnings {
		all = append(all, batch.Warnf("%s: %s", path, w))
	}
	if failure(r.Err) {
		all = append(all, batch.Errorf("%v", safefile.WithPath(path, r.Err)))
		if why := tensorfile.Details(r.Err); why != nil {
			all = append(all, batch.Debug("no reader takes it", "file", path, "why", why))
		}
	}
	for _, row := range r.Rows {
		for _, w := range row.Warnings {
			all = append(all, batch.Warnf("%s: %s %d: %s", path, row.Kind, row.Index, w))
		}
		if failure(row.Err) {
			all = append(all, batch.Errorf("%s: %s %d: %v", path, row.Kind, row.Index, row.Err))
		}
	}
	return all
}

// failure reports whether something failed. What an interruption cut short has
// not.
func failure(err error) bool { return err != nil && !errors.Is(err, context.Canceled) }

// Outcome is how the conversion of a run ended that wrote to the folder out.
func (s *Summary) Outcome(in *dumpdir.Run, out string) batch.Outcome {
	o, dumps := s.ended(in), s.Files+s.Failed
	if s.Written > 0 || s.Skipped > 0 {
		text := fmt.Sprintf("%s written to %s from %s", lang.Count(s.Written, "file"), out, lang.Count(dumps, "dump"))
		if s.Skipped > 0 {
			text += fmt.Sprintf(", %d kept", s.Skipped)
		}
		if s.NotDumps > 0 {
			text += fmt.Sprintf(", %s left alone", lang.Count(s.NotDumps, "other file"))
		}
		o.Messages = append(o.Messages, batch.Infof("%s", text))
	}
	return o
}

func (s *Summary) ended(in *dumpdir.Run) batch.Outcome {
	switch dumps := s.Files + s.Failed; {
	case s.Failed == 1 && dumps == 1:
		return batch.Outcomef(batch.Incomplete, "the dump was not converted completely").AsShown()
	case s.Failed > 0:
		return batch.Outcomef(batch.Incomplete, "%d of %d dumps were not converted completely", s.Failed, dumps)
	case s.Files == 0 && s.Arrays > 0:
		return batch.Outcomef(batch.Nothing, "nothing to convert: %s found, and %v", lang.Count(s.Arrays, "array"), errArray)
	case s.Files == 0 && s.Statistics > 0:
		return batch.Outcomef(batch.Nothing, "nothing to convert: %s holds statistics, no tensors", strings.Join(in.Paths, ", "))
	case s.Files == 0 && in.NotChosen > 0:
		return batch.Outcomef(batch.Nothing, "no dump found among the %s of the rounds and operators that are chosen; there are %d others", lang.Count(s.NotDumps, "file"), in.NotChosen)
	case s.Files == 0:
		return batch.Outcomef(batch.Nothing, "no dump found among %s", lang.Count(s.NotDumps, "file"))
	}
	return batch.Outcome{}
}

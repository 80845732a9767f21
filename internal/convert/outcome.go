package convert

import (
	"context"
	"errors"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// SplitPaths takes lists of paths with commas apart; a path that exists as it
// stands is one path.
func SplitPaths(values []string) []string {
	var paths []string
	for _, v := range values {
		if !strings.Contains(v, ",") {
			paths = append(paths, v)
			continue
		}
		if _, err := store.Stat(v); err == nil {
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
func (o *Options) Open(ctx context.Context, paths []string, noRecursive bool) (*dumpdir.Run, []lang.Sentence, error) {
	in, err := dumpdir.Open(ctx, paths, dumpdir.Options{NoRecursive: noRecursive, Skip: o.Out, Only: o.Only})
	if err != nil {
		return nil, nil, err
	}
	if err := in.Choose(ctx, o.Rounds, o.Ops, dumpdir.HeaderOptions{Version: o.Version, Workers: o.Workers}); err != nil {
		return nil, nil, err
	}
	warnings := slices.Concat(in.TreeWarnings(), dumpdir.ChoiceWarnings(dumpdir.Chosen{Run: in, By: o.Rounds}))
	if !in.Single && (o.Input != nil || o.Output != nil || o.Shape != nil) {
		warnings = append(warnings, lang.Sayf("-o, -i and -s are for a single file: not used", "-o、-i 和 -s 仅用于单个文件：未使用"))
		o.Input, o.Output, o.Shape = nil, nil, nil
	}
	if o.Custom != nil {
		warnings = append(warnings, lang.Plains(o.Custom.Warnings())...)
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
		all = append(all, batch.Warnf("%s: %s", "%s: %s", path, w))
	}
	if failure(r.Err) {
		all = append(all, dumpdir.UnreadMessages(path, r.Err)...)
	}
	for _, row := range r.Rows {
		for _, w := range row.Warnings {
			all = append(all, batch.Warnf("%s: %s: %s", "%s: %s: %s", path, row.Label(), w))
		}
		if failure(row.Err) {
			all = append(all, batch.Errorf("%s: %s: %v", "%s: %s: %v", path, row.Label(), row.Err))
		}
	}
	return all
}

// failure reports whether something failed. What an interruption cut short has
// not.
func failure(err error) bool { return err != nil && !errors.Is(err, context.Canceled) }

// Inputs are the files among which those to convert were looked for.
type Inputs struct {
	Paths     []string // that were given
	NotChosen int      // files that were not chosen
	// Others says what those are that hold no tensors.
	Others func() []batch.Message
}

// InputsOf are the files of a run.
func InputsOf(in *dumpdir.Run) Inputs { return Inputs{in.Paths, in.NotChosen, in.OtherFiles} }

// Outcome is how the conversion of a run ended that wrote to the folder out.
func (s *Summary) Outcome(in Inputs, out string) batch.Outcome {
	o, dumps := s.ended(in), s.Files+s.Failed
	if s.Written > 0 || s.Skipped > 0 {
		text := lang.Sayf("%s written to %s from %s", "已将 %[3]s转换为 %[1]s，写入 %[2]s",
			lang.CountText(s.Written, "file", "个文件"), out, lang.CountText(dumps, "dump", "个 dump"))
		if s.Skipped > 0 {
			text = lang.Sayf("%s, %d kept", "%s，保留已有的 %d 个", text, s.Skipped)
		}
		if s.NotDumps > 0 {
			text = lang.Sayf("%s, %s left alone", "%s，未处理其他 %s", text, lang.CountText(s.NotDumps, "other file", "个文件"))
		}
		o.Messages = append(o.Messages, batch.Infof("%s", "%s", text))
	}
	return o
}

func (s *Summary) ended(in Inputs) batch.Outcome {
	switch dumps := s.Files + s.Failed; {
	case s.Failed == 1 && dumps == 1:
		return batch.Outcomef(batch.Incomplete, "the dump was not converted completely", "dump 未能完整转换").AsShown()
	case s.Failed > 0:
		return batch.Outcomef(batch.Incomplete, "%d of %d dumps were not converted completely", "%[2]d 个 dump 中 %[1]d 个未能完整转换", s.Failed, dumps)
	case s.Files == 0 && s.Empty > 0:
		return batch.Outcomef(batch.Nothing, "no tensor in it", "其中没有张量")
	case s.Files == 0 && s.Arrays > 0:
		return batch.Outcomef(batch.Nothing, "nothing to convert: %s found, and %v", "没有需要转换的内容：发现 %s，%v", lang.CountText(s.Arrays, "array", "个数组"), errArray)
	case s.Files == 0 && s.Statistics > 0:
		return batch.Outcomef(batch.Nothing, "nothing to convert: %s holds statistics, no tensors", "没有需要转换的内容：%s 只有统计量，没有张量", strings.Join(in.Paths, ", "))
	case s.Files == 0 && in.NotChosen > 0:
		return batch.Outcomef(batch.Nothing, "no dump found among the %s of the rounds and operators that are chosen; there are %d others", "所选轮次和算子的 %s中没有 dump；另有 %d 个文件未选中", lang.CountText(s.NotDumps, "file", "个文件"), in.NotChosen)
	case s.Files == 0:
		o := batch.Outcomef(batch.Nothing, "no dump found among %s", "%s中没有 dump", lang.CountText(s.NotDumps, "file", "个文件"))
		o.Messages = in.Others()
		return o
	}
	return batch.Outcome{}
}

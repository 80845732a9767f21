package overflow

import (
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
)

// Inputs are the files among which something was looked for.
type Inputs struct {
	// Files is their number.
	Files int
	// Others says what those are that hold no tensors.
	Others func() []batch.Message
}

// InputsOf are the files of a run.
func InputsOf(run *dumpdir.Run) Inputs { return Inputs{len(run.Files), run.OtherFiles} }

// Outcome is how the scan of a run ended.
func (r *ScanReport) Outcome(in Inputs) batch.Outcome {
	found := lang.Sayf("bad tensors in %d of %s", "%[2]s中 %[1]d 个含异常张量", r.BadFiles, lang.CountText(r.Files, "file", "个文件"))
	switch n := unread(r.Problems); {
	case r.Files == 0 && n == 0:
		return nothingIn(in, "neither dumps nor arrays among %s", "%s中没有 dump 和数组")
	case n == 1:
		return batch.Outcomef(batch.Incomplete, "%s, 1 file or tensor could not be read", "%s，1 个文件或张量无法读取", found)
	case n > 1:
		return batch.Outcomef(batch.Incomplete, "%s, %d files or tensors could not be read", "%s，%d 个文件或张量无法读取", found, n)
	}
	var o batch.Outcome
	if r.BadFiles > 0 {
		o = batch.Outcomef(batch.Found, "bad tensors found", "发现异常张量").AsShown()
	}
	read := lang.Sayf("%s read", "已读取 %s", lang.CountText(r.Tensors, "tensor", "个张量"))
	if r.Tables > 0 {
		read = lang.Sayf("%s, %d of them as statistics", "%s，其中 %d 个为统计量", read, r.Tables)
	}
	o.Messages = []batch.Message{batch.Infof("%s, %s", "%s，%s", found, read)}
	return o
}

// Outcome is how the analysis ended: what could not be read, or the overflows. What
// usually explains that there are none are hints, unless the report has them.
func (r *Report) Outcome(in Inputs, reported bool) batch.Outcome {
	unreadable, records := r.Unread(), lang.CountText(r.Total, "overflow record", "条溢出记录")
	switch {
	case r.Total == 0 && r.Dumps == 0 && unreadable == 0 && !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Empty }):
		return nothingIn(in, "neither overflow records nor dumps among %s", "%s中没有溢出记录和 dump")
	case unreadable > 0:
		return batch.Outcomef(batch.Incomplete, "%s found, %s could not be read", "发现 %s，%s无法读取", records, lang.CountText(unreadable, "file", "个文件"))
	case r.Total > 0:
		return batch.Outcomef(batch.Found, "%s found", "发现 %s", records).AsShown()
	}
	o := batch.Outcome{Messages: []batch.Message{batch.Infof("no overflow recorded, %s seen", "没有溢出记录，共 %s", lang.CountText(r.Dumps, "operator dump", "个算子 dump"))}}
	if !reported {
		for _, t := range NothingFound {
			o.Messages = append(o.Messages, batch.Hintf(t.EN, t.ZH))
		}
	}
	return o
}

// nothingIn is the outcome of a run without anything to look at: what its files are
// instead. The texts are about the number of files.
func nothingIn(in Inputs, en, zh string) batch.Outcome {
	o := batch.Outcomef(batch.Nothing, en, zh, lang.CountText(in.Files, "file", "个文件"))
	o.Messages = in.Others()
	return o
}

package overflow

import (
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
)

// Inputs are the files among which something was looked for.
type Inputs struct {
	// Listed is their number.
	Listed int `json:"listed"`
	// Others says what those are that hold no tensors, where none does.
	Others []lang.Text `json:"others,omitempty"`
}

// othersOf says what the files of a run are that hold no tensors.
func othersOf(run *dumpdir.Run) (texts []lang.Text) {
	for _, m := range run.OtherFiles() {
		texts = append(texts, m.Text.Text())
	}
	return texts
}

// Outcome is how the scan of a run ended, whatever is reported.
func (r *ScanReport) Outcome(bool) batch.Outcome {
	found := lang.Sayf("bad tensors in %d of %s", "%[2]s中 %[1]d 个含异常张量", r.BadFiles, lang.CountText(r.Files, "file", "个文件"))
	switch n := r.Unread(); {
	case r.Files == 0 && n == 0:
		return r.nothing("neither dumps nor arrays among %s", "%s中没有 dump 和数组")
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
func (r *Report) Outcome(reported bool) batch.Outcome {
	unreadable, records := r.Unread(), lang.CountText(r.Total, "overflow record", "条溢出记录")
	switch {
	case r.Total == 0 && r.Dumps == 0 && unreadable == 0 && !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Empty }):
		return r.nothing("neither overflow records nor dumps among %s", "%s中没有溢出记录和 dump")
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

// nothing is the outcome of a run without anything to look at: what its files are
// instead. The texts are about the number of files.
func (in *Inputs) nothing(en, zh string) batch.Outcome {
	o := batch.Outcomef(batch.Nothing, en, zh, lang.CountText(in.Listed, "file", "个文件"))
	for _, text := range in.Others {
		o.Messages = append(o.Messages, batch.Infof("%s", "%s", text))
	}
	return o
}

package inspect

import (
	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
)

// Messages are what is to be said about the file.
func (f *File) Messages() []batch.Message {
	path := f.Entry.Path()
	if f.NotDump {
		return []batch.Message{batch.Debug("neither a dump nor an array", "file", path, "why", f.why)}
	}
	var all []batch.Message
	for _, w := range f.Warnings {
		all = append(all, batch.Warnf("%s: %s", "%s: %s", path, w))
	}
	switch {
	case f.Partial:
		all = append(all, batch.Errorf("%s: %v", "%s: %v", path, f.Err))
	case f.Err != nil:
		all = append(all, dumpdir.UnreadMessages(path, f.Err)...)
	}
	for _, failure := range f.Failures() {
		all = append(all, batch.Errorf("%s: %s: %v", "%s: %s: %v", path, failure.Part, failure.Err))
	}
	return all
}

// Outcome is how the inspection of a run ended.
func (s *Summary) Outcome(run *dumpdir.Run) batch.Outcome {
	o, total := s.ended(run), s.Files+s.Failed
	if total > 0 && s.NotDumps > 0 {
		o.Messages = append(o.Messages, batch.Infof("left out %s, neither dump nor array", "已略过 %s，不是 dump 或数组", lang.CountText(s.NotDumps, "file", "个文件")))
	}
	return o
}

func (s *Summary) ended(run *dumpdir.Run) batch.Outcome {
	switch total := s.Files + s.Failed; {
	case s.Failed == 1 && total == 1:
		return batch.Outcomef(batch.Incomplete, "the file could not be read completely", "文件未能完整读取").AsShown()
	case s.Failed > 0:
		return batch.Outcomef(batch.Incomplete, "%d of %d files could not be read completely", "%[2]d 个文件中 %[1]d 个未能完整读取", s.Failed, total)
	case total == 0 && run.NotChosen > 0:
		return batch.Outcomef(batch.Nothing, "none of the %s is of the rounds and operators that are chosen", "%s均不属于所选的轮次和算子", lang.CountText(run.NotChosen, "file", "个文件"))
	case total == 0 && s.Empty > 0:
		return batch.Outcomef(batch.Nothing, "no tensor in it", "其中没有张量")
	case total == 0 && s.NotDumps == 0:
		return batch.Outcomef(batch.Nothing, "no file found", "没有文件")
	case total == 0:
		o := batch.Outcomef(batch.Nothing, "no dump found among %s", "%s中没有 dump", lang.CountText(s.NotDumps, "file", "个文件"))
		o.Messages = run.OtherFiles()
		return o
	}
	return batch.Outcome{}
}

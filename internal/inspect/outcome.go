package inspect

import (
	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/tensorfile"
)

// Messages are what is to be said about the file.
func (f *File) Messages() []batch.Message {
	path := f.Entry.Path()
	if f.NotDump {
		return []batch.Message{batch.Debug("neither a dump nor an array", "file", path, "why", f.why)}
	}
	var all []batch.Message
	for _, w := range f.Warnings {
		all = append(all, batch.Warnf("%s: %s", path, w))
	}
	if f.Err != nil {
		all = append(all, batch.Errorf("%v", safefile.WithPath(path, f.Err)))
		if why := tensorfile.Details(f.Err); why != nil {
			all = append(all, batch.Debug("no reader takes it", "file", path, "why", why))
		}
	}
	for _, failure := range f.Failures() {
		all = append(all, batch.Errorf("%s: %s: %v", path, failure.Part, failure.Err))
	}
	return all
}

// Outcome is how the inspection of a run ended.
func (s *Summary) Outcome(run *dumpdir.Run) batch.Outcome {
	o, total := s.ended(run), s.Files+s.Failed
	if total > 0 && s.NotDumps > 0 {
		o.Messages = append(o.Messages, batch.Infof("left out %s, neither dump nor array", lang.Count(s.NotDumps, "file")))
	}
	return o
}

func (s *Summary) ended(run *dumpdir.Run) batch.Outcome {
	switch total := s.Files + s.Failed; {
	case s.Failed == 1 && total == 1:
		return batch.Outcomef(batch.Incomplete, "the file could not be read completely").AsShown()
	case s.Failed > 0:
		return batch.Outcomef(batch.Incomplete, "%d of %d files could not be read completely", s.Failed, total)
	case total == 0 && run.NotChosen > 0:
		return batch.Outcomef(batch.Nothing, "none of the %s is of the rounds and operators that are chosen", lang.Count(run.NotChosen, "file"))
	case total == 0 && s.NotDumps == 0:
		return batch.Outcomef(batch.Nothing, "no file found")
	case total == 0:
		return batch.Outcomef(batch.Nothing, "no dump found among %s", lang.Count(s.NotDumps, "file"))
	}
	return batch.Outcome{}
}

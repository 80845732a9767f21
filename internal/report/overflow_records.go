package report

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/overflow"
	"dumptool/internal/safefile"
)

// RecordOutput writes overflow records as they come: a stream of JSON values, or
// a file for each.
type RecordOutput struct {
	// Files are the files that were written, and those that they were made from.
	Files map[string]string

	dir      string
	out      *bufio.Writer
	extended bool
	lang     Lang
	printed  bool
}

// NewRecordOutput returns the output to a folder or to a stream, in the plain or
// the extended form. Messages about records are in a language.
func NewRecordOutput(dir string, out *bufio.Writer, extended bool, lang Lang) *RecordOutput {
	return &RecordOutput{Files: map[string]string{}, dir: dir, out: out, extended: extended, lang: lang}
}

// form returns the record as it is to be written.
func (o *RecordOutput) form(r *overflow.DecodedRecord) []byte {
	if o.extended {
		return AppendRecordExtended(nil, r)
	}
	return AppendRecordJSON(nil, r)
}

// Write writes the records of a file. An error is one of the stream; that of a file
// is noted with its record.
func (o *RecordOutput) Write(f *overflow.RecordFile) error {
	for i := range f.Records {
		r := &f.Records[i]
		switch {
		case o.dir == "":
			if err := o.print(r); err != nil {
				return err
			}
		case r.Err == nil:
			r.Err = o.writeFile(f, r)
		}
	}
	return nil
}

// print writes a record to the stream. Only between records there is a newline:
// the output for one is what convert would write.
func (o *RecordOutput) print(r *overflow.DecodedRecord) error {
	form := o.form(r)
	if len(form) == 0 {
		return nil
	}
	if o.printed {
		form = append([]byte{'\n'}, form...)
	}
	o.printed = true
	if _, err := o.out.Write(form); err != nil {
		return err
	}
	return o.out.Flush()
}

// EndLine ends the last line of the stream.
func (o *RecordOutput) EndLine() error {
	if !o.printed {
		return nil
	}
	if _, err := io.WriteString(o.out, "\n"); err != nil {
		return err
	}
	return o.out.Flush()
}

// writeFile writes a record of a file to its file below the folder.
func (o *RecordOutput) writeFile(f *overflow.RecordFile, r *overflow.DecodedRecord) error {
	dir := filepath.Join(o.dir, f.File.Folder.Dir)
	path := filepath.Join(dir, fmt.Sprintf("%s.output.%d.json", f.BaseName(), r.Output))
	if first, taken := o.Files[path]; taken {
		return fmt.Errorf("%s has just been written from %s", path, first)
	}
	if err := safefile.CheckOutput(path, f.File.Path()); err != nil {
		return err
	}
	if err := safefile.MkdirAll(dir); err != nil {
		return err
	}
	if err := safefile.WriteFile(path, o.form(r)); err != nil {
		return err
	}
	o.Files[path] = f.File.Path()
	return nil
}

// Outcome is how the run ended, with what was found in words if it is little.
func (o *RecordOutput) Outcome(s *overflow.DecodeSummary) batch.Outcome {
	out := ended(s)
	say := func(format string, args ...any) { out.Messages = append(out.Messages, batch.Infof(format, args...)) }
	switch {
	case s.Records == 1 && s.Last.Record != nil:
		for _, area := range s.Last.Record.Overflows() {
			say("%s", AreaSummary(&area, o.lang))
		}
	case s.Records > 1:
		say("%d of %s report an overflow", s.Overflows, lang.Count(s.Records, "record"))
	}
	if o.dir != "" && s.Records > 0 {
		say("%s written to %s", lang.Count(len(o.Files), "file"), o.dir)
	}
	if s.Records > 0 && s.NotRecords > 0 {
		say("left out %s, no overflow record", lang.Count(s.NotRecords, "file"))
	}
	if s.Copies > 0 {
		say("left out %s of records that are there too", lang.Count(s.Copies, "JSON file"))
	}
	return out
}

func ended(s *overflow.DecodeSummary) batch.Outcome {
	switch {
	case s.Failed == 1 && s.Files == 1:
		return batch.Outcomef(batch.Incomplete, "the file could not be decoded completely").AsShown()
	case s.Failed > 0:
		return batch.Outcomef(batch.Incomplete, "%d of %d files could not be decoded completely", s.Failed, s.Files)
	case s.Overflows > 0:
		return batch.Outcomef(batch.Found, "a record reports an overflow").AsShown()
	case s.Records > 0:
		return batch.Outcome{}
	case s.NotRecords == 1 && s.Copies == 0:
		return batch.Outcomef(batch.Nothing, "%s", s.Why)
	case s.NotRecords == 0:
		return batch.Outcomef(batch.Nothing, "no file found")
	}
	return batch.Outcomef(batch.Nothing, "no overflow record found among %s", lang.Count(s.NotRecords, "file"))
}

// AreaSummary says in one line what overflowed.
func AreaSummary(a *opdebug.Area, lang Lang) string {
	line := fmt.Sprintf("%s overflow: stream %d, task %d", a.Unit, a.StreamID, a.TaskID)
	for _, res := range overflow.DecodeStatus(a) {
		if res.Value.IsZero() {
			continue
		}
		line += fmt.Sprintf(", status %v", res.Value)
		sep := ": "
		for i := range res.Entries {
			line += sep + lang.Text(res.Entries[i].Meaning)
			sep = "; "
		}
		if !res.Unknown.IsZero() {
			line += fmt.Sprintf("%s%v is not documented", sep, res.Unknown)
		}
	}
	return line
}

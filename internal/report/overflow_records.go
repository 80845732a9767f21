package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/overflow"
	"dumptool/internal/safefile"
	"dumptool/internal/statusreg"
	"dumptool/internal/store"
)

// RecordOutput writes overflow records one at a time: as a stream of JSON values, or a file for
// each.
type RecordOutput struct {
	// Files maps each written file to its source.
	Files map[string]string

	dir      string
	out      *bufio.Writer
	extended bool
	printed  bool
}

// NewRecordOutput returns an output to a folder, or to a stream, in the plain or the extended form.
func NewRecordOutput(dir string, out *bufio.Writer, extended bool) *RecordOutput {
	return &RecordOutput{Files: map[string]string{}, dir: dir, out: out, extended: extended}
}

// encodeRecord returns the record in the output form.
func (o *RecordOutput) encodeRecord(r *overflow.DecodedRecord) []byte {
	if o.extended {
		return AppendRecordExtended(nil, r)
	}
	return AppendRecordJSON(nil, r)
}

// Write writes the records of a file. It returns errors of the stream; an error of an output file
// is set on its record.
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

// print writes a record to the stream. Newlines only separate records: the output for a single
// record equals convert's.
func (o *RecordOutput) print(r *overflow.DecodedRecord) error {
	form := o.encodeRecord(r)
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

// writeFile writes a record to its file below the folder.
func (o *RecordOutput) writeFile(f *overflow.RecordFile, r *overflow.DecodedRecord) error {
	dir := store.Join(o.dir, f.File.Folder.Dir)
	path := store.Join(dir, fmt.Sprintf("%s.output.%d.json", f.BaseName(), r.Output))
	if first, taken := o.Files[path]; taken {
		return lang.Errorf("%s was already written from %s", path, first)
	}
	if err := safefile.CheckOutput(path, f.File.Path()); err != nil {
		return err
	}
	if err := safefile.MkdirAll(dir); err != nil {
		return err
	}
	if err := safefile.WriteFile(path, o.encodeRecord(r)); err != nil {
		return err
	}
	o.Files[path] = f.File.Path()
	return nil
}

// Outcome returns the outcome of the run, with the records in words if there are few.
func (o *RecordOutput) Outcome(run *dumpdir.Run, s *overflow.DecodeSummary) batch.Outcome {
	out := decodeOutcome(s)
	if s.Records+s.Failed+s.Copies == 0 && s.NotRecords > 1 {
		out.Messages = run.OtherFiles()
	}
	say := func(en string, args ...any) { out.Messages = append(out.Messages, batch.Infof(en, args...)) }
	switch {
	case s.Records == 1 && s.Last.Record != nil:
		for _, area := range s.Last.Record.Overflows() {
			say("%s", AreaSummary(&area))
		}
	case s.Records > 1:
		say("%d of %s report an overflow", s.Overflows, lang.CountText(s.Records, "record"))
	}
	if o.dir != "" && s.Records > 0 {
		say("report¦%s written to %s", lang.CountText(len(o.Files), "file"), o.dir)
	}
	if s.Records > 0 && s.NotRecords > 0 {
		say("ignored %s, no overflow record", lang.CountText(s.NotRecords, "file"))
	}
	if s.Copies > 0 {
		say("ignored %s whose records are listed too", lang.CountText(s.Copies, "JSON file"))
	}
	return out
}

func decodeOutcome(s *overflow.DecodeSummary) batch.Outcome {
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
		return batch.Outcomef(batch.Nothing, "%s", s.Reason)
	case s.NotRecords == 0:
		return batch.Outcomef(batch.Nothing, "no file found")
	}
	return batch.Outcomef(batch.Nothing, "no overflow record found among %s", lang.CountText(s.NotRecords, "file"))
}

// AreaSummary describes an overflow of a unit in one line.
func AreaSummary(a *opdebug.Area) lang.Sentence {
	line := lang.Say("%s overflow: stream %d, task %d", a.Unit, a.StreamID, a.TaskID)
	for _, res := range overflow.DecodeStatus(a) {
		if res.Value.IsZero() {
			continue
		}
		var causes []lang.Sentence
		for i := range res.Entries {
			causes = append(causes, lang.Say("%s", res.Entries[i].Meaning))
		}
		if !res.Unknown.IsZero() {
			causes = append(causes, lang.Say("%v is not documented", res.Unknown))
		}
		line = lang.Say("%s, status %v: %s", line, res.Value, lang.Join(causes, lang.Text{EN: "; "}))
	}
	return line
}

// AppendRecordJSON appends a record in the form of the CANN converter, or the remainder of a
// rescued record. It appends no final newline, and nothing for an unreadable record.
func AppendRecordJSON(dst []byte, r *overflow.DecodedRecord) []byte {
	switch {
	case r.Record != nil:
		return r.Record.AppendJSON(dst)
	case r.Rescued != nil:
		return r.Rescued.AppendJSON(dst)
	}
	return dst
}

// decodedJSON is the extended form; null is unknown.
type decodedJSON struct {
	File         string               `json:"file"`
	OriginalName string               `json:"original_name,omitempty"`
	Output       *int                 `json:"output"`
	Timestamp    *uint64              `json:"timestamp"`
	Time         *string              `json:"time"`
	Generation   *string              `json:"generation"`
	Valid        *bool                `json:"valid"`
	Overflowed   *bool                `json:"overflowed"`
	Record       json.RawMessage      `json:"record"`
	Rescued      json.RawMessage      `json:"rescued,omitempty"`
	Areas        Table[*opdebug.Area] `json:"areas"`
	Warnings     []lang.Sentence      `json:"warnings"`
	Header       *opdebug.Header      `json:"header,omitempty"`
	Error        string               `json:"error,omitempty"`
}

// AppendRecordExtended appends a record with all available data, without a final newline.
func AppendRecordExtended(dst []byte, r *overflow.DecodedRecord) []byte {
	form := decodedJSON{
		File: r.File, OriginalName: r.OriginalName,
		Output: pointer(r.Output, r.Output >= 0), Timestamp: pointer(r.Timestamp, r.Timestamp != 0),
		Areas: Table[*opdebug.Area]{Columns: areaColumns()}, Warnings: nonNilList(r.Warnings),
	}
	if text := dateTime(r.Timestamp); r.Timestamp != 0 && text != "" {
		form.Time = pointer(strings.Replace(text, " ", "T", 1)+"Z", true)
	}
	var unknown *opdebug.AccTypeError
	switch {
	case r.Err != nil:
		form.Error = r.Err.Error()
		if errors.As(r.Err, &unknown) {
			form.Header = &unknown.Header
		}
	case r.Rescued != nil:
		form.setLayout(opdebug.NewLayout, r.Rescued.Header.Valid == 1)
		form.Rescued = r.Rescued.AppendJSON(nil)
	default:
		form.setLayout(r.Record.Generation, r.Record.Valid())
		form.Record, form.Areas.Rows = r.Record.AppendJSON(nil), pointers(r.Record.Areas)
	}
	if yes, known := r.HasOverflow(); known && r.Err == nil {
		form.Overflowed = &yes
	}
	return append(dst, marshal(form, "    ")...)
}

func (d *decodedJSON) setLayout(g opdebug.Generation, valid bool) {
	name := "new"
	if g == opdebug.OldLayout {
		name = "old"
	}
	d.Generation, d.Valid = &name, &valid
}

// areaColumns are the columns of a unit. status, status_hex and unknown have an element for every
// status word.
func areaColumns() []Column[*opdebug.Area] {
	type row = *opdebug.Area
	texts := func(a row, text func(statusreg.Result) string) (all []string) {
		for _, r := range overflow.DecodeStatus(a) {
			all = append(all, text(r))
		}
		return all
	}
	return []Column[row]{
		textColumn("unit", func(a row) string { return a.Unit.String() }),
		textColumn("register", func(a row) string { return overflow.UnitRegister(a.Unit).String() }),
		textColumn("ids_hex", row.HexIDs),
		textColumn("status", func(a row) []uint64 { return a.Status }),
		textColumn("status_hex", func(a row) []string {
			return texts(a, func(r statusreg.Result) string { return r.Value.String() })
		}),
		textColumn("causes", func(a row) any {
			rows := wordEntries(overflow.DecodeStatus(a), func(r *statusreg.Result) []statusreg.Entry {
				if r.Value.IsZero() {
					return nil // there is no cause
				}
				return r.Entries
			})
			return Table[wordEntry]{entryColumns(), rows}
		}),
		textColumn("unknown", func(a row) []string {
			return texts(a, func(r statusreg.Result) string { return r.Unknown.String() })
		}),
	}
}

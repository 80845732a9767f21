package overflow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// DecodedRecord is an overflow record that was read without the dump of its operator. Exactly one of Record, Rescued
// and Err is set.
type DecodedRecord struct {
	// File is the file, OriginalName its original name if it differs.
	File         string
	OriginalName string
	// Output is the index of the output with the record, negative if the whole file failed.
	Output int
	// Timestamp is the time in the file's name in microseconds, 0 for none.
	Timestamp uint64

	Record *opdebug.Record
	// Rescued has the remaining fields of a record that was decoded with a wrong layout.
	Rescued *opdebug.MisreadRemainder
	// Warnings are oddities of the record and of the file.
	Warnings []lang.Sentence
	Err      error
}

// HasOverflow reports whether the record shows an overflow. known is false for a rescued record that the device marked
// as valid: its status is lost.
func (r *DecodedRecord) HasOverflow() (yes, known bool) {
	switch {
	case r.Record != nil:
		return r.Record.HasOverflow(), true
	case r.Rescued == nil || r.Rescued.Header.Valid != 1:
		return false, true
	}
	return r.Rescued.LastStatus != 0, r.Rescued.LastStatus != 0
}

// RecordFile is a file that may hold overflow records, and its records.
type RecordFile struct {
	File    *dumpdir.File
	Records []DecodedRecord
	// NotRecord: the file holds no record; Reason names its contents.
	NotRecord bool
	Reason    lang.Sentence
	// IsCopy: the file is the JSON copy of a record whose dump is read too.
	IsCopy bool

	// name is the name of the dump, and output the index of the record in it, that the file was converted from,
	// according to the file's name.
	name       string
	output     int
	isUserPath bool // named as a file, not found in a folder
	isOnlyPath bool // the only named path
}

// BaseName returns the prefix for the names of output files. A name in mapping.csv is used only if it is the name of
// a record, so that no output leaves its folder.
func (f *RecordFile) BaseName() string {
	if isOpDebug(f.name) {
		return f.name
	}
	base, _ := recordOf(store.Base(f.File.Path()))
	return base
}

func isOpDebug(name string) bool {
	n := filename.Parse(name)
	return n.IsOpDebug()
}

// recordOf returns the name of the dump, and the output, that a file was converted from by dumptool, MindSpore or the
// older converter. Other names are returned unchanged.
func recordOf(name string) (source string, output int) {
	n := filename.Parse(name)
	if n.Source == "" || n.Kind != tensor.Output || n.Ext == ".txt" {
		return name, 0
	}
	return n.Source, n.Index
}

// recordReader reads the overflow records of files one by one. It has the names of all files, to recognise JSON
// copies of records. Its methods are safe for concurrent use.
type recordReader struct {
	userPaths map[string]bool // paths that the user named
	names     map[string]bool // of all files
	paths     map[string]bool // of all files, under their own and their original name
	// single: the user named a single file.
	single bool
}

// newRecordReader returns a reader for the files of a run. It tries harder with files that the user named than with
// files found in folders.
func newRecordReader(run *dumpdir.Run) *recordReader {
	d := &recordReader{userPaths: map[string]bool{}, names: map[string]bool{}, paths: map[string]bool{}, single: run.Single}
	for _, path := range run.Paths {
		d.userPaths[path] = true
	}
	for _, f := range run.Files {
		path := f.Path()
		for _, name := range []string{store.Base(path), f.Name} {
			d.names[name] = true
			d.paths[store.Join(store.Dir(path), name)] = true
		}
	}
	return d
}

// readFile reads a file. Errors are part of the result.
func (d *recordReader) readFile(file *dumpdir.File) *RecordFile {
	path := file.Path()
	f := &RecordFile{File: file, isUserPath: d.userPaths[path], isOnlyPath: d.single}
	f.name, f.output = recordOf(file.Name)
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case file.Err != nil:
		f.fail(file.Err)
	case ext == ".json" && d.isCopy(f):
		f.IsCopy = true
	case ext == ".json":
		f.readJSON()
	case !f.isUserPath && (ext == ".npy" || ext == ".bin" || ext == ".csv" || ext == ".txt"):
		f.setNotRecord(lang.Say("the name is not the name of a dump"))
	default:
		f.readDump()
	}
	return f
}

// isCopy reports whether a JSON file was made from another file of the run. The copy is beside the dump, or in a
// separate folder below the searched one.
func (d *recordReader) isCopy(f *RecordFile) bool {
	if f.name == f.File.Name {
		return false
	}
	return d.paths[store.Join(store.Dir(f.File.Path()), f.name)] || !f.isUserPath && d.names[f.name]
}

func (f *RecordFile) setNotRecord(why lang.Sentence) { f.NotRecord, f.Reason = true, why }

// fail records the error of the whole file.
func (f *RecordFile) fail(err error) {
	r := f.record(-1)
	r.Err = err
	f.Records = append(f.Records, r)
}

// record returns a record with the fields that follow from the file's name.
func (f *RecordFile) record(output int) DecodedRecord {
	r := DecodedRecord{File: f.File.Path(), Output: output}
	if f.File.Name != store.Base(f.File.Path()) {
		r.OriginalName = f.File.Name
	}
	if n := filename.Parse(f.name); n.IsDump() {
		r.Timestamp = n.Timestamp
	}
	return r
}

// add adds a record with its warnings.
func (f *RecordFile) add(r DecodedRecord) {
	if rec := r.Record; rec != nil {
		r.Warnings = append(r.Warnings, rec.Warnings...)
		switch {
		case rec.Empty():
			r.Warnings = append(r.Warnings, lang.Say("all fields are 0: no overflow recorded"))
		case rec.Valid() && !rec.HasOverflow():
			r.Warnings = append(r.Warnings, lang.Say("all status words are 0: no overflow recorded"))
		}
	}
	f.Records = append(f.Records, r)
}

// mustBeRecord reports whether the file must hold a record.
func (f *RecordFile) mustBeRecord() bool { return f.isOnlyPath || isOpDebug(f.name) }

// readJSON reads the JSON form of a record.
func (f *RecordFile) readJSON() {
	data, err := readSmall(f.File.Path())
	switch {
	case err == nil:
		f.parseJSON(data)
	case f.File.Size > maxRecord && !f.mustBeRecord() && !f.isUserPath:
		f.setNotRecord(lang.Error(err))
	default:
		f.fail(err)
	}
}

func (f *RecordFile) parseJSON(data []byte) {
	var other *opdebug.JSONError
	var misread *opdebug.MisreadError
	r := f.record(f.output)
	r.Record, r.Err = opdebug.ParseJSON(data)
	switch {
	case errors.As(r.Err, &other) && other.Path == "" && !f.mustBeRecord() && (!f.isUserPath || other.Err == nil):
		f.setNotRecord(lang.Error(r.Err))
		return
	case errors.As(r.Err, &misread):
		r.Err, r.Rescued = nil, &misread.Rescued
		r.Warnings = append(r.Warnings, misread.Rescued.Warnings...)
		r.Warnings = append(r.Warnings, lang.Say("the file was written with the layout of older devices: only unit, model, stream and task of the record remain"))
	}
	f.add(r)
}

// readDump reads the records of a dump, or of a file that may be the payload of a record.
func (f *RecordFile) readDump() {
	src, err := tensorfile.Open(f.File.Path(), tensorfile.Options{Name: f.File.Name})
	if err != nil {
		f.readUnrecognised(err)
		return
	}
	defer src.Close()
	if !src.IsRecord(f.File.Name) {
		f.readUndeclared(src)
		return
	}
	for t := range eachOutput(src) {
		r := f.record(t.Index)
		if len(f.Records) == 0 {
			r.Warnings = append(r.Warnings, src.Warnings...)
		}
		r.Record, r.Err = t.Record()
		f.add(r)
	}
	if len(f.Records) == 0 {
		f.fail(errNoOutput)
	}
}

var errNoOutput = lang.Errorf("the overflow record has no output")

// eachOutput yields the outputs of a file. Each output of an OpDebug file is a record.
func eachOutput(src *tensorfile.File) iter.Seq[*tensorfile.Tensor] {
	return func(yield func(*tensorfile.Tensor) bool) {
		for i := range src.Tensors {
			if t := &src.Tensors[i]; t.Kind == tensor.Output && !yield(t) {
				return
			}
		}
	}
}

// readUnrecognised handles an unreadable dump: JSON, a bare payload, another file, or an error.
func (f *RecordFile) readUnrecognised(err error) {
	unknown := errors.Is(err, dumpfmt.ErrNotDump)
	if unknown && f.isUserPath {
		if data, err := readSmall(f.File.Path()); err == nil {
			if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
				f.parseJSON(data)
				return
			}
			if f.addPayload(data, "the file is no dump: read as the bare payload of one") {
				return
			}
		}
	}
	name := filename.Parse(f.File.Name)
	if f.mustBeRecord() || !unknown && !name.IsDump() {
		f.fail(err)
		return
	}
	f.setNotRecord(lang.Error(err))
}

// readUndeclared handles a dump or an array that is not declared as a record. It is a record if its content has the
// magic number, or if the user named it and it is a complete record of the old layout.
func (f *RecordFile) readUndeclared(src *tensorfile.File) {
	why := lang.Say("an array, no overflow record")
	if src.Op != nil {
		why = lang.Say("the dump of operator %q, no overflow record", src.Op.Name)
	}
	if t := src.OnlyByteTensor(); t != nil {
		payload, err := t.Payload()
		if err == nil && f.addPayload(payload, "neither the name nor the header says that this is an overflow record") {
			return
		}
	}
	f.setNotRecord(why)
}

// addPayload adds the record of an undeclared payload, and returns false if it is none.
func (f *RecordFile) addPayload(data []byte, warning string) bool {
	rec, err := opdebug.Parse(data)
	switch {
	case err != nil:
		return false
	case rec.Generation == opdebug.OldLayout && (!f.isUserPath || len(data) != opdebug.BufferSize || len(rec.Undecoded) > 0):
		return false
	}
	r := f.record(f.output)
	r.Record, r.Warnings = rec, []lang.Sentence{lang.Say(warning)}
	f.add(r)
	return true
}

// maxRecord is the largest file that may be a JSON record or a payload, in bytes: these have a few thousand.
const maxRecord = 1 << 20

// readSmall reads a whole small file.
func readSmall(path string) ([]byte, error) {
	info, err := store.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // a pipe would block
		return nil, lang.Errorf("not a regular file")
	case info.Size() > maxRecord:
		return nil, lang.Errorf("%d bytes are too many for an overflow record, want at most %d", info.Size(), maxRecord)
	}
	return safefile.ReadFile(path)
}

// recordSource is a file of overflow records with the ids in its name.
type recordSource struct {
	path, dir string
	at        dumpdir.Coordinates
	// name has the ids in the file's name, or in the name of the dump that it was converted from; hasName is false
	// without ids.
	name      filename.Dump
	hasName   bool
	timestamp uint64 // in the name, else in the header
	records   []*opdebug.Record
	warnings  []lang.Sentence
	// isMisread: the record was decoded with the wrong layout.
	isMisread bool
	err       error
}

// readRecords reads the records of a file, one for each output.
func readRecords(r dumpdir.Record) *recordSource {
	path, name := r.File.Path(), filename.Parse(r.File.Name)
	s := &recordSource{path: path, dir: store.Dir(path), at: r.At, name: name.Dump, hasName: name.HasDump}
	if name.HasDump {
		s.timestamp = name.Timestamp
	}
	err := guard.Do(func() error {
		if name.Ext == ".json" {
			s.readJSON()
		} else {
			s.readDump(r.File.Name)
		}
		return nil
	})
	s.err = cmp.Or(err, s.err)
	return s
}

func (s *recordSource) readDump(name string) {
	src, err := tensorfile.Open(s.path, tensorfile.Options{Name: name})
	if err != nil {
		s.err = err
		return
	}
	defer src.Close()
	if s.timestamp == 0 && src.Op != nil {
		s.timestamp = src.Op.Time
	}
	for t := range eachOutput(src) {
		r, err := t.Record()
		if err != nil {
			s.err = tensorError(t.Name, t.Kind, t.Index, err)
			return
		}
		s.records = append(s.records, r)
	}
	if len(s.records) == 0 {
		s.err = errNoOutput
	}
}

// readJSON reads the JSON that MindSpore writes instead of the device's file. Even a record decoded with the wrong
// layout has the ids of its operator.
func (s *recordSource) readJSON() {
	data, err := readSmall(s.path)
	if err != nil {
		s.err = err
		return
	}
	r, err := opdebug.ParseJSON(data)
	if misread, ok := errors.AsType[*opdebug.MisreadError](err); ok {
		r, err = rescuedRecord(&misread.Rescued), nil
		s.isMisread = true
		s.warnings = append(s.warnings, lang.Error(misread))
	}
	if s.err = err; err == nil {
		s.records = []*opdebug.Record{r}
	}
}

// rescuedRecord returns a record with the remaining fields of a record that was decoded with the wrong layout.
func rescuedRecord(r *opdebug.MisreadRemainder) *opdebug.Record {
	area := opdebug.Area{Unit: r.Unit, ModelID: r.ModelID, StreamID: r.StreamID, TaskID: r.TaskID,
		ContextID: noID, ThreadID: noID}
	if r.HasStatus && r.LastStatus != 0 { // the other words are lost
		area.Status = []uint64{r.LastStatus}
	}
	return &opdebug.Record{Generation: opdebug.NewLayout, Header: r.Header, Areas: []opdebug.Area{area}, Warnings: r.Warnings}
}

// DecodeSummary counts what Decode found.
type DecodeSummary struct {
	Files, Failed      int // files with records, and files with errors
	Records, Overflows int
	NotRecords, Copies int // files without records, and JSON copies of records that are read too
	// Last is the last record. Reason describes the last file without a record.
	Last   DecodedRecord
	Reason lang.Sentence
}

// Decode reads the records of the files of a run and passes them in order to emit, which may set the error of a
// record that it cannot write. An error of emit ends the run and is returned.
func Decode(ctx context.Context, run *dumpdir.Run, observe func(batch.Event), emit func(*RecordFile) error) (DecodeSummary, error) {
	var sum DecodeSummary
	d := newRecordReader(run)
	err := batch.RunUntil(ctx, batch.Options{Observe: observe}, run.Files, nil,
		func(_ context.Context, f *dumpdir.File) (r *RecordFile) {
			err := guard.Do(func() error {
				r = d.readFile(f)
				return nil
			})
			if err != nil {
				r = &RecordFile{File: f}
				r.fail(err)
			}
			return r
		},
		func(f *RecordFile) error {
			err := emit(f)
			sum.add(f)
			return err
		})
	return sum, err
}

func (s *DecodeSummary) add(f *RecordFile) {
	switch {
	case f.IsCopy:
		s.Copies++
		return
	case f.NotRecord:
		s.NotRecords++
		s.Reason = lang.Say("%s: %s", f.File.Path(), f.Reason)
		return
	}
	s.Files++
	failed := false
	for i := range f.Records {
		r := &f.Records[i]
		if r.Err != nil {
			failed = true
			continue
		}
		s.Records++
		if yes, known := r.HasOverflow(); yes || !known {
			s.Overflows++
		}
		s.Last = *r
	}
	if failed {
		s.Failed++
	}
}

// Messages returns the messages about the file.
func (f *RecordFile) Messages() []batch.Message {
	switch {
	case f.IsCopy:
		return []batch.Message{batch.Debug("JSON of a record that is there too", "file", f.File.Path())}
	case f.NotRecord:
		return []batch.Message{batch.Debug("no overflow record", "file", f.File.Path(), "why", f.Reason.String())}
	}
	var all []batch.Message
	for i := range f.Records {
		r := &f.Records[i]
		where := r.File
		if len(f.Records) > 1 {
			where += fmt.Sprintf(": output %d", r.Output)
		}
		for _, w := range r.Warnings {
			all = append(all, batch.Warnf("%s: %s", where, w))
		}
		if r.Err != nil {
			all = append(all, batch.Errorf("%v", safefile.WithPath(where, r.Err)))
		}
	}
	return all
}

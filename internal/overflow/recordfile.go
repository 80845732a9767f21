package overflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// DecodedRecord is an overflow record that was read by itself, without the dump
// of its operator, and where it comes from. One of Record, Rescued and Err is
// set.
type DecodedRecord struct {
	// File is the file that was read, and OriginalName the name that it had
	// once, if that is another one.
	File         string
	OriginalName string
	// Output is the number of the output that holds the record; it is
	// negative when the whole file failed.
	Output int
	// Timestamp is that of the file's name, in microseconds; 0 if it has none.
	Timestamp uint64

	Record *opdebug.Record
	// Rescued is what is left of a record that was read with a wrong layout.
	Rescued *opdebug.Rescued
	// Warnings are those of the record and of how it was found.
	Warnings []string
	Err      error
}

// Overflowed reports whether the record tells of an overflow. known is false
// for a rescued record, the status of which is lost; the device marked it as
// valid then.
func (r *DecodedRecord) Overflowed() (yes, known bool) {
	switch {
	case r.Record != nil:
		return r.Record.Overflowed(), true
	case r.Rescued == nil || r.Rescued.Header.Valid != 1:
		return false, true
	}
	return r.Rescued.LastStatus != 0, r.Rescued.LastStatus != 0
}

// RecordFile is what was found in one file that may hold overflow records.
type RecordFile struct {
	Entry   tensorfile.Entry
	Records []DecodedRecord
	// NotRecord is set for a file that holds no record, and Why says what it is.
	NotRecord bool
	Why       string
	// IsCopy is set for the JSON of a record that is read from its dump.
	IsCopy bool

	// name is the name of the dump and output the number of the record in it
	// that the file was made from, as the file's name tells.
	name   string
	output int
	asked  bool // named as a file, not found in a folder
}

// BaseName begins the names of the files that are made of this one. What a
// mapping.csv says is used only if it is the name of a record, so that no file
// gets out of its folder.
func (f *RecordFile) BaseName() string {
	if opdebug.IsOpDebugName(f.name) {
		return f.name
	}
	base := filepath.Base(f.Entry.Path)
	if m := derivedName.FindStringSubmatch(base); m != nil {
		return m[1]
	}
	return base
}

// derivedName is the name of a file that was made from an output of a dump, by
// dumptool, MindSpore or the older converter.
var derivedName = regexp.MustCompile(`(?i)^(.+)\.output\.([0-9]{1,9})(?:\..*)?\.(?:json|npy|bin)$`)

// RecordReader reads the overflow records of files one by one. It knows all of
// them, so that it can tell the JSON of a record from the record. Its methods
// may be called from several goroutines.
type RecordReader struct {
	asked map[string]bool // paths that were named one by one
	names map[string]bool // of all files
	paths map[string]bool // of all files, under their own and their original name
}

// NewRecordReader returns a reader for the files of a listing. args are the
// paths that were asked for: of a file that was named itself more is tried than
// of one that was found in a folder.
func NewRecordReader(args []string, entries []tensorfile.Entry) *RecordReader {
	d := &RecordReader{asked: map[string]bool{}, names: map[string]bool{}, paths: map[string]bool{}}
	for _, path := range args {
		d.asked[path] = true
	}
	for _, e := range entries {
		for _, name := range []string{filepath.Base(e.Path), e.Name} {
			d.names[name] = true
			d.paths[filepath.Join(filepath.Dir(e.Path), name)] = true
		}
	}
	return d
}

// Read reads one file. What is wrong with it is told by the result.
func (d *RecordReader) Read(e tensorfile.Entry) *RecordFile {
	f := &RecordFile{Entry: e, name: e.Name, asked: d.asked[e.Path]}
	if m := derivedName.FindStringSubmatch(e.Name); m != nil {
		f.name = m[1]
		f.output, _ = strconv.Atoi(m[2]) // of few digits
	}
	switch ext := strings.ToLower(filepath.Ext(e.Path)); {
	case e.Err != nil:
		f.fail(e.Err)
	case ext == ".json" && d.isCopy(f):
		f.IsCopy = true
	case ext == ".json":
		f.json()
	case !f.asked && (ext == ".npy" || ext == ".bin" || ext == ".csv" || ext == ".txt"):
		f.leave("the name is not that of a dump")
	default:
		f.dump()
	}
	return f
}

// isCopy reports whether a JSON file was made from a dump that is read too. It
// lies beside the dump, or in a folder of its own below the one that was
// searched.
func (d *RecordReader) isCopy(f *RecordFile) bool {
	if f.name == f.Entry.Name {
		return false
	}
	return d.paths[filepath.Join(filepath.Dir(f.Entry.Path), f.name)] || !f.asked && d.names[f.name]
}

func (f *RecordFile) leave(why string) { f.NotRecord, f.Why = true, why }

// fail notes the error of the whole file.
func (f *RecordFile) fail(err error) {
	r := f.record(-1)
	r.Err = err
	f.Records = append(f.Records, r)
}

// record returns a record with what the file's name tells.
func (f *RecordFile) record(output int) DecodedRecord {
	r := DecodedRecord{File: f.Entry.Path, Output: output}
	if f.Entry.Name != filepath.Base(f.Entry.Path) {
		r.OriginalName = f.Entry.Name
	}
	if n, ok := dumpfmt.ParseName(f.name); ok {
		r.Timestamp = n.Timestamp
	}
	return r
}

// add adds a record, with what is odd about it.
func (f *RecordFile) add(r DecodedRecord) {
	if rec := r.Record; rec != nil {
		r.Warnings = append(r.Warnings, rec.Warnings...)
		switch {
		case rec.Empty():
			r.Warnings = append(r.Warnings, "all fields are 0: no overflow recorded")
		case rec.Valid() && !rec.Overflowed():
			r.Warnings = append(r.Warnings, "all status words are 0: no overflow recorded")
		}
	}
	f.Records = append(f.Records, r)
}

// claims reports whether the file has to hold a record.
func (f *RecordFile) claims() bool { return f.Entry.Alone || opdebug.IsOpDebugName(f.name) }

// json reads the JSON form of a record.
func (f *RecordFile) json() {
	data, err := readSmall(f.Entry.Path)
	switch {
	case err == nil:
		f.parseJSON(data)
	case f.Entry.Size > maxRecord && !f.claims() && !f.asked:
		f.leave(err.Error())
	default:
		f.fail(err)
	}
}

func (f *RecordFile) parseJSON(data []byte) {
	var other *opdebug.JSONError
	r := f.record(f.output)
	rec, misread, err := parseRecordJSON(data)
	switch {
	case errors.As(err, &other) && other.Path == "" && !f.claims() && (!f.asked || other.Err == nil):
		f.leave(err.Error())
		return
	case misread != nil:
		r.Rescued = &misread.Rescued
		r.Warnings = append(r.Warnings, misread.Rescued.Warnings...)
		r.Warnings = append(r.Warnings, "the file was made with the layout of older devices: of the record only unit, model, stream and task are left")
	}
	r.Record, r.Err = rec, err
	f.add(r)
}

// dump reads the records of a dump, or of what may be the payload of one.
func (f *RecordFile) dump() {
	src, err := tensorfile.Open(f.Entry.Path, dumpfmt.Options{})
	if err != nil {
		f.notDump(err)
		return
	}
	defer src.Close()
	if !src.IsRecord(f.Entry.Name) {
		f.other(src)
		return
	}
	if len(src.Dump.Outputs) == 0 {
		f.fail(errors.New("the overflow record has no output"))
		return
	}
	for i := range src.Tensors {
		t := &src.Tensors[i]
		if t.Kind != tensorfile.Output {
			continue
		}
		r := f.record(t.Index)
		if len(f.Records) == 0 {
			r.Warnings = append(r.Warnings, src.Warnings...)
		}
		r.Record, r.Err = t.Record()
		f.add(r)
	}
}

// notDump sorts out a file that cannot be read as a dump.
func (f *RecordFile) notDump(err error) {
	unknown := errors.Is(err, dumpfmt.ErrNotDump)
	if unknown && f.asked {
		if data, err := readSmall(f.Entry.Path); err == nil {
			if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
				f.parseJSON(data)
				return
			}
			if f.payload(data, "the file is no dump: read as the bare payload of one") {
				return
			}
		}
	}
	_, isDump := dumpfmt.ParseName(f.Entry.Name)
	if f.claims() || !unknown && !isDump {
		f.fail(err)
		return
	}
	f.leave(err.Error())
}

// other sorts out a dump or an array that does not say that it is a record. It
// is one all the same when its content has the magic number, or when it was
// asked for and has all that the old layout has.
func (f *RecordFile) other(src *tensorfile.File) {
	why := "an array, no overflow record"
	if src.Dump != nil {
		why = fmt.Sprintf("the dump of operator %q, no overflow record", src.Dump.OpName)
	}
	if t := &src.Tensors; len(*t) == 1 && (*t)[0].Kind == tensorfile.Output && (*t)[0].DType == tensor.Uint8 {
		payload, err := (*t)[0].Payload()
		if err == nil && f.payload(payload, "neither the name nor the header says that this is an overflow record") {
			return
		}
	}
	f.leave(why)
}

// payload adds the record of a payload without the usual signs; false means
// that it does not look like one.
func (f *RecordFile) payload(data []byte, warning string) bool {
	rec, err := opdebug.Parse(data)
	switch {
	case err != nil:
		return false
	case rec.Generation == opdebug.OldLayout && (!f.asked || len(data) != opdebug.BufferSize || len(rec.Undecoded) > 0):
		return false
	}
	r := f.record(f.output)
	r.Record, r.Warnings = rec, []string{warning}
	f.add(r)
	return true
}

// readRecordJSON reads the JSON of a record from a file; the results are those
// of parseRecordJSON.
func readRecordJSON(path string) (*opdebug.Record, *opdebug.MisreadError, error) {
	data, err := readSmall(path)
	if err != nil {
		return nil, nil, err
	}
	return parseRecordJSON(data)
}

// parseRecordJSON reads the JSON of a record, also in the extended form. For one
// that was decoded with the wrong layout it returns what is left instead; one of
// the three results is set.
func parseRecordJSON(data []byte) (*opdebug.Record, *opdebug.MisreadError, error) {
	var extended struct {
		Record json.RawMessage `json:"record"`
	}
	if json.Unmarshal(data, &extended) == nil && bytes.HasPrefix(extended.Record, []byte("{")) {
		data = extended.Record
	}
	rec, err := opdebug.ParseJSON(data)
	var misread *opdebug.MisreadError
	if errors.As(err, &misread) {
		return nil, misread, nil
	}
	return rec, nil, err
}

// maxRecord is how many bytes of a file that is no dump are read: the JSON of a
// record or its payload have a few thousand.
const maxRecord = 1 << 20

// readSmall reads a whole file that is no dump.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // a pipe would block
		return nil, errors.New("not a regular file")
	case info.Size() > maxRecord:
		return nil, fmt.Errorf("%d bytes are too many for an overflow record, want at most %d", info.Size(), maxRecord)
	}
	return os.ReadFile(path)
}

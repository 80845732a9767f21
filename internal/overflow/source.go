package overflow

import (
	"cmp"
	"errors"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/guard"
	"dumptool/internal/opdebug"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// recordSource is a file of overflow records, and what its name says.
type recordSource struct {
	path, dir string
	at        dumpdir.Coordinates
	// name is that of the file as a dump, or of the dump that it was converted
	// from; hasName is false when it is no dump name.
	name      filename.Dump
	hasName   bool
	timestamp uint64 // of the name, else of the header
	records   []*opdebug.Record
	warnings  []string
	// misread is set for a record that was decoded with the wrong layout.
	misread bool
	err     error
}

// readRecords reads the records of a file: one an output.
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
	for t := range outputs(src) {
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

// readJSON reads a record from JSON, which MindSpore leaves in place of the
// device's file. One that was decoded with the wrong layout still has the ids of
// its operator.
func (s *recordSource) readJSON() {
	data, err := readSmall(s.path)
	if err != nil {
		s.err = err
		return
	}
	r, err := opdebug.ParseJSON(data)
	if misread, ok := errors.AsType[*opdebug.MisreadError](err); ok {
		r, err = rescued(&misread.Rescued), nil
		s.misread = true
		s.warnings = append(s.warnings, misread.Error())
	}
	if s.err = err; err == nil {
		s.records = []*opdebug.Record{r}
	}
}

// rescued makes a record of what is left of one that was decoded with the
// wrong layout.
func rescued(r *opdebug.Rescued) *opdebug.Record {
	area := opdebug.Area{Unit: r.Unit, ModelID: r.ModelID, StreamID: r.StreamID, TaskID: r.TaskID,
		ContextID: noID, ThreadID: noID}
	if r.HasStatus && r.LastStatus != 0 { // the other words are lost
		area.Status = []uint64{r.LastStatus}
	}
	return &opdebug.Record{Generation: opdebug.NewLayout, Header: r.Header, Areas: []opdebug.Area{area}, Warnings: r.Warnings}
}

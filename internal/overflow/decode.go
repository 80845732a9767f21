package overflow

import (
	"context"
	"fmt"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/guard"
	"dumptool/internal/safefile"
)

// DecodeSummary counts what Decode found.
type DecodeSummary struct {
	Files, Failed      int // with records, with failures
	Records, Overflows int
	NotRecords, Copies int // files without records, JSON of records that are there too
	// Last is the last record, and Why says what the last file is that has none.
	Last DecodedRecord
	Why  string
}

// Decode reads the records of the files of a run and hands them to emit in their order,
// which sets the error of a record that it cannot write. Its own error ends the
// run and is returned.
func Decode(ctx context.Context, run *dumpdir.Run, observe func(batch.Event), emit func(*RecordFile) error) (DecodeSummary, error) {
	var sum DecodeSummary
	d := newRecordReader(run)
	err := batch.RunUntil(ctx, batch.Options{Observe: observe}, run.Files, nil,
		func(_ context.Context, f *dumpdir.File) (r *RecordFile) {
			err := guard.Do(func() error {
				r = d.read(f)
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
		s.Why = fmt.Sprintf("%s: %s", f.File.Path(), f.Why)
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
		if yes, known := r.Overflowed(); yes || !known {
			s.Overflows++
		}
		s.Last = *r
	}
	if failed {
		s.Failed++
	}
}

// Messages are what is to be said about the file.
func (f *RecordFile) Messages() []batch.Message {
	switch {
	case f.IsCopy:
		return []batch.Message{batch.Debug("JSON of a record that is there too", "file", f.File.Path())}
	case f.NotRecord:
		return []batch.Message{batch.Debug("no overflow record", "file", f.File.Path(), "why", f.Why)}
	}
	var all []batch.Message
	for i := range f.Records {
		r := &f.Records[i]
		where := r.File
		if len(f.Records) > 1 {
			where += fmt.Sprintf(": output %d", r.Output)
		}
		for _, w := range r.Warnings {
			all = append(all, batch.Warnf("%s: %s", "%s: %s", where, w))
		}
		if r.Err != nil {
			all = append(all, batch.Errorf("%v", "%v", safefile.WithPath(where, r.Err)))
		}
	}
	return all
}

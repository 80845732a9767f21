package record

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

// Read reads a compare.json. It accepts keys that it does not know, and no other
// schema; what the rows say must be possible. Errors about the text are those of
// jsonpos, with path, line and column.
func Read(r io.Reader) (*Report, error) {
	in := jsonpos.NewReader(r, math.MaxInt64)
	d := &document{Report: &Report{Findings: NoFindings()}}
	if err := d.members().read(in); err != nil {
		return nil, err
	}
	if err := in.End(); err != nil {
		return nil, err
	}
	if err := d.finish(); err != nil {
		return nil, err
	}
	return d.Report, nil
}

// rowList are the rows of a document, which Write writes itself.
type rowList struct{ *Report }

// MarshalJSON implements json.Marshaler.
func (l rowList) MarshalJSON() ([]byte, error) { return []byte("[]"), nil }

// read implements streamed. It checks each row at once, so that nonsense takes no more
// memory than it has bytes.
func (l rowList) read(in *jsonpos.Reader) error {
	l.Rows = []Row{}
	return in.Array(func(i int) error {
		f := newRow()
		err := f.members(true).read(in)
		if err == nil {
			err = f.finish()
		}
		if place := (*jsonpos.Error)(nil); err != nil && !errors.As(err, &place) {
			return fmt.Errorf("row %d (%s): %w", i, excerpt([]byte(f.Op)), err)
		}
		if err == nil {
			l.Rows = append(l.Rows, *f.Row)
		}
		return err
	})
}

// errRows ends the reading of a document before its rows.
var errRows = errors.New("the rows begin here")

// noRows is where the rows are that nobody reads.
type noRows struct{}

// read implements streamed.
func (noRows) read(*jsonpos.Reader) error { return errRows }

// ReadFiles reads the list of files of a compare.json without its rows, which
// follow it. ok is false for a document without the list.
func ReadFiles(r io.Reader) (files []File, ok bool, err error) {
	var s schema
	err = object{{"schema", &s}, {"files", &files}, {"rows", noRows{}}}.read(jsonpos.NewReader(r, math.MaxInt64))
	if err != nil && !errors.Is(err, errRows) {
		return nil, false, err
	}
	if s == "" {
		return nil, false, fmt.Errorf("not a document of %s", Schema)
	}
	return files, files != nil, nil
}

// excerpt is the beginning of a text, for messages.
func excerpt(data []byte) string {
	const most = 40
	if len(data) > most {
		return string(data[:most]) + "..."
	}
	return string(data)
}

// check reports what a row cannot be.
func (f *rowForm) check() error {
	switch {
	case f.Op == "":
		return errors.New("no op")
	case f.Output < 0:
		return fmt.Errorf("output %d is negative", f.Output)
	case !slices.Contains(Statuses(), f.Status):
		return fmt.Errorf("status %q is unknown", excerpt([]byte(f.Status)))
	case f.statusLimits != nil && !slices.Contains(Statuses(), *f.statusLimits):
		return fmt.Errorf("status_limits %q is unknown", excerpt([]byte(*f.statusLimits)))
	case f.Evidence != nil && (f.Evidence.Level < NoOrigin || f.Evidence.Level > IsOrigin):
		return fmt.Errorf("evidence of level %d, want %d to %d", f.Evidence.Level, NoOrigin, IsOrigin)
	case f.Standard != nil && !slices.Contains([]Status{Pass, Warn, Fail}, f.Standard.Status):
		return fmt.Errorf("standard of the status %q, want PASS, WARN or FAIL", excerpt([]byte(f.Standard.Status)))
	case f.total == nil:
		return f.checkEmpty()
	case *f.total < 0:
		return fmt.Errorf("total %d is negative", *f.total)
	case !f.metrics.read:
		return errors.New("total without metrics")
	}
	for _, s := range []tensor.Shape{f.shape, f.RefShape, f.NPUShape} {
		if _, ok := s.Count(); !ok {
			return fmt.Errorf("shape %s has no number of elements", excerpt([]byte(s.String())))
		}
	}
	for _, count := range []struct {
		name string
		n    *int64
	}{{"errors", f.errors}, {"errors_strict", f.errorsStrict}} {
		if count.n == nil {
			return fmt.Errorf("%s is missing", count.name)
		}
		if *count.n < 0 || *count.n > *f.total {
			return fmt.Errorf("%s is %d, of %d elements", count.name, *count.n, *f.total)
		}
	}
	for _, limit := range []struct {
		name string
		metrics.Metric
	}{{"atol", f.limits.Atol}, {"rtol", f.limits.Rtol}} {
		if !limit.Defined || !(limit.Value >= 0) {
			return fmt.Errorf("%s is %s, want a number that is not negative", limit.name, limit.Metric)
		}
	}
	return f.checkJoint()
}

// checkLinks reports rows that name rows which are not there.
func checkLinks(rows []Row) error {
	for i := range rows {
		links := slices.Clone(rows[i].Inputs)
		for _, reason := range rows[i].Reasons {
			links = append(links, reason.Facts.rows()...)
		}
		for _, k := range links {
			if k < 0 || k >= len(rows) {
				return fmt.Errorf("row %d names row %d of %d rows", i, k, len(rows))
			}
		}
	}
	return nil
}

// checkEmpty reports numbers in a row that was not compared.
func (f *rowForm) checkEmpty() error {
	if f.errors != nil || f.errorsStrict != nil || f.firstError != nil || len(f.result.Joint)+len(f.worst)+len(f.axes) > 0 || f.pictures != nil {
		return errors.New("errors without a total")
	}
	return nil
}

// checkJoint reports a joint histogram that no tensors have.
func (f *rowForm) checkJoint() error {
	pairs := int64(0)
	for _, b := range f.result.Joint {
		if b.Count <= 0 || b.Count > *f.total-pairs {
			return fmt.Errorf("joint histogram: %d pairs in a bin, of %d elements", b.Count, *f.total)
		}
		if !(0 <= b.MinAbs && b.MinAbs <= b.MaxAbs && 0 <= b.MinRef && b.MinRef <= b.MaxRef) {
			return fmt.Errorf("joint histogram: bounds %g to %g and %g to %g do not rise from 0", b.MinAbs, b.MaxAbs, b.MinRef, b.MaxRef)
		}
		pairs += b.Count
	}
	return nil
}

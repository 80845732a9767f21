package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

// Read reads a compare.json. It accepts keys that it does not know, and no other
// schema; what the rows say must be possible. Errors about the text are those of
// jsonpos, with path, line and column.
func Read(r io.Reader) (*Report, error) {
	in := jsonpos.NewReader(r, math.MaxInt64)
	keys := map[string]json.RawMessage{}
	var rows []Row
	err := in.Object(func(key string) (err error) {
		name := strings.ToLower(key)
		if _, twice := keys[name]; twice {
			return fmt.Errorf("key %q stands twice", name)
		}
		keys[name] = nil
		if name == "rows" {
			rows, err = readRows(in)
			return err
		}
		return readHead(in, keys, name)
	})
	if err == nil {
		err = in.End()
	}
	if err != nil {
		return nil, err
	}
	return assemble(keys, rows)
}

// errRows ends the reading of a document before its rows.
var errRows = errors.New("the rows begin here")

// ReadFiles reads the list of files of a compare.json without its rows, which
// follow it. ok is false for a document without the list.
func ReadFiles(r io.Reader) (files []File, ok bool, err error) {
	in := jsonpos.NewReader(r, math.MaxInt64)
	keys := map[string]json.RawMessage{}
	err = in.Object(func(key string) error {
		if key == "rows" {
			return errRows
		}
		return readHead(in, keys, key)
	})
	if err != nil && !errors.Is(err, errRows) {
		return nil, false, err
	}
	if _, ours := keys["schema"]; !ours {
		return nil, false, fmt.Errorf("not a document of %s", Schema)
	}
	list, ok := keys["files"]
	if !ok {
		return nil, false, nil
	}
	return files, true, json.Unmarshal(list, &files)
}

// readHead reads the value of a key other than the rows.
func readHead(in *jsonpos.Reader, keys map[string]json.RawMessage, name string) error {
	var value json.RawMessage
	if err := in.Decode(&value); err != nil {
		return err
	}
	keys[name] = value
	if name == "schema" && string(value) != `"`+Schema+`"` {
		return fmt.Errorf("schema is %s, want %q", excerpt(value), Schema)
	}
	return nil
}

// readRows reads the rows one after the other and checks each at once, so that
// nonsense takes no more memory than it has bytes.
func readRows(in *jsonpos.Reader) ([]Row, error) {
	rows := []Row{}
	err := in.Array(func(i int) error {
		var j rowJSON
		if err := in.Decode(&j); err != nil {
			return err
		}
		row, err := j.row()
		if err != nil {
			return fmt.Errorf("row %d (%s): %w", i, excerpt([]byte(j.Op)), err)
		}
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

// assemble makes the report of the keys of a document.
func assemble(keys map[string]json.RawMessage, rows []Row) (*Report, error) {
	for _, name := range []string{"schema", "rows"} {
		if _, ok := keys[name]; !ok {
			return nil, fmt.Errorf("key %q is missing: not a document of %s", name, Schema)
		}
	}
	delete(keys, "rows")
	text, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, err
	}
	return h.report(rows)
}

// check reports what a row cannot be.
func (j *rowJSON) check() error {
	switch {
	case j.Op == "":
		return errors.New("no op")
	case j.Output < 0:
		return fmt.Errorf("output %d is negative", j.Output)
	case !slices.Contains(Statuses(), j.Status):
		return fmt.Errorf("status %q is unknown", excerpt([]byte(j.Status)))
	case j.StatusLimits != nil && !slices.Contains(Statuses(), *j.StatusLimits):
		return fmt.Errorf("status_limits %q is unknown", excerpt([]byte(*j.StatusLimits)))
	case j.Evidence != nil && (j.Evidence.Level < NoOrigin || j.Evidence.Level > IsOrigin):
		return fmt.Errorf("evidence of level %d, want %d to %d", j.Evidence.Level, NoOrigin, IsOrigin)
	case j.Standard != nil && !slices.Contains([]Status{Pass, Warn, Fail}, j.Standard.Status):
		return fmt.Errorf("standard of the status %q, want PASS, WARN or FAIL", excerpt([]byte(j.Standard.Status)))
	case j.Total == nil:
		return j.checkEmpty()
	case *j.Total < 0:
		return fmt.Errorf("total %d is negative", *j.Total)
	case len(j.Metrics) == 0 || string(j.Metrics) == "null":
		return errors.New("total without metrics")
	}
	for _, s := range []tensor.Shape{j.Shape, j.RefShape, j.NPUShape} {
		if _, ok := s.Count(); !ok {
			return fmt.Errorf("shape %s has no number of elements", excerpt([]byte(s.String())))
		}
	}
	for _, count := range []struct {
		name string
		n    *int64
	}{{"errors", j.Errors}, {"errors_strict", j.ErrorsStrict}} {
		if count.n == nil {
			return fmt.Errorf("%s is missing", count.name)
		}
		if *count.n < 0 || *count.n > *j.Total {
			return fmt.Errorf("%s is %d, of %d elements", count.name, *count.n, *j.Total)
		}
	}
	for _, limit := range []struct {
		name string
		metrics.Metric
	}{{"atol", j.Limits.Atol}, {"rtol", j.Limits.Rtol}} {
		if !limit.Defined || !(limit.Value >= 0) {
			return fmt.Errorf("%s is %s, want a number that is not negative", limit.name, limit.Metric)
		}
	}
	return j.checkJoint()
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
func (j *rowJSON) checkEmpty() error {
	if j.Errors != nil || j.ErrorsStrict != nil || j.FirstError != nil || len(j.Joint)+len(j.Worst)+len(j.Axes) > 0 || j.Pictures != nil {
		return errors.New("errors without a total")
	}
	return nil
}

// checkJoint reports a joint histogram that no tensors have.
func (j *rowJSON) checkJoint() error {
	pairs := int64(0)
	for _, b := range j.Joint {
		if b.Count <= 0 || b.Count > *j.Total-pairs {
			return fmt.Errorf("joint histogram: %d pairs in a bin, of %d elements", b.Count, *j.Total)
		}
		if !(0 <= b.MinAbs && b.MinAbs <= b.MaxAbs && 0 <= b.MinRef && b.MinRef <= b.MaxRef) {
			return fmt.Errorf("joint histogram: bounds %g to %g and %g to %g do not rise from 0", b.MinAbs, b.MaxAbs, b.MinRef, b.MaxRef)
		}
		pairs += b.Count
	}
	return nil
}

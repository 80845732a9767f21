package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// baselineSchema is the first thing in a baseline file.
const baselineSchema = "dumptool/baseline/1"

// Baseline is what an earlier run found: failures that are known, and the rows
// that there were.
type Baseline struct {
	Schema string          `json:"schema"`
	Rows   []BaselineEntry `json:"rows"`
}

// BaselineEntry is one row of an earlier run.
type BaselineEntry struct {
	Op         string  `json:"op"`
	Kind       string  `json:"kind,omitempty"` // empty for output
	Output     int     `json:"output"`
	Round      string  `json:"round,omitempty"`
	Status     Status  `json:"status"`
	ErrorRatio float64 `json:"error_ratio"`
	// MaxAbs is nil where it is not known.
	MaxAbs *float64 `json:"max_abs"`
	// Digest is the CRC-32C of the NPU tensor, empty where it was not compared.
	Digest string `json:"digest,omitempty"`
}

// NewBaseline returns the baseline of a run: all rows with a partner.
func NewBaseline(rep *Report) *Baseline {
	b := &Baseline{Schema: baselineSchema, Rows: []BaselineEntry{}}
	for i := range rep.Rows {
		row := &rep.Rows[i]
		switch row.Status {
		case Skip, UnmatchedRef, UnmatchedNPU:
			continue
		}
		e := BaselineEntry{Op: row.Op, Output: row.Output, Round: row.Round, Status: row.Status}
		if row.Kind != "output" {
			e.Kind = row.Kind
		}
		if res := row.Result; res != nil {
			e.ErrorRatio = ratio(row.Errors, res.Total)
			e.Digest = fmt.Sprintf("%08x", res.NPUCRC)
			if m := res.MaxAbs; m.Defined && !math.IsInf(m.Value, 0) {
				e.MaxAbs = &m.Value
			}
		}
		b.Rows = append(b.Rows, e)
	}
	return b
}

// Write writes the baseline as JSON, one row a line, so that it diffs well.
func (b *Baseline) Write(w io.Writer) error {
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "{\"schema\": %q, \"rows\": [", b.Schema)
	for i, e := range b.Rows {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.WriteString("\n  ")
		buf.Write(line)
	}
	buf.WriteString("\n]}\n")
	_, err := w.Write(buf.Bytes())
	return err
}

// ReadBaseline reads a baseline file.
func ReadBaseline(data []byte) (*Baseline, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	b := new(Baseline)
	if err := dec.Decode(b); err != nil {
		return nil, fmt.Errorf("not a baseline, at byte %d: %w", dec.InputOffset(), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more after the baseline, at byte %d", dec.InputOffset())
	}
	if b.Schema != baselineSchema {
		return nil, fmt.Errorf("schema is %q, want %q", b.Schema, baselineSchema)
	}
	seen := map[rowKey]bool{}
	for i, e := range b.Rows {
		if !slices.Contains(Statuses(), e.Status) {
			return nil, fmt.Errorf("row %d: unknown status %q", i, e.Status)
		}
		if seen[e.key()] {
			return nil, fmt.Errorf("row %d: %s is there twice", i, e.key())
		}
		seen[e.key()] = true
	}
	return b, nil
}

// rowKey names a row from run to run.
type rowKey struct {
	op, kind, round string
	output          int
}

func (k rowKey) String() string {
	return (&Row{Op: k.op, Kind: k.kind, Output: k.output, Round: k.round}).Name()
}

func (e *BaselineEntry) key() rowKey {
	kind := e.Kind
	if kind == "" {
		kind = "output"
	}
	return rowKey{e.Op, kind, e.Round, e.Output}
}

func (r *Row) key() rowKey { return rowKey{r.Op, r.Kind, r.Round, r.Output} }

// bad reports whether a status is an accuracy failure, which a baseline may
// know.
func (s Status) bad() bool {
	return s == Fail || s == ShapeMismatch || s == DTypeMismatch || s == Ambiguous
}

// apply compares the rows of a run with the baseline: which failures are new,
// known, or worse than known by more than slack, and which are gone.
func (b *Baseline) apply(rows []Row, slack float64) *BaselineResult {
	old := make(map[rowKey]*BaselineEntry, len(b.Rows))
	for i := range b.Rows {
		old[b.Rows[i].key()] = &b.Rows[i]
	}
	result, slack := &BaselineResult{}, max(slack, 1)
	for i := range rows {
		row := &rows[i]
		e := old[row.key()]
		switch row.Status {
		case UnmatchedRef, UnmatchedNPU, Skip:
			continue // missing if the baseline has it
		case Error:
			delete(old, row.key()) // it is there, only unreadable: exit status 3
			continue
		}
		delete(old, row.key())
		wasBad := e != nil && e.Status.bad()
		switch {
		case row.Status.bad() && !wasBad:
			result.New = append(result.New, i)
		case row.Status.bad() && e.worse(row, slack):
			result.Worse = append(result.Worse, i)
		case row.Status.bad():
			row.Known = true
			result.Known = append(result.Known, i)
		case wasBad:
			result.Fixed = append(result.Fixed, i)
		}
	}
	for i := range b.Rows { // in the order of the file
		if k := b.Rows[i].key(); old[k] != nil {
			result.Missing = append(result.Missing, k.String())
		}
	}
	return result
}

// worse reports whether a known failure has grown: another kind of failure, or
// more errors or a larger one by more than the factor slack.
func (e *BaselineEntry) worse(row *Row, slack float64) bool {
	if row.Status != e.Status {
		return row.Status != Fail
	}
	res := row.Result
	if res == nil {
		return false
	}
	if ratio(row.Errors, res.Total) > e.ErrorRatio*slack {
		return true
	}
	if e.MaxAbs == nil {
		return false // NaN then and now, or only the count was known
	}
	return res.MaxAbs.Defined && !(res.MaxAbs.Value <= *e.MaxAbs*slack)
}

// Adopt makes a baseline of this run the one that counts: all of its failures
// are known then.
func (rep *Report) Adopt(file string) {
	if rep.Baseline == nil {
		rep.Baseline = &BaselineResult{}
	}
	rep.Baseline.File, rep.Baseline.Updated, rep.Baseline.Missing = file, true, nil
	for i := range rep.Rows {
		if rep.Rows[i].Status.bad() {
			rep.Rows[i].Known = true
		}
	}
}

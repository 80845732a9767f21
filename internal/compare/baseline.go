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
	Op     string `json:"op"`
	Kind   string `json:"kind,omitempty"` // empty for output
	Output int    `json:"output"`
	Round  string `json:"round,omitempty"`
	// NPUOp is the operator's name on the NPU side where it is another one. With
	// Nth, which counts from 0, it tells apart rows that have all else in common.
	NPUOp      string  `json:"npu_op,omitempty"`
	Nth        int     `json:"nth,omitempty"`
	Status     Status  `json:"status"`
	ErrorRatio float64 `json:"error_ratio"`
	// MaxAbs is nil where it is not known.
	MaxAbs *float64 `json:"max_abs"`
	// ClassMismatch counts the pairs of two classes, such as NaN and a number.
	ClassMismatch int64 `json:"class_mismatch,omitempty"`
	// Digest is the CRC-32C of the NPU tensor, empty where it was not compared.
	Digest string `json:"digest,omitempty"`
}

// NewBaseline returns the baseline of a run: all rows with a partner.
func NewBaseline(rep *Report) *Baseline {
	b := &Baseline{Schema: baselineSchema, Rows: []BaselineEntry{}}
	keys := rep.keys()
	for i := range rep.Rows {
		if rep.Rows[i].held() {
			b.Rows = append(b.Rows, newEntry(&rep.Rows[i], keys[i]))
		}
	}
	return b
}

// held reports whether a baseline holds the row.
func (r *Row) held() bool {
	return r.Status != Skip && r.Status != UnmatchedRef && r.Status != UnmatchedNPU
}

func newEntry(row *Row, k rowKey) BaselineEntry {
	e := BaselineEntry{Op: k.op, Output: k.output, Round: k.round, NPUOp: k.npuOp, Nth: k.nth, Status: row.Status}
	if k.kind != "output" {
		e.Kind = k.kind
	}
	if res := row.Result; res != nil {
		e.ErrorRatio = ratio(row.Errors, res.Total)
		e.ClassMismatch = res.Mismatch.Count
		e.Digest = fmt.Sprintf("%08x", res.NPUCRC)
		if m := res.MaxAbs; m.Defined && !math.IsInf(m.Value, 0) {
			e.MaxAbs = &m.Value
		}
	}
	return e
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
	npuOp           string
	nth             int
}

func (k rowKey) String() string {
	return (&Row{Op: k.op, Kind: k.kind, Output: k.output, Round: k.round}).Name()
}

// plain is the key without what only tells apart rows of one name.
func (k rowKey) plain() rowKey {
	k.npuOp, k.nth = "", 0
	return k
}

func (e *BaselineEntry) key() rowKey {
	kind := e.Kind
	if kind == "" {
		kind = "output"
	}
	return rowKey{e.Op, kind, e.Round, e.Output, e.NPUOp, e.Nth}
}

// keys are the keys of all rows.
func (rep *Report) keys() []rowKey {
	keys, seen := make([]rowKey, len(rep.Rows)), map[rowKey]int{}
	for i := range rep.Rows {
		r := &rep.Rows[i]
		k := rowKey{r.Op, r.Kind, r.Round, r.Output, r.NPUOp, 0}
		if i < len(rep.rounds) {
			k.round = rep.rounds[i]
		}
		if r.held() {
			same := k
			k.nth = seen[same]
			seen[same]++
		}
		keys[i] = k
	}
	return keys
}

// bad reports whether a status is an accuracy failure, which a baseline may
// know.
func (s Status) bad() bool {
	return s == Fail || s == ShapeMismatch || s == DTypeMismatch || s == Ambiguous
}

// apply compares the rows of a run with the baseline: which failures are new,
// known, or worse than known by more than slack, and which are gone.
func (b *Baseline) apply(rep *Report, slack float64) *BaselineResult {
	held, found := b.hold(rep)
	result, slack := &BaselineResult{}, max(slack, 1)
	for i := range rep.Rows {
		row := &rep.Rows[i]
		if !row.held() || row.Status == Error { // one that is unreadable is neither: exit status 3
			continue
		}
		e := held[i]
		wasBad := e != nil && e.Status.bad()
		switch {
		case row.Status.bad() && !wasBad:
			result.New = append(result.New, i)
		case row.Status.bad() && e.worse(row, slack):
			result.Worse = append(result.Worse, i)
		case row.Status.bad():
			result.Known = append(result.Known, i)
			row.Known = true
		case wasBad:
			result.Fixed = append(result.Fixed, i)
		}
	}
	asked := rep.selection.asked(b.Rows)
	for k := range b.Rows { // in the order of the file
		if !found[k] && asked[k] {
			result.Missing = append(result.Missing, b.Rows[k].key().String())
		}
	}
	return result
}

// hold finds the entry of every row, nil for none, and tells which entries have
// a row. A row that is the only one of its name has the only entry of that name,
// however the NPU calls it.
func (b *Baseline) hold(rep *Report) (held []*BaselineEntry, found []bool) {
	exact, named := make(map[rowKey]int, len(b.Rows)), map[rowKey][]int{}
	for k := range b.Rows {
		key := b.Rows[k].key()
		exact[key] = k
		named[key.plain()] = append(named[key.plain()], k)
	}
	keys, rows := rep.keys(), map[rowKey]int{}
	for i := range rep.Rows {
		if rep.Rows[i].held() {
			rows[keys[i].plain()]++
		}
	}
	held, found = make([]*BaselineEntry, len(rep.Rows)), make([]bool, len(b.Rows))
	for i := range rep.Rows {
		if !rep.Rows[i].held() {
			continue
		}
		k, ok := exact[keys[i]]
		if same := named[keys[i].plain()]; !ok && len(same) == 1 && rows[keys[i].plain()] == 1 {
			k, ok = same[0], true
		}
		if ok {
			held[i], found[k] = &b.Rows[k], true
		}
	}
	return held, found
}

// worse reports whether a known failure has grown: another kind of failure, or
// more errors, more pairs of two classes or a larger error by more than the
// factor slack. A largest error that is undefined where there was one is worse
// too.
func (e *BaselineEntry) worse(row *Row, slack float64) bool {
	if row.Status != e.Status {
		return row.Status != Fail
	}
	res := row.Result
	if res == nil {
		return false
	}
	if ratio(row.Errors, res.Total) > e.ErrorRatio*slack || float64(res.Mismatch.Count) > float64(e.ClassMismatch)*slack {
		return true
	}
	if e.MaxAbs == nil {
		return false // NaN then and now, or only the count was known
	}
	return !res.MaxAbs.Defined || !(res.MaxAbs.Value <= *e.MaxAbs*slack)
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

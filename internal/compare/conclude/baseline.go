package conclude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// baselineSchema is the schema of a baseline file.
const baselineSchema = "dumptool/baseline/1"

// BaselineOptions are the options for a baseline.
type BaselineOptions struct {
	// Baseline is the content of BaselineFile, nil for none. A known failure may grow by the
	// factor Slack. UpdateBaseline writes the file again.
	Baseline       *Baseline
	BaselineFile   string
	UpdateBaseline bool
	Slack          float64
}

// Baseline has the rows of an earlier run. Its failures are known failures, and later runs must have all its rows.
type Baseline struct {
	Schema string          `json:"schema"`
	Rows   []BaselineEntry `json:"rows"`
}

// BaselineEntry is one row of an earlier run.
type BaselineEntry struct {
	record.RowKey
	Status     record.Status `json:"status"`
	ErrorRatio float64       `json:"error_ratio"`
	// MaxAbs is nil if unknown.
	MaxAbs *float64 `json:"max_abs"`
	// ClassMismatch counts the pairs of different classes, such as NaN and a number.
	ClassMismatch int64 `json:"class_mismatch,omitempty"`
	// Digest is the CRC-32C of the NPU tensor, empty if it was not compared.
	Digest string `json:"digest,omitempty"`
}

// NewBaseline returns the baseline of a run: all its rows with a partner.
func NewBaseline(rep *record.Report) *Baseline {
	b := &Baseline{Schema: baselineSchema, Rows: []BaselineEntry{}}
	keys := keysOf(rep)
	for i, row := range rep.AllRows() {
		if isRecorded(row.Status) {
			b.Rows = append(b.Rows, newBaselineEntry(row, keys[i]))
		}
	}
	return b
}

// isRecorded reports whether a baseline contains rows with this status.
func isRecorded(s record.Status) bool {
	return s != record.Skip && s != record.UnmatchedRef && s != record.UnmatchedNPU
}

func newBaselineEntry(row *record.Row, k record.RowKey) BaselineEntry {
	e := BaselineEntry{RowKey: k, Status: row.Status}
	if res := row.Result; res != nil {
		e.ErrorRatio = record.Share(row.Errors, res.Total)
		e.ClassMismatch = res.Mismatch.Count
		e.Digest = fmt.Sprintf("%08x", res.NPUCRC)
		if m := res.MaxAbs; m.IsDefined() && !math.IsInf(m.Value(), 0) {
			e.MaxAbs = new(m.Value())
		}
	}
	return e
}

// Write writes the baseline as JSON, one line for each row, for readable diffs.
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
		return nil, lang.Errorf("not a baseline, at byte %d: %w", dec.InputOffset(), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, lang.Errorf("unexpected data after the baseline, at byte %d", dec.InputOffset())
	}
	if b.Schema != baselineSchema {
		return nil, lang.Errorf("schema is %q, want %q", b.Schema, baselineSchema)
	}
	seen := map[record.RowKey]bool{}
	for i := range b.Rows {
		e := &b.Rows[i]
		if e.Kind == string(tensor.Output) {
			e.Kind = ""
		}
		if !slices.Contains(record.Statuses(), e.Status) {
			return nil, lang.Errorf("row %d: unknown status %q", i, e.Status)
		}
		if seen[e.RowKey] {
			return nil, lang.Errorf("row %d: %s occurs twice", i, e.RowKey)
		}
		seen[e.RowKey] = true
	}
	return b, nil
}

// withoutOrdinals returns the key without the parts that only distinguish rows of the same name.
func withoutOrdinals(k record.RowKey) record.RowKey {
	k.NPUOp, k.Nth = "", 0
	return k
}

// keysOf returns the keys of all rows.
func keysOf(rep *record.Report) []record.RowKey {
	keys, seen := make([]record.RowKey, rep.Len()), map[record.RowKey]int{}
	for i, r := range rep.AllRows() {
		k := r.RowKey()
		k.Round, k.NPUOp = cmp.Or(r.Key, r.Round), r.NPUOp
		if isRecorded(r.Status) {
			same := k
			k.Nth = seen[same]
			seen[same]++
		}
		keys[i] = k
	}
	return keys
}

// compare compares the rows of a run with the baseline: which failures are new, known, worse than
// known by more than the factor slack, or fixed.
func (b *Baseline) compare(rep *record.Report, opt *plan.PairOptions, slack float64) *record.Baseline {
	entries, found := b.match(rep)
	result, slack := &record.Baseline{}, max(slack, 1)
	for i, row := range rep.AllRows() {
		if !isRecorded(row.Status) || row.Status == record.Error { // unreadable tensors have exit status 3
			continue
		}
		e := entries[i]
		wasBad := e != nil && e.Status.IsBad()
		switch {
		case row.Downstream && !wasBad: // its origin counts as the failure
		case row.Status.IsBad() && !wasBad:
			result.New = append(result.New, i)
		case row.Status.IsBad():
			if e.hasGrown(row, slack) {
				result.Worse = append(result.Worse, i)
				continue
			}
			result.Known = append(result.Known, i)
			row.Known = true
		case wasBad:
			result.Fixed = append(result.Fixed, i)
		}
	}
	wanted := requestedEntries(opt, rep.Listed, b.Rows)
	for k := range b.Rows { // in file order
		if !found[k] && wanted[k] {
			result.Missing = append(result.Missing, b.Rows[k].RowKey.String())
		}
	}
	return result
}

// match returns the entry of every row, nil for none, and reports for each entry whether it has
// a row. A row whose name is unique matches the only entry of this name, whatever its NPUOp.
func (b *Baseline) match(all *record.Report) (entries []*BaselineEntry, found []bool) {
	exact, named := make(map[record.RowKey]int, len(b.Rows)), map[record.RowKey][]int{}
	for k := range b.Rows {
		key := b.Rows[k].RowKey
		exact[key] = k
		named[withoutOrdinals(key)] = append(named[withoutOrdinals(key)], k)
	}
	keys, rows := keysOf(all), map[record.RowKey]int{}
	for i, row := range all.AllRows() {
		if isRecorded(row.Status) {
			rows[withoutOrdinals(keys[i])]++
		}
	}
	entries, found = make([]*BaselineEntry, all.Len()), make([]bool, len(b.Rows))
	for i, row := range all.AllRows() {
		if !isRecorded(row.Status) {
			continue
		}
		k, ok := exact[keys[i]]
		if same := named[withoutOrdinals(keys[i])]; !ok && len(same) == 1 && rows[withoutOrdinals(keys[i])] == 1 {
			k, ok = same[0], true
		}
		if ok {
			entries[i], found[k] = &b.Rows[k], true
		}
	}
	return entries, found
}

// hasGrown reports whether a known failure has grown: another kind of failure, or more errors,
// more pairs of different classes or a larger MaxAbs by more than the factor slack. A MaxAbs
// that has become undefined is also worse.
func (e *BaselineEntry) hasGrown(row *record.Row, slack float64) bool {
	if row.Status != e.Status {
		return row.Status != record.Fail
	}
	res := row.Result
	if res == nil {
		return false
	}
	if record.Share(row.Errors, res.Total) > e.ErrorRatio*slack || float64(res.Mismatch.Count) > float64(e.ClassMismatch)*slack {
		return true
	}
	if e.MaxAbs == nil {
		return false // NaN in both runs, or only counts were known
	}
	return !res.MaxAbs.IsDefined() || !(res.MaxAbs.Value() <= *e.MaxAbs*slack)
}

// Adopt makes the written baseline of this run the current one: all failures of the run are known.
func Adopt(rep *record.Report, file string) {
	if rep.Baseline == nil {
		rep.Baseline = &record.Baseline{}
	}
	rep.Baseline.File, rep.Baseline.Updated, rep.Baseline.Missing = file, true, nil
	for _, row := range rep.AllRows() {
		if row.Status.IsBad() {
			row.Known = true
		}
	}
}

// SaveBaseline writes the updated baseline if UpdateBaseline is set. Its failures are known from
// then on.
func (o *Options) SaveBaseline(rep *record.Report) ([]batch.Message, error) {
	file := o.BaselineFile
	switch {
	case !o.UpdateBaseline:
		return nil, nil
	case rep.Interrupted:
		return []batch.Message{batch.Warnf("%s is not updated: the run is not complete", file)}, nil
	}
	var text bytes.Buffer
	if err := o.Baseline.Update(rep, &o.Pair).Write(&text); err != nil {
		return nil, err
	}
	if err := safefile.WriteFile(file, text.Bytes()); err != nil {
		return nil, err
	}
	var messages []batch.Message
	if rep.Baseline != nil && len(rep.Baseline.Missing) > 0 {
		missing := rep.Baseline.Missing
		messages = append(messages, batch.Warnf("%s: dropped %s that this run lacks: %s", file, lang.CountText(len(missing), "tensor"), lang.FirstNames(missing)))
	}
	Adopt(rep, filepath.ToSlash(file))
	return messages, nil
}

// Update returns the baseline of a run that possibly compared only some of the tensors. An
// entry is kept if the options exclude it, or if its tensor could not be read. Other entries
// without a row are dropped; compare reports them as Missing. A nil baseline has no entries.
func (b *Baseline) Update(rep *record.Report, opt *plan.PairOptions) *Baseline {
	updated := NewBaseline(rep)
	if b == nil {
		return updated
	}
	entries, found := b.match(rep)
	wanted := requestedEntries(opt, rep.Listed, b.Rows)
	next, places := 0, map[record.RowKey]int{}
	for i, row := range rep.AllRows() {
		if !isRecorded(row.Status) {
			continue
		}
		if e := entries[i]; e != nil {
			if row.Status == record.Error {
				updated.Rows[next] = *e
			}
			places[e.RowKey] = next
		}
		next++
	}
	// A kept entry stays directly after the entry that preceded it.
	following, place := map[int][]BaselineEntry{}, -1
	for k := range b.Rows {
		if e := &b.Rows[k]; found[k] {
			place = places[e.RowKey]
		} else if !wanted[k] {
			following[place] = append(following[place], *e)
		}
	}
	rows := append([]BaselineEntry{}, following[-1]...)
	for i := range updated.Rows {
		rows = append(append(rows, updated.Rows[i]), following[i]...)
	}
	updated.Rows = rows
	return updated
}

// requestedEntries reports for each entry of a baseline whether the run was asked to compare it; true for all entries
// without a listing.
func requestedEntries(o *plan.PairOptions, listed *record.Listing, entries []BaselineEntry) []bool {
	wanted := make([]bool, len(entries))
	if listed == nil {
		for k := range wanted {
			wanted[k] = true
		}
		return wanted
	}
	names, others := make([]pair.Tensor, len(entries)), []pair.Tensor{}
	for k := range entries {
		e := &entries[k]
		// The index of the entry serves as the output index, so that each is a tensor of its own.
		names[k] = pair.Tensor{ID: k, Op: e.Op, Kind: tensor.Output, Index: k}
		if e.NPUOp != "" {
			others = append(others, pair.Tensor{ID: k, Op: e.NPUOp, Kind: tensor.Output, Index: k})
		}
	}
	opt := pair.Options{SkipKeys: o.SkipKeys, Exclude: o.Exclude, Ops: o.Ops}
	ref, npu := pair.Match(names, nil, opt), pair.Match(nil, others, opt)
	for _, u := range ref.UnmatchedRef {
		wanted[u.ID] = true
	}
	for _, u := range npu.UnmatchedNPU {
		wanted[u.ID] = true
	}
	for _, skipped := range ref.Skipped {
		wanted[skipped.Ref] = false
	}
	for _, skipped := range npu.Skipped {
		wanted[skipped.NPU] = false
	}
	for k := range entries {
		e := &entries[k]
		if e.Kind == string(tensor.Input) && !listed.Inputs || slices.Contains(listed.Others, e.Round) {
			wanted[k] = false
		}
	}
	return wanted
}

// baselineName is the name of a baseline file in a folder.
const baselineName = "baseline.json"

// loadComparison uses an earlier comparison as the baseline.
func (o *Options) loadComparison() error {
	rep, err := ReadReport(o.BaselineFile)
	if err != nil {
		return &sidefile.FileError{Role: sidefile.BaselineFile, Path: o.BaselineFile, Given: true, Err: err}
	}
	o.Baseline = NewBaseline(rep)
	return nil
}

// LoadBaseline reads the baseline, if BaselineFile is set. With UpdateBaseline the file may be missing. In a folder
// the file is baseline.json, else compare.json, which is turned into a baseline. The run of a shard reads no
// baseline: the merge does. Errors are *sidefile.FileError.
func (o *Options) LoadBaseline() error {
	if o.BaselineFile == "" || o.Shard.IsSharded() {
		return nil
	}
	names := []string{baselineName, DocumentName}
	if o.UpdateBaseline {
		names = names[:1]
	}
	o.BaselineFile = safefile.ResolveInFolder(o.BaselineFile, names...)
	if store.Base(o.BaselineFile) == DocumentName {
		return o.loadComparison()
	}
	data, err := safefile.ReadFile(o.BaselineFile)
	if err != nil && o.UpdateBaseline && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		o.Baseline, err = ReadBaseline(data)
	}
	if err != nil {
		return &sidefile.FileError{Role: sidefile.BaselineFile, Path: o.BaselineFile, Given: true, Err: err}
	}
	return nil
}

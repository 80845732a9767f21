package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"dumptool/internal/overflow"
	"dumptool/internal/statusreg"
	"dumptool/internal/tensor"
)

// WriteAnalysisJSON writes a report of overflow analyze as one JSON object.
func WriteAnalysisJSON(w io.Writer, r *overflow.Report) error {
	form := analysisForm{Records: []recordForm{}, Problems: problemsOf(r.Problems), First: map[string]int{}}
	for i := range r.Records {
		form.Records = append(form.Records, recordOf(&r.Records[i]))
	}
	maps.Copy(form.First, r.First)
	return writeJSON(w, form)
}

// WriteScanJSON writes a report of overflow scan as one JSON object.
func WriteScanJSON(w io.Writer, r *overflow.ScanReport) error {
	form := scanForm{Files: r.Files, Tensors: r.Tensors, BadFiles: r.BadFiles, Rows: []scannedForm{}, Problems: problemsOf(r.Problems)}
	for i := range r.Rows {
		row := &r.Rows[i]
		form.Rows = append(form.Rows, scannedForm{File: row.File, Device: row.Place.Device, Step: row.Place.Step, Timestamp: row.Timestamp,
			OpType: row.OpType, OpName: row.OpName, First: row.First, Verdict: row.Verdict, Tensors: tensorsOf(row.Tensors)})
	}
	return writeJSON(w, form)
}

// writeJSON writes v in lines that people can read too.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// analysisForm is the JSON form of a report of overflow analyze.
type analysisForm struct {
	Records  []recordForm   `json:"records"`
	Problems []problemForm  `json:"problems"`
	First    map[string]int `json:"first"`
}

// recordForm is the JSON form of a record. Keys that scripts rely on come first.
type recordForm struct {
	File      string           `json:"file"`
	Device    string           `json:"device"`
	Step      string           `json:"step"`
	Timestamp uint64           `json:"timestamp"`
	AccType   string           `json:"acc_type"`
	ModelID   uint64           `json:"model_id"`
	StreamID  uint64           `json:"stream_id"`
	TaskID    uint64           `json:"task_id"`
	ContextID *uint64          `json:"context_id"`
	ThreadID  *uint64          `json:"thread_id"`
	Status    []uint64         `json:"status"`
	Causes    []causeForm      `json:"causes"`
	Op        *opForm          `json:"op"`
	Tensors   []tensorForm     `json:"tensors"`
	Verdict   overflow.Verdict `json:"verdict"`
	Advice    []textForm       `json:"advice"`
	Reason    string           `json:"reason"`
	Time      string           `json:"time,omitempty"`
	Model     string           `json:"model,omitempty"`
	CoreID    *uint64          `json:"core_id,omitempty"`
	Block     *uint64          `json:"block,omitempty"`
	PCStart   string           `json:"pc_start,omitempty"`
	Warnings  []string         `json:"warnings,omitempty"`
}

// causeForm is the JSON form of a decoded part of a status word.
type causeForm struct {
	Mask string `json:"mask"`
	EN   string `json:"en"`
	ZH   string `json:"zh"`
	// Word is the index of one of several status words.
	Word *int `json:"word,omitempty"`
}

// textForm is the JSON form of a text for people.
type textForm struct {
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// opForm is the JSON form of the operator of a record.
type opForm struct {
	Type      string        `json:"type"`
	Name      string        `json:"name"`
	File      string        `json:"file"`
	MatchedBy overflow.Rule `json:"matched_by"`
	Guess     bool          `json:"guess,omitempty"`
}

// tensorForm is the JSON form of a tensor; one that could not be read has an
// error in place of a census.
type tensorForm struct {
	Kind          string  `json:"kind"`
	Index         int     `json:"index"`
	DType         string  `json:"dtype"`
	Format        string  `json:"format"`
	Shape         []int64 `json:"shape"`
	OriginalShape []int64 `json:"original_shape"`
	*censusForm
	Bad   bool   `json:"bad"`
	Error string `json:"error,omitempty"`
}

// censusForm is the JSON form of what a tensor holds.
type censusForm struct {
	Count      int64     `json:"count"`
	NaN        int64     `json:"nan"`
	PosInf     int64     `json:"pos_inf"`
	NegInf     int64     `json:"neg_inf"`
	Saturated  int64     `json:"saturated"`
	HalfTraces int64     `json:"half_traces,omitempty"`
	Min        *float64  `json:"min"`
	Max        *float64  `json:"max"`
	Mean       *float64  `json:"mean"`
	FirstBad   *spotForm `json:"first_bad"`
}

// spotForm is the JSON form of an element.
type spotForm struct {
	Index int64   `json:"index"`
	Coord []int64 `json:"coord"`
	Value any     `json:"value"`
}

// problemForm is the JSON form of a file that could not be used.
type problemForm struct {
	File  string `json:"file"`
	Error string `json:"error"`
	Empty bool   `json:"empty,omitempty"`
}

// scanForm is the JSON form of a report of overflow scan.
type scanForm struct {
	Files    int           `json:"files"`
	Tensors  int           `json:"tensors"`
	BadFiles int           `json:"bad_files"`
	Rows     []scannedForm `json:"rows"`
	Problems []problemForm `json:"problems"`
}

// scannedForm is the JSON form of a scanned file.
type scannedForm struct {
	File      string           `json:"file"`
	Device    string           `json:"device"`
	Step      string           `json:"step"`
	Timestamp uint64           `json:"timestamp"`
	OpType    string           `json:"op_type"`
	OpName    string           `json:"op_name"`
	First     bool             `json:"first"`
	Verdict   overflow.Verdict `json:"verdict,omitempty"`
	Tensors   []tensorForm     `json:"tensors"`
}

// recordOf makes the JSON form of a record.
func recordOf(r *overflow.Record) recordForm {
	a := r.Area
	form := recordForm{File: r.File, Device: r.Place.Device, Step: r.Place.Step, Timestamp: r.Timestamp,
		AccType: a.Unit.String(), ModelID: a.ModelID, StreamID: a.StreamID, TaskID: a.TaskID,
		Status: append([]uint64{}, a.Status...), Causes: causesOf(r), Tensors: tensorsOf(r.Tensors),
		Verdict: r.Verdict, Advice: []textForm{}, Reason: r.Why.EN, Time: timeText(r.Timestamp), Model: r.Place.Model,
		CoreID: areaField(r, coreFields), Block: areaField(r, blockFields), Warnings: r.Warnings}
	if pc := areaField(r, pcFields); pc != nil {
		form.PCStart = fmt.Sprintf("0x%x", *pc)
	}
	if context, thread, ok := a.Context(); ok {
		form.ContextID, form.ThreadID = &context, &thread
	}
	if r.Op != nil {
		form.Op = &opForm{r.Op.Type, r.Op.Name, r.Op.File, r.Op.MatchedBy, r.Op.MatchedBy.Guess()}
	}
	for _, t := range r.Advice {
		form.Advice = append(form.Advice, textForm{t.EN, t.ZH})
	}
	return form
}

// Fields of a record that tell where on the device the overflow was. The layouts
// of records name them differently.
var (
	coreFields  = []string{"core_id"}
	blockFields = []string{"block_id", "block_idx"}
	pcFields    = []string{"pc_start"}
)

// areaField is the value of the first of some fields that an area has, nil when
// it has none of them.
func areaField(r *overflow.Record, names []string) *uint64 {
	if r.Rescued {
		return nil // nothing is left of them
	}
	for _, f := range r.Area.Fields() {
		if slices.Contains(names, f.Name) {
			return &f.Values[0]
		}
	}
	return nil
}

// causesOf lists the decoded bits of all status words, those that nobody
// documents too.
func causesOf(r *overflow.Record) []causeForm {
	causes := []causeForm{}
	for i := range r.Status {
		for _, e := range entriesOf(&r.Status[i]) {
			cause := causeForm{Mask: e.Mask.String(), EN: e.Meaning.EN, ZH: e.Meaning.ZH}
			if len(r.Status) > 1 {
				cause.Word = &i
			}
			causes = append(causes, cause)
		}
	}
	return causes
}

// entriesOf is everything that is to be said of a decoded value.
func entriesOf(r *statusreg.Result) []statusreg.Entry {
	return slices.Concat(r.Entries, r.Undocumented())
}

// tensorsOf lists the JSON forms of tensors.
func tensorsOf(tensors []overflow.Tensor) []tensorForm {
	all := []tensorForm{}
	for i := range tensors {
		t := &tensors[i]
		form := tensorForm{Kind: string(t.Kind), Index: t.Index, DType: t.DType.String(), Format: t.Format.String(),
			Shape: append([]int64{}, storedShape(t)...), OriginalShape: append([]int64{}, t.Original...), Bad: t.Bad()}
		if t.Err != nil {
			form.Error = t.Err.Error()
		}
		if c := t.Census; c != nil {
			form.censusForm = &censusForm{Count: c.Count, NaN: c.NaN, PosInf: c.PosInf, NegInf: c.NegInf,
				Saturated: c.Saturated, HalfTraces: c.HalfTraces, Min: c.Min, Max: c.Max, Mean: c.Mean}
			if s := c.First(); s != nil && t.Bad() {
				form.FirstBad = &spotForm{s.Index, coordinates(t, s.Index), jsonNumber(s.Value)}
			}
		}
		all = append(all, form)
	}
	return all
}

// coordinates are those of an element in the stored shape.
func coordinates(t *overflow.Tensor, index int64) []int64 {
	shape := storedShape(t)
	if n, ok := shape.Count(); !ok || index >= n {
		return []int64{index}
	}
	return shape.Coordinates(index)
}

// storedShape is the shape of the elements of a tensor; without a recorded one
// that is a flat run.
func storedShape(t *overflow.Tensor) tensor.Shape {
	n, ok := t.Shape.Count()
	if c := t.Census; c != nil && (t.Shape == nil || !ok || n != c.Count) {
		return tensor.Shape{c.Count}
	}
	return t.Shape
}

// jsonNumber is a number for JSON, which has no NaN and no infinities.
func jsonNumber(x float64) any {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	return x
}

// problemsOf lists the JSON forms of problems.
func problemsOf(problems []overflow.Problem) []problemForm {
	all := []problemForm{}
	for _, p := range problems {
		all = append(all, problemForm{p.File, fmt.Sprint(p.Err), p.Empty})
	}
	return all
}

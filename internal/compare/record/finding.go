package record

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Finding is a reason of a status or a cause that the diagnosis found: what was
// measured, and against what.
type Finding struct {
	Code       Code          `json:"code"`
	Confidence Confidence    `json:"confidence"`
	Evidence   lang.Sentence `json:"evidence"`
	// Facts are the numbers of the evidence.
	Facts Facts `json:"facts"`
}

// findingJSON is a reason in compare.json. The evidence is in Chinese too where that is
// another text, so that pages made of the document have both languages.
type findingJSON struct {
	Code       Code          `json:"code"`
	Confidence Confidence    `json:"confidence"`
	Evidence   lang.Sentence `json:"evidence"`
	Chinese    string        `json:"evidence_zh,omitempty"`
	Facts      Facts         `json:"facts"`
}

// findings are the reasons of a row in compare.json.
type findings []Finding

// MarshalJSON implements json.Marshaler.
func (all findings) MarshalJSON() ([]byte, error) { return all.append(nil, false) }

// append implements thin.
func (all findings) append(b []byte, _ bool) (_ []byte, err error) {
	list := make([]findingJSON, len(all))
	for i, f := range all {
		list[i] = findingJSON{f.Code, f.Confidence, f.Evidence, "", f.Facts}
		if t := f.Evidence.Text(); t.ZH != t.EN {
			list[i].Chinese = t.ZH
		}
	}
	return appendList(b, reflect.ValueOf(list))
}

// UnmarshalJSON implements json.Unmarshaler.
func (all *findings) UnmarshalJSON(data []byte) error {
	var list []findingJSON
	err := json.Unmarshal(data, &list)
	*all = nil
	for _, j := range list {
		if j.Chinese != "" {
			j.Evidence = lang.Sayf(j.Evidence.String(), j.Chinese)
		}
		*all = append(*all, Finding{j.Code, j.Confidence, j.Evidence, j.Facts})
	}
	return err
}

// equal reports whether two findings say the same, whatever their facts are.
func (f Finding) equal(g Finding) bool {
	return f.Code == g.Code && f.Confidence == g.Confidence && f.Evidence.Equal(g.Evidence)
}

// Confidence is High for a fact or a documented rule, Medium or Low for a rule
// of dumptool's own.
type Confidence string

// The confidences.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Has reports whether one of the findings has the code.
func Has(findings []Finding, code Code) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Code == code })
}

// Without returns the findings of other codes.
func Without(findings []Finding, code Code) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.Code == code })
}

// Merge joins two lists and keeps the first finding of each code.
func Merge(findings, more []Finding) []Finding {
	var merged []Finding
	for _, f := range slices.Concat(findings, more) {
		if !Has(merged, f.Code) {
			merged = append(merged, f)
		}
	}
	return merged
}

// Evidence is what a verdict by evidence says of a row: the error of the tensor
// beside what the errors of its inputs and rounding explain. See package verdict
// for the numbers.
type Evidence struct {
	// Class is that of the operator.
	Class string `json:"class"`
	// Level is 2 for an origin, 1 for an error that the operator may have amplified,
	// 0 for none of these.
	Level int `json:"level"`
	// Kind is what is seen of an error that nothing explains.
	Kind string `json:"kind"`
	// RMS is the root mean square of the differences, RefRMS that of the reference,
	// Rounding that of storing the reference in the NPU's type.
	RMS      metrics.Float `json:"rms"`
	RefRMS   metrics.Float `json:"ref_rms"`
	Rounding metrics.Float `json:"rounding"`
	// Expected is what is explained: Propagated from the inputs and Own by rounding.
	Expected   metrics.Float `json:"expected"`
	Propagated metrics.Float `json:"propagated"`
	Own        metrics.Float `json:"own"`
	// Score is RMS/Expected; Rows, Channels and Peak are that of the worst row,
	// channel and element. ScaleZ is the significance of a common factor.
	Score    metrics.Float `json:"score"`
	Rows     metrics.Float `json:"rows"`
	Channels metrics.Float `json:"channels"`
	Peak     metrics.Float `json:"peak"`
	ScaleZ   metrics.Float `json:"scale_z"`
	// Noise is the error beside that of a second reference, 0 where there is none.
	Noise metrics.Float `json:"noise"`
	// Damaged is set where the row depends on an origin and its error is more than
	// rounding.
	Damaged bool `json:"damaged"`
	// BiasOfInputs is set where the means of the differences of the inputs explain at
	// least half of that of the row.
	BiasOfInputs bool `json:"bias_of_inputs"`
	// Power is the smallest root mean square error, beside that of the reference, that
	// would have made the row an origin, null where nothing says it; Judged is set where
	// that is small enough to say something of the operator.
	Power  metrics.Metric `json:"power"`
	Judged bool           `json:"judged"`
	// Start is set where nobody made the tensor: an input or a parameter.
	Start bool `json:"start,omitempty"`
	// LeftOut counts the elements that were not judged, since what selects them is within
	// its own error, HF32 is set where a product of float32 is judged by inputs of 11 bits.
	LeftOut int64 `json:"left_out,omitempty"`
	HF32    bool  `json:"hf32,omitempty"`
	// Lambda is the noise that a tensor of which only statistics are known may have, beside
	// its size; Expected is what was expected before they were seen.
	Lambda metrics.Float `json:"lambda,omitempty"`
	// FedBy are the origins that the row depends on, as indexes into the rows.
	FedBy []int `json:"fed_by"`
}

// append implements thin.
func (e *Evidence) append(b []byte, slim bool) ([]byte, error) {
	v := reflect.ValueOf(e).Elem()
	return appendStruct(b, v, fieldsOfType(v.Type()), slim)
}

// MostPower is the power from which a row is not judged: only an error that large would
// have been seen.
const MostPower = 0.3

// The levels of evidence.
const (
	NoOrigin = iota
	SuspectedOrigin
	IsOrigin
)

// Status is that of a row with evidence and a status by limits. A gate that
// does not hold fails by any rule. What was compared only in part, or flat, is no
// better than that.
func (e *Evidence) Status(byLimits Status, row *Row, gate bool) Status {
	switch {
	case e.Level == IsOrigin, gate:
		return Fail
	case len(e.FedBy) > 0 && (e.Damaged || byLimits == Fail):
		return Fail
	case byLimits == Fail && row.Partial:
		return Partial
	case row.Self.IsWrong() && (byLimits == Pass || byLimits == Fail):
		return Warn // the reference agrees
	case byLimits == Fail && (e.Level == SuspectedOrigin || row.Forced):
		return Warn
	case byLimits == Fail:
		return Rounding
	case byLimits == Pass && e.Level == SuspectedOrigin:
		return Warn
	}
	return byLimits
}

// Shift moves the rows of the evidence to their places in a report.
func (e *Evidence) Shift(first int) {
	for k := range e.FedBy {
		e.FedBy[k] += first
	}
}

// Relative is what is explained beside the size of the reference, as RED is the error
// beside it.
func (e *Evidence) Relative() float64 {
	if e.RefRMS == 0 {
		return 0
	}
	return float64(e.Expected / e.RefRMS)
}

// originJSON is an origin in the summary of compare.json.
type originJSON struct {
	Row        string        `json:"row"`
	Reason     Code          `json:"reason"`
	Confidence Confidence    `json:"confidence"`
	Kind       string        `json:"kind"`
	Score      metrics.Float `json:"score"`
	FedBy      []string      `json:"fed_by"`
	// Of a row that is judged by statistics: where the tensor stands in its call, what its
	// numbers look like, and why it is one.
	Tensor  string        `json:"tensor,omitempty"`
	Pattern string        `json:"pattern,omitempty"`
	Why     lang.Sentence `json:"why,omitzero"`
}

// origins are the origins of the summary.
func (r *Report) originsJSON() []originJSON {
	all := make([]originJSON, 0, len(r.Origins))
	for _, i := range r.Origins {
		if i < 0 || i >= r.Len() {
			continue
		}
		row := r.Row(i)
		o := originJSON{Row: row.Name(), FedBy: []string{}}
		if len(row.Reasons) > 0 {
			o.Reason, o.Confidence = row.Reasons[0].Code, row.Reasons[0].Confidence
		}
		if e := row.Evidence; e != nil {
			o.Kind, o.Score, o.FedBy = e.Kind, e.Score, r.names(e.FedBy)
		}
		if s := row.Statistics; s != nil && len(row.Reasons) > 0 {
			if o.Reason == StartedApart {
				continue // among the starts
			}
			o.Row, o.Tensor, o.Pattern, o.Why = r.operatorOf(i), s.Place(row), o.Kind, row.Reasons[0].Evidence
		}
		all = append(all, o)
	}
	return all
}

// firstBad names the first bad row: of statistics the operator, since the inputs of one
// have other names there.
func (r *Report) firstBad() *string {
	name := r.found(r.Findings.FirstBad)
	if name == nil || r.Row(r.Findings.FirstBad).Statistics == nil || r.Verdict != "statistics" {
		return name
	}
	if row := r.Row(r.Findings.FirstBad); row.Kind != "output" {
		return &row.Op
	}
	op := r.operatorOf(r.Findings.FirstBad)
	return &op
}

// operatorOf names the operator of a row, and the output where it has several.
func (r *Report) operatorOf(i int) string {
	row := r.Row(i)
	for k := max(0, i-operatorRows); k < min(r.Len(), i+operatorRows); k++ {
		if other := r.Row(k); k != i && other.Op == row.Op && other.Round == row.Round && other.Kind == row.Kind {
			return row.Name()
		}
	}
	return row.Op
}

// operatorRows is how far the rows of an operator may be apart that are looked at.
const operatorRows = 64

// Facts are the numbers of a finding by their names, for programs: its evidence says
// the same in words. In JSON they are an object.
type Facts []Fact

// Fact is a number, a list of whole numbers, or true or false, as JSON text.
type Fact struct{ Name, value string }

// The names of facts that are indexes of rows.
const (
	InputRow = "input"
	OtherRow = "row"
)

// Int adds a whole number.
func (f Facts) Int(name string, n int64) Facts {
	return append(slices.Clip(f), Fact{name, strconv.FormatInt(n, 10)})
}

// Number adds a number, with all of its digits.
func (f Facts) Number(name string, x float64) Facts {
	return append(slices.Clip(f), Fact{name, string(metrics.AppendNumber(nil, x))})
}

// Flag adds true or false.
func (f Facts) Flag(name string, is bool) Facts {
	return append(slices.Clip(f), Fact{name, strconv.FormatBool(is)})
}

// List adds whole numbers.
func (f Facts) List(name string, all []int) Facts {
	text, err := json.Marshal(append([]int{}, all...))
	if err != nil {
		return f
	}
	return append(slices.Clip(f), Fact{name, string(text)})
}

// Equal reports whether the facts are the same, in the same order.
func (f Facts) Equal(g Facts) bool { return slices.Equal(f, g) }

// Get returns a number; ok is false where there is none of that name.
func (f Facts) Get(name string) (x float64, ok bool) {
	for _, fact := range f {
		if fact.Name == name {
			x, err := metrics.ParseNumber([]byte(fact.value))
			return x, err == nil
		}
	}
	return 0, false
}

// Shift returns facts whose rows are some places further behind.
func (f Facts) Shift(rows int) Facts { return f.moved(func(i int) int { return i + rows }) }

// moved returns facts whose rows are at other places.
func (f Facts) moved(place func(int) int) Facts {
	f = slices.Clone(f)
	for i := range f {
		if f[i].Name == InputRow || f[i].Name == OtherRow {
			if n, err := strconv.Atoi(f[i].value); err == nil {
				f[i].value = strconv.Itoa(place(n))
			}
		}
	}
	return f
}

// rows are the rows that the facts name.
func (f Facts) rows() (rows []int) {
	for _, name := range []string{InputRow, OtherRow} {
		if x, ok := f.Get(name); ok {
			if n := int(x); float64(n) == x {
				rows = append(rows, n)
			} else {
				rows = append(rows, -1)
			}
		}
	}
	return rows
}

// MarshalJSON implements json.Marshaler.
func (f Facts) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil), nil }

// AppendJSON appends the facts to JSON.
func (f Facts) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	for i, fact := range f {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(appendText(b, fact.Name), ':'), fact.value...)
	}
	return append(b, '}')
}

// mostFacts is the most facts of a finding in a document.
const mostFacts = 64

// UnmarshalJSON implements json.Unmarshaler.
func (f *Facts) UnmarshalJSON(data []byte) error {
	*f = nil
	if string(data) == "null" {
		return nil
	}
	in := jsonpos.Of(data)
	return in.Object(func(name string) error {
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return err
		}
		if len(*f) == mostFacts {
			return lang.Errorf("more than %d facts", mostFacts)
		}
		if slices.ContainsFunc(*f, func(x Fact) bool { return x.Name == name }) {
			return lang.Errorf("fact %q stands twice", excerpt([]byte(name)))
		}
		var compact bytes.Buffer // a list in a document that is indented
		if err := json.Compact(&compact, value); err != nil {
			return err
		}
		value = compact.Bytes()
		if err := checkFact(value); err != nil {
			return lang.Errorf("fact %q: %w", excerpt([]byte(name)), err)
		}
		*f = append(*f, Fact{name, string(value)})
		return nil
	})
}

// checkFact reports what no fact is.
func checkFact(value json.RawMessage) error {
	switch string(value) {
	case "true", "false":
		return nil
	}
	if len(value) > 0 && value[0] == '[' {
		var all []int64
		if err := json.Unmarshal(value, &all); err != nil {
			return lang.Errorf("no list of whole numbers")
		}
		return nil
	}
	_, err := metrics.ParseNumber(value)
	return err
}

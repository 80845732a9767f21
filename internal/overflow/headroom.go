package overflow

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/check"
	"dumptool/internal/dumpdir"
	"dumptool/internal/exact"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/shard"
	"dumptool/internal/tensor"
)

// HeadroomSchema is the schema of a HeadroomReport as a document.
const HeadroomSchema = "dumptool/headroom/1"

// HeadroomTypes are the types for which FindHeadroom computes margins.
var HeadroomTypes = []string{"float16", "bfloat16", "float8_e4m3", "float8_e5m2"}

var headroomTypes = []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float8E4M3FN, tensor.Float8E5M2}

// HeadroomStatus says how an operator fits a type.
type HeadroomStatus string

// Values of HeadroomStatus. An operator is Unknown if a number that may overflow was not dumped.
const (
	Overflows       HeadroomStatus = "OVERFLOWS"
	Tight           HeadroomStatus = "TIGHT"
	Fits            HeadroomStatus = "OK"
	HeadroomUnknown HeadroomStatus = "UNKNOWN"
)

// HeadroomReport is the result of FindHeadroom, and the document of it.
type HeadroomReport struct {
	Schema string `json:"schema"`
	// Type is the wanted type, Limit its largest number.
	Type  string  `json:"type"`
	Limit float64 `json:"limit"`
	// Headline states the most important result, HeadlineZH in Chinese.
	Headline   lang.Sentence `json:"headline"`
	HeadlineZH string        `json:"headline_zh"`
	// Clean is false for a run with NaN, infinities or numbers at the limit of their type: it has no rows.
	Clean bool `json:"clean"`
	// Counts are the rows by their status.
	Counts map[HeadroomStatus]int `json:"counts"`
	// First is the first row in the execution that overflows, null for none or where the order is not known.
	First *int `json:"first"`
	// Rows are the executions of operators with floating-point numbers, the smallest margin first.
	Rows []Headroom `json:"rows"`
	// Problems are the files and tensors that could not be read.
	Problems []Problem `json:"problems"`
	// Rounds are the rounds that were read.
	Rounds []ScanRound `json:"rounds"`
	// All: reports for people list every row.
	All bool `json:"all,omitempty"`
	shard.Origin

	scan *ScanReport
}

// Headroom is the distance of the numbers of one execution of an operator from the limit of a type.
type Headroom struct {
	// Status is OVERFLOWS for a margin below 0, TIGHT for a margin below 1 bit, UNKNOWN if a number is missing, else OK.
	Status HeadroomStatus `json:"status"`
	// OpType and OpName are the operator, Script is the line of the user's script, as FILE:LINE.
	OpType string `json:"op_type"`
	OpName string `json:"op_name"`
	Script string `json:"script,omitempty"`
	// Modules are the modules around a call, the outermost first.
	Modules []string `json:"modules,omitempty"`
	// At is the round, File the first file of the operator, Order the position in the execution order, from 0.
	At    dumpdir.Coordinates `json:"at"`
	File  string              `json:"file"`
	Order int                 `json:"order"`
	// Margins are sorted by bits, bounds last. An operator whose numbers are all 0 has no margin.
	Margins []Margin `json:"margins"`
	// Reason says why a row is UNKNOWN; ReasonZH is Reason in Chinese.
	Reason   string `json:"reason,omitempty"`
	ReasonZH string `json:"reason_zh,omitempty"`
	// HasMask: the smallest number of a tensor stands for minus infinity and is left out.
	HasMask bool `json:"mask,omitempty"`
	// IsWide: the operator gives float32 in a run of bfloat16, so whether it fits is not examined.
	IsWide bool `json:"wide,omitempty"`

	row *ScanRow
}

// Margin is the distance of a number from the limit.
type Margin struct {
	// Where is output; input, for weights and data with numbers larger than all outputs before; or a class of
	// intermediate numbers: sum_of_squares (norms), scores (attention), exp (softmax and losses) or products.
	Where string `json:"where"`
	// Index is the number of the tensor.
	Index int `json:"index"`
	// Log2 is the binary logarithm of the largest number, Bits the binary logarithm of the limit minus Log2.
	Log2 float64 `json:"log2"`
	Bits float64 `json:"bits"`
	// IsBound: the number is an upper bound that may never occur; it does not count for the status.
	IsBound bool `json:"bound,omitempty"`
	// IsPart: only some elements were computed, other numbers may be larger.
	IsPart bool `json:"part,omitempty"`
}

// The values of Margin.Where for tensors.
const (
	inInput  = "input"
	inOutput = "output"
)

// FindHeadroom computes how many bits lie between the largest numbers of the operators of a clean run and the limit
// of the wanted type. If ctx ends, the report has the rows read until then, and the error is the error of ctx.
func FindHeadroom(ctx context.Context, run *dumpdir.Run, opt Options) (*HeadroomReport, error) {
	all := opt.All
	opt.All = true
	scan, err := Scan(ctx, run, opt)
	if scan == nil {
		return nil, err
	}
	f, _ := tensor.FloatOf(headroomTypes[slices.Index(HeadroomTypes, opt.Headroom)])
	r := &HeadroomReport{Schema: HeadroomSchema, Type: opt.Headroom, Limit: f.Max, Clean: !slices.ContainsFunc(scan.Rows, isBadRow), Counts: map[HeadroomStatus]int{}, All: all,
		Rows: []Headroom{}, Problems: scan.Problems, Rounds: scan.Rounds, scan: scan}
	checked := new(check.Report)
	if r.Clean && err == nil {
		checked, err = check.Run(ctx, run, check.Options{Select: opt.Select, Ops: opt.Ops, Workers: opt.Workers, Graph: true, Budget: check.DefaultBudget, Seed: 1,
			Only: []string{check.Operators}, Observe: opt.Observe})
	}
	if checked == nil {
		return nil, err
	}
	if r.Clean {
		r.setRows(checked)
	}
	r.conclude()
	if r.Headline = r.headline(); err != nil {
		r.Headline = lang.Say("INTERRUPTED, so far: %v", r.Headline)
	}
	r.HeadlineZH = r.Headline.Text().Chinese()
	return r, err
}

// executionKey identifies an execution of an operator by a file, or a module of a round.
type executionKey struct {
	at         dumpdir.Coordinates
	name, file string
}

// setRows makes the rows. The intermediate numbers of a module count only if the calls inside of it were not dumped.
func (r *HeadroomReport) setRows(checked *check.Report) {
	ops, outerModules, isBF16 := map[executionKey]*check.Operator{}, map[executionKey]bool{}, false
	for i := range checked.Operators {
		o := &checked.Operators[i]
		ops[executionKey{o.At, o.Op, o.File}] = o
	}
	for i := range r.scan.Rows {
		s := &r.scan.Rows[i]
		isBF16 = isBF16 || s.hasResult(func(t *Tensor) bool { return t.DType == tensor.BFloat16.String() })
		for _, module := range s.modules() {
			outerModules[executionKey{at: s.Coordinates(), name: module}] = true
		}
	}
	largestOutput := map[dumpdir.Coordinates]float64{} // the largest output so far
	for i := range r.scan.Rows {
		s := &r.scan.Rows[i]
		h := Headroom{OpType: s.OpType, OpName: s.OpName, Script: s.Script, Modules: s.modules(), At: s.Coordinates(), File: s.op.Tensors[0].File.Path(), Order: len(r.Rows), Margins: []Margin{}, row: s}
		isKnown, why := outerModules[executionKey{at: h.At, name: h.OpName}], lang.Sentence{}
		if h.IsWide = isBF16 && s.hasResult((*Tensor).isWide) && !s.hasResult(func(t *Tensor) bool { return !t.isWide() }); !h.IsWide && recompute.TypeOfOperator(s.OpType, s.OpName).Noise != optype.NoiseGarbage {
			largestOutput[h.At] = h.addTensors(largestOutput[h.At])
		}
		if o := ops[executionKey{h.At, h.OpName, h.File}]; o != nil {
			if h.OpType = cmp.Or(o.Type, h.OpType); !h.IsWide && !isKnown {
				h.addIntermediates(o.Headroom)
			}
			if o.Status == recompute.Undecided {
				why = o.Explain()
			}
		}
		for k := range h.Margins {
			h.Margins[k].Bits = exact.Log2(r.Limit) - h.Margins[k].Log2
		}
		slices.SortStableFunc(h.Margins, func(a, b Margin) int { return cmp.Compare(a.sortKey(), b.sortKey()) })
		if h.setStatus(isKnown || h.IsWide, why) {
			r.Rows = append(r.Rows, h)
		}
	}
}

// isResult reports whether a tensor is a floating-point result.
func (t *Tensor) isResult() bool {
	return (t.Kind == tensor.Output || t.Kind == tensor.Gradient) && !t.hasNoFloats()
}

// isWide reports whether a tensor has float32 or a wider type.
func (t *Tensor) isWide() bool {
	d, _ := tensor.ParseDType(t.DType)
	return d.Bits() >= tensor.Float32.Bits()
}

func isBadRow(s ScanRow) bool { return s.HasOverflow() }

// hasResult reports whether any floating-point result satisfies the predicate.
func (s *ScanRow) hasResult(is func(t *Tensor) bool) bool {
	return slices.ContainsFunc(s.Tensors, func(t Tensor) bool { return t.isResult() && is(&t) })
}

// modules returns the modules around a call, the outermost first.
func (s *ScanRow) modules() []string {
	if s.op.Call == nil {
		return nil
	}
	return s.op.Call.Modules
}

// addTensors adds a margin for the largest number of the outputs, and of the inputs if it is larger than all outputs
// before. It returns the largest output so far.
func (h *Headroom) addTensors(largestOutput float64) float64 {
	var all [2]struct { // of inputs and outputs
		largest float64
		index   int
	}
	for i := range h.row.Tensors {
		t, k := &h.row.Tensors[i], 0
		if t.Stats == nil || t.Min == nil || t.Max == nil || t.hasNoFloats() {
			continue
		}
		if t.isResult() {
			k = 1
		}
		largest := max(math.Abs(*t.Min), math.Abs(*t.Max))
		if isMask(*t.Min, *t.Max) {
			largest, h.HasMask = math.Abs(*t.Max), true
		}
		if largest > all[k].largest {
			all[k].largest, all[k].index = largest, t.Index
		}
	}
	for k, where := range []string{inInput, inOutput} {
		if x := all[k]; x.largest > 0 && (where == inOutput || x.largest > largestOutput) {
			h.Margins = append(h.Margins, Margin{Where: where, Index: x.index, Log2: exact.Log2(x.largest)})
		}
	}
	return max(largestOutput, all[1].largest)
}

// isMask reports whether the smallest number of a tensor stands for minus infinity: a power of ten, or the
// smallest number of a type, far beyond the largest one. Scores to which it was added have it too.
func isMask(low, high float64) bool {
	const (
		minMagnitude, minFactor = 1e4, 64
		rounding                = 0x1p-8 // of bfloat16
	)
	bf16, _ := tensor.FloatOf(tensor.BFloat16)
	for x := float64(minMagnitude); x <= math.MaxFloat32; x *= 10 {
		if math.Abs(x+low) <= rounding*x {
			return -low >= minFactor*math.Abs(high)
		}
	}
	return -low >= minFactor*math.Abs(high) && (-low == tensor.MaxFloat16 || -low == bf16.Max || -low == math.MaxFloat32)
}

// addIntermediates adds a margin for the largest number of each class of intermediate numbers.
func (h *Headroom) addIntermediates(all []recompute.LargestIntermediate) {
	for _, x := range all {
		h.Margins = append(h.Margins, Margin{Where: x.Class, Log2: x.Log2, IsBound: recompute.IntermediateOf(x.Class).IsBound, IsPart: x.IsPart})
	}
}

// sortKey returns the sort key of a margin: bounds come after measured margins.
func (m *Margin) sortKey() float64 {
	if m.IsBound {
		return math.Inf(1)
	}
	return m.Bits
}

// smallestMargin returns the smallest measured margin, nil for none.
func (h *Headroom) smallestMargin() *Margin {
	if len(h.Margins) == 0 || h.Margins[0].IsBound {
		return nil
	}
	return &h.Margins[0]
}

// smallestBits returns the smallest margin in bits, infinite if there is none.
func (h *Headroom) smallestBits() float64 {
	if m := h.smallestMargin(); m != nil {
		return m.Bits
	}
	return math.Inf(1)
}

// setStatus sets the status of the row. isKnown: all intermediate numbers are known. why is the reason if check did
// not compute the operator. The result is false for an operator without floating-point results.
func (h *Headroom) setStatus(isKnown bool, why lang.Sentence) bool {
	hasFloats := slices.ContainsFunc(h.row.Tensors, func(t Tensor) bool { return !t.hasNoFloats() })
	hasOutputs := slices.ContainsFunc(h.row.Tensors, func(t Tensor) bool { return t.Kind == tensor.Output || t.Kind == tensor.Gradient })
	hasResults := h.row.hasResult(func(*Tensor) bool { return true })
	isKnown = isKnown || !recompute.HasIntermediates(h.OpType, h.OpName) || slices.ContainsFunc(h.Margins, func(m Margin) bool { return m.Where != inInput && m.Where != inOutput && !m.IsBound })
	switch {
	case !hasFloats || hasOutputs && !hasResults:
		return false
	case !hasOutputs:
		why = lang.Say("outputs were not dumped")
	case h.row.hasResult(func(t *Tensor) bool { return t.Stats == nil }):
		why = lang.Say("an output could not be read")
	case isKnown:
		why = lang.Sentence{}
	case why.IsZero():
		why = lang.Say("only its outputs are known, not the values that it accumulates")
	default:
		why = lang.Say("only its outputs are known, not the values that it accumulates: %v", why)
	}
	switch {
	case h.smallestBits() < 0:
		h.Status = Overflows
	case h.smallestBits() < 1:
		h.Status = Tight
	case !why.IsZero():
		h.Status, h.Reason, h.ReasonZH = HeadroomUnknown, why.String(), why.Text().Chinese()
	default:
		h.Status = Fits
	}
	return true
}

// conclude finds the first row that overflows, sorts the rows and counts them. A module comes after the calls
// inside of it.
func (r *HeadroomReport) conclude() {
	outerModules := map[executionKey]bool{}
	for i := range r.Rows {
		h := &r.Rows[i]
		if r.Counts[h.Status]++; h.Status == Overflows {
			for _, module := range h.Modules {
				outerModules[executionKey{at: h.At, name: module}] = true
			}
		}
	}
	first := slices.IndexFunc(r.Rows, func(h Headroom) bool {
		return h.Status == Overflows && !outerModules[executionKey{at: h.At, name: h.OpName}]
	})
	if first >= 0 && r.Rows[first].row.Unordered && r.Counts[Overflows] > 1 {
		first = -1
	}
	slices.SortStableFunc(r.Rows, func(a, b Headroom) int { return cmp.Compare(a.smallestBits(), b.smallestBits()) })
	if i := slices.IndexFunc(r.Rows, func(h Headroom) bool { return h.Order == first }); i >= 0 {
		r.First = &i
	}
}

// headline returns the first line of the report.
func (r *HeadroomReport) headline() lang.Sentence {
	switch {
	case !r.Clean:
		s := &r.scan.Rows[slices.IndexFunc(r.scan.Rows, isBadRow)]
		return lang.Say("HEADROOM %s: not a clean run: %s has NaN, infinities or numbers at the limit of their type; 'dumptool overflow scan' shows their origin; a run in a wider type has none",
			r.Type, (&Headroom{OpName: s.OpName, OpType: s.OpType, row: s}).Label())
	case len(r.Rows) == 0:
		return lang.Say("HEADROOM %s: no operator with floating-point numbers was read", r.Type)
	}
	head := lang.Say("HEADROOM %s: %d of %s overflow, %d within 1 bit", r.Type, r.Counts[Overflows], lang.CountText(len(r.Rows), "operator"), r.Counts[Tight])
	if n := r.Counts[HeadroomUnknown]; n > 0 {
		head = lang.Say("%s, %d unknown", head, n)
	}
	switch h := &r.Rows[0]; {
	case r.First != nil:
		h = &r.Rows[*r.First]
		return lang.Say("%s; first %s: %s", head, h.Label(), h.Text())
	case h.smallestMargin() != nil:
		return lang.Say("%s; smallest margin %s: %s", head, h.Label(), h.Text())
	}
	return head
}

// Label returns the name of the operator for people: with its type; for a module its path in the model, for a function
// also the path of the calling module.
func (h *Headroom) Label() string {
	name, detail := cmp.Or(modulePath(h.OpName), h.OpName), h.OpType
	if call := msprobe.ParseName(h.OpName); call.Direction != "" && call.Class() == "" {
		detail = strings.Join(h.listNames(), "")
	}
	if detail == "" || detail == name {
		return name
	}
	return name + " (" + detail + ")"
}

// modulePath returns the path of a module from the name of its call: layers.7.norm of
// Module.layers.7.norm.RmsNorm.forward.0. It is empty for a function.
func modulePath(api string) string {
	call := msprobe.ParseName(api)
	class := call.Class()
	_, place, ok := strings.Cut(call.Callee, ".")
	if !ok || class == "" {
		return ""
	}
	place, _, _ = strings.Cut(place+".", "."+class+".")
	return place
}

// Text describes the smallest margin; it is empty for an operator whose numbers are all 0.
func (h *Headroom) Text() lang.Sentence {
	m := h.smallestMargin()
	if m == nil {
		return lang.Sentence{}
	}
	isInside := m.Where != inInput && m.Where != inOutput
	text := lang.Say("%s", recompute.IntermediateOf(m.Where).Text)
	switch m.Where {
	case inInput:
		text = lang.Say("input %d", m.Index)
	case inOutput:
		text = lang.Say("output %d", m.Index)
	}
	if m.Bits < 0 {
		text = lang.Say("%s %.1f bits above", text, -m.Bits)
	} else {
		text = lang.Say("%s %.1f bits below", text, m.Bits)
	}
	switch {
	case !isInside:
		return text
	case slices.ContainsFunc(h.Margins, func(m Margin) bool { return m.Where == inOutput && m.Bits >= 0 }):
		return lang.Say("%s, inside; its output fits", text)
	}
	return lang.Say("%s, inside", text)
}

// Unread counts the problems with data that could not be read.
func (r *HeadroomReport) Unread() int { return countUnread(r.Problems) }

// Unfetched counts the problems with the access to object storage.
func (r *HeadroomReport) Unfetched() int { return countUnfetched(r.Problems) }

// Outcome returns how the search ended. The parameter, whether a report was printed, does not matter.
func (r *HeadroomReport) Outcome(bool) (o batch.Outcome) {
	switch scan := r.scan.Outcome(false); {
	case scan.Kind == batch.Incomplete || scan.Kind == batch.Nothing:
		return scan
	case !r.Clean:
		return batch.Outcomef(batch.Found, "not a clean run").AsShown()
	case len(r.Rows) == 0:
		return batch.Outcomef(batch.Nothing, "none of %s has floating-point elements", lang.CountText(r.scan.Tensors, "tensor"))
	case r.Counts[Overflows] > 0:
		o = batch.Outcomef(batch.Found, "operators overflow").AsShown()
	}
	masks := 0
	for i := range r.Rows {
		if r.Rows[i].HasMask {
			masks++
		}
	}
	if masks > 0 {
		o.Messages = []batch.Message{batch.Infof("the smallest numbers of %s are left out: they stand for minus infinity, as in masks", lang.CountText(masks, "operator"))}
	}
	return o
}

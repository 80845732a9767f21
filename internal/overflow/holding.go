package overflow

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/check"
	"dumptool/internal/dumpdir"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Kinds is a set of kinds of bad elements, a bit for each.
type Kinds uint8

// Kinds of bad elements. An infinity and the largest value of the type with the same sign are one kind, since masks
// use either.
const (
	HasNaN  Kinds = 1 << iota
	HasHigh       // +Inf or the upper limit
	HasLow        // -Inf or the lower limit
)

// bothSigns has all kinds except NaN.
const bothSigns = HasHigh | HasLow

// negate returns the kinds after a change of sign.
func (k Kinds) negate() Kinds {
	s := k & HasNaN
	if k&HasHigh != 0 {
		s |= HasLow
	}
	if k&HasLow != 0 {
		s |= HasHigh
	}
	return s
}

// kindOf returns the kind of a value, 0 for an ordinary value. limit is the largest finite value.
func kindOf(v, limit float64) Kinds {
	switch {
	case v >= limit:
		return HasHigh
	case v <= -limit:
		return HasLow
	}
	return 0
}

// kindsOf returns the kinds of bad elements of a tensor.
func kindsOf(s *tensor.Stats, d tensor.DType) (k Kinds) {
	if s.NaN > 0 {
		k |= HasNaN
	}
	low, high := tensor.Limits(d)
	atLimits := s.Saturated > 0 && !hasOrdinaryLimits(d)
	if s.PosInf > 0 || atLimits && (s.Max == nil || *s.Max >= high*nearLimit) {
		k |= HasHigh
	}
	if s.NegInf > 0 || atLimits && s.Min != nil && *s.Min <= low*nearLimit {
		k |= HasLow
	}
	return k
}

// nearLimit is the tolerance, relative to the limit, for values with six digits in tables.
const nearLimit = 1 - 2e-6

// BadElements has the properties of a bad tensor that tracing its bad elements needs.
type BadElements struct {
	// Kinds are the kinds of its bad elements.
	Kinds Kinds `json:"kinds,omitempty"`
	// IsMask: the argument is a mask by its name.
	IsMask bool `json:"mask,omitempty"`
	// IsUnread: the call does not read the input.
	IsUnread bool `json:"unread,omitempty"`
	// Rows are the ranges of rows with bad elements, counted over all axes except the last; none if unknown.
	Rows []check.Range `json:"rows,omitempty"`
	// Elements are the ranges of the bad elements themselves; none if unknown or too many.
	Elements []check.Range `json:"elements,omitempty"`
	// File is the path of the file.
	File string `json:"file,omitempty"`
}

// MaskedLines are the lines of a tensor along the axis of a softmax in which every element is -Inf: their softmax is
// NaN.
type MaskedLines struct {
	// Axis is the axis of the softmax.
	Axis int `json:"axis"`
	// Count is the number of such lines.
	Count int64 `json:"count"`
	// First are the coordinates of the first line, with 0 at the axis.
	First []int64 `json:"first"`
}

// Arguments has the infinities and limits that the arguments of a call state.
type Arguments struct {
	// Kinds are the kinds of elements that arguments state, such as the value -inf of masked_fill.
	Kinds Kinds `json:"kinds,omitempty"`
	// MaskKinds are the kinds that result from a factor among the arguments times a mask of 0 and 1.
	MaskKinds Kinds `json:"of_mask,omitempty"`
	// Negative: an argument is a negative number.
	Negative bool `json:"negative,omitempty"`
	// InPlace is the tensor that the call changes in place without dumping it again.
	InPlace *TypeAndCount `json:"in_place,omitempty"`
}

// TypeAndCount describes a tensor by its element type and its number of elements.
type TypeAndCount struct {
	// DType is the element type, Count the number of elements.
	DType string `json:"dtype"`
	Count int64  `json:"count"`
}

// fillNames are functions and operator types that write constants and copies of elements: a value that no input has
// comes from an argument.
var fillNames = strings.Fields("masked_fill fill full full_like new_full where pad constant_pad_nd index_fill scatter masked_scatter index_put put __setitem__ tensor scalar_tensor " +
	"new_tensor as_tensor nan_to_num MaskedFill MaskedFillV2 Fill Fills FillD FillV2 FillV2D InplaceFill MaskedScatter Select SelectV2 Where Pad PadD PadV2 PadV3 PadV3D IndexFill IndexFillD Const Constant Full FullLike")

// functionOf returns the function of a call without the underscore of in-place functions, the class of a module, or
// the type of an operator.
func functionOf(opType, name string) string {
	if opType != "" {
		return opType
	}
	call := msprobe.ParseName(name)
	function := call.Function()
	if !strings.HasSuffix(function, "__") {
		function = strings.TrimSuffix(function, "_")
	}
	if class := call.Class(); class != "" {
		return class
	}
	return function
}

// typeOf returns the row of an operator in the table of operators.
func typeOf(opType, name string) optype.Type {
	if opType == "" {
		return recompute.TypeOfCall(name)
	}
	return recompute.TypeOf(opType)
}

// isFill reports whether an operator writes constants and copies of elements.
func isFill(opType, name string) bool { return slices.Contains(fillNames, functionOf(opType, name)) }

// isSoftmax reports whether an operator is a softmax or log-softmax.
func isSoftmax(opType, name string) bool {
	return strings.Contains(strings.ToLower(functionOf(opType, name)), "softmax")
}

// argumentsOf returns the infinities and limits that the arguments of an operator state. If the arguments are unknown,
// any infinity written by an operator of constants and copies may be an argument.
func argumentsOf(op *dumpdir.Op) (a Arguments) {
	fill := isFill(op.Type, op.Name)
	if op.Call == nil || op.Call.NamesOnly || len(op.Call.Leaves) == 0 {
		if fill {
			a.Kinds = bothSigns
		}
		return a
	}
	limit, typ := limitOf(op.Call), typeOf(op.Type, op.Name)
	if typ.Trait == optype.Spreads { // the order of a norm is no value of an element
		return a
	}
	for i := range op.Call.Leaves {
		v, ok := argumentNumber(&op.Call.Leaves[i])
		a.Negative = a.Negative || ok && v < 0
		switch {
		case !ok:
		case math.IsInf(v, 0), fill:
			a.Kinds |= kindOf(v, limit)
		case typ.Class == optype.Multiply:
			a.MaskKinds |= kindOf(v, limit)
		}
	}
	if typ.Class == optype.Multiply || typ.Class == optype.Divide {
		a.Kinds |= a.Kinds.negate()
	}
	a.InPlace = inPlaceTensor(op.Call)
	return a
}

// inPlaceTensor returns the tensor that a call changes in place without an output in the dump, nil for none.
func inPlaceTensor(call *dumpdir.Call) *TypeAndCount {
	function := msprobe.ParseName(call.API).Function()
	if function != "__setitem__" && (!strings.HasSuffix(function, "_") || strings.HasSuffix(function, "__")) {
		return nil
	}
	var first *msprobe.Tensor
	for i := range call.Leaves {
		switch l := &call.Leaves[i]; {
		case l.Tensor == nil:
		case l.Kind == tensor.Output:
			return nil
		case first == nil && l.Kind == tensor.Input:
			first = l.Tensor
		}
	}
	if first == nil {
		return nil
	}
	n, _ := first.Shape.Count()
	return &TypeAndCount{first.ElementType().String(), n}
}

// limitOf returns the largest finite value of the output type of a call; of float16 if unknown.
func limitOf(call *dumpdir.Call) float64 {
	for i := range call.Leaves {
		l := &call.Leaves[i]
		if l.Tensor == nil || l.Kind != tensor.Output {
			continue
		}
		if f, ok := tensor.FloatOf(l.Tensor.ElementType()); ok {
			return f.Max * nearLimit
		}
	}
	return tensor.MaxFloat16 * nearLimit
}

// argumentNumber returns the value of a numeric argument.
func argumentNumber(l *msprobe.Leaf) (float64, bool) {
	if l.Kind != tensor.Input || l.Value == nil || l.Value.Kind != jsonpos.Number && l.Value.Kind != jsonpos.String {
		return 0, false
	}
	v, err := strconv.ParseFloat(l.Value.Text, 64)
	return v, err == nil || math.IsInf(v, 0)
}

// isMaskArgument reports whether an argument is a mask by its name, or the mask of an attention by its position.
func isMaskArgument(t *dumpdir.Tensor, call *dumpdir.Call) bool {
	if t.Leaf == nil || t.Kind != tensor.Input || call == nil {
		return false
	}
	first, _, _ := strings.Cut(t.Leaf.Path, ".")
	at, err := strconv.Atoi(first)
	if err != nil {
		return strings.Contains(strings.ToLower(first), "mask")
	}
	_, rows := recompute.CallsOf(call.API, "")
	return slices.ContainsFunc(rows, func(c recompute.Call) bool {
		return c.Formula == "Attention" && at < len(c.Arguments) && strings.Contains(c.Arguments[at].Keyword, "mask")
	})
}

// elementSearch selects the properties to search for in the elements of bad tensors.
type elementSearch struct {
	call    *dumpdir.Call // call of the operator, nil for none
	rows    bool          // search for rows with bad elements
	softmax bool          // search for lines of -Inf along axis (-1 is the last axis)
	axis    int
}

// newElementSearch returns what to search for in the bad tensors of an operator. unwritten: the round has
// uninitialised memory.
func newElementSearch(op *dumpdir.Op, unwritten bool) (s elementSearch) {
	s.call, s.rows, s.axis = op.Call, unwritten, -1
	if s.softmax = isSoftmax(op.Type, op.Name); !s.softmax || op.Call == nil {
		return s
	}
	for i := range op.Call.Leaves {
		l := &op.Call.Leaves[i]
		if l.Kind == tensor.Input && slices.Contains([]string{"1", "dim", "axis"}, l.Path) {
			s.axis = int(l.NumberOr(-1))
		}
	}
	return s
}

// hasUnwritten reports whether a call of a round returns uninitialised memory, or rows that are proven unwritten.
func hasUnwritten(round *dumpdir.Round, proven []check.Unwritten) bool {
	return slices.ContainsFunc(proven, func(u check.Unwritten) bool { return u.At == round.At }) || slices.ContainsFunc(round.Ops, func(op *dumpdir.Op) bool {
		typ := typeOf(op.Type, op.Name)
		return typ.NoiseWay() == optype.NoiseGarbage
	})
}

// maxRowRanges limits the ranges of rows that are kept.
const maxRowRanges = 4096

// searchElements reads the elements of a bad tensor again to find the properties.
func (t *Tensor) searchElements(ctx context.Context, src *tensorfile.Tensor, want elementSearch, block *[]byte) error {
	lines := want.softmax && t.Kind == tensor.Input && t.badElements.Kinds == HasLow
	if !want.rows && !lines || src.DType.Host().Complex() || len(t.Shape) == 0 {
		return nil
	}
	axis := want.axis
	if axis < 0 {
		axis += len(t.Shape)
	}
	lines = lines && axis >= 0 && axis < len(t.Shape)
	dec, err := tensor.NewDecoder(src.DType)
	if err != nil {
		return err
	}
	r, e, m := newRowFinder(check.RowWidth(t.Shape), src.DType), newRowFinder(1, src.DType), new(lineFinder)
	if lines {
		m = newLineFinder(t.Shape, axis)
	}
	var host []byte
	var values []float64
	for stored, err := range src.Blocks(ctx, t.Shape.Elements(), block) {
		if err != nil {
			return err
		}
		n := len(stored) / dec.UnitSize()
		host, values = slices.Grow(host[:0], n*dec.Host().Size())[:n*dec.Host().Size()], slices.Grow(values[:0], n)[:n]
		dec.Decode(host, stored)
		tensor.Float64s(values, host, dec.Host())
		if want.rows {
			r.add(values)
			e.add(values)
		}
		if lines {
			m.add(values)
		}
	}
	if want.rows {
		t.badElements.Rows, t.badElements.Elements = r.knownRanges(), e.knownRanges()
	}
	if lines && m.found.Count > 0 {
		t.MaskedLines = &m.found
	}
	return nil
}

// rowFinder finds the rows with bad elements.
type rowFinder struct {
	size, at  int64 // elements per row, and elements read before
	low, high float64
	ranges    []check.Range
}

// newRowFinder returns a finder of rows of size elements.
func newRowFinder(size int64, d tensor.DType) *rowFinder {
	r := &rowFinder{size: size}
	if r.low, r.high = tensor.Limits(d); hasOrdinaryLimits(d) {
		r.low, r.high = math.Inf(-1), math.Inf(1)
	}
	return r
}

func (r *rowFinder) add(values []float64) {
	for i, x := range values {
		if x-x == 0 && x > r.low && x < r.high {
			continue
		}
		row, last := (r.at+int64(i))/r.size, len(r.ranges)-1
		switch {
		case last >= 0 && row < r.ranges[last].To:
		case last >= 0 && row == r.ranges[last].To:
			r.ranges[last].To++
		case len(r.ranges) <= maxRowRanges:
			r.ranges = append(r.ranges, check.Range{From: row, To: row + 1})
		}
	}
	r.at += int64(len(values))
}

// knownRanges returns the ranges, nil for too many.
func (r *rowFinder) knownRanges() []check.Range {
	if len(r.ranges) > maxRowRanges {
		return nil
	}
	return r.ranges
}

// lineFinder finds the lines of -Inf along an axis. Interleaved lines are counted in parallel.
type lineFinder struct {
	shape         tensor.Shape
	length, inner int64   // elements per line, and their distance in memory
	infinite      []int64 // -Inf elements of each line of the current block of length*inner elements
	at            int64   // elements read before
	found         MaskedLines
}

func newLineFinder(shape tensor.Shape, axis int) *lineFinder {
	m := &lineFinder{shape: shape, length: shape[axis], inner: shape[axis+1:].Elements(), found: MaskedLines{Axis: axis}}
	m.infinite = make([]int64, m.inner)
	return m
}

func (m *lineFinder) add(values []float64) {
	for _, x := range values {
		line := m.at % m.inner
		if math.IsInf(x, -1) {
			m.infinite[line]++
		}
		m.at++
		if m.at%(m.length*m.inner) == 0 {
			m.endBlock()
		}
	}
}

// endBlock counts the lines of a complete block.
func (m *lineFinder) endBlock() {
	for line, n := range m.infinite {
		m.infinite[line] = 0
		if n < m.length {
			continue
		}
		if m.found.Count == 0 {
			m.found.First = m.shape.Coordinates(m.at - m.length*m.inner + int64(line))
		}
		m.found.Count++
	}
}

package overflow

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"dumptool/internal/check"
	"dumptool/internal/dumpdir"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// cause is the origin of bad elements.
type cause uint8

const (
	fault     cause = iota // an operator computed them, or unknown
	intended               // a call was asked to write them: they are data
	unwritten              // uninitialised memory
)

// elementOrigin is the origin of the bad elements of a tensor.
type elementOrigin struct {
	cause  cause
	kinds  Kinds
	row    *ScanRow      // the row that made them; nil for a mask from outside
	rows   []check.Range // rows with bad elements, nil if unknown
	length int64         // number of rows
}

// tensorKey identifies a tensor with bad elements by its content.
type tensorKey struct {
	TypeAndCount
	kinds         Kinds
	nan, pos, neg int64 // -1 if unknown
	low, high     uint64
}

func contentOf(t *Tensor) tensorKey {
	count := func(n *int64) int64 {
		if n == nil {
			return -1
		}
		return *n
	}
	bits := func(x *float64) uint64 {
		if x == nil {
			return math.Float64bits(math.NaN())
		}
		return math.Float64bits(*x + 0) // -0 becomes 0
	}
	return tensorKey{typeAndCount(t), t.badElements.Kinds, count(t.NaN), count(t.PosInf), count(t.NegInf), bits(t.Min), bits(t.Max)}
}

// typeAndCount returns the type and the number of elements of a tensor.
func typeAndCount(t *Tensor) TypeAndCount {
	n, _ := t.Shape.Count()
	if t.Count != nil {
		n = *t.Count
	}
	return TypeAndCount{t.DType, n}
}

// resolver follows bad elements through the operators of a round in execution order.
type resolver struct {
	outputs map[tensorKey]elementOrigin    // outputs so far
	inPlace map[TypeAndCount]elementOrigin // tensors that calls changed in place
	buffers map[TypeAndCount]elementOrigin // uninitialised memory
	memory  []check.Unwritten              // proven unwritten rows of the run
}

// resolve finds the origin of bad elements in the open rounds. Elements that a call was asked to write, and
// uninitialised memory, are no longer bad.
func (r *ScanReport) resolve() {
	rounds, files := make(map[dumpdir.Coordinates]*ScanRound), make(map[dumpdir.Coordinates]map[string]bool)
	for i := range r.Rounds {
		if x := &r.Rounds[i]; x.Open {
			x.Open, x.Intended, x.Unwritten = false, 0, 0
			rounds[x.Coordinates], files[x.Coordinates] = x, make(map[string]bool)
		}
	}
	resolvers := make(map[dumpdir.Coordinates]*resolver)
	for i := range r.Rows {
		row := &r.Rows[i]
		round := rounds[row.Coordinates()]
		if round == nil {
			continue
		}
		s := resolvers[row.Coordinates()]
		if s == nil {
			s = &resolver{make(map[tensorKey]elementOrigin), make(map[TypeAndCount]elementOrigin), make(map[TypeAndCount]elementOrigin), r.Memory}
			resolvers[row.Coordinates()] = s
		}
		row.moveFieldsBack()
		s.resolve(row)
		for k := range row.Tensors {
			t := &row.Tensors[k]
			switch {
			case t.Bad:
				files[row.Coordinates()][t.badElements.File] = true
			case t.IsIntended:
				round.Intended++
			case t.Unwritten:
				round.Unwritten++
			}
		}
	}
	for at, round := range rounds {
		round.BadFiles = len(files[at])
	}
	r.Rows = slices.DeleteFunc(r.Rows, func(row ScanRow) bool { return rounds[row.Coordinates()] != nil && !r.All && !row.HasOverflow() })
}

// toDocument copies the data that resolve needs into the JSON fields of a shard's document.
func (s *ScanRow) toDocument() {
	if s.arguments != (Arguments{}) {
		s.Arguments = &s.arguments
	}
	for i := range s.Tensors {
		if t := &s.Tensors[i]; t.badElements.Kinds != 0 {
			t.BadElements = &t.badElements
		}
	}
}

// moveFieldsBack moves the JSON fields of a shard's document back.
func (s *ScanRow) moveFieldsBack() {
	if s.Arguments != nil {
		s.arguments, s.Arguments = *s.Arguments, nil
	}
	for i := range s.Tensors {
		if t := &s.Tensors[i]; t.BadElements != nil {
			t.badElements, t.BadElements = *t.BadElements, nil
		}
	}
}

// isRelevant reports whether resolve needs the row.
func (s *ScanRow) isRelevant() bool {
	return s.arguments != (Arguments{}) || slices.ContainsFunc(s.Tensors, func(t Tensor) bool { return t.badElements.Kinds != 0 })
}

// inputs summarises the explained inputs of an operator.
type inputs struct {
	intended        Kinds
	intendedSource  *elementOrigin // source of the first input with infinities that a call was asked to write
	unwrittenSource *elementOrigin // source of the first input with uninitialised memory
}

// resolve classifies the bad tensors of a row.
func (r *resolver) resolve(row *ScanRow) {
	in, typ := r.classifyInputs(row), typeOf(row.OpType, row.OpName)
	explained := row.arguments.Kinds | propagatedKinds(row, &typ, in.intended)
	if isWithinOne(row) {
		explained |= row.arguments.MaskKinds
	}
	for i := range row.Tensors {
		t := &row.Tensors[i]
		if t.Kind.IsInput() || t.badElements.Kinds == 0 {
			continue
		}
		s := r.sourceOfOutput(row, t, &typ, &in, explained)
		t.setCause(s.cause)
		r.outputs[contentOf(t)] = s
		if typ.NoiseWay() == optype.NoiseGarbage {
			r.buffers[typeAndCount(t)] = s
		}
	}
	if w := row.arguments.InPlace; w != nil {
		switch kinds := row.arguments.Kinds | in.intended; {
		case in.unwrittenSource != nil:
			r.inPlace[*w] = *in.unwrittenSource
		case kinds != 0:
			r.inPlace[*w] = elementOrigin{cause: intended, kinds: kinds, row: row}
		}
	}
	row.judge(&in)
}

// setCause marks a tensor by the origin of its bad elements.
func (t *Tensor) setCause(c cause) {
	if c == fault {
		return
	}
	t.Bad, t.FirstBad, t.BadStatistic = false, nil, nil
	t.IsIntended, t.Unwritten = c == intended, c == unwritten
}

// classifyInputs classifies the bad inputs of a row.
func (r *resolver) classifyInputs(row *ScanRow) (in inputs) {
	for i := range row.Tensors {
		t := &row.Tensors[i]
		if !t.Kind.IsInput() || t.Stats == nil || t.badElements.IsUnread {
			continue
		}
		if t.badElements.Kinds == 0 {
			if looksLikeMask(t) {
				in.intended |= HasLow
			}
			continue
		}
		s := r.sourceOfInput(row, t)
		s.rows, s.length = t.badElements.Rows, rowsOf(t)
		t.setCause(s.cause)
		switch {
		case s.cause == intended:
			in.intended |= t.badElements.Kinds
			if in.intendedSource == nil {
				in.intendedSource = &s
			}
		case s.cause == unwritten && in.unwrittenSource == nil:
			in.unwrittenSource = &s
		case s.cause == unwritten && s.length == in.unwrittenSource.length:
			in.unwrittenSource.rows = unionOf(in.unwrittenSource.rows, s.rows)
		}
	}
	return in
}

// sourceOfInput returns the origin of the bad elements of an input.
func (r *resolver) sourceOfInput(row *ScanRow, t *Tensor) elementOrigin {
	if s, ok := r.outputs[contentOf(t)]; ok {
		return s
	}
	for _, known := range []map[TypeAndCount]elementOrigin{r.inPlace, r.buffers} {
		if s, ok := known[typeAndCount(t)]; ok && t.badElements.Kinds&^s.kinds == 0 && (s.cause == intended || holdsOnly(t, &s)) {
			return s
		}
	}
	if isMaskFromOutside(row, t) {
		return elementOrigin{cause: intended, kinds: t.badElements.Kinds}
	}
	return elementOrigin{}
}

// holdsOnly reports whether all bad elements of a tensor are in rows of a source. Statistics do not show the rows;
// their bad elements count as contained.
func holdsOnly(t *Tensor, s *elementOrigin) bool {
	return t.FromStatistics && s.row.IsFromStatistics() || liesWithin(t.badElements.Rows, rowsOf(t), s.rows, s.length)
}

// rowsOf returns the number of rows.
func rowsOf(t *Tensor) int64 { return t.Shape.Elements() / check.RowWidth(t.Shape) }

// liesWithin reports whether all ranges of inner are inside ranges of outer. Both are ranges of rows; there may be more
// rows on one side. It is false for unknown ranges.
func liesWithin(inner []check.Range, length int64, outer []check.Range, outerLength int64) bool {
	if len(inner) == 0 || len(outer) == 0 {
		return false
	}
	return !slices.ContainsFunc(inner, func(a check.Range) bool {
		return !slices.ContainsFunc(outer, func(b check.Range) bool {
			return float64(a.From)*float64(outerLength) >= float64(b.From)*float64(length) && float64(a.To)*float64(outerLength) <= float64(b.To)*float64(length)
		})
	})
}

// isMaskFromOutside reports whether an input that no operator of the round wrote is a mask: by its name, by its
// elements, or because a softmax reads it.
func isMaskFromOutside(row *ScanRow, t *Tensor) bool {
	if t.badElements.Kinds&HasNaN != 0 {
		return false
	}
	if t.badElements.Kinds == HasLow && (t.badElements.IsMask || looksLikeMask(t) || isSoftmax(row.OpType, row.OpName)) {
		return true
	}
	return isFill(row.OpType, row.OpName) && isConstant(t)
}

// isConstant reports whether all elements are the same infinity or limit.
func isConstant(t *Tensor) bool {
	n := typeAndCount(t).Count
	return t.badElements.Kinds != bothSigns && (t.Min == nil && t.Max == nil || n == 1)
}

// A mask of finite numbers has a smallest element of at most maskAtMost, whose magnitude is at least maskFactor times
// the largest unmasked element.
const (
	maskAtMost = -9000
	maskFactor = 64
)

// looksLikeMask reports whether a tensor has one finite value and minus infinities, or large negative numbers beside
// small ones.
func looksLikeMask(t *Tensor) bool {
	if t.badElements.Kinds&^HasLow != 0 {
		return false
	}
	infinite := t.NegInf != nil && *t.NegInf > 0 || t.FromStatistics && t.badElements.Kinds == HasLow
	switch {
	case t.Max == nil:
		return infinite // all elements
	case infinite && t.Min == nil:
		return *t.Max == 0
	case infinite && *t.Min == *t.Max:
		return true
	}
	return t.Min != nil && *t.Min <= maskAtMost && -*t.Min >= maskFactor*max(math.Abs(*t.Max), 1e-3)
}

// isWithinOne reports whether all floating-point inputs are from 0 to 1.
func isWithinOne(row *ScanRow) bool {
	return !slices.ContainsFunc(row.Tensors, func(t Tensor) bool {
		d, _ := tensor.ParseDType(t.DType)
		return t.Kind.IsInput() && !d.Host().Integer() && (t.Stats == nil || t.Min == nil || t.Max == nil || *t.Min < 0 || *t.Max > 1)
	})
}

// propagatedKinds returns the kinds that an operator may pass from its inputs to its outputs. Unknown operators keep
// the sign. Products, normalisations, losses and sums compute new values from an infinity and pass none.
func propagatedKinds(row *ScanRow, typ *optype.Type, kinds Kinds) Kinds {
	switch typ.Class {
	case optype.Move, optype.Gated:
		return kinds
	case optype.Multiply, optype.Divide:
		if typ.Form != optype.Plain {
			return 0
		}
	case optype.Lipschitz:
		if typ.Transcendental && typ.Form != optype.LogSoftmax {
			return 0
		}
	default:
		switch typ.NoiseWay() {
		case optype.NoiseMove, optype.NoiseLipschitz, optype.NoiseRanks, optype.NoiseUnknown:
			return kinds
		}
		return 0
	}
	if mayChangeSign(row, typ) {
		kinds |= kinds.negate()
	}
	return kinds
}

// signNames are functions and operator types that change the sign of an input.
var signNames = strings.Fields("sub subtract rsub __sub__ __rsub__ __isub__ neg negative __neg__ Sub Neg")

// mayChangeSign reports whether an output may be an input with the opposite sign: because of the function, or because
// a factor is negative or unknown.
func mayChangeSign(row *ScanRow, typ *optype.Type) bool {
	if typ.Class == optype.Lipschitz {
		return slices.Contains(signNames, functionOf(row.OpType, row.OpName))
	}
	inputs, negative := 0, row.arguments.Negative
	for i := range row.Tensors {
		t := &row.Tensors[i]
		if t.Kind.IsInput() {
			inputs++
			negative = negative || t.Stats == nil || t.badElements.Kinds == 0 && (t.Min == nil || *t.Min < 0)
		}
	}
	return negative || row.OpType != "" && inputs == 1
}

// exceedsInputs reports whether an output of an elementwise operator has more infinities and limits than its inputs
// explain, counting each element of a broadcast input as often as it is used.
func exceedsInputs(row *ScanRow, t *Tensor, typ *optype.Type) bool {
	if typ.Class != optype.Lipschitz && typ.Class != optype.Multiply && typ.Class != optype.Divide || row.arguments.Kinds|row.arguments.MaskKinds != 0 {
		return false
	}
	n, known := countExtremes(t)
	longest := int64(0)
	for i := range row.Tensors {
		in := &row.Tensors[i]
		if !in.Kind.IsInput() || in.Stats == nil || in.badElements.IsUnread {
			continue
		}
		if in.badElements.Kinds == 0 {
			known = known && !looksLikeMask(in)
			continue
		}
		k, ok := countExtremes(in)
		known = known && ok
		longest += k * max(1, typeAndCount(t).Count/max(typeAndCount(in).Count, 1))
	}
	return known && n > longest
}

// countExtremes counts infinities and elements at the limits of the type.
func countExtremes(t *Tensor) (n int64, known bool) {
	if t.PosInf == nil || t.NegInf == nil || t.Saturated == nil {
		return 0, false
	}
	return *t.PosInf + *t.NegInf + *t.Saturated, true
}

// sourceOfOutput returns the origin of the bad elements of an output.
func (r *resolver) sourceOfOutput(row *ScanRow, t *Tensor, typ *optype.Type, in *inputs, explained Kinds) elementOrigin {
	s := elementOrigin{kinds: t.badElements.Kinds, row: row, rows: t.badElements.Rows, length: rowsOf(t)}
	isModule := msprobe.IsModule(row.OpName)
	switch {
	case typ.NoiseWay() == optype.NoiseGarbage, r.isUnwritten(&s):
		s.cause = unwritten
	case t.badElements.Kinds&^explained == 0 && !exceedsInputs(row, t, typ):
		s.cause = intended
		if row.arguments.Kinds|row.arguments.MaskKinds == 0 && in.intendedSource != nil {
			s.row = in.intendedSource.row
		}
	case in.unwrittenSource != nil && (isMove(typ) || in.unwrittenSource.coversRows(t)):
		s.cause, s.row = unwritten, in.unwrittenSource.row
	case isModule && t.badElements.Kinds == HasLow && looksLikeMask(t):
		s.cause = intended
	case isModule: // the output of a call inside the module
		if inner, ok := r.outputs[contentOf(t)]; ok {
			return inner
		}
	}
	return s
}

// isUnwritten reports whether all bad elements of an output are in rows that its operator never wrote, such as rows
// beyond the lengths of an attention.
func (r *resolver) isUnwritten(s *elementOrigin) bool {
	return slices.ContainsFunc(r.memory, func(u check.Unwritten) bool {
		return u.At == s.row.Coordinates() && u.Op == s.row.OpName && liesWithin(s.rows, s.length, u.Rows, u.Of)
	})
}

// coversRows reports whether all bad elements of an output lie at the rows of a source. The output may lack the last
// axis, as a sum over it does.
func (s *elementOrigin) coversRows(t *Tensor) bool {
	return liesWithin(t.badElements.Rows, rowsOf(t), s.rows, s.length) || liesWithin(t.badElements.Elements, t.Shape.Elements(), s.rows, s.length)
}

// unionOf returns the union of ranges.
func unionOf(a, b []check.Range) (all []check.Range) {
	for _, r := range slices.SortedFunc(slices.Values(slices.Concat(a, b)), func(x, y check.Range) int { return cmp.Compare(x.From, y.From) }) {
		if n := len(all); n > 0 && r.From <= all[n-1].To {
			all[n-1].To = max(all[n-1].To, r.To)
		} else {
			all = append(all, r)
		}
	}
	return all
}

// isMove reports whether an operator copies elements.
func isMove(typ *optype.Type) bool {
	return typ.Class == optype.Move || typ.Class == optype.Unknown && typ.NoiseWay() == optype.NoiseMove
}

// judge sets the verdict of the row.
func (s *ScanRow) judge(in *inputs) {
	if s.Verdict, s.Reason, s.ReasonZH = "", "", ""; !s.HasOverflow() {
		return
	}
	s.Verdict, _ = judge(s.Tensors)
	if s.Verdict != ProducedHere {
		return
	}
	if isFromRank(s.OpType, s.OpName, s.Tensors) {
		s.Verdict = CameFromRank
		return
	}
	var why lang.Text
	switch showsNaN := slices.ContainsFunc(s.Tensors, func(t Tensor) bool { return t.Bad && t.hasNaN() }); {
	case in.unwrittenSource != nil:
		s.Verdict = FromUnwritten
		why = lang.Say("the memory returned by %s was never written%s", nameOf(in.unwrittenSource.row), rowsText(in.unwrittenSource.rows)).Text()
	case showsNaN && s.maskedLines() != nil:
		why = maskedText(s.maskedLines())
	case showsNaN && in.intendedSource != nil && in.intendedSource.row != nil:
		why = lang.Say("turns the infinities written by %s into NaN", nameOf(in.intendedSource.row)).Text()
	case showsNaN && in.intendedSource != nil:
		why = lang.Say("turns the infinities of a mask into NaN").Text()
	}
	s.Reason, s.ReasonZH = why.String(), why.Chinese()
}

// maskedLines returns the lines of -Inf that a softmax reads, nil for none.
func (s *ScanRow) maskedLines() *MaskedLines {
	for i := range s.Tensors {
		if m := s.Tensors[i].MaskedLines; m != nil {
			return m
		}
	}
	return nil
}

// nameOf names an operator with its line in the script.
func nameOf(row *ScanRow) string {
	name := strings.TrimSpace(cmp.Or(row.OpName, row.OpType))
	if row.Script != "" {
		name += " (" + row.Script + ")"
	}
	return name
}

// maskedText names the first line of -Inf.
func maskedText(m *MaskedLines) lang.Text {
	coords := make([]string, len(m.First))
	for i, x := range m.First {
		coords[i] = fmt.Sprint(x)
	}
	coords[m.Axis] = ":"
	at := strings.Join(coords, ",")
	if m.Count == 1 {
		return lang.Say("row [%s] of the input is -Inf in every element: its softmax is NaN", at).Text()
	}
	return lang.Say("row [%s] of the input is -Inf in every element, as are %d other rows: their softmax is NaN", at, m.Count-1).Text()
}

// rowsText names rows, empty if unknown.
func rowsText(rows []check.Range) lang.Text {
	switch {
	case len(rows) == 0:
		return lang.Text{}
	case len(rows) == 1 && rows[0].To == rows[0].From+1:
		return lang.Say(", row %s", check.RangesText(rows)).Text()
	}
	return lang.Say(", rows %s", check.RangesText(rows)).Text()
}

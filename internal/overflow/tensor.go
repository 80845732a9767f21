package overflow

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Tensor is a tensor of an operator with its statistics.
type Tensor struct {
	// Kind and Index identify the tensor.
	Kind  tensor.Kind `json:"kind"`
	Index int         `json:"index"`
	// DType is the type of the elements, Format the layout.
	DType  string `json:"dtype"`
	Format string `json:"format"`
	// Shape is the stored shape, flat if the file's shape does not fit the data. Original is the shape on the host.
	Shape    tensor.Shape `json:"shape"`
	Original tensor.Shape `json:"original_shape"`
	// Stats is nil if the tensor could not be read; Fault says why.
	*Stats
	// Bad: the tensor has NaN, infinities, or values at the limit of a floating-point type, as an overflow leaves
	// them. Traces of float16 conversions in float32 (65504, 65536) do not count: they are often ordinary constants,
	// such as a loss scale.
	Bad bool `json:"bad"`
	// FromStatistics: only a table of statistics exists, and Stats has the numbers of the table.
	FromStatistics bool `json:"from_statistics,omitempty"`
	// Unwritten: the tensor would be bad, but no operator has written, or no operator reads, its elements.
	Unwritten bool `json:"unwritten,omitempty"`
	// IsIntended: the tensor would be bad, but a call was asked to write its infinities or limits.
	IsIntended bool `json:"asked,omitempty"`
	// MaskedLines are the lines of -Inf in the input of a softmax.
	MaskedLines *MaskedLines `json:"masked_lines,omitempty"`
	// BadElements has the data of the tensor that merging needs; only in documents of shards.
	BadElements *BadElements `json:"holding,omitempty"`
	Fault

	name string // in a file that names its tensors, else empty
	err  error
	// contradiction is a statement of dump.json that the file does not satisfy.
	contradiction error
	file          *dumpdir.File
	unopened      bool // the file could not be opened
	badElements   BadElements
}

// Stats summarises the elements of a tensor like tensor.Stats. Numbers that a table of statistics lacks are nil.
type Stats struct {
	// Count is the number of elements; NaN, PosInf and NegInf count NaN and infinite elements; Saturated counts
	// elements at a limit of the type; HalfTraces counts elements that a conversion from float16 limits leaves.
	Count      *int64 `json:"count,omitempty"`
	NaN        *int64 `json:"nan,omitempty"`
	PosInf     *int64 `json:"pos_inf,omitempty"`
	NegInf     *int64 `json:"neg_inf,omitempty"`
	Saturated  *int64 `json:"saturated,omitempty"`
	HalfTraces int64  `json:"half_traces,omitempty"`
	tensor.Extremes[float64]
	// FirstBad is the first element that is not finite, or else the first element at the limit of the type; nil if
	// the tensor is not bad, or if unknown.
	FirstBad *Element `json:"first_bad"`
	// BadStatistic is the statistic of a table that shows that the tensor is bad.
	BadStatistic *tensor.Number `json:"bad_statistic,omitempty"`
}

// Element is an element of a tensor with its position.
type Element struct {
	// Index is the number in storage order, Coord are the coordinates in the shape.
	Index int64   `json:"index"`
	Coord []int64 `json:"coord"`
	// Value is the value of the element.
	Value tensor.Number `json:"value"`
}

// newTensor returns a tensor without statistics.
func newTensor(kind tensor.Kind, index int, d tensor.DType, f tensor.Format, shape, original tensor.Shape) Tensor {
	return Tensor{Kind: kind, Index: index, DType: d.String(), Format: f.String(),
		Shape: append(tensor.Shape{}, shape...), Original: append(tensor.Shape{}, original...)}
}

// fail sets the error of a tensor that could not be read.
func (t *Tensor) fail(err error) { t.err, t.Fault = err, faultOf(err) }

// setStats sets the statistics of a tensor.
func (t *Tensor) setStats(s *tensor.Stats, d tensor.DType, shape tensor.Shape) {
	t.Stats = &Stats{Count: &s.Count, NaN: &s.NaN, PosInf: &s.PosInf, NegInf: &s.NegInf, Saturated: &s.Saturated, HalfTraces: s.HalfTraces, Extremes: s.Extremes}
	if n, ok := shape.Count(); shape == nil || !ok || n != s.Count {
		t.Shape = tensor.Shape{s.Count}
	}
	if t.Bad = isBad(s, d); t.Bad {
		t.badElements.Kinds = kindsOf(s, d)
	}
	first := s.FirstNonFinite
	if first == nil {
		first = s.FirstAtLimit
	}
	if t.Bad && first != nil {
		t.FirstBad = &Element{Index: first.Index, Coord: t.coordinates(first.Index), Value: tensor.Number(first.Value)}
	}
}

// isBad reports whether the elements of a type show an overflow.
func isBad(s *tensor.Stats, d tensor.DType) bool {
	return s.NonFinite() > 0 || s.Saturated > 0 && !hasOrdinaryLimits(d)
}

// hasNaN reports whether elements are NaN.
func (t *Tensor) hasNaN() bool {
	return t.NaN != nil && *t.NaN > 0 || t.BadStatistic != nil && math.IsNaN(float64(*t.BadStatistic))
}

// clearUnwritten clears Bad for memory that no operator has written, or that the operator does not read.
func (t *Tensor) clearUnwritten(s *dumpdir.Statistics) {
	if t.Bad && s != nil && (s.Spot.Unread || s.Spot.Unwritten) {
		t.setCause(unwritten)
		t.badElements.IsUnread = s.Spot.Unread
	}
}

// coordinates returns the coordinates of an element in the stored shape.
func (t *Tensor) coordinates(index int64) []int64 {
	if n, ok := t.Shape.Count(); !ok || index >= n {
		return []int64{index}
	}
	return t.Shape.Coordinates(index)
}

// hasOrdinaryLimits reports whether ordinary elements may be at the limits of the type: integers, and floating-point
// types of up to six bits, whose scale is chosen to use the full range.
func hasOrdinaryLimits(d tensor.DType) bool {
	switch d {
	case tensor.Float6E3M2, tensor.Float6E2M3, tensor.Float4E2M1, tensor.Float4E1M2:
		return true
	}
	return d.Host() != tensor.HostFloat16 && d.Host() != tensor.HostFloat32 && d.Host() != tensor.HostFloat64 && !d.Host().Complex()
}

// IsNotNumeric reports whether elements of the tensor's type cannot overflow, such as strings, so that they need not be
// read.
func (t *Tensor) IsNotNumeric() bool {
	var unsupported *tensor.UnsupportedType
	_, named := tensor.ParseDType(t.DType)
	return errors.As(t.err, &unsupported) && named
}

// tensorProblems lists the tensors that could not be read, except tensors that the run already reports.
func tensorProblems(tensors []Tensor) []Problem {
	var all []Problem
	for i := range tensors {
		t := &tensors[i]
		_, isCut := errors.AsType[*dumpfmt.FormatError](t.err) // its file is damaged
		if t.contradiction != nil {
			p := newProblem(t.file.Path(), t.contradiction)
			p.Kind = dumpdir.Contradicts
			all = append(all, p)
		}
		switch {
		case t.err == nil || t.IsNotNumeric() || errors.Is(t.err, tensorfile.ErrNoData) || t.file.Err != nil || t.file.Size == 0:
		case t.unopened:
			all = append(all, newProblem(t.file.Path(), t.err))
		case !isCut:
			all = append(all, newProblem(t.file.Path(), tensorError(t.name, t.Kind, t.Index, t.err)))
		}
	}
	return all
}

func tensorError(name string, kind tensor.Kind, index int, err error) error {
	return lang.Errorf("%s: %w", tensorfile.Label(name, kind, index), err)
}

// hasNoFloats reports whether the tensor has no floating-point elements, so that it cannot be bad.
func (t *Tensor) hasNoFloats() bool {
	n, known := t.Shape.Count()
	d, ok := tensor.ParseDType(t.DType)
	return known && n == 0 || ok && d.Host().Integer() || t.IsNotNumeric()
}

// tensorsFromTable returns tensors with statistics from a table. Tensors of a table that could not be read are left out.
func tensorsFromTable(tensors []dumpdir.Tensor, want elementSearch) []Tensor {
	all := make([]Tensor, 0, len(tensors))
	for i := range tensors {
		t := &tensors[i]
		s := t.Statistics
		if s == nil {
			continue
		}
		one := newTensor(t.Kind, t.Index, s.DType, s.TensorFormat(), s.Shape, nil)
		one.file, one.FromStatistics = t.File, true
		stats := tableStats(s)
		one.setStats(stats, s.DType, s.Shape)
		one.Count, one.NaN, one.PosInf, one.NegInf = s.CountOf(dumpdir.Count), s.CountOf(dumpdir.NaNs), s.CountOf(dumpdir.PositiveInfs), s.CountOf(dumpdir.NegativeInfs)
		one.Saturated = nil
		if one.clearUnwritten(s); one.Bad {
			shows := tensor.Number(firstShown(s, stats))
			one.BadStatistic = &shows
		}
		one.badElements.IsMask, one.badElements.File = isMaskArgument(t, want.call), t.File.Path()
		all = append(all, one)
	}
	return all
}

// tableStats converts the statistics of a table. NaN and infinities that statistics show but do not count are counted
// once.
func tableStats(s *dumpdir.Statistics) *tensor.Stats {
	count := func(what dumpdir.Statistic) int64 { return *cmp.Or(s.CountOf(what), new(int64)) }
	stats := &tensor.Stats{Count: count(dumpdir.Count), NaN: count(dumpdir.NaNs), PosInf: count(dumpdir.PositiveInfs), NegInf: count(dumpdir.NegativeInfs)}
	if stats.Count == 0 && s.Shape != nil {
		stats.Count, _ = s.Shape.Count()
	}
	stats.Max, stats.Min, stats.Mean = cmp.Or(finiteStatistic(s, dumpdir.Max), finiteStatistic(s, dumpdir.FiniteMax)), cmp.Or(finiteStatistic(s, dumpdir.Min), finiteStatistic(s, dumpdir.FiniteMin)), finiteStatistic(s, dumpdir.Mean)
	for _, what := range shownStatistics {
		v, ok := s.Values.Get(what)
		switch {
		case !ok:
		case math.IsNaN(v):
			stats.NaN = max(1, stats.NaN)
		case math.IsInf(v, 1) && what != dumpdir.Norm:
			stats.PosInf = max(1, stats.PosInf)
		case math.IsInf(v, -1):
			stats.NegInf = max(1, stats.NegInf)
		case (what == dumpdir.Max || what == dumpdir.Min) && isAtLimit(s.DType, v):
			stats.Saturated = 1
		}
	}
	return stats
}

// shownStatistics lists the statistics that show NaN and infinities, the extremes first. An infinite norm only shows
// that the squares overflow its type.
var shownStatistics = []dumpdir.Statistic{dumpdir.Max, dumpdir.Min, dumpdir.Mean, dumpdir.Norm}

// firstShown returns the first statistic that shows why a bad tensor is bad.
func firstShown(s *dumpdir.Statistics, stats *tensor.Stats) float64 {
	for _, what := range shownStatistics {
		v, ok := s.Values.Get(what)
		if ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
			return v
		}
	}
	switch {
	case stats.NaN > 0:
		return math.NaN()
	case stats.PosInf > 0:
		return math.Inf(1)
	case stats.NegInf > 0:
		return math.Inf(-1)
	case stats.Max != nil && isAtLimit(s.DType, *stats.Max):
		return *stats.Max
	}
	return *stats.Min
}

// finiteStatistic returns a statistic of the finite elements, nil if the table has none.
func finiteStatistic(s *dumpdir.Statistics, what dumpdir.Statistic) *float64 {
	v := s.Number(what)
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return v
}

// isAtLimit reports whether a value is at the limit of a type. Values in tables have at least six digits.
func isAtLimit(d tensor.DType, v float64) bool {
	const digits = 2e-6
	low, high := tensor.Limits(d)
	if hasOrdinaryLimits(d) {
		return v == low || v == high
	}
	return math.Abs(v-high) <= digits*high || math.Abs(v-low) <= -digits*low
}

// blocks reuses read buffers.
var blocks = sync.Pool{New: func() any { return new([]byte) }}

// readTensors collects the statistics of the tensors of an operator. unread: none of the files could be opened.
func readTensors(ctx context.Context, tensors []dumpdir.Tensor) (all []Tensor, unread bool) {
	files := new(tensorfile.Pool)
	defer files.Close()
	unread = true
	for _, group := range groupByFile(tensors) {
		read := readFile(ctx, files, group, elementSearch{})
		for i := range read {
			unread = unread && read[i].unopened
		}
		all = append(all, read...)
	}
	sortTensors(all)
	return all, unread && len(all) > 0
}

// sortTensors sorts tensors by kind and index: inputs before outputs.
func sortTensors(all []Tensor) {
	slices.SortStableFunc(all, func(a, b Tensor) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), cmp.Compare(a.Index, b.Index))
	})
}

func groupByFile(tensors []dumpdir.Tensor) [][]dumpdir.Tensor {
	var groups [][]dumpdir.Tensor
	at := make(map[*dumpdir.File]int)
	for _, t := range tensors {
		i, ok := at[t.File]
		if !ok {
			i = len(groups)
			at[t.File] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], t)
	}
	return groups
}

// readFile collects the statistics of the tensors of a file. In a file that names its tensors each tensor is opened
// separately.
func readFile(ctx context.Context, files *tensorfile.Pool, tensors []dumpdir.Tensor, want elementSearch) []Tensor {
	if len(tensors) > 1 && tensors[0].Member != "" {
		var all []Tensor
		for i := range tensors {
			all = append(all, readFile(ctx, files, tensors[i:i+1], want)...)
		}
		return all
	}
	file := tensors[0].File
	if tensors[0].Table {
		return tensorsFromTable(tensors, want)
	}
	src, err := openFile(files, file, tensors[0].Member)
	if err != nil {
		all := make([]Tensor, len(tensors))
		for i, t := range tensors {
			all[i] = newTensor(t.Kind, t.Index, 0, 0, nil, nil)
			all[i].name, all[i].file, all[i].unopened = t.Member, file, true
			all[i].fail(err)
		}
		return all
	}
	defer src.Close()
	all := statsOf(ctx, src, tensors, want)
	if len(all) == 1 && len(tensors) == 1 {
		all[0].badElements.IsMask = isMaskArgument(&tensors[0], want.call)
		if tensors[0].Statistics != nil && errors.Is(all[0].err, tensorfile.ErrNoData) {
			all = tensorsFromTable(tensors, want)
		} else if all[0].Stats != nil {
			all[0].clearUnwritten(tensors[0].Statistics)
		}
	}
	for i := range all {
		all[i].file, all[i].badElements.File = file, file.Path()
	}
	return all
}

func openFile(files *tensorfile.Pool, f *dumpdir.File, member string) (*tensorfile.File, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	return files.Open(f.Path(), member, tensorfile.Options{Name: f.Name, Whole: member == "" && f.Only.IsZero(), Only: f.Only})
}

// statsOf collects the statistics of every tensor of an open file; listed are the tensors in the listing.
func statsOf(ctx context.Context, f *tensorfile.File, entries []dumpdir.Tensor, want elementSearch) []Tensor {
	block := blocks.Get().(*[]byte)
	defer blocks.Put(block)
	all := make([]Tensor, len(f.Tensors))
	for i := range f.Tensors {
		src := &f.Tensors[i]
		t := newTensor(src.Kind, src.Index, src.DType, src.Format, src.Shape, src.OriginalShape)
		if t.name = src.Name; len(f.Tensors) == 1 && len(entries) == 1 {
			t.Kind, t.Index = entries[0].Kind, entries[0].Index
		}
		shape, err := src.StoredShape()
		if err == nil {
			var stats *tensor.Stats
			if stats, err = src.Stats(ctx, shape, block); stats != nil {
				t.setStats(stats, src.DType, src.Shape)
			}
			if err == nil && t.badElements.Kinds != 0 {
				err = t.searchElements(ctx, src, want, block)
			}
			if err == nil && len(f.Tensors) == 1 {
				t.contradiction = entries[0].Statistics.Contradiction(src, stats)
			}
		}
		if err != nil {
			t.fail(err)
		}
		all[i] = t
	}
	return all
}

package diagnose

import (
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// Rows are the rows of a round with their evidence. Those of a large run are not in
// memory: each look at one may read it again, and what it leads to changes none of them
// before it is written.
type Rows interface {
	Len() int
	// Row and Evidence are those at an index, which are not to be changed.
	Row(index int) *record.Row
	Evidence(index int) *Evidence
}

// InMemory are rows that are in memory. The evidence has the same indexes.
func InMemory(rows []record.Row, evidence []Evidence) Rows { return inMemory{rows, evidence} }

type inMemory struct {
	rows     []record.Row
	evidence []Evidence
}

func (m inMemory) Len() int                     { return len(m.rows) }
func (m inMemory) Row(index int) *record.Row    { return &m.rows[index] }
func (m inMemory) Evidence(index int) *Evidence { return &m.evidence[index] }

// row is one row under judgement: what is needed of all rows at once. The rest is read
// when it is looked at.
type row struct {
	operator *operator
	index    int32
	place    int32 // in execution order
	output   int32
	state    record.StatusCode
	isInput  bool
	compared bool
	hasNoise bool
	wasBad   bool // before the judgement
	rounding bool // fails by accumulated rounding only
	// Among its findings by limits are an error of calculation, bad inputs.
	hasCalcError, hasInputBad bool
}

// newRow is the row at an index.
func (n *network) newRow(index int) row {
	source, evidence := n.source.Row(index), n.source.Evidence(index)
	r := row{index: int32(index), output: int32(source.Output), state: source.Status.Code(), isInput: tensor.Kind(source.Kind).IsInput(),
		compared: source.Compared(), hasNoise: evidence.Noise != ""}
	r.wasBad = r.failed()
	return r
}

// status is what the row is so far.
func (r *row) status() record.Status { return r.state.Status() }

// failed reports whether the row is bad; one whose shapes differ is so without a
// result.
func (r *row) failed() bool {
	s := r.status()
	return s == record.Fail || s == record.ShapeMismatch || s == record.DTypeMismatch
}

// good reports whether the row was compared and is not bad.
func (r *row) good() bool {
	s := r.status()
	return s == record.Pass || s == record.Warn || s == record.Partial
}

// network is that of the row.
func (r *row) network() *network { return r.operator.network }

// views is the number of rows that are kept as they were read: a row is looked at
// several times, and so are those that are near it.
const views = 256

// view is what was read of a row, as far as it was asked for: the results of all rows
// and their noise take too much memory.
type view struct {
	of       *row
	source   *record.Row
	evidence *Evidence
	result   *metrics.Result // without its lists
	noise    *noise.Noise
	patterns *[]record.Finding
	numbers  *inputNumbers
}

// view is that of a row. A look at another row may end it.
func (r *row) view() *view {
	v := &r.network().views[int(r.index)%views]
	if v.of != r {
		*v = view{of: r}
	}
	return v
}

// source is the whole row.
func (r *row) source() *record.Row {
	v := r.view()
	if v.source == nil {
		v.source = r.network().source.Row(int(r.index))
	}
	return v.source
}

// evidence is what the tensors of the row show.
func (r *row) evidence() *Evidence {
	v := r.view()
	if v.evidence == nil {
		v.evidence = r.network().source.Evidence(int(r.index))
	}
	return v.evidence
}

// result is the result of the row without its lists, nil if it was not compared.
func (r *row) result() *metrics.Result {
	v := r.view()
	if v.result == nil && r.compared {
		v.result = r.source().Result.Numbers()
	}
	return v.result
}

// noise is what rounding makes of the row, nil where it is not known.
func (r *row) noise() *noise.Noise {
	v := r.view()
	if v.noise == nil && r.hasNoise {
		v.noise = r.evidence().Noise.Unpack()
	}
	return v.noise
}

// patterns are the known ways in which the row is bad, the most specific one first: those
// that its tensors show, and what other rows and the model say of it.
func (r *row) patterns() []record.Finding {
	if v := r.view(); v.patterns != nil {
		return *v.patterns
	}
	all := r.evidence().Patterns
	if r.wasBad && r.compared {
		all = inserted(all, r.network().duplicates[r])
		all = record.Merge(all, single(record.ModelNaN, record.High, modelNaN(r.result())))
	}
	r.view().patterns = &all
	return all
}

// numbers are the worst metrics of the inputs.
func (r *row) numbers() inputNumbers {
	if v := r.view(); v.numbers != nil {
		return *v.numbers
	}
	in := measure(r.resolved().rows)
	r.view().numbers = &in
	return in
}

// inputNumbers are the worst metrics of the inputs of an operator.
type inputNumbers struct {
	meanRel, pearson metrics.Metric
	red              float64 // 0 where it is not known
}

// measure takes the worst of all inputs with a result.
func measure(inputs []*row) (in inputNumbers) {
	for _, r := range inputs {
		res := r.result()
		if res == nil {
			continue
		}
		if m := res.MeanRel; m.Defined && (!in.meanRel.Defined || m.Value > in.meanRel.Value) {
			in.meanRel = m
		}
		in.red = max(in.red, res.RED.Value)
		if m := res.Pearson; m.Defined && (!in.pearson.Defined || m.Value < in.pearson.Value) {
			in.pearson = m
		}
	}
	return in
}

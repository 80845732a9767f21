package diagnose

import (
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// row is one row under judgement.
type row struct {
	source   *record.Row
	network  *network
	operator *operator
	index    int // in the round
	place    int // in execution order
	status   record.Status
	isInput  bool
	compared bool
	typ      optype.Type // what is known of the operator by its type
	indices  bool        // integers that say where something is
	wasBad   bool        // before the judgement
	rounding bool        // fails by accumulated rounding only
	// Among its findings by limits are an error of calculation, bad inputs.
	hasCalcError, hasInputBad bool
	// noise is what rounding makes of the row, nil where it is not known.
	noise *noise.Noise
	held  string // the type that an array of float32 holds, where it is another one

	// producer is the output that an input is a copy of, nil where it is not known. misread
	// is the one that the NPU read in its place.
	producer, misread *row

	duplicates []record.Finding  // that it is the tensor of other rows
	known      *[]record.Finding // the patterns, once they are asked for
	measure    *inputNumbers
}

// newRow is the row at an index.
func (n *network) newRow(index int, source *record.Row) row {
	r := row{source: source, network: n, index: index, status: source.Status, isInput: tensor.Kind(source.Kind).IsInput(),
		compared: source.Compared(), noise: source.Noise, typ: optype.OfOperator(source.OpType, source.Op)}
	r.indices = !r.isInput && r.noise != nil && r.noise.Type.Integer && r.typ.IsIndex(source.Output)
	r.wasBad = r.failed()
	return r
}

// failed reports whether the row is bad; one whose shapes differ is so without a
// result.
func (r *row) failed() bool {
	return r.status == record.Fail || r.status == record.ShapeMismatch || r.status == record.DTypeMismatch
}

// good reports whether the row was compared and is not bad.
func (r *row) good() bool {
	return r.status == record.Pass || r.status == record.Warn || r.status == record.Partial
}

// result is the result of the row, nil if it was not compared.
func (r *row) result() *metrics.Result { return r.source.Result }

// patterns are the known ways in which the row is bad, the most specific one first: those
// that its tensors show, and what other rows and the model say of it.
func (r *row) patterns() []record.Finding {
	if r.known == nil {
		all := r.source.Patterns
		if r.wasBad && r.compared {
			all = inserted(all, r.duplicates)
			all = record.Merge(all, single(record.ModelNaN, record.High, modelNaN(r.result())))
		}
		r.known = &all
	}
	return *r.known
}

// inputNumbers are the worst metrics of the inputs of an operator.
type inputNumbers struct {
	meanRel, pearson metrics.Metric
	red              float64 // 0 where it is not known
}

// numbers are the worst metrics of the inputs that have a result.
func (r *row) numbers() inputNumbers {
	if r.measure != nil {
		return *r.measure
	}
	in := new(inputNumbers)
	r.measure = in
	for _, x := range r.resolved().rows {
		res := x.result()
		if res == nil {
			continue
		}
		in.red = max(in.red, res.RED.Value)
		if m := res.MeanRel; m.Defined && (!in.meanRel.Defined || m.Value > in.meanRel.Value) {
			in.meanRel = m
		}
		if m := res.Pearson; m.Defined && (!in.pearson.Defined || m.Value < in.pearson.Value) {
			in.pearson = m
		}
	}
	return *in
}

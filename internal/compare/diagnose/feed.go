package diagnose

import (
	"cmp"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/optype"
)

// FlowFrom is the source of the data flow, the edges between producers and readers.
type FlowFrom string

// The sources. FlowAuto, the default, uses files, and inputs that equal an earlier output. Without files it also reads
// the inputs that only one side has.
const (
	FlowAuto  FlowFrom = "auto"
	FlowFiles FlowFrom = "files" // only files
	FlowNone  FlowFrom = "none"
)

// FlowSources lists the sources.
func FlowSources() []FlowFrom { return []FlowFrom{FlowAuto, FlowFiles, FlowNone} }

// UsesContent reports whether equal elements count as data flow.
func (f FlowFrom) UsesContent() bool { return f != FlowFiles && f != FlowNone }

// minCopied is the number of elements below which two tensors may be equal by
// chance.
const minCopied = 8

// tensorKey identifies a tensor by its type, shape and elements.
type tensorKey struct {
	crc          uint32
	count        int64
	dtype, shape string
}

// tensorKey returns the content of a side of the row. ok is false for a small or constant tensor,
// which does not identify its producer.
func (r *row) tensorKey(side int) (c tensorKey, ok bool) {
	res := r.result()
	if res == nil || res.Total < minCopied {
		return c, false
	}
	stats, dtype := &res.Ref, r.source.RefDType
	if side == npuSide {
		stats, dtype = &res.NPU, r.source.NPUDType
	}
	sum := r.digest(side)
	return tensorKey{sum.crc, sum.count, dtype.String(), r.source.Shape.String()}, stats.Min.IsDefined() && stats.Min.Value() != stats.Max.Value()
}

// withoutShape returns the content without the shape: a reshape is often not an operator
// of its own.
func (c tensorKey) withoutShape() tensorKey {
	c.shape = ""
	return c
}

// producers maps, for the reference and the NPU, each content to the row that produced it.
type producers [2]map[tensorKey]*row

// add makes an output the producer of its content. With keep an existing producer stays.
func (p *producers) add(r *row, keep bool) {
	for side := range p {
		c, ok := r.tensorKey(side)
		for _, c := range []tensorKey{c, c.withoutShape()} {
			if ok && !(keep && p[side][c] != nil) {
				p[side][c] = r
			}
		}
	}
}

// findProducers finds the output that each input is a copy of: an output with the same elements on the NPU, or else
// in the reference. Of several outputs it takes the latest before the input in execution order. If both sides have a
// producer and the producers differ, the NPU read a wrong tensor.
func (n *dataFlow) findProducers() {
	reads := func(r *row) bool { return r.isInput || len(r.source.Reads) > 0 }
	if !n.Flow.UsesContent() || !slices.ContainsFunc(n.order, reads) {
		return
	}
	rounds := map[string]*producers{} // ranks do not read tensors of other ranks
	producersOf := func(r *row) *producers {
		if rounds[r.source.Round] == nil {
			rounds[r.source.Round] = &producers{{}, {}}
		}
		return rounds[r.source.Round]
	}
	if !n.IsOrdered {
		for _, passed := range []bool{false, true} { // modules, and outputs that pass an input on, come last: they produce only content without another producer
			for _, r := range n.order {
				if !r.isInput && (r.passesOn() || len(r.operator.inner) > 0) == passed {
					producersOf(r).add(r, true)
				}
			}
		}
	}
	var found []sources
	reached := map[*row]bool{}
	for _, r := range n.order {
		latest := producersOf(r)
		if r.isInput {
			if r.findProducer(latest); r.producer != nil {
				reached[r.producer] = true
			}
			continue
		}
		s := r.findSources(latest)
		r.operator.hasUnmadeInput = r.operator.hasUnmadeInput || s.hasUnmadeInput
		if len(s.rows) > 0 && !r.operator.isKnown && len(r.operator.inputs) == 0 {
			found = append(found, s)
			for _, source := range s.rows {
				reached[source] = true
			}
		}
		if n.IsOrdered {
			latest.add(r, false)
		}
	}
	n.setSources(found, reached)
}

// passesOn reports whether an output has the elements of an input of its operator.
func (r *row) passesOn() bool {
	return slices.ContainsFunc(r.operator.inputs, func(in *row) bool {
		return in.isCompared && r.isCompared && in.digest(npuSide) == r.digest(npuSide)
	})
}

// findProducer finds the producer of an input that both sides have.
func (r *row) findProducer(latest *producers) {
	var candidates [2]*row
	for side := range candidates {
		if c, ok := r.tensorKey(side); ok {
			candidates[side] = latest[side][c]
		}
	}
	// Several outputs may be equal in the reference: the producer is the output that is equal on the NPU, too.
	if p := candidates[npuSide]; p != nil && candidates[refSide] != nil && p.digest(refSide) == r.digest(refSide) {
		candidates[refSide] = p
	}
	if r.producer = cmp.Or(candidates[refSide], candidates[npuSide]); r.producer == nil || r.producer.operator == r.operator {
		r.producer = nil
		return
	}
	if r.producer != candidates[npuSide] && r.network.IsOrdered {
		r.misreadFrom = candidates[npuSide]
	}
	o := r.operator
	if o.isKnown || r.producer.operator == o {
		return
	}
	if o.isInferred {
		o.sources, o.isInferred = nil, false
	}
	if !slices.Contains(o.sources, r.producer) {
		o.sources = append(o.sources, r.producer)
	}
}

// sources are the producers of an operator's inputs, found from inputs that only one side has.
type sources struct {
	reader          *operator
	rows            []*row
	hasUnmadeInput  bool // an input has no producer
	hasUnknownInput bool // an input has no producer, and by the operator type it is no parameter
}

// findSources returns the sources of the operator of a row with Reads.
func (r *row) findSources(latest *producers) sources {
	s := sources{reader: r.operator}
	for i := range r.source.Reads {
		read, by := &r.source.Reads[i], latest[refSide]
		count, _ := read.Shape.Count()
		if count < minCopied || read.Constant {
			continue
		}
		if read.NPU {
			by = latest[npuSide]
		}
		c := tensorKey{read.CRC, count, read.DType, read.Shape.String()}
		switch source := cmp.Or(by[c], by[c.withoutShape()]); {
		case source == nil:
			s.hasUnmadeInput = true
			s.hasUnknownInput = s.hasUnknownInput || !r.typ.IsParameter(read.Input)
		case source.operator != r.operator && !slices.Contains(s.rows, source):
			s.rows = append(s.rows, source)
		}
	}
	return s
}

// setSources sets the inputs of each operator to the producers that were found. An input without a producer counts as
// an input from outside, such as a weight, unless an earlier output has no reader: then an operator without a dump may
// lie in between, and the inputs of the operator stay unknown.
func (n *dataFlow) setSources(found []sources, reached map[*row]bool) {
	lost := slices.IndexFunc(n.operators, func(o *operator) bool {
		return slices.ContainsFunc(o.outputs, func(r *row) bool {
			_, ok := r.tensorKey(npuSide)
			return ok && !reached[r]
		})
	})
	for _, s := range found {
		if !s.hasUnknownInput || s.reader.index <= lost {
			s.reader.sources, s.reader.isInferred, s.reader.isKnown = s.rows, false, true
		}
	}
}

// countByContent counts the operators whose inputs were found by equal elements.
func (n *dataFlow) countByContent() (known int) {
	for _, o := range n.operators {
		_, inGraph := n.Graph[o.name]
		if o.isKnown && !inGraph || slices.ContainsFunc(o.inputs, func(r *row) bool { return r.producer != nil }) {
			known++
		}
	}
	return known
}

// searchedRows is the number of preceding rows among which the inputs of a row are searched by value. At least one of
// two inputs must be among the last recentRows rows.
const (
	searchedRows = 64
	recentRows   = 8
)

// inferInputs finds the inputs of a row and its operator type from the values of the references, if no graph names them.
// If several combinations produce the tensor it takes the combination with the largest errors.
func (j *Judgement) inferInputs(r *row) (inputs []*row, op optype.Type, found bool) {
	worst := -1.0
	out, ok := verdict.NewOutput(r.noise)
	if !ok {
		return nil, op, false
	}
	consider := func(errors float64, t optype.Type, rows ...*row) {
		if errors > worst && !t.Fitted && (!found || t == op) {
			inputs, op, found, worst = rows, t, true, errors
		}
	}
	before := j.judgedOutputs[max(0, len(j.judgedOutputs)-searchedRows):]
	for _, row := range slices.Backward(before) {
		if hasSameStatistics(r.noise, row.noise) {
			continue
		}
		if t, ok := out.RelateToOne(row.toSource()); ok {
			consider(row.noise.RMS, t, row)
		}
	}
	if found {
		return inputs, op, true
	}
	for i := len(before) - 1; i >= max(0, len(before)-recentRows); i-- {
		a := before[i]
		half := out.CombinedWith(a.noise)
		for _, b := range slices.Backward(before[:i]) {
			if t, ok := half.RelateTo(b.noise); ok {
				consider(a.noise.RMS+b.noise.RMS, t, a, b)
			}
		}
	}
	return inputs, op, found
}

// toSource returns the row as a possible input of other rows, cached until its noise changes.
func (r *row) toSource() *verdict.Source {
	if r.sourceCache == nil || r.sourceCache.Noise != r.noise {
		r.sourceCache = &verdict.Source{Noise: r.noise}
	}
	return r.sourceCache
}

// hasSameStatistics reports whether two references have equal statistics: the second may be a recomputation of the first.
func hasSameStatistics(a, b *noise.Noise) bool {
	return a.Count == b.Count && a.RefMax == b.RefMax && a.RefRMS == b.RefRMS && a.RefMean == b.RefMean
}

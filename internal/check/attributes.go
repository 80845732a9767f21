package check

import (
	"slices"

	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
)

// attributes returns the attributes from graphs and from --attr, by their names in the graph. --attr wins.
func (x *execution) attributes() recompute.Attributes {
	all := recompute.Attributes{}
	for _, op := range x.graphs {
		for name, a := range op.Attributes {
			if _, known := all[name]; !known {
				all[name] = recompute.Attribute{Value: valueOfGraph(&a), Source: recompute.FromGraph}
			}
		}
	}
	for _, g := range x.opt.Attributes {
		if g.Op != "" && !slices.Contains(x.op.Names(), g.Op) || g.Type != "" && g.Type != x.row.Type {
			continue
		}
		all[g.Name] = recompute.Attribute{Value: g.Value, Source: recompute.FromHand}
	}
	return all
}

// valueOfGraph returns the value of an attribute of a graph; a list of texts becomes a single text.
func valueOfGraph(a *graph.Attribute) recompute.Value {
	v := recompute.Value{List: a.List}
	for _, text := range a.Values {
		one := recompute.ParseValue(text)
		if one.IsText() {
			return recompute.Text(text)
		}
		v.Numbers = append(v.Numbers, one.Numbers...)
	}
	return v
}

// lookUpGraphs finds the operator in the graphs.
func (x *execution) lookUpGraphs() {
	if !x.opt.Graph || x.hasUnfitGraph {
		return
	}
	x.graphs = x.round.GraphNodes(x.op)
	x.row.hasGraph = len(x.graphs) > 0
	for _, op := range x.graphs {
		x.row.hasGraphAttributes = x.row.hasGraphAttributes || len(op.Attributes) > 0
		if fused := op.Fused(); fused != nil && x.row.Fused == nil {
			x.row.Fused = fused
		}
	}
}

// placeInputs moves the dumped inputs to their positions in the graph. Unconnected inputs of the graph are not
// dumped, which shifts the inputs behind them. If no graph has as many connected inputs as were dumped, the inputs
// stay where they are.
func (x *execution) placeInputs(in []*recompute.Tensor) []*recompute.Tensor {
	for _, op := range x.graphs {
		if len(op.Inputs) <= len(in) || len(op.Producers()) != len(in) {
			continue
		}
		all, next := make([]*recompute.Tensor, len(op.Inputs)), 0
		for i, p := range op.Inputs {
			if p.Op != "" {
				all[i], next = in[next], next+1
			}
		}
		return all
	}
	return in
}

// reportGraph records which graph gave attributes, or warns that the given graph has none of the operators.
func (c *checker) reportGraph() {
	known := func(o Operator) bool { return o.hasGraph }
	switch {
	case c.opt.GraphFile == "" || len(c.Operators) == 0:
	case c.hasUnfitGraph:
	case slices.ContainsFunc(c.Operators, known):
		c.Graph = c.opt.GraphFile
	default:
		c.Warnings = append(c.Warnings, lang.Say("%s has none of the operators that were dumped: attributes come from shapes and values", c.opt.GraphFile))
	}
}

// isGraphUnfit reports whether the graphs do not fit the dumps, and warns: for more than a tenth of the operators in
// a graph, its attributes contradict the shapes.
func (c *checker) isGraphUnfit() bool {
	known, wrong, first := 0, 0, (*Operator)(nil)
	for i := range c.Operators {
		o := &c.Operators[i]
		if !o.hasGraphAttributes {
			continue
		}
		if known++; o.Reason == recompute.NoAttributes {
			if wrong++; first == nil {
				first = o
			}
		}
	}
	if wrong == 0 || 10*wrong <= known {
		return false
	}
	c.Warnings = append(c.Warnings, lang.Say("the graph does not fit these dumps: the attributes of %d of %d operators do not match their shapes, first %s (%s): %v; the graph is not used",
		wrong, known, first.Op, first.File, first.Evidence))
	return true
}

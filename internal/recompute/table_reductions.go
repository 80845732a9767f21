package recompute

import "dumptool/internal/optype"

// reductions join the elements of lines, or depend on their order.
var reductions = []formula{
	reduction("ReduceSum", Reduced, (*Array).sum).also("ReduceSum", "x axes!", totals).also("ReduceSumD BiasAddGrad", "x", totals).also("sum ms.sum", "dim:axes keepdim:-", totals),
	reduction("ReduceMean", Reduced, (*Array).mean).also("ReduceMean ReduceMeanWithCast", "x axes!").also("ReduceMeanD", "x").also("mean", "dim:axes keepdim:-").also("ms.mean", "x! axis:axes keep_dims:-"),
	ordered("ReduceMax", extremes(larger), reducedAxes).also("ReduceMax", "x axes!").also("ReduceMaxD", "x").also("amax max", "dim:axes keepdim:-").also("ms.amax", "axis:axes keepdims:-"),
	ordered("ReduceMin", extremes(smaller), reducedAxes).also("ReduceMin", "x axes!").also("ReduceMinD", "x").also("amin min", "dim:axes keepdim:-").also("ms.amin", "axis:axes keepdims:-"),
	ordered("Median", picked(median), reducedAxes).also("median", "dim:axes keepdim:-", sorts),
	ordered("KthValue", picked(kthValue), reducedAxes, attribute{names: []string{"k"}}).also("kthvalue", "k dim:axes=-1 keepdim:-", sorts),
	ordered("Mode", picked(mode), reducedAxes).also("mode", "dim:axes=-1 keepdim:-", sorts),
	ordered("Cummax", cumulated(larger), lastAxes).also("Cummax", "", sorts).also("cummax", "dim:axes", sorts),
	ordered("Cummin", cumulated(smaller), lastAxes).also("Cummin", "", sorts).also("cummin", "dim:axes", sorts),
	reduction("ReduceProd", Reduced, (*Array).product).also("ReduceProd", "x axes!", &optype.Type{Noise: optype.NoiseReduce}).also("ReduceProdD", "x", &optype.Type{Noise: optype.NoiseReduce}).
		also("prod", "dim:axes keepdim:-", spreads),
	{name: "L2Loss", class: Reduced, noise: unbounded, inputs: "x", cut: uncut, compute: first(func(x *Array) *Array { return square(x).sum(upTo(len(x.shape))...).times(.5) }), forms: []form{as("L2Loss", "")}},
	{name: "ArgMax", class: Integral, noise: indices, inputs: "x", cut: lines, compute: argExtreme(larger), attrs: []attribute{oneAxis},
		forms: []form{as("ArgMax ArgMaxV2", "x axes!"), as("ArgMaxD", "x"), as("argmax", "dim:axes keepdim:-")}},
	{name: "ArgMin", class: Integral, noise: indices, inputs: "x", cut: lines, compute: argExtreme(smaller), attrs: []attribute{oneAxis},
		forms: []form{as("ArgMin", "x axes!"), as("ArgMinD", "x"), as("argmin", "dim:axes keepdim:-")}},
	{name: "ArgMaxWithValue", class: Exact, noise: placed, inputs: "x", cut: lines, outputs: 2, compute: argExtreme(larger), attrs: []attribute{oneAxis}, forms: []form{as("ArgMaxWithValue", "")}},
	{name: "ArgMinWithValue", class: Exact, noise: placed, inputs: "x", cut: lines, outputs: 2, compute: argExtreme(smaller), attrs: []attribute{oneAxis}, forms: []form{as("ArgMinWithValue", "")}},
	{name: "Cumsum", class: Reduced, noise: &optype.Type{Class: optype.Reduce, Form: optype.Cumulative, Noise: optype.NoiseLipschitz}, inputs: "x", cut: lines, compute: one(cumsum),
		attrs: []attribute{lastAxes, flags("exclusive", false), flags("reverse", false)},
		forms: []form{as("Cumsum", "x axes!"), as("CumsumD", "x"), as("cumsum", "dim:axes :exclusive=0 :reverse=0"), as("ms.cumsum", "x! axis:axes :exclusive=0 :reverse=0")}},
	{name: "TopK", class: Exact, noise: sorts, inputs: "x", cut: rankedCut, outputs: 2, compute: topK, attrs: []attribute{rankedAxis, flags("largest", true), flags("sorted", true)},
		forms: []form{as("TopK TopKV2", "x -"), as("TopKD", "x -?"), as("topk", "k:- dim:axis=-1 largest=1 sorted=1")}},
	{name: "NonMaxSuppressionV3", class: Integral, noise: foundPlaces, inputs: "boxes scores", cut: uncut, sized: true, compute: one(suppressed),
		attrs: []attribute{choice(overlapThreshold, overlapThresholds), kept("max_output_size"), kept("score_threshold")},
		forms: []form{as("NonMaxSuppressionV3", "boxes scores max_output_size! iou_threshold! score_threshold!"), as("Nms", ""), as("nms", "boxes! scores! iou_threshold")}},
	{name: "Unique", class: Move, noise: &optype.Type{Class: optype.Move, Indices: 1 << 1, Sized: true}, inputs: "x", cut: uncut, sized: true, compute: one(unique), attrs: []attribute{constant("sorted", 0)},
		forms: []form{as("Unique", ""), as("unique", "sorted:-==1 return_inverse:- return_counts:- :sorted=1")}},

	known(indices, "ArgSort searchsorted"),
	known(foundPlaces, "NonMaxSuppression NonMaxSuppressionV6 NonMaxSuppressionV7"),
	known(sorts, "Kthvalue"),
	known(&optype.Type{Noise: optype.NoiseReduce}, "nansum"),
	known(spreads, "linalg_norm var_mean"),
	known(&optype.Type{Class: optype.Reduce}, "Mean"),
	known(totals, "Sum"),
}

// ordered is a row of elements of lines, chosen by their order, and their places in their lines. Its names follow.
func ordered(name string, compute func(c *call) []*Array, attrs ...attribute) formula {
	return formula{name: name, class: Exact, noise: extremal, inputs: "x", cut: lines, outputs: 2, compute: compute, attrs: attrs}
}

// reduction is a row of a function of lines along the axes that are missing in the output. Its
// names follow.
func reduction(name string, class Class, f func(x *Array, axes ...int) *Array) formula {
	return formula{name: name, class: class, inputs: "x", cut: lines, compute: one(func(c *call) *Array { return f(c.in(0), c.ints("axes")...) }), attrs: []attribute{reducedAxes}}
}

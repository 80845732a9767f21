package recompute

import "dumptool/internal/optype"

// reductions combine the elements of lines, or depend on their order.
var reductions = []formula{
	reduction("ReduceSum", Reduced, (*Array).sum).withNames("ReduceSum", "x axes!", totals).withNames("ReduceSumD BiasAddGrad", "x", totals).withNames("sum ms.sum", "dim:axes keepdim:-", totals),
	reduction("ReduceMean", Reduced, (*Array).mean).withNames("ReduceMean ReduceMeanWithCast", "x axes!").withNames("ReduceMeanD", "x").withNames("mean", "dim:axes keepdim:-").withNames("ms.mean", "x! axis:axes keep_dims:-"),
	orderRow("ReduceMax", extremeAndIndex(larger), reducedAxes).withNames("ReduceMax", "x axes!").withNames("ReduceMaxD", "x").withNames("amax max", "dim:axes keepdim:-").withNames("ms.amax", "axis:axes keepdims:-"),
	orderRow("ReduceMin", extremeAndIndex(smaller), reducedAxes).withNames("ReduceMin", "x axes!").withNames("ReduceMinD", "x").withNames("amin min", "dim:axes keepdim:-").withNames("ms.amin", "axis:axes keepdims:-"),
	orderRow("Median", orderStatistic(medianOfLine), reducedAxes).withNames("median", "dim:axes keepdim:-", sorting),
	orderRow("KthValue", orderStatistic(kthOfLine), reducedAxes, attribute{names: []string{"k"}}).withNames("kthvalue", "k dim:axes=-1 keepdim:-", sorting),
	orderRow("Mode", orderStatistic(modeOfLine), reducedAxes).withNames("mode", "dim:axes=-1 keepdim:-", sorting),
	orderRow("Cummax", cumulate(larger), lastAxes).withNames("Cummax", "", sorting).withNames("cummax", "dim:axes", sorting),
	orderRow("Cummin", cumulate(smaller), lastAxes).withNames("Cummin", "", sorting).withNames("cummin", "dim:axes", sorting),
	reduction("ReduceProd", Reduced, (*Array).product).withNames("ReduceProd", "x axes!", &optype.Type{Noise: optype.NoiseReduce}).withNames("ReduceProdD", "x", &optype.Type{Noise: optype.NoiseReduce}).
		withNames("prod", "dim:axes keepdim:-", spreads),
	{name: "L2Loss", class: Reduced, noise: unbounded, inputs: "x", cut: uncut, compute: unaryFormula(func(x *Array) *Array { return square(x).sum(firstIntegers(len(x.shape))...).times(.5) }), forms: []nameGroup{newNameGroup("L2Loss", "")}},
	{name: "ArgMax", class: Integral, noise: indices, inputs: "x", cut: lineCut, compute: argExtreme(larger), attrs: []attribute{oneAxis},
		forms: []nameGroup{newNameGroup("ArgMax ArgMaxV2", "x axes!"), newNameGroup("ArgMaxD", "x"), newNameGroup("argmax", "dim:axes keepdim:-")}},
	{name: "ArgMin", class: Integral, noise: indices, inputs: "x", cut: lineCut, compute: argExtreme(smaller), attrs: []attribute{oneAxis},
		forms: []nameGroup{newNameGroup("ArgMin", "x axes!"), newNameGroup("ArgMinD", "x"), newNameGroup("argmin", "dim:axes keepdim:-")}},
	{name: "ArgMaxWithValue", class: Exact, noise: relocation, inputs: "x", cut: lineCut, outputs: 2, compute: argExtreme(larger), attrs: []attribute{oneAxis}, forms: []nameGroup{newNameGroup("ArgMaxWithValue", "")}},
	{name: "ArgMinWithValue", class: Exact, noise: relocation, inputs: "x", cut: lineCut, outputs: 2, compute: argExtreme(smaller), attrs: []attribute{oneAxis}, forms: []nameGroup{newNameGroup("ArgMinWithValue", "")}},
	{name: "Cumsum", class: Reduced, noise: &optype.Type{Class: optype.Reduce, Form: optype.Cumulative, Noise: optype.NoiseLipschitz}, inputs: "x", cut: lineCut, compute: oneOutput(cumsum),
		attrs: []attribute{lastAxes, flagAttribute("exclusive", false), flagAttribute("reverse", false)},
		forms: []nameGroup{newNameGroup("Cumsum", "x axes!"), newNameGroup("CumsumD", "x"), newNameGroup("cumsum", "dim:axes :exclusive=0 :reverse=0"), newNameGroup("ms.cumsum", "x! axis:axes :exclusive=0 :reverse=0")}},
	{name: "TopK", class: Exact, noise: sorting, inputs: "x", cut: rankedCut, outputs: 2, compute: topK, attrs: []attribute{rankedAxis, flagAttribute("largest", true), flagAttribute("sorted", true)},
		forms: []nameGroup{newNameGroup("TopK TopKV2", "x -"), newNameGroup("TopKD", "x -?"), newNameGroup("topk", "k:- dim:axis=-1 largest=1 sorted=1")}},
	{name: "NonMaxSuppressionV3", class: Integral, noise: searchResults, inputs: "boxes scores", cut: uncut, hasDynamicLength: true, compute: oneOutput(keptIndices),
		attrs: []attribute{closedAttribute(overlapThreshold, findThreshold), optionalNumber("max_output_size"), optionalNumber("score_threshold")},
		forms: []nameGroup{newNameGroup("NonMaxSuppressionV3", "boxes scores max_output_size! iou_threshold! score_threshold!"), newNameGroup("Nms", ""), newNameGroup("nms", "boxes! scores! iou_threshold")}},
	{name: "Unique", class: Move, noise: &optype.Type{Class: optype.Move, Indices: 1 << 1, Sized: true}, inputs: "x", cut: uncut, hasDynamicLength: true, compute: oneOutput(unique), attrs: []attribute{defaultNumber("sorted", 0)},
		forms: []nameGroup{newNameGroup("Unique", ""), newNameGroup("unique", "sorted:-==1 return_inverse:- return_counts:- :sorted=1")}},

	noiseRow(indices, "ArgSort"),
	noiseRow(searchResults, "NonMaxSuppression NonMaxSuppressionV6 NonMaxSuppressionV7"),
	noiseRow(sorting, "Kthvalue"),
	noiseRow(&optype.Type{Class: optype.Reduce}, "Mean"),
	noiseRow(totals, "Sum"),
}

// orderRow returns the row of a formula that selects elements of lines by their order, with their indices; withNames
// adds its names.
func orderRow(name string, compute func(c *call) []*Array, attrs ...attribute) formula {
	return formula{name: name, class: Exact, noise: extremeValues, inputs: "x", cut: lineCut, outputs: 2, compute: compute, attrs: attrs}
}

// reduction returns the row of a function of lines along the axes that the output lacks; withNames adds its names.
func reduction(name string, class Class, f func(x *Array, axes ...int) *Array) formula {
	return formula{name: name, class: class, inputs: "x", cut: lineCut, compute: oneOutput(func(c *call) *Array { return f(c.input(0), c.integerAttributes("axes")...) }), attrs: []attribute{reducedAxes}}
}

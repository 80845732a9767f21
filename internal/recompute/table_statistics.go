package recompute

import (
	"math"
	"slices"
	"sort"

	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// wholeRow returns the row of an operator with one output that needs whole tensors; withNames adds its names.
func wholeRow(name string, class Class, inputs string, f func(c *call) *Array, attrs ...attribute) formula {
	return formula{name: name, class: class, noise: unbounded, inputs: inputs, cut: uncut, compute: oneOutput(f), attrs: attrs}
}

// statistics are the formulas of counts, order statistics, searches in sorted lines, and distances.
var statistics = []formula{
	reduction("NanSum", Reduced, func(x *Array, axes ...int) *Array { return x.mapSteps(zeroForNaN).sum(axes...) }).withNames("nansum", "dim:axes keepdim:-", &optype.Type{Noise: optype.NoiseReduce}),
	reduction("NanMean", Reduced, func(x *Array, axes ...int) *Array {
		return x.mapSteps(zeroForNaN).sum(axes...).div(indicator(func(v float64) bool { return v == v })(x).sum(axes...))
	}).withNames("nanmean", "dim:axes keepdim:-"),
	orderRow("NanMedian", orderStatistic(nanMedianOfLine), reducedAxes).withNames("nanmedian", "dim:axes keepdim:-"),
	momentsRow("VarMean", (*call).variance).withNames("var_mean", "dim:axes unbiased:correction=1 keepdim:-", spreads).withNames("var_mean", "dim:axes correction=1 keepdim:-", spreads),
	momentsRow("StdMean", func(c *call) *Array { return c.variance().sqrt() }).withNames("std_mean", "dim:axes unbiased:correction=1 keepdim:-").withNames("std_mean", "dim:axes correction=1 keepdim:-"),
	wholeRow("Quantile", Plain, "x q", quantile, reducedAxes).withNames("quantile", "q dim:axes keepdim:- interpolation:-==linear"),
	wholeRow("SearchSorted", Integral, "boundaries x", insertionPoints, flagAttribute("right", false)).withReader(readSide).withNames("SearchSorted", "", indices).
		withNames("searchsorted", "sorted_sequence:boundaries! input:x out_int32:- right=0 side", indices).withNames("bucketize", "input:x boundaries! out_int32:- right=0"),
	wholeRow("Bincount", Reduced, "x weights?", bincount, defaultNumber("minlength", 0)).withDynamicLength().withNames("Bincount", "x - weights?").withNames("bincount", "weights minlength=0"),
	wholeRow("IsIn", Integral, "x elements", func(c *call) *Array {
		known := map[float64]bool{}
		for _, v := range c.input(1).v {
			known[v] = true
		}
		return indicator(func(v float64) bool { return known[v] != c.isAttributeTrue("invert") })(c.input(0))
	}, defaultNumber("invert", 0)).withNames("isin", "elements:x test_elements:elements assume_unique:- invert=0"),
	wholeRow("Diff", Plain, "x before? after?", differences, axisChoice(acceptsAnyAxis), defaultNumber("n", 1)).withNames("diff", "n=1 dim:axis=-1 prepend:before append:after"),
	wholeRow("Cross", Plain, "x1 x2", crossProduct, axisChoice(func(p *problem, k int) bool { return p.Inputs[0].Shape[k] == 3 })).withNames("Cross", "").withNames("cross linalg_cross", "other:x2! dim:axis"),
	wholeRow("Trace", Reduced, "x", func(c *call) *Array { return c.diagonal(0).sum(0).reshape() }).withNames("trace", "", &optype.Type{Noise: optype.NoiseSums}),
	wholeRow("UniqueConsecutive", Move, "x", func(c *call) *Array {
		kept := slices.DeleteFunc(firstIntegers(len(c.input(0).v)), func(i int) bool { return i > 0 && c.input(0).v[i] == c.input(0).v[i-1] })
		return c.input(0).gatherFrom(tensor.Shape{int64(len(kept))}, 0, func(i int) int { return kept[i] })
	}).withDynamicLength().withNames("unique_consecutive", "return_inverse:-==0 return_counts:-==0"),
	wholeRow("LogCumsumExp", Tabled, "x", logCumsumExp, lastAxes).withNames("logcumsumexp", "dim:axes"),
	wholeRow("Trapezoid", Plain, "x", func(c *call) *Array {
		x := c.input(0)
		k, ok := axisAttribute(c.attrs, len(x.shape))
		if !ok || c.err != nil || x.shape[k] < 2 {
			return c.fail("axis %s of shape %s", c.attrs["axis"].Value, x.shape)
		}
		n := int(x.shape[k]) - 1
		return x.axisRange(k, 0, n).add(x.axisRange(k, 1, n)).sum(k).times(c.numberAttribute("dx") / 2)
	}, axisChoice(acceptsAnyAxis), realNumber("dx", 1)).withNames("trapezoid trapz", "dx=1 dim:axis=-1"),
	wholeRow("Dist", Reduced, "x1 x2", func(c *call) *Array {
		d := c.input(0).sub(c.input(1))
		return d.norm(c.numberAttribute("p"), firstIntegers(len(d.shape))...)
	}, realNumber("p", 2, 1)).withNames("dist", "other:x2! p=2"),
	wholeRow("Cdist", Reduced, "x1 x2", pairDistances, realNumber("p", 2, 1)).withNames("Cdist", "").withNames("cdist", "x1:x1! x2:x2! p=2 compute_mode:-"),
}

// momentsRow returns the row of a measure of spread and the mean of lines.
func momentsRow(name string, spread func(c *call) *Array) formula {
	return formula{name: name, class: Norm, inputs: "x", cut: lineCut, outputs: 2, compute: func(c *call) []*Array {
		return []*Array{spread(c), c.input(0).mean(c.integerAttributes("axes")...)}
	}, attrs: []attribute{reducedAxes, correction}}
}

// withDynamicLength marks a row whose output length depends on the values of the inputs.
func (f formula) withDynamicLength() formula {
	f.hasDynamicLength = true
	return f
}

// logCumsumExp returns for each element the logarithm of the sum of the exponentials up to it.
func logCumsumExp(c *call) *Array {
	x := c.input(0)
	z := c.array(x.shape)
	x.eachLine(c.integerAttributes("axes"), func(_, first int, beside []int) {
		sum := math.Inf(-1)
		for i, k := range beside {
			sum = addLogs(sum, x.v[first+k])
			off := float64(float64(i+1) * (1 + math.Abs(sum)))
			z.set(first+k, sum, float64(c.narrow.tf*off), float64(c.wide.tf*off))
		}
	})
	return z
}

func zeroForNaN(v float64) float64 {
	if v != v {
		return 0
	}
	return v
}

// nanMedianOfLine returns the lower of two middle numbers of a sorted line whose NaN come last.
func nanMedianOfLine(_ *call, line []float64) float64 {
	n, _ := slices.BinarySearchFunc(line, 0, func(v, _ float64) int { return -int(boolToFloat(v == v)) })
	return line[max(0, n-1)/2]
}

// quantile interpolates linearly between the two elements of each sorted line around the position q*(n-1).
func quantile(c *call) *Array {
	x, q := c.input(0), c.input(1)
	if c.err != nil || len(q.v) != 1 || q.v[0] < 0 || q.v[0] > 1 {
		return c.fail("%d quantiles: want one from 0 to 1", len(q.v))
	}
	return x.reduce(c.integerAttributes("axes"), func(z *Array, line int, r row) {
		all := slices.SortedFunc(slices.Values(r.v), compareNumbers)
		if len(all) == 0 {
			return
		}
		at := float64(q.v[0] * float64(len(all)-1))
		below := int(at)
		low, high := all[below], all[min(below+1, len(all)-1)]
		if last := all[len(all)-1]; last != last {
			low = last
		}
		// PyTorch rounds the position to float32.
		off := float64(single*(2+at)*(high-low)) + float64(4*single*(math.Abs(low)+math.Abs(high)))
		z.set(line, low+float64((at-float64(below))*(high-low)), off, off)
	}).allowDroppedNaN()
}

// readSide converts the argument side of searchsorted to the attribute right.
func readSide(_ *problem, raw Attributes) Attributes {
	side, ok := raw["side"]
	if !ok {
		return raw
	}
	return raw.merge(Attributes{"right": {Number(boolToFloat(side.Value.Text == "right")), side.Source}})
}

// insertionPoints returns for each element the number of boundaries below it; with the attribute right, the number of
// boundaries that are not above it. Boundaries are one ascending line, or a line for each line of elements. NaN comes
// after all boundaries.
func insertionPoints(c *call) *Array {
	bounds, x := c.input(0), c.input(1)
	last := len(bounds.shape) - 1
	if c.err != nil || last < 0 || last > 0 && (len(x.shape) != last+1 || !bounds.shape[:last].Equal(x.shape[:last])) {
		return c.fail("boundaries of shape %s for elements of shape %s", bounds.shape, x.shape)
	}
	n, right := int(bounds.shape[last]), c.isAttributeTrue("right")
	z := c.exactArray(x.shape, c.alloc(len(x.v)))
	for i, v := range x.v {
		line := bounds.v
		if last > 0 {
			line = bounds.v[i/int(x.shape[last])*n:][:n]
		}
		z.v[i] = float64(sort.Search(n, func(k int) bool { return line[k] > v || !right && line[k] == v }))
	}
	return z
}

// bincount returns the number of occurrences of each integer from 0 on, or the sum of their weights.
func bincount(c *call) *Array {
	x, largest := c.input(0), -1.0
	for _, v := range x.v {
		largest = max(largest, v)
	}
	n := max(largest+1, c.numberAttribute("minlength"))
	if shape := (tensor.Shape{int64(n)}); c.err == nil && !c.isTooLarge(shape) {
		places, weights := c.toIndices(x, int64(n)), c.number(1)
		if c.hasInput(1) {
			weights = c.input(1)
		}
		return c.scatter(c.number(0).expand(shape), places, weights.expand(x.shape), true)
	}
	return x
}

// axisRange returns n elements of an axis from first on.
func (x *Array) axisRange(axis, first, n int) *Array {
	shape, old, inner := slices.Clone(x.shape), int(x.shape[axis]), int(x.shape[axis+1:].Elements())
	shape[axis] = int64(n)
	return x.gatherFrom(shape, 0, func(i int) int { return (i/inner/n*old+first+i/inner%n)*inner + i%inner })
}

// differences returns n times the differences of neighbours along an axis, which before and after extend.
func differences(c *call) *Array {
	x := c.input(0)
	k, ok := axisAttribute(c.attrs, len(x.shape))
	if !ok || c.err != nil {
		return c.fail("axis %s of shape %s", c.attrs["axis"].Value, x.shape)
	}
	all := []*Array{x}
	if c.hasInput(1) {
		all = slices.Insert(all, 0, c.input(1))
	}
	if c.hasInput(2) {
		all = append(all, c.input(2))
	}
	x = cat(k, all...)
	if c.err != nil {
		return x
	}
	for range int(max(0, min(c.numberAttribute("n"), float64(x.shape[k])))) { // further differences are empty
		if c.err != nil {
			break
		}
		length := max(0, int(x.shape[k])-1)
		if x = x.axisRange(k, 1, length).sub(x.axisRange(k, 0, length)); c.types[0] == tensor.Bool {
			x = x.abs()
		}
	}
	return x
}

// crossProduct is the product of vectors of three elements along an axis.
func crossProduct(c *call) *Array {
	x, y, _ := broadcastPair(c.input(0), c.input(1))
	k, ok := axisAttribute(c.attrs, len(x.shape))
	if !ok || c.err != nil || x.shape[k] != 3 {
		return c.fail("axis %s of shape %s", c.attrs["axis"].Value, x.shape)
	}
	turn := func(x *Array, by int64) *Array {
		return c.mapCoordinates(x, func(at []int64) { at[k] = (at[k] + by) % 3 })
	}
	return turn(x, 1).mul(turn(y, 2)).sub(turn(x, 2).mul(turn(y, 1)))
}

// pairDistances returns the p-norm of the difference of each row of x1 and each row of x2.
func pairDistances(c *call) *Array {
	x, y := c.input(0), c.input(1)
	if c.err != nil || len(x.shape) < 2 || len(y.shape) < 2 {
		return c.fail("rows of shapes %s and %s", x.shape, y.shape)
	}
	x = x.reshape(slices.Insert(slices.Clone(x.shape), len(x.shape)-1, 1)...)
	y = y.reshape(slices.Insert(slices.Clone(y.shape), len(y.shape)-2, 1)...)
	shape, ok := broadcast(x.shape, y.shape)
	if !ok || c.isTooLarge(shape) {
		return c.fail("rows of shapes %s and %s", x.shape, y.shape)
	}
	last := len(shape) - 1
	z := x.sub(y).norm(c.numberAttribute("p"), last)
	if c.numberAttribute("p") != 2 || c.err != nil {
		return z.reshape(shape[:last]...)
	}
	// Kernels may compute |x|^2 + |y|^2 - 2xy, whose rounding errors do not shrink with the distance.
	size := square(x).sum(last).add(square(y).sum(last))
	for i, s := range size.expand(z.shape).v {
		off := func(u float64) float64 { return min(math.Sqrt(float64(8*u*s)), float64(8*u*s)/max(z.v[i], tiny)) }
		z.narrow[i], z.wide[i] = z.narrow[i]+off(c.narrow.u), z.wide[i]+off(c.wide.u)
	}
	return z.reshape(shape[:last]...)
}

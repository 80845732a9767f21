package recompute

import (
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// indexings are the formulas of x[...] in PyTorch, and of elements that indices select or write.
//
// The attribute index is the text between the brackets, its items separated by semicolons: a number, a slice as
// [start, stop, step], None, ... or T for a tensor, which is an input.
var indexings = []formula{
	{name: "GetItem", class: Move, noise: gathering, inputs: "x indices*?", cut: getItemCut, hasDynamicLength: true, compute: oneOutput(func(c *call) *Array {
		if len(c.inputs) == 1 {
			return c.input(0)
		}
		return c.selectAt(c.input(0), c.integerAttributes("axes_of_tensors"), c.inputs[1:])
	}), read: func(p *problem, raw Attributes) Attributes { return withTensorAxes(p, raw, 1) }, attrs: []attribute{optionalText("index"), optionalNumber("axes_of_tensors")}, forms: []nameGroup{newNameGroup("__getitem__", "index:indices[]"), newNameGroup("Aten.index Torch.index", "indices[]")}},
	{name: "SetItem", class: Move, noise: unbounded, inputs: "x value indices*?", cut: uncut, compute: oneOutput(setItem),
		read: func(p *problem, raw Attributes) Attributes { return withTensorAxes(p, raw, 2) }, attrs: []attribute{optionalText("index"), optionalNumber("axes_of_tensors"), flagAttribute("accumulate", false)}, forms: []nameGroup{newNameGroup("__setitem__", "index:indices[] value :accumulate=0", &optype.Type{Noise: optype.NoiseMove}), newNameGroup("index_put", "indices[] values:value! accumulate=0 unsafe:-", &optype.Type{Gathers: true, Noise: optype.NoiseMove}), newNameGroup("_index_put_impl", "indices[] values:value! accumulate=0 unsafe:-")}},
	{name: "GatherElements", class: Move, noise: gathering, inputs: "x index", cut: uncut, compute: oneOutput(func(c *call) *Array {
		from := c.offsetsAt(c.input(0), c.input(1))
		return c.input(0).gatherFrom(c.input(1).shape, 0, func(i int) int { return from[i] })
	}), attrs: []attribute{axisChoice(acceptsAnyAxis)}, forms: []nameGroup{newNameGroup("GatherElements", "", gathering), newNameGroup("GatherD", "x axis! index"), newNameGroup("gather", "dim:axis index! sparse_grad:-", gathering), newNameGroup("take_along_dim", "indices:index! dim:axis", &optype.Type{Noise: optype.NoiseMove})}},
	{name: "ScatterElements", class: Plain, noise: unbounded, inputs: "x index updates", cut: uncut, compute: oneOutput(func(c *call) *Array {
		to := c.offsetsAt(c.input(0), c.input(1))
		return c.scatter(c.input(0), to, c.fitUpdates(c.input(1).shape, c.input(2)), c.textAttribute("reduction") == "add")
	}), attrs: []attribute{axisChoice(acceptsAnyAxis), textAttribute("reduction", "none add")}, forms: []nameGroup{newNameGroup("ScatterElements", "", scattering), newNameGroup("scatter", "dim:axis index! src:updates :reduction=none", &optype.Type{Gathers: true, Noise: optype.NoiseMove}), newNameGroup("scatter", "dim:axis index! src:updates reduce:reduction"), newNameGroup("scatter", "dim:axis index! value:updates :reduction=none", &optype.Type{Gathers: true, Noise: optype.NoiseMove}), newNameGroup("scatter_add", "dim:axis index! src:updates! :reduction=add", &optype.Type{Gathers: true, Noise: optype.NoiseLipschitz})}},
	wholeRow("ScatterReduce", Plain, "x index updates", scatterReduce, axisChoice(acceptsAnyAxis), textAttribute("reduce", "sum mean amax amin prod"), flagAttribute("include_self", true)).
		withNames("scatter_reduce", "dim:axis index! src:updates! reduce include_self=1"),
	wholeRow("EmbeddingBag", Reduced, "indices x offsets? weights?", embeddingBag, textAttribute("mode", "mean sum max"), optionalNumber("padding_idx"), defaultNumber("include_last_offset", 0)).withReader(readBagMode).
		withNames("Functional.embedding_bag", "input:indices! weight:x! offsets max_norm:-==None norm_type:- scale_grad_by_freq:- mode=mean sparse:- per_sample_weights:weights include_last_offset=0 padding_idx", embeddings).
		withNames("Torch.embedding_bag Aten.embedding_bag Aten._embedding_bag", "weight:x! indices! offsets scale_grad_by_freq:- mode=0 sparse:- per_sample_weights:weights include_last_offset=0 padding_idx", embeddings).
		withNames("nn.EmbeddingBag", "input:indices! offsets per_sample_weights:weights weight:x!", embeddings),
	wholeRow("MaxUnpool", Move, "x index", maxUnpool).withNames("max_unpool1d max_unpool2d max_unpool3d", "indices:index! kernel_size:- stride:- padding:- output_size:-").withNames("nn.MaxUnpool1d nn.MaxUnpool2d nn.MaxUnpool3d", "indices:index! output_size:-"),
	{name: "IndexAdd", class: Plain, noise: unbounded, inputs: "x index updates", cut: uncut, compute: oneOutput(func(c *call) *Array { return c.writeRows(true) }), attrs: []attribute{axisChoice(acceptsAnyAxis), defaultNumber("alpha", 1)}, forms: []nameGroup{newNameGroup("index_add", "dim:axis index! source:updates! alpha=1", &optype.Type{Gathers: true, Noise: optype.NoiseLipschitz})}},
	{name: "IndexCopy", class: Move, noise: unbounded, inputs: "x index updates", cut: uncut, compute: oneOutput(func(c *call) *Array { return c.writeRows(false) }), attrs: []attribute{axisChoice(acceptsAnyAxis), defaultNumber("alpha", 1)}, forms: []nameGroup{newNameGroup("index_copy", "dim:axis index! source:updates! :alpha=1"), newNameGroup("index_fill", "dim:axis index! value:updates :alpha=1")}},
	{name: "Take", class: Move, noise: gathering, inputs: "x index", cut: uncut, compute: oneOutput(func(c *call) *Array {
		from := c.toIndices(c.input(1), int64(len(c.input(0).v)))
		return c.input(0).gatherFrom(c.input(1).shape, 0, func(i int) int { return from[i] })
	}), forms: []nameGroup{newNameGroup("take", "index!", gathering)}},
	{name: "MaskedSelect", class: Move, noise: gathering, inputs: "x mask", cut: uncut, hasDynamicLength: true, compute: oneOutput(func(c *call) *Array {
		x, on := c.maskedOffsets()
		return x.gatherFrom(tensor.Shape{int64(len(on))}, 0, func(i int) int { return on[i] })
	}), forms: []nameGroup{newNameGroup("MaskedSelect", "", &optype.Type{Class: optype.Move, Gathers: true, Sized: true}), newNameGroup("masked_select", "mask!", &optype.Type{Noise: optype.NoiseMove, Sized: true})}},
	{name: "MaskedScatter", class: Move, noise: unbounded, inputs: "x mask updates", cut: uncut, compute: oneOutput(func(c *call) *Array {
		x, on := c.maskedOffsets()
		if u := c.input(2); c.err == nil && len(u.v) < len(on) {
			return c.fail("%d updates for %d elements of a mask", len(u.v), len(on))
		}
		return c.scatter(x, on, c.input(2), false)
	}), forms: []nameGroup{newNameGroup("MaskedScatter", ""), newNameGroup("masked_scatter", "mask! source:updates!")}},
	{name: "NonZero", class: Integral, inputs: "x", cut: uncut, hasDynamicLength: true, compute: nonZero, outputs: maxAxes, forms: []nameGroup{newNameGroup("NonZero", "", searchResults), newNameGroup("Where", ""), newNameGroup("where", "condition:x!"), newNameGroup("nonzero", "as_tuple:-", searchResults)}},
	{name: "Roll", class: Move, inputs: "x", cut: uncut, compute: oneOutput(roll), attrs: []attribute{optionalNumber("shifts"), closedAttribute("axes", func(*problem) []Attributes { return []Attributes{{"axes": {Numbers(), FromDefault}}} })}, forms: []nameGroup{newNameGroup("Roll", "", copies), newNameGroup("roll", "shifts dims:axes", copies)}},
	{name: "ReverseV2", class: Move, inputs: "x", cut: uncut, compute: oneOutput(func(c *call) *Array {
		x, axes := c.input(0), c.integerAttributes("axes")
		x.checkAxes(axes)
		return c.mapCoordinates(x, func(at []int64) {
			for _, k := range axes {
				at[k] = x.shape[k] - 1 - at[k]
			}
		})
	}), attrs: []attribute{anyAxes}, forms: []nameGroup{newNameGroup("ReverseV2", "x axes!", copies), newNameGroup("ReverseV2D", "x"), newNameGroup("flip", "dims*:axes", copies), newNameGroup("fliplr", ":axes=1"), newNameGroup("flipud", ":axes=0")}},
	{name: "RepeatInterleave", class: Move, inputs: "x repeats", cut: uncut, compute: oneOutput(repeatInterleave), attrs: []attribute{optionalNumber("axis")}, forms: []nameGroup{newNameGroup("RepeatInterleave", ""), newNameGroup("repeat_interleave", "repeats dim:axis output_size:-", copies)}},
	{name: "RepeatEach", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		return axisView(p, h, func(n, stride int64, v *view, k int) bool {
			out := p.Outputs[0].Shape
			if n == 0 || len(out) != p.rank() || out[k]%n != 0 {
				return false
			}
			v.shape, v.strides = slices.Insert(v.shape, k+1, out[k]/n), slices.Insert(v.strides, k+1, 0)
			return true
		})
	}), attrs: []attribute{axisChoice(func(p *problem, k int) bool { return len(p.Outputs[0].Shape) == p.rank() })}, forms: []nameGroup{newNameGroup("repeat_interleave", "")}}, // a number of repeats that was not dumped
	{name: "Narrow", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		return axisView(p, h, func(n, stride int64, v *view, k int) bool {
			start, ok := integerAttribute(h, "start")
			length, has := integerAttribute(h, "length")
			if start < 0 {
				start += n
			}
			v.shape[k], v.offset = length, start*stride
			return ok && has && length >= 0 && start >= 0 && start <= n-length
		})
	}), attrs: []attribute{optionalNumber("axis"), optionalNumber("start"), optionalNumber("length")}, forms: []nameGroup{newNameGroup("narrow", "dim:axis start length", copies)}},
	{name: "SliceAxis", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		return axisView(p, h, func(n, stride int64, v *view, k int) bool {
			bound := func(name string) (int64, bool) {
				x, ok := h[name].Value.Number()
				if x < 0 {
					x += float64(n)
				}
				return int64(min(max(x, 0), float64(n))), ok
			}
			start, ok := bound("start")
			end, has := bound("end")
			step, too := integerAttribute(h, "step")
			if !ok || !has || !too || step < 1 {
				return false
			}
			v.shape[k], v.strides[k], v.offset = max(0, end-start+step-1)/step, stride*step, start*stride
			return true
		})
	}), attrs: []attribute{optionalNumber("axis"), optionalNumber("start"), optionalNumber("end"), optionalNumber("step")}, forms: []nameGroup{newNameGroup("Aten.slice", "dim:axis=0 start=0 end=inf step=1")}},
	{name: "SelectAt", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		return axisView(p, h, func(n, stride int64, v *view, k int) bool {
			at, ok := integerAttribute(h, "at")
			if at < 0 {
				at += n
			}
			v.shape, v.strides, v.offset = slices.Delete(v.shape, k, k+1), slices.Delete(v.strides, k, k+1), at*stride
			return ok && at >= 0 && at < n
		})
	}), attrs: []attribute{optionalNumber("axis"), optionalNumber("at")}, forms: []nameGroup{newNameGroup("select", "dim:axis index:at")}},
	{name: "Unfold", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		return axisView(p, h, func(n, stride int64, v *view, k int) bool {
			size, ok := integerAttribute(h, "size")
			step, has := integerAttribute(h, "step")
			if !ok || !has || size < 0 || size > n || step < 1 {
				return false
			}
			v.shape[k], v.strides[k] = (n-size)/step+1, stride*step
			v.shape, v.strides = append(v.shape, size), append(v.strides, stride)
			return true
		})
	}), attrs: []attribute{unfolding}, forms: []nameGroup{newNameGroup("Tensor.unfold", "dimension:axis size step")}},
	{name: "DepthToSpace", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		return blocksView(p, h, true)
	}), attrs: []attribute{blockSize, blockMode}, forms: []nameGroup{newNameGroup("DepthToSpace", "", copies), newNameGroup("PixelShuffle", ":mode=CRD"), newNameGroup("pixel_shuffle", "upscale_factor:block_size :mode=CRD"), newNameGroup("nn.PixelShuffle", ":mode=CRD")}},
	{name: "SpaceToDepth", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		return blocksView(p, h, false)
	}), attrs: []attribute{blockSize, blockMode}, forms: []nameGroup{newNameGroup("SpaceToDepth", "", copies), newNameGroup("PixelUnshuffle", ":mode=CRD"), newNameGroup("pixel_unshuffle", "downscale_factor:block_size :mode=CRD"), newNameGroup("nn.PixelUnshuffle", ":mode=CRD")}},
	{name: "ShuffleChannel", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		x := p.Inputs[0].Shape
		g, ok := integerAttribute(h, "num_groups")
		if !ok || len(x) < 2 || g < 1 || x[1]%g != 0 {
			return view{}, lang.Say("%s groups of shape %s", h["num_groups"].Value, x)
		}
		s := x.Strides()
		each := x[1] / g
		return view{shape: slices.Concat(tensor.Shape{x[0], each, g}, x[2:]), strides: slices.Concat([]int64{s[0], s[1], s[1] * each}, s[2:])}, lang.Sentence{}
	}), attrs: []attribute{divisors}, forms: []nameGroup{newNameGroup("channel_shuffle", "groups:num_groups"), newNameGroup("nn.ChannelShuffle", "")}},
	{name: "Fill", class: Move, noise: unbounded, inputs: "value", cut: func(p *problem, _ Attributes) *cutRule {
		c := wholeTensors(p)
		if p.Inputs[0].elements() != 1 {
			return misfit("a value of shape %s", p.Inputs[0].Shape)
		}
		c.in[0].shape = tensor.Shape{}
		return c.cutAlong(firstIntegers(len(c.out[0].shape)), alignRight)
	}, compute: oneOutput(convert), attrs: []attribute{textAttribute("mode", "trunc")}, forms: []nameGroup{newNameGroup("Fill", "- value"), newNameGroup("zeros", ":value=0 size*:-", &optype.Type{Noise: optype.NoiseMove}), newNameGroup("ones", ":value=1 size*:-", &optype.Type{Noise: optype.NoiseMove}), newNameGroup("full", "size:- fill_value:value", &optype.Type{Noise: optype.NoiseMove}), newNameGroup("full_like", "input:- value", &optype.Type{Noise: optype.NoiseMove, Buffer: optype.AllInputs}), newNameGroup("fill", "input:- value"), newNameGroup("scalar_tensor Torch.tensor as_tensor", "data:value"), newNameGroup("new_full", "input:- size:- fill_value:value"), newNameGroup("full_like", "input:- fill_value:value", &optype.Type{Noise: optype.NoiseMove, Buffer: optype.AllInputs}), newNameGroup("new_zeros", ":value=0 input:- size*:-", &optype.Type{Noise: optype.NoiseMove, Buffer: optype.AllInputs}), newNameGroup("new_ones", ":value=1 input:- size*:-", &optype.Type{Noise: optype.NoiseMove, Buffer: optype.AllInputs})}},
	{name: "ZerosLike", class: Move, noise: unbounded, inputs: "x", cut: elementwiseCut, compute: unaryFormula(func(x *Array) *Array { return x.mapSteps(func(float64) float64 { return 0 }) }), forms: []nameGroup{newNameGroup("ZerosLike", ""), newNameGroup("zeros_like", "", &optype.Type{Noise: optype.NoiseMove, Buffer: optype.AllInputs}), newNameGroup("zero", "")}},
	{name: "OnesLike", class: Move, noise: unbounded, inputs: "x", cut: elementwiseCut, compute: unaryFormula(func(x *Array) *Array { return x.mapSteps(func(float64) float64 { return 1 }) }), forms: []nameGroup{newNameGroup("OnesLike", ""), newNameGroup("ones_like", "", &optype.Type{Noise: optype.NoiseMove, Buffer: optype.AllInputs})}},
	{name: "Copy", class: Converted, noise: unbounded, inputs: "x", cut: func(p *problem, _ Attributes) *cutRule {
		x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
		if s, ok := broadcast(x, out); !ok || !s.Equal(out) {
			return misfit("the output has the shape %s, the input %s", out, x)
		}
		return wholeTensors(p).cutAlong(firstIntegers(len(out)), alignRight)
	}, compute: oneOutput(convert), attrs: []attribute{textAttribute("mode", "trunc")}, forms: []nameGroup{newNameGroup("copy", "input:- src:x!")}},
	{name: "Range", class: Plain, noise: unbounded, inputs: "start step", cut: uncut, compute: oneOutput(func(c *call) *Array {
		n := c.exactArray(c.shapes[0], c.alloc(int(c.shapes[0].Elements())))
		for i := range n.v {
			n.v[i] = float64(i)
		}
		return c.input(0).add(n.mul(c.input(1))).withTermRoundings(c.input(0))
	}), forms: []nameGroup{newNameGroup("Range", "start - step"), newNameGroup("arange", "end:- :start=0 :step=1", &optype.Type{Noise: optype.NoiseMove}), newNameGroup("arange", "start end:- step=1", &optype.Type{Noise: optype.NoiseMove})}},
	{name: "Dropout", class: Plain, noise: unbounded, inputs: "x", cut: elementwiseCut, compute: oneOutput(dropout), attrs: []attribute{realNumber("p", 0, .1, .5, .2, .3), flagAttribute("training", true), defaultNumber("dropped_axes", 0)}, forms: []nameGroup{
		newNameGroup("dropout1d", "p=0.5 training=1 :dropped_axes=1", randomMask), newNameGroup("dropout2d feature_dropout", "p=0.5 training=1 :dropped_axes=2", randomMask), newNameGroup("dropout3d", "p=0.5 training=1 :dropped_axes=3", randomMask),
		newNameGroup("nn.Dropout1d", ":dropped_axes=1", randomMask), newNameGroup("nn.Dropout2d", ":dropped_axes=2", randomMask), newNameGroup("nn.Dropout3d", ":dropped_axes=3", randomMask), newNameGroup("dropout", "p=0.5 training=1", &optype.Type{Class: optype.Move, Random: true}), newNameGroup("nn.Dropout", "", &optype.Type{Class: optype.Move, Random: true})}},
}

func acceptsAnyAxis(*problem, int) bool { return true }

// unfolding lists the axes and steps of windows along an axis: the last axis of the output has their size.
var unfolding = closedAttribute("axis size step", func(p *problem) (all []Attributes) {
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	if len(out) != len(x)+1 {
		return nil
	}
	size := out[len(x)]
	for k := len(x) - 1; k >= 0; k-- {
		for step := int64(1); step <= max(1, x[k]-size) && len(all) < maxHypotheses; step++ {
			if (x[k]-size)/step+1 == out[k] {
				all = append(all, Attributes{"axis": {integers(k), FromShape}, "size": {Number(float64(size)), FromShape}, "step": {Number(float64(step)), FromValues}})
			}
		}
	}
	return all
})

// integerAttribute returns an attribute of one whole number.
func integerAttribute(h Attributes, name string) (int64, bool) {
	all, ok := h[name].Value.Integers()
	if !ok || len(all) != 1 {
		return 0, false
	}
	return all[0], true
}

// axisView returns a view of the first input with one axis changed. change edits the view and reports whether the
// attributes fit.
func axisView(p *problem, h Attributes, change func(n, stride int64, v *view, k int) bool) (view, lang.Sentence) {
	x := p.Inputs[0].Shape
	k, ok := axisAttribute(h, len(x))
	if !ok {
		return view{}, lang.Say("axis %s of shape %s", h["axis"].Value, x)
	}
	v := view{shape: slices.Clone(x), strides: x.Strides()}
	if !change(x[k], v.strides[k], &v, k) {
		return view{}, lang.Say("the attributes do not fit axis %d of shape %s", k, x)
	}
	return v, lang.Sentence{}
}

// blockSize is the edge of a block of pixels, which follows from the shapes.
var blockSize = closedAttribute("block_size", func(p *problem) []Attributes {
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	n := len(x)
	if n < 3 || len(out) != n || min(x[n-1], out[n-1]) == 0 {
		return nil
	}
	return []Attributes{{"block_size": {Number(float64(max(x[n-1]/out[n-1], out[n-1]/x[n-1]))), FromShape}}}
})

// blockMode is the order of channels: in CRD the channels of one block are adjacent, in DCR the channels at the same
// position of all blocks.
var blockMode = textAttribute("mode", "DCR CRD")

// blocksView turns channels into blocks of pixels (toSpace), or blocks of pixels into channels.
func blocksView(p *problem, h Attributes, toSpace bool) (view, lang.Sentence) {
	x := p.Inputs[0].Shape
	r, ok := integerAttribute(h, "block_size")
	n := len(x)
	if !ok || n < 3 || r < 1 || r > maxBlock || toSpace && x[n-3]%(r*r) != 0 || !toSpace && (x[n-2]%r != 0 || x[n-1]%r != 0) {
		return view{}, lang.Say("blocks of %s of shape %s", h["block_size"].Value, x)
	}
	s, isCRD := x.Strides(), h["mode"].Value.Text == "CRD"
	c, y, z := s[n-3], s[n-2], s[n-1]
	if toSpace {
		channelStride, block := c*r*r, c // strides of the output's channels and of the pixels of a block
		if !isCRD {
			channelStride, block = c, c*(x[n-3]/(r*r))
		}
		return view{shape: slices.Concat(x[:n-3], tensor.Shape{x[n-3] / (r * r), x[n-2], r, x[n-1], r}),
			strides: slices.Concat(s[:n-3], []int64{channelStride, y, block * r, z, block})}, lang.Sentence{}
	}
	height, width := x[n-2]/r, x[n-1]/r
	if isCRD {
		return view{shape: slices.Concat(x[:n-3], tensor.Shape{x[n-3], r, r, height, width}), strides: slices.Concat(s[:n-3], []int64{c, y, z, y * r, z * r})}, lang.Sentence{}
	}
	return view{shape: slices.Concat(x[:n-3], tensor.Shape{r, r, x[n-3], height, width}), strides: slices.Concat(s[:n-3], []int64{y, z, c, y * r, z * r})}, lang.Sentence{}
}

const maxBlock = 1 << 10

// withTensorAxes adds the axes that the tensors of an index apply to. These tensors are the inputs from first on.
func withTensorAxes(p *problem, raw Attributes, first int) Attributes {
	index, ok := raw["index"]
	items, fits := indexItems(index.Value.Text, p.Inputs[min(first, len(p.Inputs)):])
	if !ok || !fits {
		return raw
	}
	_, axes, fits := indexView(p.Inputs[0].Shape, items)
	if !fits || len(axes) == 0 {
		return raw
	}
	return raw.merge(Attributes{"axes_of_tensors": {integers(axes...), index.Source}})
}

func getItemCut(p *problem, h Attributes) *cutRule {
	items, ok := indexItems(h["index"].Value.Text, p.Inputs[1:])
	if !ok {
		return misfit("index %s of shape %s", h["index"].Value, p.Inputs[0].Shape)
	}
	v, axes, ok := indexView(p.Inputs[0].Shape, items)
	if !ok {
		return misfit("index %s of shape %s", h["index"].Value, p.Inputs[0].Shape)
	}
	if len(axes) > 0 {
		c := wholeTensors(p)
		c.in[0] = v
		return c
	}
	return copyCut(func(*problem, Attributes) (view, lang.Sentence) { return v, lang.Sentence{} })(p, h)
}

// indexArrays returns the index arrays for the tensors of an index. A mask becomes one array for each of its axes.
func (c *call) indexArrays(tensors []*Array, types []tensor.DType) (all []*Array) {
	for k, t := range tensors {
		if types[k] != tensor.Bool {
			all = append(all, t)
			continue
		}
		all = append(all, c.coordinatesOf(t)...)
	}
	return all
}

// coordinatesOf returns the coordinates of the elements that are not 0, one array for each axis.
func (c *call) coordinatesOf(t *Array) []*Array {
	c.dynamicLength = true
	var on []int64
	for i, v := range t.v {
		if v != 0 {
			on = append(on, int64(i))
		}
	}
	all := make([]*Array, len(t.shape))
	for k := range all {
		all[k] = c.exactArray(tensor.Shape{int64(len(on))}, c.alloc(len(on)))
	}
	for i, at := range on {
		for k, n := range t.shape.Coordinates(at) {
			all[k].v[i] = float64(n)
		}
	}
	return all
}

// selectAt selects elements of an array by the tensors of an index, which apply to axes.
func (c *call) selectAt(x *Array, axes []int, tensors []*Array) *Array {
	shape, from := c.indexOffsets(x, axes, c.indexArrays(tensors, c.types[len(c.types)-len(tensors):]))
	if c.err != nil {
		return x
	}
	return x.gatherFrom(shape, 0, func(i int) int { return from[i] })
}

// setItem writes a value at an index. If several values are written to one element, every one is accepted.
func setItem(c *call) *Array {
	x, value := c.input(0), c.input(1)
	if c.err != nil {
		return x
	}
	tensors := make([]*Tensor, len(c.inputs)-2)
	for i := range tensors {
		tensors[i] = &Tensor{DType: c.types[2+i], Shape: c.input(2 + i).shape}
	}
	if c.err != nil {
		return x
	}
	items, ok := indexItems(c.textAttribute("index"), tensors)
	v, axes, fits := view{}, []int(nil), false
	if ok {
		v, axes, fits = indexView(x.shape, items)
	}
	if !fits {
		return c.fail("index %s of shape %s", c.attrs["index"].Value, x.shape)
	}
	places := c.exactArray(v.shape, c.alloc(int(v.shape.Elements())))
	walkElements(v.shape, v.strides, func(i, offset int) { places.v[i] = float64(int(v.offset) + offset) })
	if len(axes) > 0 {
		places = c.selectAt(places, axes, c.inputs[2:])
	}
	if c.err != nil {
		return x
	}
	to := make([]int, len(places.v))
	for i, at := range places.v {
		to[i] = int(at)
	}
	return c.scatter(x, to, c.fitUpdates(places.shape, value), c.isAttributeTrue("accumulate"))
}

// maskedOffsets returns the first input, broadcast with the mask (the second input), and the offsets where the mask
// is not 0.
func (c *call) maskedOffsets() (x *Array, on []int) {
	if c.err != nil {
		return c.input(0), nil
	}
	shape, ok := broadcast(c.input(0).shape, c.input(1).shape)
	if !ok {
		return c.fail("a mask of shape %s for shape %s", c.input(1).shape, c.input(0).shape), nil
	}
	c.dynamicLength = true
	for i, v := range c.input(1).expand(shape).v {
		if v != 0 {
			on = append(on, i)
		}
	}
	return c.input(0).expand(shape), on
}

// nonZero returns the coordinates of the elements that are not 0: as rows of one output, or as one output for each
// axis.
func nonZero(c *call) []*Array {
	all := c.coordinatesOf(c.input(0))
	if len(c.shapes) > 1 || len(c.shapes[0]) == 1 {
		return all
	}
	for k, x := range all {
		all[k] = x.reshape(-1, 1)
	}
	if len(all) == 0 {
		return []*Array{c.fail("coordinates of a number")}
	}
	return []*Array{cat(1, all...)}
}

// mapCoordinates returns an array of the same shape. source converts the coordinates of an element to the coordinates
// of its source.
func (c *call) mapCoordinates(x *Array, source func(at []int64)) *Array {
	if c.err != nil {
		return x
	}
	strides := x.shape.Strides()
	return x.gatherFrom(x.shape, 0, func(i int) int {
		at, offset := x.shape.Coordinates(int64(i)), int64(0)
		source(at)
		for k, n := range at {
			offset += n * strides[k]
		}
		return int(offset)
	})
}

// roll shifts elements along axes, cyclically; without axes along the flattened array.
func roll(c *call) *Array {
	x, shifts, axes := c.input(0), c.integerAttributes("shifts"), c.integerAttributes("axes")
	if x.checkAxes(axes); c.err != nil || len(axes) > 0 && len(axes) != len(shifts) || len(axes) == 0 && len(shifts) != 1 {
		return c.fail("shifts %s along axes %s", c.attrs["shifts"].Value, c.attrs["axes"].Value)
	}
	if len(axes) == 0 {
		n := len(x.v)
		return x.gatherFrom(x.shape, 0, func(i int) int { return ((i-shifts[0])%n + n) % n })
	}
	return c.mapCoordinates(x, func(at []int64) {
		for i, k := range axes {
			n := x.shape[k]
			at[k] = ((at[k]-int64(shifts[i]))%n + n) % n
		}
	})
}

// repeatInterleave repeats each row along an axis, or each element of the flattened array.
func repeatInterleave(c *call) *Array {
	x, repeats := c.input(0), c.input(1)
	k, ok := axisAttribute(c.attrs, len(x.shape))
	if _, has := c.attrs["axis"]; !has {
		x, k, ok = x.reshape(-1), 0, true
	}
	if c.err != nil || !ok || len(repeats.v) != 1 && int64(len(repeats.v)) != x.shape[k] {
		return c.fail("repeats of shape %s along axis %s of shape %s", repeats.shape, c.attrs["axis"].Value, x.shape)
	}
	var rows []int
	for i := range int(x.shape[k]) {
		n := repeats.v[i%len(repeats.v)]
		if n < 0 || n > float64(c.shapes[0].Elements()-int64(len(rows))) {
			return c.fail("%v repeats", n)
		}
		rows = append(rows, slices.Repeat([]int{i}, int(n))...)
	}
	shape, inner := slices.Clone(x.shape), int(x.shape[k+1:].Elements())
	shape[k] = int64(len(rows))
	return x.gatherFrom(shape, 0, func(i int) int {
		row, outer := i/inner%len(rows), i/inner/len(rows)
		return (outer*int(x.shape[k])+rows[row])*inner + i%inner
	})
}

// randomMask is the noise of dropout.
var randomMask = &optype.Type{Class: optype.Move, Random: true}

// dropout returns the input outside of training. In training each element, or each plane of the last dropped_axes
// axes, is 0 or x/(1-p), and the NPU's choice is accepted if the number of zeros is plausible: within 6 standard
// deviations of the binomial distribution. Planes whose input is 0, such as masked probabilities, do not count.
func dropout(c *call) *Array {
	x, p := c.input(0), c.numberAttribute("p")
	if c.err != nil || !c.isAttributeTrue("training") || p == 0 {
		return x
	}
	got := c.got[0]
	if p >= 1 {
		return x.times(0)
	}
	kept := x.times(1 / (1 - p)).withTermRoundings(x)
	if len(got.v) != len(x.v) || len(x.v) == 0 {
		return kept
	}
	plane := int(x.shape[min(max(0, len(x.shape)-int(c.numberAttribute("dropped_axes"))), len(x.shape)):].Elements())
	isDropped := c.exactArray(x.shape, c.alloc(len(x.v)))
	isZero := func(v float64) bool { return v == 0 }
	dropped, n := 0.0, 0.0
	for first := 0; first < len(x.v); first += plane {
		all := boolToFloat(!slices.ContainsFunc(got.v[first:first+plane], func(v float64) bool { return v != 0 }))
		for i := range plane {
			isDropped.v[first+i] = all
		}
		if !isZero(x.v[first]) || slices.ContainsFunc(x.v[first:first+plane], func(v float64) bool { return !isZero(v) }) {
			dropped, n = dropped+all, n+1
		}
	}
	const sigmas = 6
	if math.Abs(dropped-float64(n*p)) > float64(sigmas*math.Sqrt(float64(n*p)*(1-p)))+1 {
		return kept
	}
	return isDropped.selectWhere(c.number(0), kept)
}

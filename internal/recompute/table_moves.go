package recompute

import (
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

// moves are the formulas that copy elements. Most describe a view of the input whose elements, in C order, are the
// output.
var moves = []formula{
	{name: "Identity", class: Move, inputs: "x", cut: flatCut, compute: unaryFormula(identity), isIdempotent: true, forms: []nameGroup{
		newNameGroup("Identity IdentityN Reshape Squeeze SqueezeV2 SqueezeV3 Unsqueeze UnsqueezeV2 UnsqueezeV3 ExpandDims Flatten FlattenV2 TransData", "x"), newNameGroup("Assign", "- x"), newNameGroup("nn.Flatten nn.Identity", ""), newNameGroup("npu_format_cast", "acl_format:-", &optype.Type{Noise: optype.NoiseMove}),
		newNameGroup("conj resolve_conj resolve_neg positive alias cpu lift_fresh lift_fresh_copy", ""), newNameGroup("nn.Unflatten", ""), newNameGroup("atleast_1d atleast_2d atleast_3d", ""), newNameGroup("reshape view _unsafe_view _reshape_alias view_copy flatten ravel squeeze unsqueeze contiguous clone detach view_as reshape_as unflatten", "shape*:-"), newNameGroup("view", "size:-"), newNameGroup("flatten", "start_dim:- end_dim:-"), newNameGroup("squeeze unsqueeze", "dim:-"), newNameGroup("unflatten", "dim:- sizes:-"), newNameGroup("view_as reshape_as", "other:-")}},
	{name: "Transpose", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		perm, _ := h["perm"].Value.Integers()
		return permutedView(p.Inputs[0].Shape, toInts(perm))
	}), attrs: []attribute{closedAttribute("perm", listPermutations)}, forms: []nameGroup{newNameGroup("Transpose", "x perm!"), newNameGroup("TransposeD", "x"), newNameGroup("permute", "dims*:perm", copies),
		newNameGroup("transpose swapaxes swapdims", "dim0:swap0 dim1:swap1"), newNameGroup("t", ":perm=1,0", copies), newNameGroup("Tensor.T", ":reversed=1"), newNameGroup("mT mH adjoint", ":swap0=-2 :swap1=-1"), newNameGroup("movedim", "source destination", copies), newNameGroup("moveaxis", "source destination"), newNameGroup("npu_transpose", "perm require_contiguous:-"), newNameGroup("ms.transpose", "input_perm*:perm"), newNameGroup("ms.permute", "input_perm*:perm", copies), newNameGroup("ms.swapaxes", "axis0:swap0 axis1:swap1")}},
	{name: "Concat", class: Move, inputs: "x*", cut: concatCut(false), compute: oneOutput(func(c *call) *Array { return c.cat() }),
		attrs: []attribute{axisChoice(func(p *problem, k int) bool {
			return concatCut(false)(p, Attributes{"axis": {integers(k), FromShape}}).why.IsZero()
		})}, forms: []nameGroup{newNameGroup("dstack", "tensors:x :axis=2"), newNameGroup("column_stack", "tensors:x :axis=1"), newNameGroup("Concat", "axis! x*"), newNameGroup("ConcatV2", "x* axis!"), // dumps may have the axis as the last input
			newNameGroup("ConcatD ConcatV2D", "x*"), newNameGroup("cat concat concatenate", "tensors:x dim:axis=0"), newNameGroup("hstack vstack", "tensors:x", copies), newNameGroup("ms.cat ms.concat", "tensors:x axis=0")}},
	{name: "Pack", class: Move, inputs: "x*", axisOfOutput: true, cut: concatCut(true), compute: oneOutput(func(c *call) *Array { return c.cat() }),
		attrs: []attribute{closedAttribute("axis", func(p *problem) (all []Attributes) {
			for k := range p.rank() + 1 {
				if h := (Attributes{"axis": {integers(k), FromValues}}); concatCut(true)(p, h).why.IsZero() {
					all = append(all, h)
				}
			}
			return all
		})}, forms: []nameGroup{newNameGroup("Pack Stack", "x*"), newNameGroup("stack", "tensors:x dim:axis=0"), newNameGroup("ms.stack", "tensors:x axis=0")}},
	{name: "Split", class: Move, inputs: "x", compute: unaryFormula(identity), hasSeparateOutputs: true, cut: copyCut(splitView),
		attrs: []attribute{axisChoice(func(p *problem, k int) bool {
			_, why := splitView(p, Attributes{"axis": {integers(k), FromShape}})
			return why.IsZero()
		})}, forms: []nameGroup{newNameGroup("Split", "axis! x"), newNameGroup("SplitV", "x - axis!"), newNameGroup("SplitD SplitVD", "x"), newNameGroup("split chunk tensor_split", "sizes:- dim:axis=0"), newNameGroup("split", "tensor:x! split_size_or_sections:- dim:axis=0"), newNameGroup("split", "split_size:- dim:axis=0"), newNameGroup("chunk", "chunks:- dim:axis=0"), newNameGroup("tensor_split", "indices_or_sections:- dim:axis=0"), newNameGroup("split_with_sizes unsafe_split unsafe_split_with_sizes unsafe_chunk", "sizes:- dim:axis=0", &optype.Type{Noise: optype.NoiseMove}), newNameGroup("vsplit", "sizes:- :axis=0"), newNameGroup("hsplit", "sizes:- :axis=1"), newNameGroup("dsplit", "sizes:- :axis=2")}},
	{name: "Unpack", class: Move, inputs: "x", compute: unaryFormula(identity), hasSeparateOutputs: true, cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		x := p.Inputs[0].Shape
		k, ok := axisAttribute(h, len(x))
		if !ok || x[k] != int64(p.outputs) {
			return view{}, lang.Say("the axis does not fit")
		}
		strides := x.Strides()
		return view{shape: slices.Delete(slices.Clone(x), k, k+1), strides: slices.Delete(slices.Clone(strides), k, k+1), offset: int64(p.output) * strides[k]}, lang.Sentence{}
	}), attrs: []attribute{axisChoice(func(p *problem, k int) bool { return p.Inputs[0].Shape[k] == int64(p.outputs) })}, forms: []nameGroup{newNameGroup("Unpack Unstack", "x"), newNameGroup("unbind", "dim:axis=0")}},
	{name: "StridedSlice", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(sliceView), read: readSlice, attrs: []attribute{closedAttribute("begin strides", listSlices).withKind(openKind), optionalNumber("shape")},
		forms: []nameGroup{newNameGroup("Slice", "x begin! size!"), newNameGroup("StridedSlice", "x begin! end! strides!"), newNameGroup("SliceD StridedSliceD", "x"),
			newNameGroup("__getitem__", "", gathering), newNameGroup("narrow", "", copies), newNameGroup("select", "")}}, // the index is not known
	{name: "Tile", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		x := padShape(p.Inputs[0].Shape, len(p.Outputs[0].Shape))
		var v view
		if x == nil {
			return v, lang.Say("repeating shape %s cannot give %s", p.Inputs[0].Shape, p.Outputs[0].Shape)
		}
		for k, n := range p.Outputs[0].Shape {
			if x[k] == 0 || n%x[k] != 0 {
				return v, lang.Say("repeating shape %s cannot give %s", p.Inputs[0].Shape, p.Outputs[0].Shape)
			}
			v.shape, v.strides = append(v.shape, n/x[k], x[k]), append(v.strides, 0, x.Strides()[k])
		}
		return v, lang.Sentence{}
	}), forms: []nameGroup{newNameGroup("Tile BroadcastTo Expand", "x -"), newNameGroup("TileD BroadcastToD", "x"), newNameGroup("expand expand_as repeat broadcast_to tile", "sizes*:-"), newNameGroup("expand broadcast_to", "size:-"), newNameGroup("repeat", "repeats:-"), newNameGroup("tile", "dims:-"), newNameGroup("expand_as", "other:-")}},
	{name: "Pad", class: Move, inputs: "x", cut: padCut, compute: oneOutput(pad), read: readPads, attrs: []attribute{closedAttribute("before", listPads).withKind(openKind),
		textAttribute("mode", "constant reflect edge symmetric circular"), realNumber("value", 0)},
		forms: []nameGroup{newNameGroup("nn.ConstantPad1d nn.ConstantPad2d nn.ConstantPad3d", ":mode=constant"), newNameGroup("nn.ZeroPad1d nn.ZeroPad2d nn.ZeroPad3d", ":mode=constant :value=0"), newNameGroup("nn.ReflectionPad1d nn.ReflectionPad2d nn.ReflectionPad3d", ":mode=reflect"), newNameGroup("nn.ReplicationPad1d nn.ReplicationPad2d nn.ReplicationPad3d", ":mode=edge"),
			newNameGroup("Pad", "x paddings! :mode=constant :value=0"), newNameGroup("PadV3", "x paddings! value!?"), newNameGroup("PadD", "x :mode=constant :value=0"), newNameGroup("PadV3D", "x"),
			newNameGroup("pad", "pad:last_pads mode=constant value=0"), newNameGroup("constant_pad_nd", "pad:last_pads value=0 :mode=constant"), newNameGroup("reflection_pad1d reflection_pad2d reflection_pad3d", "padding:last_pads :mode=reflect"), newNameGroup("replication_pad1d replication_pad2d replication_pad3d", "padding:last_pads :mode=edge")}},
	{name: "Gather", class: Move, noise: gathering, inputs: "x indices", compute: unaryFormula(identity), cut: copyCut(gatherView),
		attrs: []attribute{axisChoice(func(p *problem, k int) bool {
			x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
			index := p.Inputs[1].Shape
			batch := max(0, countBatchAxes(p.Attributes, index))
			return slices.Concat(x[:k], index[batch:], x[k+1:]).Equal(out) || len(x) == 1 && index.Elements() == out.Elements()
		}), optionalNumber("batch_dims")}, forms: []nameGroup{newNameGroup("Gather", "x indices", gathering), newNameGroup("GatherV2D", "x indices"), newNameGroup("GatherV2", "x indices axis!"), newNameGroup("Embedding", "x indices :axis=0", embeddings), newNameGroup("index_select", "dim:axis index:indices!"),
			newNameGroup("Torch.embedding Aten.embedding", "weight:x! indices! padding_idx scale_grad_by_freq sparse:- :axis=0", embeddings),
			newNameGroup("embedding", "input:indices! weight:x! padding_idx max_norm:-==None norm_type:- scale_grad_by_freq sparse:- :axis=0", embeddings),
			newNameGroup("nn.Embedding module.*Embedding", "input:indices! weight:x! :axis=0", embeddings),
			newNameGroup("ms.gather", "input_params:x! input_indices:indices! axis batch_dims=0", gathering), newNameGroup("ms.Embedding", "input:indices! embedding_table:x! :axis=0", embeddings)}},
	{name: "Index", class: Move, noise: gathering, inputs: "x indices*", cut: uncut, compute: oneOutput(selectIndexed), read: readIndexedAxes, attrs: []attribute{indexedAxes},
		forms: []nameGroup{newNameGroup("Index", "x indexed_sizes! - indices*")}},
	{name: "OneHot", class: Move, noise: quantisation, inputs: "x on? off?", axisOfOutput: true, compute: oneOutput(oneHot), cut: func(p *problem, h Attributes) *cutRule {
		c, out := wholeTensors(p), p.Outputs[0].Shape
		k, ok := axisAttribute(h, len(out))
		if !ok || !slices.Delete(slices.Clone(out), k, k+1).Equal(p.Inputs[0].Shape) {
			return misfit("the axis does not fit")
		}
		c.in[0].shape = slices.Insert(slices.Clone(p.Inputs[0].Shape), k, 1)
		for i := range c.in[1:] {
			if c.in[1+i].shape.Elements() == 1 {
				c.in[1+i].shape = nil
			}
		}
		return c.cutAlong(slices.Delete(firstIntegers(len(out)), k, k+1), alignRight)
	}, attrs: []attribute{closedAttribute("axis", func(p *problem) (all []Attributes) {
		for k := len(p.Outputs[0].Shape) - 1; k >= 0; k-- {
			if slices.Delete(slices.Clone(p.Outputs[0].Shape), k, k+1).Equal(p.Inputs[0].Shape) {
				all = append(all, Attributes{"axis": {integers(k), FromShape}})
			}
		}
		return all
	})}, forms: []nameGroup{newNameGroup("OneHot", "x - on? off?"), newNameGroup("OneHotD", "x on? off?"), newNameGroup("one_hot", "num_classes:-"), newNameGroup("npu_one_hot", "num_classes:axis=-1 depth:- on_value:on=1 off_value:off=0")}},
	{name: "Tril", class: Move, inputs: "x", cut: matricesCut, compute: oneOutput(triangle(func(row, column, diagonal int) bool { return column <= row+diagonal })),
		attrs: []attribute{diagonal}, isIdempotent: true, forms: []nameGroup{newNameGroup("Tril", ""), newNameGroup("tril", "diagonal=0")}},
	{name: "Triu", class: Move, inputs: "x", cut: matricesCut, compute: oneOutput(triangle(func(row, column, diagonal int) bool { return column >= row+diagonal })),
		attrs: []attribute{diagonal}, isIdempotent: true, forms: []nameGroup{newNameGroup("Triu", ""), newNameGroup("triu", "diagonal=0")}},

	noiseRow(copies, "TransDataRNN MirrorPad AdaptiveMaxPool BatchToSpace BatchToSpaceND SpaceToBatch SpaceToBatchND Reverse"),
	noiseRow(&optype.Type{Noise: optype.NoiseMove}, "_copy as_strided cuda expand_dims npu scatter_tensor"),
	noiseRow(gathering, "GatherNd"),
	noiseRow(embeddings, "EmbeddingLookup"),
	noiseRow(scattering, "EmbeddingBackward ScatterNd ScatterNdAdd ScatterAdd npu_scatter_nd_update UnsortedSegmentSum SegmentSum"),
	noiseRow(&optype.Type{Noise: optype.NoiseMove, Buffer: optype.FirstInput}, "copy_"),
	noiseRow(&optype.Type{Buffer: optype.FirstInput}, "zero_ fill_"),
	noiseRow(unbounded, "module.*RotaryEmbedding"), // sines and cosines of positions, not rows of a weight
}

package recompute

import (
	"dumptool/internal/optype"
)

// fusedOperators are operators of NPUs that replace several operators: norms with an activation or a sum,
// quantisation, products of quantised matrices, routing to experts.
var fusedOperators = []formula{
	{name: "GeGluV2", class: Tabled, noise: halvesProduct, inputs: "x", cut: halvesCut, outputs: 2, compute: geGlu, read: readGeGlu, attrs: []attribute{halvedAxis, flagAttribute("tanh", true), flagAttribute("activate_left", false)},
		forms: []nameGroup{newNameGroup("GeGluV2", "x ?axis=-1 ?tanh=1 ?activate_left=0"), newNameGroup("npu_geglu", "dim:axis=-1 approximate:tanh=1 activate_left=0")}},
	{name: "GroupNormSilu", class: Norm, noise: groupNorms, inputs: "x gamma? beta?", cut: groupImageCut, outputs: 3, isOfImages: true, compute: func(c *call) []*Array {
		all := groupNorm(c, int64(c.numberAttribute("num_groups")))
		if c.err == nil && c.isAttributeTrue("activate_silu") {
			all[0] = swish(all[0], 1)
		}
		return all
	}, attrs: []attribute{divisors, epsilon(), flagAttribute("activate_silu", true)}, forms: []nameGroup{newNameGroup("GroupNormSilu", "x gamma? beta? ?epsilon=1e-5 ?activate_silu=1"),
		newNameGroup("npu_group_norm_silu", "weight:gamma bias:beta group:num_groups eps:epsilon=1e-5 :activate_silu=1", &optype.Type{Noise: optype.NoiseNorm, Parameters: 1<<1 | 1<<2})}},
	{name: "DeepNorm", class: Norm, noise: sumNorms, inputs: "x gx gamma beta", cut: lineCut, outputs: 3, compute: func(c *call) []*Array {
		all := c.layerNormOf(c.input(0).times(c.numberAttribute("alpha")).add(c.input(1)), 2)
		return []*Array{all[1], all[2], all[0]}
	}, attrs: []attribute{gammaAxes, realNumber("alpha", .3, 1), epsilon(1e-6)}, forms: []nameGroup{newNameGroup("DeepNorm", "x gx beta gamma ?alpha=0.3 ?epsilon=1e-6"),
		newNameGroup("npu_deep_norm", "x! gx! beta! gamma! alpha=0.3 epsilon=1e-6", &optype.Type{Noise: optype.NoiseNorm, Parameters: 1 << 2})}},
	{name: "ScaledMaskedSoftmax", class: Tabled, noise: &optype.Type{Noise: optype.NoiseExponent}, inputs: "x mask?", cut: wholeLineCut, compute: oneOutput(maskedSoftmax), attrs: []attribute{realNumber("scale", 1)},
		forms: []nameGroup{newNameGroup("ScaledMaskedSoftmax", "x mask? ?scale=1"), newNameGroup("npu_scaled_masked_softmax scaled_masked_softmax", "mask! scale=1 fixed_triu_mask:-==0")}},
	{name: "ConfusionTransposeD", class: Move, inputs: "x", compute: unaryFormula(identity), cut: copyCut(reshapedView), attrs: []attribute{optionalNumber("perm"), optionalNumber("shape"), flagAttribute("transpose_first", true)},
		forms: []nameGroup{newNameGroup("ConfusionTransposeD", "x"), newNameGroup("ConfusionTranspose", "x shape!"), newNameGroup("npu_confusion_transpose", "perm shape transpose_first", &optype.Type{Noise: optype.NoiseMove})}},

	{name: "AscendQuantV2", class: Quantised, noise: quantisation, inputs: "x scale offset?", cut: parameterCut, read: readQuant, compute: oneOutput(quantiseWithScales),
		attrs: []attribute{parameterAxis, flagAttribute("div_mode", false), flagAttribute("sqrt_mode", false), roundMode}, forms: []nameGroup{newNameGroup("AscendQuantV2", "x scale offset? :div_mode=0 ?sqrt_mode=0 ?round_mode=round"),
			newNameGroup("npu_quantize", "scales:scale! zero_points:offset dtype:- axis=1 div_mode=1 :round_mode=round :sqrt_mode=0")}},
	{name: "DynamicQuant", class: Quantised, noise: quantisation, inputs: "x smooth?", outputs: 2, compute: dynamicQuant, cut: func(p *problem, h Attributes) *cutRule { return fixedLineCut(int64(p.rank()-1))(p, h) },
		forms: []nameGroup{newNameGroup("DynamicQuant", "x smooth? ~*"), newNameGroup("npu_dynamic_quant", "input:x! smooth_scales:smooth dst_type:- quant_mode:-==pertoken dst_type_max:-==0")}},
	{name: "AscendAntiQuant", class: Plain, noise: dequantisation, inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		return c.mulScale(c.input(0).plus(c.numberAttribute("offset")), c.number(c.numberAttribute("scale")))
	}), attrs: []attribute{realNumber("scale", 1), realNumber("offset", 0), flagAttribute("sqrt_mode", false)}, forms: []nameGroup{newNameGroup("AscendAntiQuant", "")}},
	{name: "AscendAntiQuantV2", class: Plain, noise: dequantisation, inputs: "x scale offset?", cut: parameterCut, compute: oneOutput(func(c *call) *Array {
		x := c.input(0)
		if c.hasInput(2) {
			x = x.add(c.input(2))
		}
		return c.mulScale(x, c.input(1))
	}), attrs: []attribute{parameterAxis, flagAttribute("sqrt_mode", false)}, forms: []nameGroup{newNameGroup("AscendAntiQuantV2", "x scale offset? ?sqrt_mode=0"), newNameGroup("npu_anti_quant", "scale! offset dst_dtype:- src_dtype:- :sqrt_mode=0")}},
	{name: "WeightQuantBatchMatmulV2", class: Linear, inputs: "x1 x2 scale offset? bias?", linear: weightQuantMatMul, cut: uncut, read: readTransposes, attrs: []attribute{transposes, optionalNumber("antiquant_group_size")},
		forms: []nameGroup{newNameGroup("WeightQuantBatchMatmulV2", "x1 x2 scale offset? ~ ~ bias? ?transpose_x1=0 ?transpose_x2=0"),
			newNameGroup("npu_weight_quant_batchmatmul", "x:x1! weight:x2! antiquant_scale:scale! antiquant_offset:offset quant_scale:-==none quant_offset:-==none bias antiquant_group_size=0 inner_precise:- :transpose_x1=0 :transpose_x2=0")}},
	{name: "GroupedMatmul", class: Linear, inputs: "x weight bias? group_list?", linear: groupedMatMul, cut: uncut, read: readTransposes, attrs: []attribute{flagAttribute("transpose_x2", false), optionalNumber("groups_of_rows"), flagAttribute("group_list_type", false), incompleteAttribute(oneOf("act_type", Number(0)))},
		forms: []nameGroup{newNameGroup("GroupedMatmul", "x weight bias? ~ ~ ~ ~ group_list? ~* ?transpose_x2=0 ?group_list_type=0 ?act_type=0"), newNameGroup("npu_grouped_matmul grouped_matmul", inputsOfGroups+" group_list"), newNameGroup("npu_grouped_matmul grouped_matmul", inputsOfGroups+" group_list:groups_of_rows")}},

	{name: "MoeGatingTopKSoftmax", class: Tabled, noise: gating, inputs: "x finished?", cut: gatingCut, outputs: 3, compute: gatingSoftmax, forms: []nameGroup{newNameGroup("MoeGatingTopKSoftmax", "x finished?"), newNameGroup("npu_moe_gating_top_k_softmax", "finished k:-")}},
	{name: "MoeGatingTopK", class: Tabled, noise: gating, inputs: "x bias?", cut: gatingCut, outputs: 3, compute: gatingTopK,
		attrs: []attribute{groupsOfExperts, flagAttribute("group_select_mode", false), flagAttribute("norm_type", false), optionalNumber("renorm"), realNumber("routed_scaling_factor", 1, 2.5), defaultNumber("epsilon", 1e-20)},
		forms: []nameGroup{newNameGroup("MoeGatingTopK", "x bias? ~* ?k_group=1 ?group_count=1 ?group_select_mode=0 ?norm_type=0 ?routed_scaling_factor=1"), newNameGroup("npu_moe_gating_top_k", "k:- bias k_group=1 group_count=1 group_select_mode=0 renorm=0 norm_type=0 out_flag:- routed_scaling_factor=1 eps:epsilon=1e-20")}},
	{name: "MoeInitRouting", class: Move, noise: &optype.Type{Class: optype.Move, Indices: 1<<1 | 1<<2, Gathers: true, Form: optype.Ordered}, inputs: "x row_idx expert_idx", cut: columnsCut, outputs: 3, compute: initRouting,
		forms: []nameGroup{newNameGroup("MoeInitRouting", ""), newNameGroup("npu_moe_init_routing", "row_idx! expert_idx! active_num:-")}},
	{name: "MoeFinalizeRouting", class: Plain, noise: unbounded, inputs: "x x1? x2? bias? scales? row_idx expert_idx?", cut: columnsCut, compute: oneOutput(finalizeRouting), attrs: []attribute{oneOf("drop_pad_mode", Number(0), Number(1), Number(2), Number(3))},
		forms: []nameGroup{newNameGroup("MoeFinalizeRouting", "x x1? x2? bias? scales? row_idx expert_idx? ?drop_pad_mode=0"),
			newNameGroup("npu_moe_finalize_routing", "expanded_permuted_rows:x! skip1:x1 skip2:x2 bias scales expanded_src_to_dst_row:row_idx! expert_for_source_row:expert_idx drop_pad_mode=0 k:-"),
			newNameGroup("npu_moe_finalize_routing", "expanded_permuted_rows:x! skip1:x1 skip2:x2 bias scales expanded_src_to_dst_row:row_idx! export_for_source_row:expert_idx drop_pad_mode=0")}},
}

// inputsOfGroups are the arguments of grouped products up to the list of groups, without scales.
const inputsOfGroups = "x! weight! bias split_item:- group_type:- group_list_type=0 act_type=0 output_dtype:- tuning_config:- :transpose_x2=0"

// gating is the noise of operators that select experts.
var gating = &optype.Type{Class: optype.Exponential, Transcendental: true, Indices: 1<<1 | 1<<2}

// incompleteAttribute returns an attribute whose list of values may be incomplete.
func incompleteAttribute(a attribute) attribute {
	return a.withKind(openKind)
}

// roundMode is the way to round to integers.
var roundMode = textAttribute("round_mode", "round floor ceil trunc")

// parameterAxis is the axis along which the parameters lie. A single parameter, or parameters of the input's rank,
// apply to the last axis.
var parameterAxis = axisChoice(func(p *problem, k int) bool {
	n := p.Inputs[1].elements()
	return n == p.Inputs[0].Shape[k] || n == 1 && k == p.rank()-1 || len(p.Inputs[1].Shape) == p.rank() && k == p.rank()-1
})

// groupsOfExperts are the number of groups of experts, and the number of groups from which experts are selected.
var groupsOfExperts = incompleteAttribute(closedAttribute("k_group group_count", func(p *problem) (all []Attributes) {
	for _, n := range [][2]float64{{1, 1}, {4, 8}, {1, 4}, {2, 4}, {2, 8}} {
		all = append(all, Attributes{"k_group": {Number(n[0]), FromValues}, "group_count": {Number(n[1]), FromValues}})
	}
	return all
}))

package recompute

import "dumptool/internal/optype"

// attentions are the formulas of attention and what stands around it: gates, rotated positions,
// routers of experts.
//
// Attention is softmax(q k' scale + bias) v for each head. Several heads of q may share one of k
// and v. Fused attention also gives the largest score of each row and the sum of the powers
// beside it, statisticsWidth times each.
var attentions = []formula{
	{name: "Attention", class: Tabled, noise: attentionNoise, inputs: "q k v mask? bias?", cut: attentionCut, outputs: 3, compute: attention, read: readAttention,
		attrs: []attribute{keptText("layout"), kept("heads"), kept("pse_type"), scaleOfHeads, flagsOf("causal", 0), texts("masked", "out keep")}, forms: []form{
			{names: "FlashAttentionScore", inputs: "q k v bias? -? -? mask? -? :masked=out :scale=1 :causal=0 :pse_type=1", output: 3},
			as("PromptFlashAttention IncreFlashAttention", "q k v bias? mask? -? :masked=out :scale=1 :causal=0 :layout=BSH"),
			as("npu_fusion_attention", "query:q! key:k! value:v! head_num:heads input_layout:layout pse:bias padding_mask:- atten_mask:mask scale=1 keep_prob:-==1 pre_tockens:- next_tockens:- "+
				"inner_precise:- prefix:- actual_seq_qlen:- actual_seq_kvlen:- sparse_mode=0 gen_mask_parallel:- sync:- :masked=out :pse_type=1"),
			as("scaled_dot_product_attention", "query:q! key:k! value:v! attn_mask:mask dropout_p:-==0 is_causal:causal=0 scale=none enable_gqa:- :masked=keep :layout=BNSD"),
			as("module.DotProductAttention module.TEDotProductAttention", "query:q! key:k! value:v! attention_mask:mask attn_mask_type:- attention_bias:bias packed_seq_params:- :masked=out :layout=SBND"),
		}},
	{name: "SwiGlu", class: Tabled, noise: halvesProduct, inputs: "x", cut: halvesCut, compute: one(func(c *call) *Array {
		a, b := c.halves()
		return swish(a, 1).mul(b)
	}), attrs: []attribute{halvedAxis}, forms: []form{as("SwiGlu", ""), as("npu_swiglu swiglu", "dim:axis=-1"), as("module.SwiGLU module.SiluAndMul", ":axis=-1")}},
	{name: "Glu", class: Tabled, noise: halvesProduct, inputs: "x", cut: halvesCut, compute: one(func(c *call) *Array {
		a, b := c.halves()
		return a.mul(sigmoid(b))
	}), attrs: []attribute{halvedAxis}, forms: []form{as("glu", "dim:axis=-1")}},
	{name: "RotaryMul", class: Plain, noise: halvesProduct, inputs: "x cos sin", cut: lastWhole,
		compute: one(func(c *call) *Array { return c.rotate(c.in(0), c.in(1), c.in(2)) }), read: readRotation, attrs: []attribute{rotation},
		forms: []form{as("RotaryMul", ""), as("npu_rotary_mul", "r1:cos! r2:sin! rotary_mode:mode=half")}},
	{name: "ApplyRotaryPosEmb", class: Plain, noise: halvesProduct, inputs: "query key cos sin", cut: uncut, outputs: 2, compute: func(c *call) []*Array {
		return []*Array{c.rotate(c.in(0), c.in(2), c.in(3)), c.rotate(c.in(1), c.in(2), c.in(3))}
	}, read: readRotation, attrs: []attribute{rotation}, forms: []form{as("ApplyRotaryPosEmb", "")}},
	{name: "TopKRouter", class: Tabled, inputs: "x weight", cut: tokensCut, outputs: 2, compute: topKRouter, attrs: []attribute{texts("mode", "chosen all sigmoid sigmoid_share")},
		forms: []form{as("TopKRouter", ""), as("module.TopKRouter module.MoERouter", inputsOfRouter)}},

	known(&optype.Type{Noise: optype.NoiseAttention}, "flash_attention flash_attn_func npu_fused_infer_attention_score npu_fusion_attention_v2 npu_incre_flash_attention npu_prompt_flash_attention FusedInferAttentionScore"),
	known(halvesProduct, "apply_rotary_emb rotary_mul"),
	known(&optype.Type{Class: optype.Exponential, Transcendental: true, Indices: 1<<1 | 1<<2}, "MoeGatingTopKSoftmax MoeGatingTopK npu_moe_gating_top_k_softmax npu_moe_gating_top_k"),
	known(&optype.Type{Class: optype.Move, Indices: 1<<1 | 1<<2, Gathers: true, Form: optype.Ordered}, "MoeInitRouting npu_moe_init_routing"),
}

// inputsOfRouter are the arguments of modules that choose experts for tokens.
const inputsOfRouter = "weight!"

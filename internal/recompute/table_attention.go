package recompute

import "dumptool/internal/optype"

// attentions are the formulas of attention and of the operators around it: gates, rotary positions and routers of
// experts.
//
// Attention is softmax(q k' scale + bias) v for each head; several heads of q may share a head of k and v. Fused
// attention also returns the largest score of each row and the sum of the exponentials, each repeated widthOfStatistics
// times.
var attentions = []formula{
	{name: "Attention", class: Tabled, noise: attentionNoise, inputs: "q k v mask? bias?", cut: attentionCut, outputs: 3, hasStates: true, compute: attention, read: readAttention,
		attrs: []attribute{optionalNumber("pre_tokens"), optionalNumber("next_tokens"), optionalNumber("lengths"), optionalNumber("lengths_kv"), layouts, headCounts, pseOrder, scaleOfHeads, oneOf("causal", Number(0), Number(1), Number(2)).withKind(usualKind), maskBand, textAttribute("masked", "out keep")}, forms: []nameGroup{
			{names: "FlashAttentionScore", inputs: "q k v bias? ~ -? mask? ~ lengths! lengths_kv! ~* :masked=out ?scale=1 ?pse_type=1", outputs: []int{3, 0, 1}},
			newNameGroup("PromptFlashAttention", "q k v bias? mask? lengths! lengths_kv! ~* :masked=out ?scale=1 ?layout=BSH ?next_tokens=0"),
			newNameGroup("IncreFlashAttention", "q k v bias? mask? lengths_kv! ~* :masked=out ?scale=1 ?layout=BSH"),
			newNameGroup("FusedInferAttentionScore", "q k v bias? mask? lengths! lengths_kv! ~* :masked=out ?scale=1 ?layout=BSH", attentionEffect),
			newNameGroup("npu_fusion_attention", "query:q! key:k! value:v! head_num:heads input_layout:layout pse:bias padding_mask:- atten_mask:mask scale=1 keep_prob:-==1 pre_tockens:pre_tokens next_tockens:next_tokens "+
				"inner_precise:- prefix:- actual_seq_qlen:lengths actual_seq_kvlen:lengths_kv sparse_mode=0 gen_mask_parallel:- sync:- softmax_layout:- :masked=out :pse_type=1"),
			newNameGroup("npu_fusion_attention_v2", "query:q! key:k! value:v! head_num:heads input_layout:layout pse:bias padding_mask:- atten_mask:mask scale=1 keep_prob:-==1 pre_tokens next_tokens inner_precise:- "+
				"prefix:- actual_seq_qlen:lengths actual_seq_kvlen:lengths_kv sparse_mode=0 gen_mask_parallel:- sync:- pse_type=1 softmax_layout:- seed:- offset:- :masked=out", attentionEffect),
			newNameGroup("npu_prompt_flash_attention", "query:q! key:k! value:v! padding_mask:- atten_mask:mask pse_shift:bias actual_seq_lengths:lengths num_heads:heads=1 scale_value:scale=1 pre_tokens next_tokens=0 "+
				"input_layout:layout=BSH num_key_value_heads:- actual_seq_lengths_kv:lengths_kv sparse_mode=0 :masked=out", attentionEffect),
			newNameGroup("npu_incre_flash_attention", "query:q! key:k! value:v! padding_mask:- atten_mask:mask pse_shift:bias actual_seq_lengths:lengths_kv num_heads:heads=1 scale_value:scale=1 "+
				"input_layout:layout=BSH num_key_value_heads:- block_size:- inner_precise:- :masked=out :sparse_mode=0", attentionEffect),
			newNameGroup("npu_fused_infer_attention_score", "query:q! key:k! value:v! pse_shift:bias atten_mask:mask actual_seq_lengths:lengths actual_seq_lengths_kv:lengths_kv num_heads:heads=1 scale=1 pre_tokens next_tokens "+
				"input_layout:layout=BSH num_key_value_heads:- sparse_mode=0 inner_precise:- block_size:- antiquant_mode:- softmax_lse_flag:- key_antiquant_mode:- value_antiquant_mode:- :masked=out", attentionEffect),
			// Since version 2.1 causal masks are aligned at the last row and column.
			newNameGroup("flash_attn_func", "q! k! v! dropout_p:-==0 softmax_scale:scale=none causal:ends_together=0 window_size:-==-1,-1 softcap:-==0 alibi_slopes:-==none deterministic:- return_attn_probs:- :layout=BSND :masked=out", attentionEffect),
			newNameGroup("scaled_dot_product_attention", "query:q! key:k! value:v! attn_mask:mask dropout_p:-==0 is_causal:causal=0 scale=none enable_gqa:- :masked=keep :layout=BNSD"),
			newNameGroup("module.DotProductAttention module.TEDotProductAttention", "query:q! key:k! value:v! attention_mask:mask attn_mask_type:- attention_bias:bias packed_seq_params:- :masked=out :layout=SBND"),
		}},
	{name: "SwiGlu", class: Tabled, noise: halvesProduct, inputs: "x", cut: halvesCut, compute: oneOutput(func(c *call) *Array {
		a, b := c.halves()
		return swish(a, 1).mul(b)
	}), attrs: []attribute{halvedAxis}, forms: []nameGroup{newNameGroup("SwiGlu", ""), newNameGroup("npu_swiglu swiglu", "dim:axis=-1"), newNameGroup("module.SwiGLU module.SiluAndMul", ":axis=-1")}},
	{name: "Glu", class: Tabled, noise: halvesProduct, inputs: "x", cut: halvesCut, compute: oneOutput(func(c *call) *Array {
		a, b := c.halves()
		return a.mul(sigmoid(b))
	}), attrs: []attribute{halvedAxis}, forms: []nameGroup{newNameGroup("GLU", ""), newNameGroup("glu", "dim:axis=-1"), newNameGroup("nn.GLU", "")}},
	{name: "RotaryMul", class: Plain, noise: halvesProduct, inputs: "x cos sin", cut: evenLineCut,
		compute: oneOutput(func(c *call) *Array { return c.rotate(c.input(0), c.input(1), c.input(2)) }), read: readRotation, attrs: []attribute{rotation},
		forms: []nameGroup{newNameGroup("RotaryMul", ""), newNameGroup("RotaryPositionEmbedding", "x cos sin ~* ?mode=half"), newNameGroup("npu_rotary_mul", "r1:cos! r2:sin! rotary_mode:mode=half"), newNameGroup("npu_rotary_position_embedding", "x! cos! sin! mode=0")}},
	{name: "ApplyRotaryPosEmb", class: Plain, noise: halvesProduct, inputs: "query key cos sin", cut: uncut, outputs: 2, compute: func(c *call) []*Array {
		return []*Array{c.rotate(c.input(0), c.input(2), c.input(3)), c.rotate(c.input(1), c.input(2), c.input(3))}
	}, read: readRotation, attrs: []attribute{rotation}, forms: []nameGroup{newNameGroup("ApplyRotaryPosEmb", "")}},
	{name: "TopKRouter", class: Tabled, inputs: "x weight", cut: tokensCut, outputs: 2, compute: topKRouter, attrs: []attribute{textAttribute("mode", "chosen all sigmoid sigmoid_share")},
		forms: []nameGroup{newNameGroup("TopKRouter", ""), newNameGroup("module.TopKRouter module.MoERouter", inputsOfRouter)}},

	noiseRow(attentionEffect, "flash_attention"),
	noiseRow(halvesProduct, "apply_rotary_emb rotary_mul"),
}

// attentionEffect is the noise of attention functions without a class.
var attentionEffect = &optype.Type{Noise: optype.NoiseAttention}

// inputsOfRouter are the arguments of modules that choose experts for tokens.
const inputsOfRouter = "weight!"

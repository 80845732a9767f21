package recompute

import "dumptool/internal/optype"

// otherOperators have no formula: random numbers, losses, communication, uninitialised memory.
var otherOperators = []formula{
	noiseRow(&optype.Type{Class: optype.Move, Random: true}, "Dropout DropoutV2"),
	noiseRow(&optype.Type{Class: optype.Multiply, Random: true}, "DropOutDoMask DropOutDoMaskV3"),
	noiseRow(&optype.Type{Random: true}, "DropOutGenMask DropoutGenMask StatelessDropOutGenMask RandomUniform RandomNormal RandomStandardNormal StatelessRandomUniform StatelessRandomNormal StandardNormal "+
		"StandardLaplace UniformReal UniformInt TruncatedNormal Multinomial Bernoulli RandomUniformInt Randperm rand randn randint normal uniform bernoulli multinomial randperm "+
		"_fused_dropout alpha_dropout cauchy_ geometric_ gumbel_softmax log_normal_ native_dropout npu_dropout npu_dropout_gen_mask rrelu trunc_normal_"),
	noiseRow(&optype.Type{Random: true, Buffer: optype.FirstInput}, "normal_ uniform_ bernoulli_ random_ exponential_"),
	noiseRow(&optype.Type{Random: true, Buffer: optype.AllInputs}, "rand_like randn_like randint_like"),
	noiseRow(&optype.Type{Noise: optype.NoiseGarbage, Buffer: optype.AllInputs}, "empty empty_like empty_quantized empty_strided empty_with_format new_empty new_empty_strided resize_"),
	noiseRow(&optype.Type{Start: true}, "Data Parameter Const Constant Placeholder Load"),
	noiseRow(&optype.Type{Noise: optype.NoiseLoss}, "KLDivLoss SmoothL1Loss"),
	noiseRow(&optype.Type{Noise: optype.NoiseSums}, "LinearOperation LinearParallelOperation StridedBatchMatmulOperation"), // of ATB
	noiseRow(&optype.Type{Noise: optype.NoiseAttention}, "SelfAttentionOperation PagedAttentionOperation"),
	noiseRow(&optype.Type{Noise: optype.NoiseProduct}, "RopeOperation"),
	noiseRow(&optype.Type{Noise: optype.NoiseMove}, "RepeatOperation AsStridedOperation UnpadOperation"),
	noiseRow(&optype.Type{Noise: optype.NoiseRanks}, "AllReduce AllGather ReduceScatter AlltoAll AllToAllv Send HcomAllReduce HcomAllGather HcomReduceScatter HcomBroadcast HcomAllToAllV HcomSend"),
	noiseRow(&optype.Type{Noise: optype.NoiseRanks, Buffer: optype.FirstInput}, "irecv recv Receive HcomReceive"),
	noiseRow(&optype.Type{Noise: optype.NoiseRanks, Buffer: optype.FirstOfSeveral}, "_all_gather_base all_gather_into_tensor all_gather all_to_all all_to_all_single batch_isend_irecv broadcast"),
	noiseRow(&optype.Type{Noise: optype.NoiseRanks, Buffer: optype.FirstOfSeveral, Trait: optype.AddsRanks}, "_reduce_scatter_base reduce_scatter_tensor reduce_scatter"),
	noiseRow(&optype.Type{Noise: optype.NoiseRanks, Trait: optype.AddsRanks}, "Distributed.all_reduce Distributed.reduce"),
}

package recompute

import "dumptool/internal/optype"

// products are the formulas of matrix products and convolutions.
var products = []formula{
	{name: "MatMul", class: Linear, inputs: "x1 x2 bias?", linear: matMul, cut: productCut, read: readTransposes, attrs: []attribute{transposes, activation, biasAdded, optionalNumber("alpha"), optionalNumber("beta")}, forms: []nameGroup{
		newNameGroup("MatMul MatMulV2 MatMulV3", ""), newNameGroup("BatchMatMul BatchMatMulV2 BatchMatMulV3", "", batches),
		newNameGroup("bmm", inputsOfMatMul, batches), newNameGroup("matmul mm", inputsOfMatMul), newNameGroup("matmul", "other:x2! :transpose_x1=0 :transpose_x2=0"), newNameGroup("npu_bmmV2", "mat2:x2! output_sizes:- :transpose_x1=0 :transpose_x2=0", batches), newNameGroup("__matmul__", inputsOfMatMul), newNameGroup("__rmatmul__", "input:x2! other:x1! :transpose_x1=0 :transpose_x2=0", &optype.Type{Noise: optype.NoiseSums}),
		newNameGroup("addmm", "input:bias! mat1:x1! mat2:x2! beta=1 alpha=1 :transpose_x1=0 :transpose_x2=0", &optype.Type{Class: optype.Linear, Parameters: 1<<0 | 1<<2, Buffer: optype.FirstTimesBeta}),
		newNameGroup("baddbmm", "input:bias! batch1:x1! batch2:x2! beta=1 alpha=1 :transpose_x1=0 :transpose_x2=0", &optype.Type{Class: optype.Linear, Form: optype.Batched, Buffer: optype.FirstTimesBeta}),
		newNameGroup("linear npu_linear", inputsOfLinear+" :added=yes", weightMatrices), newNameGroup("nn.Linear module.*Linear ms.dense", inputsOfLinear, weightMatrices), newNameGroup("ms.Dense", "input:x1! weight:x2! bias :transpose_x1=0", weightMatrices)}},
	{name: "FullyConnection", class: Linear, inputs: "x w bias?", linear: fullyConnected, attrs: []attribute{activation}, forms: []nameGroup{newNameGroup("FullyConnection", "")}},
	{name: "QuantBatchMatmul", class: Linear, inputs: "x1 x2 deq_scale bias? offset? pertoken_scale?", linear: quantMatMul, read: readTransposes, attrs: []attribute{transposes}, forms: []nameGroup{newNameGroup("QuantBatchMatmul", "x1 x2 deq_scale bias?"),
		newNameGroup("QuantBatchMatmulV3", "x1 x2 deq_scale offset? bias? pertoken_scale? ?transpose_x1=0 ?transpose_x2=0"), newNameGroup("npu_quant_matmul", "x1! x2! scale:deq_scale! offset pertoken_scale bias output_dtype:- :transpose_x1=0 :transpose_x2=0")}},
	{name: "Conv2D", class: Linear, noise: convolutions, inputs: "x w more*?", linear: conv2D, cut: convolutionCut, read: readWindow, attrs: []attribute{convGeometry, optionalNumber("groups"), activation, paddingMode}, isOfImages: true, forms: []nameGroup{
		newNameGroup("Conv2D Conv3D DepthwiseConv2D DepthwiseConv2dNative Conv2DCompress ReadSelect", ""), newNameGroup("conv1d conv2d conv3d", "input:x! weight:w! bias:more stride=1 padding=0 dilation=1 groups=1 :activation=none"), newNameGroup("convolution _convolution", "input:x! weight:w! bias:more stride padding dilation transposed:-==0 output_padding:- groups benchmark:- deterministic:- cudnn_enabled:- allow_tf32:- :activation=none"),
		newNameGroup("module.Conv1d module.Conv2d module.Conv3d ms.Conv2d", "weight:w! bias:more :activation=none"),
		newNameGroup("ms.conv2d", "input:x! weight:w! bias:more stride=1 pad_mode:padding=valid padding:- dilation=1 groups=1 :activation=none")}},

	{name: "Einsum", class: Linear, noise: batches, inputs: "x1 x2? bias?", linear: einsum, cut: uncut, read: readContraction, attrs: []attribute{optionalText("equation"), optionalNumber("alpha"), optionalNumber("beta")}, forms: []nameGroup{newNameGroup("addmv", "input:bias! mat:x1! vec:x2! beta=1 alpha=1 :equation=ij,j->i", &optype.Type{Noise: optype.NoiseSums, Buffer: optype.FirstTimesBeta}), newNameGroup("addbmm", "input:bias! batch1:x1! batch2:x2! beta=1 alpha=1 :equation=bij,bjk->ik", &optype.Type{Noise: optype.NoiseSums, Buffer: optype.FirstTimesBeta}), newNameGroup("addr", "input:bias! vec1:x1! vec2:x2! beta=1 alpha=1 :equation=i,j->ij"), newNameGroup("outer", "vec2:x2! :equation=i,j->ij", &optype.Type{Noise: optype.NoiseProduct}), newNameGroup("ger", "vec2:x2! :equation=i,j->ij"), newNameGroup("dot", "other:x2! :equation=i,i->", &optype.Type{Noise: optype.NoiseSums}), newNameGroup("vdot", "other:x2! :equation=i,i->"), newNameGroup("mv", "vec:x2! :equation=ij,j->i", &optype.Type{Noise: optype.NoiseSums}), newNameGroup("einsum", "equation operands*:x1!", batches), newNameGroup("tensordot", "other:x2! dims=2", &optype.Type{Noise: optype.NoiseSums}), newNameGroup("inner", "other:x2! :dims=-1,-1", &optype.Type{Noise: optype.NoiseSums}), newNameGroup("kron", "other:x2! :equation=ab,cd->acbd", &optype.Type{Noise: optype.NoiseProduct})}},
	{name: "Conv2DTranspose", class: Linear, noise: convolutions, inputs: "x w more*?", linear: convTranspose, cut: uncut, read: readWindow, isOfImages: true, attrs: []attribute{transposedGeometry, optionalNumber("groups")}, forms: []nameGroup{newNameGroup("Conv2DTransposeD Conv3DTransposeD", ""), newNameGroup("Conv2DTranspose", "- x w more*", convolutions), newNameGroup("Conv3DTranspose", "- x w more*"), newNameGroup("Conv2DBackpropInputD Conv3DBackpropInputD", "w x"), newNameGroup("Conv2DBackpropInput", "- w x", convolutions), newNameGroup("Conv3DBackpropInput", "- w x"), newNameGroup("conv_transpose1d conv_transpose3d", "weight:w! bias:more stride=1 padding=0 output_padding:- groups=1 dilation=1", &optype.Type{Noise: optype.NoiseSums, Parameters: 1<<1 | 1<<2}), newNameGroup("conv_transpose2d", "weight:w! bias:more stride=1 padding=0 output_padding:- groups=1 dilation=1", convolutions), newNameGroup("nn.ConvTranspose1d nn.ConvTranspose2d nn.ConvTranspose3d", "weight:w! bias:more")}},
	{name: "Conv2DBackpropFilter", class: Linear, noise: unbounded, inputs: "x out_backprop", linear: convFilterGrad, cut: uncut, read: readWindow, isOfImages: true, attrs: []attribute{filterGradGeometry}, forms: []nameGroup{newNameGroup("Conv2DBackpropFilterD Conv3DBackpropFilterD", "x out_backprop"), newNameGroup("Conv2DBackpropFilter Conv3DBackpropFilter", "x - out_backprop")}},

	noiseRow(matrices, "GEMM FullyConnectionCompress"),
	noiseRow(convolutions, "Conv DepthwiseConv Depthwise Deconvolution"),
	noiseRow(&optype.Type{Noise: optype.NoiseSums}, "chain_matmul"),
}

// Arguments of products: inputs with the second matrix as it is, or with a matrix that has a row for each output
// (transposed).
const (
	inputsOfMatMul = "mat2:x2! :transpose_x1=0 :transpose_x2=0"
	inputsOfLinear = "input:x1! weight:x2! bias :transpose_x1=0 :transpose_x2=1"
)

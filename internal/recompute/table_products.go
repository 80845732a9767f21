package recompute

import "dumptool/internal/optype"

// products are the formulas that multiply matrices, and convolutions.
var products = []formula{
	{name: "MatMul", class: Linear, inputs: "x1 x2 bias?", linear: matMul, cut: rowsOfProduct, read: readTransposes, attrs: []attribute{transposes, activation, added}, forms: []form{
		as("MatMul MatMulV2 MatMulV3", ""), as("BatchMatMul BatchMatMulV2 BatchMatMulV3", "", batches),
		as("bmm", inputsOfMatMul, batches), as("matmul mm", inputsOfMatMul), as("__matmul__", inputsOfMatMul),
		as("addmm", inputsOfAddMM, &optype.Type{Class: optype.Linear, Parameters: 1<<0 | 1<<2, Buffer: optype.FirstTimesBeta}),
		as("baddbmm", inputsOfAddMM, &optype.Type{Class: optype.Linear, Form: optype.Batched, Buffer: optype.FirstTimesBeta}),
		as("linear nn.Linear module.*Linear ms.dense", inputsOfLinear, weightMatrices), as("ms.Dense", "input:x1! weight:x2! bias :transpose_x1=0", weightMatrices)}},
	{name: "FullyConnection", class: Linear, inputs: "x w bias?", linear: fullyConnected, attrs: []attribute{activation}, forms: []form{as("FullyConnection", "")}},
	{name: "QuantBatchMatmul", class: Linear, inputs: "x1 x2 deq_scale bias?", linear: quantMatMul, read: readTransposes, attrs: []attribute{transposes}, forms: []form{as("QuantBatchMatmul", "")}},
	{name: "Conv2D", class: Linear, noise: convolutions, inputs: "x w more*?", linear: conv2D, cut: imagesOfConvolution, read: readWindow, attrs: []attribute{convGeometry, kept("groups"), activation}, isOfImages: true, forms: []form{
		as("Conv2D DepthwiseConv2D DepthwiseConv2dNative Conv2DCompress ReadSelect", ""), as("conv1d conv2d conv3d", "input:x! weight:w! bias:more stride=1 padding=0 dilation=1 groups=1 :activation=none"),
		as("module.Conv1d module.Conv2d module.Conv3d ms.Conv2d", "weight:w! bias:more :activation=none"),
		as("ms.conv2d", "input:x! weight:w! bias:more stride=1 pad_mode:padding=valid padding:- dilation=1 groups=1 :activation=none")}},

	known(matrices, "GroupedMatmul grouped_matmul npu_grouped_matmul GEMM FullyConnectionCompress"),
	known(weightMatrices, "npu_linear"),
	known(batches, "einsum"),
	known(convolutions, "Conv Conv1D DepthwiseConv Depthwise conv_transpose2d Conv2DTranspose Deconvolution Conv2DBackpropInput"),
	known(&optype.Type{Noise: optype.NoiseSums, Parameters: 1<<1 | 1<<2}, "conv_transpose1d conv_transpose3d"),
	known(&optype.Type{Noise: optype.NoiseSums, Buffer: optype.FirstTimesBeta}, "addbmm addmv"),
	known(&optype.Type{Noise: optype.NoiseSums}, "__rmatmul__ chain_matmul dot mv npu_bmmV2 tensordot"),
}

// Arguments of products: with the second matrix as it is, and with a matrix that has a row for
// each result.
const (
	inputsOfMatMul = "mat2:x2! :transpose_x1=0 :transpose_x2=0"
	inputsOfAddMM  = "input:bias! mat1:x1! mat2:x2! beta:-==1 alpha:-==1 :transpose_x1=0 :transpose_x2=0"
	inputsOfLinear = "input:x1! weight:x2! bias :transpose_x1=0 :transpose_x2=1"
)

package recompute

import "dumptool/internal/optype"

// products are the formulas of matrix products and convolutions.
var products = []formula{
	{name: "MatMul", class: Linear, inputs: "x1 x2 bias?", linear: matMul, cut: rowsOfProduct, read: readTransposes, attrs: []attribute{transposes, activation, biasAdded, onlyKnown("alpha"), onlyKnown("beta")}, forms: []nameGroup{
		newForm("MatMul MatMulV2 MatMulV3", ""), newForm("BatchMatMul BatchMatMulV2 BatchMatMulV3", "", batches),
		newForm("bmm", inputsOfMatMul, batches), newForm("matmul mm", inputsOfMatMul), newForm("npu_bmmV2", "mat2:x2! output_sizes:- :transpose_x1=0 :transpose_x2=0", batches), newForm("__matmul__", inputsOfMatMul),
		newForm("addmm", "input:bias! mat1:x1! mat2:x2! beta=1 alpha=1 :transpose_x1=0 :transpose_x2=0", &optype.Type{Class: optype.Linear, Parameters: 1<<0 | 1<<2, Buffer: optype.FirstTimesBeta}),
		newForm("baddbmm", "input:bias! batch1:x1! batch2:x2! beta=1 alpha=1 :transpose_x1=0 :transpose_x2=0", &optype.Type{Class: optype.Linear, Form: optype.Batched, Buffer: optype.FirstTimesBeta}),
		newForm("linear npu_linear", inputsOfLinear+" :added=yes", weightMatrices), newForm("nn.Linear module.*Linear ms.dense", inputsOfLinear, weightMatrices), newForm("ms.Dense", "input:x1! weight:x2! bias :transpose_x1=0", weightMatrices)}},
	{name: "FullyConnection", class: Linear, inputs: "x w bias?", linear: fullyConnected, attrs: []attribute{activation}, forms: []nameGroup{newForm("FullyConnection", "")}},
	{name: "QuantBatchMatmul", class: Linear, inputs: "x1 x2 deq_scale bias? offset? pertoken_scale?", linear: quantMatMul, read: readTransposes, attrs: []attribute{transposes}, forms: []nameGroup{newForm("QuantBatchMatmul", "x1 x2 deq_scale bias?"),
		newForm("QuantBatchMatmulV3", "x1 x2 deq_scale offset? bias? pertoken_scale? ?transpose_x1=0 ?transpose_x2=0"), newForm("npu_quant_matmul", "x1! x2! scale:deq_scale! offset pertoken_scale bias output_dtype:- :transpose_x1=0 :transpose_x2=0")}},
	{name: "Conv2D", class: Linear, noise: convolutions, inputs: "x w more*?", linear: conv2D, cut: imagesOfConvolution, read: readWindow, attrs: []attribute{convGeometry, onlyKnown("groups"), activation, paddingMode}, isOfImages: true, forms: []nameGroup{
		newForm("Conv2D Conv3D DepthwiseConv2D DepthwiseConv2dNative Conv2DCompress ReadSelect", ""), newForm("conv1d conv2d conv3d", "input:x! weight:w! bias:more stride=1 padding=0 dilation=1 groups=1 :activation=none"),
		newForm("module.Conv1d module.Conv2d module.Conv3d ms.Conv2d", "weight:w! bias:more :activation=none"),
		newForm("ms.conv2d", "input:x! weight:w! bias:more stride=1 pad_mode:padding=valid padding:- dilation=1 groups=1 :activation=none")}},

	{name: "Einsum", class: Linear, noise: batches, inputs: "x1 x2 bias?", linear: einsum, cut: uncut, attrs: []attribute{onlyKnownText("equation"), onlyKnown("alpha"), onlyKnown("beta")}, forms: []nameGroup{newForm("addmv", "input:bias! mat:x1! vec:x2! beta=1 alpha=1 :equation=ij,j->i", &optype.Type{Noise: optype.NoiseSums, Buffer: optype.FirstTimesBeta}), newForm("addbmm", "input:bias! batch1:x1! batch2:x2! beta=1 alpha=1 :equation=bij,bjk->ik", &optype.Type{Noise: optype.NoiseSums, Buffer: optype.FirstTimesBeta}), newForm("addr", "input:bias! vec1:x1! vec2:x2! beta=1 alpha=1 :equation=i,j->ij"), newForm("outer", "vec2:x2! :equation=i,j->ij", &optype.Type{Noise: optype.NoiseProduct}), newForm("ger", "vec2:x2! :equation=i,j->ij"), newForm("dot", "other:x2! :equation=i,i->", &optype.Type{Noise: optype.NoiseSums}), newForm("vdot inner", "other:x2! :equation=i,i->"), newForm("mv", "vec:x2! :equation=ij,j->i", &optype.Type{Noise: optype.NoiseSums}), newForm("einsum", "equation operands*:x1!", batches)}},
	{name: "Conv2DTranspose", class: Linear, noise: convolutions, inputs: "x w more*?", linear: convTranspose, cut: uncut, read: readWindow, isOfImages: true, attrs: []attribute{transposedGeometry, onlyKnown("groups")}, forms: []nameGroup{newForm("Conv2DTransposeD Conv3DTransposeD", ""), newForm("Conv2DTranspose", "- x w more*", convolutions), newForm("Conv3DTranspose", "- x w more*"), newForm("Conv2DBackpropInputD Conv3DBackpropInputD", "w x"), newForm("Conv2DBackpropInput", "- w x", convolutions), newForm("Conv3DBackpropInput", "- w x"), newForm("conv_transpose1d conv_transpose3d", "weight:w! bias:more stride=1 padding=0 output_padding:- groups=1 dilation=1", &optype.Type{Noise: optype.NoiseSums, Parameters: 1<<1 | 1<<2}), newForm("conv_transpose2d", "weight:w! bias:more stride=1 padding=0 output_padding:- groups=1 dilation=1", convolutions), newForm("nn.ConvTranspose1d nn.ConvTranspose2d nn.ConvTranspose3d", "weight:w! bias:more")}},
	{name: "Conv2DBackpropFilter", class: Linear, noise: unbounded, inputs: "x out_backprop", linear: convFilterGrad, cut: uncut, read: readWindow, isOfImages: true, attrs: []attribute{filterGradGeometry}, forms: []nameGroup{newForm("Conv2DBackpropFilterD Conv3DBackpropFilterD", "x out_backprop"), newForm("Conv2DBackpropFilter Conv3DBackpropFilter", "x - out_backprop")}},

	noiseOnly(matrices, "GEMM FullyConnectionCompress"),
	noiseOnly(convolutions, "Conv DepthwiseConv Depthwise Deconvolution"),
	noiseOnly(&optype.Type{Noise: optype.NoiseSums}, "__rmatmul__ chain_matmul tensordot"),
}

// Arguments of products: inputs with the second matrix as it is, or with a matrix that has a row for each output
// (transposed).
const (
	inputsOfMatMul = "mat2:x2! :transpose_x1=0 :transpose_x2=0"
	inputsOfLinear = "input:x1! weight:x2! bias :transpose_x1=0 :transpose_x2=1"
)

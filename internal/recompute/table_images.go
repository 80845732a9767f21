package recompute

import "dumptool/internal/optype"

// imageOperators are the formulas of windows over images, and of quantised numbers.
var imageOperators = []formula{
	{name: "MaxPool", class: Reduced, noise: picking, inputs: "x", cut: planeCut, outputs: 2, compute: func(c *call) []*Array { return c.pool(false) }, read: readPool, attrs: []attribute{poolGeometry}, open: true, isOfImages: true,
		forms: []nameGroup{newNameGroup("MaxPool MaxPoolV3 module.MaxPool1d module.MaxPool2d module.MaxPool3d", ""), newNameGroup("max_pool1d max_pool2d max_pool3d max_pool2d_with_indices", "kernel_size stride padding=0 dilation=1 ceil_mode=0 return_indices:-", picking),
			newNameGroup("ms.max_pool2d", "x! kernel_size stride padding=0 dilation:-==1 return_indices:- ceil_mode=0", picking)}},
	{name: "AvgPool", class: Reduced, inputs: "x", cut: planeCut, compute: func(c *call) []*Array { return c.pool(true) }, read: readPool,
		attrs: []attribute{poolGeometry, flagAttribute("exclusive", true), defaultNumber("divisor", 0)}, open: true, isOfImages: true,
		forms: []nameGroup{newNameGroup("AvgPool AvgPoolV2 module.AvgPool1d module.AvgPool2d module.AvgPool3d", ""), newNameGroup("avg_pool1d avg_pool2d", "kernel_size stride padding=0 ceil_mode=0 count_include_pad=1 divisor_override:divisor"), newNameGroup("avg_pool3d", "kernel_size stride padding=0 ceil_mode=0 count_include_pad=1 divisor_override:divisor", pooledMeans),
			newNameGroup("ms.avg_pool2d", "input_x:x! kernel_size=1 stride=1 padding=0 ceil_mode=0 count_include_pad=1 divisor_override:-==0")}},
	{name: "Pooling", class: Reduced, noise: unbounded, inputs: "x", cut: planeCut, compute: func(c *call) []*Array { return c.pool(c.numberAttribute("mode") == 1) }, read: readPool, isOfImages: true,
		attrs: []attribute{oneOf("mode", Number(0), Number(1)), poolGeometry, flagAttribute("exclusive", true), defaultNumber("divisor", 0)}, open: true, forms: []nameGroup{newNameGroup("Pooling", "")}},
	{name: "AdaptiveAvgPool", class: Reduced, inputs: "x", cut: planeCut, compute: oneOutput(adaptivePool), noise: pooledMeans, isOfImages: true,
		forms: []nameGroup{newNameGroup("AdaptiveAvgPool2d nn.AdaptiveAvgPool1d nn.AdaptiveAvgPool2d nn.AdaptiveAvgPool3d", ""), newNameGroup("adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d", "output_size:-", pooledMeans)}},
	{name: "AdaptiveMaxPool", class: Exact, noise: picking, inputs: "x", cut: planeCut, outputs: 2, compute: adaptiveMaxPool, isOfImages: true,
		forms: []nameGroup{newNameGroup("AdaptiveMaxPool2d AdaptiveMaxPool3d nn.AdaptiveMaxPool1d nn.AdaptiveMaxPool2d nn.AdaptiveMaxPool3d", ""), newNameGroup("adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d", "output_size:- return_indices:-")}},
	{name: "AscendQuant", class: Quantised, inputs: "x", cut: elementwiseCut, compute: oneOutput(quantise), read: readQuant, attrs: []attribute{quantScale, defaultNumber("sqrt_mode", 0), roundMode}, forms: []nameGroup{newNameGroup("AscendQuant", "x ?round_mode=round ?sqrt_mode=0")}},
	{name: "AscendDequant", class: Plain, noise: dequantisation, inputs: "x deq_scale", cut: dequantCut, compute: oneOutput(dequantise), attrs: []attribute{flagAttribute("relu_flag", false), flagAttribute("sqrt_mode", false)},
		forms: []nameGroup{newNameGroup("AscendDequant", "")}},

	noiseRow(copies, "MaxPoolExt2"),
	noiseRow(pooledMeans, "AdaptiveAvgPool GlobalAveragePool"),
	noiseRow(&optype.Type{Class: optype.Gated, Form: optype.Pooled}, "MaxPoolGradWithArgmax max_pool2d_with_indices_backward"),
}

// picking is the noise of max pool functions: outputs are copies of the largest elements of windows.
var picking = &optype.Type{Class: optype.Move, Trait: optype.Picks}

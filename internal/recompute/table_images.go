package recompute

import "dumptool/internal/optype"

// imageOperators are the formulas of windows over images, and of quantised numbers.
var imageOperators = []formula{
	{name: "MaxPool", class: Reduced, noise: picks, inputs: "x", cut: planes, outputs: 2, compute: func(c *call) []*Array { return c.pool(false) }, read: readPool, attrs: []attribute{poolGeometry}, open: true, isOfImages: true,
		forms: []nameGroup{newNameGroup("MaxPool MaxPoolV3 module.MaxPool1d module.MaxPool2d module.MaxPool3d", ""), newNameGroup("max_pool1d max_pool2d max_pool3d max_pool2d_with_indices", "kernel_size stride padding=0 dilation=1 ceil_mode=0 return_indices:-", picks),
			newNameGroup("ms.max_pool2d", "x! kernel_size stride padding=0 dilation:-==1 return_indices:- ceil_mode=0", picks)}},
	{name: "AvgPool", class: Reduced, inputs: "x", cut: planes, compute: func(c *call) []*Array { return c.pool(true) }, read: readPool,
		attrs: []attribute{poolGeometry, flags("exclusive", true), constant("divisor", 0)}, open: true, isOfImages: true,
		forms: []nameGroup{newNameGroup("AvgPool AvgPoolV2 module.AvgPool1d module.AvgPool2d module.AvgPool3d", ""), newNameGroup("avg_pool1d avg_pool2d", "kernel_size stride padding=0 ceil_mode=0 count_include_pad=1 divisor_override:divisor"), newNameGroup("avg_pool3d", "kernel_size stride padding=0 ceil_mode=0 count_include_pad=1 divisor_override:divisor", pooledMeans),
			newNameGroup("ms.avg_pool2d", "input_x:x! kernel_size=1 stride=1 padding=0 ceil_mode=0 count_include_pad=1 divisor_override:-==0")}},
	{name: "Pooling", class: Reduced, noise: unbounded, inputs: "x", cut: planes, compute: func(c *call) []*Array { return c.pool(c.num("mode") == 1) }, read: readPool, isOfImages: true,
		attrs: []attribute{oneOf("mode", Number(0), Number(1)), poolGeometry, flags("exclusive", true), constant("divisor", 0)}, open: true, forms: []nameGroup{newNameGroup("Pooling", "")}},
	{name: "AdaptiveAvgPool", class: Reduced, inputs: "x", cut: planes, compute: oneOutput(adaptive), noise: pooledMeans, isOfImages: true,
		forms: []nameGroup{newNameGroup("AdaptiveAvgPool2d nn.AdaptiveAvgPool1d nn.AdaptiveAvgPool2d nn.AdaptiveAvgPool3d", ""), newNameGroup("adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d", "output_size:-", pooledMeans)}},
	{name: "AdaptiveMaxPool", class: Exact, noise: picks, inputs: "x", cut: planes, outputs: 2, compute: adaptiveLargest, isOfImages: true,
		forms: []nameGroup{newNameGroup("AdaptiveMaxPool2d AdaptiveMaxPool3d nn.AdaptiveMaxPool1d nn.AdaptiveMaxPool2d nn.AdaptiveMaxPool3d", ""), newNameGroup("adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d", "output_size:- return_indices:-")}},
	{name: "AscendQuant", class: Quantised, inputs: "x", cut: elementwise, compute: oneOutput(quantise), read: readQuant, attrs: []attribute{quantScale, constant("sqrt_mode", 0), roundMode}, forms: []nameGroup{newNameGroup("AscendQuant", "x ?round_mode=round ?sqrt_mode=0")}},
	{name: "AscendDequant", class: Plain, noise: dequantises, inputs: "x deq_scale", cut: dequantCut, compute: oneOutput(dequantise), attrs: []attribute{flags("relu_flag", false), flags("sqrt_mode", false)},
		forms: []nameGroup{newNameGroup("AscendDequant", "")}},

	noiseOnly(copies, "MaxPoolExt2"),
	noiseOnly(pooledMeans, "AdaptiveAvgPool GlobalAveragePool"),
	noiseOnly(&optype.Type{Class: optype.Gated, Form: optype.Pooled}, "MaxPoolGradWithArgmax max_pool2d_with_indices_backward"),
}

// picks is the noise of max pool functions: outputs are copies of the largest elements of windows.
var picks = &optype.Type{Class: optype.Move, Trait: optype.Picks}

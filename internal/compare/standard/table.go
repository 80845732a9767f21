// Package standard has CANN's acceptance standards for single operators (hicann/opbase): limits for an NPU tensor
// compared with a reference of higher precision, for some standards also with a third result. It reads both tensors
// and returns checks with values and limits; start at Judge. It does not cover the testing of operators: choice of
// inputs, number of cases, medians of several runs.
package standard

import (
	"slices"
	"strings"

	"dumptool/internal/tensor"
)

// Name is the name of a standard.
type Name string

// The standards of CANN.
const (
	// Eco limits the mean and the maximum relative error.
	Eco Name = "cann-eco"
	// Mixed limits the share of elements beyond a tolerance, and the largest error.
	Mixed Name = "cann-mixed"
	// L0, L1 and L2 limit the errors relative to the errors of a third result, for usual,
	// important and key operators.
	L0 Name = "cann-l0"
	L1 Name = "cann-l1"
	L2 Name = "cann-l2"
)

// Names lists the standards.
func Names() []Name { return []Name{Eco, Mixed, L0, L1, L2} }

// NeedsThird reports whether a standard needs a third result.
func (n Name) NeedsThird() bool { _, ok := levels[n]; return ok }

// level has the limits of the ratios of NPU errors to errors of the third result.
type level struct{ max, mean, rms float64 }

var levels = map[Name]level{L0: {10, 2, 2}, L1: {5, 1.5, 1.5}, L2: {2, 1.2, 1.2}}

const (
	// relativeFloor keeps relative errors finite for a reference of 0.
	relativeFloor = 1e-7
	// maxFactor is Eco's limit of the largest relative error, in multiples of the mean limit.
	maxFactor = 10
	// minShare is the minimum share of elements within the tolerance of Mixed, 0 to 1; ulps limits the largest
	// error, in ulps.
	minShare = 0.99
	ulps     = 32
	// smallErrorRatio is the limit of the ratio of error counts among small values.
	smallErrorRatio = 2
	// maxQuantisedDifference is the limit of the difference of integers from an operator that quantises.
	maxQuantisedDifference = 1
)

// thresholds are the limits of an element type.
type thresholds struct {
	// name is the name of the type in reports.
	name string
	// relative is Eco's limit of the mean relative error.
	relative float64
	// tolerance is Mixed's tolerance, absolute and relative; Mixed always allows the absolute error largest.
	tolerance, largest float64
	// For L0 to L2: an element whose reference is below small is an error if it differs by more
	// than smallError.
	small, smallError float64
	format            tensor.Float
}

// hf32 is the name of the type in which cube units compute float32 tensors.
const hf32 = "hf32"

// table has the thresholds of all types. The standards do not mention float64; it has the
// thresholds of float32.
var table = []thresholds{
	{"float16", 0x1p-10, 0x1p-10, 0.1, 0x1p-11, 0x1p-16, formatOf(tensor.Float16)},
	{"bfloat16", 0x1p-7, 0x1p-7, 0.1, 0x1p-8, 0x1p-16, formatOf(tensor.BFloat16)},
	{"float32", 0x1p-13, 0x1p-13, 0.01, 0x1p-14, 0x1p-30, formatOf(tensor.Float32)},
	{"float64", 0x1p-13, 0x1p-13, 0.01, 0x1p-14, 0x1p-30, formatOf(tensor.Float64)},
	{hf32, 0x1p-11, 0x1p-10, 0.1, 0x1p-12, 0x1p-28, tensor.Float{Exponent: 8, Mantissa: 11, MinExp: -126, Max: 0x1.ffep127}},
	{"float8_e4m3fn", 0x1p-3, 0x1p-3, 1, 0x1p-4, 0x1p-6, formatOf(tensor.Float8E4M3FN)},
	{"float8_e5m2", 0x1p-2, 0x1p-2, 1, 0x1p-3, 0x1p-5, formatOf(tensor.Float8E5M2)},
}

func formatOf(d tensor.DType) tensor.Float {
	f, _ := tensor.FloatOf(d)
	return f
}

// thresholdsOf returns the thresholds of a type, nil if it has none.
func thresholdsOf(d tensor.DType, useHF32 bool) *thresholds {
	name := d.String()
	if useHF32 && d == tensor.Float32 {
		name = hf32
	}
	i := slices.IndexFunc(table, func(t thresholds) bool { return t.name == name })
	if i < 0 {
		return nil
	}
	return &table[i]
}

// quantising lists the operator types whose integer results are rounded numbers.
var quantising = []string{"ascendquant", "ascendquantv2", "ascendquantv3", "ascendrequant", "quantize", "quantizev2",
	"dynamicquant", "dynamicquantv2", "dynamicquantv3", "npu.npu_quantize", "npu.npu_dynamic_quant",
	"torch.quantize_per_tensor", "torch.quantize_per_channel"}

// quantises reports whether operators of a type round numbers to integers.
func quantises(opType string) bool {
	return slices.Contains(quantising, strings.TrimRight(strings.ToLower(opType), "_"))
}

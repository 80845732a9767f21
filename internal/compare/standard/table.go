// Package standard has the acceptance standards of single operators of CANN
// (hicann/opbase): what an NPU tensor has to be beside a reference of higher precision,
// and for some of them beside a third result. It leaves out how operators are tested:
// which inputs, how many cases, medians of several runs.
package standard

import (
	"slices"
	"strings"

	"dumptool/internal/tensor"
)

// Name names a standard.
type Name string

// The standards.
const (
	// Eco limits the mean and the maximum of relative errors.
	Eco Name = "cann-eco"
	// Mixed limits the share of elements beyond a tolerance, and the largest error.
	Mixed Name = "cann-mixed"
	// L0, L1 and L2 limit the errors beside those of a third result: for usual,
	// important and key operators.
	L0 Name = "cann-l0"
	L1 Name = "cann-l1"
	L2 Name = "cann-l2"
)

// Names lists the standards.
func Names() []Name { return []Name{Eco, Mixed, L0, L1, L2} }

// NeedsThird reports whether a standard needs a third result.
func (n Name) NeedsThird() bool { _, ok := levels[n]; return ok }

// level has the largest ratios of the errors of the NPU to those of the third result.
type level struct{ max, mean, rms float64 }

var levels = map[Name]level{L0: {10, 2, 2}, L1: {5, 1.5, 1.5}, L2: {2, 1.2, 1.2}}

const (
	// relativeFloor keeps relative errors finite where the reference is 0.
	relativeFloor = 1e-7
	// maxFactor is the limit of the largest relative error of Eco, in those of the mean.
	maxFactor = 10
	// leastShare is the share of elements within the tolerance of Mixed, and ulps the
	// largest error there in units of the last place.
	leastShare = 0.99
	ulps       = 32
	// smallErrorRatio is the largest ratio of the numbers of errors among small values.
	smallErrorRatio = 2
	// quantised is the largest difference of numbers that the operator quantised.
	quantised = 1
)

// thresholds are the limits of an element type.
type thresholds struct {
	// name is that of the type as reports have it.
	name string
	// relative is that of Eco for the mean relative error.
	relative float64
	// tolerance is the absolute and the relative tolerance of Mixed, largest the
	// absolute error that is always allowed.
	tolerance, largest float64
	// Elements whose reference is below small have an error where they are more than
	// smallError off, by L0 to L2.
	small, smallError float64
	format            tensor.Float
}

// hf32 is the name of the type that cubes compute float32 tensors in.
const hf32 = "hf32"

// table has the thresholds of all types that have some. The standards do not speak of
// float64, which has those of float32.
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

// thresholdsOf returns the thresholds of a type, nil for one that has none.
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

// quantising are the operator types whose integers are rounded numbers.
var quantising = []string{"ascendquant", "ascendquantv2", "ascendquantv3", "ascendrequant", "quantize", "quantizev2",
	"dynamicquant", "dynamicquantv2", "dynamicquantv3", "npu.npu_quantize", "npu.npu_dynamic_quant",
	"torch.quantize_per_tensor", "torch.quantize_per_channel"}

// quantises reports whether an operator of a type makes integers of numbers.
func quantises(opType string) bool {
	return slices.Contains(quantising, strings.TrimRight(strings.ToLower(opType), "_"))
}

package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/compare"
	"dumptool/internal/compare/align"
	"dumptool/internal/tensor"
)

// shapeFlags are the flags about shapes and axis orders.
type shapeFlags struct {
	force, crop, auto bool
	transpose         []string
	refFormat         string
	npuFormat         string
	originalFormat    string
	maxElements       int64
	strictDType       bool
	refDType          string
	binDType          string
}

func (o *shapeFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.force, "force-compare", false, "compare tensors of one size and different shapes too")
	flags.BoolVar(&o.crop, "crop-padding", false, "compare the common part where the NPU tensor is longer on one axis and zero there")
	flags.BoolVar(&o.auto, "auto-layout", false, "permute the axes where one known permutation gives the reference's shape")
	flags.StringArrayVar(&o.transpose, "transpose", nil, "permute the axes of an NPU tensor: `OP=PERM`, such as conv1=0,3,1,2")
	flags.StringVar(&o.refFormat, "ref-format", "", "axis `ORDER` of the reference, such as NHWC; default: as shapes and dumps say")
	flags.StringVar(&o.npuFormat, "npu-format", "", "`LAYOUT` of arrays and raw files of the NPU whose names have none, such as NC1HWC0")
	flags.StringVar(&o.originalFormat, "original-format", "", "axis `ORDER` of the original shapes in dumps, where several would fit")
	flags.Int64Var(&o.maxElements, "max-elems", 0, "compare the first `N` elements only; such tensors cannot pass")
	flags.BoolVar(&o.strictDType, "strict-dtype", false, "different element types are a failure")
	flags.StringVar(&o.refDType, "ref-dtype", "", "element `TYPE` of raw files of the reference whose names have none; default: that of the NPU tensor")
	flags.StringVar(&o.binDType, "bin-dtype", "", "element `TYPE` of raw files of the NPU whose names have none; default: that of the reference")
	alias(flags, "bin-dtype", "npu-dtype")
	harmless(flags, "force-compare", "crop-padding", "auto-layout", "transpose", "ref-format", "npu-format",
		"original-format", "max-elems", "strict-dtype", "ref-dtype", "bin-dtype")
	types := []string{"float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"}
	completeValues(cmd, "ref-dtype", types)
	completeValues(cmd, "bin-dtype", types)
	completeValues(cmd, "ref-format", axisOrders)
	completeValues(cmd, "npu-format", append([]string{"NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ", "NDC1HWC0", "FRACTAL_Z_3D"}, axisOrders...))
	completeValues(cmd, "original-format", axisOrders)
}

// resolve checks the flags about shapes.
func (o *shapeFlags) resolve(options *compare.Options) error {
	opt := &options.Shape
	*opt = align.Options{
		Force: o.force, CropPadding: o.crop, AutoLayout: o.auto, MaxElements: o.maxElements, StrictDType: o.strictDType,
		Transpose: map[string][]int{},
	}
	if o.maxElements < 0 {
		return usagef("--max-elems %d: want a number from 1, or 0 for all", o.maxElements)
	}
	for _, t := range o.transpose {
		i := strings.LastIndexByte(t, '=')
		if i < 1 || !numbersForm().MatchString(strings.Trim(t[i+1:], "()[] ")) {
			return usagef("--transpose %s: want OP=PERM, such as conv1=0,3,1,2", t)
		}
		var perm []int
		for _, part := range strings.Split(strings.Trim(t[i+1:], "()[] "), ",") {
			axis, err := strconv.Atoi(part)
			if err != nil {
				return usagef("--transpose %s: %w", t, err)
			}
			perm = append(perm, axis)
		}
		for axis := range perm {
			if !slices.Contains(perm, axis) {
				return usagef("--transpose %s: axis %d is missing, want each of 0 to %d once", t, axis, len(perm)-1)
			}
		}
		opt.Transpose[t[:i]] = perm
	}
	var err error
	if opt.RefDType, err = parseDType("--ref-dtype", o.refDType); err != nil {
		return err
	}
	if opt.NPUDType, err = parseDType("--bin-dtype", o.binDType); err != nil {
		return err
	}
	if opt.RefFormat, err = parseFormat("--ref-format", o.refFormat); err != nil {
		return err
	}
	if opt.NPUFormat, err = parseFormat("--npu-format", o.npuFormat); err != nil {
		return err
	}
	opt.OriginalFormat, err = parseFormat("--original-format", o.originalFormat)
	return err
}

// shortTypes are other names of element types.
var shortTypes = map[string]tensor.DType{
	"fp16": tensor.Float16, "half": tensor.Float16, "bf16": tensor.BFloat16, "fp32": tensor.Float32, "float": tensor.Float32,
	"fp64": tensor.Float64, "double": tensor.Float64,
}

// parseDType reads the name of an element type; Undefined for none.
func parseDType(flag, name string) (tensor.DType, error) {
	if name == "" {
		return tensor.Undefined, nil
	}
	d, ok := shortTypes[strings.ToLower(name)]
	if !ok {
		d, ok = tensor.ParseDType(name)
	}
	if _, err := tensor.NewDecoder(d); !ok || err != nil {
		return tensor.Undefined, usagef("%s %s: want an element type, such as float16, bfloat16, float32 or int8", flag, name)
	}
	return d, nil
}

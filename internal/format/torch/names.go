package torch

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/pickle"
	"dumptool/internal/tensor"
)

// elementType is a type of elements.
type elementType struct {
	scalar string // PyTorch's ScalarType, also the name of its storage
	name   string // of torch.dtype
	// dtype is Undefined for elements that are not read.
	dtype tensor.DType
}

// elementTypes are the types of PyTorch 2.9.
var elementTypes = []elementType{
	{"Float", "float32", tensor.Float32},
	{"Double", "float64", tensor.Float64},
	{"Half", "float16", tensor.Float16},
	{"BFloat16", "bfloat16", tensor.BFloat16},
	{"Byte", "uint8", tensor.Uint8},
	{"Char", "int8", tensor.Int8},
	{"Short", "int16", tensor.Int16},
	{"Int", "int32", tensor.Int32},
	{"Long", "int64", tensor.Int64},
	{"Bool", "bool", tensor.Bool},
	{"ComplexHalf", "complex32", tensor.Complex32},
	{"ComplexFloat", "complex64", tensor.Complex64},
	{"ComplexDouble", "complex128", tensor.Complex128},
	{"UInt16", "uint16", tensor.Uint16},
	{"UInt32", "uint32", tensor.Uint32},
	{"UInt64", "uint64", tensor.Uint64},
	{"Float8_e4m3fn", "float8_e4m3fn", tensor.Float8E4M3FN},
	{"Float8_e5m2", "float8_e5m2", tensor.Float8E5M2},
	{"Float8_e8m0fnu", "float8_e8m0fnu", tensor.Float8E8M0},
	{"QInt8", "qint8", tensor.QInt8},
	{"QUInt8", "quint8", tensor.QUint8},
	{"QInt32", "qint32", tensor.QInt32},
	{"QUInt4x2", "quint4x2", tensor.Undefined},
	{"QUInt2x4", "quint2x4", tensor.Undefined},
	{"Float8_e4m3fnuz", "float8_e4m3fnuz", tensor.Undefined},
	{"Float8_e5m2fnuz", "float8_e5m2fnuz", tensor.Undefined},
	{"Float4_e2m1fn_x2", "float4_e2m1fn_x2", tensor.Undefined},
	{"Bits1x8", "bits1x8", tensor.Undefined},
	{"Bits2x4", "bits2x4", tensor.Undefined},
	{"Bits4x2", "bits4x2", tensor.Undefined},
	{"Bits8", "bits8", tensor.Undefined},
	{"Bits16", "bits16", tensor.Undefined},
	{"Int1", "int1", tensor.Undefined},
	{"Int2", "int2", tensor.Undefined},
	{"Int3", "int3", tensor.Undefined},
	{"Int4", "int4", tensor.Undefined},
	{"Int5", "int5", tensor.Undefined},
	{"Int6", "int6", tensor.Undefined},
	{"Int7", "int7", tensor.Undefined},
	{"UInt1", "uint1", tensor.Undefined},
	{"UInt2", "uint2", tensor.Undefined},
	{"UInt3", "uint3", tensor.Undefined},
	{"UInt4", "uint4", tensor.Undefined},
	{"UInt5", "uint5", tensor.Undefined},
	{"UInt6", "uint6", tensor.Undefined},
	{"UInt7", "uint7", tensor.Undefined},
}

// untyped is the storage of bytes that a tensor says the type of.
var untyped = elementType{"Untyped", "uint8", tensor.Uint8}

// elementTypeOf returns the type that torch.NAME is.
func elementTypeOf(name string) (elementType, bool) {
	name, ok := strings.CutPrefix(name, "torch.")
	for _, e := range elementTypes {
		if ok && e.name == name {
			return e, true
		}
	}
	return elementType{}, false
}

// storageOf returns the type of the elements in a storage class, such as
// torch.FloatStorage or torch.cuda.HalfStorage.
func storageOf(class string) (elementType, bool) {
	dot := strings.LastIndexByte(class, '.')
	module, name := class[:max(dot, 0)], class[dot+1:]
	if module != "torch" && module != "torch_npu" && !strings.HasPrefix(module, "torch.") && !strings.HasPrefix(module, "torch_npu.") {
		return elementType{}, false
	}
	scalar, ok := strings.CutSuffix(name, "Storage")
	if ok && (scalar == untyped.scalar || scalar == "_"+untyped.scalar) {
		return untyped, true
	}
	for _, e := range elementTypes {
		if ok && e.scalar == scalar {
			return e, true
		}
	}
	return elementType{}, false
}

// qschemes are the ways to quantise.
var qschemes = []string{
	"torch.per_tensor_affine", "torch.per_tensor_symmetric", "torch.per_channel_affine", "torch.per_channel_symmetric",
	"torch.per_channel_affine_float_qparams",
}

// tensorClasses are the classes that _rebuild_from_type_v2 may name.
var tensorClasses = []string{"torch.Tensor", "torch._tensor.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"}

// kindOf returns what a name is that a pickle mentions without calling it, empty for
// one that is unknown.
func kindOf(name string) string {
	if _, ok := elementTypeOf(name); ok {
		return "torch.dtype"
	}
	if _, ok := storageOf(name); ok {
		return "type"
	}
	for _, kind := range []struct {
		names []string
		kind  string
	}{{qschemes, "torch.qscheme"}, {tensorClasses, "type"}} {
		if slices.Contains(kind.names, name) {
			return kind.kind
		}
	}
	return ""
}

// call makes what a call of a name stands for.
type call func(args *arguments) any

// rebuildFromType calls the function that its first argument names.
const rebuildFromType = "torch._tensor._rebuild_from_type_v2"

// calls are the names that may be called; rebuildFromType is one more.
var calls = map[string]call{
	"torch._utils._rebuild_tensor":                 rebuild(false, nil),
	"torch._utils._rebuild_tensor_v2":              rebuild(true, metadata),
	"torch._utils._rebuild_tensor_v3":              rebuild(true, dtypeAndMetadata),
	"torch_npu.utils.storage._rebuild_npu_tensor":  rebuild(true, npuFormat),
	"torch._utils._rebuild_qtensor":                rebuildQuantised,
	"torch._utils._rebuild_parameter":              parameter(3),
	"torch._utils._rebuild_parameter_with_state":   parameter(4),
	"torch._utils._rebuild_sparse_tensor":          notRead("a sparse tensor is not supported"),
	"torch._utils._rebuild_sparse_csr_tensor":      notRead("a sparse tensor is not supported"),
	"torch._utils._rebuild_wrapper_subclass":       notRead("a wrapper of a tensor is not supported"),
	"torch._utils._rebuild_nested_tensor":          notRead("a nested tensor is not supported"),
	"torch._utils._rebuild_meta_tensor_no_storage": notRead("a tensor of the device meta has no data"),

	"torch._utils._rebuild_device_tensor_from_numpy":      notRead("a tensor of an array of numpy is not supported"),
	"torch._utils._rebuild_device_tensor_from_cpu_tensor": fromHost,

	"torch_npu.npu._format.Format":    formatNumber,
	"torch.Size":                      size,
	"torch.device":                    device,
	"torch.serialization._get_layout": asText("torch.layout"),
	"builtins.complex":                complexNumber,
	"builtins.slice":                  asRepr("slice"),
	"collections.Counter":             counter,
}

// unpickler makes the tensors and storages of one pickle.
type unpickler struct {
	// kinds are the types of the elements in storages, by key.
	kinds map[string]elementType
}

// maxPickle is how many bytes of a pickle are read.
const maxPickle = 64 << 20

// What a pickle and its values may take, besides maxTimesFile as many bytes as the file
// has: the pickle may be deflated.
const (
	freeMemory   = 16 << 20
	maxTimesFile = 16
)

// dialect is that of PyTorch, for a pickle in a file of so many bytes.
func (u *unpickler) dialect(size int64) *pickle.Dialect {
	u.kinds = make(map[string]elementType)
	return &pickle.Dialect{
		Lookup: func(name string) (func([]any) (any, error), bool) {
			if name == rebuildFromType {
				return invoke(name, fromType), true
			}
			if c, ok := calls[name]; ok {
				return invoke(name, c), true
			}
			return nil, kindOf(name) != ""
		},
		Persistent: u.storage,
		Stateful:   stateful,
		MaxMemory:  maxMemory(size),
	}
}

// maxMemory is how much a file of so many bytes may take.
func maxMemory(size int64) int64 {
	if size > math.MaxInt64/maxTimesFile-freeMemory {
		return math.MaxInt64
	}
	return freeMemory + maxTimesFile*size
}

// invoke makes a call of what a pickle gives.
func invoke(name string, c call) func([]any) (any, error) {
	return func(list []any) (any, error) {
		args := arguments{rest: list}
		if v := c(&args); !args.wrong && len(args.rest) == 0 {
			return v, nil
		}
		return nil, broken("found %s with other arguments than PyTorch gives it", name)
	}
}

// stateful reports whether the state of a value may be set: OrderedDict and tensors
// have attributes, which say nothing of the elements.
func stateful(v any) bool {
	switch v.(type) {
	case *pickle.Dict, *object:
		return true
	}
	return false
}

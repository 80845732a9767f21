package torch

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/pickle"
	"dumptool/internal/tensor"
)

// storage is a range of elements. Several tensors may share it.
type storage struct {
	elementType
	key    string
	device string
	count  int64 // elements of the whole storage
	// first and length are the range, in elements.
	first, length int64
}

// pickledTensor is a tensor in the pickle.
type pickledTensor struct {
	storage *storage
	elementType
	offset            int64
	shape             tensor.Shape
	strides           []int64
	negate, conjugate bool
	format.Details    // without Strides and Offset
	err               error
}

// constant is another object in the pickle, by its type and text.
type constant struct{ kind, text string }

// arguments are the arguments of a call that are not consumed yet.
type arguments struct {
	rest    []any
	isWrong bool // an argument was missing or had another type
}

// nextAny consumes the next argument.
func (a *arguments) nextAny() (v any) {
	if len(a.rest) == 0 {
		a.isWrong = true
		return nil
	}
	v, a.rest = a.rest[0], a.rest[1:]
	return v
}

// nextArgument consumes the next argument, which must be a T.
func nextArgument[T any](a *arguments) T {
	v, ok := a.nextAny().(T)
	a.isWrong = a.isWrong || !ok
	return v
}

// nextDict consumes the next argument, a dict or None.
func (a *arguments) nextDict() *pickle.Dict {
	if len(a.rest) > 0 && a.rest[0] == nil {
		a.nextAny()
		return nil
	}
	return nextArgument[*pickle.Dict](a)
}

// maxRank is the maximum number of axes.
const maxRank = 32

// nextInts consumes the next argument, a tuple of integers, and cuts it after maxRank+1.
func (a *arguments) nextInts() []int64 {
	s := nextArgument[*pickle.Sequence](a)
	if a.isWrong {
		return nil
	}
	list := make([]int64, 0, min(len(s.Items), maxRank+1))
	for _, v := range s.Items[:cap(list)] {
		n, ok := v.(int64)
		a.isWrong = a.isWrong || !ok
		list = append(list, n)
	}
	return list
}

// makeStorage returns the storage of a persistent id: a tuple of the text storage, class, key, device,
// count, and before version 1.6 also None or a tuple of key, offset and length of a range.
func (u *unpickler) makeStorage(id any) (any, error) {
	tuple, ok := id.(*pickle.Sequence)
	if !ok {
		return nil, formatError("found a persistent id that is a %s, want a tuple", pickle.TypeName(id))
	}
	args := &arguments{rest: tuple.Items}
	what, class := nextArgument[string](args), nextArgument[*pickle.Name](args)
	s := &storage{key: nextArgument[string](args), device: nextArgument[string](args), count: nextArgument[int64](args)}
	s.length = s.count
	if len(args.rest) > 0 {
		if view := args.nextAny(); view != nil {
			part, _ := view.(*pickle.Sequence)
			if part == nil || len(part.Items) != 3 {
				return nil, formatError("found a part of a storage that is a %s, want a tuple of 3", pickle.TypeName(view))
			}
			in := &arguments{rest: part.Items[1:]}
			s.first, s.length = nextArgument[int64](in), nextArgument[int64](in)
			args.isWrong = args.isWrong || in.isWrong
		}
	}
	if args.isWrong || len(args.rest) > 0 || what != "storage" {
		return nil, formatError("found a persistent id with parts that PyTorch does not write")
	}
	if s.elementType, ok = storageOf(class.String()); !ok {
		return nil, formatError("found a storage of class %s", class)
	}
	u.kinds[s.key] = s.elementType
	return s, nil
}

// rebuildTensor returns a call that makes a tensor from storage, offset, size and strides; with grad also
// from requires_grad and hooks, and from the arguments of more.
func rebuildTensor(grad bool, more func(*pickledTensor, *arguments)) call {
	return func(a *arguments) any {
		t := nextStorage(a)
		if grad {
			t.requireGrad(a)
		}
		if more != nil {
			more(t, a)
		}
		return t
	}
}

// nextStorage consumes the first four arguments of a tensor.
func nextStorage(a *arguments) *pickledTensor {
	t := &pickledTensor{storage: nextArgument[*storage](a), offset: nextArgument[int64](a)}
	t.shape, t.strides = a.nextInts(), a.nextInts()
	if !a.isWrong {
		t.elementType, t.Device = t.storage.elementType, t.storage.device
	}
	return t
}

// requireGrad consumes requires_grad and the hooks of gradients.
func (t *pickledTensor) requireGrad(a *arguments) {
	grad := nextArgument[bool](a)
	t.RequiresGrad = &grad
	a.nextDict()
}

// applyMetadata consumes an optional dict with lazy operations; torch_npu adds the number of the device
// format to it.
func applyMetadata(t *pickledTensor, a *arguments) {
	if len(a.rest) == 0 {
		return
	}
	d := a.nextDict()
	if d == nil {
		return
	}
	for _, item := range d.Items {
		if item.Value == true {
			t.conjugate = t.conjugate || item.Key == "conj"
			t.negate = t.negate || item.Key == "neg"
		}
	}
}

// applyTypeAndMetadata consumes the type in which the tensor interprets the bytes of the storage.
func applyTypeAndMetadata(t *pickledTensor, a *arguments) {
	name := nextArgument[*pickle.Name](a)
	if a.isWrong {
		return
	}
	var ok bool
	if t.elementType, ok = elementTypeOf(name.String()); !ok {
		a.isWrong = true
	}
	applyMetadata(t, a)
}

// checkDeviceFormat consumes the format of the tensor on the device. The elements in the file are in host
// order.
func checkDeviceFormat(t *pickledTensor, a *arguments) {
	switch v := a.nextAny().(type) {
	case int64:
		t.Attrs = append(t.Attrs, format.Attr{Name: "npu_format", Value: v})
	case bool:
	case deviceFormat:
		t.Attrs = append(t.Attrs, format.Attr{Name: "npu_format", Value: int64(v)})
	default:
		a.isWrong = true
	}
}

// deviceFormat is a torch_npu.npu.Format.
type deviceFormat int64

func formatNumber(a *arguments) any { return deviceFormat(nextArgument[int64](a)) }

// rebuildQuantised makes a tensor of stored integers. Their quantisation is a tuple of a scheme
// with one scale and zero point, or with tensors of scales and zero points.
func rebuildQuantised(a *arguments) any {
	t := nextStorage(a)
	tuple := nextArgument[*pickle.Sequence](a)
	t.requireGrad(a)
	if a.isWrong {
		return nil
	}
	q := &arguments{rest: tuple.Items}
	scheme := nextArgument[*pickle.Name](q)
	if a.isWrong = q.isWrong || !slices.Contains(qschemes, scheme.String()); a.isWrong {
		return nil
	}
	t.Attrs = append(t.Attrs, format.Attr{Name: "qscheme", Value: scheme.String()})
	if strings.HasPrefix(scheme.Attr, "per_channel") {
		q.nextAny()
		q.nextAny()
		t.Attrs = append(t.Attrs, format.Attr{Name: "axis", Value: nextArgument[int64](q)})
	} else {
		t.Quant = &format.Quant{Scale: tensor.Number(nextArgument[float64](q)), ZeroPoint: nextArgument[int64](q)}
	}
	a.isWrong = q.isWrong || len(q.rest) > 0
	return t
}

// rebuildParameter returns a call that makes a tensor from another tensor, requires_grad, hooks and, with
// 4 arguments, state.
func rebuildParameter(n int) call {
	return func(a *arguments) any {
		t := a.nextTensorCopy()
		t.requireGrad(a)
		if n == 4 {
			a.nextAny()
		}
		return t
	}
}

// nextTensorCopy consumes the next argument, a tensor, and returns a copy.
func (a *arguments) nextTensorCopy() *pickledTensor {
	t := nextArgument[*pickledTensor](a)
	if a.isWrong {
		return new(pickledTensor)
	}
	c := *t
	return &c
}

// tensorFromHost makes a tensor from another tensor, type, device and requires_grad.
func tensorFromHost(a *arguments) any {
	t := a.nextTensorCopy()
	a.nextAny()
	switch v := a.nextAny().(type) {
	case string:
		t.Device = v
	case *constant:
		t.Device = v.text
	default:
		a.isWrong = true
	}
	grad := nextArgument[bool](a)
	t.RequiresGrad = &grad
	return t
}

// callByType calls the function in its first argument: the arguments are function, class, arguments
// and state.
func callByType(a *arguments) any {
	function, class := nextArgument[*pickle.Name](a), nextArgument[*pickle.Name](a)
	args := nextArgument[*pickle.Sequence](a)
	a.nextAny()
	if a.isWrong || !slices.Contains(tensorClasses, class.String()) {
		a.isWrong = true
		return nil
	}
	in := &arguments{rest: args.Items}
	c := calls[function.String()] // never rebuildFromType again: recursion would be unbounded
	if c == nil {
		a.isWrong = true
		return nil
	}
	v := c(in)
	a.isWrong = in.isWrong || len(in.rest) > 0
	return v
}

// unsupportedTensor returns a call that makes a tensor with an error.
func unsupportedTensor(why string) call {
	return func(a *arguments) any {
		a.rest = nil
		return &pickledTensor{err: unsupported("%s", why)}
	}
}

// makeSize makes a torch.Size.
func makeSize(a *arguments) any {
	s := nextArgument[*pickle.Sequence](a)
	if a.isWrong {
		return nil
	}
	return &constant{"torch.Size", "torch.Size(" + repr(&pickle.Sequence{Kind: pickle.List, Items: s.Items}) + ")"}
}

// makeDevice makes a torch.device from a type and an optional index.
func makeDevice(a *arguments) any {
	text := nextArgument[string](a)
	if len(a.rest) > 0 {
		text += ":" + repr(nextArgument[int64](a))
	}
	return &constant{"torch.device", shorten(text)}
}

// textConstant returns a call that makes a constant from a text.
func textConstant(kind string) call {
	return func(a *arguments) any { return &constant{kind, shorten(nextArgument[string](a))} }
}

// reprConstant returns a call that makes a constant from all arguments.
func reprConstant(kind string) call {
	return func(a *arguments) any {
		text := kind + repr(&pickle.Sequence{Kind: pickle.Tuple, Items: a.rest})
		a.rest = nil
		return &constant{kind, text}
	}
}

// makeComplex makes a complex from two floats.
func makeComplex(a *arguments) any {
	re, im := strings.TrimSuffix(repr(nextArgument[float64](a)), ".0"), strings.TrimSuffix(repr(nextArgument[float64](a)), ".0")
	if !strings.HasPrefix(im, "-") {
		im = "+" + im
	}
	return &constant{"complex", "(" + re + im + "j)"}
}

// makeCounter returns the dict of a Counter.
func makeCounter(a *arguments) any { return nextArgument[*pickle.Dict](a) }

// elementType is an element type of PyTorch.
type elementType struct {
	scalar string // PyTorch's ScalarType, also the name of its storage
	name   string // of torch.dtype
	// dtype is Undefined for unsupported elements.
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

// untyped is a storage of bytes; the tensor defines their type.
var untyped = elementType{"Untyped", "uint8", tensor.Uint8}

// elementTypeOf returns the element type named torch.NAME.
func elementTypeOf(name string) (elementType, bool) {
	name, ok := strings.CutPrefix(name, "torch.")
	for _, e := range elementTypes {
		if ok && e.name == name {
			return e, true
		}
	}
	return elementType{}, false
}

// storageOf returns the element type of a storage class, such as torch.FloatStorage or
// torch.cuda.HalfStorage.
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

// qschemes are the quantisation schemes.
var qschemes = []string{
	"torch.per_tensor_affine", "torch.per_tensor_symmetric", "torch.per_channel_affine", "torch.per_channel_symmetric",
	"torch.per_channel_affine_float_qparams",
}

// tensorClasses are the classes that _rebuild_from_type_v2 may name.
var tensorClasses = []string{"torch.Tensor", "torch._tensor.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"}

// kindOf returns the kind of a name that a pickle uses as a value, empty if unknown.
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

// call makes the object for a call of a name.
type call func(args *arguments) any

// rebuildFromType calls the function named in its first argument.
const rebuildFromType = "torch._tensor._rebuild_from_type_v2"

// calls are the names that a pickle may call, besides rebuildFromType.
var calls = map[string]call{
	"torch._utils._rebuild_tensor":                 rebuildTensor(false, nil),
	"torch._utils._rebuild_tensor_v2":              rebuildTensor(true, applyMetadata),
	"torch._utils._rebuild_tensor_v3":              rebuildTensor(true, applyTypeAndMetadata),
	"torch_npu.utils.storage._rebuild_npu_tensor":  rebuildTensor(true, checkDeviceFormat),
	"torch._utils._rebuild_qtensor":                rebuildQuantised,
	"torch._utils._rebuild_parameter":              rebuildParameter(3),
	"torch._utils._rebuild_parameter_with_state":   rebuildParameter(4),
	"torch._utils._rebuild_sparse_tensor":          unsupportedTensor("a sparse tensor is not supported"),
	"torch._utils._rebuild_sparse_csr_tensor":      unsupportedTensor("a sparse tensor is not supported"),
	"torch._utils._rebuild_wrapper_subclass":       unsupportedTensor("a wrapper of a tensor is not supported"),
	"torch._utils._rebuild_nested_tensor":          unsupportedTensor("a nested tensor is not supported"),
	"torch._utils._rebuild_meta_tensor_no_storage": unsupportedTensor("a tensor of the device meta has no data"),

	"torch._utils._rebuild_device_tensor_from_numpy":      unsupportedTensor("a tensor of an array of numpy is not supported"),
	"torch._utils._rebuild_device_tensor_from_cpu_tensor": tensorFromHost,

	"torch_npu.npu._format.Format":    formatNumber,
	"torch.Size":                      makeSize,
	"torch.device":                    makeDevice,
	"torch.serialization._get_layout": textConstant("torch.layout"),
	"builtins.complex":                makeComplex,
	"builtins.slice":                  reprConstant("slice"),
	"collections.Counter":             makeCounter,
}

// unpickler makes the tensors and storages of one pickle.
type unpickler struct {
	// kinds are the element types of storages, by key.
	kinds map[string]elementType
	// hasObjects: objects of unknown classes are opaque values, else errors.
	hasObjects bool
}

// maxPickle is the maximum size of a pickle, in bytes.
const maxPickle = 64 << 20

// Memory for a pickle and its values: freeMemory plus maxTimesFile times the size of the file,
// because the pickle may be deflated.
const (
	freeMemory   = 16 << 20
	maxTimesFile = 16
)

// newDialect returns the rules for a pickle of PyTorch in a file of size bytes.
func (u *unpickler) newDialect(size int64) *pickle.Dialect {
	u.kinds = make(map[string]elementType)
	return &pickle.Dialect{
		Lookup: func(name string) (func([]any) (any, error), bool) {
			if name == rebuildFromType {
				return adaptCall(name, callByType), true
			}
			if c, ok := calls[name]; ok {
				return adaptCall(name, c), true
			}
			if u.hasObjects && kindOf(name) == "" {
				return func([]any) (any, error) { return &constant{"object", shorten(name)}, nil }, true
			}
			return nil, kindOf(name) != ""
		},
		Objects:    u.hasObjects,
		Persistent: u.makeStorage,
		Stateful:   u.mayHaveState,
		MaxMemory:  maxMemory(size),
	}
}

// maxMemory returns the memory for a file of size bytes.
func maxMemory(size int64) int64 {
	if size > math.MaxInt64/maxTimesFile-freeMemory {
		return math.MaxInt64
	}
	return freeMemory + maxTimesFile*size
}

// adaptCall adapts a call to package pickle and checks its arguments.
func adaptCall(name string, c call) func([]any) (any, error) {
	return func(list []any) (any, error) {
		args := arguments{rest: list}
		if v := c(&args); !args.isWrong && len(args.rest) == 0 {
			return v, nil
		}
		return nil, formatError("found %s with arguments that PyTorch does not pass", name)
	}
}

// mayHaveState reports whether a pickle may set the state of a value: the attributes of OrderedDict and
// tensors do not affect elements.
func (u *unpickler) mayHaveState(v any) bool {
	switch v.(type) {
	case *pickle.Dict, *pickledTensor:
		return true
	case *constant:
		return u.hasObjects
	}
	return false
}

package hdf5

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"dumptool/internal/format"
	"dumptool/internal/tensor"
)

// Files of torch.utils.dumper have the inputs and outputs of an operator as
//
//	/{operator}/{seq}/{input|output}/{parameter}[/{parameter}_{i}]
//
// where seq counts the operators of the process from 1. The numbers in attributes are from
// Ascend/pytorch 1.5, DumpUtils.cpp.

// Attributes of a dataset, all of them integers.
const (
	attrDevice  = "DeviceType"
	attrDType   = "DataType"
	attrType    = "Type" // 0 for a tensor
	attrStrides = "Stride"
)

// devices are the values of DeviceType, the numbers of c10.
var devices = map[int64]string{deviceCPU: "cpu", deviceCUDA: "cuda", 10: "npu"}

const deviceCPU, deviceCUDA = 0, 1

// valueTypes are the values of Type.
var valueTypes = map[int64]string{
	2: "list of int", 3: "int", 4: "bool", 5: "double", 6: "optional double", 7: "scalar", 9: "optional int",
	10: "optional scalar", 13: "size", 14: "dtype", 15: "pair", 16: "array", 17: "memory format", 18: "options",
}

// recordedType is an element type by the value of DataType: half is stored as float32, byte and
// bool as int8.
type recordedType struct {
	name          string // PyTorch's name
	stored, dtype tensor.DType
}

var recordedTypes = map[int64]recordedType{
	1:  {"Float", tensor.Float32, tensor.Float32},
	2:  {"Byte", tensor.Int8, tensor.Uint8},
	3:  {"Char", tensor.Int8, tensor.Int8},
	5:  {"Short", tensor.Int16, tensor.Int16},
	6:  {"Int", tensor.Int32, tensor.Int32},
	7:  {"Long", tensor.Int64, tensor.Int64},
	9:  {"Bool", tensor.Int8, tensor.Bool},
	10: {"Half", tensor.Float32, tensor.Float16},
	11: {"Double", tensor.Float64, tensor.Float64},
}

// sortByExecution sorts datasets in execution order: by operator, inputs before outputs, then by
// name, and sets their operators. Datasets outside of operators come last; their order does not
// change.
func sortByExecution(found []member) {
	for i := range found {
		found[i].op = OperatorOf(found[i].path)
	}
	slices.SortStableFunc(found, func(a, b member) int {
		if a.op == nil || b.op == nil {
			return cmp.Compare(operatorRank(a.op), operatorRank(b.op))
		}
		return cmp.Or(cmp.Compare(a.op.Seq, b.op.Seq), cmp.Compare(a.op.Name, b.op.Name), cmp.Compare(a.op.Kind, b.op.Kind),
			slices.Compare(a.path[3:], b.path[3:]))
	})
	rounds := make(map[string]int) // executions of each operator so far
	var last *format.Operator
	for i := range found {
		op := found[i].op
		if op == nil {
			break
		}
		switch {
		case last == nil || op.Seq != last.Seq || op.Name != last.Name:
			op.Round = rounds[op.Name]
			rounds[op.Name]++
		case op.Kind == last.Kind:
			op.Round, op.Index = last.Round, last.Index+1
		default:
			op.Round = last.Round
		}
		last = op
	}
}

// operatorRank is 0 with an operator, 1 without.
func operatorRank(op *format.Operator) int {
	if op == nil {
		return 1
	}
	return 0
}

// OperatorOf returns the operator in the path of a dataset of torch.utils.dumper, without round and
// index; nil for none.
func OperatorOf(path []string) *format.Operator {
	if len(path) < 4 {
		return nil
	}
	kind := tensor.Kind(path[2])
	seq, err := strconv.ParseUint(path[1], 10, 63)
	if err != nil || kind != tensor.Input && kind != tensor.Output {
		return nil
	}
	return &format.Operator{Name: path[0], Seq: int64(seq), Kind: kind}
}

// integerAttribute returns the value of an integer attribute.
func (d *dataset) integerAttribute(name string) (n int64, ok bool) {
	v, ok := d.attributeValue(name).(int64)
	return v, ok
}

// attributeValue returns the value of an attribute, nil for none.
func (d *dataset) attributeValue(name string) any {
	for i := range d.attrs {
		if d.attrs[i].name == name {
			return d.attrs[i].value
		}
	}
	return nil
}

// plainValueType reports whether the dataset holds a plain value instead of a tensor, and returns the type
// of the value.
func (m *member) plainValueType() (kind string, ok bool) {
	if n, ok := m.integerAttribute(attrType); ok && n != 0 && m.op != nil {
		return cmp.Or(valueTypes[n], "type "+strconv.FormatInt(n, 10)), true
	}
	return className(m.class), m.notNumbers
}

// applyRecorded applies the attributes of a recorded tensor.
func (m *member) applyRecorded(t *format.Tensor, v *format.View) {
	device, known := m.integerAttribute(attrDevice)
	if known {
		t.Device = cmp.Or(devices[device], "device type "+strconv.FormatInt(device, 10))
	}
	if n, ok := m.integerAttribute(attrDType); ok {
		r := recordedTypes[n]
		t.TorchDType = r.name
		switch {
		case r.stored != v.DType || r.dtype == v.DType:
		case r.stored == tensor.Int8:
			v.DType = r.dtype // int8 and uint8 codes of another type have the same bytes
		default:
			t.Origin = r.dtype
		}
	}
	if strides, ok := m.attributeValue(attrStrides).([]int64); ok {
		t.Strides = strides
		if known && (device == deviceCPU || device == deviceCUDA) && isInsideStorage(strides, m.space.shape) {
			v.Strides = strides
		}
	}
}

// isInsideStorage reports whether strides stay inside the storage, which has as many elements as
// the shape.
func isInsideStorage(strides []int64, shape tensor.Shape) bool {
	if len(strides) != len(shape) {
		return false
	}
	last := int64(0)
	for i, n := range shape {
		if strides[i] < 0 || n > 1 && strides[i] > (math.MaxInt64-last)/(n-1) {
			return false
		}
		last += max(0, n-1) * strides[i]
	}
	return last < shape.Elements()
}

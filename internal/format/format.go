// Package format is what readers of files that name their tensors return: .pt,
// .npz, .safetensors and HDF5. The readers are the packages below it.
package format

import (
	"encoding/json"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Contents is what a file holds.
type Contents struct {
	// Tensors are in the order of the file, those that cannot be used among them.
	Tensors []Tensor
	// Values are what the file holds besides tensors, such as the number of an
	// epoch.
	Values []Value
	// Warnings are oddities that take nothing away from the tensors.
	Warnings []lang.Sentence
}

// Tensor is a tensor with the name that the file gives it. Its Format is ND, its
// Data the elements as little-endian bytes in C order of Shape, however the file
// stores them; Data may be read by several goroutines.
type Tensor struct {
	tensor.Tensor
	// Path are the components of the name, from the outside in: the keys of nested
	// dicts, groups of HDF5. They come from the file and may hold anything. Empty
	// for the only tensor of a file that does not name it.
	Path []string
	// Name is the path as messages have it.
	Name string
	// Operator is what the tensor belongs to, nil where the file does not say.
	Operator *Operator
	// Origin is the element type that the tensor had before it was stored in
	// another one; Undefined if that is not known or the same.
	Origin tensor.DType
	Details
	// Err says why the tensor cannot be used.
	Err error
}

// Operator is an execution of an operator, and what a tensor is to it.
type Operator struct {
	Name string
	// Seq is the number of the execution among those of all operators, Round its
	// number among those of this one, from 0.
	Seq   int64
	Round int
	Kind  tensor.Kind
	// Index is the number of the tensor among those of its kind.
	Index int
}

// Details are what a file says about a tensor besides its elements, for those who
// look into it. Nothing is decided by them.
type Details struct {
	// TorchDType is the type as PyTorch names it, such as Half; empty where the file
	// does not say.
	TorchDType string
	// Strides and Offset count elements of the storage that the tensor is a part of;
	// nil where the file has none.
	Strides []int64
	Offset  *int64
	// RequiresGrad is nil where the file does not say.
	RequiresGrad *bool
	// Device is where the tensor was when it was saved, such as npu:0.
	Device string
	// Quant says how stored integers stand for numbers, nil for those that do not.
	Quant *Quant
	// Attrs are what else is noted, in the order of the file.
	Attrs Attrs
}

// Quant is a quantisation: number = Scale * (stored - ZeroPoint).
type Quant struct {
	// Scale and ZeroPoint are those of the formula number = Scale * (stored - ZeroPoint).
	Scale     tensor.Number `json:"scale"`
	ZeroPoint int64         `json:"zero_point"`
}

// Attr is a name with a value: bool, int64, uint64, float64, string, or a list of
// one of them.
type Attr struct {
	Name  string
	Value any
}

// Attrs are attributes, in documents the members of an object.
type Attrs []Attr

// MarshalJSON implements json.Marshaler.
func (a Attrs) MarshalJSON() ([]byte, error) {
	b := []byte("{")
	for i, attr := range a {
		name, err := json.Marshal(attr.Name)
		if err != nil {
			return nil, err
		}
		value := attr.Value
		switch v := value.(type) {
		case float64:
			value = tensor.Number(v)
		case []float64:
			all := make([]tensor.Number, len(v))
			for i, x := range v {
				all[i] = tensor.Number(x)
			}
			value = all
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), text...)
	}
	return append(b, '}'), nil
}

// Value is something in a file that is no tensor.
type Value struct {
	// Name is the name in the file.
	Name string `json:"name"`
	// Type is what the file calls it, such as int.
	Type string `json:"type"`
	// Text is the value, shortened where it is long.
	Text string `json:"value"`
}

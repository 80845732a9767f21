package report

import (
	"bytes"
	"encoding/json"
	"math"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/format"
	"dumptool/internal/inspect"
	"dumptool/internal/tensor"
)

// namedForm is the JSON form of a tensor of a file that names its tensors.
type namedForm struct {
	Name         string          `json:"name"`
	Node         string          `json:"node,omitempty"`
	Seq          *int64          `json:"seq,omitempty"`
	Round        *int            `json:"round,omitempty"`
	Kind         string          `json:"kind"`
	Index        int             `json:"index"`
	DType        string          `json:"dtype"`
	TorchDType   string          `json:"torch_dtype,omitempty"`
	Shape        tensor.Shape    `json:"shape"`
	Strides      []int64         `json:"strides,omitzero"`
	Offset       *int64          `json:"offset,omitempty"`
	Size         int64           `json:"size"`
	RequiresGrad *bool           `json:"requires_grad,omitempty"`
	Device       string          `json:"device,omitempty"`
	Quant        *quantForm      `json:"quant,omitempty"`
	Attrs        attrsForm       `json:"attrs,omitempty"`
	Stats        *inspectedStats `json:"stats,omitempty"`
	Error        string          `json:"error,omitempty"`
}

// quantForm says how stored integers stand for numbers.
type quantForm struct {
	Scale     any   `json:"scale"`
	ZeroPoint int64 `json:"zero_point"`
}

func newNamedForm(t *inspect.Tensor) namedForm {
	d := t.Details
	form := namedForm{
		Name: t.Name, Kind: string(t.Kind), Index: t.Index, DType: t.DType.String(), TorchDType: d.TorchDType,
		Shape:   append(tensor.Shape{}, t.Shape...), // [] rather than null
		Strides: d.Strides, Offset: d.Offset, Size: t.Size, RequiresGrad: d.RequiresGrad, Device: d.Device,
		Attrs: d.Attrs, Stats: statsForm(t.Stats),
	}
	if op := t.Operator; op != nil {
		form.Node, form.Seq, form.Round = op.Name, &op.Seq, &op.Round
	}
	if d.Quant != nil {
		form.Quant = &quantForm{tableNumber(&d.Quant.Scale), d.Quant.ZeroPoint}
	}
	if t.Err != nil {
		form.Error = t.Err.Error()
	}
	return form
}

// attrsForm is an object with the attributes in the order of the file.
type attrsForm []format.Attr

// MarshalJSON implements json.Marshaler. Numbers that are not finite are as in
// compare.json.
func (a attrsForm) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, attr := range a {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(attr.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(attrValue(attr.Value))
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// attrValue is the JSON form of a value.
func attrValue(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return metrics.Float(v)
		}
	case []float64:
		all := make([]any, len(v))
		for i, x := range v {
			all[i] = attrValue(x)
		}
		return all
	}
	return v
}

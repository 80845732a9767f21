package compare

import (
	"math"

	"dumptool/internal/compare/record"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

// planCall is a record.CallPair in a plan file.
type planCall struct {
	At     record.At       `json:"at"`
	API    string          `json:"api"`
	Stack  []string        `json:"stack,omitempty"`
	Values []planValuePair `json:"values"`
}

// planValuePair is a record.ValuePair in a plan file.
type planValuePair struct {
	NPU planLeaf  `json:"npu"`
	Ref *planLeaf `json:"ref,omitempty"`
	Row int       `json:"row"`
}

// planLeaf is a msprobe.Leaf in a plan file.
type planLeaf struct {
	Name   string      `json:"name"`
	Kind   tensor.Kind `json:"kind"`
	Index  int         `json:"index,omitempty"`
	Path   string      `json:"path,omitempty"`
	Tensor *leafTensor `json:"tensor,omitempty"`
	Value  *leafValue  `json:"value,omitempty"`
}

// leafTensor is a msprobe.Tensor in a plan file, Numbers its Max, Min, Mean and Norm.
type leafTensor struct {
	Type         string        `json:"type,omitempty"`
	DType        string        `json:"dtype,omitempty"`
	Shape        tensor.Shape  `json:"shape"`
	Numbers      [4]leafNumber `json:"numbers"`
	Digest       string        `json:"digest,omitempty"`
	RequiresGrad *bool         `json:"requires_grad,omitempty"`
	DataName     string        `json:"data_name,omitempty"`
}

// leafNumber is a msprobe.Number in a plan file. Kind is that of jsonpos.
type leafNumber struct {
	Kind  jsonpos.Kind   `json:"kind,omitempty"`
	Value *record.Number `json:"value,omitempty"`
	Int   bool           `json:"int,omitempty"`
	Text  string         `json:"text,omitempty"`
}

// leafValue is a msprobe.Value in a plan file.
type leafValue struct {
	Type string       `json:"type,omitempty"`
	Kind jsonpos.Kind `json:"kind,omitempty"`
	Text string       `json:"text,omitempty"`
}

// planCalls are calls as a plan file has them.
func planCalls(calls []record.CallPair) (all []planCall) {
	for _, c := range calls {
		j := planCall{At: c.At, API: c.API, Stack: c.Stack, Values: make([]planValuePair, len(c.Values))}
		for k, v := range c.Values {
			j.Values[k] = planValuePair{NPU: *planLeafOf(v.NPU), Ref: planLeafOf(v.Ref), Row: v.Row}
		}
		all = append(all, j)
	}
	return all
}

func planLeafOf(l *msprobe.Leaf) *planLeaf {
	if l == nil {
		return nil
	}
	j := &planLeaf{Name: l.Name, Kind: l.Kind, Index: l.Index, Path: l.Path}
	if t := l.Tensor; t != nil {
		j.Tensor = &leafTensor{Type: t.Type, DType: t.DType, Shape: t.Shape, Digest: t.Digest, RequiresGrad: t.RequiresGrad, DataName: t.DataName}
		for i, n := range t.Numbers() {
			j.Tensor.Numbers[i] = leafNumber{Kind: n.Kind, Int: n.Int, Text: n.Text}
			if math.Float64bits(n.Value) != 0 { // -0 is a number of its own
				j.Tensor.Numbers[i].Value = optionalNumber(&n.Value)
			}
		}
	}
	if v := l.Value; v != nil {
		value := leafValue(*v)
		j.Value = &value
	}
	return j
}

// callPairs are the calls of the plan.
func (h *planHead) callPairs() (all []record.CallPair) {
	for _, j := range h.Calls {
		c := record.CallPair{At: j.At, API: j.API, Stack: j.Stack, Values: make([]record.ValuePair, len(j.Values))}
		for k, v := range j.Values {
			c.Values[k] = record.ValuePair{NPU: v.NPU.leaf(), Ref: v.Ref.leaf(), Row: v.Row}
		}
		all = append(all, c)
	}
	return all
}

func (j *planLeaf) leaf() *msprobe.Leaf {
	if j == nil {
		return nil
	}
	l := &msprobe.Leaf{Name: j.Name, Kind: j.Kind, Index: j.Index, Path: j.Path}
	if t := j.Tensor; t != nil {
		l.Tensor = &msprobe.Tensor{Type: t.Type, DType: t.DType, Shape: t.Shape, Digest: t.Digest, RequiresGrad: t.RequiresGrad, DataName: t.DataName}
		for i, to := range []*msprobe.Number{&l.Tensor.Max, &l.Tensor.Min, &l.Tensor.Mean, &l.Tensor.Norm} {
			n := t.Numbers[i]
			*to = msprobe.Number{Kind: n.Kind, Int: n.Int, Text: n.Text}
			if n.Value != nil {
				to.Value = n.Value.Value
			}
		}
	}
	if v := j.Value; v != nil {
		value := msprobe.Value(*v)
		l.Value = &value
	}
	return l
}

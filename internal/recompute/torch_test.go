package recompute

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

// torchCase is a formula with values of PyTorch, written by testdata/torch/gen.py.
type torchCase struct {
	Name, Formula string
	IsWide        bool
	Attrs         map[string]any
	In, Out       []*torchTensor
}

// torchTensor is [shape, values].
type torchTensor struct {
	shape  tensor.Shape
	values []float64
}

func (x *torchTensor) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&x.shape, &x.values})
}

// tensors returns float32 tensors, nil for absent inputs.
func tensors(all []*torchTensor) []*Tensor {
	out := make([]*Tensor, len(all))
	for i, x := range all {
		if x != nil {
			out[i] = &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: x.shape, Source: numbers{x.values, tensor.Float32}}
		}
	}
	return out
}

// attributes parses the attributes of a case.
func (c *torchCase) attributes(t *testing.T) Attributes {
	t.Helper()
	all := Attributes{}
	for name, value := range c.Attrs {
		switch v := value.(type) {
		case string:
			all[name] = Attribute{Text(v), FromHand}
		case bool:
			all[name] = Attribute{ParseValue(map[bool]string{true: "true", false: "false"}[v]), FromHand}
		case float64:
			all[name] = Attribute{Number(v), FromHand}
		case []any:
			var list []float64
			for _, x := range v {
				list = append(list, x.(float64))
			}
			all[name] = Attribute{Numbers(list...), FromHand}
		default:
			t.Fatalf("attribute %s is %T", name, value)
		}
	}
	return all
}

// verdict judges a case with some outputs.
func (c *torchCase) verdict(t *testing.T, outputs []*torchTensor) *Verdict {
	t.Helper()
	return judgeWith(t, c.Formula, tensors(c.In), tensors(outputs), c.attributes(t))
}

// TestByTorch: outputs computed by PyTorch are OK, and outputs with another element are not.
func TestByTorch(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/torch/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []torchCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Formula+" "+strings.ReplaceAll(c.Name, " ", "_"), func(t *testing.T) {
			if v := c.verdict(t, c.Out); v.Status != OK {
				t.Fatalf("%s %s %s: %+v", v.Status, v.Reason, v.Why, v.Outputs)
			}
			for k, out := range c.Out {
				if c.IsWide {
					continue
				}
				for _, at := range []int{0, len(out.values) / 2, len(out.values) - 1} {
					wrong := slices.Clone(c.Out)
					wrong[k] = &torchTensor{out.shape, slices.Clone(out.values)}
					wrong[k].values[at] += 1 + math.Abs(out.values[at])/2
					if v := c.verdict(t, wrong); v.Status == OK || v.Status == Low {
						t.Errorf("element %d of output %d is %g in place of %g and %s", at, k, wrong[k].values[at], out.values[at], v.Status)
					}
				}
			}
		})
	}
}

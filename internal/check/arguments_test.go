package check

import (
	"context"
	"math"
	"strings"
	"testing"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// ones is a small tensor of float64.
func ones(shape ...int64) *recompute.Tensor {
	v := make(doubles, tensor.Shape(shape).Elements())
	for i := range v {
		v[i] = float64(i%5) - 1
	}
	return &recompute.Tensor{DType: tensor.Float64, Stored: tensor.Float64, Shape: shape, Source: v}
}

// FuzzArguments binds random arguments to random functions and computes them on small tensors. Nothing panics.
// Attributes that are not numbers, infinite or do not fit never lead to WRONG for the shape.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		"Functional.conv2d T T None 1 0 1 1", "Functional.conv2d T T None 0 -1 0 0", "Functional.conv2d T T None stride=-1 padding=1000000000 dilation=1000000000000",
		"Functional.avg_pool2d T 3 2 1 True False 0", "Functional.max_pool2d T 1000000000", "Torch.softmax T dim=NaN", "Torch.sum T 99 True", "Torch.topk T 3 -9",
		"Functional.pad T 9223372036854775807 reflect", "Tensor.permute T 0 0 0 0", "Tensor.transpose T -5 7", "Functional.group_norm T 0", "Functional.layer_norm T 1000000000 T T eps=nan",
		"Torch.cumsum T 1e300", "Functional.embedding T T", "Functional.batch_norm T T T T T False nan inf", "Torch.cat T dim=-1000000000", "Functional.softplus T 0 0", "Functional.one_hot T -1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Fields(text)
		if len(words) == 0 || len(words) > 9 {
			return
		}
		for _, api := range []string{words[0] + ".0.forward", "Module." + words[0] + ".forward.0"} {
			c := callOf(api, words[1:]...)
			_, rows := recompute.CallsOf(api, "pytorch")
			for i := range rows {
				got, ok := bind(&rows[i], arguments(c), msprobe.IsModule(api), true)
				if !ok {
					continue
				}
				named := map[string][]*recompute.Tensor{}
				for name, a := range got.inputs {
					if x, isNumber := a.number(); isNumber {
						named[name] = append(named[name], recompute.Constant(x))
						continue
					}
					named[name] = append(named[name], ones(2, 4, 6, 4))
				}
				for _, out := range []*recompute.Tensor{ones(2, 4, 6, 4), ones(2, 4), ones()} {
					op, _ := recompute.BindCall(got.formula, named, []*recompute.Tensor{out}, got.attributes, nil)
					op.Budget = 1 << 20
					v, err := recompute.Judge(context.Background(), op)
					if err != nil {
						continue
					}
					for _, o := range v.Outputs {
						if o.Checked > o.Elements || math.IsNaN(float64(o.Worst)) {
							t.Errorf("%s: %+v", text, o)
						}
					}
				}
			}
		}
	})
}

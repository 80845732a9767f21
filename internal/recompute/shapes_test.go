package recompute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"dumptool/internal/guard"
	"dumptool/internal/tensor"
)

// codes is a source of any type whose elements have small codes.
type codes struct {
	unit  int
	first byte
}

// ReadElements writes codes of 0 to 3 into the lowest byte of each element.
func (c codes) ReadElements(dst []byte, first int64) error {
	clear(dst)
	for i := 0; i < len(dst); i += c.unit {
		dst[i] = (c.first + byte(first) + byte(i/c.unit)) & 3
	}
	return nil
}

// shaped returns a tensor of another shape that repeats the elements of t.
func shaped(t *Tensor, shape tensor.Shape) *Tensor {
	one := *t
	one.Shape = shape
	if n, ok := t.Source.(numbers); ok {
		v := []float64{0}
		if len(n.v) > 0 {
			v = n.v
		}
		one.Source = numbers{slices.Repeat(v, int(shape.Elements())/len(v)+1)[:shape.Elements()], n.d}
	}
	return &one
}

// constantTensor returns a tensor with the shape of t whose elements are all v.
func constantTensor(v float64, t *Tensor) *Tensor {
	one := *t
	one.Source = numbers{slices.Repeat([]float64{v}, int(t.elements())), t.Stored}
	return &one
}

// oddShapes are shapes for which no operator is written: no axes, one axis, nine axes, and no elements.
var oddShapes = []tensor.Shape{{}, {1}, {3}, {0}, {2, 0, 3}, slices.Repeat(tensor.Shape{1}, 9), slices.Repeat(tensor.Shape{2}, 9), {1, 1, 1, 1, 1, 1, 3, 2, 1}, {0, 1, 1, 1, 1, 1, 1, 1, 2}}

// atZero is the output of an operator for inputs of zeros and an epsilon of 1, for operators whose output is not 0
// then.
func (c *handCase) atZero(output int) float64 {
	name := cmp.Or(FormulaOf(c.opType).Name, c.opType)
	if scale, ok := map[string]int{"LayerNormV3": 2, "RmsNorm": 1, "AddRmsNorm": 1, "AddLayerNorm": 2, "GroupNormSilu": 2, "DeepNorm": 1}[name]; ok && scale == output {
		return 1 // 1 / sqrt(0 + epsilon)
	}
	switch name {
	case "Softmax", "LogSoftmax", "ScaledMaskedSoftmax":
		n := 1.0
		if x := c.in[0]; x != nil && len(x.Shape) > 0 {
			n = float64(x.Shape[len(x.Shape)-1])
		}
		if name == "LogSoftmax" {
			return -math.Log(n)
		}
		return 1 / n
	case "AscendQuant":
		return boolToFloat(strings.Contains(c.attrs, "offset=1"))
	case "Attention":
		return math.Ln2 * float64(output) // two keys
	case "Exp", "Cos", "Pow", "LogicalNot", "Equal", "GreaterEqual", "LessEqual":
		return 1
	case "Reciprocal", "Rsqrt":
		return math.Inf(1)
	case "Log":
		return math.Inf(-1)
	case "RealDiv", "SqrtGrad", "Addcdiv":
		return math.NaN()
	case "Sigmoid", "HardSigmoid":
		return .5
	case "Softplus":
		return math.Ln2
	case "LogSigmoid":
		return -math.Ln2
	}
	return 0
}

// judgeAny judges a case that may be nonsense, by its type and as a call, and exports it like a check does.
func judgeAny(t *testing.T, c handCase) (all []*Verdict) {
	t.Helper()
	row := FormulaOf(c.opType)
	row.Name = cmp.Or(row.Name, c.opType)
	ctx := context.Background()
	of := func(op *Operator) {
		v, err := Judge(ctx, op)
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		if len(v.Outputs) > 0 {
			if _, err := PieceOf(ctx, op, v, 1<<10); err != nil {
				t.Fatalf("%s: %v", c, err)
			}
			if _, err := ComputeExpected(ctx, op, v.Attributes); err != nil {
				t.Fatalf("%s: %v", c, err)
			}
		}
		all = append(all, v)
	}
	op, _, err := Bind(row, c.in, c.out, attributesOf(c.attrs))
	if err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	of(op)
	named, left := map[string][]*Tensor{}, op.Inputs
	for spec := range strings.FieldsSeq(formulaOf(row.Name).inputs) {
		n := min(1, len(left))
		if strings.Contains(spec, "*") {
			n = len(left)
		}
		if n > 0 && (n > 1 || left[0] != nil) {
			named[strings.TrimRight(spec, "?*")] = left[:n]
		}
		left = left[n:]
	}
	call, _ := BindCall(row.Name, named, c.out, attributesOf(c.attrs), nil)
	of(call)
	return all
}

// String is the type of a case with its attributes, shapes and types.
func (c handCase) String() string {
	list := func(all []*Tensor) (texts []string) {
		for _, t := range all {
			text := "nothing"
			if t != nil {
				text = fmt.Sprint(t.Stored, t.Shape)
			}
			texts = append(texts, text)
		}
		return texts
	}
	return fmt.Sprintf("%s %s of %v giving %v", c.opType, c.attrs, list(c.in), list(c.out))
}

// TestShapes: no formula panics for unexpected tensors, and no operator with zeros everywhere is WRONG, whatever is
// missing and whatever the shapes are.
func TestShapes(t *testing.T) {
	t.Parallel()
	for _, c := range handCases(t) {
		t.Run(c.opType+" "+c.attrs, func(t *testing.T) {
			t.Parallel()
			c.in, c.out = slices.Clone(c.in), slices.Clone(c.out)
			for _, list := range [][]*Tensor{c.in, c.out} {
				for k, tensor := range list {
					for _, one := range append([]*Tensor{nil}, inShapes(tensor)...) {
						list[k] = one
						err := guard.Do(func() error { noPanic(t, c); return nil })
						if crash, ok := errors.AsType[*guard.Panic](err); ok {
							t.Errorf("%s: %s", c, crash.Trace())
						}
					}
					list[k] = tensor
				}
			}
		})
	}
}

// inShapes returns a tensor in all odd shapes.
func inShapes(t *Tensor) (all []*Tensor) {
	if t == nil {
		return nil
	}
	for _, shape := range oddShapes {
		all = append(all, shaped(t, shape))
	}
	return all
}

// noPanic judges a case, and the same case with zeros everywhere, which must not be WRONG.
func noPanic(t *testing.T, c handCase) {
	t.Helper()
	judgeAny(t, c)
	zeros := c
	zeros.attrs += " epsilon=1"
	zeros.in, zeros.out = slices.Clone(c.in), slices.Clone(c.out)
	for k, one := range c.in {
		isValue := strings.Contains(FormulaOf(c.opType).Inputs, "!") && one != nil && one.Stored == tensor.Int32
		if one != nil && !isValue {
			zeros.in[k] = constantTensor(0, one)
		}
	}
	for k, one := range c.out {
		if one != nil {
			zeros.out[k] = constantTensor(zeros.atZero(k), one)
		}
	}
	// OneHot without an on value writes 1.
	hasOnes := strings.HasPrefix(c.opType, "OneHot") && slices.Contains(c.in, nil)
	// The gradient of a loss differs between classes.
	isLoss := strings.HasSuffix(c.opType, "SoftmaxCrossEntropyWithLogits")
	// No box is kept twice, and no element occurs twice.
	isOnce := slices.Contains([]string{"NonMaxSuppressionV3", "Unique"}, c.opType)
	for i, v := range judgeAny(t, zeros) {
		if v.Status == Wrong && !isOnce && !hasOnes && !isLoss && !strings.HasPrefix(c.opType, "MoeGating") { // experts are selected whatever their weights are
			t.Errorf("%s (%d): zeros are %s %s with %v: %+v", c, i, v.Status, v.Reason, v.Attributes, v.Outputs)
		}
	}
}

// TestMoreOutputs: outputs that a formula does not compute do not change the verdict on the others.
func TestMoreOutputs(t *testing.T) {
	t.Parallel()
	for _, c := range handCases(t) {
		f := formulaOf(cmp.Or(FormulaOf(c.opType).Name, c.opType))
		if f.hasSeparateOutputs { // all outputs are parts of the input
			continue
		}
		n := len(c.out)
		c.out = append(slices.Clone(c.out), c.out[0], tensorOf(t, "0"), tensorOf(t, "", 7))
		c.out = append(c.out, inShapes(c.out[0])...)
		if v := judged(t, c); v.Status == OK != (n == max(1, f.outputs) || n == 1 && f.outputs < 2) && v.Status == Wrong {
			t.Errorf("%s: %s %s %s", c, v.Status, v.Reason, v.Why)
		}
	}
}

var (
	baseCases     []handCase
	baseCasesOnce sync.Once
)

// FuzzShapes changes the shapes, types and attributes of healthy operators and leaves tensors out: nothing panics.
func FuzzShapes(f *testing.F) {
	for i := range 400 {
		f.Add(uint16(i), []byte{byte(i), byte(7 * i), byte(i >> 2), byte(11 * i), byte(i >> 1), 3, byte(13 * i), 1, byte(5 * i)})
	}
	f.Fuzz(func(t *testing.T, i uint16, changes []byte) {
		baseCasesOnce.Do(func() { baseCases = handCases(t) })
		c := baseCases[int(i)%len(baseCases)]
		c.in, c.out = slices.Clone(c.in), slices.Clone(c.out)
		d := decisions{changes}
		for range 8 {
			if len(d.left) == 0 {
				break
			}
			c.change(&d)
		}
		judgeAny(t, c)
	})
}

// decisions draws numbers from the input of a fuzzer.
type decisions struct{ left []byte }

func (d *decisions) next() int {
	if len(d.left) == 0 {
		return 0
	}
	b := d.left[0]
	d.left = d.left[1:]
	return int(b)
}

func (d *decisions) below(n int) int { return d.next() % n }

var (
	drawnTypes = []tensor.DType{tensor.Float32, tensor.Int32, tensor.Float16, tensor.BFloat16, tensor.Int64, tensor.Uint64, tensor.Uint8, tensor.Int8, tensor.Bool, tensor.Float64,
		tensor.Complex64, tensor.Int4, tensor.Undefined}
	drawnNames = strings.Fields("axis axes dim perm begin end strides size begin_mask end_mask shrink_axis_mask ellipsis_mask ksize pads padding dilations groups data_format " +
		"epsilon num_groups mode value paddings before exclusive reverse largest sorted transpose_x1 transpose_x2 activation layout heads head_num scale causal sparse_mode masked pse_type " +
		"begin_norm_axis normalized_shape global_pooling ceil_mode divisor coeff indexed_sizes swap0 swap1 last_pads base shift power alpha beta threshold diagonal approximate is_training " +
		"relu_flag sqrt_mode offset factor rotary_mode count_include_pad shape negative_slope")
	drawnTexts = strings.Fields("SAME VALID same reflect edge symmetric circular constant NHWC NCHW BNSD BSND BSH SBH SBND TND half interleave tanh none relu trunc keep out all chosen x")
	drawnValue = []float64{0, 1, 2, 3, -1, -2, -9, 9, .5, 1e18, -1e18, math.MaxInt64, math.NaN(), math.Inf(1), 1 << 31, 1e300}
)

// change changes one thing about a case.
func (c *handCase) change(d *decisions) {
	list := &c.in
	if d.below(3) == 0 {
		list = &c.out
	}
	k := d.below(len(*list) + 1)
	switch what := d.below(8); {
	case what < 2:
		c.attrs += " " + drawnNames[d.below(len(drawnNames))] + "=" + d.value()
	case k == len(*list):
		*list = append(*list, d.tensor())
	case (*list)[k] == nil || what == 2:
		(*list)[k] = d.tensor()
	case what == 3:
		(*list)[k] = nil
	case what == 4:
		*list = slices.Delete(*list, k, k+1)
	default:
		shape := slices.Clone((*list)[k].Shape)
		switch at := d.below(len(shape) + 1); {
		case at == len(shape) || what == 5:
			shape = slices.Insert(shape, at, int64(d.below(4)))
		case what == 6:
			shape = slices.Delete(shape, at, at+1)
		default:
			shape[at] = int64(d.below(7))
		}
		if len(shape) <= 10 && shape.Elements() <= 1<<10 {
			(*list)[k] = shaped((*list)[k], shape)
		}
	}
}

// tensor draws a tensor of few elements of any type.
func (d *decisions) tensor() *Tensor {
	shape := tensor.Shape{}
	for range d.below(10) {
		if n := int64(d.below(5)); shape.Elements()*n <= 1<<10 {
			shape = append(shape, n)
		}
	}
	dtype := drawnTypes[d.below(len(drawnTypes))]
	return &Tensor{DType: dtype, Stored: dtype, Shape: shape, Source: codes{max(1, dtype.UnitSize()), byte(d.next())}}
}

// value draws the value of an attribute.
func (d *decisions) value() string {
	if d.below(4) == 0 {
		return drawnTexts[d.below(len(drawnTexts))]
	}
	var all []string
	for range 1 + d.below(9) {
		all = append(all, fmt.Sprint(drawnValue[d.below(len(drawnValue))]))
	}
	return strings.Join(all, ",")
}

// TestAnyAttributes: no formula panics, or allocates more than its tensors justify, for random tensors and
// attributes. The seed is the index of the formula in the table.
func TestAnyAttributes(t *testing.T) {
	t.Parallel()
	texts := []string{"none", "mean", "add", "linear", "cubic", "circular", "CRD", "T", "T;[None, None, 2];T", "None;...;-1", "[1, None, None];0", "ij,jk->ik", "...i,...i->...", "i,j", "1"}
	for i, f := range allFormulas() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for range 300 {
				op := randomOperator(r, f, texts)
				err := guard.Do(func() error {
					_, err := Judge(context.Background(), op)
					return err
				})
				if crash, ok := errors.AsType[*guard.Panic](err); ok {
					t.Fatalf("inputs %v, outputs %v, attributes %v: %s", op.Inputs, op.Outputs, op.Attributes, crash.Trace())
				}
			}
		})
	}
}

// randomOperator returns an operator with small tensors of random shapes and types, some of them nil, and random
// attributes.
func randomOperator(r *rand.Rand, f *formula, texts []string) *Operator {
	any := func() *Tensor {
		shape := make(tensor.Shape, r.IntN(5))
		for k := range shape {
			shape[k] = int64(r.IntN(4))
		}
		v := make([]float64, shape.Elements())
		for i := range v {
			v[i] = float64(r.IntN(7) - 2)
		}
		d := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Int32}[r.IntN(3)]
		return &Tensor{DType: d, Stored: d, Shape: shape, Source: numbers{v, d}}
	}
	op := &Operator{Formula: f.name, Attributes: Attributes{}, Called: true, Fused: new(bool)}
	for spec := range strings.FieldsSeq(f.inputs) {
		n := 1
		if strings.Contains(spec, "*") {
			n = r.IntN(4)
		}
		for range n {
			op.Inputs = append(op.Inputs, any())
		}
		if strings.Contains(spec, "?") && r.IntN(3) == 0 {
			op.Inputs[len(op.Inputs)-1] = nil
		}
	}
	for range 1 + r.IntN(3) {
		op.Outputs = append(op.Outputs, any())
	}
	op.Outputs = f.judgedOutputs(op.Outputs)
	raw := Attributes{}
	for _, a := range f.attrs {
		for _, name := range a.names {
			switch r.IntN(5) {
			case 0:
			case 1:
				raw[name] = Attribute{Text(texts[r.IntN(len(texts))]), FromCall}
			case 2:
				v := float64(r.IntN(6) - 2)
				if r.IntN(8) == 0 {
					v = []float64{1e9, 1e18, -1e18, math.Inf(1)}[r.IntN(4)]
				}
				raw[name] = Attribute{Number(v), FromCall}
			default:
				v := Value{List: true}
				for range r.IntN(4) {
					v.Numbers = append(v.Numbers, float64(r.IntN(5)-1))
				}
				raw[name] = Attribute{v, FromCall}
			}
		}
	}
	if len(op.Inputs) > 0 && op.Inputs[0] != nil && len(op.Outputs) > 0 {
		op.setAttributes(f, op.translateArguments(raw))
	}
	return op
}

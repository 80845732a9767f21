package recompute

import (
	"cmp"
	"context"
	bytes "encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

// longs is a source of 64-bit integers in memory.
type longs []int64

// ReadElements implements layout.Source.
func (n longs) ReadElements(dst []byte, first int64) error {
	for i := range len(dst) / 8 {
		bytes.LittleEndian.PutUint64(dst[8*i:], uint64(n[first+int64(i)]))
	}
	return nil
}

// nameOf returns the name of a type's formula, or the type itself if it is not in the table.
func nameOf(opType string) string { return cmp.Or(FormulaOf(opType).Name, opType) }

// TestIntegers: right integers beyond 2^53, which float64 cannot represent exactly, are never WRONG: operators that
// only move or select them are OK, and operators that compute with them are UNDECIDED. A moved element that is far
// off is WRONG.
func TestIntegers(t *testing.T) {
	t.Parallel()
	const b = 1<<60 + 1
	typed := func(d tensor.DType, v []int64, s ...int64) *Tensor {
		return &Tensor{DType: d, Stored: d, Shape: s, Source: longs(v)}
	}
	row := func(v ...int64) *Tensor { return typed(tensor.Int64, v, int64(len(v))) }
	table := func(rows int64, v ...int64) *Tensor { return typed(tensor.Int64, v, rows, int64(len(v))/rows) }
	unsigned := func(v ...int64) *Tensor { return typed(tensor.Uint64, v, int64(len(v))) }
	list := func(all ...*Tensor) []*Tensor { return all }
	for _, c := range []struct {
		opType, attrs string
		in            []*Tensor
		out           *Tensor
	}{
		{"Reshape", "", list(table(1, b, b+1)), row(b, b+1)},
		{"TransposeD", "perm=1,0", list(table(2, b, b+1, b+2, b+3)), table(2, b, b+2, b+1, b+3)},
		{"ConcatD", "concat_dim=0", list(row(b), row(b+1, b+2)), row(b, b+1, b+2)},
		{"Pack", "axis=1", list(row(b, b+1), row(b+2, b+3)), table(2, b, b+2, b+1, b+3)},
		{"PadD", "paddings=1,0", list(row(b, b+1)), row(0, b, b+1)},
		{"TileD", "", list(row(b, b+1)), table(2, b, b+1, b, b+1)},
		{"Gather", "axis=0", list(row(b, b+1, b+2), tensorOf(t, "int 2", 2, 1)), row(b+2, b+1)},
		{"StridedSliceD", "begin=1 end=3 strides=1", list(row(b, b+1, b+2)), row(b+1, b+2)},
		{"Add", "", list(row(b, b), row(2, -3)), row(b+2, b-3)},
		{"Add", "", list(row(b, b), tensorOf(t, "int 2", 2, -3)), row(b+2, b-3)},
		{"Adds", "value=5", list(row(b, -b)), row(b+5, -b+5)},
		{"Sub", "", list(row(b, 3), row(2, b)), row(b-2, 3-b)},
		{"Mul", "", list(row(3, b), row(b, -3)), row(3*b, -3*b)},
		{"Neg", "", list(row(b, -b)), row(-b, b)},
		{"Abs", "", list(row(b, -b)), row(b, b)},
		{"AddN", "", list(row(b), row(1), row(2)), row(b + 3)},
		{"FusedMulAdd", "", list(row(3), row(b), row(4)), row(3*b + 4)},
		{"Maximum", "", list(row(b, b+1), row(b+1, b)), row(b+1, b+1)},
		{"Minimum", "", list(row(b, b+1), row(b+1, b)), row(b, b)},
		{"Maximum", "", list(unsigned(-1, 5), unsigned(-2, -3)), unsigned(-1, -3)}, // 2^64 - 1 and 2^64 - 3
		{"ClipByValue", "", list(row(b-5, b, b+5), row(b-1), row(b+1)), row(b-1, b, b+1)},
		{"SelectV2", "", list(tensorOf(t, "2", 1, 0), row(b, b+1), row(b+2, b+3)), row(b, b+3)},
		{"MaskedFill", "", list(row(b, b+1), tensorOf(t, "2", 1, 0), tensorOf(t, "", 7)), row(7, b+1)},
		{"Cast", "", list(row(b, b+1)), row(b, b+1)},
		{"ReduceSumD", "axes=1", list(table(2, b, 1, 2, b, 3, 4)), row(b+3, b+7)},
		{"ReduceMaxD", "axes=1", list(table(2, b, b+1, b+3, b+2)), row(b+1, b+3)},
		{"ReduceMinD", "axes=1", list(table(2, b, b+1, b+3, b+2)), row(b, b+2)},
		{"ReduceProd", "axes=1", list(table(1, b, 3)), row(3 * b)},
		{"CumsumD", "axis=0 exclusive=0 reverse=0", list(row(b, 1, 2)), row(b, b+1, b+3)},
		{"CumsumD", "axis=0 exclusive=1 reverse=1", list(row(1, 2, b)), row(b+2, b, 0)},
		{"TopKD", "largest=1", list(table(1, b, b+2, b+1)), table(1, b+2, b+1)},
		{"ArgMaxD", "dimension=1", list(table(2, b, b+1, b+3, b+2)), tensorOf(t, "int 2", 1, 0)},
		{"ArgMinD", "dimension=1", list(table(2, b, b+1, b+3, b+2)), tensorOf(t, "int 2", 0, 1)},
		{"Greater", "", list(row(b, b+1, b), row(b, b, b+1)), tensorOf(t, "int 3", 0, 1, 0)},
		{"LessEqual", "", list(row(b, b+1, b), row(b, b, b+1)), tensorOf(t, "int 3", 1, 0, 1)},
		{"Equal", "", list(row(b, b+1), row(b, b)), tensorOf(t, "int 2", 1, 0)},
		{"LogicalAnd", "", list(row(b, b+1), row(b+1, b)), tensorOf(t, "int 2", 1, 1)},
		{"Unique", "sorted=1", list(row(b, b+1, b)), row(b, b+1)}, // how many there are depends on the low bits
	} {
		judge := func(out *Tensor) *Verdict {
			f := FormulaOf(c.opType)
			f.Name = nameOf(c.opType)
			op, warnings, err := Bind(f, c.in, list(out), attributesOf(c.attrs))
			if err != nil || len(warnings) > 0 {
				t.Fatal(c.opType, warnings, err)
			}
			op.Called = true
			v, err := Judge(context.Background(), op)
			if err != nil {
				t.Fatal(c.opType, err)
			}
			return v
		}
		chosen := slices.Contains([]Class{Move, Converted}, formulaOf(nameOf(c.opType)).class) && c.opType != "Unique" || slices.Contains(strings.Fields("Maximum Minimum ClipByValue SelectV2 MaskedFill"), c.opType)
		if v := judge(c.out); chosen && v.Status != OK || !chosen && v.Reason != NoDType {
			t.Errorf("%s: %s %s %s", c.opType, v.Status, v.Reason, v.Why)
		}
		all, ok := c.out.Source.(longs)
		if !ok || !chosen {
			continue
		}
		off := *c.out
		wrong := append(longs{}, all...)
		wrong[len(wrong)-1] += 1 << 40
		off.Source = wrong
		if v := judge(&off); v.Status != Wrong {
			t.Errorf("%s with an element that is 2^40 off: %s", c.opType, v.Status)
		} else if n := v.Outputs[0]; n.Bad != 1 || n.Worst < 1 {
			t.Errorf("%s: %d bad, off by %v, want one", c.opType, n.Bad, n.Worst)
		}
	}
}

// TestRoughIntegers: integers beyond 2^53 that are computed in floating point are compared to the precision of
// float64.
func TestRoughIntegers(t *testing.T) {
	t.Parallel()
	out := newTally(tensor.Int64, Integral)
	m := new(machine)
	v := math.Ldexp(1, 60)
	x, y := m.exactArray(tensor.Shape{2}, []float64{v, v}), m.exactArray(tensor.Shape{2}, []float64{v + 256, v + math.Ldexp(1, 40)})
	out.add(x, y, false, nil, func(i int) int64 { return int64(i) })
	if out.bad != 1 || out.firstBad != 1 {
		t.Errorf("%d bad, the first at %d, want the second alone", out.bad, out.firstBad)
	}
}

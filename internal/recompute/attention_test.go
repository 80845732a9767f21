package recompute

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

// inLayout converts a tensor of heads from BNSD to another layout.
func inLayout(x *Tensor, layout string) *Tensor {
	v, s := x.Source.(numbers).v, x.Shape
	b, n, rows, d := int(s[0]), int(s[1]), int(s[2]), int(s[3])
	out := make([]float64, len(v))
	for i := range v {
		l, k, j, m := i/(n*rows*d), i/(rows*d)%n, i/d%rows, i%d
		switch layout {
		case "BNSD":
			out[i] = v[i]
		case "BSND", "BSH":
			out[((l*rows+j)*n+k)*d+m] = v[i]
		case "SBH", "SBND":
			out[((j*b+l)*n+k)*d+m] = v[i]
		}
	}
	shape := map[string]tensor.Shape{"BNSD": s, "BSND": {s[0], s[2], s[1], s[3]}, "BSH": {s[0], s[2], s[1] * s[3]}, "SBH": {s[2], s[0], s[1] * s[3]}, "SBND": {s[2], s[0], s[1], s[3]}}[layout]
	return &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: shape, Source: numbers{out, tensor.Float32}}
}

// attentionByLoop computes attention by its definition, element by element, of tensors in BNSD. allowed says which
// row uses which column.
func attentionByLoop(q, k, v *Tensor, scale float64, allowed func(row, column int) bool) *Tensor {
	s, t := q.Shape, k.Shape
	group, rows, columns, d, dv := s[1]/t[1], int(s[2]), int(t[2]), int(s[3]), int(v.Shape[3])
	at := func(x *Tensor, b, n int64, i, j int) float64 {
		return x.Source.(numbers).v[((b*x.Shape[1]+n)*x.Shape[2]+int64(i))*x.Shape[3]+int64(j)]
	}
	var out []float64
	for b := range s[0] {
		for n := range s[1] {
			for i := range rows {
				weights, total := make([]float64, columns), 0.0
				for j := range columns {
					dot := 0.0
					for m := range d {
						dot += at(q, b, n, i, m) * at(k, b, n/group, j, m)
					}
					if allowed(i, j) {
						weights[j] = math.Exp(dot * scale)
					}
					total += weights[j]
				}
				for m := range dv {
					y := 0.0
					for j := range columns {
						y += weights[j] / total * at(v, b, n/group, j, m)
					}
					out = append(out, float64(float32(y)))
				}
			}
		}
	}
	return &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: tensor.Shape{s[0], s[1], s[2], v.Shape[3]}, Source: numbers{out, tensor.Float32}}
}

// TestAttention: attention in all layouts and with all masks is right by its definition, and one wrong row of a head
// is WRONG.
func TestAttention(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	q, k, v := randomTensor(r, 1, 2, 4, 6, 8), randomTensor(r, 1, 2, 2, 9, 8), randomTensor(r, 1, 2, 2, 9, 8)
	all := func(int, int) bool { return true }
	masked := make([]float64, 6*9)
	for i := range masked {
		masked[i] = boolToFloat(r.IntN(3) == 0 && i%9 != 0)
	}
	mask := &Tensor{DType: tensor.Int32, Stored: tensor.Int32, Shape: tensor.Shape{1, 1, 6, 9}, Source: numbers{masked, tensor.Int32}}
	for _, c := range []struct {
		layout, attrs string
		mask          *Tensor
		scale         float64
		allowed       func(row, column int) bool
	}{
		{"BNSD", "scale=0.25 causal=0 masked=out", nil, .25, all},
		{"BSND", "scale=0.25 causal=0 masked=out", nil, .25, all},
		{"BSH", "heads=4 scale=1 causal=0 masked=out", nil, 1, all},
		{"SBH", "heads=4 scale=0.5 causal=1 masked=out", nil, .5, func(i, j int) bool { return j <= i }},
		{"SBND", "scale=0.5 causal=1 masked=out", nil, .5, func(i, j int) bool { return j <= i }},
		{"BNSD", "scale=0.5 causal=2 masked=out", nil, .5, func(i, j int) bool { return j <= i+3 }},
		{"BNSD", "scale=0.5 causal=0 masked=out", mask, .5, func(i, j int) bool { return masked[9*i+j] == 0 }},
		{"BSH", "heads=4 scale=0.5 causal=0 masked=keep", mask, .5, func(i, j int) bool { return masked[9*i+j] != 0 }},
		{"BNSD", "causal=0 masked=out", nil, 1 / math.Sqrt(8), all}, // the default scale of the heads
		{"BNSD", "", nil, .3, all}, // an unknown scale
	} {
		if c.mask != nil && c.layout == "BSH" { // each row keeps some columns
			for i := range 6 {
				masked[9*i] = 1
			}
		}
		out := attentionByLoop(q, k, v, c.scale, c.allowed)
		for _, wrong := range []bool{false, true} {
			y := inLayout(out, strings.Replace(c.layout, "SBND", "SBH", 1)) // heads side by side
			if wrong {
				values := y.Source.(numbers).v
				for i := range 8 {
					values[40+i] *= 1.5
				}
			}
			op := &Operator{Formula: "Attention", Inputs: []*Tensor{inLayout(q, c.layout), inLayout(k, c.layout), inLayout(v, c.layout), c.mask}, Outputs: []*Tensor{y},
				Attributes: attributesOf("layout=" + c.layout + " " + c.attrs)}
			got, err := Judge(context.Background(), op)
			want := OK
			switch {
			case wrong && c.attrs == "": // the fitted scale proves nothing
				want = Misfit
			case wrong:
				want = Wrong
			}
			if err != nil || got.Status != want {
				t.Errorf("%s %s, wrong %t: %+v, %v", c.layout, c.attrs, wrong, got, err)
			}
		}
	}
}

// fused computes fused attention as documented for npu_fusion_attention, of tensors in BNSD with as many heads of k
// as of q: the result, and for each row the largest score and the sum of the exponentials, each repeated eight times.
// Scores are scale (q k' + pse).
func fused(q, k, v, pse *Tensor, scale float64, allowed func(row, column int) bool) []*Tensor {
	s, columns, dv := q.Shape, int(k.Shape[2]), int(v.Shape[3])
	rows, d := int(s[2]), int(s[3])
	at := func(x *Tensor, head, i, j int) float64 {
		return x.Source.(numbers).v[(head*int(x.Shape[2])+i)*int(x.Shape[3])+j]
	}
	var y, largest, sums []float64
	for head := range int(s[0] * s[1]) {
		for i := range rows {
			scores, most, sum := make([]float64, columns), math.Inf(-1), 0.0
			for j := range columns {
				dot := at(pse, head, i, j)
				for m := range d {
					dot += at(q, head, i, m) * at(k, head, j, m)
				}
				if scores[j] = scale * dot; !allowed(i, j) {
					scores[j] = math.Inf(-1)
				}
				most = max(most, scores[j])
			}
			for j := range columns {
				sum += math.Exp(scores[j] - most)
			}
			for m := range dv {
				x := 0.0
				for j := range columns {
					x += math.Exp(scores[j]-most) / sum * at(v, head, j, m)
				}
				y = append(y, float64(float32(x)))
			}
			for range 8 {
				largest, sums = append(largest, float64(float32(most))), append(sums, float64(float32(sum)))
			}
		}
	}
	like := func(v []float64, last int64) *Tensor {
		return &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: tensor.Shape{s[0], s[1], s[2], last}, Source: numbers{v, tensor.Float32}}
	}
	return []*Tensor{like(y, int64(dv)), like(largest, 8), like(sums, 8)}
}

// TestFusedAttention: softmax_max and softmax_sum of fused attention are judged, further outputs are not, whatever
// they are.
func TestFusedAttention(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(13, 13))
	q, k, v, pse := randomTensor(r, 1, 2, 3, 6, 8), randomTensor(r, 1, 2, 3, 9, 8), randomTensor(r, 1, 2, 3, 9, 4), randomTensor(r, 1, 2, 3, 6, 9)
	for _, layout := range []string{"BNSD", "BSND", "BSH"} {
		for wrong := range 4 {
			outs := append(fused(q, k, v, pse, .5, func(i, j int) bool { return j <= i }), tensorOf(t, "0"), tensorOf(t, "", 7), randomTensor(r, 1, 5, 5, 5))
			if wrong < 3 {
				values := outs[wrong].Source.(numbers).v
				for i := range 8 {
					values[40+i]++
				}
			}
			outs[0] = inLayout(outs[0], layout)
			op, warnings := BindCall("Attention", map[string][]*Tensor{"q": {inLayout(q, layout)}, "k": {inLayout(k, layout)}, "v": {inLayout(v, layout)}, "bias": {pse}}, outs,
				attributesOf("input_layout="+layout+" head_num=3 scale=0.5 sparse_mode=2 pse_type=1 masked=out"), nil)
			got, err := Judge(context.Background(), op)
			if err != nil || len(warnings) > 0 {
				t.Fatal(err, warnings)
			}
			want := OK
			if wrong < 3 {
				want = Wrong
			}
			if got.Status != want || len(got.Outputs) != 3 {
				t.Errorf("%s, output %d wrong: %s %s %s of %d outputs", layout, wrong, got.Status, got.Reason, got.Why, len(got.Outputs))
				continue
			}
			for k, o := range got.Outputs {
				if (o.Bad > 0) != (k == wrong) || o.Checked != o.Elements {
					t.Errorf("%s, output %d wrong: of output %d %d of %d elements are bad, %d checked", layout, wrong, k, o.Bad, o.Elements, o.Checked)
				}
			}
		}
	}
	// Another output after the result is not judged.
	outs := fused(q, k, v, pse, .5, func(i, j int) bool { return j <= i })
	outs[1] = randomTensor(r, 1, 2, 3, 6, 9)
	op, _ := BindCall("Attention", map[string][]*Tensor{"q": {q}, "k": {k}, "v": {v}, "bias": {pse}}, outs, attributesOf("layout=BNSD scale=0.5 causal=1 pse_type=1 masked=out"), nil)
	if got, err := Judge(context.Background(), op); err != nil || got.Status != OK || got.Outputs[1].Checked+got.Outputs[2].Checked > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAttentionLeaks: NaN in a masked row of v spreads if the kernel multiplies it by 0, and does not if the kernel
// skips the row; both are right. NaN that comes from no input is wrong.
func TestAttentionLeaks(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	q, k, v := randomTensor(r, 1, 1, 2, 4, 8), randomTensor(r, 1, 1, 2, 4, 8), randomTensor(r, 1, 1, 2, 4, 8)
	finite := attentionByLoop(q, k, v, 0.5, func(i, j int) bool { return j <= i })
	v.Source.(numbers).v[3*8+5] = math.NaN() // of the first head; only its last row uses it
	for _, c := range []struct {
		name string
		nan  []int // rows of the first head
		at   int   // their element
		want Status
	}{
		{"left out", []int{3}, 5, OK}, {"multiplied by 0", []int{0, 1, 2, 3}, 5, OK}, {"another element", []int{1, 3}, 4, Wrong},
	} {
		y := slices.Clone(finite.Source.(numbers).v)
		for _, row := range c.nan {
			y[8*row+c.at] = math.NaN()
		}
		out := &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: finite.Shape, Source: numbers{y, tensor.Float32}}
		got, err := Judge(context.Background(), &Operator{Formula: "Attention", Inputs: []*Tensor{q, k, v}, Outputs: []*Tensor{out}, Attributes: attributesOf("layout=BNSD scale=0.5 causal=1 masked=out")})
		if err != nil || got.Status != c.want {
			t.Errorf("%s: %+v, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// TestAttentionSampled: of a large attention some rows are computed, and other rows of each head.
func TestAttentionSampled(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 8))
	q, k := randomTensor(r, 1, 1, 2, 2048, 16), randomTensor(r, 1, 1, 2, 2048, 16)
	y := randomTensor(r, 1, 1, 2, 2048, 16)
	v, err := Judge(context.Background(), &Operator{Formula: "Attention", Inputs: []*Tensor{q, k, k}, Outputs: []*Tensor{y}, Attributes: attributesOf("layout=BNSD scale=0.25 causal=0 masked=out")})
	if err != nil || v.Status != Wrong || v.Outputs[0].How != "sampled" || v.Outputs[0].Checked > 70*16 || v.Outputs[0].Checked < 50*16 {
		t.Fatal(fmt.Sprintf("%+v", v), err)
	}
}

// TestKeysOfOtherRanks: a module whose first rows agree with causal attention while later rows use keys of other
// ranks may be right; with a wrong row among the first it is not.
func TestKeysOfOtherRanks(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	q, k, v := randomTensor(r, 1, 2, 4, 8, 8), randomTensor(r, 1, 2, 2, 16, 8), randomTensor(r, 1, 2, 2, 16, 8)
	positions := []int{0, 1, 2, 3, 4, 13, 14, 15} // rows of this rank among all rows
	own := func(x *Tensor) *Tensor {
		out := &Tensor{DType: x.DType, Stored: x.Stored, Shape: tensor.Shape{2, 2, 8, 8}}
		var values []float64
		for head := range 4 {
			for _, row := range positions {
				at := (16*head + row) * 8
				values = append(values, x.Source.(numbers).v[at:at+8]...)
			}
		}
		out.Source = numbers{values, tensor.Float32}
		return out
	}
	causal := func(i, j int) bool { return j <= i }
	wrong := attentionByLoop(q, own(k), own(v), 1/math.Sqrt(8), causal)
	for i := range 8 {
		wrong.Source.(numbers).v[6*8+i] *= 1.5
	}
	for _, c := range []struct {
		name string
		out  *Tensor
		want Status
	}{
		{"keys of all", attentionByLoop(q, k, v, 1/math.Sqrt(8), func(i, j int) bool { return j <= positions[i] }), Misfit},
		{"a wrong row", wrong, Wrong},
	} {
		op := &Operator{Formula: "Attention", Inputs: []*Tensor{inLayout(q, "SBND"), inLayout(own(k), "SBND"), inLayout(own(v), "SBND")}, Outputs: []*Tensor{inLayout(c.out, "SBH")},
			Attributes: attributesOf("layout=SBND masked=out"), Open: true, Called: true}
		got, err := Judge(context.Background(), op)
		if err != nil || got.Status != c.want {
			t.Errorf("%s: %+v, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// TestNumberThatExplainsAll: no number is fitted with which every element might have overflowed. Such numbers once
// explained 1 of 30 attentions whose rows all use keys of other ranks.
func TestNumberThatExplainsAll(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 6))
		op := &Operator{Formula: "Attention", Inputs: []*Tensor{randomTensor(r, 1, 4, 2, 8, 8), randomTensor(r, 1, 4, 2, 2, 8), randomTensor(r, 1, 4, 2, 2, 8)}, Outputs: []*Tensor{randomTensor(r, 0.5, 4, 2, 64)},
			Attributes: attributesOf("layout=SBND masked=out"), Open: true, Called: true}
		for _, x := range append(slices.Clone(op.Inputs), op.Outputs...) {
			x.DType = tensor.BFloat16
		}
		if v, err := Judge(context.Background(), op); err != nil || v.Status != Misfit {
			t.Errorf("seed %d: %+v, %v, want %s", seed, v, err, Misfit)
		}
	}
}

// packedSequences concatenates sequences of heads, each of shape 1, n, rows, d, in the layout TND.
func packedSequences(all []*Tensor) *Tensor {
	out := &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: tensor.Shape{0, all[0].Shape[1], all[0].Shape[3]}}
	var values []float64
	for _, x := range all {
		out.Shape[0] += x.Shape[2]
		values = append(values, inLayout(x, "BSND").Source.(numbers).v...)
	}
	out.Source = numbers{values, tensor.Float32}
	return out
}

// TestPackedAttention: in the layout TND each sequence attends to itself, with the modes of masks in its own rows
// and columns. Without the ends of the sequences nothing is known.
func TestPackedAttention(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(21, 6))
	rows, columns := []int64{3, 1, 4}, []int64{5, 2, 4}
	const ends = "lengths=[3,4,8] lengths_kv=[5,7,11]"
	flags := tensorOf(t, "int 1x1", 1) // stands for the compressed mask of the modes
	for _, c := range []struct {
		name, attrs string
		mask        *Tensor
		allowed     func(i, j, behind int) bool
		want        Status
	}{
		{"no mask", ends, nil, func(i, j, behind int) bool { return true }, OK},
		{"aligned at the first", ends + " sparse_mode=2", flags, func(i, j, behind int) bool { return j <= i }, OK},
		{"aligned at the last", ends + " sparse_mode=3", flags, func(i, j, behind int) bool { return j <= i+behind }, OK},
		{"a band", ends + " sparse_mode=4 pre_tokens=1 next_tokens=0", flags, func(i, j, behind int) bool { return j <= i+behind && j >= i+behind-1 }, OK},
		{"another mask", ends + " sparse_mode=3", flags, func(i, j, behind int) bool { return true }, Wrong},
		{"ends of other sequences", "lengths=[4,5,8] lengths_kv=[5,7,11]", nil, func(i, j, behind int) bool { return true }, Wrong},
		{"no ends", "", nil, func(i, j, behind int) bool { return true }, Undecided},
		{"ends of q only", "lengths=[3,4,8]", nil, func(i, j, behind int) bool { return true }, Undecided},
	} {
		for part := range 4 { // the wrong output, 3 for none
			var qs, ks, vs, results, largest, sums []*Tensor
			for i := range rows {
				q, k, v := randomTensor(r, 1, 1, 2, rows[i], 8), randomTensor(r, 1, 1, 2, columns[i], 8), randomTensor(r, 1, 1, 2, columns[i], 4)
				outs := fused(q, k, v, constantTensor(0, randomTensor(r, 1, 1, 2, rows[i], columns[i])), .5, func(a, b int) bool { return c.allowed(a, b, int(columns[i]-rows[i])) })
				qs, ks, vs = append(qs, q), append(ks, k), append(vs, v)
				results, largest, sums = append(results, outs[0]), append(largest, outs[1]), append(sums, outs[2])
			}
			outs := []*Tensor{packedSequences(results), packedSequences(largest), packedSequences(sums)}
			if part < 3 {
				values := outs[part].Source.(numbers).v
				for i := range 8 {
					values[16+i]++
				}
			}
			op, warnings := BindCall("Attention", map[string][]*Tensor{"q": {packedSequences(qs)}, "k": {packedSequences(ks)}, "v": {packedSequences(vs)}, "mask": {c.mask}}, outs,
				attributesOf("input_layout=TND head_num=2 scale=0.5 masked=out "+c.attrs), nil)
			got, err := Judge(context.Background(), op)
			if err != nil || len(warnings) > 0 {
				t.Fatal(err, warnings)
			}
			want := c.want
			if want == OK && part < 3 {
				want = Wrong
			}
			if got.Status != want {
				t.Errorf("%s, output %d wrong: %s %s %s with %v", c.name, part, got.Status, got.Reason, got.Why, got.Attributes)
			}
		}
	}
}

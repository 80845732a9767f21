package ranks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// addUp sums numbers in a chain or a tree, rounded at each step or at the end.
func addUp(x []float64, tree, inType, cut bool, round func(float64, bool) float64) float64 {
	step := ranktest.Rounders[tensor.Float32]
	if inType {
		step = round
	}
	x = slices.Clone(x)
	for len(x) > 1 {
		if !tree {
			x[1] = step(x[0]+x[1], cut)
			x = x[1:]
			continue
		}
		var half []float64
		for i := 0; i < len(x); i += 2 {
			if i+1 < len(x) {
				half = append(half, step(x[i]+x[i+1], cut))
			} else {
				half = append(half, x[i])
			}
		}
		x = half
	}
	return round(x[0], cut)
}

// TestSums: right sums of any order and precision are accepted: many and few members, cancellation, subnormals, and
// overflowing partial sums.
func TestSums(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.SampledFrom([]tensor.DType{tensor.BFloat16, tensor.Float16, tensor.Float32}).Draw(rt, "type")
		n := rapid.IntRange(2, 64).Draw(rt, "members")
		size := rapid.IntRange(1, 40).Draw(rt, "size")
		kind := rapid.SampledFrom([]string{"normal", "cancelling", "subnormal", "large", "wide"}).Draw(rt, "kind")
		op := rapid.SampledFrom([]trace.Reduction{trace.Sum, trace.Avg}).Draw(rt, "reduction")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		round := ranktest.Rounders[d]
		p, _ := newPrecision(d)
		x := make([][]float64, n)
		for i := range x {
			x[i] = make([]float64, size)
			for k := range x[i] {
				v := random.NormFloat64()
				switch {
				case kind == "cancelling" && i%2 == 1:
					v = -x[i-1][k] * (1 + 0.01*random.NormFloat64())
				case kind == "subnormal":
					v *= p.smallest * 8
				case kind == "large":
					v *= p.largest / 4
				case kind == "wide":
					v *= math.Ldexp(1, random.IntN(20)-10)
				}
				x[i][k] = round(v, false)
			}
		}
		b := new(ranktest.Built)
		group := make([]int, n)
		for i := range group {
			group[i] = i
		}
		for i := range n {
			y := make([]float64, size)
			order := random.Perm(n)
			tree, inType, cut := random.IntN(2) == 0, random.IntN(2) == 0, random.IntN(2) == 0
			for k := range y {
				column := make([]float64, n)
				for at, j := range order {
					column[at] = x[j][k]
				}
				y[k] = addUp(column, tree, inType, cut, round)
				if op == trace.Avg {
					y[k] = round(y[k]/float64(n), cut)
				}
			}
			b.Comm(0, i, "all_reduce", group, []*trace.Tensor{ranktest.Of(d, x[i]...)}, []*trace.Tensor{ranktest.Of(d, y...)}, func(m *trace.Comm) { m.Op = op })
		}
		report := judged(t, runOf(b), Options{NoReplicas: true})
		if report.Events.Checked != 1 || len(report.Findings) > 0 {
			rt.Fatalf("%+v %+v %s", report.Events, report.Findings[0], report.Findings[0].Evidence)
		}
	})
}

// fold reduces numbers of members one by one.
func fold(d tensor.DType, op func(a, b float64) float64, x ...[]float64) []float64 {
	y := slices.Clone(x[0])
	for _, v := range x[1:] {
		for i := range y {
			y[i] = ranktest.Rounders[d](op(y[i], v[i]), false)
		}
	}
	return y
}

func add(a, b float64) float64 { return a + b }

// first is the first finding as a text, empty for none.
func first(r *Report) string {
	if len(r.Findings) == 0 {
		return ""
	}
	f := r.Findings[0]
	text := fmt.Sprintf("%d %s %s", f.Rank, f.Kind, f.Confidence)
	if len(f.Alt) > 0 {
		text += fmt.Sprint(" or ", f.Alt)
	}
	return text
}

// TestCollectives: each communication with right outputs, and with each fault.
func TestCollectives(t *testing.T) {
	const d = tensor.BFloat16
	x := [][]float64{ranktest.Normals(d, 1, 24), ranktest.Normals(d, 2, 24), ranktest.Normals(d, 3, 24), ranktest.Normals(d, 4, 24)}
	group := []int{0, 1, 2, 3}
	total := fold(d, add, x...)
	scaled := func(v []float64, by float64) []float64 {
		y := slices.Clone(v)
		for i := range y {
			y[i] = ranktest.Rounders[d](y[i]*by, false)
		}
		return y
	}
	damaged := func(v []float64, from, to int) []float64 {
		y := slices.Clone(v)
		copy(y[from:to], ranktest.Normals(d, 99, to-from))
		return y
	}
	joined := slices.Concat(x...)
	same := func(v []float64) [][]float64 { return [][]float64{v, v, v, v} }
	parts := func(v []float64) (all [][]float64) {
		for i := range 4 {
			all = append(all, v[6*i:6*i+6])
		}
		return all
	}
	but := func(all [][]float64, at int, v []float64) [][]float64 {
		all = slices.Clone(all)
		all[at] = v
		return all
	}
	exchanged := make([][]float64, 4)
	for i := range 4 {
		for j := range 4 {
			exchanged[i] = append(exchanged[i], x[j][6*i:6*i+6]...)
		}
	}
	reversed := slices.Concat(exchanged[2][18:], exchanged[2][12:18], exchanged[2][6:12], exchanged[2][:6])
	root := func(at int) func(*trace.Comm) { return func(m *trace.Comm) { m.Root = at } }
	op := func(r trace.Reduction) func(*trace.Comm) { return func(m *trace.Comm) { m.Op = r } }
	for _, c := range []struct {
		name, api string
		out       [][]float64
		change    func(*trace.Comm)
		want      string
	}{
		{"sum", "all_reduce", same(total), nil, ""},
		{"missing", "all_reduce", same(fold(d, add, x[0], x[1], x[3])), nil, "2 MISSING_RANK high"},
		{"twice", "all_reduce", same(fold(d, add, x[0], x[1], x[1], x[2], x[3])), nil, "1 DOUBLE_RANK high"},
		{"averaged", "all_reduce", but(same(total), 3, scaled(total, 0.25)), nil, "3 AVERAGED high"},
		{"average", "all_reduce", same(scaled(total, 0.25)), op(trace.Avg), ""},
		{"not averaged", "all_reduce", but(same(scaled(total, 0.25)), 1, total), op(trace.Avg), "1 NOT_AVERAGED high"},
		{"not reduced", "all_reduce", but(same(total), 1, x[1]), nil, "1 NOT_REDUCED high"},
		{"not reduced by anybody", "all_reduce", x, nil, "0 NOT_REDUCED high"},
		{"damaged", "all_reduce", but(same(total), 2, damaged(total, 3, 9)), nil, "2 CORRUPT high"},
		{"damaged everywhere", "all_reduce", same(damaged(total, 3, 9)), nil, "0 CORRUPT medium or [1 2 3]"},
		{"largest", "all_reduce", same(fold(d, math.Max, x...)), op(trace.Maximum), ""},
		{"largest without one", "all_reduce", same(fold(d, math.Max, x[0], x[1], x[2])), op(trace.Maximum), "3 MISSING_RANK high"},
		{"smallest", "all_reduce", same(fold(d, math.Min, x...)), op(trace.Minimum), ""},
		{"product", "all_reduce", same(fold(d, func(a, b float64) float64 { return a * b }, x...)), op(trace.Product), ""},
		{"wrong product", "all_reduce", but(same(fold(d, func(a, b float64) float64 { return a * b }, x...)), 0, total), op(trace.Product), "0 CORRUPT high"},
		{"to a root", "reduce", but(x, 2, total), root(2), ""},
		{"to a root, missing", "reduce", but(x, 2, fold(d, add, x[0], x[2], x[3])), root(2), "1 MISSING_RANK high"},
		{"scattered", "reduce_scatter_tensor", parts(total), nil, ""},
		{"scattered wrong", "reduce_scatter_tensor", but(parts(total), 1, parts(total)[2]), nil, "1 WRONG_PART high"},
		{"gathered", "all_gather_into_tensor", same(joined), nil, ""},
		{"swapped", "all_gather_into_tensor", but(same(joined), 0, slices.Concat(x[1], x[0], x[2], x[3])), nil, "0 SWAPPED high"},
		{"sent other", "all_gather_into_tensor", same(slices.Concat(x[0], damaged(x[1], 0, 5), x[2], x[3])), nil, "1 SENT_OTHER medium"},
		{"gathered damaged", "all_gather_into_tensor", but(same(joined), 3, damaged(joined, 30, 40)), nil, "3 CORRUPT high"},
		{"gathered at a root", "gather", [][]float64{nil, joined, nil, nil}, root(1), ""},
		{"swapped at a root", "gather", [][]float64{nil, slices.Concat(x[0], x[2], x[1], x[3]), nil, nil}, root(1), "1 SWAPPED high"},
		{"scattered from a root", "scatter", parts(x[3]), root(3), ""},
		{"scattered from a root wrong", "scatter", but(parts(x[3]), 0, parts(x[3])[2]), root(3), "0 WRONG_PART high"},
		{"broadcast", "broadcast", same(x[2]), root(2), ""},
		{"not received", "broadcast", but(same(x[2]), 3, x[3]), root(2), "3 NOT_RECEIVED high"},
		{"broadcast other", "broadcast", but(same(damaged(x[2], 0, 9)), 2, x[2]), root(2), "2 SENT_OTHER medium"},
		{"broadcast damaged", "broadcast", but(same(x[2]), 1, damaged(x[2], 4, 5)), root(2), "1 CORRUPT high"},
		{"exchanged", "all_to_all_single", exchanged, nil, ""},
		{"exchanged in another order", "all_to_all_single", but(exchanged, 2, reversed), nil, "2 SWAPPED high"},
		{"exchanged damaged", "all_to_all_single", but(exchanged, 2, damaged(exchanged[2], 1, 4)), nil, "2 CORRUPT high"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := new(ranktest.Built)
			for i := range group {
				out := []*trace.Tensor{ranktest.Of(d, c.out[i]...)}
				if c.out[i] == nil {
					out = nil
				}
				b.Comm(0, i, c.api, group, []*trace.Tensor{ranktest.Of(d, x[i]...)}, out, c.change)
			}
			report := judged(t, runOf(b), Options{NoReplicas: true})
			if got := first(report); got != c.want || report.Events.Checked != 1 {
				t.Errorf("%q, want %q: %+v", got, c.want, report.Events)
			}
		})
	}
}

// TestTwoMembers: if both of two members hold one input, both readings are reported.
func TestTwoMembers(t *testing.T) {
	const d = tensor.Float16
	x := ranktest.Normals(d, 5, 50)
	b := new(ranktest.Built)
	for i := range 2 { // equal inputs: either may be the missing one
		b.Comm(0, i, "all_reduce", []int{0, 1}, []*trace.Tensor{ranktest.Of(d, x...)}, []*trace.Tensor{ranktest.Of(d, x...)}, nil)
	}
	report := judged(t, runOf(b), Options{NoReplicas: true})
	if len(report.Findings) != 0 || len(report.Notes) != 1 || report.Notes[0].Kind != InputTooLate {
		t.Errorf("%v %+v: the inputs may have been dumped too late", report.Findings, report.Notes)
	}
	y := ranktest.Normals(d, 6, 50)
	total := fold(d, add, x, x, y)
	_ = total
	b = new(ranktest.Built)
	for i, in := range [][]float64{x, x, y} {
		b.Comm(0, i, "all_reduce", []int{0, 1, 2}, []*trace.Tensor{ranktest.Of(d, in...)}, []*trace.Tensor{ranktest.Of(d, fold(d, add, x, y)...)}, nil)
	}
	if got := first(judged(t, runOf(b), Options{NoReplicas: true})); got != "0 MISSING_RANK medium or [1]" {
		t.Error(got)
	}
}

// TestLists: lists of tensors, splits of rows, sends and receives, and integers that
// wrap.
func TestLists(t *testing.T) {
	const d = tensor.Float32
	a, c := ranktest.Normals(d, 1, 6), ranktest.Normals(d, 2, 6)
	list := func(all ...[]float64) (out []*trace.Tensor) {
		for _, v := range all {
			out = append(out, ranktest.Of(d, v...))
		}
		return out
	}
	rows := func(v []float64) *trace.Tensor { return ranktest.FloatTensor(d, tensor.Shape{int64(len(v) / 2), 2}, v) }
	two := []int{0, 1}
	for _, x := range []struct {
		name  string
		build func(b *ranktest.Built, wrong bool)
		want  string
	}{
		{"all_gather", func(b *ranktest.Built, wrong bool) {
			second := c
			if wrong {
				second = a
			}
			b.Comm(0, 0, "all_gather", two, list(a), list(a, c), nil)
			b.Comm(0, 1, "all_gather", two, list(c), list(a, second), nil)
		}, "1 SWAPPED high"},
		{"all_to_all", func(b *ranktest.Built, wrong bool) {
			out := list(a[3:], c[2:])
			if wrong {
				out = list(a[:3], c[2:])
			}
			b.Comm(0, 0, "all_to_all", two, list(a[:3], a[3:]), list(a[:3], c[:2]), nil)
			b.Comm(0, 1, "all_to_all", two, list(c[:2], c[2:]), out, nil)
		}, "1 CORRUPT high"},
		{"reduce_scatter", func(b *ranktest.Built, wrong bool) {
			out := list(fold(d, add, a[4:], c[4:]))
			if wrong {
				out = list(a[4:])
			}
			b.Comm(0, 0, "reduce_scatter", two, list(a[:4], a[4:]), list(fold(d, add, a[:4], c[:4])), nil)
			b.Comm(0, 1, "reduce_scatter", two, list(c[:4], c[4:]), out, nil)
		}, "1 MISSING_RANK high"},
		{"all_to_all_single", func(b *ranktest.Built, wrong bool) {
			out := slices.Concat(a[2:], c[4:])
			if wrong {
				out = slices.Concat(c[4:], a[2:])
			}
			b.Comm(0, 0, "all_to_all_single", two, []*trace.Tensor{rows(a)}, []*trace.Tensor{rows(slices.Concat(a[:2], c[:4]))}, func(m *trace.Comm) { m.Sent, m.Received = []int64{1, 2}, []int64{1, 2} })
			b.Comm(0, 1, "all_to_all_single", two, []*trace.Tensor{rows(c)}, []*trace.Tensor{rows(out)}, func(m *trace.Comm) { m.Sent, m.Received = []int64{2, 1}, []int64{2, 1} })
		}, "1 SWAPPED high"},
		{"send", func(b *ranktest.Built, wrong bool) {
			for step := range 2 {
				out := [][]float64{a, c}[step]
				if wrong && step == 1 {
					out = a
				}
				b.Comm(step, 0, "isend", nil, list([][]float64{a, c}[step]), nil, func(m *trace.Comm) { m.Root = 1 })
				b.Comm(step, 1, "irecv", nil, nil, list(out), func(m *trace.Comm) { m.Root = 0 })
			}
		}, "1 STALE high"},
		{"batch_isend_irecv", func(b *ranktest.Built, wrong bool) {
			second := c
			if wrong {
				second = ranktest.Normals(d, 9, 6)
			}
			part := func(api string, peer int, in, out []*trace.Tensor) *trace.Comm {
				return &trace.Comm{API: trace.APIOf(api), Name: api, Root: peer, In: in, Out: out}
			}
			b.Comm(0, 0, "batch_isend_irecv", nil, list(a), list(second), func(m *trace.Comm) {
				m.Parts = []*trace.Comm{part("isend", 1, m.In, nil), part("irecv", 1, nil, m.Out)}
			})
			b.Comm(0, 1, "batch_isend_irecv", nil, list(c), list(a), func(m *trace.Comm) {
				m.Parts = []*trace.Comm{part("isend", 0, m.In, nil), part("irecv", 0, nil, m.Out)}
			})
		}, "0 CORRUPT high"},
		{"integers", func(b *ranktest.Built, wrong bool) {
			out := ranktest.IntTensor(tensor.Shape{2}, []int32{math.MinInt32 + 4, 3})
			if wrong {
				out = ranktest.IntTensor(tensor.Shape{2}, []int32{math.MinInt32 + 5, 3})
			}
			b.Comm(0, 0, "all_reduce", two, []*trace.Tensor{ranktest.IntTensor(tensor.Shape{2}, []int32{math.MaxInt32, 1})}, []*trace.Tensor{out}, nil)
			b.Comm(0, 1, "all_reduce", two, []*trace.Tensor{ranktest.IntTensor(tensor.Shape{2}, []int32{5, 2})}, []*trace.Tensor{ranktest.IntTensor(tensor.Shape{2}, []int32{math.MinInt32 + 4, 3})}, nil)
		}, "0 CORRUPT high"},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, wrong := range []bool{false, true} {
				b := new(ranktest.Built)
				x.build(b, wrong)
				want := ""
				if wrong {
					want = x.want
				}
				report := judged(t, runOf(b), Options{NoReplicas: true})
				if got := first(report); got != want || report.Events.Skipped > 0 || report.Events.Checked == 0 {
					t.Errorf("wrong %v: %q, want %q: %+v", wrong, got, want, report.Events)
				}
			}
		})
	}
}

// TestNotChecked: events that do not fit together or are incomplete are never wrong.
func TestNotChecked(t *testing.T) {
	const d = tensor.Float32
	a, c := ranktest.Of(d, 1, 2, 3, 4), ranktest.Of(d, 5, 6, 7, 8)
	two := []int{0, 1}
	for _, x := range []struct {
		name, want string
		build      func(b *ranktest.Built)
	}{
		{"a member that is not there", "rank 1 not in the dump", func(b *ranktest.Built) { b.Comm(0, 0, "all_reduce", two, []*trace.Tensor{a}, []*trace.Tensor{c}, nil) }},
		{"one rank without a group", "a group of one rank", func(b *ranktest.Built) {
			b.Comm(0, 0, "all_reduce", nil, []*trace.Tensor{a}, []*trace.Tensor{c}, nil)
		}},
		{"other types", "the ranks of the group have tensors of different types", func(b *ranktest.Built) {
			b.Comm(0, 0, "all_reduce", two, []*trace.Tensor{a}, []*trace.Tensor{a}, nil)
			b.Comm(0, 1, "all_reduce", two, []*trace.Tensor{ranktest.Of(tensor.Float16, 1, 2, 3, 4)}, []*trace.Tensor{c}, nil)
		}},
		{"other shapes", "the ranks of the group have tensors of different shapes", func(b *ranktest.Built) {
			b.Comm(0, 0, "all_reduce", two, []*trace.Tensor{a}, []*trace.Tensor{a}, nil)
			b.Comm(0, 1, "all_reduce", two, []*trace.Tensor{ranktest.Of(d, 1)}, []*trace.Tensor{c}, nil)
		}},
		{"no output", "rank 1 has no output", func(b *ranktest.Built) {
			b.Comm(0, 0, "all_reduce", two, []*trace.Tensor{a}, []*trace.Tensor{a}, nil)
			b.Comm(0, 1, "all_reduce", two, []*trace.Tensor{c}, nil, nil)
		}},
		{"rows that cannot be shared", "parts do not add up: 1 rows of rank 0 among 2", func(b *ranktest.Built) {
			for i := range 2 {
				b.Comm(0, i, "reduce_scatter_tensor", two, []*trace.Tensor{ranktest.Of(d, 1)}, []*trace.Tensor{ranktest.Of(d, 1)}, nil)
			}
		}},
		{"splits", "parts do not add up: rank 0 sends [1 1] of 4 rows to 2 ranks", func(b *ranktest.Built) {
			for i := range 2 {
				b.Comm(0, i, "all_to_all_single", two, []*trace.Tensor{a}, []*trace.Tensor{c}, func(m *trace.Comm) { m.Sent, m.Received = []int64{1, 1}, []int64{1, 1} })
			}
		}},
		{"splits of others", "parts do not add up: rank 1 sends 2 rows and rank 0 receives [2 1]", func(b *ranktest.Built) {
			for i := range 2 {
				b.Comm(0, i, "all_to_all_single", two, []*trace.Tensor{a}, []*trace.Tensor{c}, func(m *trace.Comm) { m.Sent, m.Received = []int64{2, 2}, []int64{2, 1 + int64(i)} })
			}
		}},
		{"another reduction", "the ranks of the group use different reductions", func(b *ranktest.Built) {
			for i := range 2 {
				b.Comm(0, i, "all_reduce", two, []*trace.Tensor{a}, []*trace.Tensor{c}, func(m *trace.Comm) { m.Op = []trace.Reduction{trace.Sum, trace.Avg}[i] })
			}
		}},
		{"an unknown reduction", "an unknown reduction", func(b *ranktest.Built) {
			for i := range 2 {
				b.Comm(0, i, "all_reduce", two, []*trace.Tensor{a}, []*trace.Tensor{c}, func(m *trace.Comm) { m.Op = trace.ReductionOf("RedOpType.BXOR") })
			}
		}},
		{"digests alone", "no tensors, and the digests prove nothing", func(b *ranktest.Built) {
			for i := range 2 {
				b.Comm(0, i, "all_reduce", two, []*trace.Tensor{{Name: "x", DType: d, Shape: tensor.Shape{4}, Digest: "00000000"}}, []*trace.Tensor{c}, nil)
			}
		}},
		{"complex", "elements of complex64", func(b *ranktest.Built) {
			for i := range 2 {
				z := ranktest.MemoryTensor(tensor.Complex64, tensor.Complex64, tensor.Shape{1}, make([]byte, 8))
				b.Comm(0, i, "all_reduce", two, []*trace.Tensor{z}, []*trace.Tensor{z}, nil)
			}
		}},
		{"a group that nobody has named", "the group is unknown", func(b *ranktest.Built) {
			for i := range 2 {
				b.Comm(0, i, "all_reduce", nil, []*trace.Tensor{[]*trace.Tensor{a, c}[i]}, []*trace.Tensor{ranktest.Of(d, 9, 9, 9, 100)}, nil)
			}
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := new(ranktest.Built)
			x.build(b)
			r := runOf(b)
			if x.name == "a member that is not there" {
				r = newRun(b.Run(), []int{1})
			}
			report, err := r.Judge(t.Context(), Options{NoReplicas: true})
			if err != nil || len(report.Findings) > 0 || report.Events.Checked > 0 || len(report.Events.Reasons) != 1 || report.Events.Reasons[0].Text != x.want {
				t.Errorf("%v %v: %+v, want %q", err, report.Findings, report.Events, x.want)
			}
		})
	}
}

// TestDigests: copies are checked by digests alone.
func TestDigests(t *testing.T) {
	of := func(digest string) []*trace.Tensor {
		return []*trace.Tensor{{Name: "x", DType: tensor.Float16, Shape: tensor.Shape{4}, Digest: digest}}
	}
	for _, c := range []struct{ received, want string }{{"aaaaaaaa", ""}, {"bbbbbbbb", "1 NOT_RECEIVED high"}, {"cccccccc", "1 CORRUPT high"}} {
		b := new(ranktest.Built)
		b.Comm(0, 0, "broadcast", []int{0, 1}, of("aaaaaaaa"), of("aaaaaaaa"), nil)
		b.Comm(0, 1, "broadcast", []int{0, 1}, of("bbbbbbbb"), of(c.received), nil)
		if got := first(judged(t, runOf(b), Options{NoReplicas: true})); got != c.want {
			t.Errorf("%s: %q, want %q", c.received, got, c.want)
		}
	}
}

// TestOverflow: sums and partial sums that are infinite.
func TestOverflow(t *testing.T) {
	const d = tensor.Float16
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		x, y []float64
		want string
	}{
		{[]float64{60000, 60000, -60000}, []float64{60000, 60000, inf}, ""},               // a partial sum may have overflowed
		{[]float64{60000, 60000, 1}, []float64{inf, 65504, inf}, ""},                      // saturated
		{[]float64{1, nan, 2}, []float64{nan, nan, nan}, ""},                              // NaN stays NaN
		{[]float64{1, nan, 2}, []float64{nan, nan, 3}, "2 CORRUPT high"},                  // NaN is lost
		{[]float64{1, 2, 3}, []float64{6, inf, 6}, "1 CORRUPT high"},                      // infinite from small numbers
		{[]float64{inf, -inf, 0}, []float64{nan, nan, nan}, ""},                           // inf - inf
		{[]float64{inf, 1, 0}, []float64{inf, inf, 1}, "2 CORRUPT high"},                  // infinity is lost
		{[]float64{30000, 30000, -100}, []float64{59904, 59904, 45000}, "2 CORRUPT high"}, // within the range
	} {
		b := new(ranktest.Built)
		for i := range 3 {
			b.Comm(0, i, "all_reduce", []int{0, 1, 2}, []*trace.Tensor{ranktest.Of(d, c.x[i])}, []*trace.Tensor{ranktest.Of(d, c.y[i])}, nil)
		}
		if got := first(judged(t, runOf(b), Options{NoReplicas: true})); got != c.want {
			t.Errorf("%v -> %v: %q, want %q", c.x, c.y, got, c.want)
		}
	}
}

// TestLowPrecision: sums that are less exact than their type become a note, although sums of few numbers are exact or
// nearly exact. A
// sum that is worse than the others stays wrong.
func TestLowPrecision(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		b := new(ranktest.Built)
		for k := range 8 {
			x, y := ranktest.Normals(tensor.BFloat16, uint64(k+1), 200), ranktest.Normals(tensor.BFloat16, uint64(k+50), 200)
			out := make([]float64, len(x))
			for i := range out {
				out[i] = math.Round(16*(x[i]+y[i])) / 16 // rounded to eight bits
			}
			if damaged && k == 5 {
				out = ranktest.Normals(tensor.BFloat16, 99, 200)
			}
			for rank, in := range [][]float64{x, y} {
				b.Comm(0, rank, "all_reduce", []int{0, 1}, []*trace.Tensor{ranktest.Of(tensor.BFloat16, in...)}, []*trace.Tensor{ranktest.Of(tensor.BFloat16, out...)}, nil)
			}
		}
		nearly := slices.Repeat([]float64{3}, 200) // exact in eight bits but for one element
		nearly[100] = 3.0625
		for rank, in := range []float64{1, 2} {
			b.Comm(0, rank, "all_reduce", []int{0, 1}, []*trace.Tensor{ranktest.Of(tensor.BFloat16, slices.Repeat([]float64{in}, 200)...)}, []*trace.Tensor{ranktest.Of(tensor.BFloat16, nearly...)}, nil)
		}
		for range 12 { // exact in eight bits
			for rank := range 2 {
				b.Comm(0, rank, "all_reduce", []int{0, 1}, []*trace.Tensor{ranktest.Of(tensor.BFloat16, 1, 2)}, []*trace.Tensor{ranktest.Of(tensor.BFloat16, 2, 4)}, nil)
			}
		}
		report := judged(t, runOf(b), Options{NoReplicas: true})
		wrong := 0
		if damaged {
			wrong = 1
		}
		if len(report.Findings) != wrong || report.Events.Wrong != wrong || len(report.Notes) != 1 || report.Notes[0].Kind != LowPrecisionComm || report.Notes[0].Count != 9-wrong {
			t.Errorf("damaged %v: %v %+v", damaged, report.Findings, report.Notes)
		}
	}
}

// TestGroupOfOne: in a group of one rank every communication returns its input. A group that no call names may have
// other ranks.
func TestGroupOfOne(t *testing.T) {
	const d = tensor.BFloat16
	x := ranktest.Normals(d, 3, 21)
	cut := slices.Clone(x)
	clear(cut[13:])
	for _, api := range []string{"all_reduce", "reduce", "reduce_scatter_tensor", "reduce_scatter", "all_gather_into_tensor", "all_gather", "gather", "scatter", "broadcast", "all_to_all", "all_to_all_single"} {
		for _, op := range []trace.Reduction{trace.Sum, trace.Avg, trace.Maximum, trace.Product} {
			for _, c := range []struct {
				name  string
				group []int
				out   []float64
				want  string
			}{
				{"healthy", []int{2}, x, ""},
				{"a tail that was not written", []int{2}, cut, "2 CORRUPT high"},
				{"no group", nil, cut, ""},
			} {
				b := new(ranktest.Built)
				b.Comm(0, 2, api, c.group, []*trace.Tensor{ranktest.Of(d, x...)}, []*trace.Tensor{ranktest.Of(d, c.out...)}, func(m *trace.Comm) { m.Op = op })
				report := judged(t, runOf(b), Options{NoReplicas: true})
				checked := 1
				if c.group == nil {
					checked = 0
				}
				if got := first(report); got != c.want || report.Events.Checked != checked {
					t.Errorf("%s, %s: %q with %d checked, want %q with %d", api, c.name, got, report.Events.Checked, c.want, checked)
				}
			}
		}
	}
}

package ranks

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// TestBehindFindings: an operator that a reference accuses is damage if it comes after a finding, on ranks that the
// finding reaches. It is no damage before the finding, or if it is wrong by its own inputs.
func TestBehindFindings(t *testing.T) {
	const d = tensor.Float32
	for _, c := range []struct {
		step, rank, op string
		own            bool
		want           int // number of findings
	}{
		{"0", "0", "before", false, 2}, {"0", "0", "behind", false, 1}, {"0", "0", "behind", true, 2},
		{"0", "1", "behind", false, 2}, // a rank that is not reached
		{"1", "0", "before", false, 1},
	} {
		b := new(ranktest.Built)
		for step := range 2 {
			for rank := range 2 {
				operator := func(name string, seed uint64) {
					b.Call(step, rank, "Module."+name+".X.forward.0", &trace.Call{In: []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, seed, 4)...)}, Out: []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, seed+1, 4)...)}})
				}
				operator("before", uint64(100*step+10*rank))
				x := ranktest.Normals(d, uint64(7+step), 40)
				y := slices.Clone(x)
				if step == 0 && rank == 0 {
					y[3]++
				}
				b.Comm(step, rank, "broadcast", []int{0, 1}, []*trace.Tensor{ranktest.Of(d, x...)}, []*trace.Tensor{ranktest.Of(d, y...)}, func(m *trace.Comm) { m.Root = 1 })
				operator("behind", uint64(500+100*step+10*rank))
			}
		}
		b.Steps[1].Calls[0][1].Comm.Group, b.Steps[1].Calls[1][1].Comm.Group = []int{0}, []int{1} // nothing is sent to the other rank
		r := runOf(b)
		report := judged(t, r, Options{NoReplicas: true, Others: []*Finding{claim(r, c.step, c.rank, c.op, c.own)}})
		if len(report.Findings) != c.want {
			t.Errorf("step %s rank %s %s, own %v: %d findings, want %d", c.step, c.rank, c.op, c.own, len(report.Findings), c.want)
		}
	}
}

// claim accuses an operator, by its own inputs or by a reference.
func claim(r *Run, step, rank, name string, own bool) *Finding {
	f := r.Claim(dumpdir.Coordinates{Step: step, Rank: rank}, "Module."+name+".X.forward.0", Compute, high, lang.Plain("wrong"))
	f.Own = own
	return f
}

// TestRightIsLast: an operator that is right by its inputs is no cause of wrong operators behind it in the same step.
func TestRightIsLast(t *testing.T) {
	const d = tensor.Float32
	b := new(ranktest.Built)
	for step := range 2 {
		for i, name := range []string{"first", "second"} {
			seed := uint64(10*step + i)
			b.Call(step, 0, "Module."+name+".X.forward.0", &trace.Call{In: []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, seed, 4)...)}, Out: []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, seed+5, 4)...)}})
		}
	}
	r := runOf(b)
	consistent := claim(r, "0", "0", "first", false)
	consistent.Consistent, consistent.Confidence = true, medium
	report := judged(t, r, Options{NoReplicas: true, Others: []*Finding{consistent, claim(r, "0", "0", "second", true), claim(r, "1", "0", "second", true)}})
	var got []string
	for _, f := range report.Findings {
		got = append(got, f.Step+" "+f.Op+" "+string(f.Confidence))
	}
	want := []string{"0 Module.second.X.forward.0 high", "0 Module.first.X.forward.0 medium", "1 Module.second.X.forward.0 high"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnplaced: the order comes from the inputs of calls, and an operator has inputs without a producer. Its fault is
// damage if a rank that its own rank communicates with at an unknown time is surely wrong: not before that fault, and
// not if its position is known.
func TestUnplaced(t *testing.T) {
	const d = tensor.Float32
	for _, c := range []struct {
		name    string
		accused string // on rank 1, by its own inputs
		damaged bool   // the gather itself, on rank 1
		from    string // producer of the attention's input, empty for none
		ordered bool
		nan     bool   // the attention is found by the NaN that it makes, not by a reference
		want    string // the operators that are found
	}{
		{"a layer as early", "layers.1.norm", false, "", false, false, "1 layers.1.norm"},
		{"a later layer", "layers.2.norm", false, "", false, false, "0 layers.1.attn, 1 layers.2.norm"},
		{"communication", "", true, "", false, false, "1 Distributed.all_gather_into_tensor.0.forward"},
		{"a place that is known", "layers.1.norm", false, "start", false, false, "0 layers.1.attn, 1 layers.1.norm"},
		{"an order that is known", "layers.1.norm", false, "", true, false, "0 layers.1.attn, 1 layers.1.norm"},
		{"NaN", "layers.1.norm", false, "", false, true, "1 layers.1.norm"},
		{"NaN and nothing else", "", false, "", false, true, "0 layers.1.attn"},
		{"nothing else", "", false, "", false, false, "0 layers.1.attn"},
	} {
		b := new(ranktest.Built)
		b.Step(0).Ordered = map[int]bool{0: c.ordered, 1: c.ordered}
		value := func(seed uint64) *trace.Tensor { return ranktest.Of(d, ranktest.Normals(d, seed, 12)...) }
		keys := [][]float64{ranktest.Normals(d, 90, 12), ranktest.Normals(d, 91, 12)}
		for rank := range 2 {
			at := uint64(1000 * rank)
			operator := func(name string, in, out uint64) {
				b.Call(0, rank, "Module."+name+".X.forward.0", &trace.Call{In: []*trace.Tensor{value(at + in)}, Out: []*trace.Tensor{value(at + out)}})
			}
			reads := uint64(50)
			if c.from == "start" {
				reads = 2
			}
			operator("layers.1.attn", reads, 51)
			gathered := slices.Concat(keys...)
			if c.damaged && rank == 1 {
				gathered[3]++
			}
			b.Comm(0, rank, "all_gather_into_tensor", []int{0, 1}, []*trace.Tensor{ranktest.Of(d, keys[rank]...)}, []*trace.Tensor{ranktest.Of(d, gathered...)}, nil)
			for i, name := range []string{"start", "layers.1.norm", "layers.1.next", "layers.2.norm", "layers.2.next"} {
				operator(name, uint64(1+i), uint64(2+i))
			}
			operator("layers.1.proj", 51, 52)
			for layer := range uint64(3) {
				operator("layers."+strconv.Itoa(int(2+layer))+".attn", 3, 60+layer)
			}
		}
		r := runOf(b)
		var all []*Finding
		if c.nan {
			y := ranktest.Normals(d, 51, 12)
			y[5] = math.NaN()
			b.Steps[0].Calls[0][0].Out[0] = ranktest.Of(d, y...)
		} else {
			all = append(all, claim(r, "0", "0", "layers.1.attn", false))
		}
		if c.accused != "" {
			all = append(all, claim(r, "0", "1", c.accused, true))
		}
		var got []string
		for _, f := range judged(t, r, Options{NoReplicas: !c.nan, Others: all}).Findings {
			got = append(got, strconv.Itoa(f.Rank)+" "+strings.TrimSuffix(strings.TrimPrefix(f.Op, "Module."), ".X.forward.0"))
		}
		if slices.Sort(got); strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %s", c.name, got, c.want)
		}
	}
}

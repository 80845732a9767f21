package ranks

import (
	"slices"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// TestBehindFindings: an operator that a reference accuses is part of the damage where it comes
// after a finding, on the ranks that this reaches; not before it, and not where it is wrong by what
// it read itself.
func TestBehindFindings(t *testing.T) {
	const d = tensor.Float32
	for _, c := range []struct {
		step, rank, op string
		own            bool
		want           int // findings
	}{
		{"0", "0", "before", false, 2}, {"0", "0", "behind", false, 1}, {"0", "0", "behind", true, 2},
		{"0", "1", "behind", false, 2}, // a rank that is not reached
		{"1", "0", "before", false, 1},
	} {
		b := new(built)
		for step := range 2 {
			for rank := range 2 {
				operator := func(name string, seed uint64) {
					b.call(step, rank, "Module."+name+".X.forward.0", &Call{In: []*Tensor{of(d, normals(d, seed, 4)...)}, Out: []*Tensor{of(d, normals(d, seed+1, 4)...)}})
				}
				operator("before", uint64(100*step+10*rank))
				x := normals(d, uint64(7+step), 40)
				y := slices.Clone(x)
				if step == 0 && rank == 0 {
					y[3]++
				}
				b.comm(step, rank, "broadcast", []int{0, 1}, []*Tensor{of(d, x...)}, []*Tensor{of(d, y...)}, func(m *Comm) { m.Root = 1 })
				operator("behind", uint64(500+100*step+10*rank))
			}
		}
		b.steps[1].Calls[0][1].Comm.Group, b.steps[1].Calls[1][1].Comm.Group = []int{0}, []int{1} // nothing goes on to the other rank
		report := judged(t, b.run(), Options{NoReplicas: true, Accused: []Accused{
			{At: dumpdir.Coordinates{Step: c.step, Rank: c.rank}, Op: "Module." + c.op + ".X.forward.0", Own: c.own, Evidence: lang.Plain("wrong")},
		}})
		if len(report.Findings) != c.want {
			t.Errorf("step %s rank %s %s, own %v: %d findings, want %d", c.step, c.rank, c.op, c.own, len(report.Findings), c.want)
		}
	}
}

// TestRightIsLast: what computes what its inputs say is no cause of what comes behind it and does
// not, in the same step.
func TestRightIsLast(t *testing.T) {
	const d = tensor.Float32
	b := new(built)
	for step := range 2 {
		for i, name := range []string{"first", "second"} {
			seed := uint64(10*step + i)
			b.call(step, 0, "Module."+name+".X.forward.0", &Call{In: []*Tensor{of(d, normals(d, seed, 4)...)}, Out: []*Tensor{of(d, normals(d, seed+5, 4)...)}})
		}
	}
	accused := func(step, name string, right bool) Accused {
		return Accused{At: dumpdir.Coordinates{Step: step, Rank: "0"}, Op: "Module." + name + ".X.forward.0", Own: !right, Right: right, Evidence: lang.Plain("wrong")}
	}
	report := judged(t, b.run(), Options{NoReplicas: true, Accused: []Accused{accused("0", "first", true), accused("0", "second", false), accused("1", "second", false)}})
	var got []string
	for _, f := range report.Findings {
		got = append(got, f.Step+" "+f.Op+" "+string(f.Confidence))
	}
	want := []string{"0 Module.second.X.forward.0 high", "0 Module.first.X.forward.0 medium", "1 Module.second.X.forward.0 high"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

package ranks

import (
	"math"
	"testing"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// TestUntoldReduction: dumps of tensors only do not state the reduction of a call. The outputs of all members tell
// it, with and without known groups; a member that holds something else is named.
func TestUntoldReduction(t *testing.T) {
	const d = tensor.Float32
	values := func(rank int) (x []float64) { // products of few bits are exact
		for k := range 40 {
			x = append(x, float64((7*k+11*rank)%16-8)/4)
		}
		return x
	}
	single := func(v float64) float64 { return float64(float32(v)) }
	for name, of2 := range map[string]func(a, b float64) float64{
		"sum": func(a, b float64) float64 { return single(a + b) }, "average": func(a, b float64) float64 { return single((a + b) / 2) },
		"maximum": math.Max, "minimum": math.Min, "product": func(a, b float64) float64 { return single(a * b) },
	} {
		for _, damaged := range []bool{false, true} {
			for _, told := range []bool{false, true} { // the groups
				b := new(ranktest.Built)
				for n := range 3 {
					for _, group := range [][]int{{0, 1}, {2, 3}} {
						for _, rank := range group {
							var y []float64
							for k := range 40 {
								y = append(y, of2(values(group[0] + 5*n)[k], values(group[1] + 5*n)[k]))
							}
							if damaged && n == 1 && rank == 3 {
								for k := range y {
									y[k] += 100
								}
							}
							ranks := group
							if !told {
								ranks = nil
							}
							b.Comm(0, rank, "all_reduce", ranks, []*trace.Tensor{ranktest.Of(d, values(rank+5*n)...)}, []*trace.Tensor{ranktest.Of(d, y...)}, func(m *trace.Comm) { m.ArgsMissing = true })
						}
					}
				}
				report := judged(t, runOf(b), Options{NoReplicas: true})
				want := ""
				if damaged {
					want = "3 CORRUPT high"
				}
				if got := first(report); got != want || report.Events.Checked != 6 || len(report.Findings) > 1 {
					t.Errorf("%s, groups told %v: %q, want %q: %+v", name, told, got, want, report.Events)
				}
			}
		}
	}
}

// TestUntoldZeros: calls whose values tell no group do not count as calls of the group of all ranks, which other
// calls of the function have.
func TestUntoldZeros(t *testing.T) {
	const d = tensor.Float32
	b := new(ranktest.Built)
	untold := func(m *trace.Comm) { m.ArgsMissing = true }
	for rank := range 4 {
		if rank > 1 {
			b.Comm(0, rank, "all_reduce", nil, []*trace.Tensor{ranktest.Of(d, make([]float64, 8)...)}, []*trace.Tensor{ranktest.Of(d, make([]float64, 8)...)}, untold)
		}
		in, out := make([]float64, 40), make([]float64, 40)
		for k := range in {
			in[k], out[k] = float64(rank+k), float64(6+4*k)
		}
		b.Comm(0, rank, "all_reduce", nil, []*trace.Tensor{ranktest.Of(d, in...)}, []*trace.Tensor{ranktest.Of(d, out...)}, untold)
	}
	report := judged(t, runOf(b), Options{NoReplicas: true})
	if len(report.Findings) > 0 || report.Events.Checked != 1 {
		t.Errorf("%q, want nothing: %+v", first(report), report.Events)
	}
}

// TestUntoldAverage: an average whose call does not say so is found although it has fewer bits than its type, or lacks a
// member.
func TestUntoldAverage(t *testing.T) {
	const d, members, calls = tensor.Float16, 8, 6
	for _, lacking := range []int{-1, 5} {
		b := new(ranktest.Built)
		for n := range calls {
			mean := make([]float64, 100)
			var in [members][]float64
			for rank := range members {
				in[rank] = ranktest.Normals(d, uint64(members*n+rank+1), len(mean))
				for k := range mean {
					if rank != lacking || n != calls-1 {
						mean[k] += in[rank][k] / members
					}
				}
			}
			for k, v := range mean {
				if lacking < 0 {
					v = math.Round(64*v) / 64
				}
				mean[k] = v
			}
			for rank := range members {
				b.Comm(0, rank, "all_reduce", []int{0, 1, 2, 3, 4, 5, 6, 7}, []*trace.Tensor{ranktest.Of(d, in[rank]...)}, []*trace.Tensor{ranktest.Of(d, mean...)}, func(m *trace.Comm) { m.ArgsMissing = true })
			}
		}
		report := judged(t, runOf(b), Options{NoReplicas: true})
		want, notes := "", 1
		if lacking >= 0 {
			want, notes = "5 MISSING_RANK high", 0
		}
		if got := first(report); got != want || len(report.Notes) != notes || notes > 0 && report.Notes[0].Kind != LowPrecisionComm {
			t.Errorf("without rank %d: %q, want %q: %+v", lacking, got, want, report.Notes)
		}
	}
}

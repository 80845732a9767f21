package ranks

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// weights builds runs of four ranks and two steps, with two pairs of replicas and three layers of a matrix and a
// norm.
type weights struct {
	ranktest.Built
	at map[[3]int][]float64 // step, rank, layer
}

func newWeights(moving bool) *weights {
	w := &weights{at: make(map[[3]int][]float64)}
	for step := range 2 {
		for rank := range 4 {
			for layer := range 3 {
				seed := uint64(100*(rank%2) + layer)
				if moving {
					seed += uint64(1000 * step)
				}
				w.at[[3]int{step, rank, layer}] = ranktest.Normals(tensor.BFloat16, seed+1, 64)
			}
		}
	}
	return w
}

func (w *weights) run() *Run {
	for step := range 2 {
		for rank := range 4 {
			for layer := range 3 {
				w.Call(step, rank, "Module.layers."+strconv.Itoa(layer)+".fc.Linear.forward.0", &trace.Call{
					In:     []*trace.Tensor{ranktest.Of(tensor.BFloat16, ranktest.Normals(tensor.BFloat16, uint64(rank+9*step+50), 8)...)},
					Params: []*trace.Tensor{ranktest.FloatTensor(tensor.BFloat16, tensor.Shape{8, 8}, w.at[[3]int{step, rank, layer}])},
					Out:    []*trace.Tensor{ranktest.Of(tensor.BFloat16, ranktest.Normals(tensor.BFloat16, uint64(rank+9*step+70), 8)...)},
				})
			}
		}
	}
	return runOf(&w.Built)
}

// TestReplicas: the wrong one of two replicas, and its fault.
func TestReplicas(t *testing.T) {
	flip := func(v []float64, bit int) []float64 {
		v = slices.Clone(v)
		at := slices.IndexFunc(v, func(x float64) bool { return math.Abs(x) < 1 }) // a larger one would become infinite
		v[at] = float64(math.Float32frombits(math.Float32bits(float32(v[at])) ^ 1<<bit))
		return v
	}
	other := ranktest.Normals(tensor.BFloat16, 77, 64)
	for _, c := range []struct {
		name          string
		moving        bool
		change        func(*weights)
		want          string
		CountElements int
	}{
		{"healthy", true, func(*weights) {}, "", 0},
		{"healthy and fixed", false, func(*weights) {}, "", 0},
		{"a flipped bit in weights that stand still", false, func(w *weights) { w.at[[3]int{1, 2, 1}] = flip(w.at[[3]int{1, 2, 1}], 20) }, "2 REPLICA_BIT high", 1},
		{"other weights where all stand still", false, func(w *weights) { w.at[[3]int{1, 3, 0}] = other }, "3 REPLICA high", 1},
		{"other weights where all move", true, func(w *weights) { w.at[[3]int{1, 3, 0}] = other }, "1 REPLICA low or [3]", 1},
		{"one that is a step behind", true, func(w *weights) {
			for layer := range 3 {
				w.at[[3]int{1, 1, layer}] = w.at[[3]int{0, 1, layer}]
			}
		}, "1 STALE_WEIGHTS high", 1},
		{"different from the start", false, func(w *weights) {
			w.at[[3]int{0, 2, 1}] = other
			w.at[[3]int{1, 2, 1}] = other
		}, "0 REPLICA low or [2]", 1},
		{"a bit that makes a value huge", true, func(w *weights) { w.at[[3]int{0, 2, 2}] = flip(w.at[[3]int{0, 2, 2}], 30) }, "2 REPLICA_BIT medium", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWeights(c.moving)
			c.change(w)
			report := judged(t, w.run(), Options{})
			if got := first(report); got != c.want || len(report.Findings) != c.CountElements || report.Replicas.Sets == 0 {
				t.Errorf("%q and %d, want %q and %d: %+v", got, len(report.Findings), c.want, c.CountElements, report.Replicas)
			}
		})
	}
}

// TestUniform: ranks that are no replicas of each other may all hold zeros or NaN.
func TestUniform(t *testing.T) {
	for _, fill := range []float64{0, math.NaN()} {
		w := newWeights(true)
		for rank := range 4 {
			for layer := range 3 {
				w.at[[3]int{1, rank, layer}] = slices.Repeat([]float64{fill}, 64)
			}
		}
		if got := first(judged(t, w.run(), Options{})); got != "" {
			t.Error(fill, got)
		}
	}
}

// TestTwice: equal inputs give equal results, unless ranks do different things by design.
func TestTwice(t *testing.T) {
	const d = tensor.Float16
	build := func(ranks int, result func(layer, rank int) []float64) *Report {
		b := new(ranktest.Built)
		for rank := range ranks {
			for layer := range 4 {
				x := ranktest.Normals(d, uint64(layer), 16)
				b.Call(0, rank, "Module.layers."+strconv.Itoa(layer)+".act.GELU.forward.0", &trace.Call{In: []*trace.Tensor{ranktest.Of(d, x...)}, Out: []*trace.Tensor{ranktest.Of(d, result(layer, rank)...)}})
			}
		}
		return judged(t, runOf(b), Options{})
	}
	healthy := func(layer int) []float64 { return ranktest.Normals(d, uint64(layer+40), 16) }
	for _, c := range []struct {
		name   string
		ranks  int
		result func(layer, rank int) []float64
		want   string
		notes  int
	}{
		{"healthy", 4, func(layer, _ int) []float64 { return healthy(layer) }, "", 0},
		{"one is wrong", 4, func(layer, rank int) []float64 {
			if layer == 2 && rank == 1 {
				return ranktest.Normals(d, 99, 16)
			}
			return healthy(layer)
		}, "1 COMPUTE high", 0},
		{"one of two", 2, func(layer, rank int) []float64 {
			if layer == 2 && rank == 0 {
				return ranktest.Normals(d, 99, 16)
			}
			return healthy(layer)
		}, "1 COMPUTE low or [0]", 0},
		{"no number", 2, func(layer, rank int) []float64 {
			y := slices.Clone(healthy(layer))
			if layer == 2 && rank == 0 {
				y[3] = math.NaN()
			}
			return y
		}, "0 COMPUTE high", 0},
		{"rounding", 4, func(layer, rank int) []float64 {
			y := slices.Clone(healthy(layer))
			if layer == 2 && rank == 1 {
				y[0] += 0x1p-12
			}
			return y
		}, "", 1},
		{"by design", 2, func(layer, rank int) []float64 { return ranktest.Normals(d, uint64(layer+40*rank), 16) }, "", 0},
		{"by design, many", 4, func(layer, rank int) []float64 { return ranktest.Normals(d, uint64(layer+40*rank), 16) }, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := build(c.ranks, c.result)
			if got := first(report); got != c.want || len(report.Notes) != c.notes {
				t.Errorf("%q, want %q; notes %+v", got, c.want, report.Notes)
			}
		})
	}
}

// TestStaleInputs: data of the previous step on some ranks only.
func TestStaleInputs(t *testing.T) {
	for _, c := range []struct {
		tokens func(step, rank int) int32
		want   string
	}{
		{func(step, rank int) int32 { return int32(10*step + rank) }, ""},
		{func(step, rank int) int32 { return int32(rank) }, ""}, // fixed data
		{func(step, rank int) int32 {
			if rank == 1 {
				return 5
			}
			return int32(10*step + rank)
		}, "1 STALE_INPUT medium"},
	} {
		b := new(ranktest.Built)
		for step := range 2 {
			for rank := range 3 {
				n := c.tokens(step, rank)
				b.Call(step, rank, "Module.embedding.Embedding.forward.0", &trace.Call{
					In:  []*trace.Tensor{ranktest.IntTensor(tensor.Shape{2}, []int32{n, n + 1})},
					Out: []*trace.Tensor{ranktest.Of(tensor.Float32, float64(step), float64(rank))},
				})
			}
		}
		if got := first(judged(t, runOf(b), Options{})); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestDrift: weights are no fault if they differ no more than by the different roundings of an earlier sum; others
// are.
func TestDrift(t *testing.T) {
	const d = tensor.BFloat16
	for _, c := range []struct {
		name     string
		rounding bool
		group    []int
		apart    float64 // relative
		want     string
		drift    int
	}{
		{"a step of rounding", true, []int{0, 1}, 0x1p-7, "", 3},
		{"no sum before", false, []int{0, 1}, 0x1p-7, "0 REPLICA low or [1]", 0},
		{"far apart", true, []int{0, 1}, .5, "0 REPLICA low or [1]", 0},
		{"a sum that is not checked", false, []int{0, 1, 2}, 0x1p-7, "", 3},
		{"far apart after a sum that is not checked", false, []int{0, 1, 2}, .5, "0 REPLICA low or [1]", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := new(ranktest.Built)
			for step := range 3 {
				for rank := range 2 {
					for layer := range 3 {
						w := ranktest.Normals(d, uint64(layer), 64)
						for i := range w {
							w[i] = ranktest.Rounders[d](w[i]+float64(step)*.01, false)
						}
						if rank == 1 && step == 2 {
							for _, i := range []int{9, 10} {
								w[i] = ranktest.Rounders[d](w[i]+float64(c.apart*math.Abs(w[i])), false)
							}
						}
						b.Call(step, rank, "Module.layers."+strconv.Itoa(layer)+".fc.Linear.forward.0", &trace.Call{
							In:     []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, uint64(50+9*step+rank), 8)...)},
							Params: []*trace.Tensor{ranktest.FloatTensor(d, tensor.Shape{8, 8}, w)},
							Out:    []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, uint64(80+9*step+rank), 8)...)},
						})
					}
					y := []float64{1, 1, 2}
					if rank == 1 && c.rounding {
						y[0] += 0x1p-7
					}
					b.Comm(step, rank, "all_reduce", c.group, []*trace.Tensor{ranktest.Of(d, [][]float64{{1, 1, 1}, {0x1p-9, 0x1p-9, 1}}[rank]...)}, []*trace.Tensor{ranktest.Of(d, y...)}, nil)
				}
			}
			report := judged(t, runOf(b), Options{})
			if got := first(report); got != c.want || report.Replicas.Drift != c.drift {
				t.Errorf("%q and %d, want %q and %d: %+v", got, report.Replicas.Drift, c.want, c.drift, report.Notes)
			}
		})
	}
}

// TestExpertsInPlace: a rank that holds the experts of another position in a layer is distinguished from its replica
// by the ranks that should have these experts. Without a replica there is no finding.
func TestExpertsInPlace(t *testing.T) {
	const d = tensor.BFloat16
	for _, c := range []struct {
		ranks int
		want  string
	}{{4, "2 WRONG_EXPERT high"}, {2, ""}} {
		b := new(ranktest.Built)
		for rank := range c.ranks {
			for layer := range 2 {
				group := []int{rank / 2 * 2, rank/2*2 + 1}
				row := []*trace.Tensor{ranktest.FloatTensor(d, tensor.Shape{2, 3}, ranktest.Normals(d, uint64(900+layer), 6))}
				b.Comm(0, rank, "all_to_all_single", group, row, row, nil)
				for local := range 2 {
					expert := rank%2*2 + local
					if rank == c.ranks-2 && layer == 1 { // the experts of the other position
						expert = (1-rank%2)*2 + local
					}
					b.Call(0, rank, "Module.layers."+strconv.Itoa(layer)+".mlp.experts.local_experts."+strconv.Itoa(local)+".fc1.Linear.forward.0", &trace.Call{
						In:     []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, uint64(50+rank), 8)...)},
						Params: []*trace.Tensor{ranktest.FloatTensor(d, tensor.Shape{8, 8}, ranktest.Normals(d, uint64(100*layer+expert), 64))},
						Out:    []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, uint64(80+rank), 8)...)},
					})
				}
			}
		}
		report := judged(t, runOf(b), Options{NoComm: true})
		if got := first(report); got != c.want || c.want != "" && len(report.Findings) != 1 {
			t.Errorf("%d ranks: %q and %d, want %q", c.ranks, got, len(report.Findings), c.want)
		}
	}
}

// TestPrograms: equal weights within one program prove nothing about another program on the same ranks. In the first
// program two pairs of four ranks are replicas, in the second all ranks hold different weights.
func TestPrograms(t *testing.T) {
	w, other := newWeights(true), newWeights(true)
	for key := range other.at {
		other.at[key] = ranktest.Normals(tensor.BFloat16, uint64(5000+1000*key[0]+100*key[1]+key[2]), 64)
	}
	var steps []*trace.Step
	for folder, one := range map[string]*weights{"rollout": other, "train": w} {
		one.run()
		for _, s := range one.Steps {
			s.At.Folder = folder
		}
		steps = append(steps, one.Steps...)
	}
	run := newRun(trace.New(steps), nil)
	report, err := run.Judge(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) > 0 {
		t.Errorf("found %v", report.Findings[0].Headline().Text().String())
	}
	if report.Replicas.Sets == 0 {
		t.Error("no replicas in the program that has some")
	}
	w.at[[3]int{1, 1, 0}], w.at[[3]int{1, 1, 1}], w.at[[3]int{1, 1, 2}] = w.at[[3]int{0, 1, 0}], w.at[[3]int{0, 1, 1}], w.at[[3]int{0, 1, 2}]
	w.Steps = nil
	w.run()
	for _, s := range w.Steps {
		s.At.Folder = "train"
	}
	report, err = newRun(trace.New(slices.Concat(other.Steps, w.Steps)), nil).Judge(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(report.Findings); n != 1 || report.Findings[0].Kind != StaleWeights || report.Findings[0].Rank != 1 || report.Findings[0].Step != "1" {
		t.Errorf("a rank that is a step behind: found %d findings", n)
	}
}

// TestAbsent: a rank that a step lacks is distinguished from a rank that the dump lacks.
func TestAbsent(t *testing.T) {
	var b ranktest.Built
	for step := range 2 {
		for rank := range 2 - step {
			b.Call(step, rank, "Distributed.all_reduce.0.forward", &trace.Call{Comm: &trace.Comm{API: trace.APIOf("all_reduce"), Group: []int{0, 1, 2}[:3-step], Root: -1, Op: trace.Sum}})
		}
	}
	run := runOf(&b)
	for i, want := range []string{"rank 2 not in the dump", "rank 1 not in the dump of step 1"} {
		events := run.events(run.Steps[i], &Groups{})
		if got := events[0].skip.Text().String(); got != want {
			t.Errorf("step %d: %q, want %q", i, got, want)
		}
	}
}

// TestLargeGroup: an event of a group with many more members than the run has ranks holds the members in the run, and
// the others are visited once.
func TestLargeGroup(t *testing.T) {
	members := make([]int, 100_000)
	for i := range members {
		members[i] = i
	}
	named := &Groups{Named: map[string][]int{"all": members}}
	const calls = 100
	var b ranktest.Built
	for rank := range 2 {
		for i := range calls {
			b.Call(0, rank, fmt.Sprintf("Distributed.all_reduce.%d.forward", i), &trace.Call{Comm: &trace.Comm{API: trace.APIOf("all_reduce"), GroupName: "all", Root: -1, Op: trace.Sum}})
		}
	}
	run := runOf(&b)
	events := run.events(run.Steps[0], named)
	places := 0
	for _, e := range events {
		places += len(e.Calls)
	}
	if len(events) != calls || places != 2*calls || len(run.groups.byKey) != 1 {
		t.Errorf("%d events with %d places, %d groups", len(events), places, len(run.groups.byKey))
	}
	if got := events[0].skip.Text().String(); got != "ranks 2-99999 not in the dump" {
		t.Error(got)
	}
}

// TestOutsider: a rank calls with a group that does not contain it.
func TestOutsider(t *testing.T) {
	var b ranktest.Built
	for rank := range 2 {
		b.Call(0, rank, "Distributed.all_reduce.0.forward", &trace.Call{Comm: &trace.Comm{API: trace.APIOf("all_reduce"), Group: []int{1, 2}, Root: -1, Op: trace.Sum}})
	}
	run := runOf(&b)
	events := run.events(run.Steps[0], &Groups{})
	linkPrevious(events)
	lamportClocks(run.Steps, events)
	var got []string
	for _, e := range events {
		got = append(got, e.skip.Text().String())
	}
	if want := []string{"rank 0 is not in the group of ranks 1-2", "rank 2 not in the dump"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if found := callsDiffer(events, false); len(found) > 0 {
		t.Errorf("found %v", found[0].Evidence)
	}
}

// TestUnknownGroups: if some communications have no group and the groups of others come from values, no rank is
// accused of calling more often. Without groups from values, all ranks have called.
func TestUnknownGroups(t *testing.T) {
	var b ranktest.Built
	for rank := range 3 {
		if rank > 0 {
			b.Call(0, rank, "Distributed.all_reduce.0.forward", &trace.Call{Comm: &trace.Comm{API: trace.APIOf("all_reduce"), Root: -1, Op: trace.Sum}})
		} else {
			b.Call(0, rank, "Torch.add.0.forward", &trace.Call{})
		}
	}
	run := runOf(&b)
	events := run.events(run.Steps[0], &Groups{})
	if found := callsDiffer(events, true); len(found) > 0 {
		t.Errorf("found %v", found[0].Kind)
	}
	if found := callsDiffer(events, false); len(found) != 1 || found[0].Rank != 0 {
		t.Errorf("found %d findings where the world is the group", len(found))
	}
}

package ranks

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// TestInfer: the groups of every communication of the golden runs, half of which have a fault, are found from values
// without named groups. So are the peers of sends and receives.
func TestInfer(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(golden, "*", "trees.tar.gz"))
	if err != nil || len(cases) != 12 {
		t.Fatal(len(cases), err)
	}
	for _, path := range cases {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			r := openRun(t, filepath.Join(dumptest.Untar(t, path), "run"))
			type truth struct {
				group []int
				root  int
			}
			want := make(map[*trace.Call]truth)
			for _, s := range r.Steps {
				for _, calls := range s.Calls {
					for _, c := range calls {
						if m := c.Comm; m != nil {
							want[c] = truth{m.Group, m.Root}
							m.Group, m.Root = nil, -1
						}
					}
				}
			}
			f := newReader(0)
			defer f.Close()
			r.inferSteps(f, r.Steps, nil)
			for c, w := range want {
				m := c.Comm
				if m.API.Pattern == trace.Send || m.API.Pattern == trace.Receive {
					// A tensor that was received damaged has no recognisable sender.
					if m.Root >= 0 && m.Root != w.root {
						t.Errorf("step %s rank %d %s: %d, want %d", c.Step.At.Step, c.Rank, c.Name, m.Root, w.root)
					}
					continue
				}
				if !slices.Equal(m.Group, w.group) || w.root >= 0 && m.Root != w.root {
					t.Errorf("step %s rank %d %s: group %v root %d, want %v root %d", c.Step.At.Step, c.Rank, c.Name, m.Group, m.Root, w.group, w.root)
				}
			}
		})
	}
}

// TestInferNothing: ranks that do not hold results of communication with each other have no groups and no findings.
func TestInferNothing(t *testing.T) {
	const d = tensor.Float32
	b := new(ranktest.Built)
	for rank := range 4 {
		b.Comm(0, rank, "all_reduce", nil, []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, uint64(rank), 30)...)}, []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, uint64(rank+9), 30)...)}, nil)
	}
	report := judged(t, runOf(b), Options{NoReplicas: true})
	if len(report.Groups) > 0 || len(report.Findings) > 0 || report.Events.Skipped != 1 {
		t.Errorf("%+v %+v %+v", report.Groups, report.Findings, report.Events)
	}
}

// TestParse: valid and invalid meshes and files of groups.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Axis
		err  string
	}{
		{"tp=2,cp=2,dp=2,pp=2", []Axis{{Size: 2, Stride: 1, Name: "tp"}, {Size: 2, Stride: 2, Name: "cp"}, {Size: 2, Stride: 4, Name: "dp"}, {Size: 2, Stride: 8, Name: "pp"}}, ""},
		{"pp=2,tp=4", []Axis{{Size: 4, Stride: 1, Name: "tp"}, {Size: 2, Stride: 4, Name: "pp"}}, ""},
		{"tp=2,ep=2,dp=4", []Axis{{Size: 2, Stride: 1, Name: "tp"}, {Size: 2, Stride: 2, Name: "ep"}, {Size: 4, Stride: 2, Name: "dp"}}, ""},
		{"tp=2,pp=2,order=tp-cp-ep-pp-dp", []Axis{{Size: 2, Stride: 1, Name: "tp"}, {Size: 2, Stride: 2, Name: "pp"}}, ""},
		{"tp", nil, `column 1: found "tp", want an axis such as tp=2 (tp, cp, ep, dp, pp) or order=tp-cp-ep-dp-pp`},
		{"tp=2,xp=2", nil, `column 6: found "xp=2", want an axis such as tp=2 (tp, cp, ep, dp, pp) or order=tp-cp-ep-dp-pp`},
		{"tp=0", nil, `column 4: found the size "0" of tp, want a number from 1`},
		{"tp=2,tp=2", nil, "column 6: tp occurs twice"},
		{"tp=2,order=dp", nil, "order: found no tp, want every axis that has a size"},
		{"tp=2,order=tp-x", nil, `order: found "x", want tp-cp-ep-dp-pp, each once`},
	} {
		got, err := ParseMesh(c.text)
		if text(err) != c.err || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v %v", c.text, got, err)
		}
	}
	groups, err := ParseGroups("# mine\n a: 0, 3,5\n\nb:1\n")
	if err != nil || !slices.Equal(groups["a"], []int{0, 3, 5}) || !slices.Equal(groups["b"], []int{1}) {
		t.Error(groups, err)
	}
	for in, want := range map[string]string{
		"a 1":        `line 1: found "a 1", want NAME: 0,3,5`,
		"a: 1\na: 2": `line 2: the group "a" occurs twice`,
		"\na: 1,x":   `line 2, column 6: found "x", want different ranks such as 0,3,5`,
		"a: 1,1":     `line 1, column 6: found "1", want different ranks such as 0,3,5`,
		"a: -1":      `line 1, column 4: found "-1", want different ranks such as 0,3,5`,
	} {
		if _, err := ParseGroups(in); text(err) != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
	const many = 200_000
	var list strings.Builder
	for rank := range many {
		fmt.Fprintf(&list, "%d,", rank)
	}
	_, err = ParseGroups("all:" + list.String() + "0")
	if want := fmt.Sprintf(`line 1, column %d: found "0", want different ranks such as 0,3,5`, len("all:")+list.Len()+1); text(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	mesh, err := ParseMesh("tp=2,dp=4")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ranks  []int
		groups GroupList
		err    string
	}{
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, GroupList{{0, 1}, {0, 2, 4, 6}, {0, 1, 2, 3, 4, 5, 6, 7}, {3}}, ""},
		{[]int{0, 1, 2, 3}, nil, "the axes make 8 ranks, the dump has 4, up to rank 3"},
		{[]int{0, 1}, GroupList{{0, 1}, {0, 1, 2, 3, 4, 5, 6, 7}}, ""}, // two of eight
		{[]int{0, 3}, nil, ""},
		{[]int{0, 8}, nil, "the axes make 8 ranks, the dump has 2, up to rank 8"},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, GroupList{{0, 3}}, "the dump has the group 0,3, which does not match these axes"},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, GroupList{{0, 2}}, "the dump has the group 0,2, which does not match these axes"},
	} {
		if err := CheckMesh(mesh, c.ranks, c.groups); text(err) != c.err {
			t.Errorf("%v %v: %v, want %s", c.ranks, c.groups, err, c.err)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestUsualPairs: a damaged tensor comes from the rank that sends to this receiver otherwise. With several such ranks
// or none, the sender is unknown.
func TestUsualPairs(t *testing.T) {
	const d = tensor.Float32
	for _, c := range []struct {
		name    string
		senders []int // senders of undamaged tensors, one per step
		want    string
	}{
		{"one", []int{0, 0}, "2 CORRUPT high"}, {"two", []int{0, 1}, ""}, {"none", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := new(ranktest.Built)
			send := func(step, rank int, seed uint64) {
				b.Comm(step, rank, "send", nil, []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, seed, 40)...)}, nil, nil)
			}
			for step, sender := range c.senders {
				send(step, sender, uint64(step))
				b.Comm(step, 2, "recv", nil, nil, []*trace.Tensor{ranktest.Of(d, ranktest.Normals(d, uint64(step), 40)...)}, nil)
			}
			last := len(c.senders)
			damaged := ranktest.Normals(d, 90, 40)
			damaged[7]++
			send(last, 0, 90)
			send(last, 1, 91)
			b.Comm(last, 2, "recv", nil, nil, []*trace.Tensor{ranktest.Of(d, damaged...)}, nil)
			if got := first(judged(t, runOf(b), Options{NoReplicas: true})); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestUsualPairsAlike: two ranks sent the same, and one receiver got it damaged. The undamaged tensor may come from
// either sender, so the damaged one is from the rank that sends to this receiver otherwise.
func TestUsualPairsAlike(t *testing.T) {
	const d = tensor.Float32
	b := new(ranktest.Built)
	for step := range uint64(3) {
		for pair := range 2 {
			seed := 10*step + uint64(pair)
			if step == 2 {
				seed = 90 // of both
			}
			sent := ranktest.Normals(d, seed, 40)
			b.Comm(int(step), pair, "send", nil, []*trace.Tensor{ranktest.Of(d, sent...)}, nil, nil)
			got := slices.Clone(sent)
			if step == 2 && pair == 0 {
				got[7]++
			}
			b.Comm(int(step), 2+pair, "recv", nil, nil, []*trace.Tensor{ranktest.Of(d, got...)}, nil)
		}
	}
	if got := first(judged(t, runOf(b), Options{NoReplicas: true})); got != "2 CORRUPT high" {
		t.Errorf("%q", got)
	}
}

// TestUsualPairsOfNothing: a tensor of NaN or zeros comes from the rank that sends to this receiver otherwise: all
// tensors sent forward and back are alike.
func TestUsualPairsOfNothing(t *testing.T) {
	const d = tensor.Float32
	for _, fill := range []float64{0, math.NaN(), math.Inf(1)} {
		b := new(ranktest.Built)
		to := []int{3, 2, 1, 0}
		for step := range 3 {
			sent := make([][]float64, 4)
			for rank := range 4 {
				sent[rank] = ranktest.Normals(d, uint64(10*step+rank), 40)
				if step == 1 {
					sent[rank] = slices.Repeat([]float64{fill}, 40)
				}
				b.Comm(step, rank, "send", nil, []*trace.Tensor{ranktest.Of(d, sent[rank]...)}, nil, nil)
			}
			for rank := range 4 {
				b.Comm(step, rank, "recv", nil, nil, []*trace.Tensor{ranktest.Of(d, sent[to[rank]]...)}, nil)
			}
		}
		r := runOf(b)
		r.inferSteps(newReader(0), r.Steps, nil)
		for step, s := range r.Steps {
			for rank, calls := range s.Calls {
				for _, c := range calls {
					if c.Comm.Root != to[rank] {
						t.Errorf("%v: step %d, rank %d, %s: %d, want %d", fill, step, rank, c.Name, c.Comm.Root, to[rank])
					}
				}
			}
		}
	}
}

// TestInferPrograms: the groups of a program are found among its own ranks, also if programs of a run have different
// numbers of ranks. A communication without a group has all ranks of its program.
func TestInferPrograms(t *testing.T) {
	const d = tensor.Float32
	b := new(ranktest.Built)
	for i, world := range []int{3, 2, 4} {
		b.Step(i).At = dumpdir.Coordinates{Step: "0", Folder: strconv.Itoa(world)}
		sum := make([]float64, 30)
		var in [][]float64
		for rank := range world {
			in = append(in, ranktest.Normals(d, uint64(10*world+rank), 30))
			for k, v := range in[rank] {
				sum[k] += v
			}
		}
		for k := range sum {
			sum[k] = ranktest.Rounders[d](sum[k], false)
		}
		for rank := range world {
			b.Comm(i, rank, "all_reduce", nil, []*trace.Tensor{ranktest.Of(d, in[rank]...)}, []*trace.Tensor{ranktest.Of(d, sum...)}, nil)
		}
	}
	r := runOf(b)
	for _, s := range r.Steps {
		want := strings.TrimSpace("0 1 2 3"[:2*len(s.Calls)-1])
		for _, e := range r.events(s, &Groups{}) {
			if got := groupKey(e.Group); got != want || !e.skip.IsZero() {
				t.Errorf("program %s: the event of all is one of %s (%v), want %s", s.At.Folder, got, e.skip, want)
			}
		}
	}
	r.inferSteps(newReader(0), r.Steps, nil)
	for _, s := range r.Steps {
		for rank, calls := range s.Calls {
			if got := calls[0].Comm.Group; len(got) != len(s.Calls) {
				t.Errorf("program %s, rank %d: group %v, want all %d", s.At.Folder, rank, got, len(s.Calls))
			}
		}
	}
}

// TestOpenPrograms: ranks of the dump that are not opened extend the world of their own program.
func TestOpenPrograms(t *testing.T) {
	at := func(rank, folder string) *dumpdir.Round {
		return &dumpdir.Round{At: dumpdir.Coordinates{Rank: rank, Step: "0", Folder: folder}}
	}
	all := []*dumpdir.Round{at("0", "a"), at("1", "a"), at("2", "a"), at("0", "b"), at("1", "b")}
	r, _ := Open([]*dumpdir.Round{all[0], all[3]}, all)
	for _, s := range r.Steps {
		if got, want := len(r.programOf(s).world), map[string]int{"a": 3, "b": 2}[s.At.Folder]; got != want {
			t.Errorf("program %s: a world of %d ranks, want %d", s.At.Folder, got, want)
		}
	}
}

// TestInferOfNothing: sums of NaN or zeros fit any group: the groups of other sums count.
func TestInferOfNothing(t *testing.T) {
	const d = tensor.Float32
	for _, fill := range []float64{0, math.NaN()} {
		b := new(ranktest.Built)
		for n := range 2 {
			var in [][]float64
			for rank := range 4 {
				in = append(in, ranktest.Normals(d, uint64(rank), 30))
				if n == 1 {
					in[rank] = slices.Repeat([]float64{fill}, 30)
				}
			}
			y := fold(d, func(a, b float64) float64 { return a + b }, in...)
			for rank := range 4 {
				b.Comm(0, rank, "all_reduce", nil, []*trace.Tensor{ranktest.Of(d, in[rank]...)}, []*trace.Tensor{ranktest.Of(d, y...)}, nil)
			}
		}
		report := judged(t, runOf(b), Options{NoReplicas: true})
		if len(report.Groups) != 1 || len(report.Groups[0].Ranks) != 4 || report.Events.Checked != 2 {
			t.Errorf("%v: %+v %+v", fill, report.Groups, report.Events)
		}
	}
}

// damages are ways to damage an element of an input or output.
var damages = map[string]func(k int, v float64) float64{
	"NaN":            func(int, float64) float64 { return math.NaN() },
	"some NaN":       func(k int, v float64) float64 { return []float64{v, math.NaN(), v}[k%3] },
	"one NaN":        func(k int, v float64) float64 { return []float64{math.NaN(), v}[min(k, 1)] },
	"infinite":       func(int, float64) float64 { return math.Inf(1) },
	"infinities":     func(k int, _ float64) float64 { return math.Inf(k%2*2 - 1) },
	"some infinite":  func(k int, v float64) float64 { return []float64{v, math.Inf(-1)}[k%2] },
	"zero":           func(int, float64) float64 { return 0 },
	"NaN among zero": func(k int, _ float64) float64 { return []float64{0, math.NaN()}[k%2] },
	"constant":       func(int, float64) float64 { return 3 },
}

// transfers compute the output of a member from the inputs of its group.
var transfers = map[string]func(d tensor.DType, x [][]float64, me int) []float64{
	"all_reduce": func(d tensor.DType, x [][]float64, _ int) []float64 { return fold(d, add, x...) },
	"reduce_scatter_tensor": func(d tensor.DType, x [][]float64, me int) []float64 {
		part := len(x[0]) / len(x)
		return fold(d, add, x...)[me*part : (me+1)*part]
	},
	"all_gather_into_tensor": func(_ tensor.DType, x [][]float64, _ int) []float64 { return slices.Concat(x...) },
	"all_to_all_single": func(_ tensor.DType, x [][]float64, me int) (y []float64) {
		part := len(x[0]) / len(x)
		for _, of := range x {
			y = append(y, of[me*part:(me+1)*part]...)
		}
		return y
	},
	"broadcast": func(_ tensor.DType, x [][]float64, _ int) []float64 { return x[1] },
}

// TestInferDamaged: damaged tensors of some members in one communication add no group, and hide no group that other
// communications of the kind show.
func TestInferDamaged(t *testing.T) {
	const d = tensor.Float16
	rapid.Check(t, func(rt *rapid.T) {
		world := rapid.SampledFrom([]int{4, 8}).Draw(rt, "world")
		hit := rapid.SampledFrom(slices.Sorted(maps.Keys(transfers))).Draw(rt, "api of the damage")
		who := rapid.SliceOfNDistinct(rapid.IntRange(0, world-1), 1, world, rapid.ID).Draw(rt, "ranks")
		damage := damages[rapid.SampledFrom(slices.Sorted(maps.Keys(damages))).Draw(rt, "damage")]
		held := rapid.Bool().Draw(rt, "of what it holds") // damage the output, else the input
		seed := rapid.Uint64().Draw(rt, "seed")
		b, want, all := new(ranktest.Built), make(map[string]spacing), make([]int, world)
		for rank := range all {
			all[rank] = rank
		}
		for _, api := range slices.Sorted(maps.Keys(transfers)) {
			s := spacing{stride: 1 << rapid.IntRange(0, bits.Len(uint(world))-2).Draw(rt, "stride of "+api)}
			s.size = 2 << rapid.IntRange(0, bits.Len(uint(world/s.stride))-2).Draw(rt, "size of "+api)
			want[api] = s
			for n := range 3 {
				isHit := func(rank int) bool { return api == hit && n == 1 && slices.Contains(who, rank) }
				for _, group := range s.groups(all) {
					var x [][]float64
					for _, rank := range group {
						seed++
						x = append(x, ranktest.Normals(d, seed, 64))
						if isHit(rank) && !held {
							damaged(x[len(x)-1], damage)
						}
					}
					for me, rank := range group {
						y := slices.Clone(transfers[api](d, x, me))
						if isHit(rank) && held {
							damaged(y, damage)
						}
						b.Comm(0, rank, api, nil, []*trace.Tensor{ranktest.Of(d, x[me]...)}, []*trace.Tensor{ranktest.Of(d, y...)}, nil)
					}
				}
			}
		}
		r := runOf(b)
		r.inferSteps(newReader(0), r.Steps, nil)
		for _, rank := range all {
			for _, c := range r.Steps[0].Calls[rank] {
				groups := want[c.Comm.Name].groups(all)
				if !slices.ContainsFunc(groups, func(g []int) bool { return slices.Contains(g, rank) && slices.Equal(g, c.Comm.Group) }) {
					rt.Errorf("rank %d, %s: group %v, want that of %v", rank, c.Name, c.Comm.Group, groups)
				}
			}
		}
	})
}

// TestInferLowPrecision: sums of 5 bits of mantissa fit no group exactly. Their groups are the ranks with the nearest
// sums, not the groups of other sums of the same shape.
func TestInferLowPrecision(t *testing.T) {
	const d, world = tensor.Float32, 4
	near, far := []int{0, 1}, []int{0, 2}
	b := new(ranktest.Built)
	x := make([][]float64, world)
	for call, stride := range []int{2, 1} { // the first sum is exact
		for rank := range world {
			x[rank] = ranktest.Normals(d, uint64(10*call+rank+1), 64)
		}
		for rank := range world {
			y := make([]float64, 64)
			for k := range y {
				if y[k] = x[rank][k] + x[rank^stride][k]; call == 1 {
					mantissa, exponent := math.Frexp(y[k])
					y[k] = math.Ldexp(math.RoundToEven(32*mantissa)/32, exponent)
				} else {
					y[k] = float64(float32(y[k]))
				}
			}
			b.Comm(0, rank, "all_reduce", nil, []*trace.Tensor{ranktest.Of(d, x[rank]...)}, []*trace.Tensor{ranktest.Of(d, y...)}, nil)
		}
	}
	r := runOf(b)
	r.inferSteps(newReader(0), r.Steps, nil)
	calls := r.Steps[0].Calls[0]
	if !slices.Equal(calls[0].Comm.Group, far) || !slices.Equal(calls[1].Comm.Group, near) {
		t.Errorf("groups %v and %v, want %v and %v", calls[0].Comm.Group, calls[1].Comm.Group, far, near)
	}
}

// damaged changes elements.
func damaged(x []float64, damage func(k int, v float64) float64) {
	for k, v := range x {
		x[k] = damage(k, v)
	}
}

// TestGroupsOfSome: if one group of a communication is damaged, the other groups are still found, also if other
// groups are more frequent for the same function.
func TestGroupsOfSome(t *testing.T) {
	const d = tensor.Float32
	b := new(ranktest.Built)
	near, far := [][]int{{0, 1}, {2, 3}}, [][]int{{0, 2}, {1, 3}}
	for n, groups := range [][][]int{near, near, near, far, far} {
		for _, group := range groups {
			x, y := ranktest.Normals(d, uint64(10*n+group[0]), 30), ranktest.Normals(d, uint64(10*n+group[1]), 30)
			z := make([]float64, len(x))
			for i := range z {
				if z[i] = float64(float32(x[i] + y[i])); n == 4 && group[0] == 1 { // without the second member
					z[i] = x[i]
				}
			}
			b.Comm(0, group[0], "all_reduce", nil, []*trace.Tensor{ranktest.Of(d, x...)}, []*trace.Tensor{ranktest.Of(d, z...)}, nil)
			b.Comm(0, group[1], "all_reduce", nil, []*trace.Tensor{ranktest.Of(d, y...)}, []*trace.Tensor{ranktest.Of(d, z...)}, nil)
		}
	}
	report := judged(t, runOf(b), Options{NoReplicas: true})
	if len(report.Findings) != 1 || report.Findings[0].Kind != MissingRank || !slices.Equal(report.Findings[0].Members, []int{1, 3}) {
		t.Errorf("%+v, want a rank of 1 and 3 that is missing", report.Findings)
	}
}

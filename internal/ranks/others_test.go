package ranks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
	"dumptool/internal/unshard"
)

// calledRun returns a run of two steps and two ranks, with a router, an expert and an operator each.
func calledRun() *Run {
	b := new(ranktest.Built)
	for step := range 2 {
		for rank := range 2 {
			for _, name := range []string{"Module.layers.0.mlp.router.R.forward.0", "Module.layers.0.mlp.experts.0.fc.L.forward.0", "Module.layers.0.attn.A.forward.0"} {
				b.Call(step, rank, name, &trace.Call{})
			}
			b.Comm(step, rank, "all_reduce", []int{0, 1}, nil, nil, nil)
		}
	}
	return runOf(b)
}

const (
	router    = "Module.layers.0.mlp.router.R.forward.0"
	attention = "Module.layers.0.attn.A.forward.0"
	reduce    = "Distributed.all_reduce.0.forward"
)

// TestOthers: findings from elsewhere replace findings about the same call, and only these.
func TestOthers(t *testing.T) {
	type claimed struct {
		step, rank int
		op         string
		kind       Kind
		refuted    bool
	}
	for _, c := range []struct {
		name        string
		own, others []claimed
		want        string // step, rank and kind of findings, then of notes
	}{
		{"nothing", nil, nil, ""},
		{"one more", []claimed{{0, 1, attention, Compute, false}}, []claimed{{0, 0, attention, Compute, false}}, "0 1 COMPUTE, 0 0 COMPUTE"},
		{"the same operator", []claimed{{0, 0, attention, Compute, false}}, []claimed{{0, 0, attention, Compute, false}}, "0 0 COMPUTE"},
		{"the same twice", nil, []claimed{{0, 0, attention, Compute, false}, {0, 0, attention, Compute, false}}, "0 0 COMPUTE"},
		{"another step", []claimed{{1, 0, attention, Compute, false}}, []claimed{{0, 0, attention, Compute, false}}, "1 0 COMPUTE, 0 0 COMPUTE"},
		{"weights explain it", []claimed{{0, 0, attention, Replica, false}}, []claimed{{0, 0, attention, Compute, false}}, "0 0 REPLICA"},
		{"weights of a step before explain it", []claimed{{0, 0, attention, Replica, false}}, []claimed{{1, 0, attention, Compute, false}}, "0 0 REPLICA"},
		{"weights of a later step do not", []claimed{{1, 0, attention, Replica, false}}, []claimed{{0, 0, attention, Compute, false}}, "1 0 REPLICA, 0 0 COMPUTE"},
		{"weights of another rank do not", []claimed{{0, 1, attention, Replica, false}}, []claimed{{0, 0, attention, Compute, false}}, "0 1 REPLICA, 0 0 COMPUTE"},
		{"data that the reference has in this step", []claimed{{1, 0, attention, StaleInput, false}}, []claimed{{1, 0, attention, StaleInput, true}}, ""},
		{"data that the reference has in another step", []claimed{{1, 0, attention, StaleInput, false}}, []claimed{{1, 0, attention, StaleInput, true}, {1, 0, attention, StaleInput, false}}, "1 0 STALE_INPUT"},
		{"data of another rank", []claimed{{1, 1, attention, StaleInput, false}}, []claimed{{1, 0, attention, StaleInput, true}}, "1 1 STALE_INPUT"},
		{"two parts of one call", nil, []claimed{{0, 0, attention, WrongPart, false}, {0, 0, attention, WrongPart, false}}, "0 0 WRONG_PART, 0 0 WRONG_PART"},
		{"a router", nil, []claimed{{0, 1, router, RoutingFlip, false}}, "note 0 ROUTING_FLIP [1]"},
		{"no router", nil, []claimed{{0, 1, attention, RoutingFlip, false}}, ""},
		{"a communication", nil, []claimed{{0, 1, reduce, Compute, false}}, ""},
		{"a rank that is not there", nil, []claimed{{0, 5, attention, Compute, false}}, ""},
		{"an operator that is not there", nil, []claimed{{0, 0, "Module.other", Compute, false}}, ""},
	} {
		run := calledRun()
		claims := func(all []claimed) (found []*Finding) {
			for _, x := range all {
				f := run.Claim(dumpdir.Coordinates{Step: fmt.Sprint(x.step), Rank: fmt.Sprint(x.rank)}, x.op, x.kind, high, lang.Plain("why"))
				if f != nil {
					f.refuted = x.refuted
					found = append(found, f)
				}
			}
			return found
		}
		r := &Report{Findings: claims(c.own)}
		r.addExternal(claims(c.others))
		var got []string
		for _, f := range r.Findings {
			got = append(got, fmt.Sprint(f.call.Step.At.Step, " ", f.Rank, " ", f.Kind))
		}
		for _, n := range r.Notes {
			got = append(got, fmt.Sprint("note ", run.Steps[n.step].At.Step, " ", n.Kind, " ", n.Ranks))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestNameReplicas: of different replicas, the replica much farther from the reference is wrong. Experts that are all
// near the reference are no replicas.
func TestNameReplicas(t *testing.T) {
	const expert = "Module.layers.0.mlp.experts.0.fc.L.forward.0"
	for _, c := range []struct {
		name, op string
		tie      bool
		errs     []float64 // by rank, -1 if unknown
		want     string
	}{
		{"the second is far", attention, true, []float64{0.01, 0.5}, "1 medium []"},
		{"the first is far", attention, true, []float64{0.5, 0.01}, "0 medium []"},
		{"both are as far", attention, true, []float64{0.5, 0.45}, "0 low [1]"},
		{"both are equal to it", attention, true, []float64{0, 0}, "0 low [1]"},
		{"one is not known", attention, true, []float64{0.01, -1}, "0 low [1]"},
		{"it is known already", attention, false, []float64{0.01, 0.5}, "0 high []"},
		{"experts that are right", expert, false, []float64{0.01, 0.01}, "none"},
		{"an expert that is wrong", expert, true, []float64{0.01, 0.5}, "1 medium []"},
	} {
		run := calledRun()
		f := run.Claim(dumpdir.Coordinates{Step: "0", Rank: "0"}, c.op, Replica, high, lang.Plain("why"))
		f.Members = []int{0, 1}
		if c.tie {
			f.Alt, f.Confidence = []int{1}, low
		}
		r := &Report{Findings: []*Finding{f}}
		r.identifyReplicas(Options{Distance: func(at dumpdir.Coordinates, op string) (float64, bool) {
			rms := c.errs[slices.Index([]string{"0", "1"}, at.Rank)]
			return rms, rms >= 0 && op == c.op
		}})
		got := "none"
		if len(r.Findings) > 0 {
			got = fmt.Sprint(f.Rank, " ", f.Confidence, " ", f.Alt)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestMerge: merging adds counts, keeps groups and axes once, keeps the first matrix, and folds notes of the same
// ranks.
func TestMerge(t *testing.T) {
	document := func(r *Report) []byte {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	a, b := (&Run{Run: &trace.Run{Ranks: []int{0, 1}, Steps: make([]*trace.Step, 2)}}).NewReport(), (&Run{Run: &trace.Run{Ranks: []int{0, 1, 2}, Steps: make([]*trace.Step, 1)}}).NewReport()
	a.Mesh, b.Mesh = []Axis{{Size: 2, Stride: 1, Count: 1}}, []Axis{{Size: 2, Stride: 1, Count: 1}, {Size: 3, Stride: 1}}
	a.Groups, b.Groups = []Group{{[]int{0, 1}, FromDump}}, []Group{{[]int{0, 1}, FromDump}, {[]int{0, 1, 2}, FromDump}}
	a.Events, b.Events = EventCount{Checked: 3, Wrong: 1, Skipped: 1, Reasons: []Reason{{"late", "晚", 1}}}, EventCount{Checked: 4, Skipped: 3, Reasons: []Reason{{"late", "晚", 2}, {"cut", "断", 1}}}
	a.Replicas, b.Replicas = replicaCount{Sets: 5, Wrong: 1}, replicaCount{Sets: 1, Drift: 1, Skipped: 2}
	a.Located, b.Located = &LocatedCount{3, 4}, &LocatedCount{5, 5}
	a.Notes, b.Notes = []*Note{{Kind: Drift, Ranks: []int{0, 1}, Count: 2}}, []*Note{{Kind: Drift, Ranks: []int{0, 1}, Count: 3}, {Kind: RoutingFlip, Ranks: []int{2}, Count: 1}}
	b.Findings = []*Finding{{Kind: Stale, Confidence: low, Evidence: lang.Plain("old"), Chinese: "旧"}, {Kind: Corrupt, Confidence: high}}
	b.Matrix = &Matrix{Step: "1"}
	text, err := Merge([][]byte{nil, document(a), nil, document(b)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.World, r.Steps, len(r.Mesh), len(r.Groups), r.Events, r.Replicas, *r.Located, r.Matrix.Step); got != "3 3 2 2 {7 1 4 [{late 晚 3} {cut 断 1}]} {6 1 1 2} {8 9}1" {
		t.Error(got)
	}
	if len(r.Notes) != 2 || r.Notes[0].Count != 5 || r.Notes[1].Kind != RoutingFlip {
		t.Errorf("%d notes", len(r.Notes))
	}
	if len(r.Findings) != 2 || r.CountFindings() != 1 || r.Findings[0].Evidence.Text() != (lang.Text{EN: "old", ZH: "旧"}) {
		t.Errorf("%d findings, %d of them more than weak, %v", len(r.Findings), r.CountFindings(), r.Findings[0].Evidence.Text())
	}
	if none, err := Merge([][]byte{nil, nil}); none != nil || err != nil {
		t.Errorf("of no documents: %s %v", none, err)
	}
	for _, broken := range []string{`{`, `{"findings":[{"kind":"NEW"}]}`, `{"findings":[null]}`, `{"notes":[{"kind":""}]}`, `{"notes":[null]}`} {
		if _, err := Merge([][]byte{[]byte(broken)}); err == nil {
			t.Errorf("%s is no report", broken)
		}
	}
}

// TestMatrix: the letters of layers and ranks, in the first step with findings.
func TestMatrix(t *testing.T) {
	run := calledRun()
	calls := run.Steps[1].Calls
	calls[0] = append(calls[0], &trace.Call{Rank: 0, Step: run.Steps[1], Name: "Module.layers.3.x", Layer: 3, Place: 4}, &trace.Call{Rank: 0, Step: run.Steps[1], Name: "Module.end", Layer: -1, Place: 5})
	at := func(rank, place int, k Kind) *Finding {
		f := newFinding(calls[rank][place], k, high, lang.Sentence{})
		f.Class = MeaningOf(k).Class
		return f
	}
	for _, c := range []struct {
		name  string
		found []*Finding
		from  map[int]int // the first damaged call by rank
		want  string
	}{
		{"nothing", nil, nil, ""},
		{"an operator", []*Finding{at(0, 1, Compute)}, nil, "1 [0 3] [0] x. [1] . "},
		{"what it damages", []*Finding{at(0, 1, Compute)}, map[int]int{0: 1, 1: 2}, "1 [0 3] [0] x# [1] # "},
		{"both ranks", []*Finding{at(0, 1, Compute), at(1, 1, Compute)}, nil, "1 [0 3] [0] x. [1] x "},
	} {
		reached := make(map[*Finding]map[int]int)
		for _, f := range c.found {
			reached[f] = c.from
		}
		got := ""
		if m := run.matrix(c.found, reached); m != nil {
			got = fmt.Sprint(m.Step, " ", m.Layers)
			for _, row := range m.Rows {
				got += fmt.Sprint(" ", row.Ranks, " ", row.Cells)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if m := (&Run{Run: run.Run}).matrix([]*Finding{newFinding(&trace.Call{Step: &trace.Step{Calls: map[int][]*trace.Call{0: {{Layer: -1}}}}}, Compute, high, lang.Sentence{})}, nil); m != nil {
		t.Errorf("of a step without layers: %+v", m)
	}
}

// TestMinority: a rank with the rarest value, and the most frequent value.
func TestMinority(t *testing.T) {
	for _, c := range []struct {
		values     []int // -1 for a rank without a value
		odd, usual int
	}{
		{[]int{3, 3, 3}, -1, 0}, {[]int{3, 2, 3}, 1, 3}, {[]int{2, 3, 3, 3}, 0, 3}, {[]int{3, -1, 4, 4}, 0, 4}, {[]int{-1, -1}, -1, 0}, {[]int{5, 5, 1, 2, 5}, 2, 5}, {[]int{2, 1}, 1, 2},
	} {
		ranks := make([]int, len(c.values))
		for i := range ranks {
			ranks[i] = i
		}
		if odd, usual := minority(ranks, func(rank int) (int, bool) { return c.values[rank], c.values[rank] >= 0 }); odd != c.odd || usual != c.usual {
			t.Errorf("%v: rank %d beside %d, want %d beside %d", c.values, odd, usual, c.odd, c.usual)
		}
	}
}

// TestPositionsText: the first runs along the axes of which an input has a part.
func TestPositionsText(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat("1-2, ", 10), ", ")
	for _, c := range []struct {
		axes []string
		want string
	}{
		{[]string{"", "0-7, 24-31"}, "0-7, 24-31 of axis 1"}, {[]string{"3", "", "5"}, "3 of axis 0; 5 of axis 2"}, {nil, ""},
		{[]string{long}, strings.Repeat("1-2, ", 8) + "... of axis 0"}, {[]string{long[:len(long)-10]}, long[:len(long)-10] + " of axis 0"},
	} {
		if got := positionsText(&unshard.Input{Axes: c.axes}); got != c.want {
			t.Errorf("%q: %q, want %q", c.axes, got, c.want)
		}
	}
}

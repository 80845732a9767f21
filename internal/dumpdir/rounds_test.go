package dumpdir

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/lang"
)

// roundsAt makes rounds with coordinates rank/step/graph/model/folder.
func roundsAt(texts ...string) []*Round {
	var all []*Round
	for _, text := range texts {
		at := Coordinates{}
		for i, value := range strings.Split(text, "/") {
			*coordinates[i].value(&at) = value
		}
		all = append(all, &Round{At: at})
	}
	return all
}

// shown lists the result of PairRounds.
func shown(p *RoundPairs) []string {
	short := func(r *Round) string {
		return strings.TrimRight(strings.Join([]string{r.At.Rank, r.At.Step, r.At.Graph, r.At.Model, r.At.Folder}, "/"), "/")
	}
	var all []string
	for _, n := range p.Notes {
		all = append(all, n.String())
	}
	for _, x := range p.Pairs {
		text := short(x.Ref) + " = " + short(x.NPU)
		if len(x.Notes) > 0 {
			text += ": " + lang.Join(x.Notes, lang.Text{EN: ", "}).String()
		}
		all = append(all, text)
	}
	for _, r := range p.Ref {
		all = append(all, short(r)+" = ")
	}
	for _, n := range p.NPU {
		all = append(all, " = "+short(n))
	}
	return all
}

func TestPairRounds(t *testing.T) {
	for _, test := range []struct {
		name     string
		ref, npu []string
		want     []string
	}{
		{"two devices, two steps", []string{"0/0", "0/1", "1/0", "1/1"}, []string{"0/0", "0/1", "1/0", "1/1"},
			[]string{"0/0 = 0/0", "0/1 = 0/1", "1/0 = 1/0", "1/1 = 1/1"}},
		{"R2: a loose reference", []string{""}, []string{"0/0", "0/1", "1/0", "1/1"}, []string{
			"the reference has no rank: it is compared with each rank of the NPU (2)", "the reference has no step: it is compared with each step of the NPU (2)",
			" = 0/0", " = 0/1", " = 1/0", " = 1/1"}},
		{"R2: a reference of one device and step", []string{"0/0"}, []string{"0/0", "1/1"},
			[]string{"0/0 = 0/0", "0/0 = 1/1: rank 1 is compared with rank 0 of the reference, step 1 is compared with step 0 of the reference"}},
		{"one step of the NPU", []string{"0/0", "0/1"}, []string{"0/1"}, []string{"0/1 = 0/1", "0/0 = "}},
		{"one value on either side", []string{"0"}, []string{"3"}, []string{"0 = 3: rank 3 is compared with rank 0 of the reference"}},
		{"one other step of the NPU", []string{"/0", "/1"}, []string{"/5"},
			[]string{"/0 = /5: step 5 is compared with step 0 of the reference", "/1 = /5: step 5 is compared with step 1 of the reference"}},
		{"several other values", []string{"0", "1"}, []string{"2", "3"}, []string{"0 = ", "1 = ", " = 2", " = 3"}},
		{"some values on both sides", []string{"0", "1"}, []string{"1", "2"}, []string{"1 = 1", "0 = ", " = 2"}},
		{"a coordinate of the reference alone", []string{"/0", "/1"}, []string{"2"},
			[]string{"the NPU has no step: it is compared with each step of the reference (2)", "/0 = 2", "/1 = 2"}},
		{"constants", []string{"0//0/N", "0/1/0/N"}, []string{"0//0/N", "0/1/0/N"}, []string{"0//0/N = 0//0/N", "0/1/0/N = 0/1/0/N"}},
		{"R4: synchronous and asynchronous", []string{"0/3//Net"}, []string{"7/3/0/ResNet50"},
			[]string{"0/3//Net = 7/3/0/ResNet50: rank 7 is compared with rank 0 of the reference, model ResNet50 is compared with model Net of the reference"}},
		{"folders of one name", []string{"////a", "////b"}, []string{"////b", "////c"}, []string{"////b = ////b", "////a = ", " = ////c"}},
		{"nothing", nil, nil, nil},
		{"no reference", nil, []string{"0"}, []string{" = 0"}},
	} {
		got := shown(PairRounds(roundsAt(test.ref...), roundsAt(test.npu...)))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
	}
}

// cannRun writes a run of two devices and steps in the folders of CANN.
func cannRun(t *testing.T, start string, steps, operators int) *Run {
	t.Helper()
	var names []string
	for device := range 2 {
		for step := range steps {
			for op := range operators {
				names = append(names, fmt.Sprintf("2021081816320%s%d/%d/net_2021081816320%s%d/11/%d/Conv2D.conv%d.%d.3.16246051598%05d",
					start, device, device, start, device, step, op, op, op))
			}
		}
	}
	files := map[string]string{}
	for _, name := range names {
		files[strings.ReplaceAll(name, "2021081816320"+start, "202108181632"+start)] = "x"
	}
	return open(t, files)
}

// TestRunsOfCANNPair (R1): two runs of CANN with different start times pair by device, model and
// step.
func TestRunsOfCANNPair(t *testing.T) {
	ref, npu := cannRun(t, "1", 3, 2), cannRun(t, "4", 3, 2)
	p := PairRounds(ref.Rounds, npu.Rounds)
	want := []string{"0/0/11/net = 0/0/11/net", "0/1/11/net = 0/1/11/net", "0/2/11/net = 0/2/11/net",
		"1/0/11/net = 1/0/11/net", "1/1/11/net = 1/1/11/net", "1/2/11/net = 1/2/11/net"}
	if diff := cmp.Diff(want, shown(p)); diff != "" {
		t.Error(diff)
	}
}

// TestProgramsPair: two programs lie in folders of a run, one with more ranks and the other with more
// steps than all that both have. A rank or step of one program alone keeps the folder, so that it
// pairs with the only rank of the reference of this program.
func TestProgramsPair(t *testing.T) {
	write := func(top string, ranks, steps map[string]int) *Run {
		files := map[string]string{}
		for program, n := range ranks {
			for rank := range n {
				for step := range steps[program] {
					files[fmt.Sprintf("%s/%s/rank%d/step%d/Functional.relu.0.forward.output.0.npy", top, program, rank, step)] = "x"
				}
			}
		}
		return open(t, files)
	}
	steps := map[string]int{"actor": 1, "critic": 2}
	npu := write("run", map[string]int{"actor": 3, "critic": 2}, steps)
	ref := write("ref", map[string]int{"actor": 1, "critic": 1}, map[string]int{"actor": 2, "critic": 2})
	var got []string
	for _, x := range PairRounds(ref.Rounds, npu.Rounds).Pairs {
		got = append(got, fmt.Sprintf("%s %s %s = %s %s %s", x.Ref.At.Folder, x.Ref.At.Rank, x.Ref.At.Step, x.NPU.At.Folder, x.NPU.At.Rank, x.NPU.At.Step))
	}
	slices.Sort(got)
	want := []string{"actor 0 0 = actor 0 0", "actor 0 0 = actor 1 0", "actor 0 0 = actor 2 0",
		"critic 0 0 = critic 0 0", "critic 0 0 = critic 1 0", "critic 0 1 = critic 0 1", "critic 0 1 = critic 1 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSynchronousAndAsynchronous (R4): the same net dumped in both ways.
func TestSynchronousAndAsynchronous(t *testing.T) {
	async := open(t, named("device_7/Net_graph_0/0/3/ReLU.Default_relu_ReLU-op515.5.6."+stamp1))
	sync := open(t, named("Net/0/iteration_3/Default--relu--ReLU-op516_output_0_shape_1_2_Float32_NCHW.bin"))
	want := []string{"0/3//Net = 7/3/0/Net: rank 7 is compared with rank 0 of the reference"}
	if diff := cmp.Diff(want, shown(PairRounds(sync.Rounds, async.Rounds))); diff != "" {
		t.Error(diff)
	}
}

func TestSelect(t *testing.T) {
	r := &Run{Rounds: roundsAt("0/0/1/a", "0/4/1/a", "0/10/2/b", "3/4/1/a", "//1/a")}
	for _, test := range []struct {
		rank, step, graph, model string
		want                     []string
	}{
		{"", "", "", "", []string{"0/0/1/a", "0/4/1/a", "0/10/2/b", "3/4/1/a", "//1/a"}},
		{"0", "3-5|10", "", "", []string{"0/4/1/a", "0/10/2/b", "//1/a"}},
		{"1-2", "", "", "", []string{"//1/a"}},
		{"", "", "2", "b|c", []string{"0/10/2/b"}},
	} {
		var s Selection
		var err error
		for i, text := range []string{test.rank, test.step, test.graph} {
			if s[i], err = ParseNumbers(text); err != nil {
				t.Fatal(err)
			}
		}
		if s[ByModel], err = ParseNames(test.model); err != nil {
			t.Fatal(err)
		}
		want := roundsAt(test.want...)
		var at, wanted []Coordinates
		for _, round := range r.Select(s) {
			at = append(at, round.At)
		}
		for _, round := range want {
			wanted = append(wanted, round.At)
		}
		if diff := cmp.Diff(wanted, at); diff != "" {
			t.Errorf("%+v:\n%s", test, diff)
		}
	}
	for _, bad := range []string{"a", "1,x", "5-3", "1||2", " ", strings.Repeat("1|", 5000) + "1"} {
		if _, err := ParseNumbers(bad); err == nil || len(err.Error()) > 300 {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if _, err := ParseNames("a||b"); err == nil {
		t.Error("an empty name is no error")
	}
}

func TestChoose(t *testing.T) {
	root := t.TempDir()
	write(t, root, named("rank_0/Net/0/1/A.x.1.2."+stamp1, "rank_0/Net/0/1/B.y.1.2."+stamp2, "rank_1/Net/0/1/A.x.1.2."+stamp1,
		"rank_1/debug_files/1/Opdebug.Node_OpDebug.1.2."+stamp3, "notes.txt"))
	one, err := ParseNumbers("1")
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewNameSet([]string{"x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		s    Selection
		ops  *NameSet
		want string
	}{
		{"all", Selection{}, nil, "notes.txt 0A 0B 1A 1Opdebug"},
		{"a rank", Selection{ByRank: one}, nil, "notes.txt 1A 1Opdebug"},
		{"an operator", Selection{}, x, "0A 1A"},
		{"both", Selection{ByRank: one}, x, "1A"},
	} {
		r := openAt(t, root, Options{})
		if err := r.Choose(t.Context(), test.s, test.ops, HeaderOptions{}); err != nil {
			t.Fatal(err)
		}
		if kept := len(r.Files); r.NotChosen != 5-kept {
			t.Errorf("%s: %d files are left, %d left out of 5", test.name, kept, r.NotChosen)
		}
		for _, round := range r.Rounds {
			if !test.s.Includes(round.At) || slices.ContainsFunc(round.Ops, func(op *Op) bool { return !test.ops.Includes(op) }) {
				t.Errorf("%s: round %s has %s", test.name, round.At, ops(round))
			}
		}
		var got []string
		for _, f := range r.Files {
			name, _, isDump := strings.Cut(f.Name, ".")
			if !isDump || name == "notes" {
				name = f.Name
			}
			got = append(got, f.Folder.At.Rank+name)
		}
		slices.Sort(got)
		want := strings.Fields(test.want)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestDropDiffering(t *testing.T) {
	for _, test := range []struct {
		name     string
		ref, npu []string
		want     []string
	}{
		{"a rank that the reference lacks", []string{"0"}, []string{"0", "1"}, []string{"0 = 0", " = 1"}},
		{"a rank that the NPU lacks", []string{"0/1", "1/1"}, []string{"0/1"}, []string{"0/1 = 0/1", "1/1 = "}},
		{"another device", []string{"0"}, []string{"3"}, []string{"0 = 3: rank 3 is compared with rank 0 of the reference"}},
	} {
		p := PairRounds(roundsAt(test.ref...), roundsAt(test.npu...))
		p.DropDiffering()
		if diff := cmp.Diff(test.want, shown(p)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestShortNames(t *testing.T) {
	got := ShortNames([]Coordinates{{Rank: "0", Step: "1", Model: "net"}, {Rank: "1", Step: "1", Model: "net"}, {Step: "1", Model: "net", Folder: "a/b"}})
	if diff := cmp.Diff([]string{"rank 0", "rank 1", "a/b"}, got); diff != "" {
		t.Error(diff)
	}
	if got := ShortNames([]Coordinates{{Rank: "0"}}); got[0] != "" {
		t.Errorf("one round is called %q", got[0])
	}
}

package dumpconf

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/lang"
)

// dumped returns a tree for a graph of operators; operators with a minus were not dumped.
func dumped(t Tree, ops ...string) Options {
	t.names = make(map[string]bool)
	for _, op := range ops {
		name, missing := strings.CutPrefix(op, "-")
		t.Order, t.GraphOps = append(t.Order, name), append(t.GraphOps, name)
		if !missing {
			t.names[strings.ReplaceAll(name, "/", "_")] = true
		}
	}
	return Options{Tree: &t}
}

func treeCases() []ruleCase {
	steps := func(dumped ...string) Options { return Options{Tree: &Tree{Steps: dumped}} }
	ran := func(ran []string, dumped ...string) Options {
		return Options{Tree: &Tree{Steps: dumped, Executed: ran}}
	}
	ranks := func(dumped ...string) Options { return Options{Tree: &Tree{Ranks: dumped, RanksKnown: true}} }
	graphs := func(saved, dumped []string) Options { return Options{Tree: &Tree{Graphs: saved, Dumped: dumped}} }
	two := dumped(Tree{}, "Default/net/Conv2D-op1", "-Default/net/conv1/Conv2D-op12", "Default/net/Add-op3")
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("Default/Add-op%d", i))
	}
	one, half := slices.Clone(many), slices.Clone(many)
	one[7] = "-" + one[7]
	for i := range 15 {
		half[i] = "-" + half[i]
	}
	long := "-Default/" + strings.Repeat("network-TrainOneStepCell/", 9) + "Add-op1"
	return []ruleCase{
		{rule: "MS070", text: common(`"iteration":"4|§6"`), opt: steps("4", "5"), message: "iteration 6 requested, 4, 5 dumped"},
		{rule: "MS070", text: common(`"iteration":"§0-100"`), opt: steps("0", "1", "2", "50"), message: "iteration 3-49, 51-100 requested, 0-2, 50 dumped"},
		{rule: "MS070", text: common(`"iteration":"§18446744073709551614-18446744073709551615"`), opt: steps("18446744073709551615"), message: "iteration 18446744073709551614 requested"},
		{rule: "MS070", text: common(`"iteration":"§3"`), opt: steps(), message: "none dumped"},
		{rule: "MS070", text: common(`"iteration":"§4-6"`), opt: ran([]string{"4", "5"}, "4"), message: "iteration 5-6 requested, 4 dumped: the run ended before"},
		{rule: "MS070", text: common(`"iteration":"§4-5"`), opt: ran([]string{"4", "5"}, "4"), message: "iteration 5 requested, 4 dumped: it was not dumped, although it ran"},
		{rule: "MS070", text: common(`"iteration":"§4-10"`), opt: ran([]string{"4", "5"}, "4", "5"), message: "iteration 6-10 requested, 4, 5 dumped: it did not run"},
		{rule: "MS070", text: common(`"iteration":"4-5"`), opt: steps("4", "5")},
		{rule: "MS070", text: common(`"iteration":"all"`), opt: steps("4")},
		{rule: "MS070", text: common(`"iteration":"6"`, `"op_debug_mode":3`), opt: steps("4")},
		{rule: "MS070", text: common(`"iteration":"6"`)},
		{rule: "MS071", text: common(`"support_device":[0,§1]`), opt: ranks("0"), message: "device 1 requested"},
		{rule: "MS071", text: common(`"support_device":[0,1]`), opt: ranks("0", "1")},
		{rule: "MS071", text: common(`"support_device":[0,1]`), opt: ranks("8", "9")},
		{rule: "MS071", text: common(`"support_device":[0,1]`), opt: Options{Tree: &Tree{Ranks: []string{"0"}}}},
		{rule: "MS072", text: common(`"input_output":§2`), opt: steps("0"), message: "only outputs"},
		{rule: "MS072", text: common(`"input_output":§1`), opt: steps("0"), message: "only inputs"},
		{rule: "MS072", text: common(`"input_output":0`), opt: steps("0")},
		{rule: "MS073", text: common(`"dump_mode":1`, `"kernels":["Add",§"Default/net/conv1/Conv2D-op12"]`), opt: two, message: "in the graph, not dumped"},
		{rule: "MS073", text: common(`"dump_mode":1`, `"kernels":[§"conv"]`), opt: two, message: "1 of 2 not dumped: Default/net/conv1/Conv2D-op12"},
		{rule: "MS073", text: common(`"dump_mode":1`, `"kernels":[§"name-regex(Default/.*Conv2D-op12)"]`), opt: two, message: "not dumped"},
		{rule: "MS073", text: common(`"dump_mode":1`, `"kernels":[§"Default/net/Add-op4"]`), opt: two, message: "nearest are Default/net/Add-op3"},
		{rule: "MS073", text: common(`"dump_mode":1`, `"kernels":[§"Sin"]`), opt: two, message: "not in the graph"},
		{rule: "MS073", text: common(`"dump_mode":1`, `"kernels":["Default/net/Conv2D-op1","name-regex(.*Add.*)","name-regex(()",""]`), opt: two},
		{rule: "MS073", text: common(`"dump_mode":0`, `"kernels":["Sin"]`), opt: two},
		{rule: "MS073", text: common(`"dump_mode":1`, `"kernels":["Sin"]`), opt: steps("0")},
		{rule: "MS074", text: common(`"saved_data":§"statistic"`), opt: steps("0")},
		{rule: "MS074", text: common(`"saved_data":"full"`), opt: steps("0")},
		{rule: "MS075", text: common(`"op_debug_mode":§3`), opt: steps("0")},
		{rule: "MS075", text: common(`"op_debug_mode":0`), opt: steps("0")},
		{rule: "MS076", text: common(`"dump_mode":§0`), opt: dumped(Tree{}, one...), message: "1 of 30 operators of the execution order were not dumped: Default/Add-op7"},
		{rule: "MS076", text: common(`"dump_mode":0`), opt: dumped(Tree{}, half...)},
		{rule: "MS076", text: common(`"dump_mode":0`), opt: dumped(Tree{}, many...)},
		{rule: "MS076", text: common(`"dump_mode":2`), opt: dumped(Tree{}, one...)},
		{rule: "MS077", text: common(`"dump_mode":§0`), opt: dumped(Tree{}, long), message: "reserve_class_name_in_scope=False (1 operator: Default/"},
		{rule: "MS077", text: common(`"dump_mode":0`), opt: dumped(Tree{Mapped: true}, long)},
		{rule: "MS077", text: common(`"dump_mode":0`), opt: dumped(Tree{}, one...)},
		{rule: "MS078", text: `{§"common_dump_settings"` + strings.TrimPrefix(common(), `{"common_dump_settings"`), opt: graphs([]string{"0", "2"}, []string{"0"}), message: "graph 2 was not executed"},
		{rule: "MS078", text: common(), opt: graphs([]string{"0"}, []string{"0"})},
		{rule: "MS078", text: common(), opt: graphs([]string{"0"}, nil)},
	}
}

// TestMissingSteps compares the missing steps with a search step by step.
func TestMissingSteps(t *testing.T) {
	for bits := range 1 << 8 {
		for from := range 8 {
			for to := from; to < 8; to++ {
				var dumped, missing []string
				for s := range 8 {
					if bits>>s&1 == 1 {
						dumped = append(dumped, strconv.Itoa(s))
					} else if s >= from && s <= to {
						missing = append(missing, strconv.Itoa(s))
					}
				}
				p := lang.ParseSteps(fmt.Sprintf("%d-%d", from, to))[0]
				got := missingSteps(p, dumped)
				// Two successive steps are a range here.
				want := lang.Ranges(missing)
				for i := range 8 {
					want = strings.ReplaceAll(want, fmt.Sprintf("%d, %d", i, i+1), fmt.Sprintf("%d-%d", i, i+1))
				}
				if got != want {
					t.Fatalf("%d-%d without %v is %q, want %q", from, to, dumped, got, want)
				}
			}
		}
	}
}

// TestOpenTree: a tree lists its contents per rank; a broken graph is an error of its own.
func TestOpenTree(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rank_0/.dump_metadata/data_dump.json":                                             common(),
		"rank_1/.dump_metadata/data_dump.json":                                             common(),
		"rank_0/Net/0/4/Add.Default_Add-op1.0.0.1700000000000000.output.0.ND.npy":          "x",
		"rank_0/Net/0/4/Conv2D.Conv2D-op2.0.0.1700000000000000.output.0.DefaultFormat.npy": "x",
		"rank_1/Net/0/10/Add.Default_Add-op1.0.0.1700000000000000.output.0.ND.npy":         "x",
		"rank_1/Net/0/9/Add.Default_Add-op1.0.0.1700000000000000.output.0.ND.npy":          "x",
		"rank_0/execution_order/ms_execution_order_graph_0.csv":                            "NodeExecutionOrder-FullNameWithScope\nDefault/Add-op1\nDefault/net/Conv2D-op2\nDefault/net/conv2d/Conv2D-op20\n",
		"rank_1/graphs/ms_output_trace_code_graph_0.ir":                                    "no graph",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	all, bad, err := OpenTree(t.Context(), dir)
	if err != nil || len(all) != 2 || len(bad) != 1 || !strings.Contains(bad[0].Error(), "rank_1") {
		t.Fatalf("%d configurations, %v, %v; want 2 and an error of rank_1", len(all), bad, err)
	}
	zero, one := all[0].Tree, all[1].Tree
	if got := fmt.Sprint(zero.Steps, zero.Ranks, zero.RanksKnown, zero.Dumped, zero.missingOps(zero.Order), one.Steps, one.Order, one.Graphs); got != "[4] [0 1] true [0] [Default/net/conv2d/Conv2D-op20] [9 10] [] [0]" {
		t.Error(got)
	}
	// Opened from inside one rank, a tree does not show the others.
	if all, _, _ = OpenTree(t.Context(), filepath.Join(dir, "rank_0")); len(all) != 1 || all[0].Tree.RanksKnown {
		t.Errorf("%+v of rank_0 alone", all)
	}
}

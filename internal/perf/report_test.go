package perf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/sidefile"
)

// write writes files below a new folder and returns the folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// analyze reads paths below a folder.
func analyze(t *testing.T, dir string, opt Options, paths ...string) *Report {
	t.Helper()
	for _, path := range paths {
		opt.Paths = append(opt.Paths, filepath.Join(dir, path))
	}
	if opt.Baseline != "" {
		opt.Baseline = filepath.Join(dir, opt.Baseline)
	}
	opt.Thresholds = DefaultThresholds()
	if opt.Sort == "" {
		opt.Sort = SortMCU
	}
	r, err := Analyze(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// summary prints a report without the folder.
func summary(r *Report, dir string) string {
	var b strings.Builder
	for _, o := range r.Operators {
		fmt.Fprintf(&b, "%d %s#%d at %d: %v %s", o.Rank, o.Name, o.Occurrence, o.At, o.Get(MCU), o.Status)
		for _, a := range o.Advice {
			fmt.Fprintf(&b, " %s", a.Code)
		}
		if o.Cores != nil {
			fmt.Fprintf(&b, " core %d of %d, pld %v", o.Cores.Slowest, o.Cores.NumKnown, o.Get(PLDByte))
		}
		if o.Runs != nil {
			fmt.Fprintf(&b, " runs %d", o.Runs.N)
		}
		b.WriteString("\n")
	}
	for _, h := range r.Hidden {
		fmt.Fprintf(&b, "hidden %s %s\n", h.Name, h.Reason)
	}
	if r.BaselineSummary != nil {
		fmt.Fprintf(&b, "before %d, missing %q\n", r.BaselineSummary.Total, r.BaselineSummary.Missing)
	}
	if r.Relation != "" {
		fmt.Fprintf(&b, "runs %s\n", r.Relation)
	}
	for _, n := range r.Notes {
		if n.Code != NoteNoClass {
			fmt.Fprintf(&b, "%s: %s\n", n.Code, n.Text)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%s\n", p)
	}
	fmt.Fprintf(&b, "total %d\n", r.Total)
	return strings.ReplaceAll(b.String(), dir+string(filepath.Separator), "")
}

func filter(t *testing.T, dict string, skip []string, exclude ...string) *dumpdir.NodeFilter {
	t.Helper()
	f := &dumpdir.NodeFilter{SkipKeys: skip}
	var err error
	if f.Map, err = sidefile.ParseNameMap(dict); err != nil {
		t.Fatal(err)
	}
	if f.Exclude, err = dumpdir.NewNameSet(exclude); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAnalyze(t *testing.T) {
	t.Parallel()
	const most = "9223372036854775807"
	many := "name,mcu_cycle\n" + strings.Repeat("op,1\n", maxRows)
	for name, tt := range map[string]struct {
		files map[string]string
		paths []string
		opt   Options
		want  string
	}{
		"folder result first": {
			map[string]string{"d/result/op_perf.csv": "name,mcu_cycle\na,1\n", "d/op_perf.csv": "name,mcu_cycle\nb,1\n"}, []string{"d"}, Options{},
			"1 a#1 at 0: 1 \ntotal 1\n",
		},
		"several paths": {
			map[string]string{"x.csv": "name,mcu_cycle\na,1\n", "d/op_perf.csv": "name,mcu_cycle\na,2\nb,2\n"}, []string{"x.csv", "d"}, Options{},
			"1 a#2 at 1: 2 \n2 b#1 at 2: 2 \n3 a#1 at 0: 1 \ntotal 5\n",
		},
		"unknown last": {
			map[string]string{"x.csv": "name,mcu_cycle\na,\nb,0\nc,\nd,5\n"}, []string{"x.csv"}, Options{},
			"1 d#1 at 3: 5 \n2 b#1 at 1: 0 \n3 a#1 at 0:  \n4 c#1 at 2:  \ntotal 5\n",
		},
		"sorted by name": {
			map[string]string{"x.csv": "name,mcu_cycle\nop10,1\nop2,5\n"}, []string{"x.csv"}, Options{Sort: SortName},
			"1 op2#1 at 1: 5 \n2 op10#1 at 0: 1 \ntotal 6\n",
		},
		"sorted by conflicts": {
			map[string]string{"x.csv": "name,mcu_cycle,l1_conflict_cycle,im_conflict_cycle\na,9,1,\nb,8,2,2\nc,7,5,0\nd,6," + most + ",1\n"}, []string{"x.csv"}, Options{Sort: SortConflict},
			"1 d#1 at 3: 6  L1_CONFLICTS IMB_CONFLICTS\n2 c#1 at 2: 7  L1_CONFLICTS\n3 b#1 at 1: 8  L1_CONFLICTS IMB_CONFLICTS\n4 a#1 at 0: 9  L1_CONFLICTS\ntotal 30\n",
		},
		"sorted by growth": {
			map[string]string{"x.csv": "name,mcu_cycle\na,900\nb,2000\nc,3\n", "y.csv": "name,mcu_cycle\na,100\nb,9000\n"}, []string{"x.csv"}, Options{Sort: SortGrowth, Baseline: "y.csv"},
			"1 a#1 at 0: 900 SAME\n2 b#1 at 1: 2000 FASTER\n3 c#1 at 2: 3 NEW\nbefore 9100, missing []\ntotal 2903\n",
		},
		"filters in order": {
			map[string]string{"x.csv": "name,mcu_cycle\nfused_1,1\nfused_2,2\nk_span,4\nconv,8\nfused:3,16\n"}, []string{"x.csv"},
			Options{NoSpan: true, Filter: filter(t, "{'a_span':'fused_1','conv':'fused_2','net/x':'fused_3'}", []string{"onv", "span"}, "net_x", "gone", "conv")},
			"hidden a_span SPAN\nhidden conv SKIP_KEY\nhidden k_span SPAN\nhidden conv SKIP_KEY\nhidden net/x EXCLUDED\nEXCLUDE_UNMATCHED: --exclude-node-list: no operator is called gone\ntotal 0\n",
		},
		"mapped names are occurrences": {
			map[string]string{"x.csv": "name,mcu_cycle\na,1\nb,2\n", "y.csv": "name,mcu_cycle\na,1\na,9000\n"}, []string{"x.csv"},
			Options{Filter: filter(t, "{'a':'b'}", nil), Baseline: "y.csv"},
			"1 a#2 at 1: 2 FASTER\n2 a#1 at 0: 1 SAME\nbefore 9001, missing []\ntotal 3\n",
		},
		"damaged rows count": {
			map[string]string{"x.csv": "name,mcu_cycle\na,x\na,2\nb,7\nc,9\n", "y.csv": "name,mcu_cycle\na,1\na,2\nb,y\nd,1\n"}, []string{"x.csv"}, Options{Baseline: "y.csv"},
			"1 c#1 at 2: 9 NEW\n2 b#1 at 1: 7 UNKNOWN\n3 a#2 at 0: 2 SAME\nbefore 4, missing [\"d\"]\n" +
				"x.csv: line 2, column 2: mcu_cycle: x is no number\ny.csv: line 4, column 2: mcu_cycle: y is no number\ntotal 18\n",
		},
		"sums that are too large": {
			map[string]string{"x.csv": "name,mcu_cycle,vme_cycle,mme_cycle,pal_vme_mme_cycle\na," + most + ",1,1,0\nb,1,,,\nc,0," + most + ",1,0\nd,0," + most + ",1,1\n"}, []string{"x.csv"}, Options{},
			"1 a#1 at 0: " + most + " \n2 d#1 at 3: 0 \n" +
				"x.csv: line 3: mcu_cycle: the sum over all operators up to this one exceeds int64\nx.csv: line 4: the sum of vme_cycle and mme_cycle exceeds int64\ntotal " + most + "\n",
		},
		"cores": {
			map[string]string{
				"op_perf_10.csv": "name,mcu_cycle,mte_pld_byte,vme_cycle\na,4000,7,4\nb,2,,1\na,1,1,1\n", "op_perf_02.csv": "name,mcu_cycle,mte_pld_byte,vme_cycle\nb,2,3,2\na,1000,5,3\n",
				"op_perf_2.csv": "name,mcu_cycle\nz,1\n", "op_perf_x.csv": "", "op_perf.txt": "",
			}, []string{"."}, Options{},
			"1 a#1 at 1: 4000  IMBALANCE core 10 of 2, pld 12\n2 b#1 at 0: 2  core 2 of 2, pld \n3 a#2 at 2: 1  core 10 of 1, pld 1\n" +
				"NOT_A_CORE: op_perf_x.csv is not read: its name has no core number\nCORE_MISSING: not on all of the 2 cores: a\n" +
				"op_perf_2.csv: core 2 was read already, from op_perf_02.csv\ntotal 4003\n",
		},
		"cores that cannot be added up": {
			map[string]string{"op_perf_0.csv": "name,mcu_cycle,mte_pld_byte\na," + most + ",0\nb,1," + most + "\nc,x,1\n", "op_perf_1.csv": "name,mcu_cycle,mte_pld_byte\na,1,0\nb,1,1\nc,2,1\n"},
			[]string{"op_perf_1.csv", "op_perf_0.csv"}, Options{},
			"1 c#1 at 0: 2  core 1 of 1, pld 1\nop_perf_0.csv: line 4, column 2: mcu_cycle: x is no number\n" +
				"op_perf_0.csv: line 2: the sum of the mcu_cycle of 2 cores exceeds int64\nop_perf_0.csv: line 3: the sum of the mte_pld_byte of 2 cores exceeds int64\ntotal 2\n",
		},
		"cores beside the table": {
			map[string]string{"op_perf.csv": "name,mcu_cycle,mte_pld_byte\na,7,9\n", "op_perf_0.csv": "name,mcu_cycle\na,3\n", "op_perf_1.csv": "name,mcu_cycle\na,3000\n"},
			[]string{"."}, Options{}, "1 a#1 at 0: 7  IMBALANCE core 1 of 2, pld 9\ntotal 7\n",
		},
		"runs without names": {
			map[string]string{"op_perf.csv": "name,mcu_cycle\nnet/a,7\nb,1\nb,2\n", "perf/net_a.csv": "mcu_cycle\n3\n7\n", "perf/b.csv": "name,mcu_cycle\nb,1\nb,5\n", "perf/x.csv": "mcu\n", "perf/readme.txt": ""},
			[]string{"."}, Options{}, "1 net/a#1 at 0: 7  runs 2\n2 b#2 at 2: 2  runs 2\n3 b#1 at 1: 1  runs 2\nruns max\nperf/x.csv: no column mcu_cycle in the first line, \"mcu\"\ntotal 10\n",
		},
		"one run": {
			map[string]string{"op_perf.csv": "name,mcu_cycle\na,7\n", "perf/a.csv": "name,mcu_cycle\na,7\n"}, []string{"."}, Options{},
			"1 a#1 at 0: 7  runs 1\nruns same\ntotal 7\n",
		},
		"runs of another table": {
			map[string]string{"op_perf.csv": "name,mcu_cycle\na,7\n", "perf/a.csv": "name,mcu_cycle\na,8000\na,9\na,6\n"}, []string{"."}, Options{},
			"1 a#1 at 0: 7  runs 3\nruns unknown\nRELATION_UNKNOWN: mcu_cycle of the table is neither sum, mean, maximum, first nor last of the runs in perf/\n" +
				"RUNS_DIFFER: runs differ by more than 1.25 x the median: a; the ranking uses the table (of unknown relation of the runs)\ntotal 7\n",
		},
		"too many rows": {
			map[string]string{
				"0.csv": "name,mcu_cycle\na,1\n", "1.csv": many, "2.csv": many, "3.csv": many, "4.csv": many,
			}, []string{"0.csv", "1.csv", "2.csv", "3.csv", "4.csv"}, Options{Filter: filter(t, "{}", []string{"op"})},
			"1 a#1 at 0: 1 \n" + strings.Repeat("hidden op SKIP_KEY\n", 3*maxRows) + "4.csv: the tables have more than 131072 rows together: this one and all after it are not read\ntotal 1\n",
		},
		"unreadable table": {
			map[string]string{"d/result/op_perf.csv": "name,cycles\na,1\n"}, []string{"d"}, Options{},
			"d/result/op_perf.csv: no column mcu_cycle in the first line, \"name,cycles\"\ntotal 0\n",
		},
		"dumped meanwhile": {
			map[string]string{"d/result/op_perf.csv": "name,mcu_cycle\na,1\n", "d/npu/a.npy": "", "e/result/op_perf.csv": "name,mcu_cycle\na,1\n", "e/npu": ""}, []string{"d"}, Options{Baseline: "e"},
			"1 a#1 at 0: 1 SAME\nbefore 1, missing []\nBASELINE_MODE: the baseline was counted in another way: one of the two was counted while tensors were dumped, which takes more cycles\n" +
				"DUMP_MODE: counted while tensors were dumped: cycles are higher than in a plain run\ntotal 1\n",
		},
		"dumped meanwhile, says the environment": {
			map[string]string{"x.csv": "name,mcu_cycle\na,1\n"}, []string{"x.csv"}, Options{Mode: ModeDumping, Baseline: "x.csv"},
			"1 a#1 at 0: 1 SAME\nbefore 1, missing []\nDUMP_MODE: counted while tensors were dumped: cycles are higher than in a plain run\ntotal 1\n",
		},
		"plain, says the environment": {
			map[string]string{"x.csv": "name,mcu_cycle\na,1\n", "e/result/op_perf.csv": "name,mcu_cycle\na,1\n", "e/npu/a.npy": ""}, []string{"x.csv"}, Options{Mode: ModePlain, Baseline: "e"},
			"1 a#1 at 0: 1 SAME\nbefore 1, missing []\nBASELINE_MODE: the baseline was counted in another way: one of the two was counted while tensors were dumped, which takes more cycles\ntotal 1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, tt.files)
			got := summary(analyze(t, dir, tt.opt, tt.paths...), dir)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnalyzeErrors(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"x.csv": "name,mcu_cycle\na,1\n", "bad.csv": "x\n", "empty/readme": ""})
	for _, tt := range []struct{ path, baseline, want string }{
		{"gone", "", "no such file"},
		{"x.csv", "gone", "no such file"},
		{"x.csv", "empty", "baseline: no table of operators in " + filepath.Join(dir, "empty")},
		{"x.csv", "bad.csv", "baseline: " + filepath.Join(dir, "bad.csv") + ": no column name in the first line"},
	} {
		opt := Options{Paths: []string{filepath.Join(dir, tt.path)}, Thresholds: DefaultThresholds(), Sort: SortMCU}
		if tt.baseline != "" {
			opt.Baseline = filepath.Join(dir, tt.baseline)
		}
		r, err := Analyze(t.Context(), opt)
		if r != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, baseline %s: %v, error %v, want %s", tt.path, tt.baseline, r, err, tt.want)
		}
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"x.csv":     "name,mcu_cycle,mte_pld_byte,l1_conflict_cycle\na,9000,9000,9000\nb,1,,\nc,5,,\n",
		"y.csv":     "name,mcu_cycle,mte_pld_byte,l1_conflict_cycle\na,1000,1000,1000\nc,5,,\nd,1,,\n",
		"bad.csv":   "name,mcu_cycle\na,x\n",
		"none.csv":  "name,mcu_cycle\n",
		"empty/x":   "",
		"half.csv":  "name,mcu_cycle\na,x\nc,5\n",
		"xspan.csv": "name,mcu_cycle\na_span,1\n",
	})
	standard := FailOn{FailSlower, FailMoves, FailConflicts}
	for _, tt := range []struct {
		path, baseline string
		fail           FailOn
		kind           batch.Kind
		want           string
	}{
		{"x.csv", "", FailNames(), batch.Done, ""},
		{"x.csv", "y.csv", standard, batch.Found, "worse than the baseline: SLOWER 1, REPEATED_MOVES 1, L1_CONFLICTS 1"},
		{"x.csv", "y.csv", FailNames(), batch.Found, "worse than the baseline: SLOWER 1, REPEATED_MOVES 1, L1_CONFLICTS 1, NEW 1, MISSING 1"},
		{"x.csv", "y.csv", FailOn{FailMissing}, batch.Found, "worse than the baseline: MISSING 1"},
		{"y.csv", "y.csv", FailNames(), batch.Done, ""},
		{"y.csv", "x.csv", standard, batch.Done, ""},
		{"half.csv", "y.csv", standard, batch.Incomplete, "1 operator read, 1 problem: lines or tables that cannot be used"},
		{"bad.csv", "", standard, batch.Incomplete, "0 operators read, 1 problem: lines or tables that cannot be used"},
		{"none.csv", "", standard, batch.Nothing, "no operators in none.csv"},
		{"empty", "", standard, batch.Nothing, "no table of operators in empty, want op_perf.csv or op_perf_{core}.csv"},
		{"xspan.csv", "", standard, batch.Nothing, "nothing is left: 1 operator excluded"},
	} {
		r := analyze(t, dir, Options{Baseline: tt.baseline, NoSpan: true}, tt.path)
		o := r.Outcome(tt.fail)
		text := strings.ReplaceAll(o.Text.String(), dir+string(filepath.Separator), "")
		if o.Kind != tt.kind || text != tt.want {
			t.Errorf("%s after %s: %v %q, want %v %q", tt.path, tt.baseline, o.Kind, text, tt.kind, tt.want)
		}
		if len(r.Operators) > 0 && o.Text.Text().Chinese() == "" && tt.want != "" {
			t.Errorf("%s: no Chinese", tt.path)
		}
	}
}

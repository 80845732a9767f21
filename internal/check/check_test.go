package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/recompute"
)

const golden = "../../testdata/golden/recompute"

// truth is the expected result of a golden operator.
type truth struct {
	Type, Fault, Expect, Reason, Extent string
	Visible, Bare                       bool
	Bad                                 *int64
	Worst                               *float64
	Attrs                               map[string]any
}

// renamed maps attribute names of the generator to their names in formulas.
var renamed = map[string]string{"ax": "axes", "act": "activation", "dilation": "dilations", "concat_dim": "axis", "split_dim": "axis"}

// given returns the attributes of a golden operator as --attr.
func (tr *truth) given(t *testing.T) (all []UserAttribute) {
	t.Helper()
	for name, v := range tr.Attrs {
		if n, ok := renamed[name]; ok {
			name = n
		}
		if tr.Type == "Pooling" && name == "mode" {
			v = map[string]string{"max": "0", "avg": "1"}[v.(string)]
		}
		if tr.Type == "PadD" && name == "begin" {
			name = "before"
		}
		g, err := ParseUserAttribute("TYPE:" + tr.Type + "." + name + "=" + strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ","), "[]"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}

// checked checks a folder.
func checked(t *testing.T, opt Options, paths ...string) *Report {
	t.Helper()
	run, err := dumpdir.Open(context.Background(), paths, dumpdir.Options{NoRaw: true})
	if err != nil {
		t.Fatal(err)
	}
	opt.Seed = 1
	r, err := Run(context.Background(), run, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// otherwise has expected results for golden operators whose generator used outdated rules. The numbers were counted
// from the tensors, not by this program.
var otherwise = map[string]struct {
	bad    int64
	extent string
	status string // empty for the status of the truth
}{
	// Only an unusual base explains a Log that is 1.02 times too large. The graph is missing, so the base is open,
	// and a fitted number proves nothing.
	"op27_log_f16_scale102_bare": {bad: 1006, status: "misfit"},
	// The sums of products of int8 fit int32, so each sum has exactly one right value: 500 of 512 differ. The truth
	// allows an error of 1, which leaves 486, and 5.1 % instead of 2.3 % right elements.
	"op45_matmulv2_f16_coarse": {bad: 500, extent: "all"},
	// 101 elements differ by more than 1 and are no further than 2^-7 (the step of bfloat16) from a tie. The truth
	// has 103, with the step of float16, 2^-10.
	"op37_ascendquant_bf16_channel": {bad: 101, extent: "part"},
}

// TestGolden compares the verdicts on golden operators with the expected verdicts, without a graph and with all
// attributes.
func TestGolden(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(filepath.Join(golden, "op*"))
	if err != nil || len(dirs) != 60 {
		t.Fatalf("%d golden operators, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want truth
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			if own, ok := otherwise[filepath.Base(dir)]; ok {
				want.Bad, want.Extent = &own.bad, own.extent
				if own.status != "" {
					want.Expect, want.Reason = own.status, ""
				}
			}
			var opt Options
			if !want.Bare {
				opt.Attributes = want.given(t)
			}
			r := checked(t, opt, dir)
			if len(r.Operators) != 1 || len(r.Problems) > 0 {
				t.Fatalf("%d operators, problems %v", len(r.Operators), r.Problems)
			}
			o := &r.Operators[0]
			reason := string(o.Reason)
			if want.Reason == "CALC_ERROR" {
				reason = want.Reason // a more specific cause is as good
			}
			if o.Status.Key() != strings.ToLower(want.Expect) || reason != want.Reason || want.Extent != "" && string(o.Extent) != want.Extent {
				t.Errorf("%s %s %s, want %s %s %s", o.Status, o.Reason, o.Extent, want.Expect, want.Reason, want.Extent)
			}
			bad := int64(0)
			for _, out := range o.Outputs {
				bad += out.Bad
			}
			if want.Bad != nil && bad != *want.Bad {
				t.Errorf("%d bad elements, want %d", bad, *want.Bad)
			}
			// Normalisations round like a*x + b here, unlike the golden data: a difference of less than 1 %.
			if worst, _ := o.worst(); want.Worst != nil && *want.Worst < 1e30 && math.Abs(worst-*want.Worst) > 1e-2**want.Worst {
				t.Errorf("the worst is %g of its bound, want %g", worst, *want.Worst)
			}
		})
	}
}

// TestSameBytes: a report does not depend on the number of workers.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	var first []byte
	for _, workers := range []int{1, 7} {
		text, err := json.Marshal(checked(t, Options{Workers: workers}, golden))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = text
		}
		if string(text) != string(first) {
			t.Errorf("%d workers give another report", workers)
		}
	}
}

// TestConclude checks the exit of reports.
func TestConclude(t *testing.T) {
	t.Parallel()
	of := func(all ...recompute.Status) *Report {
		r := &Report{failOn: []string{"wrong"}}
		for i, s := range all {
			o := Operator{Op: fmt.Sprint("op", i), Type: "Relu", Verdict: recompute.Verdict{Status: s}}
			if s == recompute.Undecided {
				o.Reason = recompute.NoType
			}
			r.Operators = append(r.Operators, o)
		}
		r.conclude()
		return r
	}
	for _, c := range []struct {
		r        *Report
		headline string
		kind     string
	}{
		{of(), "OK: 0 of 0", "nothing"},
		{of(recompute.OK, recompute.Low), "OK: 2 of 2 operators compute the right result from their inputs, 0 undecided", "done"},
		{of(recompute.OK, recompute.Wrong), "WRONG: op1 (Relu) computes a wrong result from its inputs", "found"},
		{of(recompute.Wrong, recompute.Wrong), "WRONG: 2 operators compute a wrong result from their inputs, first op0 (Relu)", "found"},
		{of(recompute.OK, recompute.Misfit), "OK so far: 1 of 2 operators compute the right result from their inputs, 1 suspect: op1", "done"},
		{of(recompute.OK, recompute.Undecided, recompute.Undecided), "NOT JUDGED: only 1 of 3 operators could be judged", "done"},
		{of(recompute.Undecided), "NOT JUDGED: none of 1 operator could be judged; most frequent reason (1): no formula is known for the type; dumptool check --types lists the types whose formula is known", "nothing"},
	} {
		if got := c.r.Summary.Headline.String(); !strings.HasPrefix(got, c.headline) {
			t.Errorf("headline %q, want %q", got, c.headline)
		}
		if got := [...]string{"done", "found", "not covered", "nothing", "incomplete"}[c.r.Outcome(false).Kind]; got != c.kind {
			t.Errorf("%q ends as %s, want %s", c.headline, got, c.kind)
		}
	}
	r := of(recompute.OK, recompute.Undecided)
	if r.require = .9; r.Outcome(false).Kind != 2 {
		t.Error("half of the operators are judged, and that is enough for 0.9")
	}
}

// TestParseGiven parses --attr.
func TestParseGiven(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"conv1.strides=2,2":           "conv1||strides|2,2",
		"net/conv1.weight.alpha=0.5":  "net/conv1.weight||alpha|0.5",
		"TYPE:LayerNorm.epsilon=1e-5": "|LayerNorm|epsilon|1e-05",
		"a.keep=true":                 "a||keep|1",
		"a.mode=tanh":                 "a||mode|tanh",
		"a=1":                         "",
		".b=1":                        "",
		"a.=1":                        "",
		"a.b":                         "",
		"a.b=":                        "",
	} {
		g, err := ParseUserAttribute(text)
		got := strings.Join([]string{g.Op, g.Type, g.Name, g.Value.String()}, "|")
		if (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
}

// worst is the largest ratio of the outputs.
func (o *Operator) worst() (w float64, ok bool) {
	for _, t := range o.Outputs {
		if x := float64(t.Worst); x > w {
			w = x
		}
		ok = true
	}
	return w, ok
}

// TestInterrupted: the report of an interrupted run has the operators judged until then, says that it was
// interrupted, and comes with the error.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	run, err := dumpdir.Open(context.Background(), []string{golden}, dumpdir.Options{NoRaw: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	total := 0
	r, err := Run(ctx, run, Options{Seed: 1, Workers: 1, Observe: func(e batch.Event) {
		if total = e.Total; e.Done == 3 {
			stop()
		}
	}})
	if !errors.Is(err, context.Canceled) || r == nil {
		t.Fatal(r, err)
	}
	n := len(r.Operators)
	if n < 3 || n >= total || !r.Interrupted || !strings.HasPrefix(r.Summary.Headline.String(), "INTERRUPTED, so far: ") || r.Summary.Operators != n {
		t.Errorf("%d of %d operators, %t, %q", n, total, r.Interrupted, r.Summary.Headline)
	}
	for _, o := range r.Operators {
		if o.Status == "" {
			t.Errorf("%s has no status", o.Op)
		}
	}
}

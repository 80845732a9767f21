package report

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"

	"github.com/google/go-cmp/cmp"
)

// netOps lists the operators of the rounds in these tests, in execution order.
var netOps = []string{"net/conv1", "net/relu1", "net/fc1", "net/add1", "net/fc2", "net/prob"}

// roundsOf makes a report of rounds; some are bad from an operator on.
func roundsOf(rounds []record.RoundCoordinates, firstBad func(at record.RoundCoordinates) string) *record.Report {
	var rows []record.Row
	var all []record.Round
	for _, at := range rounds {
		round := record.Round{Name: roundName(record.RoundCoordinates{Rank: at.Rank, Step: at.Step}), RoundCoordinates: at, RefAt: at, OrderKnown: true, Counts: map[record.Status]int{}, Findings: record.NoFindings()}
		bad := firstBad(at)
		for k, op := range netOps {
			row := passing(op)
			if op == bad {
				round.Findings.FirstBad, round.Findings.LastGood = len(rows), len(rows)-1
			}
			if round.Findings.FirstBad >= 0 {
				row = failing(op)
			}
			row.Round, row.RoundCoordinates, row.Order = round.Name, at, k
			round.Counts[row.Status]++
			rows = append(rows, row)
		}
		all = append(all, round)
	}
	r := reportOf(rows...)
	for i := range rows {
		r.Rows[i].Order = i % len(netOps)
	}
	r.Rounds = all
	return r
}

// devices returns rounds for some ranks and steps.
func devices(ranks, steps int) (all []record.RoundCoordinates) {
	for rank := range ranks {
		for step := range steps {
			all = append(all, record.RoundCoordinates{Rank: fmt.Sprint(rank), Step: fmt.Sprint(step), Graph: "1", Model: "net"})
		}
	}
	return all
}

// headed sets the round of the headline.
func headed(r *record.Report, at record.RoundCoordinates) *record.Report {
	for i := range r.Rounds {
		if r.Rounds[i].RoundCoordinates == at {
			r.Findings = r.Rounds[i].Findings
		}
	}
	return r
}

func summaryAt(t *testing.T, r *record.Report, width int) string {
	t.Helper()
	return printed(t, func(w io.Writer) error {
		return Text{Width: width, Matrix: width > 0 && len(r.Rounds) <= maxRounds}.WriteCompare(w, r)
	})
}

// TestRounds: two ranks with three steps each, one of them bad.
func TestRounds(t *testing.T) {
	at := record.RoundCoordinates{Rank: "1", Step: "2", Graph: "1", Model: "net"}
	r := headed(roundsOf(devices(2, 3), func(x record.RoundCoordinates) string {
		if x == at {
			return "net/fc1"
		}
		return ""
	}), at)
	change(&r.Rows[32], func(r *metrics.Result) { r.RED = known(0.25) })
	change(&r.Rows[31], func(r *metrics.Result) { r.RED = known(0.001) })
	change(&r.Rows[33], func(r *metrics.Result) { r.RED = known(0) })
	got := summaryAt(t, r, 80)
	want := `FAIL: 4 of 36 tensors beyond the limits; first bad: net/fc1 (Conv2D), rank 1
step 2, on 1 of 2 ranks

6 rounds: 5 PASS, 1 FAIL
RANK/STEP  0     1     2
0          PASS  PASS  PASS
1          PASS  PASS  FAIL

FIRST BAD  TYPE    ROUNDS  WHERE
net/fc1    Conv2D       1  rank 1 step 2

All tensors of rank 1 step 2 in execution order:
  ▁▁████
    ^ first bad
  █ own error, ▁ pass

First bad       net/fc1 (Conv2D), rank 1 step 2
                2 of 4 elements are errors (50 %), first at 0 (0, 0): reference
                  1, NPU 1.3
                CALC_ERROR (high confidence): mean_rel of the inputs 0.001 <
                  0.1, of the output 4.2 > 1
                LIMITS (high confidence): 2 of 4 elements
                reference: cpu/net/fc1.npy
                NPU: npu/net/fc1.npy
Last good       net/relu1 (Relu)

Rows around the first bad one, in execution order (RED: rms error / rms of the
reference; TREND: RED / RED of the inputs or of the previous operator):
  OP         STATUS  ERRORS/TOTAL     RED    TREND    COSINE  REASON
  net/conv1  PASS             0/4  0.0913           0.998295
  net/relu1  PASS             0/4   0.001  x 0.011  0.998295
> net/fc1    FAIL             2/4    0.25    x 250  0.993648  CALC_ERROR
  net/add1   FAIL             2/4       0      x 0  0.993648  CALC_ERROR
  net/fc2    FAIL             2/4  0.0913   from 0  0.993648  CALC_ERROR
  net/prob   FAIL             2/4  0.0913      x 1  0.993648  CALC_ERROR
Codes: CALC_ERROR: Calculation error

Coverage `
	if !strings.HasPrefix(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestRoundColors: statuses are coloured in the verdict, the matrix and the rows.
func TestRoundColors(t *testing.T) {
	rounds := devices(1, 2)
	r := headed(roundsOf(rounds, func(x record.RoundCoordinates) string { return map[string]string{"1": "net/fc1"}[x.Step] }), rounds[1])
	got := printed(t, func(w io.Writer) error { return Text{Width: 80, Matrix: true, Color: true}.WriteCompare(w, r) })
	for _, want := range []string{"\x1b[1;31mFAIL\x1b[0m: 4 of 12 tensors", "\n0          \x1b[32mPASS\x1b[0m  \x1b[1;31mFAIL\x1b[0m\n", "\n> net/fc1    \x1b[1;31mFAIL\x1b[0m "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	plain := strings.NewReplacer("\x1b[1;31m", "", "\x1b[32m", "", "\x1b[0m", "")
	if plain.Replace(got) != summaryAt(t, r, 80) {
		t.Errorf("colours change the text:\n%q", got)
	}
}

// TestRoundsInPipe: without a terminal each round has a line.
func TestRoundsInPipe(t *testing.T) {
	rounds := devices(2, 2)
	r := headed(roundsOf(rounds, func(x record.RoundCoordinates) string {
		if x.Step == "1" {
			return map[string]string{"0": "net/add1", "1": "net/relu1"}[x.Rank]
		}
		return ""
	}), rounds[1])
	r.Rounds[1].Findings.Jump, r.Rounds[1].Findings.LargestJump = 99, r.Rounds[1].Findings.FirstBad
	want := `FAIL: 8 of 24 tensors beyond the limits; first bad: net/add1 (Conv2D), rank 0 step 1, on 1 of 2 ranks

4 rounds: 2 PASS, 2 FAIL
RANK  STEP  GRAPH  MODEL  STATUS  FAILED/COMPARED  FIRST BAD           LAST GOOD         LARGEST JUMP
0     0     1      net    PASS                0/6
0     1     1      net    FAIL                3/6  net/add1 (Conv2D)   net/fc1 (Relu)    net/add1 (Conv2D)
1     0     1      net    PASS                0/6
1     1     1      net    FAIL                5/6  net/relu1 (Conv2D)  net/conv1 (Relu)

First bad       net/add1 (Conv2D), rank 0 step 1
`
	if got := summaryAt(t, r, 0); !strings.HasPrefix(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestManyRounds: of more than twenty rounds the passed ones are counted, and rounds that are bad
// in the same way share a line, on a terminal and off it. For twenty, a terminal shows a matrix,
// split into as many parts as needed.
func TestManyRounds(t *testing.T) {
	from := map[string]int{"0": 12, "1": 12, "2": 12, "5": 17}
	r := roundsOf(devices(8, 20), func(x record.RoundCoordinates) string {
		var step int
		fmt.Sscan(x.Step, &step)
		if first, bad := from[x.Rank]; !bad || step < first {
			return ""
		}
		if x.Rank == "5" || step == 15 {
			return "net/fc2"
		}
		return "net/conv1"
	})
	r = headed(r, record.RoundCoordinates{Rank: "0", Step: "12", Graph: "1", Model: "net"})
	want := `
160 rounds: 133 PASS, 27 FAIL
STATUS  FIRST BAD  ROUNDS  WHERE
FAIL    net/conv1      21  ranks 0-2 steps 12-14,16-19
FAIL    net/fc2         6  ranks 0-2 step 15; rank 5 steps 17-19

`
	for _, width := range []int{0, 80} {
		if got := summaryAt(t, r, width); !strings.Contains(got, want) {
			t.Errorf("width %d: (-want +got):\n%s", width, cmp.Diff(want, got))
		}
	}
	good := roundsOf(devices(8, 20), func(record.RoundCoordinates) string { return "" })
	if got := summaryAt(t, good, 0); !strings.Contains(got, "\n160 rounds: 160 PASS\n\n") {
		t.Errorf("all passed:\n%s", got)
	}
	if verdict := (Text{}).CompareVerdict(r); !strings.HasSuffix(verdict, ", on 3 of 8 ranks") {
		t.Error(verdict)
	}
	// Every second step fails: no neighbours are alike.
	r = roundsOf(devices(1, 20), func(x record.RoundCoordinates) string {
		if strings.ContainsAny(x.Step[len(x.Step)-1:], "13579") {
			return "net/fc2"
		}
		return ""
	})
	got := summaryAt(t, r, 80)
	want = `
RANK/STEP  0     1     2     3     4     5     6     7     8     9     10
0          PASS  FAIL  PASS  FAIL  PASS  FAIL  PASS  FAIL  PASS  FAIL  PASS
RANK/STEP  11    12    13    14    15    16    17    18    19
0          FAIL  PASS  FAIL  PASS  FAIL  PASS  FAIL  PASS  FAIL
`
	if !strings.Contains(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
	if !strings.Contains(got, "net/fc2    Conv2D      10  rank 0 steps 1,3,5,7,9,11,13,15,17,19\n") {
		t.Error(got)
	}
}

// TestManyRanks: for 512 ranks the summary fits a screen, whether all pass, one is bad, or many
// are: passed rounds are counted, and each first bad operator has a line.
func TestManyRanks(t *testing.T) {
	const most = 30 // lines
	for name, tt := range map[string]struct {
		bad  func(rank string) string
		want []string
	}{
		"all pass": {func(string) string { return "" }, []string{"\n512 rounds: 512 PASS\n"}},
		"one is bad": {func(rank string) string {
			if rank == "77" {
				return "net/fc2"
			}
			return ""
		}, []string{"\n512 rounds: 511 PASS, 1 FAIL\n", "FAIL    net/fc2         1  rank 77\n"}},
		"many are bad": {func(rank string) string {
			switch n := len(rank); {
			case n == 1:
				return "net/conv1"
			case n == 2:
				return "net/fc2"
			}
			return ""
		}, []string{"\n512 rounds: 412 PASS, 100 FAIL\n", "FAIL    net/conv1      10  ranks 0-9\n", "FAIL    net/fc2        90  ranks 10-99\n"}},
	} {
		var ranks []record.RoundCoordinates
		for i := range 512 {
			ranks = append(ranks, record.RoundCoordinates{Rank: fmt.Sprint(i)})
		}
		r := roundsOf(ranks, func(at record.RoundCoordinates) string { return tt.bad(at.Rank) })
		r = headed(r, r.Rounds[max(0, r.HeadlineRound())].RoundCoordinates)
		got := summaryAt(t, r, 0)
		if n := strings.Count(got, "\n"); n > most {
			t.Errorf("%s: %d lines, want at most %d:\n%s", name, n, most, got)
		}
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: want %q in\n%s", name, want, got)
			}
		}
	}
}

// TestRoundAxes: runs with only ranks, only steps, several graphs, or folders.
func TestRoundAxes(t *testing.T) {
	bad := func(at record.RoundCoordinates) func(record.RoundCoordinates) string {
		return func(x record.RoundCoordinates) string {
			if x == at {
				return "net/fc1"
			}
			return ""
		}
	}
	for name, c := range map[string]struct {
		rounds []record.RoundCoordinates
		bad    int
		want   string
	}{
		"ranks": {[]record.RoundCoordinates{{Rank: "0"}, {Rank: "1"}, {Rank: "10"}}, 2,
			"RANK  STATUS\n0     PASS\n1     PASS\n10    FAIL\n\nFIRST BAD  TYPE    ROUNDS  WHERE\nnet/fc1    Conv2D       1  rank 10\n"},
		"steps": {[]record.RoundCoordinates{{Step: "0"}, {Step: "5"}}, 1,
			"STEP  0     5\n      PASS  FAIL\n\nFIRST BAD  TYPE    ROUNDS  WHERE\nnet/fc1    Conv2D       1  step 5\n"},
		"graphs": {[]record.RoundCoordinates{{Rank: "0", Graph: "1"}, {Rank: "1", Graph: "1"}, {Rank: "0", Graph: "2"}}, 2,
			"graph 1:\nRANK  STATUS\n0     PASS\n1     PASS\ngraph 2:\nRANK  STATUS\n0     FAIL\n\n" +
				"FIRST BAD  TYPE    ROUNDS  WHERE\nnet/fc1    Conv2D       1  graph 2 rank 0\n"},
		"a missing one": {[]record.RoundCoordinates{{Rank: "0", Step: "0"}, {Rank: "0", Step: "1"}, {Rank: "1", Step: "0"}}, 2,
			"RANK/STEP  0     1\n0          PASS  PASS\n1          FAIL  -\n"},
	} {
		r := headed(roundsOf(c.rounds, bad(c.rounds[c.bad])), c.rounds[c.bad])
		if got := summaryAt(t, r, 80); !strings.Contains(got, "\n"+c.want) {
			t.Errorf("%s: no\n%s\nin\n%s", name, c.want, got)
		}
	}
	r := roundsOf([]record.RoundCoordinates{{}, {}}, bad(record.RoundCoordinates{Rank: "none"}))
	r.Rounds[0].Name, r.Rounds[1].Name = "before", "after/x"
	if got, want := summaryAt(t, r, 80), "2 rounds: 2 PASS\nROUND    STATUS  FAILED/COMPARED\nbefore   PASS                0/6\nafter/x  PASS                0/6\n"; !strings.Contains(got, want) {
		t.Errorf("folders: no\n%s\nin\n%s", want, got)
	}
}

// TestRoundsMarkdown has the matrix and the first bad operators.
func TestRoundsMarkdown(t *testing.T) {
	rounds := devices(2, 2)
	r := headed(roundsOf(rounds, func(x record.RoundCoordinates) string {
		if x == rounds[3] {
			return "net/fc1"
		}
		return ""
	}), rounds[3])
	got := printed(t, func(w io.Writer) error { return Text{}.WriteCompareMarkdown(w, r) })
	want := `
4 rounds: 3 PASS, 1 FAIL

| RANK/STEP | 0 | 1 |
|---|---|---|
| 0 | PASS | PASS |
| 1 | PASS | FAIL |

| FIRST BAD | TYPE | ROUNDS | WHERE |
|---|---|--:|---|
| net/fc1 | Conv2D | 1 | rank 1 step 1 |

<svg width="720" height="28" role="img" aria-label="All tensors in execution order"><title>All tensors in execution order</title><rect x="0" y="21" width="240" height="5" fill="#2f9e5b"/><rect x="240" y="2" width="480" height="24" fill="#c81e1e"/><rect x="240" y="0" width="2" height="28" fill="#111827"/></svg>

- **First bad**: net/fc1 (Conv2D), rank 1 step 1
`
	if !strings.Contains(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestWithoutOrder: without an order no operator is called the first bad one.
func TestWithoutOrder(t *testing.T) {
	r := roundsOf([]record.RoundCoordinates{{}}, func(record.RoundCoordinates) string { return "net/add1" })
	r.Rounds[0].OrderKnown, r.Rounds[0].Findings = false, record.NoFindings()
	got := summaryAt(t, r, 160)
	want := "Failing         by name, the execution order is not known (--graph-file gives it)\n" +
		"                net/add1 (Conv2D)\n                net/fc2 (Conv2D)\n                net/prob (Conv2D)\n"
	if !strings.Contains(got, want) || strings.Contains(got, "First bad") || !strings.Contains(got, "The worst rows") {
		t.Errorf("no\n%s\nin\n%s", want, got)
	}
	many := roundsOf(devices(2, 2), func(x record.RoundCoordinates) string {
		return map[string]string{"0": "net/fc2", "1": "net/prob"}[x.Rank]
	})
	for i := range many.Rounds {
		many.Rounds[i].OrderKnown, many.Rounds[i].Findings = false, record.NoFindings()
	}
	if got, want := summaryAt(t, many, 160), "net/fc2 (Conv2D), 2 tensors, rank 0 steps 0-1\n                net/prob (Conv2D), 4 tensors, ranks 0-1 steps 0-1\n"; !strings.Contains(got, want) {
		t.Errorf("no\n%s\nin\n%s", want, got)
	}
	r.Findings.Origins = []int{3}
	want = "Origins         failing operators whose inputs pass; the execution order is not known (--graph-file gives it)\n                net/add1 (Conv2D)\n"
	if got := summaryAt(t, r, 160); !strings.Contains(got, want) || strings.Contains(got, "First bad") {
		t.Errorf("no\n%s\nin\n%s", want, got)
	}
	r.Rounds[0].OrderKnown = true
	if got := summaryAt(t, r, 160); strings.Contains(got, "Failing") {
		t.Errorf("an order is known:\n%s", got)
	}
}

// TestAmbiguousRounds: an operator that is ambiguous in many rounds has one line.
func TestAmbiguousRounds(t *testing.T) {
	r := roundsOf(devices(2, 3), func(record.RoundCoordinates) string { return "" })
	for i := range r.Rows {
		row := &r.Rows[i]
		*row = record.Row{Op: row.Op, Kind: "output", Round: row.Round, RoundCoordinates: row.RoundCoordinates, Order: row.Order, Verdict: record.Verdict{Status: record.Ambiguous,
			Reasons: []finding.Finding{{Code: finding.Unknown, Evidence: lang.Plain("2 NPU tensors by rule name: a/" + row.Op + ", b/" + row.Op)}}}}
		if i >= 30 && row.Op == "net/prob" {
			row.Status, row.Reasons = record.ShapeMismatch, []finding.Finding{{Evidence: lang.Plain("(2, 3) against (3, 2)")}}
		}
	}
	r.Count()
	got := summaryAt(t, r, 0)
	want := `Not compared    net/conv1: AMBIGUOUS, 6 tensors, ranks 0-1 steps 0-2, 2 NPU tensors by rule name: a/net/conv1, b/net/conv1
                net/relu1: AMBIGUOUS, 6 tensors, ranks 0-1 steps 0-2, 2 NPU tensors by rule name
                net/fc1: AMBIGUOUS, 6 tensors, ranks 0-1 steps 0-2, 2 NPU tensors by rule name
                net/add1: AMBIGUOUS, 6 tensors, ranks 0-1 steps 0-2, 2 NPU tensors by rule name
                net/fc2: AMBIGUOUS, 6 tensors, ranks 0-1 steps 0-2, 2 NPU tensors by rule name
                net/prob: AMBIGUOUS, 5 tensors, rank 0 steps 0-2; rank 1 steps 0-1, 2 NPU tensors by rule name
                net/prob: SHAPE_MISMATCH, rank 1 step 2, (2, 3) against (3, 2)
                --map-node-dict pairs these tensors: --map-node-dict '{"net/conv1":"NPU_NAME"}'
`
	if !strings.Contains(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestShortNames: on a terminal tables omit the common prefix of names, and say so once; in a pipe
// names are whole.
func TestShortNames(t *testing.T) {
	prefix := "Default/network/_backbone/"
	rounds := devices(1, 1)
	r := headed(roundsOf(rounds, func(record.RoundCoordinates) string { return "net/fc1" }), rounds[0])
	for i := range r.Rows {
		r.Rows[i].Op = prefix + r.Rows[i].Op
	}
	got := summaryAt(t, r, 80)
	if strings.Count(got, "\nNames in tables are without their common beginning\n"+prefix+"net/\n") != 1 ||
		!strings.Contains(got, "\n> fc1    FAIL ") || !strings.Contains(got, "First bad       "+prefix+"net/fc1 (Conv2D)") {
		t.Errorf("on a terminal:\n%s", got)
	}
	if got := summaryAt(t, r, 0); strings.Contains(got, "without") || !strings.Contains(got, "\n> "+prefix+"net/fc1 ") {
		t.Errorf("in a pipe:\n%s", got)
	}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"Default/net/a", "Default/net/b"}, "Default/net/"},
		{[]string{"Default/network", "Default/net"}, "Default/"},
		{[]string{"Default_net_conv1", "Default_net_conv2"}, "Default_net_"},
		{[]string{"Default/net/conv1", "Default/net/conv1"}, "Default/net/"},
		{[]string{"net/a", "net/b"}, ""},
		{[]string{"Default/net/", "Default/net/b"}, ""},
		{[]string{"很长的名字/a", "很长的名字/b"}, "很长的名字/"},
		{[]string{"Default/net/a"}, ""},
		{[]string{"abcdefghijk1", "abcdefghijk2"}, ""},
	} {
		var rows []*record.Row
		for _, name := range c.names {
			rows = append(rows, &record.Row{Op: name})
		}
		if got := shortNamesOf(rows).prefix; got != c.want {
			t.Errorf("%q begin with %q, want %q", c.names, got, c.want)
		}
	}
}

// TestAroundFirstBad: three rows before the first bad row and six after it, in execution order
// whatever the order of the report, and the first damaged row.
func TestAroundFirstBad(t *testing.T) {
	var rows []record.Row
	for i := range 40 {
		row := passing(fmt.Sprint("op", i))
		if i >= 20 {
			row = failing(row.Op)
		}
		rows = append(rows, row)
	}
	rows[0], rows[20] = rows[20], rows[0]
	r := reportOf(rows...)
	r.Rows[0].Order, r.Rows[20].Order = 20, 0
	r.Findings.FirstBad, r.Findings.FirstDamaged = 0, 35
	var got []string
	for _, row := range aroundFirstBad(r) {
		switch {
		case row.Row == nil:
			got = append(got, "gap")
		case row.isFirstBad:
			got = append(got, "> "+row.Op)
		default:
			got = append(got, row.Op)
		}
	}
	want := []string{"op17", "op18", "op19", "> op20", "op21", "op22", "op23", "op24", "op25", "op26", "gap", "op35"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Findings.FirstDamaged = 27
	if n := len(aroundFirstBad(r)); n != 11 {
		t.Errorf("%d rows, want the first damaged one right behind the others", n)
	}
	r.Findings.FirstBad = -1
	if around := aroundFirstBad(r); around != nil {
		t.Errorf("%d rows around no row", len(around))
	}
}

// TestTrend compares errors with the errors of an operator's compared inputs, else with those of
// the preceding operator.
func TestTrend(t *testing.T) {
	row := func(op, kind string, output int, red float64) record.Row {
		row := passing(op)
		row.Kind, row.Output = kind, output
		change(&row, func(r *metrics.Result) { r.RED = metrics.NumberIf(red, red >= 0) })
		return row
	}
	r := reportOf(row("a", "output", 0, 0.001), row("a", "output", 1, 0.002), row("b", "output", 0, 0.004), row("b", "output", 1, 0.008),
		uncompared("gone", record.UnmatchedRef), row("c", "input", 0, 0.0005), row("c", "input", 1, 0.00025), row("c", "output", 0, 0.25),
		row("d", "output", 0, 0), row("e", "output", 0, 0), row("f", "output", 0, 0.5), row("g", "output", 0, -1), row("h", "output", 0, 1), row("i", "output", 0, 1234.75), row("j", "output", 0, 1.23475e9))
	order, _ := executionOrder(r, 0)
	got := trendsOf(r, order)
	want := map[int]string{0: "", 1: "", 2: "x 2", 3: "x 4", 7: "x 500", 8: "x 0", 9: "", 10: "from 0", 11: "", 12: "x 2", 13: "x 1235", 14: "x 1e+06"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

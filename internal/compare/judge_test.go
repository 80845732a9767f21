package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/batch"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// documentOf returns the report of a run with one pair, after writing and reading it.
func documentOf(t rapid.TB, res *metrics.Result, l metrics.Limits, verdict limits.Verdict) *record.Report {
	t.Helper()
	return written(t, reportOf(res, l, verdict))
}

// reportOf returns the report of a run with one pair.
func reportOf(res *metrics.Result, l metrics.Limits, verdict limits.Verdict) *record.Report {
	row := record.Row{Op: "x", Kind: "output", Result: res, Shape: tensor.Shape{res.Total}, RefDType: res.RefDType, NPUDType: res.NPUDType,
		Limits: record.Limits{Atol: l.Atol, Rtol: l.Rtol}}
	verdict.Judge(&row, res)
	rep := &record.Report{TolMode: limits.TolModes()[l.Mode], Findings: record.NoFindings(), Rows: []record.Row{row}}
	rep.Rows[0].Verdict = record.Verdict{Status: row.Pair.Status, Reasons: row.Pair.Reasons}
	return rep
}

// written writes a report and reads it back.
func written(t rapid.TB, rep *record.Report) *record.Report {
	t.Helper()
	var text bytes.Buffer
	if err := rep.Write(&text); err != nil {
		t.Fatal(err)
	}
	back, err := record.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// again judges a document by other limits.
func again(t rapid.TB, doc *record.Report, l metrics.Limits, verdict limits.Verdict) *conclude.JudgedRow {
	t.Helper()
	opt := limits.Options{Mode: l.Mode, Limits: limits.Tolerances{Profile: limits.ProfileExact, Atol: &l.Atol, Rtol: &l.Rtol}, Verdict: verdict}
	j, err := conclude.Judge(doc, &opt, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &j.Rows[0]
}

// TestJudgeAgain compares random tensors, judges the document by other limits, and checks the result with a
// comparison by these limits. Many rows are decided: by the margin alone, by the smallest rtol or atol, by the
// largest |d| and |d|/|r|.
func TestJudgeAgain(t *testing.T) {
	decided, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ref, npu := drawValues(t)
		was, now := drawLimits(t, "old"), drawLimits(t, "new")
		verdict := limits.Verdict{NaN: rapid.SampledFrom(limits.NaNPolicies()).Draw(t, "policy"),
			MaxErrorRatio: rapid.SampledFrom([]float64{0, 0.1, 0.5}).Draw(t, "ratio")}
		result := compareValues(t, was, ref, npu)
		got := again(t, documentOf(t, result, was, verdict), now, verdict)

		var truth record.Row
		verdict.Judge(&truth, compareValues(t, now, ref, npu))
		if got.Errors != nil && *got.Errors != truth.Errors {
			t.Fatalf("%d errors, told %d", truth.Errors, *got.Errors)
		}
		if got.Status != limits.Undecided && (got.Status == record.Fail) != (truth.Pair.Status == record.Fail) {
			t.Fatalf("judged %s, is %s with %d errors", got.Status, truth.Pair.Status, truth.Errors)
		}
		if now == was && (got.Status != truth.Pair.Status || got.Errors == nil) {
			t.Fatalf("judged %s by the limits of the run, is %s", got.Status, truth.Pair.Status)
		}
		if all++; got.Status != limits.Undecided {
			decided++
		}
	})
	if decided < all/3 {
		t.Errorf("%d of %d rows are decided, want a third of them", decided, all)
	}
}

// TestJudgeByMargin: limits with both numbers scaled by one factor are decided by the margin, here 1/2: |d| 1 with a
// limit of 0.5 + 0.25 * 6 = 2.
func TestJudgeByMargin(t *testing.T) {
	was := metrics.Limits{Atol: 0.5, Rtol: 0.25}
	strict := limits.Verdict{NaN: limits.NaNStrict}
	doc := documentOf(t, compared(t, tensor.Float32, was, []float64{6, 100}, []float64{7, 100}), was, strict)
	for times, want := range map[float64]record.Status{0.4: record.Fail, 0.49: record.Fail, 0.51: record.Pass, 0.75: record.Pass} {
		got := again(t, doc, metrics.Limits{Atol: 0.5 * times, Rtol: 0.25 * times}, strict)
		if got.Status != want {
			t.Errorf("%g times the limits: %s, want %s", times, got.Status, want)
		}
	}
	for _, l := range []metrics.Limits{{Atol: 0.25, Rtol: 0.25}, {Atol: 0.5, Rtol: 0.1}} { // by the smallest atol, 0; by the smallest rtol, 1/12
		if got := again(t, doc, l, strict); got.Status != record.Pass {
			t.Errorf("%+v: %s, want PASS", l, got.Status)
		}
	}
}

// TestJudgeModes: in another mode the largest |d| and |d|/|r| decide, or nothing does.
func TestJudgeModes(t *testing.T) {
	was := metrics.Limits{Atol: 1, Rtol: 0.5}
	strict := limits.Verdict{NaN: limits.NaNStrict}
	doc := documentOf(t, compared(t, tensor.Float32, was, []float64{4, 8}, []float64{5, 8}), was, strict)
	for _, c := range []struct {
		l    metrics.Limits
		want record.Status
	}{
		{metrics.Limits{Atol: 1, Mode: metrics.BothExceeded}, record.Pass},
		{metrics.Limits{Rtol: 0.3, Mode: metrics.BothExceeded}, record.Pass},
		{metrics.Limits{Atol: 1, Rtol: 0.3, Mode: metrics.EitherExceeded}, record.Pass},
		{metrics.Limits{Atol: 0.9, Rtol: 0.2, Mode: metrics.BothExceeded}, limits.Undecided},
		{metrics.Limits{Atol: 1, Rtol: 0.2, Mode: metrics.EitherExceeded}, limits.Undecided},
	} {
		if got := again(t, doc, c.l, strict); got.Status != c.want {
			t.Errorf("%+v: %s, want %s", c.l, got.Status, c.want)
		}
	}
	equal := documentOf(t, compared(t, tensor.Float32, was, []float64{4, 0}, []float64{4, 0}), was, strict)
	if got := again(t, equal, metrics.Limits{Mode: metrics.EitherExceeded}, strict); got.Status != record.Pass {
		t.Errorf("equal tensors: %s, want PASS by any limits", got.Status)
	}
}

// drawValues draws the elements of a pair.
func drawValues(t *rapid.T) (ref, npu []float64) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	n := rapid.IntRange(0, 60).Draw(t, "elements")
	ref, npu = make([]float64, n), make([]float64, n)
	for i := range ref {
		ref[i] = rng.NormFloat64() * math.Exp2(float64(rng.IntN(40)-20))
		npu[i] = ref[i]
		if rng.IntN(2) == 0 {
			npu[i] += rng.NormFloat64() * math.Exp2(float64(rng.IntN(40)-30))
		}
		switch rng.IntN(40) {
		case 0:
			ref[i] = 0
		case 1:
			npu[i] = math.NaN()
		case 2:
			ref[i] = math.Inf(1)
		case 3:
			npu[i], ref[i] = math.Inf(1), 65000
		}
	}
	return ref, npu
}

// drawLimits draws limits.
func drawLimits(t *rapid.T, label string) metrics.Limits {
	sizes := []float64{0, 1e-6, 1e-4, 1e-3, 0.01, 0.1, 0.5, 2, 1e6}
	return metrics.Limits{Atol: rapid.SampledFrom(sizes).Draw(t, label+" atol"), Rtol: rapid.SampledFrom(sizes).Draw(t, label+" rtol"),
		Mode: metrics.Mode(rapid.IntRange(0, 2).Draw(t, label+" mode"))}
}

func compareValues(t *rapid.T, l metrics.Limits, ref, npu []float64) *metrics.Result {
	req := metrics.Request{Shape: tensor.Shape{int64(len(ref))}, RefDType: tensor.Float32, NPUDType: tensor.Float32, Limits: l}
	res, err := metrics.Compare(t.Context(), req, memory{stored(tensor.Float32, ref...), 4}, memory{stored(tensor.Float32, npu...), 4})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestJudgeExact: for these limits the smallest passing atol and rtol decide.
func TestJudgeExact(t *testing.T) {
	// The largest |d|/|r| is 1/4, the largest |d| is 2.
	ref, npu := []float64{4, 8, 16, 32}, []float64{5, 10, 16, 32}
	was := metrics.Limits{}
	doc := documentOf(t, compared(t, tensor.Float32, was, ref, npu), was, limits.Verdict{NaN: limits.NaNStrict})
	tests := []struct {
		l    metrics.Limits
		want record.Status
	}{
		{metrics.Limits{}, record.Fail}, {metrics.Limits{Atol: 2}, record.Pass}, {metrics.Limits{Atol: 1.999}, record.Fail},
		{metrics.Limits{Rtol: 0.25}, record.Pass}, {metrics.Limits{Rtol: 0.2499}, record.Fail}, {metrics.Limits{Rtol: 0.25, Atol: 7}, record.Pass},
	}
	for _, tt := range tests {
		if got := again(t, doc, tt.l, limits.Verdict{NaN: limits.NaNStrict}); got.Status != tt.want {
			t.Errorf("atol %g rtol %g: %s, want %s", tt.l.Atol, tt.l.Rtol, got.Status, tt.want)
		}
	}
	// One of four elements is wrong; the document only tells that one or two are: a limit of one half passes, a limit
	// below one quarter fails.
	for ratio, want := range map[float64]record.Status{0.2: record.Fail, 0.25: limits.Undecided, 0.5: record.Pass} {
		if got := again(t, doc, metrics.Limits{Atol: 1.5}, limits.Verdict{NaN: limits.NaNStrict, MaxErrorRatio: ratio}); got.Status != want || got.Errors != nil {
			t.Errorf("a share of %g: %s, want %s with a number of errors that is not known", ratio, got.Status, want)
		}
	}
}

func TestJudgeRows(t *testing.T) {
	l := metrics.Limits{}
	bad := compared(t, tensor.Float32, l, []float64{1, 2}, []float64{1, 3})
	strict := limits.Verdict{NaN: limits.NaNStrict}
	loose := metrics.Limits{Atol: 10}
	for _, tt := range []struct {
		partial, forced bool
		want            record.Status
	}{{false, false, record.Pass}, {false, true, record.Warn}, {true, false, record.Partial}, {true, true, record.Partial}} {
		doc := documentOf(t, bad, l, strict)
		doc.Rows[0].Partial, doc.Rows[0].Forced = tt.partial, tt.forced
		if got := again(t, doc, loose, strict); got.OldStatus != record.Fail || got.Status != tt.want {
			t.Errorf("partial %v, forced %v: %s after %s, want %s after FAIL", tt.partial, tt.forced, got.Status, got.OldStatus, tt.want)
		}
	}
	gate := limits.Verdict{NaN: limits.NaNStrict, Gates: limits.Gates{MinCos: ptr(1.0)}}
	if got := again(t, documentOf(t, bad, l, strict), loose, gate); got.Status != record.Fail || !hasCode(got.Reasons, finding.Gate) {
		t.Errorf("gate: %s %v, want FAIL", got.Status, got.Reasons)
	}
	doc := documentOf(t, bad, l, strict)
	doc.Rows = append(doc.Rows, record.Row{Op: "y", Pair: record.PairVerdict{Status: record.ShapeMismatch}, Verdict: record.Verdict{Status: record.ShapeMismatch}})
	config, err := sidefile.ReadOpConfig(strings.NewReader("op_name,atol,rtol\n" + doc.Rows[0].Op + ",10,\n"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := conclude.Judge(doc, &limits.Options{Limits: limits.Tolerances{Profile: limits.ProfileExact}, Verdict: strict}, config)
	if err != nil || j.Compared != 1 || j.Counts[record.Pass] != 1 || j.Counts[record.ShapeMismatch] != 1 || j.Rows[0].Limits.AtolSource != "op_config" {
		t.Errorf("judged %+v, error %v; want one PASS by op_config and one SHAPE_MISMATCH", j, err)
	}
	doc.TolMode = "no mode"
	if _, err := conclude.Judge(doc, &limits.Options{}, nil); err == nil {
		t.Error("an unknown tolerance mode is no error")
	}
}

// TestJudgeFile: judging a document of several rounds while reading it, with the rows before or after the facts of
// the rounds, gives the same as judging the whole document.
func TestJudgeFile(t *testing.T) {
	dir := t.TempDir()
	good := ramp(64)
	bad := append([]float64{}, good...)
	bad[5] += 100
	for _, name := range []string{"a", "b"} {
		write(t, filepath.Join(dir, "ref", name+".npy"), array(tensor.Float32, tensor.Shape{64}, good...))
		for i, values := range [][]float64{good, bad, good} {
			write(t, filepath.Join(dir, "npu", fmt.Sprintf("rank%d", i), name+".npy"), array(tensor.Float32, tensor.Shape{64}, values...))
		}
	}
	opt := exactly(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	opt.Bins = true
	opt.Judge.Verdict.Mode = limits.ByEvidence
	var text bytes.Buffer
	run := runAll(t, opt)
	if err := run.Write(&text); err != nil {
		t.Fatal(err)
	}
	whole, err := record.Read(bytes.NewReader(text.Bytes()))
	if err != nil || len(whole.Rounds) != 3 || whole.Len() != 6 {
		t.Fatalf("%+v, error %v", whole, err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text.Bytes(), &members); err != nil {
		t.Fatal(err)
	}
	rows := members["rows"]
	delete(members, "rows")
	rest, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	rowsFirst := fmt.Sprintf(`{"rows":%s,%s`, rows, rest[1:])
	for _, mode := range []limits.VerdictMode{limits.ByEvidence, limits.ByLimits} {
		for _, rtol := range []float64{0, 1e-3, 10} {
			judge := opt.Judge
			judge.Verdict.Mode, judge.Limits.Rtol = mode, &rtol
			want, err := conclude.Judge(copyOf(whole), &judge, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, document := range []string{text.String(), rowsFirst} {
				path := filepath.Join(dir, "compare.json")
				write(t, path, []byte(document))
				doc, got, err := conclude.JudgeFile(path, &judge, nil)
				if err != nil || doc.Len() != 6 {
					t.Fatalf("%v, error %v", doc, err)
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(conclude.Judgement{}, conclude.JudgedRow{}), cmp.Comparer(lang.Sentence.Equal)); diff != "" {
					t.Errorf("%s, rtol %g: - in memory, + of a file\n%s", mode, rtol, diff)
				}
			}
		}
	}
	if got := strings.Count(fmt.Sprint(whole.Counts), "FAIL:2"); got != 1 {
		t.Errorf("%v, want two rows that fail", whole.Counts)
	}
}

// copyOf returns a copy that Judge may change.
func copyOf(rep *record.Report) *record.Report {
	other := *rep
	other.Rounds, other.Rows = slices.Clone(rep.Rounds), slices.Clone(rep.Rows)
	return &other
}

// TestCrashOfComparison: if a bug ended a recomputation the comparison is incomplete, even if all tensors are equal.
func TestCrashOfComparison(t *testing.T) {
	t.Parallel()
	dir := "../../testdata/golden/recompute/op24_sin_f16_clean"
	for status, want := range map[string]batch.Kind{"ok": batch.Done, "crashed": batch.Incomplete} {
		opt := between(dir, dir)
		opt.Check = conclude.CheckAll
		run, parts := executed(t, opt)
		rep := run.Conclude(parts)
		if err := run.ComputeAgain(t.Context(), rep, parts); err != nil {
			t.Fatal(err)
		}
		computed := 0
		for i := range rep.Rows {
			if self := rep.Rows[i].Self; self != nil {
				computed++
				self.Status = status
			}
		}
		o := opt.Outcome(rep)
		if said := strings.Contains(o.Text.String(), "internal error while computing again: 1 output (please report)"); computed != 1 || o.Kind != want || said != (status == "crashed") {
			t.Errorf("%d outputs %s: ends as %d, %v, want %d", computed, status, o.Kind, o.Text, want)
		}
	}
}

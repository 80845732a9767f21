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

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// documentOf is the report of a run over one pair, as compare.json keeps it.
func documentOf(t rapid.TB, res *metrics.Result, l metrics.Limits, verdict VerdictOptions) *record.Report {
	t.Helper()
	return written(t, reportOf(res, l, verdict))
}

// reportOf is the report of a run over one pair.
func reportOf(res *metrics.Result, l metrics.Limits, verdict VerdictOptions) *record.Report {
	row := record.Row{Op: "x", Kind: "output", Result: res, Shape: tensor.Shape{res.Total}, RefDType: res.RefDType, NPUDType: res.NPUDType,
		Limits: record.Limits{Atol: l.Atol, Rtol: l.Rtol}}
	verdict.judge(&row, res)
	rep := &record.Report{TolMode: TolModes()[l.Mode], Findings: record.NoFindings(), Rows: []record.Row{row}}
	begin(rep.Rows)
	return rep
}

// written is a report after it was written and read.
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
func again(t rapid.TB, doc *record.Report, l metrics.Limits, verdict VerdictOptions) *JudgedRow {
	t.Helper()
	opt := JudgeOptions{Mode: l.Mode, Limits: LimitOptions{Profile: ProfileExact, Atol: &l.Atol, Rtol: &l.Rtol}, Verdict: verdict}
	j, err := judgeDocument(doc, opt, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &j.Rows[0]
}

// TestJudgeBounds compares random tensors, judges the document by other limits,
// and holds that against a comparison with these limits.
func TestJudgeBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ref, npu := drawValues(t)
		was, now := drawLimits(t, "old"), drawLimits(t, "new")
		verdict := VerdictOptions{NaN: rapid.SampledFrom(NaNPolicies()).Draw(t, "policy"),
			MaxErrorRatio: rapid.SampledFrom([]float64{0, 0.1, 0.5}).Draw(t, "ratio")}
		result := compareValues(t, was, ref, npu)
		got := again(t, documentOf(t, result, was, verdict), now, verdict)

		var truth record.Row
		verdict.judge(&truth, compareValues(t, now, ref, npu))
		if truth.Errors < got.Least || truth.Errors > got.Most {
			t.Fatalf("%d errors, told between %d and %d", truth.Errors, got.Least, got.Most)
		}
		whole := verdict.judged(factsOf(result))
		bad := func(errors int64) bool { return record.Share(errors, whole) > verdict.MaxErrorRatio }
		classes := (verdict.NaN == NaNStrict || verdict.NaN == NaNEqual) && result.Mismatch.Count > 0
		switch {
		case got.Status == Undecided:
			if classes || bad(got.Least) || !bad(got.Most) {
				t.Fatalf("undecided with %d to %d errors", got.Least, got.Most)
			}
		case (got.Status == record.Fail) != (truth.Pair.Status == record.Fail):
			t.Fatalf("judged %s, is %s with %d errors in %d..%d", got.Status, truth.Pair.Status, truth.Errors, got.Least, got.Most)
		}
		if now == was && got.Status != truth.Pair.Status {
			t.Fatalf("judged %s by the limits of the run, is %s", got.Status, truth.Pair.Status)
		}
		if now == was && got.Least != got.Most {
			t.Fatalf("the limits of the run give %d to %d errors", got.Least, got.Most)
		}
	})
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

// TestJudgeSlim judges slim documents and whole ones, by limits and by evidence: both say
// the same, or the slim one says that it does not know.
func TestJudgeSlim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ref, npu := drawValues(t)
		was, now := drawLimits(t, "old"), drawLimits(t, "new")
		verdict := VerdictOptions{NaN: rapid.SampledFrom(NaNPolicies()).Draw(t, "policy"),
			MaxErrorRatio: rapid.SampledFrom([]float64{0, 0.1, 0.5}).Draw(t, "ratio")}
		rep := reportOf(compareValues(t, was, ref, npu), was, verdict)
		if rapid.Bool().Draw(t, "evidence") {
			verdict.Mode, rep.Verdict = ByEvidence, string(ByEvidence)
			rep.Rows[0].Evidence = &record.Evidence{Class: "linear", Level: rapid.IntRange(record.NoOrigin, record.IsOrigin).Draw(t, "level"),
				Damaged: rapid.Bool().Draw(t, "damaged"), FedBy: make([]int, rapid.IntRange(0, 1).Draw(t, "fed"))}
			rep.Rows[0].Forced, rep.Rows[0].Partial = rapid.Bool().Draw(t, "forced"), rapid.Bool().Draw(t, "partial")
		}
		slim := written(t, rep)
		rep.Full = true
		whole := written(t, rep)
		if diff := cmp.Diff(whole.Rows[0].Result, slim.Rows[0].Result, cmpopts.IgnoreFields(metrics.Result{}, "Joint"), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("the result of a slim row (-whole +slim):\n%s", diff)
		}
		want, got := again(t, whole, now, verdict), again(t, slim, now, verdict)
		if got.Status != want.Status && got.Status != Undecided {
			t.Fatalf("slim: %s with %d to %d errors, whole: %s with %d to %d", got.Status, got.Least, got.Most, want.Status, want.Least, want.Most)
		}
		if got.passes && want.Status == record.Fail {
			t.Fatal("slim: passes either way, whole: FAIL")
		}
	})
}

func compareValues(t *rapid.T, l metrics.Limits, ref, npu []float64) *metrics.Result {
	req := metrics.Request{Shape: tensor.Shape{int64(len(ref))}, RefDType: tensor.Float32, NPUDType: tensor.Float32, Limits: l}
	res, err := metrics.Compare(t.Context(), req, memory{stored(tensor.Float32, ref...), 4}, memory{stored(tensor.Float32, npu...), 4})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestJudgeExact has limits for which the smallest good ones decide.
func TestJudgeExact(t *testing.T) {
	// |d|/|r| is 1/4 at most, |d| is 2 at most; 1 + 1/8|r| leaves 8 exactly.
	ref, npu := []float64{4, 8, 16, 32}, []float64{5, 10, 16, 32}
	was := metrics.Limits{}
	doc := documentOf(t, compared(t, tensor.Float32, was, ref, npu), was, VerdictOptions{NaN: NaNStrict})
	tests := []struct {
		l    metrics.Limits
		want record.Status
	}{
		{metrics.Limits{}, record.Fail}, {metrics.Limits{Atol: 2}, record.Pass}, {metrics.Limits{Atol: 1.999}, record.Fail},
		{metrics.Limits{Rtol: 0.25}, record.Pass}, {metrics.Limits{Rtol: 0.2499}, record.Fail}, {metrics.Limits{Rtol: 0.25, Atol: 7}, record.Pass},
	}
	for _, tt := range tests {
		if got := again(t, doc, tt.l, VerdictOptions{NaN: NaNStrict}); got.Status != tt.want {
			t.Errorf("atol %g rtol %g: %s with %d to %d errors, want %s", tt.l.Atol, tt.l.Rtol, got.Status, got.Least, got.Most, tt.want)
		}
	}
	// Two of four are wrong, which a share of a quarter cannot tell without the
	// tensors: one bin holds both.
	l := metrics.Limits{Atol: 1.5}
	if got := again(t, doc, l, VerdictOptions{NaN: NaNStrict, MaxErrorRatio: 0.25}); got.Status != Undecided || got.Least != 1 || got.Most != 2 {
		t.Errorf("one of two: %s with %d to %d errors, want UNDECIDED with 1 to 2", got.Status, got.Least, got.Most)
	}
}

func TestJudgeRows(t *testing.T) {
	l := metrics.Limits{}
	bad := compared(t, tensor.Float32, l, []float64{1, 2}, []float64{1, 3})
	strict := VerdictOptions{NaN: NaNStrict}
	loose := metrics.Limits{Atol: 10}
	for _, tt := range []struct {
		partial, forced bool
		want            record.Status
	}{{false, false, record.Pass}, {false, true, record.Warn}, {true, false, record.Partial}, {true, true, record.Partial}} {
		doc := documentOf(t, bad, l, strict)
		doc.Rows[0].Partial, doc.Rows[0].Forced = tt.partial, tt.forced
		if got := again(t, doc, loose, strict); got.Was != record.Fail || got.Status != tt.want {
			t.Errorf("partial %v, forced %v: %s after %s, want %s after FAIL", tt.partial, tt.forced, got.Status, got.Was, tt.want)
		}
	}
	gate := VerdictOptions{NaN: NaNStrict, Gates: Gates{MinCos: ptr(1.0)}}
	if got := again(t, documentOf(t, bad, l, strict), loose, gate); got.Status != record.Fail || !hasCode(got.Reasons, record.Gate) {
		t.Errorf("gate: %s %v, want FAIL", got.Status, got.Reasons)
	}
	doc := documentOf(t, bad, l, strict)
	doc.Rows = append(doc.Rows, record.Row{Op: "y", Pair: record.Judged{Status: record.ShapeMismatch}, Verdict: record.Verdict{Status: record.ShapeMismatch}})
	config, err := sidefile.ReadOpConfig(strings.NewReader("op_name,atol,rtol\n" + doc.Rows[0].Op + ",10,\n"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := judgeDocument(doc, JudgeOptions{Limits: LimitOptions{Profile: ProfileExact}, Verdict: strict}, config)
	if err != nil || j.Compared != 1 || j.Counts[record.Pass] != 1 || j.Counts[record.ShapeMismatch] != 1 || j.Rows[0].Limits.AtolSource != "op_config" {
		t.Errorf("judged %+v, error %v; want one PASS by op_config and one SHAPE_MISMATCH", j, err)
	}
	doc.TolMode = "no mode"
	if _, err := judgeDocument(doc, JudgeOptions{}, nil); err == nil {
		t.Error("an unknown tolerance mode is no error")
	}
}

// TestJudgeFile judges a document of several rounds while it is read, with the rows before
// and behind what is known of the rounds, as it is judged when all of it is there.
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
	opt.Judge.Verdict.Mode = ByEvidence
	var text bytes.Buffer
	run := runAll(t, opt)
	run.Full = true // a slim document says so before its rows
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
	for _, mode := range []VerdictMode{ByEvidence, ByLimits} {
		for _, rtol := range []float64{0, 1e-3, 10} {
			judge := opt.Judge
			judge.Verdict.Mode, judge.Limits.Rtol = mode, &rtol
			want, err := judgeDocument(whole, judge, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, document := range []string{text.String(), rowsFirst} {
				path := filepath.Join(dir, "compare.json")
				write(t, path, []byte(document))
				doc, got, err := JudgeFile(path, judge, nil)
				if err != nil || doc.Len() != 0 {
					t.Fatalf("%v, error %v", doc, err)
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(Judgement{}, JudgedRow{}), cmp.Comparer(lang.Sentence.Equal)); diff != "" {
					t.Errorf("%s, rtol %g: - all at once, + by rounds\n%s", mode, rtol, diff)
				}
			}
		}
	}
	if got := strings.Count(fmt.Sprint(whole.Counts), "FAIL:2"); got != 1 {
		t.Errorf("%v, want two rows that fail", whole.Counts)
	}
}

// judgeDocument judges a document in memory, a round after the other.
func judgeDocument(doc *record.Report, opt JudgeOptions, config *sidefile.OpConfig) (*Judgement, error) {
	j, err := newJudging(doc, &opt, config)
	if err != nil {
		return nil, err
	}
	for first, end := 0, 0; first < doc.Len(); first = end {
		for end = first; end < doc.Len() && doc.Rows[end].Round == doc.Rows[first].Round; end++ {
		}
		j.add(slices.Clone(doc.Rows[first:end]))
	}
	return j.finish(), nil
}

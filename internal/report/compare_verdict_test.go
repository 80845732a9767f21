package report

import (
	"bytes"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
)

// TestOtherInputOrWrong: an input differs. If only one operator shows the difference, the operator
// may be wrong instead.
func TestOtherInputOrWrong(t *testing.T) {
	for start, want := range map[bool]string{
		true:  "the runs did not read the same input (or weights): conv differs",
		false: "the runs did not read the same input, or conv is wrong: its inputs were not dumped",
	} {
		row := &record.Row{Op: "conv", Verdict: record.Verdict{Reasons: []finding.Finding{{Code: finding.StartedApart}}, Evidence: &record.Evidence{Start: start}}}
		if got := oneOrigin(row).String(); got != want {
			t.Errorf("start %v: %q, want %q", start, got, want)
		}
	}
}

// TestBeyondLimits: rounding is named for the rows alone in which a fault would have been seen.
func TestBeyondLimits(t *testing.T) {
	row := func(judged bool, errors int64, cosine float64) record.Row {
		return record.Row{Kind: "output", Result: &metrics.Result{Total: 10, Cosine: metrics.NumberOf(cosine)}, Errors: errors,
			Verdict: record.Verdict{Status: record.Rounding, Evidence: &record.Evidence{Judged: judged}}}
	}
	r := &record.Report{Verdict: evidenceMethod, Findings: record.NoFindings(), Rows: []record.Row{row(true, 1, 0.99), row(false, 9, 0.67), row(false, 8, 0.7)}}
	r.Count()
	want := "PASS: no operator looks wrong: 1 of 3 tensors are beyond the limits by rounding only (worst 10 % of the elements, cosine 0.99); " +
		"2 beyond the limits and not judged (worst 90 % of the elements, cosine 0.67)"
	if got := english.CompareVerdict(r); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// accepted returns a report of an acceptance with rows of these statuses.
func accepted(statuses ...record.Status) *record.Report {
	r := &record.Report{Standard: "cann-eco", Verdict: limitsMethod, Findings: record.NoFindings()}
	for i, status := range statuses {
		row := record.Row{Op: string(rune('a' + i)), Kind: "output", Pair: record.PairVerdict{Status: status}, Verdict: record.Verdict{Status: status}}
		switch status {
		case record.Pass, record.Partial:
			row.Result = new(metrics.Result)
		case record.Fail, record.Warn:
			row.Result = new(metrics.Result)
			fallthrough
		case record.Skip:
			row.Reasons = []finding.Finding{{Code: finding.NotStandard, Evidence: lang.Say("%s", lang.Text{EN: "0.5 > 0.25", ZH: "0.5 > 0.25"})}}
		}
		r.Rows = append(r.Rows, row)
	}
	r.Count()
	return r
}

func TestStandardVerdict(t *testing.T) {
	known := accepted(record.Fail, record.Pass)
	known.Baseline = &record.Baseline{Known: []int{0}}
	for _, c := range []struct {
		report *record.Report
		en, zh string
	}{
		{accepted(record.Pass), "PASS (cann-eco): the standard is met by the only tensor", "PASS (cann-eco)：唯一的张量满足标准"},
		{accepted(record.Pass, record.Pass), "PASS (cann-eco): the standard is met by all 2 tensors", "PASS (cann-eco)：全部 2 个张量满足标准"},
		{accepted(record.Pass, record.Fail), "FAIL (cann-eco): 1 of 2 tensors does not meet the standard", "FAIL (cann-eco)：1/2 个张量不满足标准"},
		{accepted(record.Fail, record.Fail, record.Pass), "FAIL (cann-eco): 2 of 3 tensors do not meet the standard", "FAIL (cann-eco)：2/3 个张量不满足标准"},
		{accepted(record.Fail, record.ShapeMismatch), "FAIL (cann-eco): 1 of 1 tensor does not meet the standard; 1 tensor could not be compared (1 SHAPE_MISMATCH)", "FAIL (cann-eco)：1/1 个张量不满足标准；1 个张量无法比对（1 个 SHAPE_MISMATCH）"},
		{accepted(record.Pass, record.ShapeMismatch), "FAIL (cann-eco): the standard is met by the only tensor compared; 1 tensor could not be compared (1 SHAPE_MISMATCH)", "FAIL (cann-eco)：已比对的唯一的张量满足标准；1 个张量无法比对（1 个 SHAPE_MISMATCH）"},
		{accepted(record.Pass, record.Error), "ERROR (cann-eco): the standard is met by the only tensor compared; 1 tensor could not be compared (1 ERROR)", "ERROR (cann-eco)：已比对的唯一的张量满足标准；1 个张量无法比对（1 个 ERROR）"},
		{accepted(record.Pass, record.Warn), "PASS with warnings (cann-eco): 1 of 2 tensors with a warning", "PASS（有警告）（cann-eco）：1/2 个张量有警告"},
		{accepted(record.Pass, record.Partial), "PARTIAL (cann-eco): only a part of 1 of 2 tensors was compared", "PARTIAL (cann-eco)：1/2 个张量仅比对了一部分"},
		{accepted(record.Pass, record.Skip), "PASS (cann-eco): the standard is met by the only tensor; the standard could not be applied to 1 tensor", "PASS (cann-eco)：唯一的张量满足标准；标准无法适用于 1 个张量"},
		{accepted(record.Skip), "NOTHING COMPARED: the standard cann-eco could not be applied to 1 tensor", "NOTHING COMPARED：标准 cann-eco 无法适用于 1 个张量"},
		{known, "KNOWN FAILURES: 1 of 2 tensors does not meet the standard, all of them in the baseline", "KNOWN FAILURES：1/2 个张量不满足标准，均在基线中"},
	} {
		if got := english.CompareVerdict(c.report); got != c.en {
			t.Errorf("%s\nwant %s", got, c.en)
		}
		if got := (Text{Lang: Chinese}).CompareVerdict(c.report); got != c.zh {
			t.Errorf("%s\nwant %s", got, c.zh)
		}
	}
}

// TestStandardText lists failing rows with their numbers, and names the failed criteria.
func TestStandardText(t *testing.T) {
	var b bytes.Buffer
	if err := english.WriteCompare(&b, accepted(record.Pass, record.Fail, record.Warn, record.Skip)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nFailing         b: 0.5 > 0.25\n", "\nTo investigate  c: 0.5 > 0.25\n", "\nNot judged      d: 0.5 > 0.25\n",
		"\nVerdict         by the standard cann-eco for single operators; the limits count error elements only\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

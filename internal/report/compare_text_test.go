package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/ui"
)

func TestCompareText(t *testing.T) {
	got := rendered(t, func(w io.Writer) error { return Text{Width: 80}.WriteCompare(w, everything()) })
	want := `FAIL: 3 of 6 tensors beyond the limits, 1 of them in the baseline; 5 tensors
could not be compared (1 SHAPE_MISMATCH, 1 DTYPE_MISMATCH, 1 AMBIGUOUS, 2 ERROR)

All tensors in execution order:
  ▁▄__██████▆▄__▆
      ^ first bad
  █ own error, ▆ bad by its inputs or rounding, ▄ warning, ▁ pass, _ not
    compared

First bad       net/conv1 (Conv2D)
                2 of 4 elements are errors (50 %), first at 0 (0, 0): reference
                  1, NPU 1.3
                CALC_ERROR (high confidence): mean_rel of the inputs 0.001 <
                  0.1, of the output 4.2 > 1
                LIMITS (high confidence): 2 of 4 elements
                reference: cpu/net/conv1.npy
                NPU: npu/net/conv1.npy
Last good       net/relu1 (Relu)
Suspects        2 tensors between the last good and the first bad one not
                  compared, the fault may be there: net/pad1, net/skip
First NaN/inf   net/log2 (Conv2D), 3 of 4 elements
First overflow  net/log2 (Conv2D), 3 of 4 elements
Largest jump    net/conv1 (Conv2D): mean_rel is 4200 x the mean_rel of its
                  inputs
Spread          3 tensors bad: the first bad one and all that it affects,
                  network outputs are affected
Not compared    net/mat: SHAPE_MISMATCH, (2, 3) against (3, 2)
                net/type: DTYPE_MISMATCH, the element types differ
                net/twin: AMBIGUOUS, several tensors match
                net/torn: ERROR, 32 bytes at 0x80, found 7
                net/cat: ERROR, piece 2 of 4; 32 bytes at 0x80, found 7
                --map-node-dict pairs these tensors:
                  --map-node-dict '{"net/twin":"NPU_NAME"}'

Rows around the first bad one, in execution order (RED: rms error / rms of the
reference; TREND: RED / RED of the inputs or of the previous operator):
  OP           STATUS          ERRORS/TOTAL     RED  TREND    COSINE  REASON
  net/relu1    WARN                     0/4  0.0913    x 1  0.998295  MARGIN
  net/pad1     UNMATCHED_REF
  net/skip     SKIP                                                   SKIP_KEY
> net/conv1    FAIL                     2/4  0.0913    x 1  0.993648  CALC_ERROR
  net/conv1:1  FAIL                     2/4  0.0913    x 1  0.993648  CALC_ERROR
  net/log2     FAIL                     3/4  0.0913    x 1  0.993648  NPU_NAN
  net/mat      SHAPE_MISMATCH                                         LAYOUT
  net/type     DTYPE_MISMATCH
  net/twin     AMBIGUOUS
  net/torn     ERROR
Codes: MARGIN: Near the limit; SKIP_KEY: Skipped by a key; CALC_ERROR:
Calculation error; NPU_NAN: NaN or inf on the NPU only; LAYOUT: The axes are in
another order

Coverage        6 of 14 tensors of the reference compared (42.9 %)
                only in the reference (1): net/pad1:output:0
                only in the NPU run (1): net/fused:output:0
                skipped (2): net/skip:output:0, net/hex:output:0
                unread (7): a:output:0, b:output:0, c:output:0, d:output:0,
                  e:output:0 and 2 more
Limits          profile hpaa, tolerance mode isclose, NaN policy strict
Order           runtime file result/node_runtime.file
Inputs          result/consumer_map_dict.file
Baseline        baseline.json
                new failures (2): net/conv1, net/conv1:1
                known failures (1): net/log2
                fixed, update the baseline (1): net/input
                missing in this run (1): net/gone:output:0
Warnings        op_config.csv line 3: no such operator
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestCompareTextAllGood(t *testing.T) {
	got := rendered(t, func(w io.Writer) error { return Text{Width: 100}.WriteCompare(w, reportOf(passing("a"), passing("b"))) })
	want := `PASS: all 2 tensors within the limits

Coverage        2 of 2 tensors of the reference compared (100 %)
Limits          profile hpaa, tolerance mode isclose, NaN policy strict
Order           names
Inputs          unknown: the preceding operator is taken as the input
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestCompareTextAxisOrder: a guessed axis order gets a line if it failed or was not the most
// likely one.
func TestCompareTextAxisOrder(t *testing.T) {
	likely, other, bad := passing("likely"), passing("other"), failing("bad")
	likely.Notes = []lang.Sentence{lang.Plain("the shape fits NHWC too (--ref-format)")}
	other.Notes = []lang.Sentence{lang.Plain("NPU NC1HWC0 to NHWC"), lang.Plain("the shape fits NCHW, NHWC (--ref-format NHWC decides)")}
	bad.Notes = likely.Notes
	got := printed(t, func(w io.Writer) error { return Text{Width: 140}.WriteCompare(w, reportOf(likely, other, bad)) })
	want := "Axis order      other: the shape fits NCHW, NHWC (--ref-format NHWC decides)\n" +
		"                bad: the shape fits NHWC too (--ref-format)\nInputs "
	if !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

func TestCompareTextLongLists(t *testing.T) {
	var rows []record.Row
	for i := range 12 {
		rows = append(rows, uncompared(fmt.Sprint("op", i), record.Ambiguous))
	}
	r := reportOf(append(rows, failing("bad"))...)
	r.Findings.FirstBad, r.Findings.Suspects = 12, []int{0, 1, 2, 3, 4, 5, 99}
	r.Findings.Chain, r.GraphSource = []int{12, 3}, lang.Plain("graph.json")
	r.Baseline = &record.Baseline{File: "b.json", Updated: true}
	got := printed(t, func(w io.Writer) error { return Text{Width: 140}.WriteCompare(w, r) })
	for _, want := range []string{
		"                op9: AMBIGUOUS, several tensors match\n                and 2 more\n",
		"Suspects        6 tensors before the first bad one not compared, the fault may be there: op0, op1, op2, op3, op4 and 1 more\n",
		"Spread          2 tensors bad: the first bad one and all that it affects, no network output is affected\n",
		"Baseline        b.json\n                updated\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestCompareTextFindings: facts of the first bad row are printed, and unknown facts are not.
func TestCompareTextFindings(t *testing.T) {
	text := func(r *record.Report, width int) string {
		return printed(t, func(w io.Writer) error { return Text{Width: width}.WriteCompare(w, r) })
	}
	check := func(name, got string, want, never []string) {
		t.Helper()
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: no %q in\n%s", name, part, got)
			}
		}
		for _, part := range never {
			if strings.Contains(got, part) {
				t.Errorf("%s: %q in\n%s", name, part, got)
			}
		}
	}
	guessed := reportOf(passing("a"), failing("b"), failing("c"))
	guessed.Findings.FirstBad, guessed.Findings.Chain, guessed.Findings.OutputsBad = 1, []int{1, 2}, true
	check("no graph", text(guessed, 140), []string{"First bad", "CALC_ERROR, LIMITS\n"}, []string{"Spread", "of the network"})
	check("narrow", text(guessed, 80), []string{" CALC_ERROR\n"}, []string{"CALC_ERROR, LIMITS"})
	guessed.GraphSource = lang.Plain("graph.json")
	check("a graph", text(guessed, 140), []string{"Spread          2 tensors"}, nil)
	guessed.Findings.FirstBad = -1
	check("no first bad", text(guessed, 140), nil, []string{"Spread"})

	shape := reportOf(passing("a"), uncompared("b", record.ShapeMismatch, finding.Finding{Code: finding.SizeMismatch, Confidence: finding.High, Evidence: lang.Plain("(2, 3) against (3, 2)")}))
	shape.Findings.FirstBad = 1
	check("wrong shape", text(shape, 140), []string{"First bad       b\n                SHAPE_MISMATCH, ",
		"SIZE_MISMATCH (high confidence): (2, 3) against (3, 2)", "                NPU: npu/b.npy"}, nil)

	lost := failing("b")
	change(&lost, func(r *metrics.Result) {
		r.Total, r.Classes[metrics.Finite][metrics.NaN], r.Classes[metrics.Finite][metrics.NegInf] = 9, 4, 1
	})
	check("reference", text(reportOf(passing("a"), lost), 140),
		[]string{"Reference NaN   b (Conv2D), the reference is NaN or infinite at 5 of 9 elements where the NPU is finite\n"}, []string{"First NaN"})
}

func TestValueShort(t *testing.T) {
	for _, c := range []struct {
		value       metrics.Value
		short, full string
	}{
		{metrics.Value{DType: tensor.Int64, Int: 1<<53 + 1}, "9007199254740993", "9007199254740993"},
		{metrics.Value{DType: tensor.Complex64, Real: 1.0 / 3, Imag: -1}, "0.3333333-1j", "0.3333333333333333-1j"},
		{metrics.Value{DType: tensor.Complex64, Real: math.NaN(), Imag: 2}, "nan+2j", "nan+2j"},
		{metrics.Value{DType: tensor.Float32, Real: math.Inf(-1)}, "-inf", "-inf"},
	} {
		if got := formatElement(c.value, significantDigits(shownDigits)); got != c.short {
			t.Errorf("%v is %q, want %q", c.value, got, c.short)
		}
		if got := formatElement(c.value, allDigits); got != c.full {
			t.Errorf("%v is %q, want %q", c.value, got, c.full)
		}
	}
}

func TestCompareVerdict(t *testing.T) {
	warned, partial := passing("a"), passing("a")
	warned.Status, partial.Status = record.Warn, record.Partial
	baseline := func(r *record.Report, b record.Baseline) *record.Report { r.Baseline = &b; return r }
	stopped, fast := reportOf(passing("a")), reportOf(failing("a"))
	stopped.Interrupted, fast.FailedFast = true, true
	for _, c := range []struct {
		report *record.Report
		want   string
	}{
		{reportOf(), "NOTHING COMPARED: no tensor was chosen"},
		{reportOf(uncompared("a", record.UnmatchedRef), uncompared("b", record.Skip)), "NOTHING COMPARED: none of 2 tensors has a partner that could be compared"},
		{reportOf(passing("a")), "PASS: the only tensor within the limits"},
		{reportOf(passing("a"), uncompared("b", record.UnmatchedNPU)), "PASS: the only tensor within the limits"},
		{reportOf(passing("a"), warned), "PASS with warnings: all 2 tensors within the limits, 1 of them with a warning"},
		{reportOf(passing("a"), partial), "PARTIAL: only a part of 1 of 2 tensors was compared"},
		{reportOf(passing("a"), uncompared("b", record.ShapeMismatch)), "FAIL: 1 tensor could not be compared (1 SHAPE_MISMATCH)"},
		{reportOf(passing("a"), uncompared("b", record.Error)), "ERROR: 1 tensor could not be compared (1 ERROR)"},
		{reportOf(failing("a"), passing("b")), "FAIL: 1 of 2 tensors beyond the limits"},
		{baseline(reportOf(failing("a")), record.Baseline{Known: []int{0}}), "KNOWN FAILURES: 1 of 1 tensor beyond the limits, all of them in the baseline"},
		{baseline(reportOf(failing("a")), record.Baseline{New: []int{0}}), "FAIL: 1 of 1 tensor beyond the limits"},
		{baseline(reportOf(failing("a")), record.Baseline{Known: []int{0}, Worse: []int{0}}), "FAIL: 1 of 1 tensor beyond the limits, 1 of them in the baseline"},
		{stopped, "INTERRUPTED, so far: PASS: the only tensor within the limits"},
		{fast, "FAIL: 1 of 1 tensor beyond the limits (stopped at the first failure)"},
	} {
		if got := english.CompareVerdict(c.report); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// nasty are names that try to break lines and markup.
var nasty = []string{strings.Repeat("很长的名字/", 60), strings.Repeat("x", 300), "a|b|c", "tab\there", "line\nbreak", "bell\x07\x00\x1b[31m", "\xff\xfe",
	"<script>&", "`code` *bold* _x_", "@someone", "]]>", "", "=1+1", "e\u0301\u202e", "😀😀"}

// nastyReport has a name in every place for names.
func nastyReport(name string) *record.Report {
	r := everything()
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Op += name
		row.OpType, row.Round, row.NPUOp, row.RefFile, row.NPUFile = name, name, name, name+".npy", name
		for j := range row.Reasons {
			row.Reasons[j].Evidence = lang.Plain(name)
		}
	}
	r.Warnings, r.OrderSource, r.GraphSource, r.Profile = []lang.Sentence{lang.Plain(name)}, lang.Plain(name), lang.Plain(name), name
	r.Coverage.RefOnly = []string{name, name, name, name, name, name}
	r.Baseline.File = name
	r.Findings.Jump = math.Inf(1)
	return r
}

func TestCompareTextWidth(t *testing.T) {
	for _, name := range nasty {
		r := nastyReport(name)
		change(&r.Rows[4], func(r *metrics.Result) { r.Total = math.MaxInt64 })
		r.Rows[4].Errors = math.MaxInt64 - 1
		r.Rows[4].Shape = tensor.Shape{1, 1, 1, 1, 1, 1, 1, 1 << 40}
		for _, width := range []int{40, 41, 67, 200} {
			text := Text{Width: width}
			texts := map[string]string{"summary": printed(t, func(w io.Writer) error { return text.WriteCompare(w, r) })}
			for _, i := range []int{4, 6, 10} {
				texts[fmt.Sprint("detail ", i)] = printed(t, func(w io.Writer) error { return text.WriteCompareDetail(w, &r.Rows[i]) })
			}
			for what, text := range texts {
				checkLines(t, fmt.Sprintf("%s of %.20q", what, name), text, width)
			}
		}
	}
}

// printed returns the output of a printer.
func printed(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// checkLines reports lines that are too long or contain control sequences. A file or folder name
// alone on a line, and a command, may have any length.
func checkLines(t *testing.T, name, text string, width int) {
	t.Helper()
	if text == "" {
		t.Errorf("%s at %d columns is empty", name, width)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if got := ui.Columns.StringWidth(line); got > width && !oneName(line) && !isCommand(line) {
			t.Errorf("%s: %d columns, want at most %d: %q", name, got, width, line)
		}
		if strings.ContainsAny(line, "\x00\x07\x1b\t\u202e") || strings.HasSuffix(line, " ") {
			t.Errorf("%s: %q", name, line)
		}
	}
}

// oneName reports whether a line is a part of a path that line breaks cannot improve.
func oneName(line string) bool {
	name := strings.TrimSuffix(strings.TrimSpace(line), "/")
	return !strings.ContainsAny(name, " /") && strings.HasPrefix(line, textIndent+textIndent)
}

// isCommand reports whether a line is a command or its option. Commands are copied whole and so
// never broken.
func isCommand(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "dumptool ") || strings.HasPrefix(line, "--map-node-dict ")
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"abcdefghij", 10, "abcdefghij"}, {"abcdefghij", 7, "ab…ghij"}, {"abcdefghij", 6, "a…ghij"}, {"很长的名字", 7, "很…名字"}, {"很长的名字", 6, "…名字"},
		{"abc", 1, "…"}, {"abc", 0, ""},
		{"Default/network/_backbone/layer15/fc2/MatMul-op577", 40, "Default/…layer15/fc2/MatMul-op577"},
		{"Default/network/_backbone/layer15/fc2/MatMul-op577", 29, "…layer15/fc2/MatMul-op577"},
		{"Default/network/_backbone/layer15/fc2/MatMul-op577", 22, "…15/…2/MatMul-op577"},
		{"> Default/network/_backbone/layer15/fc2/MatMul-op577", 31, "> …layer15/fc2/MatMul-op577"},
		{"Default/network/_backbone/layer15/fc2/MatMul-op577", 12, "…15/Ma…op577"},
	} {
		if got := shorten(c.text, c.width); got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.text, c.width, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, width := rapid.String().Draw(t, "text"), rapid.IntRange(0, 50).Draw(t, "width")
		if got := shorten(text, width); ui.Columns.StringWidth(got) > max(width, 0) {
			t.Fatalf("%q has %d columns, want at most %d", got, ui.Columns.StringWidth(got), width)
		}
	})
}

func TestFloatShort(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1: "1", 0.99999997: "0.99999997", 4200: "4200", 1e6: "1e+06", 0.0001: "0.0001", 123456.7: "1.235e+05", math.Inf(-1): "-inf"} {
		if got := fourDigits(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
}

func TestNarrowNumbers(t *testing.T) {
	for _, c := range []struct {
		metric                    metrics.Metric
		wantNarrow, wantAsACosine string
	}{
		{metrics.Metric{}, "-", "-"}, {known(1), "1", "1"}, {known(-1), "-1", "-1"}, {known(0.9999999), "1", "0.999999"},
		{known(0.123456789), "0.123", "0.123457"}, {known(0), "0", "0"},
	} {
		if got := metricOr(c.metric, noValue, significantDigits(3)); got != c.wantNarrow {
			t.Errorf("%v is %q, want %q", c.metric, got, c.wantNarrow)
		}
		if got := metricOr(c.metric, noValue, formatCosine); got != c.wantAsACosine {
			t.Errorf("cosine %v is %q, want %q", c.metric, got, c.wantAsACosine)
		}
	}
	if got := significantDigits(3)(math.Inf(1)) + significantDigits(3)(33554431); got != "inf3.36e+07" {
		t.Error(got)
	}
}

// TestTableAt80 keeps all columns at 80 columns, with usual numbers.
func TestTableAt80(t *testing.T) {
	row := failing(strings.Repeat("Default/network/", 10) + "Conv2D-op12")
	change(&row, func(r *metrics.Result) { r.Total, r.MeanRel = 1275, known(33554431) })
	row.Errors, row.Reasons[0].Code = 1267, finding.LayerInputBad
	got := printed(t, func(w io.Writer) error { return Text{Width: 80}.WriteCompare(w, reportOf(row)) })
	want := "OP            STATUS  ERRORS/TOTAL  MAX_ABS  MEAN_REL    COSINE  REASON\n" +
		"…Conv2D-op12  FAIL       1267/1275      0.3  3.36e+07  0.993648  LAYER_INPUT_BAD\n"
	if !strings.Contains(got, want) {
		t.Errorf("no table\n%s\nin\n%s", want, got)
	}
}

func TestCompareMarkdown(t *testing.T) {
	got := rendered(t, func(w io.Writer) error {
		return english.WriteCompareMarkdown(w, reportOf(failing("@a|b_c"), passing("d")))
	})
	want := `## FAIL: 1 of 2 tensors beyond the limits

The worst rows (numbers over finite elements):

| OP | STATUS | ERRORS/TOTAL | MAX_ABS | MEAN_REL | COSINE | REASON |
|---|---|--:|--:|--:|--:|---|
| @<!-- -->a\|b_c | FAIL | 2/4 | 0.3 | 0.15 | 0.993648 | CALC_ERROR, LIMITS |

Codes: CALC_ERROR: Calculation error; LIMITS: Beyond the limits

- **Coverage**: 2 of 2 tensors of the reference compared (100 %)
- **Limits**: profile hpaa, tolerance mode isclose, NaN policy strict
- **Order**: names
- **Inputs**: unknown: the preceding operator is taken as the input
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	bars := regexp.MustCompile(`(^|[^\\])\|`)
	for _, name := range nasty {
		text := rendered(t, func(w io.Writer) error { return english.WriteCompareMarkdown(w, nastyReport(name)) })
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "| ") && len(bars.FindAllString(line, -1)) != 9 {
				t.Errorf("%.20q: a line of the table has other columns: %s", name, line)
			}
			if strings.ContainsAny(line, "<") && strings.Contains(line, "<script") || strings.Contains(line, "@someone") {
				t.Errorf("%.20q: %s", name, line)
			}
		}
	}
}

// TestManyRows: no printer takes quadratic time in the number of rows.
func TestManyRows(t *testing.T) {
	rows := make([]record.Row, 20_000)
	for i := range rows {
		switch i % 4 {
		case 0:
			rows[i] = failing("same")
		case 1:
			rows[i] = uncompared("same", record.UnmatchedRef)
		default:
			rows[i] = passing(fmt.Sprint("op", i))
		}
	}
	r := reportOf(rows...)
	few := reportOf(rows[:1_000]...)
	for name, c := range map[string]struct {
		write func(io.Writer) error
		lines int
	}{
		"csv":       {func(w io.Writer) error { return WriteCompareCSV(w, r, Options{HPAA: CSVOptions{ExtraColumns: true}}) }, 15_001},
		"msaccucmp": {func(w io.Writer) error { return WriteCompareMsaccucmp(w, r) }, 20_001},
		"text":      {func(w io.Writer) error { return Text{}.WriteCompare(w, r) }, 10},
		"markdown":  {func(w io.Writer) error { return english.WriteCompareMarkdown(w, r) }, 10},
		"skipped":   {SkipLogs(r, nil)[2].Write, 5_000},
		"json":      {func(w io.Writer) error { return few.Write(w) }, 1_000},
		"junit":     {func(w io.Writer) error { return WriteCompareJUnit(w, few) }, 1_000},
	} {
		if text := printed(t, c.write); strings.Count(text, "\n") < c.lines {
			t.Errorf("%s: %d lines, want at least %d", name, strings.Count(text, "\n"), c.lines)
		}
	}
}

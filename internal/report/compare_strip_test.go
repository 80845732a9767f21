package report

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
	"dumptool/internal/ui"
)

// stripped returns a report of rows with statuses: P, W, R, F for a row damaged by an origin, O for
// an origin, - for a row that was not compared.
func stripped(levels string) *record.Report {
	r := reportOf()
	r.Verdict = evidenceMethod
	for i, c := range levels {
		row := passing(fmt.Sprintf("op%d", i))
		row.Order = i
		switch c {
		case 'W':
			row.Status = record.Warn
		case 'R':
			row.Status = record.Rounding
		case 'F', 'O':
			row.Status = record.Fail
			row.Evidence = &record.Evidence{}
			if c == 'O' {
				row.Evidence.Level = record.IsOrigin
			}
		case '-':
			row = record.Row{Op: row.Op, Order: i, Verdict: record.Verdict{Status: record.UnmatchedRef}}
		}
		r.Rows = append(r.Rows, row)
	}
	r.Findings = record.NoFindings()
	r.Findings.FirstBad = strings.IndexByte(levels, 'O')
	r.Rounds = []record.Round{{OrderKnown: true, Findings: r.Findings}}
	return r
}

// stripText returns the strip of a report.
func stripText(t *testing.T, text Text, r *record.Report) string {
	t.Helper()
	var b strings.Builder
	p := text.printerTo(&b)
	p.printStrip(r)
	if p.err != nil {
		t.Fatal(p.err)
	}
	return b.String()
}

func TestStrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		levels string
		text   Text
		want   string
	}{
		{"PPWROFF-", Text{Width: 80}, "All tensors in execution order:\n  ▁▁▄▂█▆▆_\n      ^ first bad\n  █ own error, ▆ bad by its inputs or rounding, ▄ warning, ▂ rounding, ▁ pass, _\n    not compared\n"},
		{"PPWROFF-", Text{Width: 80, ASCII: true, Lang: Chinese}, "全部张量，按执行顺序：\n  ..w-#xx_\n      ^ 首个出错\n  # 自身出错，x 因输入或舍入而出错，w 警告，- 舍入，. 通过，_ 未比对\n"},
		{strings.Repeat("P", 90) + "OF", Text{Width: 34, ASCII: true}, "All tensors in execution order,\nthe worst of each 4:\n  ......................#\n              first bad ^\n  # own error, . pass\n"},
		{"PPP", Text{}, ""},
		{"PP", Text{Width: 80}, ""},
		{"PPP", Text{Width: 4}, ""},
		{"PPPP", Text{Width: 80, Color: true}, "All tensors in execution order:\n  \x1b[32m▁▁▁▁\x1b[0m\n  ▁ pass\n"},
	} {
		if got := stripText(t, c.text, stripped(c.levels)); got != c.want {
			t.Errorf("%s %+v:\n%s\nwant\n%s", c.levels, c.text, got, c.want)
		}
	}
	r := stripped("PPPP")
	r.Rounds[0].OrderKnown = false
	if got := stripText(t, Text{Width: 80, ASCII: true}, r); !strings.HasPrefix(got, "All tensors (execution order unknown):\n  ....\n") {
		t.Errorf("got %s", got)
	}
}

// TestStripSizes draws strips of all lengths and widths: no line exceeds the terminal's width, and
// the worst level is shown.
func TestStripSizes(t *testing.T) {
	t.Parallel()
	for n := range 130 {
		for _, width := range []int{5, 6, 17, 40, 80} {
			r := stripped(strings.Repeat("P", n/2) + "O" + strings.Repeat("F", n-n/2))
			for i, line := range strings.Split(stripText(t, Text{Width: width}, r), "\n") {
				if w := ui.Columns.StringWidth(line); w > width && width > 16 {
					t.Fatalf("%d rows, width %d, line %d: %q is %d wide", n, width, i, line, w)
				}
			}
			var b strings.Builder
			p := english.printerTo(&b)
			p.printStripSVG(r)
			if err := xml.Unmarshal([]byte(b.String()), new(struct{})); b.Len() > 0 && err != nil {
				t.Fatalf("%v in %s", err, b.String())
			}
		}
	}
}

func TestGuiltyAxis(t *testing.T) {
	t.Parallel()
	row := failing("conv")
	row.Reasons = []finding.Finding{{Code: finding.CalcError, Facts: finding.Facts{}.Int("axis", 1).Int("first", 2).Int("end", 4)}}
	row.Shape = tensor.Shape{1, 4}
	res := row.Result
	res.Axes = []metrics.AxisProfile{{Axis: 1, Size: 4, Fold: 1, Bins: []metrics.AxisBin{{Count: 1}, {Count: 1, SumAbs: 1}, {Count: 2, SumAbs: 16}, {Count: 1, SumAbs: 4}}}}
	row.Result = res
	for _, c := range []struct {
		text Text
		want string
	}{
		{Text{Width: 80}, "axis 1, mean |d|: | ▂█▅|  worst in [2, 4) of 4"},
		{Text{Width: 80, ASCII: true, Lang: Chinese}, "轴 1，平均 |d|：| :@+|  最差位置 [2, 4)，共 4"},
		{Text{}, ""},
		{Text{Width: 50}, ""},
	} {
		if got := strings.Join(c.text.unevenAxisLines(&row), "\n"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.text, got, c.want)
		}
	}
	many := make([]float64, 1000)
	many[999] = 1
	if got := (Text{}).sparkline(many, 10); got != "|         █|" {
		t.Errorf("folded to %s", got)
	}
}

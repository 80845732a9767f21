package report

import (
	"io"
	"math"
	"slices"
	"strings"
	"unicode"

	"dumptool/internal/compare/record"
	"dumptool/internal/ui"
)

// minAround is what shortening leaves of the names of the rows around the first bad
// one: columns are left out first.
const minAround = 24

// wideWidth is the width from which the table of the worst rows has room for a
// second code. Off a terminal it has allCodes.
const (
	wideWidth = 120
	allCodes  = math.MaxInt
)

// WriteCompare prints the summary of a comparison: the verdict, the rounds where there
// are several, the first bad operator and what is known of it, the rows around it, or
// the worst ones where the execution order is not known, and what was compared.
func (t Text) WriteCompare(w io.Writer, r *record.Report) error {
	p := t.to(w)
	around, worst := aroundFirstBad(r), []int(nil)
	if around == nil {
		worst = r.Worst(compareWorst)
	}
	names := p.shortNames(r, around, worst)
	p.compareVerdict(p.CompareVerdict(r))
	if names.prefix != "" {
		p.text(p.say("Names in tables are without their common beginning %s", "表中的名称省略了共同的开头 %s", names.prefix))
	}
	p.rounds(r, names)
	p.strip(r)
	if facts := slices.Concat(p.findingFacts(r), p.problemFacts(r)); len(facts) > 0 {
		p.blank()
		p.facts(facts)
	}
	switch {
	case len(around) > 0:
		p.blank()
		p.text(p.aroundText(r))
		p.table("", p.aroundTable(around, names, p.codes()).Grid(p.Lang).fit(p.Width, minAround))
	case len(worst) > 0:
		p.blank()
		p.text(p.say("The worst rows (numbers over finite elements):", "最差的行(数值仅统计有限值元素)："))
		p.table("", worstTable(r, worst, names, p.codes()).Grid(p.Lang).Fit(p.Width))
	}
	p.blank()
	p.facts(p.runFacts(r))
	return p.err
}

// compareVerdict writes a verdict, of which the status that it begins with stands out.
func (p *printer) compareVerdict(text string) {
	for i, line := range wrap(ui.Escape(text), p.Width, p.Width) {
		if i == 0 {
			rest := strings.TrimLeftFunc(line, unicode.IsUpper)
			status := strings.TrimSuffix(line, rest)
			line = p.paint(ui.StyleOf(status), status) + rest
		}
		p.print(line + "\n")
	}
}

// codes is how many codes of a row a table has room for.
func (t Text) codes() int {
	switch {
	case t.Width <= 0:
		return allCodes
	case t.Width >= wideWidth:
		return 2
	}
	return 1
}

// aroundText explains the table of the rows around the first bad one.
func (t Text) aroundText(r *record.Report) string {
	if r.Verdict == byEvidence {
		return t.say("The rows around the first bad one in execution order (RED: rms error / rms of the reference, EXPECTED: what the inputs and rounding explain of it, SCORE: RED / EXPECTED):",
			"首个出错前后的各行，按执行顺序(RED：误差均方根/标杆均方根，EXPECTED：其中输入与舍入可解释的部分，SCORE：RED / EXPECTED)：")
	}
	if r.Verdict == byStatistics {
		return t.say("The rows around the first bad one in execution order (reference / NPU where they differ; Z: what they differ by, EXPECTED: what noise explains of it, B: beside its limit; above 1 is a fault):",
			"首个出错前后的各行，按执行顺序(不同时为 标杆 / NPU；Z：差异，EXPECTED：其中噪声可解释的部分，B：与其上限之比，大于 1 即为故障)：")
	}
	return t.say("The rows around the first bad one in execution order (RED: rms error / rms of the reference, TREND: RED / that of the inputs or the operator before):",
		"首个出错前后的各行，按执行顺序(RED：误差均方根/标杆均方根，TREND：与输入或前一算子的 RED 之比)：")
}

// shortNames are the names of the operators in the tables of a report.
func (p *printer) shortNames(r *record.Report, around []aroundRow, worst []int) shortNames {
	if p.Width <= 0 {
		return shortNames{}
	}
	var rows []*record.Row
	for _, bad := range badOperators(r) {
		rows = append(rows, bad.row)
	}
	for i := range around {
		if row := around[i].Row; row != nil {
			rows = append(rows, row)
		}
	}
	for _, i := range worst {
		rows = append(rows, r.Row(i))
	}
	return shortNamesOf(rows)
}

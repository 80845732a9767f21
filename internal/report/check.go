package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"dumptool/internal/check"
	"dumptool/internal/recompute"
)

// checkColumns are the columns of operators that were computed again.
func checkColumns() []Column[*check.Operator] {
	type row = *check.Operator
	first := func(o row) *check.Output {
		if len(o.Outputs) == 0 {
			return new(check.Output)
		}
		return &o.Outputs[0]
	}
	return []Column[row]{
		words("op", func(o row) string { return o.Op }).titled("OPERATOR", "算子"),
		words("op_type", func(o row) string { return o.Type }).titled("TYPE", "类型"),
		words("rank", func(o row) string { return o.At.Rank }).in(InCSV | InJSON),
		words("step", func(o row) string { return o.At.Step }).in(InCSV | InJSON),
		words("status", func(o row) string { return string(o.Status) }).titled("STATUS", "状态"),
		words("reason", func(o row) string { return o.Reason }).titled("REASON", "原因"),
		words("extent", func(o row) string { return string(o.Extent) }).in(InCSV | InJSON),
		words("confidence", func(o row) string { return string(o.Confidence) }).in(InCSV | InJSON),
		words("checked", func(o row) string { return first(o).How }).titled("CHECKED", "检查"),
		numbers("bad", func(o row) int64 { return first(o).Bad }).in(InCSV | InJSON),
		numbers("worst_ratio", func(o row) *float64 {
			x := float64(first(o).Worst)
			if first(o).Checked == 0 {
				return nil
			}
			return &x
		}).titled("WORST", "最大"),
		numbers("beyond_narrow", func(o row) int64 { return first(o).Beyond }).in(InCSV | InJSON),
		words("attributes", attributesText).titled("ATTRIBUTES", "属性"),
		words("file", func(o row) string { return o.File }).in(InCSV | InJSON),
	}
}

// attributesText lists attributes, each with its source.
func attributesText(o *check.Operator) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.Attributes)) {
		a := o.Attributes[name]
		all = append(all, fmt.Sprintf("%s=%s (%s)", name, a.Value, a.Source))
	}
	return strings.Join(all, " ")
}

// WriteCheckCSV writes a line for every operator.
func WriteCheckCSV(w io.Writer, r *check.Report) error {
	return Table[*check.Operator]{checkColumns(), pointers(r.Operators)}.CSV(w)
}

// WriteCheck prints the verdict, the first wrong operator, those that are not OK and what
// was covered.
func (t Text) WriteCheck(w io.Writer, r *check.Report) error {
	p := t.to(w)
	p.text(t.of(r.Summary.Headline))
	if r.Ranks != nil {
		p.ranks(r.Ranks)
	}
	rows := slices.DeleteFunc(pointers(r.Operators), func(o *check.Operator) bool { return o.Status == recompute.OK })
	if len(rows) > 0 {
		p.blank()
		printTable(p, Table[*check.Operator]{checkColumns(), rows}, minName)
	}
	s := &r.Summary
	if s.Operators > 0 {
		p.blank()
	}
	covered := t.say("%d of %d operators judged (%.1f %% of the bytes)", "%[2]d 个算子中 %[1]d 个已判定（占字节数的 %.1[3]f %%）", s.Judged, s.Operators, 100*s.Share)
	var not []string
	for _, reason := range slices.Sorted(maps.Keys(s.Undecided)) {
		not = append(not, fmt.Sprintf("%d %s", s.Undecided[reason], reason))
	}
	if s.Operators == 0 {
		return p.err
	}
	if len(not) > 0 {
		covered += t.say("; not: %s", "；未判定：%s", strings.Join(not, ", "))
	}
	p.facts([]fact{{label: t.say("Coverage", "覆盖"), lines: []string{covered}}})
	return p.err
}

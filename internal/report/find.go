package report

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/find"
	"dumptool/internal/graph"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/ui"
)

// WriteFound prints the results of a search: a part for every operator and parameter. Ranks with
// equal answers share a part.
func (t Text) WriteFound(w io.Writer, a *find.SearchResult) error {
	p := t.printerTo(w)
	if len(a.Results) == 0 {
		return nil
	}
	p.text(p.foundCountText(a))
	for _, ranks := range groupAnswers(a.Results) {
		p.writeBlankLine()
		switch first := ranks[0].(type) {
		case *find.Operator:
			p.printOperator(first, ranks)
		case *find.Parameter:
			p.printParameter(first, ranks)
		}
	}
	if a.More > 0 {
		p.writeBlankLine()
		p.text(p.format("%d more: --limit 0 shows all", a.More))
	}
	return p.err
}

// foundCountText returns the numbers of operators and parameters found.
func (p *printer) foundCountText(a *find.SearchResult) string {
	params := 0
	for _, r := range a.Results {
		if _, ok := r.(*find.Parameter); ok {
			params++
		}
	}
	some := func(n int, noun string) string {
		if n == 0 {
			return ""
		}
		return p.Lang.Text(count(n, noun))
	}
	return a.Query + p.format(": ") + p.join(some(len(a.Results)-params, "operator"), some(params, "parameter"))
}

// groupAnswers groups results that differ only in their rank, ordered by the first of each group.
func groupAnswers(results []find.Result) [][]find.Result {
	var groups [][]find.Result
	of := make(map[string]int)
	for _, r := range results {
		key := answerKey(r)
		k, known := of[key]
		if !known {
			k = len(groups)
			of[key] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], r)
	}
	return groups
}

// answerKey returns a key that equal answers of several ranks share; an answer without a rank is
// unique.
func answerKey(r find.Result) string {
	if r.Position().Rank == nil {
		return fmt.Sprintf("%p", r)
	}
	shared := func(place *find.TreePosition) {
		if place.Rank = nil; place.IR != "" {
			place.IR = jsonpos.NullableText(path.Base(string(place.IR)))
		}
	}
	switch r := r.(type) {
	case *find.Operator:
		o := *r
		shared(&o.TreePosition)
		o.Files, o.Ambiguous, o.Statistics, o.FileTensor = nil, nil, nil, nil
		return string(marshal(o, ""))
	case *find.Parameter:
		q := *r
		shared(&q.TreePosition)
		q.Files, q.Consumers = nil, slices.Clone(q.Consumers)
		for i := range q.Consumers {
			q.Consumers[i].Files = nil
		}
		return string(marshal(q, ""))
	}
	return ""
}

// ranksText returns the ranks of equal answers, empty for none.
func (p *printer) ranksText(ranks []find.Result) string {
	var values []string
	for _, r := range ranks {
		if rank := r.Position().Rank; rank != nil {
			values = append(values, strconv.Itoa(*rank))
		}
	}
	switch len(values) {
	case 0:
		return ""
	case 1:
		return "rank " + values[0]
	}
	slices.SortFunc(values, lang.CompareNatural)
	return p.format("ranks %s", lang.Ranges(slices.Compact(values)))
}

// matchTexts describes the kinds of matches that need an explanation.
var matchTexts = map[find.Match]lang.Text{
	find.MatchFused:    {EN: "fused from an operator of that line"},
	find.MatchBackward: {EN: "computes the gradient of that line"},
	find.MatchStack:    {EN: "that line is a caller"},
	find.MatchBlock:    {EN: "that line is in the block around it only"},
	find.MatchType:     {EN: "by the type"},
	find.MatchScope:    {EN: "by the scope"},
	find.MatchPart:     {EN: "by a part of the name"},
}

// matchText describes how a result matches, with the confidence unless it is high.
func (p *printer) matchText(place *find.TreePosition, level int) string {
	switch place.Match {
	case find.MatchUp:
		return p.format("producer, level %d", level)
	case find.MatchDown:
		return p.format("consumer, level %d", level)
	}
	text := p.Lang.Text(matchTexts[place.Match])
	if place.Confidence == find.High {
		return text
	}
	names := map[find.Confidence]lang.Text{find.Medium: {EN: "confidence medium"}, find.Low: {EN: "confidence low"}}
	return p.join(text, p.Lang.Text(names[place.Confidence]))
}

// printOperator prints an operator, which several ranks may share.
func (p *printer) printOperator(op *find.Operator, ranks []find.Result) {
	p.print(ui.Escape(strings.TrimLeft(op.OpType+"  "+string(cmp.Or(op.OpName, "-")), " ")) + "\n")
	var facts factList
	facts.add(textIndent+p.format("match"), p.matchText(&op.TreePosition, op.Level))
	facts.add(textIndent+p.format("graph"), p.graphText(op), p.ranksText(ranks))
	if op.Source != "" {
		facts.add(textIndent+p.format("script"), p.scriptText(op))
	}
	facts.add(textIndent+p.format("stack"), p.stackTexts(op.Stack)...)
	facts.add(textIndent+p.format("inputs"), p.inputTexts(op.Inputs)...)
	facts.add(textIndent+p.format("outputs"), p.outputTexts(op.Outputs)...)
	facts.add(textIndent+p.format("report¦statistics"), p.rowTexts(op.Rows)...)
	if op.NotDumped {
		facts.add(textIndent+p.format("files"), p.format("none: it was not dumped"))
	}
	p.facts(facts)
	p.printFiles(p.format("files"), ranks, func(r find.Result) []string { return r.(*find.Operator).Files })
	p.printFiles(p.format("perhaps"), ranks, func(r find.Result) []string { return r.(*find.Operator).Ambiguous })
}

// printFiles prints the files of the first rank, and counts the files of the others.
func (p *printer) printFiles(label string, ranks []find.Result, of func(find.Result) []string) {
	label = pad(textIndent+label, labelWidth)
	others, rest := 0, []find.Result(nil)
	for _, r := range ranks[1:] {
		if n := len(of(r)); n > 0 {
			others += n
			rest = append(rest, r)
		}
	}
	for _, file := range of(ranks[0]) {
		p.path(label, "", file)
		label = pad("", labelWidth)
	}
	if others > 0 {
		p.writeWrapped(label, pad("", labelWidth), p.format("%s of %s", count(others, "file"), p.ranksText(rest)))
	}
}

// graphText returns the place of an operator in its graph.
func (p *printer) graphText(op *find.Operator) string {
	text := string(op.IR)
	if op.IRLine != nil {
		text += ":" + strconv.Itoa(*op.IRLine)
	}
	if op.Node != "" {
		node := string(op.Node)
		if op.Subgraph != "" {
			node = "@" + op.Subgraph + ":" + node
		}
		text = p.format("%s of %s", node, text)
	}
	if op.Order != nil {
		text = p.join(text, p.format("%d of %d in execution order", *op.Order, *op.OrderTotal))
	}
	return text
}

// scriptText returns the line of the script with its code and its path.
func (p *printer) scriptText(op *find.Operator) string {
	text := path.Base(string(op.Source))
	if op.Code != "" {
		text += "  " + string(op.Code)
	}
	text += "  (" + string(op.Source) + ")"
	switch op.SourceVia {
	case "fused":
		return p.join(text, p.format("of a fused operator"))
	case "forward":
		return p.join(text, p.format("its gradient"))
	case "library":
		return p.join(text, p.format("of the library"))
	}
	return text
}

func (p *printer) stackTexts(stack []find.Frame) []string {
	var lines []string
	for _, f := range stack {
		line := fmt.Sprintf("%s:%d", f.File, f.Line)
		if f.LineEnd > f.Line {
			line += fmt.Sprintf("-%d", f.LineEnd)
		}
		if f.Code != "" {
			line += "  " + string(f.Code)
		}
		if f.Kind != "own" {
			line += "  (" + f.Kind + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// typeText formats a type of the graph.
func typeText(t *graph.TensorType) string {
	parts := []string{string(t.DType), string(t.Format)}
	if t.Shape != nil {
		parts = append(parts, cmp.Or(t.Shape.String(), "()"))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// shortName returns the last segment of an operator's name.
func shortName(name string) string {
	return strings.TrimPrefix(name[strings.LastIndexByte(name, '/')+1:], "param:")
}

// linksText lists the ends of edges; if numbered, outputs other than the first have their number.
func linksText(links []find.Link, numbered bool) string {
	var parts []string
	for _, l := range links {
		name := shortName(l.Name)
		if numbered && l.Index > 0 {
			name += ":" + strconv.Itoa(l.Index)
		}
		parts = append(parts, name)
	}
	return strings.Join(slices.Compact(parts), ", ")
}

func (p *printer) inputTexts(inputs []find.Input) []string {
	var lines []string
	for _, in := range inputs {
		line := strings.TrimRight(fmt.Sprintf("%d  %s", in.Index, typeText(&in.TensorType)), " ")
		switch {
		case len(in.Via) > 0:
			via := slices.Clone(in.Via)
			slices.Reverse(via)
			line += p.format("  from %s through %s", linksText(in.End, true), strings.Join(lastNames(via), ", "))
		case len(in.From) > 0:
			line += p.format("  from %s", linksText(in.From, true))
		case in.DType == "":
			continue // a constant
		}
		lines = append(lines, line)
		if len(in.Dumped) > 0 {
			lines = append(lines, p.format("   dumped: %s, through %s (no dump)", linksText(in.Dumped, true), lang.FirstNames(lastNames(in.Undumped))))
		}
	}
	return lines
}

// lastNames returns the last segments of names.
func lastNames(names []string) []string {
	short := make([]string, len(names))
	for i, name := range names {
		short[i] = shortName(name)
	}
	return short
}

func (p *printer) outputTexts(outputs []find.Output) []string {
	var lines []string
	for _, out := range outputs {
		line := strings.TrimRight(fmt.Sprintf("%d  %s", out.Index, typeText(&out.TensorType)), " ")
		if len(out.To) > 0 {
			line += p.format("  to %s", linksText(out.To, false))
		}
		lines = append(lines, line)
	}
	return lines
}

// rowTexts formats the rows of statistics tables for the tensors.
func (p *printer) rowTexts(rows []find.Row) []string {
	var lines []string
	for _, r := range rows {
		line := fmt.Sprintf("%s %d ", r.Kind, r.Index)
		for _, s := range []dumpdir.Statistic{dumpdir.Max, dumpdir.Min, dumpdir.NaNs} {
			if v, ok := r.Statistics.Values.Get(s); ok {
				line += fmt.Sprintf(" %s %s", s, strconv.FormatFloat(v, 'g', 6, 64))
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// printParameter prints a parameter with the operators that read it.
func (p *printer) printParameter(q *find.Parameter, ranks []find.Result) {
	p.print(p.format("Parameter  %s", ui.Escape(q.Param)) + "\n")
	var facts factList
	facts.add(textIndent+p.format("match"), p.matchText(&q.TreePosition, 0))
	facts.add(textIndent+p.format("graph"), string(q.IR), p.ranksText(ranks))
	p.facts(facts)
	p.printFiles(p.format("files"), ranks, func(r find.Result) []string { return r.(*find.Parameter).Files })
	for i := range q.Consumers {
		c := &q.Consumers[i]
		line := p.format("input %d of %s", c.Input, cmp.Or(c.OpName, c.Node))
		if len(c.Via) > 0 {
			line += p.format(" through %s", strings.Join(lastNames(c.Via), ", "))
		}
		p.facts([]summaryItem{{label: textIndent + p.format("read by"), lines: []string{line}}})
		p.printFiles("", ranks, func(r find.Result) []string { return r.(*find.Parameter).Consumers[i].Files })
	}
}

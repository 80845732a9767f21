package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/inspect"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/ranks"
	"dumptool/internal/trace"
	"dumptool/internal/ui"
)

// shownLines limits the lines about a run, shownTypes the element types.
const (
	shownLines = 20
	shownTypes = 6
)

// shownFacts limits the listed facts about a run by kind.
type shownFacts struct{ problems, sources, configurations int }

// WriteOverview prints a summary of a run: its producer, rounds, the source of the operators'
// order, problems, and sensible commands. If the summary is too long, each fact and each command gets one
// line.
func (t Text) WriteOverview(w io.Writer, o *inspect.Overview) error {
	p := t.printerTo(w)
	paths := firstLines(p.Text, o.Of.Paths, 2, ui.Escape)
	facts := p.overviewFacts(o, shownFacts{problems: 3, sources: 2, configurations: 2})
	lines, command := len(paths)+1+2*len(o.Next), "# %[2]s\n%[1]s\n"
	for _, f := range facts {
		lines += len(f.lines)
	}
	if lines > shownLines {
		facts, command = p.overviewFacts(o, shownFacts{1, 1, 1}), "%s  # %s\n"
		for i := range facts {
			facts[i].lines = []string{strings.Join(facts[i].lines, "; ")}
		}
		paths = []string{strings.Join(paths, ", ")}
	}
	p.print(strings.Join(paths, "\n") + "\n")
	p.facts(facts)
	if len(o.Next) == 0 {
		return p.err
	}
	p.writeBlankLine()
	for _, c := range o.Next {
		p.print(fmt.Sprintf(command, c.Line, p.sentence(c.Why)))
	}
	return p.err
}

// overviewFacts returns the facts about a run.
func (p *printer) overviewFacts(o *inspect.Overview, shown shownFacts) (facts factList) {
	run := o.Of
	if len(run.Rounds) > 0 || len(run.Records) > 0 {
		facts.add(p.format("Written by"), p.producersText(o))
	}
	facts.add(p.format("Ranks"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Rank }))
	facts.add(p.format("Steps"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Step }))
	facts.add(p.format("Graphs"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Graph }))
	facts.add(p.format("Models"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Model }))
	if len(run.Rounds) > 0 {
		facts.add(p.format("Operators"), p.operatorsText(run))
		facts.add(p.format("Order"), p.sourcesText(run, shown.sources, func(r *dumpdir.Round) lang.Sentence { return r.Order.Source })...)
		facts.add(p.format("Data flow"), p.sourcesText(run, shown.sources, func(r *dumpdir.Round) lang.Sentence {
			if r.Flow.Source.IsZero() {
				return lang.Say("unknown")
			}
			return r.Flow.Source
		})...)
	}
	facts.add(p.format("Types"), p.typesText(o))
	if s := o.Ranks; s != nil {
		facts.add(p.format("Groups"), p.groupsText(s)...)
		facts.add(p.format("Calls"), p.callsText(s))
	}
	facts.add(p.format("Files"), p.filesText(run))
	if o.Run.Reference != "" && len(run.Paths) == 1 {
		reference, npu := o.Run.Reference, o.Run.NPU
		stems := o.Run.Stems
		if stems != nil {
			reference, npu = stems[0], stems[1]
		}
		if len(stems) > 2 {
			facts.add(p.format("Sides"), p.format("%d, by the names of files: %s; --stems chooses two", len(stems), ui.Escape(strings.Join(stems, ", "))))
		} else {
			facts.add(p.format("Sides"), p.format("reference %s, NPU %s", ui.Escape(reference), ui.Escape(npu)))
		}
	}
	facts.add(p.format("Configuration"), p.configurationsText(o, shown.configurations)...)
	facts.add(p.format("Problems"), p.problemsText(&o.Run, shown.problems)...)
	return facts
}

// typesText lists the element types.
func (p *printer) typesText(o *inspect.Overview) string {
	names := firstLines(p.Text, o.Run.Types, shownTypes, func(t inspect.TypeCount) string { return t.Type })
	text, files := strings.Join(names, ", "), 0
	for _, f := range o.Of.Files {
		if f.Role == dumpdir.Tensors {
			files++
		}
	}
	if text != "" && o.Run.Headers < files {
		text += p.format(" (by %d of %d headers)", o.Run.Headers, files)
	}
	return text
}

// configurationsText lists the configurations.
func (p *printer) configurationsText(o *inspect.Overview, most int) []string {
	return firstLines(p.Text, pointers(o.Run.Configurations), most, func(c *inspect.Configuration) string {
		if c.Errors+c.Warnings == 0 {
			return p.format("%s: no mistakes found", ui.Escape(c.Path))
		}
		return p.format("%s: %s, %s", ui.Escape(c.Path), lang.CountText(c.Errors, "error"), lang.CountText(c.Warnings, "warning"))
	})
}

// producersText lists the producers.
func (p *printer) producersText(o *inspect.Overview) string {
	var names []string
	for _, one := range o.Run.Producers {
		if one == dumpdir.Arrays {
			names = append(names, p.format("no known producer"))
			continue
		}
		name := producerNames[one]
		if one == dumpdir.MSProbe && len(o.Run.Frameworks) > 0 {
			name += " (" + ui.Escape(strings.Join(o.Run.Frameworks, ", ")) + ")"
		}
		names = append(names, name)
	}
	return cmp.Or(strings.Join(names, ", "), p.format("unknown writer"))
}

// producerNames maps producers to their usual names.
var producerNames = map[dumpdir.Producer]string{
	dumpdir.MSProbe: "msprobe", dumpdir.ATB: "ATB", dumpdir.MindSpore: "MindSpore", dumpdir.HPAA: "HPAA", dumpdir.CANN: "CANN",
}

// valuesText lists the values of a coordinate, empty if unknown.
func valuesText(run *dumpdir.Run, of func(*dumpdir.Coordinates) string) string {
	var values []string
	for _, r := range run.Rounds {
		if v := of(&r.At); v != "" {
			values = append(values, v)
		}
	}
	slices.SortFunc(values, lang.CompareNatural)
	return lang.Ranges(slices.Compact(values))
}

// operatorsText returns the number of operators per round.
func (p *printer) operatorsText(run *dumpdir.Run) string {
	if len(run.Rounds) == 0 {
		return p.format("none")
	}
	count := func(r *dumpdir.Round) int { return len(r.Ops) }
	least, most := count(run.Rounds[0]), 0
	for _, r := range run.Rounds {
		least, most = min(least, count(r)), max(most, count(r))
	}
	switch {
	case len(run.Rounds) == 1:
		return strconv.Itoa(most)
	case least == most:
		return p.format("%d in each of %d rounds", most, len(run.Rounds))
	}
	return p.format("%d to %d in %d rounds", least, most, len(run.Rounds))
}

// sourcesText lists the sources of rounds, with numbers of rounds if they differ.
func (p *printer) sourcesText(run *dumpdir.Run, most int, of func(*dumpdir.Round) lang.Sentence) []string {
	counts := make(map[string]int)
	var all []string
	for _, r := range run.Rounds {
		source := p.sentence(of(r))
		if counts[source]++; counts[source] == 1 {
			all = append(all, source)
		}
	}
	if len(all) > 1 {
		for i, source := range all {
			all[i] = fmt.Sprintf("%s (%s)", source, p.Lang.Text(rounds(counts[source])))
		}
	}
	return firstLines(p.Text, all, most, func(source string) string { return source })
}

// maxShownGroups is the number of groups up to which each is listed.
const maxShownGroups = 8

// groupsText describes the groups that communicate, and their missing members.
func (p *printer) groupsText(s *ranks.Survey) []string {
	if len(s.Groups) == 0 {
		return []string{p.format("not named by the dump")}
	}
	text := p.format("%s, from %s", ranks.AxesText(s.Axes), s.Groups[0].Source)
	if len(s.Groups) <= maxShownGroups {
		all := lists.Map(s.Groups, func(g ranks.Group) string { return trace.Ranges(g.Ranks) })
		text += ": " + strings.Join(all, " | ")
	}
	lines := []string{text}
	if len(s.Missing) > 0 {
		lines = append(lines, p.format("%s of these groups are missing from the dump", trace.RankText(s.Missing)))
	}
	return lines
}

// callsText lists the numbers of communications.
func (p *printer) callsText(s *ranks.Survey) string {
	return strings.Join(lists.Map(s.Calls, func(c ranks.CallCount) string { return fmt.Sprintf("%s %d", c.API, c.Count) }), ", ")
}

// fileKinds names the roles of files for counting.
var fileKinds = []struct {
	role dumpdir.Role
	name lang.Text
}{
	{dumpdir.Tensors, lang.Text{EN: "with tensors"}}, {dumpdir.Table, lang.Text{EN: "with statistics"}},
	{dumpdir.Overflow, lang.Text{EN: "with overflow records"}}, {dumpdir.Product, lang.Text{EN: "converted from others"}},
	{dumpdir.Unknown, lang.Text{EN: "of unknown content"}}, {dumpdir.Side, lang.Text{EN: "other"}},
}

// filesText returns the numbers and total size of a run's files.
func (p *printer) filesText(run *dumpdir.Run) string {
	counts, size := make(map[dumpdir.Role]int), int64(0)
	for _, f := range run.Files {
		counts[f.Role]++
		size += f.Size
	}
	var parts []string
	for _, k := range fileKinds {
		if n := counts[k.role]; n > 0 {
			parts = append(parts, p.format("%d %s", n, k.name))
		}
	}
	return p.format("%s; %d bytes", strings.Join(parts, ", "), size)
}

// problemsText lists the first problems of a run.
func (p *printer) problemsText(run *inspect.Head, most int) []string {
	lines := firstLines(p.Text, pointers(run.Problems), most, func(q *dumpdir.Problem) string { return p.sentence(lang.Error(q)) })
	return append(lines, firstLines(p.Text, run.Warnings, most, func(s lang.Sentence) string { return ui.Escape(p.sentence(s)) })...)
}

// WriteOperators prints the operators of a run in execution order, one per line.
func (t Text) WriteOperators(w io.Writer, ops *inspect.Operators) error {
	p := t.printerTo(w)
	if len(ops.Rows) == 0 {
		return p.err
	}
	g := Table[*inspect.Operator]{operatorColumns, ops.Rows}.Grid(p.Lang)
	if p.Width > 0 {
		g = g.Fit(p.Width)
	}
	p.grid("", g, 0)
	return p.err
}

// operatorColumns are the columns of an operator over all of its executions.
var operatorColumns = slices.Concat(
	[]Column[*inspect.Operator]{
		textColumn("operator", func(o *inspect.Operator) string { return o.Name }).withTitle("OPERATOR"),
		textColumn("type", func(o *inspect.Operator) string { return o.Type }).withTitle("TYPE").hideIfEmpty().withRank(2),
		textColumn("script", func(o *inspect.Operator) string { return o.Script }).withTitle("SCRIPT").emptyIfZero().hideIfEmpty(),
		numberColumn("times", func(o *inspect.Operator) int { return o.Times }).withTitle("TIMES").withRank(3),
		numberColumn("failed", func(o *inspect.Operator) int { return o.Failed }).withTitle("FAILED").emptyIfZero().hideIfEmpty().withRank(1),
		numberColumn("in", func(o *inspect.Operator) int { return o.Inputs }).withTitle("IN").withRank(10),
		numberColumn("out", func(o *inspect.Operator) int { return o.Outputs }).withTitle("OUT").withRank(9),
	},
	columnsOfPart(func(o *inspect.Operator) (*inspect.Tensor, bool) { return o.First, o.First != nil },
		textColumn("dtype", (*inspect.Tensor).TypeName).withTitle("DTYPE").hideIfEmpty().withRank(5),
		textColumn("format", formatText).withTitle("FORMAT").hideIfEmpty().withRank(14),
		textColumn("shape", func(t *inspect.Tensor) string { return shapeText(t.Shape) }).withTitle("SHAPE").hideIfEmpty().withRank(4),
	),
	columnsOfPart(func(o *inspect.Operator) (*inspect.Stats, bool) { return o.Stats, o.Stats != nil },
		numberColumn("min", func(s *inspect.Stats) string { return numberText(s.Min) }).withTitle("MIN").hideIfEmpty().withRank(8),
		numberColumn("max", func(s *inspect.Stats) string { return numberText(s.Max) }).withTitle("MAX").hideIfEmpty().withRank(7),
		numberColumn("nan", func(s *inspect.Stats) *int64 { return s.NaN }).hideIfEmpty().withRank(6),
		numberColumn("+inf", func(s *inspect.Stats) *int64 { return s.PosInf }).hideIfEmpty().withRank(11),
		numberColumn("-inf", func(s *inspect.Stats) *int64 { return s.NegInf }).hideIfEmpty().withRank(12),
	),
	[]Column[*inspect.Operator]{numberColumn("bytes", func(o *inspect.Operator) int64 { return o.Bytes }).withTitle("BYTES").withRank(13)},
)

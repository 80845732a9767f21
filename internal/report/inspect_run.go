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
	"dumptool/internal/ranks"
	"dumptool/internal/ui"
)

// shownProblems is the most problems of a run that the text lists, shownSources the
// most sources of orders.
const (
	shownProblems = 10
	shownSources  = 4
)

// WriteRun prints what a run is: its paths, then who wrote it, its rounds, where the
// order of its operators comes from, and what is wrong with it.
func (t Text) WriteRun(w io.Writer, run *dumpdir.Run) error {
	p := t.to(w)
	for _, path := range run.Paths {
		p.print(ui.Escape(path) + "\n")
	}
	var facts factList
	facts.add(p.say("Written by", "写出方"), p.producersText(run))
	facts.add(p.say("Ranks", "rank"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Rank }))
	facts.add(p.say("Steps", "step"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Step }))
	facts.add(p.say("Graphs", "图"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Graph }))
	facts.add(p.say("Models", "模型"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Model }))
	facts.add(p.say("Operators", "算子"), p.operatorsText(run))
	facts.add(p.say("Order", "执行顺序"), p.sourcesText(run, func(r *dumpdir.Round) lang.Sentence { return r.Order.Source })...)
	facts.add(p.say("Data flow", "数据流"), p.sourcesText(run, func(r *dumpdir.Round) lang.Sentence {
		if r.Flow.Source.IsZero() {
			return lang.Sayf("not known", "未知")
		}
		return r.Flow.Source
	})...)
	if s := ranks.NewSurvey(run.Rounds); s != nil {
		facts.add(p.say("Groups", "通信组"), p.groupsText(s)...)
		facts.add(p.say("Calls", "通信调用"), p.callsText(s))
	}
	facts.add(p.say("Files", "文件"), p.filesText(run))
	facts.add(p.say("Problems", "问题"), p.problemsText(run)...)
	p.facts(facts)
	return p.err
}

// producersText names the producers.
func (p *printer) producersText(run *dumpdir.Run) string {
	var names []string
	for _, one := range run.Producers {
		if one == dumpdir.Arrays {
			names = append(names, p.say("no known producer", "未知来源"))
			continue
		}
		names = append(names, producerNames[one])
	}
	return cmp.Or(strings.Join(names, ", "), p.say("nobody known", "未知"))
}

// producerNames are the names of the producers as people write them.
var producerNames = map[dumpdir.Producer]string{
	dumpdir.MSProbe: "msprobe", dumpdir.ATB: "ATB", dumpdir.MindSpore: "MindSpore", dumpdir.HPAA: "HPAA", dumpdir.CANN: "CANN",
}

// valuesText lists the values of a coordinate, empty if it is not known.
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

// operatorsText counts the operators of the rounds.
func (p *printer) operatorsText(run *dumpdir.Run) string {
	if len(run.Rounds) == 0 {
		return p.say("none", "无")
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
		return p.say("%d in each of %d rounds", "每个轮次 %d 个，共 %d 个轮次", most, len(run.Rounds))
	}
	return p.say("%d to %d in %d rounds", "%d 到 %d 个，共 %d 个轮次", least, most, len(run.Rounds))
}

// sourcesText lists what rounds have, with how many of them where that differs.
func (p *printer) sourcesText(run *dumpdir.Run, of func(*dumpdir.Round) lang.Sentence) []string {
	counts := make(map[string]int)
	var all []string
	for _, r := range run.Rounds {
		source := p.of(of(r))
		if counts[source]++; counts[source] == 1 {
			all = append(all, source)
		}
	}
	if len(all) > 1 {
		for i, source := range all {
			all[i] = fmt.Sprintf("%s (%s)", source, p.Lang.Text(rounds(counts[source])))
		}
	}
	return firstOf(p.Text, all, shownSources, func(source string) string { return source })
}

// shownGroups is the most groups that are listed one by one.
const shownGroups = 8

// groupsText says which groups communicate, and which of their members are not there.
func (p *printer) groupsText(s *ranks.Survey) []string {
	if len(s.Groups) == 0 {
		return []string{p.say("not named by the dump", "dump 未给出")}
	}
	text := p.say("%s, from %s", "%s，来自 %s", ranks.AxesText(s.Axes), s.Groups[0].Source)
	if len(s.Groups) <= shownGroups {
		var all []string
		for _, g := range s.Groups {
			all = append(all, ranks.Ranges(g.Ranks))
		}
		text += ": " + strings.Join(all, " | ")
	}
	lines := []string{text}
	if len(s.Missing) > 0 {
		lines = append(lines, p.say("%s of these groups are not here", "这些组中的 %s 不在其中", ranks.RankText(s.Missing)))
	}
	return lines
}

// callsText counts communications.
func (p *printer) callsText(s *ranks.Survey) string {
	var parts []string
	for _, c := range s.Calls {
		parts = append(parts, fmt.Sprintf("%s %d", c.API, c.Count))
	}
	return strings.Join(parts, ", ")
}

// fileKinds are what files of a run are counted as.
var fileKinds = []struct {
	role dumpdir.Role
	name lang.Text
}{
	{dumpdir.Tensors, lang.Text{EN: "with tensors", ZH: "个张量文件"}}, {dumpdir.Table, lang.Text{EN: "with statistics", ZH: "个统计量文件"}},
	{dumpdir.Overflow, lang.Text{EN: "with overflow records", ZH: "个溢出记录文件"}}, {dumpdir.Product, lang.Text{EN: "converted from others", ZH: "个由其他文件转换"}},
	{dumpdir.Unknown, lang.Text{EN: "of unknown content", ZH: "个内容未知"}}, {dumpdir.Side, lang.Text{EN: "other", ZH: "个其他"}},
}

// filesText counts the files and bytes of a run.
func (p *printer) filesText(run *dumpdir.Run) string {
	counts, size := make(map[dumpdir.Role]int), int64(0)
	for _, f := range run.Files {
		counts[f.Role]++
		size += f.Size
	}
	var parts []string
	for _, k := range fileKinds {
		if n := counts[k.role]; n > 0 {
			parts = append(parts, p.say("%d %s", "%d %s", n, k.name))
		}
	}
	return p.say("%s; %d bytes", "%s；%d 字节", strings.Join(parts, ", "), size)
}

// problemsText lists the first problems of a run.
func (p *printer) problemsText(run *dumpdir.Run) []string {
	lines := firstOf(p.Text, pointers(run.Problems), shownProblems, func(q *dumpdir.Problem) string { return p.of(lang.Error(q)) })
	return append(lines, run.Warnings...)
}

// WriteOperators prints the operators of a run, a line each, in execution order.
func (t Text) WriteOperators(w io.Writer, ops *inspect.Operators) error {
	p := t.to(w)
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

// operatorColumns are those of an operator in all of its executions.
var operatorColumns = slices.Concat(
	[]Column[*inspect.Operator]{
		words("operator", func(o *inspect.Operator) string { return o.Name }),
		words("type", func(o *inspect.Operator) string { return o.Type }).optional().ranked(2),
		words("script", func(o *inspect.Operator) string { return o.Script }).given().optional(),
		numbers("times", func(o *inspect.Operator) int { return o.Times }).ranked(3),
		numbers("failed", func(o *inspect.Operator) int { return o.Failed }).given().optional().ranked(1),
		numbers("in", func(o *inspect.Operator) int { return o.Inputs }).ranked(10),
		numbers("out", func(o *inspect.Operator) int { return o.Outputs }).ranked(9),
	},
	of(func(o *inspect.Operator) (*inspect.Tensor, bool) { return o.First, o.First != nil },
		words("dtype", (*inspect.Tensor).TypeName).optional().ranked(5),
		words("format", formatText).optional().ranked(14),
		words("shape", func(t *inspect.Tensor) string { return shapeText(t.Shape) }).optional().ranked(4),
	),
	of(func(o *inspect.Operator) (*inspect.Stats, bool) { return o.Stats, o.Stats != nil },
		numbers("min", func(s *inspect.Stats) string { return numberText(s.Min) }).optional().ranked(8),
		numbers("max", func(s *inspect.Stats) string { return numberText(s.Max) }).optional().ranked(7),
		numbers("nan", func(s *inspect.Stats) int64 { return s.NaN }).optional().ranked(6),
		numbers("+inf", func(s *inspect.Stats) int64 { return s.PosInf }).optional().ranked(11),
		numbers("-inf", func(s *inspect.Stats) int64 { return s.NegInf }).optional().ranked(12),
	),
	[]Column[*inspect.Operator]{numbers("bytes", func(o *inspect.Operator) int64 { return o.Bytes }).ranked(13)},
)

// runSchema is that of a run as a document.
const runSchema = "dumptool/run/1"

// runDocument is what JSON says of a run.
type runDocument struct {
	Schema string `json:"schema"`
	// Run is the run as a whole, Rounds are its rounds.
	Run    runHead    `json:"run"`
	Rounds []runRound `json:"rounds"`
	// Ranks are the groups that communicate, absent where nothing does.
	Ranks *ranks.Survey `json:"ranks,omitempty"`
}

// runHead is what JSON says of a run as a whole.
type runHead struct {
	// Paths are those that were given, Producers those that wrote the folders.
	Paths     []string           `json:"paths"`
	Producers []dumpdir.Producer `json:"producers"`
	// Files counts the files.
	Files int `json:"files"`
	// Problems are what is wrong with the run, Warnings what is odd about it.
	Problems []dumpdir.Problem `json:"problems"`
	Warnings []string          `json:"warnings"`
}

// runRound is what JSON says of a round.
type runRound struct {
	dumpdir.Coordinates
	// Operators counts the operators.
	Operators int `json:"operators"`
	// Order says where the execution order comes from, Flow where who feeds whom does.
	Order dumpdir.Order `json:"order"`
	Flow  dumpdir.Flow  `json:"data_flow"`
}

// WriteRunJSON writes what a run is as a JSON object on a line of its own.
func WriteRunJSON(w io.Writer, run *dumpdir.Run) error {
	rounds := []runRound{}
	for _, r := range run.Rounds {
		rounds = append(rounds, runRound{r.At, len(r.Ops), r.Order, r.Flow})
	}
	return writeLine(w, runDocument{runSchema, runHead{list(run.Paths), list(run.Producers), len(run.Files), list(run.Problems), list(run.Warnings)}, rounds, ranks.NewSurvey(run.Rounds)})
}

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
	"dumptool/internal/opdebug"
	"dumptool/internal/ranks"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
	"dumptool/internal/ui"
)

// WriteInspected prints the contents of a file: its path, then the contents, indented. Tensors are
// one table, or two, the second with the statistics, if one is too wide for the terminal.
func (t Text) WriteInspected(w io.Writer, f *inspect.File) error {
	p := t.to(w)
	p.print(ui.Escape(f.Entry.Path()) + "\n")
	for _, line := range p.aboutFile(f) {
		p.print(textIndent + ui.Escape(line) + "\n")
	}
	p.sideText(f)
	p.inspected(inspectedRows(f))
	p.misfits(f)
	return p.err
}

// sideText prints the summary of a file without tensors.
func (p *printer) sideText(f *inspect.File) {
	if f.Side == nil {
		return
	}
	var counts []string
	for _, c := range f.Side.Counts {
		if c.N > 0 {
			counts = append(counts, p.Lang.Text(c.Text()))
		}
	}
	p.line(textIndent, p.Lang.Text(f.Side.What))
	if len(counts) > 0 {
		p.line(textIndent, p.join(counts...))
	}
}

// misfits lists the misfits of a file, or their number.
func (p *printer) misfits(f *inspect.File) {
	if f.MisfitCount == 0 {
		return
	}
	text := p.say("does not fit: %s", lang.CountText(f.MisfitCount, "place"))
	if len(f.Misfits) == 0 {
		p.line(textIndent, text+p.say(" (--verbose lists them)"))
		return
	}
	p.line(textIndent, text)
	for _, m := range f.Misfits {
		place := ""
		if m.Line != nil {
			place = p.say("line %d", *m.Line)
		} else if m.Offset != nil {
			place = p.say("byte %d", *m.Offset)
		}
		p.facts([]fact{{label: textIndent + textIndent + place, lines: []string{m.Found, p.say("want %s", m.Wanted)}}})
	}
	if rest := f.MisfitCount - len(f.Misfits); rest > 0 {
		p.line(textIndent, p.say("%d more", rest))
	}
}

// inspected prints the contents of a file.
func (p *printer) inspected(rows []inspected) {
	if len(rows) == 0 {
		return
	}
	whole := Table[inspected]{slices.Concat(inspectedColumns, statsColumns), rows}.Grid(p.Lang)
	if p.fits(whole) {
		p.grid(textIndent, whole, 0)
		return
	}
	p.table(textIndent, Table[inspected]{inspectedColumns, rows}.Grid(p.Lang))
	if rows = slices.DeleteFunc(rows, func(r inspected) bool { return r.tensor == nil || r.tensor.Stats == nil }); len(rows) > 0 {
		p.table(textIndent, Table[inspected]{slices.Concat(inspectedColumns[:2], statsColumns), rows}.Grid(p.Lang))
	}
}

// aboutFile describes a file as a whole.
func (t Text) aboutFile(f *inspect.File) []string {
	var lines []string
	if f.OriginalName != "" {
		lines = append(lines, t.say("originally %s", f.OriginalName))
	}
	switch {
	case f.OpType != "" && f.OpName != "":
		lines = append(lines, string(f.OpType+" "+f.OpName))
	case f.OpType+f.OpName != "":
		lines = append(lines, string(f.OpType+f.OpName))
	}
	if f.Script != "" {
		lines = append(lines, t.say("script %s", f.Script))
	}
	container := string(f.Container)
	if f.DumpTime != 0 {
		container = t.say("%s, dumped %s", container, dumpTime(uint64(f.DumpTime)))
	}
	if f.Side == nil {
		lines = append(lines, container)
	}
	if f.HasName {
		lines = append(lines, t.aboutName(f))
	}
	if n := len(f.Values); n > 0 {
		lines = append(lines, t.say("%s besides tensors (--json lists them)", lang.CountText(n, "value")))
	}
	if f.Sliced {
		lines = append(lines, t.say("slices of thread %d (FFTS+)", f.Name.ThreadID))
	}
	for i := range f.Outputs {
		if r := f.Outputs[i].Record; r != nil {
			lines = append(lines, t.aboutRecord(r)...)
		}
	}
	return lines
}

// stridesText formats the strides of a tensor that is not in C order.
func stridesText(t *inspect.Tensor) string {
	if len(t.Strides) != len(t.Shape) || t.Size == 0 {
		return ""
	}
	for i, n := range tensor.Shape(t.Shape).Strides() {
		if t.Shape[i] > 1 && t.Strides[i] != n {
			return shapeText(t.Strides)
		}
	}
	return ""
}

// deviceText returns the device of a tensor before it was saved, empty for the host.
func deviceText(t *inspect.Tensor) string {
	if t.Device == "cpu" {
		return ""
	}
	return t.Device
}

// aboutName describes the ids in the name of a file.
func (t Text) aboutName(f *inspect.File) string {
	n := f.Name
	text := fmt.Sprintf("task %d", n.TaskID)
	if n.HasStream {
		text += t.say(", stream %d", n.StreamID)
	}
	if n.HasCore {
		text += t.say(", core type %d, core %d", n.CoreType, n.CoreID)
	}
	if n.HasThread {
		text += t.say(", task type %d, context %d, thread %d", n.TaskType, n.ContextID, n.ThreadID)
	}
	if n.HasDevice {
		text += t.say(", device %d", n.DeviceID)
	}
	if n.Timestamp != uint64(f.DumpTime) {
		text += t.say(", timestamp %d", n.Timestamp)
	}
	return text
}

// dumpTime formats a time in microseconds, with UTC if it is a plausible date.
func dumpTime(micros uint64) string {
	if text := dateTime(micros); text != "" {
		return fmt.Sprintf("%s UTC (%d)", text, micros)
	}
	return strconv.FormatUint(micros, 10)
}

// aboutRecord summarises an overflow record, a line per unit.
func (t Text) aboutRecord(r *opdebug.Record) []string {
	title := t.say("overflow record: ")
	switch {
	case !r.Valid():
		return []string{title + t.say("not valid")}
	case r.Empty():
		return []string{title + t.say("report¦empty")}
	case !r.Overflowed():
		return []string{title + t.say("no overflow")}
	}
	var lines []string
	for _, area := range r.Overflows() {
		line := fmt.Sprintf("%s%s stream %d task %d status", title, area.Unit, area.StreamID, area.TaskID)
		for _, status := range area.Status {
			line += fmt.Sprintf(" %#x", status)
		}
		lines = append(lines, line)
	}
	return lines
}

// inspected is a tensor, a buffer or space, or a row of a table.
type inspected struct {
	op     string // for a row of a table
	name   string
	size   int64
	tensor *inspect.Tensor
	row    *inspect.Statistics // nil for tensors in the file
}

// inspectedRows lists the contents of a file in file order.
func inspectedRows(f *inspect.File) []inspected {
	var rows []inspected
	for _, t := range slices.Concat(pointers(f.Inputs), pointers(f.Outputs), pointers(f.Tensors)) {
		rows = append(rows, inspected{name: t.Label(), size: t.Size, tensor: t})
	}
	for _, b := range f.Buffers {
		rows = append(rows, inspected{name: blobName("L1 buffer", "buffer", b), size: b.Size})
	}
	for _, b := range f.Spaces {
		rows = append(rows, inspected{name: blobName("log space", "space", b), size: b.Size})
	}
	for _, s := range pointers(f.Statistics) {
		rows = append(rows, inspected{s.Op, s.Label(), s.Size, &s.Tensor, s})
	}
	return rows
}

// inspectedColumns describe a tensor, statsColumns its elements.
var (
	inspectedColumns = slices.Concat(
		[]Column[inspected]{
			words("operator", func(r inspected) string { return r.op }).titled("OPERATOR").optional(),
			words("tensor", func(r inspected) string { return r.name }).titled("TENSOR"),
		},
		of(func(r inspected) (*inspect.Tensor, bool) { return r.tensor, r.tensor != nil },
			words("dtype", (*inspect.Tensor).TypeName).titled("DTYPE"),
			words("format", formatText).titled("FORMAT"),
			words("shape", func(t *inspect.Tensor) string { return shapeText(t.Shape) }).titled("SHAPE"),
			words("slice", func(t *inspect.Tensor) string {
				if t.Slice == nil {
					return ""
				}
				return shapeText(t.Slice)
			}).titled("SLICE").optional(),
			words("original", originalText).titled("ORIGINAL").optional(),
			numbers("groups", func(t *inspect.Tensor) any {
				if t.Groups == nil || *t.Groups == 0 {
					return nil
				}
				return *t.Groups
			}).titled("GROUPS").optional(),
			numbers("c0", func(t *inspect.Tensor) int64 { return t.C0 }).given().optional(),
			words("strides", stridesText).titled("STRIDES").optional(),
			words("device", deviceText).titled("DEVICE").optional(),
		),
		[]Column[inspected]{numbers("bytes", func(r inspected) any {
			if r.row != nil && r.size == 0 { // a table row whose tensor is missing
				return nil
			}
			return r.size
		}).titled("BYTES").optional()},
	)
	statsColumns = slices.Concat(of(func(r inspected) (s *inspect.Stats, ok bool) {
		if r.tensor != nil {
			s = r.tensor.Stats
		}
		return s, s != nil
	},
		numbers("min", func(s *inspect.Stats) string { return numberText(s.Min) }).titled("MIN").optional(),
		numbers("max", func(s *inspect.Stats) string { return numberText(s.Max) }).titled("MAX").optional(),
		numbers("mean", func(s *inspect.Stats) string { return numberText(s.Mean) }).titled("MEAN").optional(),
		numbers("nan", func(s *inspect.Stats) *int64 { return s.NaN }).optional(),
		numbers("+inf", func(s *inspect.Stats) *int64 { return s.PosInf }).optional(),
		numbers("-inf", func(s *inspect.Stats) *int64 { return s.NegInf }).optional(),
	), of(func(r inspected) (*inspect.Statistics, bool) { return r.row, r.row != nil },
		numbers("norm", func(s *inspect.Statistics) any {
			if s.Norm == nil {
				return nil
			}
			return numeral(numberText(s.Norm))
		}).titled("NORM").optional(),
		words("digest", func(s *inspect.Statistics) string { return s.Digest }).titled("DIGEST").optional(),
	))
)

// blobName names a buffer or a space; type 0 has a special name.
func blobName(zero, other string, b inspect.Blob) string {
	if b.Type != 0 {
		zero = fmt.Sprintf("type %d %s", b.Type, other)
	}
	return fmt.Sprintf("%s %d", zero, b.Index)
}

// numberText formats a number that may be missing.
func numberText(x *tensor.Number) string { return wholeOrSix((*float64)(x)) }

// formatText returns the layout; files with named tensors have none.
func formatText(t *inspect.Tensor) string {
	if t.Format == nil {
		return tensor.ND.String()
	}
	return t.Format.String()
}

// shapeText formats a shape as -s of convert accepts it; - is no shape, () a scalar.
func shapeText[S ~[]int64](s S) string {
	switch {
	case s == nil:
		return "-"
	case len(s) == 0:
		return "()"
	}
	return tensor.Shape(s).Join(",")
}

// originalText formats the known original shape and format.
func originalText(t *inspect.Tensor) string {
	var parts []string
	if len(t.OriginalShape) > 0 {
		parts = append(parts, shapeText(t.OriginalShape))
	}
	if t.OriginalFormat != nil {
		parts = append(parts, t.OriginalFormat.String())
	}
	return strings.Join(parts, " ")
}

// shownLines limits the lines about a run, shownTypes the element types.
const (
	shownLines = 20
	shownTypes = 6
)

// shownFacts limits the listed facts about a run by kind.
type shownFacts struct{ problems, sources, configurations int }

// WriteOverview prints a summary of a run: its producer, rounds, the source of the operators'
// order, problems, and sensible commands. If that is too long, each fact and each command gets one
// line.
func (t Text) WriteOverview(w io.Writer, o *inspect.Overview) error {
	p := t.to(w)
	paths := firstOf(p.Text, o.Of.Paths, 2, ui.Escape)
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
	p.blank()
	for _, c := range o.Next {
		p.print(fmt.Sprintf(command, c.Line, p.of(c.Why)))
	}
	return p.err
}

// overviewFacts returns the facts about a run.
func (p *printer) overviewFacts(o *inspect.Overview, shown shownFacts) (facts factList) {
	run := o.Of
	if len(run.Rounds) > 0 || len(run.Records) > 0 {
		facts.add(p.say("Written by"), p.producersText(o))
	}
	facts.add(p.say("Ranks"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Rank }))
	facts.add(p.say("Steps"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Step }))
	facts.add(p.say("Graphs"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Graph }))
	facts.add(p.say("Models"), valuesText(run, func(at *dumpdir.Coordinates) string { return at.Model }))
	if len(run.Rounds) > 0 {
		facts.add(p.say("Operators"), p.operatorsText(run))
		facts.add(p.say("Order"), p.sourcesText(run, shown.sources, func(r *dumpdir.Round) lang.Sentence { return r.Order.Source })...)
		facts.add(p.say("Data flow"), p.sourcesText(run, shown.sources, func(r *dumpdir.Round) lang.Sentence {
			if r.Flow.Source.IsZero() {
				return lang.Say("not known")
			}
			return r.Flow.Source
		})...)
	}
	facts.add(p.say("Types"), p.typesText(o))
	if s := o.Ranks; s != nil {
		facts.add(p.say("Groups"), p.groupsText(s)...)
		facts.add(p.say("Calls"), p.callsText(s))
	}
	facts.add(p.say("Files"), p.filesText(run))
	if o.Run.Reference != "" && len(run.Paths) == 1 {
		reference, npu := o.Run.Reference, o.Run.NPU
		if o.Run.Stems != nil {
			reference, npu = o.Run.Stems[0], o.Run.Stems[1]
		}
		facts.add(p.say("Sides"), p.say("reference %s, NPU %s", ui.Escape(reference), ui.Escape(npu)))
	}
	facts.add(p.say("Configuration"), p.configurationsText(o, shown.configurations)...)
	facts.add(p.say("Problems"), p.problemsText(run, shown.problems)...)
	return facts
}

// typesText lists the element types.
func (p *printer) typesText(o *inspect.Overview) string {
	names := firstOf(p.Text, o.Run.Types, shownTypes, func(t inspect.TypeCount) string { return t.Type })
	text, files := strings.Join(names, ", "), 0
	for _, f := range o.Of.Files {
		if f.Role == dumpdir.Tensors {
			files++
		}
	}
	if text != "" && o.Run.Headers < files {
		text += p.say(" (by %d of %d headers)", o.Run.Headers, files)
	}
	return text
}

// configurationsText lists the configurations.
func (p *printer) configurationsText(o *inspect.Overview, most int) []string {
	return firstOf(p.Text, pointers(o.Run.Configurations), most, func(c *inspect.Configuration) string {
		if c.Errors+c.Warnings == 0 {
			return p.say("%s: no mistakes found", ui.Escape(c.Path))
		}
		return p.say("%s: %s, %s", ui.Escape(c.Path), lang.CountText(c.Errors, "error"), lang.CountText(c.Warnings, "warning"))
	})
}

// producersText lists the producers.
func (p *printer) producersText(o *inspect.Overview) string {
	var names []string
	for _, one := range o.Run.Producers {
		if one == dumpdir.Arrays {
			names = append(names, p.say("no known producer"))
			continue
		}
		name := producerNames[one]
		if one == dumpdir.MSProbe && len(o.Run.Frameworks) > 0 {
			name += " (" + ui.Escape(strings.Join(o.Run.Frameworks, ", ")) + ")"
		}
		names = append(names, name)
	}
	return cmp.Or(strings.Join(names, ", "), p.say("nobody known"))
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
		return p.say("none")
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
		return p.say("%d in each of %d rounds", most, len(run.Rounds))
	}
	return p.say("%d to %d in %d rounds", least, most, len(run.Rounds))
}

// sourcesText lists the sources of rounds, with numbers of rounds if they differ.
func (p *printer) sourcesText(run *dumpdir.Run, most int, of func(*dumpdir.Round) lang.Sentence) []string {
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
	return firstOf(p.Text, all, most, func(source string) string { return source })
}

// shownGroups is the number of groups up to which each is listed.
const shownGroups = 8

// groupsText describes the groups that communicate, and their missing members.
func (p *printer) groupsText(s *ranks.Survey) []string {
	if len(s.Groups) == 0 {
		return []string{p.say("not named by the dump")}
	}
	text := p.say("%s, from %s", ranks.AxesText(s.Axes), s.Groups[0].Source)
	if len(s.Groups) <= shownGroups {
		var all []string
		for _, g := range s.Groups {
			all = append(all, trace.Ranges(g.Ranks))
		}
		text += ": " + strings.Join(all, " | ")
	}
	lines := []string{text}
	if len(s.Missing) > 0 {
		lines = append(lines, p.say("%s of these groups are not here", trace.RankText(s.Missing)))
	}
	return lines
}

// callsText lists the numbers of communications.
func (p *printer) callsText(s *ranks.Survey) string {
	var parts []string
	for _, c := range s.Calls {
		parts = append(parts, fmt.Sprintf("%s %d", c.API, c.Count))
	}
	return strings.Join(parts, ", ")
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
			parts = append(parts, p.say("%d %s", n, k.name))
		}
	}
	return p.say("%s; %d bytes", strings.Join(parts, ", "), size)
}

// problemsText lists the first problems of a run.
func (p *printer) problemsText(run *dumpdir.Run, most int) []string {
	lines := firstOf(p.Text, pointers(run.Problems), most, func(q *dumpdir.Problem) string { return p.of(lang.Error(q)) })
	return append(lines, firstOf(p.Text, run.Warnings, most, func(s lang.Sentence) string { return ui.Escape(p.of(s)) })...)
}

// WriteOperators prints the operators of a run in execution order, one per line.
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

// operatorColumns are the columns of an operator over all of its executions.
var operatorColumns = slices.Concat(
	[]Column[*inspect.Operator]{
		words("operator", func(o *inspect.Operator) string { return o.Name }).titled("OPERATOR"),
		words("type", func(o *inspect.Operator) string { return o.Type }).titled("TYPE").optional().ranked(2),
		words("script", func(o *inspect.Operator) string { return o.Script }).titled("SCRIPT").given().optional(),
		numbers("times", func(o *inspect.Operator) int { return o.Times }).titled("TIMES").ranked(3),
		numbers("failed", func(o *inspect.Operator) int { return o.Failed }).titled("FAILED").given().optional().ranked(1),
		numbers("in", func(o *inspect.Operator) int { return o.Inputs }).titled("IN").ranked(10),
		numbers("out", func(o *inspect.Operator) int { return o.Outputs }).titled("OUT").ranked(9),
	},
	of(func(o *inspect.Operator) (*inspect.Tensor, bool) { return o.First, o.First != nil },
		words("dtype", (*inspect.Tensor).TypeName).titled("DTYPE").optional().ranked(5),
		words("format", formatText).titled("FORMAT").optional().ranked(14),
		words("shape", func(t *inspect.Tensor) string { return shapeText(t.Shape) }).titled("SHAPE").optional().ranked(4),
	),
	of(func(o *inspect.Operator) (*inspect.Stats, bool) { return o.Stats, o.Stats != nil },
		numbers("min", func(s *inspect.Stats) string { return numberText(s.Min) }).titled("MIN").optional().ranked(8),
		numbers("max", func(s *inspect.Stats) string { return numberText(s.Max) }).titled("MAX").optional().ranked(7),
		numbers("nan", func(s *inspect.Stats) *int64 { return s.NaN }).optional().ranked(6),
		numbers("+inf", func(s *inspect.Stats) *int64 { return s.PosInf }).optional().ranked(11),
		numbers("-inf", func(s *inspect.Stats) *int64 { return s.NegInf }).optional().ranked(12),
	),
	[]Column[*inspect.Operator]{numbers("bytes", func(o *inspect.Operator) int64 { return o.Bytes }).titled("BYTES").ranked(13)},
)

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"dumptool/internal/overflow"
	"dumptool/internal/statusreg"
	"dumptool/internal/ui"
)

// Text says how reports are printed for people.
type Text struct {
	Lang Lang
	// Width is the number of columns of the terminal, 0 to break nothing.
	Width int
}

// say returns one of two texts that are no data.
func (t Text) say(en, zh string) string { return t.Lang.Text(statusreg.Text{EN: en, ZH: zh}) }

// WriteAnalysis prints the records by device; the first of each device leads
// and is marked. Without a record it prints what usually explains that.
func (t Text) WriteAnalysis(w io.Writer, r *overflow.Report) error {
	p := &printer{w: w, Text: t}
	p.summary(r)
	for i := range r.Records {
		if len(r.Records) > 1 {
			p.blank()
		}
		p.record(&r.Records[i], i, isFirst(r, i))
	}
	if n := r.Total - len(r.Records); n > 0 {
		p.blank()
		p.line("", t.say(fmt.Sprintf("%d more not shown (-n all shows all)", n), fmt.Sprintf("另有 %d 条记录未显示(-n all 显示全部)", n)))
	}
	p.problems(r.Problems)
	return p.err
}

// WriteScan prints the rows by device and time, the first bad one of each device
// marked.
func (t Text) WriteScan(w io.Writer, r *overflow.ScanReport) error {
	p := &printer{w: w, Text: t}
	for i := range r.Rows {
		if i > 0 {
			p.blank()
		}
		p.row(&r.Rows[i])
	}
	p.problems(r.Problems)
	return p.err
}

// printer writes lines and keeps the first error.
type printer struct {
	Text
	w       io.Writer
	started bool
	err     error
}

// line writes text with indent in front, broken at the width of the terminal.
func (p *printer) line(indent, text string) {
	width := 0
	if p.Width > 0 {
		width = max(2*len(textIndent)+1, p.Width-len(indent))
	}
	for i, part := range wrap(ui.Escape(text), width, width-len(textIndent)) {
		if i > 0 {
			part = textIndent + part
		}
		p.print(strings.TrimRight(indent+part, " ") + "\n")
	}
}

// textIndent is in front of what belongs to the line above.
const textIndent = "  "

// labeled writes a line with a label in front.
func (p *printer) labeled(en, zh, text string) {
	p.line(textIndent, p.say(en+": ", zh+"：")+text)
}

// path writes a line with a label and a path, which is broken behind a
// separator where the terminal is too narrow.
func (p *printer) path(en, zh, path string) {
	label := p.say(en+": ", zh+"：")
	path = ui.Escape(path)
	if p.fits(textIndent + label + path) {
		p.print(textIndent + label + path + "\n")
		return
	}
	p.print(textIndent + strings.TrimRight(label, " ") + "\n")
	indent := textIndent + textIndent
	for _, part := range breakPath(path, max(1, p.Width-len(indent))) {
		p.print(indent + part + "\n")
	}
}

// breakPath breaks a path into parts of at most width columns: behind a folder,
// else a part of a name, else anywhere.
func breakPath(path string, width int) []string {
	var parts []string
	for metric.StringWidth(path) > width {
		used, end := 0, 0
		for i, c := range path {
			size := metric.RuneWidth(c)
			if used+size > width && i > 0 {
				break
			}
			used, end = used+size, i+utf8.RuneLen(c)
		}
		for _, separators := range []string{"/", "._-"} {
			if cut := strings.LastIndexAny(path[:end], separators) + 1; cut > end/2 {
				end = cut
				break
			}
		}
		parts, path = append(parts, path[:end]), path[end:]
	}
	if path != "" {
		parts = append(parts, path)
	}
	return parts
}

// blank writes an empty line between two parts.
func (p *printer) blank() {
	if p.started {
		p.print("\n")
	}
}

func (p *printer) print(text string) {
	p.started = true
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

// join joins the parts of an enumeration that are not empty.
func (p *printer) join(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, p.say(", ", "，"))
}

// verdictText is a verdict in Chinese.
var verdictText = map[overflow.Verdict]string{
	overflow.ProducedHere:    "本算子产生",
	overflow.CameIn:          "输入已异常",
	overflow.ProcessOverflow: "计算过程溢出",
	overflow.CannotTell:      "无法判断",
}

func (p *printer) verdict(v overflow.Verdict) string { return p.say(string(v), verdictText[v]) }

// summary names the first record of each device, or says that there is none.
func (p *printer) summary(r *overflow.Report) {
	switch {
	case r.Total == 0 && r.Dumps == 0 && r.Unreadable() == len(r.Problems):
		// nothing could be looked at: the problems say it all
	case r.Total == 0:
		p.line("", p.say(fmt.Sprintf("No overflow recorded; operator dumps found: %d. What usually explains that:", r.Dumps),
			fmt.Sprintf("未发现溢出记录；算子 dump 数：%d。常见原因：", r.Dumps)))
		for _, t := range overflow.NothingFound {
			p.line(textIndent, "- "+p.Lang.Text(t))
		}
	case len(r.Records) > 1:
		p.line("", p.say(fmt.Sprintf("%d overflow records; the first of each device:", r.Total),
			fmt.Sprintf("共 %d 条溢出记录；各设备的首个：", r.Total)))
		for i := range r.Records {
			if record := &r.Records[i]; isFirst(r, i) {
				p.line(textIndent, p.head(i, p.where(record.Place, false), p.op(record))+p.say(" - ", "，")+p.verdict(record.Verdict))
			}
		}
	}
}

// head is a number, and where and what it is the number of.
func (p *printer) head(i int, where, what string) string {
	text := fmt.Sprintf("#%d ", i+1)
	if where != "" {
		text += where + p.say(": ", "：")
	}
	return text + what
}

// where says which device and step a file belongs to, and whether it is the
// first of the device.
func (p *printer) where(at overflow.Place, first bool) string {
	device, step := "", ""
	switch {
	case at.Device == "" && first:
		device = p.say("FIRST", "首个")
	case at.Device != "" && first:
		device = fmt.Sprintf(p.say("FIRST of device %s", "设备 %s 首个"), at.Device)
	case at.Device != "":
		device = p.say("device ", "设备 ") + at.Device
	}
	if at.Step != "" {
		step = p.say("step ", "步骤 ") + at.Step
	}
	return p.join(device, step)
}

// op names the operator of a record.
func (p *printer) op(r *overflow.Record) string {
	if r.Op == nil {
		return p.say("operator not found", "未找到算子")
	}
	name := opText(r.Op.Type, r.Op.Name)
	if r.Op.MatchedBy.Guess() {
		name += p.say(" (a guess)", " (推测)")
	}
	return name
}

// time prints microseconds since 1970.
func (p *printer) time(micros uint64) string {
	if text := timeText(micros); text != "" {
		return text + " UTC"
	}
	return ""
}

// record prints one record and what was found out about it.
func (p *printer) record(r *overflow.Record, i int, first bool) {
	p.line("", p.head(i, p.where(r.Place, first), p.op(r)))
	p.labeled("verdict", "结论", p.conclusion(r))
	p.line(textIndent, p.ids(r))
	p.causes(r)
	if at := p.origin(r); at != "" {
		p.line(textIndent, at)
	}
	p.path("record", "记录", r.File)
	if r.Op != nil {
		p.path("dump", "dump", r.Op.File)
		p.labeled("matched by", "匹配依据", p.rule(r.Op.MatchedBy))
	}
	p.tensors(r.Tensors)
	for _, t := range r.Advice {
		p.labeled("advice", "建议", p.Lang.Text(t))
	}
	for _, w := range r.Warnings {
		p.labeled("warning", "警告", w)
	}
}

// causes prints what the status words mean.
func (p *printer) causes(r *overflow.Record) {
	status := StatusText{Lang: p.Lang}
	var keys, meanings []string
	width, later := 0, false
	for i := range r.Status {
		word := &r.Status[i]
		entries := entriesOf(word)
		for j := range entries {
			key := shortMask(&entries[j])
			if entries[j].IsCode {
				key = status.bit(&entries[j])
			}
			if len(r.Status) > 1 {
				key = fmt.Sprintf(p.say("word %d  ", "字 %d  "), i) + key
			}
			keys, meanings = append(keys, key), append(meanings, status.meaning(word.Register, &entries[j]))
			width = max(width, metric.StringWidth(key))
			later = later || i > 0
		}
	}
	for i := range keys {
		p.line(textIndent+textIndent, pad(keys[i], width+columnGap)+meanings[i])
	}
	if later {
		p.line(textIndent+textIndent, p.say("(words 1 to 3 are not documented: their bits are read like those of word 0)",
			"(字 1 至 3 的含义未公开，暂按字 0 解读)"))
	}
}

// conclusion is the verdict and, in English, what it rests on.
func (p *printer) conclusion(r *overflow.Record) string {
	if r.Why.EN == "" {
		return p.verdict(r.Verdict)
	}
	return p.verdict(r.Verdict) + p.say(" - ", "，") + p.Lang.Text(r.Why)
}

// ids prints what names the task of a record, and its status.
func (p *printer) ids(r *overflow.Record) string {
	thread := ""
	if context, t, ok := r.Area.Context(); ok {
		thread = p.join(fmt.Sprintf("%s %d", p.say("context", "上下文"), context), fmt.Sprintf("%s %d", p.say("thread", "线程"), t))
	}
	status := statusText(r)
	if status == "" {
		status = p.say("lost", "丢失")
	}
	return r.Area.Unit.String() + p.say(": ", "：") + p.join(
		fmt.Sprintf("%s %d", p.say("task", "任务"), r.Area.TaskID),
		fmt.Sprintf("%s %d", p.say("stream", "流"), r.Area.StreamID),
		thread, p.say("status ", "状态 ")+status)
}

// origin prints when and where the overflow happened: the model, core, block
// and program counter, as far as the record tells.
func (p *printer) origin(r *overflow.Record) string {
	named := func(en, zh, value string) string {
		if value == "" {
			return ""
		}
		return p.say(en, zh) + " " + value
	}
	return p.join(
		p.time(r.Timestamp),
		named("model", "模型", r.Place.Model),
		named("core", "核", fieldText(r, coreFields, "%d")),
		named("block", "块", fieldText(r, blockFields, "%d")),
		named("pc", "pc", fieldText(r, pcFields, "0x%x")))
}

// ruleText is a rule in Chinese.
var ruleText = map[overflow.Rule]string{
	overflow.ByPayload:   "记录中的 id",
	overflow.ByModulo:    "记录中的 id，任务 id 取低 16 位",
	overflow.ByFileName:  "文件名中的 id",
	overflow.ByTimestamp: "时间最接近",
}

// rule says by which rule an operator was found.
func (p *printer) rule(r overflow.Rule) string {
	base, elsewhere := strings.CutSuffix(string(r), overflow.OtherFolder)
	zh := ruleText[overflow.Rule(base)]
	if elsewhere {
		zh += "，位于其他目录"
	}
	return p.say(string(r), zh)
}

// row prints one scanned file.
func (p *printer) row(r *overflow.Scanned) {
	where := p.join(p.where(r.Place, r.First), p.time(r.Timestamp))
	what := opText(r.OpType, r.OpName)
	if where != "" && what != "" {
		where += p.say(": ", "：")
	}
	if head := where + what; head != "" {
		p.line("", head)
	}
	p.path("file", "文件", r.File)
	if r.Verdict != "" {
		p.labeled("verdict", "结论", p.verdict(r.Verdict))
	}
	p.tensors(r.Tensors)
}

// problems lists the records that tell of nothing, then the files that could
// not be read.
func (p *printer) problems(problems []overflow.Problem) {
	p.problemList(p.say("Records without an overflow:", "无溢出的记录："), problems, true)
	p.problemList(p.say("Could not be read:", "无法读取："), problems, false)
}

// problemList lists the problems of one kind.
func (p *printer) problemList(title string, problems []overflow.Problem, empty bool) {
	for _, problem := range problems {
		if problem.Empty != empty {
			continue
		}
		if title != "" {
			p.blank()
			p.line("", title)
			title = ""
		}
		p.line(textIndent, problem.File+": "+problem.Err.Error())
	}
}

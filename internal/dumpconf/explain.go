package dumpconf

import (
	"fmt"
	"strings"
)

// Explanation says in plain words what a configuration does.
type Explanation struct {
	Schema   Schema
	Active   bool      // something will be dumped
	Sections []Section // those that have lines, in a fixed order
	// Patterns are the paths of the files. What stands in braces is known
	// only when they are written.
	Patterns []string
	// Commands are what reads the files.
	Commands []string
}

// Section is lines about one topic.
type Section struct {
	Name  string // what, which, where, format, ignored, environment, read or care
	Title Text
	Lines []Text
}

// sectionTitles are all sections, in order.
var sectionTitles = []Section{
	{Name: "what", Title: Text{EN: "What is dumped", ZH: "dump 什么"}},
	{Name: "which", Title: Text{EN: "Of what", ZH: "dump 范围"}},
	{Name: "where", Title: Text{EN: "Where", ZH: "输出位置"}},
	{Name: "format", Title: Text{EN: "As what", ZH: "文件格式"}},
	{Name: "ignored", Title: Text{EN: "What does not count", ZH: "不生效的配置"}},
	{Name: "environment", Title: Text{EN: "Environment", ZH: "环境与调用"}},
	{Name: "read", Title: Text{EN: "How to read it", ZH: "如何解析"}},
	{Name: "care", Title: Text{EN: "Worth knowing", ZH: "注意事项"}},
}

// Explain explains a configuration that was checked. The options are those of
// the check: the target version chooses among layouts and ignores newer keys, and variables that are
// set in the environment are taken into account. A file with errors is
// explained as it is meant.
func Explain(r *Report, opt Options) *Explanation {
	e := &explaining{r: r.asRead(opt.TargetVersion), opt: &opt, out: &Explanation{Schema: r.Schema}, lines: make(map[string][]Text)}
	e.errors()
	switch {
	case r.ACL != nil:
		e.acl(e.r.ACL)
	case r.MindSpore != nil:
		e.mindSpore(e.r.MindSpore)
	case r.Engine != nil:
		e.engine(r.Engine)
	case r.Schema == SchemaMsprobe:
		e.say("what", both("this is a configuration of msprobe, not of the runtime; msprobe reads it itself",
			"这是 msprobe 的配置文件，由 msprobe 自身读取，不是运行时的 dump 配置"))
	default:
		e.say("what", both("this is no dump configuration that could be read", "无法识别为 dump 配置"))
	}
	e.ignored()
	var paths []Text
	for _, p := range e.out.Patterns {
		paths = append(paths, Text{EN: p, ZH: p})
	}
	e.lines["where"] = append(paths, e.lines["where"]...)
	for _, s := range sectionTitles {
		if s.Lines = e.lines[s.Name]; len(s.Lines) > 0 {
			e.out.Sections = append(e.out.Sections, s)
		}
	}
	return e.out
}

// explaining is the explaining of one configuration.
type explaining struct {
	r     *Report
	opt   *Options
	out   *Explanation
	lines map[string][]Text
}

// say adds a line to a section.
func (e *explaining) say(section string, t Text) {
	e.lines[section] = append(e.lines[section], t)
}

// active adds a line on what is dumped.
func (e *explaining) active(t Text) {
	e.out.Active = true
	e.say("what", t)
}

// files adds a pattern of paths.
func (e *explaining) files(parts ...string) {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 && !strings.HasSuffix(b.String(), "/") {
			b.WriteByte('/')
		}
		b.WriteString(printable(p))
	}
	e.out.Patterns = append(e.out.Patterns, b.String())
}

// run adds a command with what it is good for. A %s in the command is the
// folder.
func (e *explaining) run(folder, command string, why Text) {
	line := strings.ReplaceAll(command, "%s", e.word(folder))
	e.out.Commands = append(e.out.Commands, line)
	e.say("read", both("%s - %s", "%s - %s", line, why))
}

// word is a folder as a shell reads it; a variable stays one.
func (e *explaining) word(folder string) string {
	if folder == diagnosticFolder {
		return `"` + folder + `"`
	}
	return shellWord(folder)
}

// errors tells that the runtime does not take the file.
func (e *explaining) errors() {
	count := e.r.Count(Error)
	if count == 0 || e.r.Schema == SchemaMsprobe {
		return
	}
	first := e.r.RuntimeError()
	for i := range e.r.Findings {
		if f := &e.r.Findings[i]; first == nil && f.Severity == Error {
			first = f
		}
	}
	code := ""
	if first.Code != "" {
		code = " (" + first.Code + ")"
	}
	at := fmt.Sprintf("%d:%d", first.Line, first.Column)
	e.say("what", both("the file has errors (%d) and is refused as it is, first at %s%s: %s; what follows is what it is meant to do",
		"文件有 %d 个错误，运行时会拒绝，首个错误位于 %s%s：%s；以下按其本意说明", count, at, code, first.Message))
}

// shown is how many names a line lists.
const shown = 10

// names lists what was given, shortened.
func names(values []string) Text {
	out := make([]string, 0, shown)
	for _, v := range values[:min(len(values), shown)] {
		out = append(out, shorten(printable(v)))
	}
	joined := list(out)
	if n := len(values) - shown; n > 0 {
		return both("%s and %d more", "%s 等(另有 %d 个)", joined, n)
	}
	return Text{EN: joined, ZH: joined}
}

// valuesOf returns the values of settings that have the right type.
func valuesOf(settings []Setting[string]) []string {
	var out []string
	for _, s := range settings {
		if s.OK {
			out = append(out, s.Value)
		}
	}
	return out
}

// steps says which steps are dumped; nothing chosen means all.
func (e *explaining) steps(written string, chosen []Step) {
	if written == "" || chosen == nil {
		e.say("which", both("every step", "所有迭代"))
		return
	}
	valid := validSteps(chosen)
	if len(valid) == 0 {
		e.say("which", both("no step: %s matches nothing", "没有迭代：%s 不匹配任何迭代", quoted(written)))
		return
	}
	e.say("which", both("steps %s, counted from 0", "迭代 %s (从 0 开始计数)", names(valid)))
}

// validSteps returns the pieces of a list that can be used.
func validSteps(all []Step) []string {
	var out []string
	for _, s := range all {
		if s.Valid() {
			out = append(out, s.Text)
		}
	}
	return out
}

// sides names inputs and outputs.
func sides(mode string) Text {
	switch mode {
	case "input":
		return Text{EN: "inputs", ZH: "输入"}
	case "all":
		return Text{EN: "inputs and outputs", ZH: "输入和输出"}
	default:
		return Text{EN: "outputs", ZH: "输出"}
	}
}

// fileSafe is a name as the runtime writes it in paths.
func fileSafe(name string) string {
	return printable(strings.NewReplacer(".", "_", "/", "_", `\`, "_", " ", "_").Replace(name))
}

// variable returns what an environment variable holds, when that is known.
func (e *explaining) variable(name string) (string, bool) { return e.opt.env(name) }

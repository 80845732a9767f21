package dumpconf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/lists"
)

// Explanation describes a configuration in words.
type Explanation struct {
	Schema   Schema
	Active   bool      // the configuration dumps something
	Sections []Section // non-empty sections in a fixed order
	// Patterns lists the paths of the files. Parts in braces are known only at run time.
	Patterns []string
	// Commands lists commands that read the files.
	Commands []string

	// readText says what the dump makes possible; empty for dumps of failures.
	readText Text
}

// Section is a list of lines about one topic.
type Section struct {
	Name  string // what, which, where, format, ignored, environment, read or care
	Title Text
	Lines []Text
}

// sectionNames lists all sections in order.
var sectionNames = []string{"what", "which", "where", "format", "ignored", "environment", "read", "care"}

// Explain explains a checked configuration. opt are the options of the check: the target version
// selects layouts and drops newer keys, and set environment variables are considered. A file with
// errors is explained as intended.
func Explain(r *Report, opt Options) *Explanation {
	e := &explainer{r: r.withoutNewerKeys(opt.TargetVersion), opt: &opt, out: &Explanation{Schema: r.Schema}, lines: make(map[string][]Text)}
	e.addErrors()
	switch {
	case r.ACL != nil:
		e.describeACL(e.r.ACL)
	case r.MindSpore != nil:
		e.describeMindSpore(e.r.MindSpore)
	case r.Engine != nil:
		e.describeEngine(r.Engine)
	case r.msprobe != nil:
		e.describeMsprobe(r.msprobe)
	default:
		e.addText("what.unreadable")
	}
	e.describeIgnored()
	paths := lists.Map(e.out.Patterns, func(p string) Text { return Text{EN: p, ZH: p} })
	e.lines["where"] = append(paths, e.lines["where"]...)
	for _, name := range sectionNames {
		if lines := e.lines[name]; len(lines) > 0 {
			e.out.Sections = append(e.out.Sections, Section{name, text("title." + name), lines})
		}
	}
	return e.out
}

// explainer explains one configuration.
type explainer struct {
	r     *Report
	opt   *Options
	out   *Explanation
	lines map[string][]Text
}

// addText adds the text of a key; the section is the part of the key before the first dot.
func (e *explainer) addText(key string, args ...any) {
	section, _, _ := strings.Cut(key, ".")
	e.addLine(section, text(key, args...))
}

// addTextIf calls addText if the condition holds.
func (e *explainer) addTextIf(condition bool, key string, args ...any) {
	if condition {
		e.addText(key, args...)
	}
}

func (e *explainer) addLine(section string, line Text) {
	e.lines[section] = append(e.lines[section], line)
}

// addActive adds the text of a dump that is switched on.
func (e *explainer) addActive(key string, args ...any) {
	e.out.Active = true
	e.addText(key, args...)
}

// addPattern adds a path pattern.
func (e *explainer) addPattern(parts ...string) {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 && !strings.HasSuffix(b.String(), "/") {
			b.WriteByte('/')
		}
		b.WriteString(printable(p))
	}
	e.out.Patterns = append(e.out.Patterns, b.String())
}

// addCommand adds a command and its purpose. %s in the command is replaced by the folder, whose shell
// variables stay unexpanded.
func (e *explainer) addCommand(folder, command, why string) {
	words := strings.Fields(command)
	words[slices.Index(words, "%s")] = lang.PathArgument(folder)
	line := lang.ShellLine(words)
	if folder == diagnosticFolder {
		line = strings.Replace(line, lang.ShellWord(folder), `"`+folder+`"`, 1)
	}
	e.out.Commands = append(e.out.Commands, line)
	e.addText("read.command", line, text(why))
}

// addCheck adds the command dumptool check. If any text of lacking is not empty, check cannot run:
// addCheck names these missing settings instead.
func (e *explainer) addCheck(folder string, lacking ...string) {
	lacking = slices.DeleteFunc(lacking, func(s string) bool { return s == "" })
	if len(lacking) > 0 {
		e.addText("read.compare-only", joinValues(lacking))
	} else {
		e.addCommand(folder, "dumptool check %s", "why.check")
	}
	e.out.readText = e.lines["read"][len(e.lines["read"])-1]
}

// missingName returns the name of a missing setting, empty if ok.
func missingName(ok bool, setting string) string {
	if ok {
		return ""
	}
	return setting
}

// addErrors adds the errors for which the runtime refuses the file.
func (e *explainer) addErrors() {
	count := e.r.Count(Error)
	if count == 0 {
		return
	}
	first := e.r.FirstError()
	code := ""
	if first.Code != "" {
		code = " (" + first.Code + ")"
	}
	at := fmt.Sprintf("%d:%d", first.Line, first.Column)
	e.addText("what.refused", count, at, code, first.Message)
}

// maxNames is the number of names that a line lists.
const maxNames = 10

// shortenedNames lists values, shortened.
func shortenedNames(values []string) Text {
	out := lists.Map(firstN(maxNames, values), func(v string) string { return shorten(printable(v)) })
	joined := joinValues(out)
	if n := len(values) - maxNames; n > 0 {
		return text("word.and-more", joined, n)
	}
	return Text{EN: joined, ZH: joined}
}

// firstN returns the first n of values.
func firstN[T any](n int, values []T) []T { return values[:min(len(values), n)] }

// describeSteps describes the dumped steps; nil for all.
func (e *explainer) describeSteps(stepsText string, chosen []lang.Step) {
	switch valid := validSteps(chosen); {
	case stepsText == "" || chosen == nil:
		e.addText("which.every-step")
	case len(valid) == 0:
		e.addText("which.no-step", quoteJSON(stepsText))
	default:
		e.addText("which.steps", shortenedNames(valid))
	}
}

// validSteps returns the valid pieces of a list.
func validSteps(all []lang.Step) []string {
	var out []string
	for _, s := range all {
		if s.Valid() {
			out = append(out, s.Text)
		}
	}
	return out
}

// describeSides returns the words for inputs, outputs or both.
func describeSides(mode string) Text {
	if mode != "input" && mode != "all" {
		mode = "output"
	}
	return text("word.sides-" + mode)
}

// pathName returns a name as the runtime writes it in paths.
func pathName(name string) string {
	return printable(strings.NewReplacer(".", "_", "/", "_", `\`, "_", " ", "_").Replace(name))
}

// newerRule is the rule about keys newer than the target version.
const newerRule = "ACL091"

// newerKeys returns the findings about keys that the target version ignores.
func (r *Report) newerKeys() []Finding {
	return r.findings(func(f *Finding) bool { return f.Rule == newerRule })
}

// withoutNewerKeys returns the report with the settings as the target version reads them: without newer keys.
func (r *Report) withoutNewerKeys(target Version) *Report {
	out, d := *r, &decoder{target: target}
	switch {
	case target.IsNewest():
	case r.ACL != nil:
		out.ACL = readACL(d, r.Doc.Root)
	case r.MindSpore != nil:
		out.MindSpore = readMindSpore(d, r.Doc.Root)
		if target.IsBefore(sinceMS12) {
			out.MindSpore.debug = out.MindSpore.Async.setting("op_debug_mode")
		}
	}
	return &out
}

// addIgnored adds an ignored setting that no rule reports, if the condition holds.
func (e *explainer) addIgnored(condition bool, s Setting, why Text) {
	if condition {
		line, _ := e.r.Doc.Position(s.keySpan().start)
		e.addLine("ignored", text("word.setting", s.Path, line, why))
	}
}

// describeIgnored lists settings without effect, and cautions.
func (e *explainer) describeIgnored() {
	count := 0
	seen := make(map[string]bool)
	for i := range e.r.Findings {
		f := &e.r.Findings[i]
		section, reason := "ignored", f.rule.ignored
		switch {
		case f.Severity == Error, f.rule.condition != nil && !f.rule.condition(e.r.ACL):
			continue
		case !f.Ignored.IsZero():
			reason = ruleOf("ACL052").ignored
			if e.r.ACL != nil && e.r.ACL.dumpsFailures() {
				reason = ruleOf("ACL041").ignored
			}
		case f.Severity != Warning || reason == Text{}:
			section, reason = "care", f.rule.caution
		}
		where := shorten(printable(f.Path))
		if reason == (Text{}) || seen[where+reason.String()] {
			continue
		}
		seen[where+reason.String()] = true
		if count++; count > 5*maxNames {
			continue
		}
		e.addLine(section, text("word.setting", where, f.Line, reason))
	}
	e.addTextIf(count > 5*maxNames, "ignored.more")
}

func (e *explainer) describeEngine(o *EngineOptions) {
	folders := "{time}/{device_id}/ge_default_{timestamp}_{n}/{model_id}/{data_index}"
	if o.TF {
		folders = "{time}/{device_id}/{graph_name}/{model_id}/{data_index}"
	}
	switch {
	case o.isOn("enableDump"):
		e.describeEngineDump(o, folders)
	case o.hasOverflowDump():
		kind := cmp.Or(o.setting("dumpDebugMode").Value, "all")
		e.addActive("what.engine-overflow-dump", shorten(printable(kind)))
		e.addOverflowPatterns(localPath(o.setting("dumpPath").Value), folders)
	case o.isOn("enableDumpDebug"):
		e.addText("what.no-debug-mode")
	}
	if scene := o.scene(); scene != "" {
		e.describeException(scene, "")
		e.addText("care.exception-first")
	}
	e.addTextIf(!e.out.Active && !o.hasDump(), "what.engine-off")
	if !e.out.Active {
		return
	}
	e.addTextIf(o.hasDump(), "where.must-exist-engine")
	e.addTextIf(o.hasDump(), "environment.acl-overrides")
	e.addTextIf(o.hasDump(), "environment.collect-engine")
	e.addTextIf(o.TF, "environment.tf-arguments")
	e.addTextIf(!o.TF, "environment.engine-options")
}

func (e *explainer) describeEngineDump(o *EngineOptions, folders string) {
	data, file := dataAndFile(o.dumpsStatistics())
	e.addActive("what.graph-dump", data, describeSides(o.dumpMode()))
	layers := strings.Fields(o.setting("dumpLayer").Value)
	e.addTextIf(len(layers) > 0, "which.operators", shortenedNames(layers))
	e.addTextIf(len(layers) == 0, "which.all-operators")
	if len(layers) == 1 {
		file = strings.Replace(file, "{op_name}", pathName(layers[0]), 1)
	}
	e.describeSteps(o.setting("dumpStep").Value, o.Steps)
	e.addText("which.every-device")
	root := localPath(o.setting("dumpPath").Value)
	e.addPattern(root, folders, file)
	e.addCheck(root, missingName(!o.dumpsStatistics(), o.setting("dumpData").key.Name+" tensor"), missingName(o.dumpMode() == "all", o.setting("dumpMode").key.Name+" all"))
	if o.dumpsStatistics() {
		e.addText("format.csv-engine")
		e.addStatisticsCommands(root)
		e.addText("read.csv-engine")
		return
	}
	e.addText("format.dump-files", describeSides(o.dumpMode()))
	e.addTensorCommands(root, true)
	e.addText("care.large-graph")
}

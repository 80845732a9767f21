package dumpconf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/lang"
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

// sectionNames are all sections, in order.
var sectionNames = []string{"what", "which", "where", "format", "ignored", "environment", "read", "care"}

// Explain explains a configuration that was checked. The options are those of
// the check: the target version chooses among layouts and ignores newer keys, and variables that are
// set in the environment are taken into account. A file with errors is
// explained as it is meant.
func Explain(r *Report, opt Options) *Explanation {
	e := &explainer{r: r.asRead(opt.TargetVersion), opt: &opt, out: &Explanation{Schema: r.Schema}, lines: make(map[string][]Text)}
	e.errors()
	switch {
	case r.ACL != nil:
		e.acl(e.r.ACL)
	case r.MindSpore != nil:
		e.mindSpore(e.r.MindSpore)
	case r.Engine != nil:
		e.engine(r.Engine)
	default:
		e.when(r.Schema == SchemaMsprobe, "what.msprobe")
		e.when(r.Schema != SchemaMsprobe, "what.unreadable")
	}
	e.ignored()
	var paths []Text
	for _, p := range e.out.Patterns {
		paths = append(paths, Text{EN: p, ZH: p})
	}
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

// say adds the text of a key to the section that the key begins with.
func (e *explainer) say(key string, args ...any) {
	section, _, _ := strings.Cut(key, ".")
	e.add(section, text(key, args...))
}

// when is say, if something is so.
func (e *explainer) when(is bool, key string, args ...any) {
	if is {
		e.say(key, args...)
	}
}

// add adds a line to a section.
func (e *explainer) add(section string, line Text) {
	e.lines[section] = append(e.lines[section], line)
}

// active is like say, about something that is dumped.
func (e *explainer) active(key string, args ...any) {
	e.out.Active = true
	e.say(key, args...)
}

// files adds a pattern of paths.
func (e *explainer) files(parts ...string) {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 && !strings.HasSuffix(b.String(), "/") {
			b.WriteByte('/')
		}
		b.WriteString(printable(p))
	}
	e.out.Patterns = append(e.out.Patterns, b.String())
}

// run adds a command with what it is good for. The word %s of the command is the folder; a
// variable of the shell in it stays one.
func (e *explainer) run(folder, command, why string) {
	words := strings.Fields(command)
	words[slices.Index(words, "%s")] = lang.PathArgument(folder)
	line := lang.ShellLine(words)
	if folder == diagnosticFolder {
		line = strings.Replace(line, lang.ShellWord(folder), `"`+folder+`"`, 1)
	}
	e.out.Commands = append(e.out.Commands, line)
	e.say("read.command", line, text(why))
}

// errors says that the runtime does not take the file.
func (e *explainer) errors() {
	count := e.r.Count(Error)
	if count == 0 || e.r.Schema == SchemaMsprobe {
		return
	}
	first := e.r.Refused()
	code := ""
	if first.Code != "" {
		code = " (" + first.Code + ")"
	}
	at := fmt.Sprintf("%d:%d", first.Line, first.Column)
	e.say("what.refused", count, at, code, first.Message)
}

// shown is how many names a line lists.
const shown = 10

// names lists what was given, shortened.
func names(values []string) Text {
	var out []string
	for _, v := range atMost(shown, values) {
		out = append(out, shorten(printable(v)))
	}
	joined := list(out)
	if n := len(values) - shown; n > 0 {
		return text("word.and-more", joined, n)
	}
	return Text{EN: joined, ZH: joined}
}

// atMost returns the first n of values.
func atMost[T any](n int, values []T) []T { return values[:min(len(values), n)] }

// steps says which steps are dumped; nothing chosen means all.
func (e *explainer) steps(written string, chosen []lang.Step) {
	switch valid := validSteps(chosen); {
	case written == "" || chosen == nil:
		e.say("which.every-step")
	case len(valid) == 0:
		e.say("which.no-step", quoted(written))
	default:
		e.say("which.steps", names(valid))
	}
}

// validSteps returns the pieces of a list that can be used.
func validSteps(all []lang.Step) []string {
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
	if mode != "input" && mode != "all" {
		mode = "output"
	}
	return text("word.sides-" + mode)
}

// fileSafe is a name as the runtime writes it in paths.
func fileSafe(name string) string {
	return printable(strings.NewReplacer(".", "_", "/", "_", `\`, "_", " ", "_").Replace(name))
}

// newerRule finds what is newer than the target version.
const newerRule = "ACL091"

// newer are the keys of a file that its target version ignores.
func (r *Report) newer() []Finding {
	return r.findings(func(f *Finding) bool { return f.Rule == newerRule })
}

// asRead returns the report with the settings as the target version reads them, which
// ignores what is newer.
func (r *Report) asRead(target Version) *Report {
	out, d := *r, &decoder{target: target}
	switch {
	case target.IsNewest():
	case r.ACL != nil:
		out.ACL = readACL(d, r.Doc.Root)
	case r.MindSpore != nil:
		out.MindSpore = readMindSpore(d, r.Doc.Root)
		if target.Before(sinceMS12) {
			out.MindSpore.debug = out.MindSpore.Async.at("op_debug_mode")
		}
	}
	return &out
}

// unused says that a setting is ignored, which no rule reports.
func (e *explainer) unused(is bool, s Setting, why Text) {
	if is {
		line, _ := e.r.Doc.Position(s.keySpan().start)
		e.add("ignored", text("word.setting", s.Path, line, why))
	}
}

// ignored lists what does not count, and what to mind.
func (e *explainer) ignored() {
	count := 0
	seen := make(map[string]bool)
	for i := range e.r.Findings {
		f := &e.r.Findings[i]
		section, reason := "ignored", f.rule.ignored
		switch {
		case f.Severity == Error, f.rule.needs != nil && !f.rule.needs(e.r.ACL):
			continue
		case !f.Ignored.IsZero():
			reason = ruleOf("ACL052").ignored
			if e.r.ACL != nil && e.r.ACL.exception() {
				reason = ruleOf("ACL041").ignored
			}
		case f.Severity != Warning || reason == Text{}:
			section, reason = "care", f.rule.mind
		}
		where := shorten(printable(f.Path))
		if reason == (Text{}) || seen[where+reason.EN] {
			continue
		}
		seen[where+reason.EN] = true
		if count++; count > 5*shown {
			continue
		}
		e.add(section, text("word.setting", where, f.Line, reason))
	}
	e.when(count > 5*shown, "ignored.more")
}

func (e *explainer) engine(o *EngineOptions) {
	folders := "{time}/{device_id}/ge_default_{timestamp}_{n}/{model_id}/{data_index}"
	if o.TF {
		folders = "{time}/{device_id}/{graph_name}/{model_id}/{data_index}"
	}
	switch {
	case o.isOn("enableDump"):
		e.engineDump(o, folders)
	case o.overflows():
		kind := cmp.Or(o.at("dumpDebugMode").Value, "all")
		e.active("what.engine-overflow-dump", shorten(printable(kind)))
		e.overflowFiles(localPath(o.at("dumpPath").Value), folders)
	case o.isOn("enableDumpDebug"):
		e.say("what.no-debug-mode")
	}
	if scene := o.scene(); scene != "" {
		e.exception(scene, "")
		e.say("care.exception-first")
	}
	e.when(!e.out.Active && !o.on(), "what.engine-off")
	if !e.out.Active {
		return
	}
	e.when(o.on(), "where.must-exist-engine")
	e.when(o.on(), "environment.acl-overrides")
	e.when(o.on(), "environment.collect-engine")
	e.when(o.TF, "environment.tf-arguments")
	e.when(!o.TF, "environment.engine-options")
}

func (e *explainer) engineDump(o *EngineOptions, folders string) {
	data, file := dataAndFile(o.stats())
	e.active("what.graph-dump", data, sides(o.mode()))
	layers := strings.Fields(o.at("dumpLayer").Value)
	e.when(len(layers) > 0, "which.operators", names(layers))
	e.when(len(layers) == 0, "which.all-operators")
	if len(layers) == 1 {
		file = strings.Replace(file, "{op_name}", fileSafe(layers[0]), 1)
	}
	e.steps(o.at("dumpStep").Value, o.Steps)
	e.say("which.every-device")
	root := localPath(o.at("dumpPath").Value)
	e.files(root, folders, file)
	if o.stats() {
		e.say("format.csv-engine")
		e.readStatistics(root)
		e.say("read.csv-engine")
		return
	}
	e.say("format.dump-files", sides(o.mode()))
	e.readTensors(root, true)
	e.say("care.large-graph")
}

package dumpconf

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// aclShapeRules check presence, place and type of keys.
var aclShapeRules = []rule{
	{id: "ACL004", severity: Warning, checks: `there is no "dump", or it is empty`,
		guess: true, message: Text{EN: "nothing will be dumped: %s"},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(r.root == nil && len(r.Doc.Source()) == 0, r.wholeText(), Text{EN: "the file is empty"})
			r.reportIf(a.Root.Present() && a.Root.Node.Get("dump") == nil, r.wholeText(), Text{EN: `there is no "dump" object`})
			r.reportIf(a.Dump.Present() && !a.Dump.isFilled(), a.Dump.keySpan(), Text{EN: `"dump" is empty`})
		}},
	{id: "ACL005", severity: Error, code: "EP0001", stage: stageDump, checks: `"dump" is not an object`, message: sentenceMessage,
		run: (*reporter).reportTypes},
	{id: "ACL006", severity: Warning, checks: "an unknown key, which the runtime ignores",
		guess: true, message: Text{EN: "unknown key %s is ignored%s"},
		ignored: Text{EN: "unknown key, which the runtime ignores"},
		run: func(r *reporter) {
			for _, s := range r.read.unknown {
				if r.tableOfKey(s) == nil && (!s.object.table.allowsUnknown || r.nearestWord(s.member.Key, s.object.table.names()) != "") {
					r.reportUnknownKey(s, s.object.table.names())
				}
			}
		}},
	{id: "ACL007", severity: Warning, checks: "a key at the wrong level, where the runtime ignores it",
		guess: true, message: Text{EN: "%s is ignored here: it must be %s"},
		ignored: Text{EN: "the key is at the wrong level and ignored there"},
		run: func(r *reporter) {
			for _, s := range r.read.unknown {
				if table := r.tableOfKey(s); table != nil {
					place := lang.Say("inside %s", table.description)
					if table == &aclRoot {
						place = lang.Say("at %s", table.description)
					}
					r.report(s.span(), quoteShort(s.member.Key), place)
				}
			}
		}},
	{id: "ACL010", severity: Error, code: "EP0001", stage: stageTypes, checks: "a value must be a string", message: sentenceMessage,
		run: (*reporter).reportTypes},
	{id: "ACL011", severity: Error, code: "EP0001", stage: stageListTypes, checks: "a value or member of an array has the wrong type", message: sentenceMessage,
		run: (*reporter).reportTypes},
}

// tableOfKey returns the table where an unknown key belongs, nil if nowhere.
func (c *check) tableOfKey(s unknownKey) *keyTable {
	for _, t := range keyTables(c.Schema) {
		if t == &aclBlacklist || t == &aclRange {
			if s.object.table == &aclRoot {
				continue // words as common as "name" may have another meaning there
			}
		}
		if t != s.object.table && t.find(s.member.Key) != nil {
			return t
		}
	}
	return nil
}

// reportUnknownKey reports an unknown key and the nearest known key.
func (r *reporter) reportUnknownKey(s unknownKey, names []string) {
	best, hint := r.nearestWord(s.member.Key, names), lang.Sentence{}
	if best != "" {
		hint = didYouMean(best)
	}
	f := r.report(s.span(), quoteShort(s.member.Key), hint).suggest(best)
	if best != "" && lang.DiffersOnlyInForm(best, s.member.Key) && s.object.Node.Get(best) == nil {
		f.Edits = replaceEdit(s.span(), jsonpos.Quote(best))
	}
}

// aclValueRules check strings with known values.
var aclValueRules = []rule{
	{id: "ACL012", severity: Error, code: "EP0001", stage: stageValues, checks: "a value is empty that must be one of a list",
		message: Text{EN: "%s is empty; allowed are %s"},
		acl: func(a *ACL, r *reporter) {
			for _, e := range r.read.enums {
				if e.Value == "" {
					r.report(e.valueSpan(), lastPart(e.Path), joinValues(e.key.Values))
				}
			}
			kernel := a.setting("dump_kernel_data")
			r.reportIf(kernel.isEmpty(), kernel.valueSpan(), kernel.key.Name, joinValues(kernel.key.Values))
		}},
	{id: "ACL013", severity: Error, code: "EP0002", stage: stageValues, checks: "a value is not among those of its key", message: sentenceMessage,
		run: func(r *reporter) { r.reportEnumsOf(TypeString) }},
	{id: "ACL014", severity: Error, code: "EP0002", stage: stageValues, checks: "a part of dump_kernel_data is not known",
		message: Text{EN: "%s is no part of dump_kernel_data; give a comma list without spaces of %s"},
		acl: func(a *ACL, r *reporter) {
			s, offset := a.setting("dump_kernel_data"), 0
			for piece := range strings.SplitSeq(s.Value, ",") {
				if s.Value != "" && !slices.Contains(s.key.Values, piece) {
					at, best := partSpan(s, offset, len(piece)), r.nearestWord(piece, s.key.Values)
					f := r.report(at, quoteShort(piece), joinValues(s.key.Values)).suggest(best)
					if best != "" && lang.DiffersOnlyInForm(best, piece) && at.start > s.Node.Start {
						f.Edits = replaceEdit(at, best)
					}
				}
				offset += len(piece) + 1
			}
		}},
	{id: "ACL015", severity: Error, code: "EP0002", stage: stageValues, checks: "a member of dump_stats is not known", message: sentenceMessage,
		run: func(r *reporter) { r.reportEnumsOf(TypeStrings) }},
}

// reportEnumsOf reports values outside of Values, for keys of a type.
func (r *reporter) reportEnumsOf(t KeyType) {
	for _, e := range r.read.enums {
		if e.key.Type == t && e.Value != "" {
			r.reportEnum(e)
		}
	}
}

const maxPath = 512 // bytes

// aclPathRules check dump_path.
var aclPathRules = []rule{
	{id: "ACL020", severity: Error, code: "EP0001", stage: stagePath, checks: "dump_path is missing or empty outside exception scenes",
		guess: true, message: Text{EN: "dump_path is required%s"},
		acl: func(a *ACL, r *reporter) {
			p, advice := a.setting("dump_path"), Text{EN: ": name an existing folder"}
			if p.Present() {
				advice = Text{EN: " and must not be empty: name an existing folder"}
			}
			r.reportIf(!a.dumpsFailures() && a.Dump.isFilled() && p.isAbsentOrEmpty(), p.spanIn(a.Dump), advice)
		}},
	{id: "ACL021", severity: Error, code: "EP0003", stage: stagePath, checks: "dump_path is too long",
		message: Text{EN: "dump_path has %d bytes; at most %d are allowed"},
		acl: func(a *ACL, r *reporter) {
			p := a.setting("dump_path")
			r.reportIf(len(p.Value) > maxPath, p.valueSpan(), len(p.Value), maxPath)
		}},
	{id: "ACL022", severity: Warning, code: "EP0003", checks: "dump_path contains a variable, which is not expanded",
		message: Text{EN: "%s in dump_path is not expanded; write the full path"},
		acl: func(a *ACL, r *reporter) {
			p := a.setting("dump_path")
			if at := placeholder().FindStringIndex(p.Value); at != nil && !isRemote(p.Value) {
				r.report(partSpan(p, at[0], at[1]-at[0]), quoteShort(p.Value[at[0]:at[1]]))
			}
		}},
	{id: "ACL027", severity: Warning, checks: "dump_path has blanks at its ends",
		message: Text{EN: "dump_path %s has blanks around it, which become part of the name"},
		acl:     func(a *ACL, r *reporter) { r.reportBlanks(a.setting("dump_path")) }},
	{id: "ACL023", severity: Error, code: "EP0003", stage: stagePath, checks: "dump_path is not a folder that can be read and written",
		message: Text{EN: "dump_path %s %s"},
		acl: func(a *ACL, r *reporter) {
			if p := a.setting("dump_path"); isLocal(p.Value) && remoteFault(p.Value).IsZero() && len(p.Value) <= maxPath && r.opt.Stat != nil {
				fault := folderFaults[r.opt.Stat(p.Value)]
				r.reportIf(fault != Text{}, p.valueSpan(), quoteShort(p.Value), fault)
			}
		}},
	{id: "ACL024", severity: Warning, checks: "dump_path is relative",
		message: Text{EN: "dump_path %s is relative to the working directory of the program; prefer an absolute path"},
		acl: func(a *ACL, r *reporter) {
			p := a.setting("dump_path")
			r.reportIf(isLocal(p.Value) && !strings.HasPrefix(p.Value, "/") && remoteFault(p.Value).IsZero() && !placeholder().MatchString(p.Value),
				p.valueSpan(), quoteShort(p.Value))
		}},
	{id: "ACL025", severity: Error, code: "EP0003", stage: stagePath, checks: "dump_path has a colon but is no proper IPv4:path",
		message: Text{EN: "dump_path %s: the remote form is IPv4:path, but %s"},
		acl: func(a *ACL, r *reporter) {
			p, fault := a.setting("dump_path"), remoteFault(a.setting("dump_path").Value)
			r.reportIf(!fault.IsZero(), p.valueSpan(), quoteShort(p.Value), fault)
		}},
	{id: "ACL026", severity: Warning, checks: "an environment variable overrides dump_path",
		message:   Text{EN: "the environment variable %s overrides dump_path for exception dumps"},
		condition: (*ACL).dumpsFailures, ignored: Text{EN: "an environment variable takes precedence"},
		acl: func(a *ACL, r *reporter) {
			for _, name := range []string{"ASCEND_DUMP_PATH", "NPU_COLLECT_PATH", "ASCEND_WORK_PATH"} {
				value, ok := r.opt.lookupEnv(name)
				r.reportIf(ok && a.dumpsFailures() && a.setting("dump_path").Present(), a.setting("dump_path").keySpan(), name+"="+shorten(value))
			}
		}},
}

// placeholder matches parts of a path that users expect to be expanded.
var placeholder = lang.Pattern(`\$\{[^}]*\}?|\$[A-Za-z_0-9]*|~|%[A-Za-z_][A-Za-z_0-9]*%|\{[^}]*\}`)

// folderFaults describes the states of an unusable folder.
var folderFaults = map[PathState]Text{
	PathMissing:  {EN: "does not exist; create it first, it is not created for you"},
	PathNotDir:   {EN: "is not a folder"},
	PathNoAccess: {EN: "may not be read and written by this user"},
}

// remoteText lists the characters, beside letters and digits, allowed behind the colon.
const remoteText = `-=[];\,./!@#$%^&*()_+{}:?`

// isRemote reports whether a path is a valid IPv4:path.
func isRemote(path string) bool {
	ip, _, colon := strings.Cut(path, ":")
	return colon && isIPv4(ip) && remoteFault(path).IsZero()
}

// isLocal reports whether a path is on this host.
func isLocal(path string) bool { return path != "" && !isRemote(path) }

// remoteFault returns the fault of a path that looks like IPv4:path. It is empty for valid paths,
// for paths without a colon, and for local paths with a slash before the colon.
func remoteFault(path string) lang.Sentence {
	ip, tail, colon := strings.Cut(path, ":")
	switch {
	case !colon || strings.Contains(ip, "/"):
		return lang.Sentence{}
	case ip == "":
		return lang.Say("the address is missing")
	case !isIPv4(ip):
		return lang.Say("%s is no IPv4 address", quoteShort(ip))
	case tail == "":
		return lang.Say("the path is missing")
	}
	for i, r := range tail {
		if (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(remoteText, r) {
			_, size := utf8.DecodeRuneInString(tail[i:])
			return lang.Say("%q is not allowed in the path", tail[i:i+size])
		}
	}
	return lang.Sentence{}
}

// isIPv4 reports whether text is four numbers from 0 to 255.
func isIPv4(text string) bool {
	parts := strings.SplitN(text, ".", 5)
	for _, p := range parts {
		if !isDigits(p) || len(p) > 3 || len(p) == 3 && p > "255" {
			return false
		}
	}
	return len(parts) == 4
}

// maxSteps is the largest number of pieces in a list of steps, for ACL and the graph engine.
const maxSteps = 100

// aclStepRules check dump_step.
var aclStepRules = []rule{
	{id: "ACL030", severity: Error, code: "EP0003", stage: stageStep, checks: "dump_step is malformed",
		message: Text{EN: `%s in dump_step %s; use N or A-B joined by "|", without spaces`},
		acl: func(a *ACL, r *reporter) {
			text := ""
			if len(a.Steps) <= maxSteps {
				text = repairSteps(a.setting("dump_step").Value)
			}
			for _, s := range a.usableSteps() {
				f := r.reportIf(!s.Valid() && s.Fault != lang.StepReversed, stepSpan(s, a.setting("dump_step")), quoteShort(s.Text), stepFaults[s.Fault])
				if text != "" {
					f.repair(a.setting("dump_step"), text)
				}
			}
		}},
	{id: "ACL031", severity: Error, code: "EP0003", stage: stageStep, checks: "dump_step has more than 100 pieces",
		message: Text{EN: "dump_step has more than %d pieces"},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(len(a.Steps) > maxSteps, a.setting("dump_step").valueSpan(), maxSteps)
		}},
	{id: "ACL032", severity: Error, code: "EP0003", stage: stageStep, checks: "a range of dump_step starts after its end",
		message: Text{EN: "range %s of dump_step starts after its end"},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.usableSteps() {
				r.reportIf(s.Fault == lang.StepReversed, stepSpan(s, a.setting("dump_step")), quoteShort(s.Text)).suggest(fmt.Sprintf("%d-%d", s.To, s.From))
			}
		}},
	{id: "ACL033", severity: Info, checks: "a range of dump_step has equal ends",
		message: Text{EN: "range %s of dump_step is one step; write %q (the graph engine's own option rejects equal ends)"},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.usableSteps() {
				one := fmt.Sprint(s.From)
				r.reportIf(s.Valid() && s.Range && s.From == s.To, stepSpan(s, a.setting("dump_step")), quoteShort(s.Text), one).suggest(one)
			}
		}},
	{id: "ACL034", severity: Info, checks: "pieces of dump_step overlap",
		message: Text{EN: "%s in dump_step overlaps %s before it"},
		acl: func(a *ACL, r *reporter) {
			steps := a.usableSteps()
			for i, s := range steps {
				if j := slices.IndexFunc(steps[:i], s.Overlaps); j >= 0 {
					r.report(stepSpan(s, a.setting("dump_step")), quoteShort(s.Text), quoteShort(steps[j].Text))
				}
			}
		}},
}

// stepSpan returns the place of a piece in the value of its list.
func stepSpan(s lang.Step, list Setting) span { return partSpan(list, s.Offset, len(s.Text)) }

// usableSteps returns the pieces that the runtime reads.
func (a *ACL) usableSteps() []lang.Step { return a.Steps[:min(len(a.Steps), maxSteps)] }

// stepFaults describes the faults of a piece.
var stepFaults = map[lang.StepFault]Text{
	lang.StepEmpty:    {EN: "is an empty piece"},
	lang.StepBadChar:  {EN: "has other characters than digits and a dash"},
	lang.StepOpen:     {EN: "lacks a start or an end"},
	lang.StepDashes:   {EN: "has more than one dash"},
	lang.StepReversed: {EN: "starts after its end"},
	lang.StepTooLarge: {EN: "is too large"},
	lang.StepRest:     {EN: "is not read any more"},
}

// stepSeparator matches a bar or dash of a list of steps with surrounding spaces.
var stepSeparator = lang.Pattern(` *([|-]) *`)

// repairSteps removes spaces around bars and dashes and at the ends. It returns an empty string
// if faults remain: a space between two numbers is ambiguous.
func repairSteps(text string) string {
	text = strings.Trim(stepSeparator().ReplaceAllString(text, "$1"), " ")
	if slices.ContainsFunc(lang.ParseSteps(text), func(s lang.Step) bool { return !s.Valid() }) {
		return ""
	}
	return text
}

// aclSceneRules check which kinds of dump exclude each other.
var aclSceneRules = []rule{
	{id: "ACL040", severity: Error, code: "EP0005", stage: stageScene, checks: "an exception scene with dump_op_switch or dump_debug on",
		message: Text{EN: `%s "on" and the exception scene %s exclude each other; remove one of them`},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.opSwitches() {
				r.reportIf(a.dumpsFailures(), s.keySpan(), s.key.Name, quoteShort(a.scene()))
			}
		}},
	{id: "ACL041", severity: Warning, checks: "an exception scene with keys that it ignores",
		guess: true, message: Text{EN: "%s is ignored in the exception scene %s"},
		condition: (*ACL).dumpsFailures, ignored: Text{EN: "not used in an exception scene"},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.Dump.presentSettings("dump_list", "dump_step", "dump_mode", "dump_level", "dump_data", "dump_stats") {
				r.reportIf(a.dumpsFailures(), s.keySpan(), s.key.Name, quoteShort(a.scene()))
			}
		}},
	{id: "ACL049", severity: Info, checks: "dump_scene aic_err_detail_dump has conditions",
		message: Text{EN: "aic_err_detail_dump needs Atlas A2 or A3 and driver 25.0.RC1 or later, must be set before aclrtSetDevice, and ends the process after an error"},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(a.scene() == "aic_err_detail_dump", a.setting("dump_scene").valueSpan())
		}},
	{id: "ACL053", severity: Info, checks: "dump_scene lite_exception has a newer name",
		message: Text{EN: "lite_exception is an alias; prefer aic_err_brief_dump from version 8.2 on"},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(a.scene() == "lite_exception" && !r.opt.TargetVersion.IsBefore(sinceCANN82), a.setting("dump_scene").valueSpan()).suggest("aic_err_brief_dump")
		}},
	{id: "ACL050", severity: Error, code: "EP0005", stage: stageDebug, checks: "dump_debug and dump_op_switch both on",
		message: Text{EN: `dump_debug and dump_op_switch cannot both be "on"; remove one of them`},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(a.dumpsOverflow() && a.dumpsSingleOps(), a.setting("dump_debug").keySpan())
		}},
	{id: "ACL051", severity: Error, checks: "dump_debug on with a model dump",
		guess: true, message: Text{EN: `dump_debug "on" excludes a model dump: remove dump_list`},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(a.dumpsOverflow() && a.setting("dump_list").isFilled(), a.setting("dump_list").keySpan())
		}},
	{id: "ACL052", severity: Warning, checks: "dump_debug on with keys that have no effect then",
		guess: true, message: Text{EN: `%s has no effect when dump_debug is "on", and is not checked`},
		condition: (*ACL).dumpsOverflow, ignored: Text{EN: `no effect while dump_debug is "on"`},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.Dump.presentSettings("dump_mode", "dump_level", "dump_step", "dump_data", "dump_stats") {
				r.reportIf(a.dumpsOverflow() && !a.dumpsFailures(), s.keySpan(), s.key.Name)
			}
		}},
	{id: "ACL060", severity: Warning, checks: "no key switches any dump on",
		guess: true, message: Text{EN: `this dumps nothing: add dump_list, dump_op_switch "on", dump_debug "on", dump_scene or dump_kernel_data`},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(a.Dump.isFilled() && !a.setting("dump_list").Present() && !a.Dumps() && !a.setting("dump_kernel_data").Present() && !a.setting("dump_scene").Present(),
				a.Dump.keySpan())
		}},
	{id: "ACL061", severity: Warning, checks: "an empty dump_list with dump_op_switch off",
		guess: true, message: Text{EN: "an empty dump_list dumps nothing; use [{}] for all models"},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(a.setting("dump_list").isEmpty() && !a.Dumps() && !a.setting("dump_kernel_data").Present(), a.setting("dump_list").valueSpan()).suggest("[{}]")
		}},
	{id: "ACL067", severity: Info, checks: "dump_op_switch on with an empty dump_list, the old form",
		guess: true, message: Text{EN: "an empty dump_list is the old form for single operators; use [{}] on current releases"},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(a.setting("dump_list").isEmpty() && a.dumpsSingleOps() && !r.opt.TargetVersion.IsBefore(sinceCANN82), a.setting("dump_list").valueSpan()).suggest("[{}]")
		}},
}

// opSwitches returns the settings dump_op_switch and dump_debug that are on.
func (a *ACL) opSwitches() []Setting {
	return slices.DeleteFunc(a.Dump.presentSettings("dump_op_switch", "dump_debug"), func(s Setting) bool { return s.Value != "on" })
}

// aclWatcherRules check the watcher scene.
var aclWatcherRules = []rule{
	{id: "ACL042", severity: Error, code: "EP0005", stage: stageScene, checks: "the watcher scene with dump_op_switch or dump_debug on",
		message: Text{EN: `%s "on" and dump_scene "watcher" exclude each other; remove one of them`},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.opSwitches() {
				r.reportIf(a.watchesMemory(), s.keySpan(), s.key.Name)
			}
		}},
	{id: "ACL043", severity: Error, code: "EP0005", stage: stageScene, checks: "the watcher scene with another dump_mode than output",
		message: Text{EN: `dump_mode %s cannot be used with dump_scene "watcher": only "output" can`},
		acl: func(a *ACL, r *reporter) {
			if m := a.setting("dump_mode"); a.watchesMemory() && m.Value != "" && m.Value != "output" {
				r.report(m.valueSpan(), quoteShort(m.Value)).repair(m, "output")
			}
		}},
	{id: "ACL044", severity: Error, code: "EP0001", stage: stageList, checks: "an item without watcher_nodes in the watcher scene",
		guess: true, message: Text{EN: `watcher_nodes is required in every item with dump_scene "watcher"%s`},
		item: func(it *Object, r *reporter) {
			advice, watched := Text{}, it.setting("watcher_nodes")
			if watched.Present() {
				advice = Text{EN: " and must not be empty"}
			}
			r.reportIf(r.ACL.watchesMemory() && watched.isAbsentOrEmpty(), watched.spanIn(it), advice)
		}},
	{id: "ACL045", severity: Error, code: "EP0005", stage: stageList, checks: "an item with model_name in the watcher scene",
		message: Text{EN: `model_name is not allowed with dump_scene "watcher"; remove it`},
		item: func(it *Object, r *reporter) {
			r.reportIf(r.ACL.watchesMemory() && it.setting("model_name").Present(), it.setting("model_name").keySpan())
		}},
	{id: "ACL046", severity: Error, code: "EP0005", stage: stageList, checks: "watcher_nodes outside the watcher scene",
		guess: true, message: Text{EN: `watcher_nodes needs dump_scene "watcher"%s`},
		item: func(it *Object, r *reporter) {
			hint, watched := lang.Sentence{}, it.setting("watcher_nodes")
			if r.ACL.scene() != "" {
				hint = describeFound(r.ACL.setting("dump_scene"))
			}
			r.reportIf(!r.ACL.watchesMemory() && watched.Present(), watched.keySpan(), hint).suggest(`"dump_scene": "watcher"`)
		}},
	{id: "ACL047", severity: Warning, checks: "the watcher scene with an empty or missing dump_list",
		guess: true, message: Text{EN: "there is nothing to watch: list operators in watcher_nodes of an item of dump_list"},
		acl: func(a *ACL, r *reporter) {
			r.reportIf(a.watchesMemory() && !a.setting("dump_list").Present(), a.setting("dump_scene").valueSpan())
			r.reportIf(a.watchesMemory() && a.setting("dump_list").isEmpty(), a.setting("dump_list").valueSpan())
		}},
	{id: "ACL048", severity: Warning, checks: "a layer the watcher scene makes no file for",
		message: Text{EN: "no file is made for the layer %s: %s"},
		ignored: Text{EN: "no file is made for this layer"},
		item: func(it *Object, r *reporter) {
			watched := make(map[string]bool)
			for _, name := range valuesOf(it.setting("watcher_nodes").Elems) {
				watched[name] = true
			}
			for _, l := range it.setting("layer").Elems {
				switch {
				case !l.OK || !r.ACL.watchesMemory():
				case strings.HasPrefix(l.Value, "Hcom"):
					r.report(l.valueSpan(), quoteShort(l.Value), Text{EN: "it is a communication operator"})
				case watched[l.Value]:
					r.report(l.valueSpan(), quoteShort(l.Value), Text{EN: "it is also in watcher_nodes"})
				}
			}
		}},
}

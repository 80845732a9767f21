package dumpconf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// fromACL reads the wanted dump of an acl.json.
func (t *translation) fromACL(a *ACL) error {
	k, w := a.kinds(), &t.want
	switch {
	case k.watcher:
		return lang.Errorf(`dump_scene "watcher" has no counterpart: only the ACL runtime watches memory`)
	case k.exception:
		w.kind, w.scene = dumpException, a.scene()
	case k.overflow:
		w.kind = dumpOverflow
	case k.ops:
		w.kind = dumpOps
	case k.models:
		w.kind = dumpModels
	case k.kernel:
		return lang.Errorf("dump_kernel_data has no counterpart: only the ACL runtime dumps what kernels print")
	default:
		return nil
	}
	w.path = a.at("dump_path").Value
	if k.exception || k.overflow {
		t.keep(a.at("dump_level"), a.at("dump_list")) // without effect
		return nil
	}
	w.mode, w.stats, w.steps = a.mode(), a.stats(), validSteps(a.Steps)
	if w.stats {
		w.which = valuesOf(a.at("dump_stats").Elems)
		if w.which == nil {
			w.which = []string{"Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf"}
		}
	}
	everything := false
	for _, it := range a.items() {
		layers := slices.DeleteFunc(valuesOf(it.at("layer").Elems), func(s string) bool { return s == "" })
		everything = everything || len(layers) == 0
		w.ops = append(w.ops, layers...)
		t.keepIf(len(layers) > 0, it.at("layer"))
		if model := it.at("model_name"); model.Value != "" {
			w.models = append(w.models, model.Value)
			t.keep(model)
		}
	}
	if everything && len(w.ops) > 0 {
		t.noteAs("layer", Approximated, "note.all-operators")
		w.ops = nil
	}
	w.ops, w.models = unique(w.ops), unique(w.models)
	return nil
}

// unique removes repeated values.
func unique(values []string) []string { return appendNew(nil, make(map[string]bool), values...) }

// toACL builds an acl.json.
func (t *translation) toACL() *jsonpos.Value {
	w, root := &t.want, jsonObject()
	d := add(root, "dump", jsonObject())
	set := func(is bool, key, value string) {
		if is {
			add(d, key, jsonString(value))
		}
	}
	if w.path != "" || w.kind != dumpException {
		set(true, "dump_path", t.pathOrPlaceholder("dump.dump_path"))
	}
	switch w.kind {
	case dumpException:
		set(true, "dump_scene", t.sceneForTarget())
		return root
	case dumpOverflow:
		set(true, "dump_debug", "on")
		return root
	}
	items := add(d, "dump_list", &jsonpos.Value{Kind: jsonpos.Array})
	// In old releases, a dump of all single operators has an empty dump_list.
	if w.kind != dumpOps || len(w.ops) > 0 || !t.opt.TargetVersion.Before(sinceCANN82) {
		item := jsonObject()
		if len(w.ops) > 0 {
			add(item, "layer", jsonArray(w.ops, jsonString))
		}
		items.Elems = append(items.Elems, item)
	}
	set(true, "dump_mode", w.mode)
	set(w.kind == dumpOps, "dump_op_switch", "on")
	set(w.stats, "dump_data", "stats")
	if len(w.which) > 0 {
		add(d, "dump_stats", jsonArray(w.which, jsonString))
	}
	set(len(w.steps) > 0, "dump_step", strings.Join(w.steps, "|"))
	return root
}

func (t *translation) pathOrPlaceholder(path string) string {
	if t.want.path != "" {
		return t.want.path
	}
	t.set(path, "note.no-folder", folderPlaceholder)
	return folderPlaceholder
}

// sceneForTarget returns the target version's name of the scene.
func (t *translation) sceneForTarget() string {
	if !t.opt.TargetVersion.Before(sinceCANN82) {
		return t.want.scene
	}
	if t.want.scene != "aic_err_brief_dump" {
		t.noteAs("dump_scene", Approximated, "note.brief-scene")
	}
	return "lite_exception"
}

type statistic struct{ acl, mindSpore string }

// aclStatistics maps the statistics of the ACL runtime to MindSpore's names.
var aclStatistics = []statistic{
	{"Max", "max"}, {"Min", "min"}, {"Avg", "avg"}, {"Nan", "nan count"},
	{"Negative Inf", "negative inf count"}, {"Positive Inf", "positive inf count"}, {"L2norm", "l2norm"},
}

// fromMindSpore reads the wanted dump of a MindSpore file, as MindSpore translates it for the ACL
// runtime.
func (t *translation) fromMindSpore(m *MindSpore) error {
	if m.at("support_device").isEmpty() {
		return nil // the dump is off
	}
	w, iteration, saved := &t.want, m.at("iteration"), m.at("saved_data")
	w.path = m.at("path").Value
	t.keepIf(!m.savesStatistics(), m.at("statistic_category"))
	t.note(m.at("support_device"), NoCounterpart, "note.devices")
	switch mode := m.debugMode(); {
	case mode == 4:
		w.kind, w.scene = dumpException, "aic_err_brief_dump"
		t.keep(iteration, saved)
		return nil
	case mode > 0:
		w.kind = dumpOverflow
		t.keepIf(iteration.Value == "all", iteration)
		return nil
	case m.at("dump_mode").Uint == 2:
		return lang.Errorf("dump_mode 2 has no counterpart: only MindSpore knows which operators set_dump marked")
	}
	w.kind, w.mode, w.steps = dumpOps, m.mode(), validSteps(m.Steps)
	t.keep(iteration, saved)
	switch {
	case len(m.Steps) > 0 && len(w.steps) == 0:
		return lang.Errorf("iteration %s matches no step, there is nothing to translate", show(iteration.Value))
	case len(w.steps) < len(m.Steps): // pieces that match nothing are dropped
		t.note(iteration, Approximated, "note.empty-steps")
	}
	if m.at("dump_mode").Uint == 1 {
		t.kernels(m)
	}
	if saved.Value == "full" {
		t.note(saved, Approximated, "note.tensors-only")
	}
	if w.stats = saved.Value == "statistic"; w.stats {
		t.statistics(m)
	}
	return nil
}

// kernels copies operators given by full name.
func (t *translation) kernels(m *MindSpore) {
	var lost []string
	for _, k := range m.Kernels {
		switch {
		case k.Kind == KernelName && !k.Unclosed:
			t.want.ops = append(t.want.ops, k.Pattern)
		case k.Pattern != "":
			lost = append(lost, k.Text)
		}
	}
	t.want.ops = unique(t.want.ops)
	switch {
	case len(lost) == 0:
	case len(t.want.ops) == 0:
		t.noteAs("layer", Approximated, "note.names-only-all", names(lost))
	default:
		t.noteAs("layer", Approximated, "note.names-only", names(lost))
	}
}

// statistics copies the choice of statistics.
func (t *translation) statistics(m *MindSpore) {
	category := m.at("statistic_category")
	t.keep(category)
	var lost []string
	for _, item := range valuesOf(category.Elems) {
		if i := slices.IndexFunc(aclStatistics, func(s statistic) bool { return s.mindSpore == item }); i >= 0 {
			t.want.which = append(t.want.which, aclStatistics[i].acl)
		} else {
			lost = append(lost, item)
		}
	}
	t.want.which = unique(t.want.which)
	if lost != nil {
		t.note(category, Approximated, "note.left-out", names(lost))
	}
	if !category.Present() {
		t.note(m.at("saved_data"), Approximated, "note.default-statistics")
	}
}

// toMindSpore builds a MindSpore file.
func (t *translation) toMindSpore() (*jsonpos.Value, error) {
	w := &t.want
	if w.kind == dumpException {
		return nil, lang.Errorf("an exception dump is not translated to MindSpore: its op_debug_mode 4 is a mode of its own, which ignores most settings")
	}
	t.noteAs("model_name", NoCounterpart, "note.models")
	if w.kind == dumpOps {
		t.noteAs("dump_op_switch", Approximated, "note.graphs-only")
	}
	kernels := t.kernelEntries()
	mode, iteration, debug := "0", "all", "0"
	if len(kernels) > 0 && w.kind != dumpOverflow {
		mode = "1"
	}
	if len(w.steps) > 0 {
		iteration = strings.Join(w.steps, "|")
	}
	if w.kind == dumpOverflow {
		debug = "3"
	}
	root := jsonObject()
	c := add(root, "common_dump_settings", jsonObject())
	add(c, "dump_mode", jsonWord(mode))
	add(c, "path", jsonString(t.mindSporePath()))
	add(c, "net_name", jsonString(t.netName()))
	add(c, "iteration", jsonString(iteration))
	if w.stats {
		add(c, "saved_data", jsonString("statistic"))
	}
	add(c, "input_output", jsonWord(strconv.Itoa(max(0, slices.Index(inputOutput, w.mode)))))
	add(c, "kernels", jsonArray(kernels, jsonString))
	add(c, "support_device", jsonArray(t.devices(), jsonWord))
	if !t.opt.TargetVersion.Before(sinceMS12) {
		add(c, "op_debug_mode", jsonWord(debug))
	}
	if w.stats {
		add(c, "statistic_category", jsonArray(mindSporeStatistics(w.which), jsonString))
	}
	switch { // by framework or device
	case t.opt.frameworkDumps():
		e := add(root, "e2e_dump_settings", jsonObject())
		add(e, "enable", jsonWord("true"))
		add(e, "trans_flag", jsonWord("true"))
		t.set("e2e_dump_settings", "note.e2e-block")
	case t.opt.TargetVersion.Before(sinceMS12):
		a := add(root, "async_dump_settings", jsonObject())
		add(a, "enable", jsonWord("true"))
		add(a, "op_debug_mode", jsonWord(debug))
	case w.stats:
		add(c, "file_format", jsonString("npy"))
		t.set("common_dump_settings.file_format", "note.npy")
	}
	return root, nil
}

// mindSporeStatistics returns MindSpore's names of statistics; nil stands for the defaults of graph
// engine and ACL runtime.
func mindSporeStatistics(acl []string) []string {
	var out []string
	for _, s := range aclStatistics {
		if slices.Contains(acl, s.acl) || acl == nil && s.acl != "L2norm" {
			out = append(out, s.mindSpore)
		}
	}
	return out
}

// mindSporePath returns the folder if MindSpore accepts it, else a placeholder.
func (t *translation) mindSporePath() string {
	p := t.want.path
	switch {
	case p == "":
		return t.pathOrPlaceholder("common_dump_settings.path")
	case strings.HasPrefix(p, "/") && !notInPath().MatchString(p):
		return p
	}
	t.noteAs("dump_path", NoCounterpart, "note.ms-path", folderPlaceholder)
	return folderPlaceholder
}

// netName returns a name made from the model's name, else a placeholder.
func (t *translation) netName() string {
	if len(t.want.models) == 1 {
		if n := notInName().ReplaceAllString(t.want.models[0], "_"); n != "" {
			t.set("common_dump_settings.net_name", "note.net-name")
			return n
		}
	}
	t.set("common_dump_settings.net_name", "note.placeholder", "my_net")
	return "my_net"
}

func (t *translation) devices() []string {
	if len(t.opt.Devices) > 0 {
		return numbers(t.opt.Devices)
	}
	t.set("common_dump_settings.support_device", "note.all-devices")
	return []string{"0", "1", "2", "3", "4", "5", "6", "7"}
}

// inPattern matches characters that a regular expression of MindSpore does not take literally.
var inPattern = lang.Pattern(`[^A-Za-z0-9_/:=@%,-]`)

// kernelEntries writes operator names as full names for MindSpore: a name of another form becomes a
// regular expression.
func (t *translation) kernelEntries() []string {
	var out []string
	loose := false
	for _, name := range t.want.ops {
		k := ParseKernel(name)
		if k.Kind == KernelName && k.Pattern == name && !k.Unclosed {
			out = append(out, name)
			continue
		}
		loose = loose || inPattern().MatchString(strings.ReplaceAll(name, ".", ""))
		pattern := inPattern().ReplaceAllStringFunc(name, func(s string) string {
			if s == "." {
				return "[.]"
			}
			return "."
		})
		out = append(out, "name-regex("+pattern+")")
	}
	switch {
	case loose:
		t.noteAs("layer", Approximated, "note.scope-names-loose")
	case len(out) > 0:
		t.noteAs("layer", Approximated, "note.scope-names")
	}
	return unique(out)
}

// fromEngine reads the wanted dump of the options of graph engine or TensorFlow adapter.
func (t *translation) fromEngine(o *EngineOptions) error {
	w, scene, debugMode := &t.want, o.scene(), o.at("dumpDebugMode")
	switch {
	case o.isOn("enableDump"):
		w.kind, w.mode, w.stats = dumpModels, o.mode(), o.stats()
		t.keep(o.at("dumpMode"), o.at("dumpData"), o.at("dumpStep"), o.at("dumpLayer"))
		w.steps, w.ops = validSteps(o.Steps), unique(strings.Fields(o.at("dumpLayer").Value))
	case o.overflows():
		w.kind = dumpOverflow
		t.keep(debugMode)
		if debugMode.Value != "all" {
			t.note(debugMode, Approximated, "note.all-overflows")
		}
	case o.isOn("enableDumpDebug"):
		return lang.Errorf("ge.exec.enableDumpDebug has no effect without ge.exec.dumpDebugMode, there is nothing to translate")
	case scene != "":
		w.kind, w.scene = dumpException, scene
		t.keep(o.at("enable_exception_dump"))
		return nil // the engine ignores dumpPath here
	default:
		return nil
	}
	w.path = o.at("dumpPath").Value
	t.keep(o.at("dumpPath"))
	if scene != "" {
		t.note(o.at("enable_exception_dump"), NoCounterpart, "note.exception-beside")
	}
	return nil
}

// toEngine builds options of the graph engine.
func (t *translation) toEngine() (*jsonpos.Value, error) {
	w, out := &t.want, jsonObject()
	set := func(name, value string) { add(out, "ge.exec."+name, jsonString(value)) }
	if isRemote(w.path) {
		return nil, lang.Errorf("dump_path %s is on another host, which the graph engine cannot write to", show(w.path))
	}
	a := t.r.ACL
	switch w.kind {
	case dumpException:
		set("enable_exception_dump", t.exceptionLevel())
		if a != nil {
			t.note(a.at("dump_path"), NoCounterpart, "note.exception-folder")
		}
		return out, nil
	case dumpOverflow:
		set("enableDumpDebug", "1")
		set("dumpPath", t.pathOrPlaceholder("ge.exec.dumpPath"))
		set("dumpDebugMode", "all")
		t.set("ge.exec.dumpDebugMode", "note.debug-mode-all")
		return out, nil
	case dumpOps:
		if a != nil && len(a.items()) == 0 {
			return nil, lang.Errorf("a dump of single operators has no counterpart: the options of the graph engine act on graphs only")
		}
		t.noteAs("dump_op_switch", NoCounterpart, "note.op-switch")
	}
	t.noteAs("model_name", NoCounterpart, "note.models")
	set("enableDump", "1")
	set("dumpPath", t.pathOrPlaceholder("ge.exec.dumpPath"))
	if len(w.steps) > 0 {
		set("dumpStep", engineStepList(w.steps))
	}
	set("dumpMode", w.mode)
	if w.stats {
		set("dumpData", "stats")
		t.noteAs("dump_stats", NoCounterpart, "note.statistics")
	}
	if ops := t.engineLayers(); len(ops) > 0 {
		set("dumpLayer", strings.Join(ops, " "))
	}
	return out, nil
}

// exceptionLevel returns the graph engine's value for the scene.
func (t *translation) exceptionLevel() string {
	switch t.want.scene {
	case "aic_err_norm_dump":
		return "1"
	case "aic_err_detail_dump":
		t.noteAs("dump_scene", Approximated, "note.brief-exception")
		return "1"
	default:
		return "2"
	}
}

// engineStepList formats ranges for the graph engine: a range of one step becomes a step.
func engineStepList(steps []string) string {
	out := make([]string, len(steps))
	for i, text := range steps {
		out[i] = text
		if s := lang.ParseSteps(text)[0]; s.Range && s.From == s.To {
			out[i] = fmt.Sprint(s.From)
		}
	}
	return strings.Join(out, "|")
}

// engineLayers returns the operators whose names can be listed in dumpLayer.
func (t *translation) engineLayers() []string {
	var out, lost []string
	for _, name := range t.want.ops {
		if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",|;", r) }) {
			lost = append(lost, name)
		} else {
			out = append(out, name)
		}
	}
	if lost != nil {
		t.noteAs("layer", Approximated, "note.layer-names", names(lost))
	}
	return out
}

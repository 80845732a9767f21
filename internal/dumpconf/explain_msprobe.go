package dumpconf

import (
	"cmp"
	"slices"

	"dumptool/internal/jsonpos"
)

// Explanations of msprobe's config.json, from its description of the keys (config_json_introduct.md
// of msprobe 8.3, 02.config_introduction.md of earlier releases).

// describeMsprobe describes a configuration of msprobe.
func (e *explainer) describeMsprobe(o *Object) {
	task, level := cmp.Or(o.setting("task").Value, "statistics"), cmp.Or(o.setting("level").Value, "L1")
	if !slices.Contains(msprobeTasks, task) {
		e.addText("what.msprobe-unknown", quoteJSON(task))
		return
	}
	switch enable := o.setting("dump_enable").Node; {
	case enable != nil && enable.Kind == jsonpos.Bool && enable.Text == "false":
		e.addText("what.msprobe-disabled")
	default:
		e.out.Active = true
	}
	scope, root := o.child(task), o.setting("dump_path").Value
	dumps := task == "statistics" || task == "tensor"
	if dumps {
		e.describeMsprobeDump(o, scope, task, level)
	}
	e.addTextIf(!dumps, "what.msprobe-task", task)
	if key := levelTexts[level]; key != "" {
		e.addText(key)
	}
	e.describeMsprobeScope(scope)
	e.describeMsprobeRounds(o)
	e.addText("environment.msprobe")
	if root == "" || level == "L2" || !dumps {
		return
	}
	e.addPattern(root, "step{step}/rank{rank}/dump.json")
	if task == "tensor" || len(textsAt(scope, "tensor_list")) > 0 {
		e.addPattern(root, "step{step}/rank{rank}/dump_tensor_data/{name}.{input|output}.{n}.{pt|npy}")
	}
}

// levelTexts has the key of the text on each level.
var levelTexts = map[string]string{
	"L0": "which.msprobe-modules", "L1": "which.msprobe-calls", "L2": "which.msprobe-kernels", "mix": "which.msprobe-mix", "debug": "which.msprobe-debug",
}

// describeMsprobeDump describes a dump of tensors or of their statistics.
func (e *explainer) describeMsprobeDump(o, scope *Object, task, level string) {
	mode := textsAt(scope, "data_mode")
	is := func(name string) bool { return slices.Contains(mode, name) }
	side := "all"
	switch {
	case is("input") && !is("output"):
		side = "input"
	case is("output") && !is("input"):
		side = "output"
	}
	data := text("word.statistics")
	if task == "tensor" {
		data = text("word.tensors-and-statistics")
	}
	e.addText("what.msprobe-dump", data, describeSides(side))
	e.addTextIf(is("forward") && !is("backward"), "which.only-forward")
	e.addTextIf(is("backward") && !is("forward"), "which.only-backward")
	digest := slices.ContainsFunc(textsAt(scope, "summary_mode"), func(s string) bool { return s == "md5" || s == "xor" })
	e.addTextIf(digest, "care.msprobe-digests")
	all := len(textsAt(o, "step"))+len(textsAt(scope, "list"))+len(textsAt(scope, "scope")) == 0
	e.addTextIf(task == "tensor" && all, "care.msprobe-large")
	e.addTextIf(level == "L1" || level == "mix", "care.msprobe-risk")
	root := localPath(o.setting("dump_path").Value)
	if root == "" {
		return
	}
	e.addCheck(root, missingName(task == "tensor", `"task": "tensor"`), missingName(side == "all", `"data_mode": ["all"]`))
	if task == "tensor" {
		e.addTensorCommands(root, false)
		return
	}
	e.addStatisticsCommands(root)
}

// describeMsprobeScope describes which calls and modules are chosen.
func (e *explainer) describeMsprobeScope(scope *Object) {
	list, from, tensors := textsAt(scope, "list"), textsAt(scope, "scope"), textsAt(scope, "tensor_list")
	e.addTextIf(len(list) > 0, "which.msprobe-list", shortenedNames(list))
	if len(from) == 2 {
		e.addText("which.msprobe-scope", shorten(printable(from[0])), shorten(printable(from[1])))
	}
	e.addTextIf(len(from) != 0 && len(from) != 2, "which.msprobe-no-scope", len(from))
	e.addTextIf(len(tensors) > 0, "which.msprobe-tensors", shortenedNames(tensors))
}

// describeMsprobeRounds describes ranks and steps.
func (e *explainer) describeMsprobeRounds(o *Object) {
	steps, ranks := textsAt(o, "step"), textsAt(o, "rank")
	e.addTextIf(len(steps) == 0, "which.every-step")
	e.addTextIf(len(steps) > 0, "which.steps", shortenedNames(steps))
	e.addTextIf(len(ranks) == 0, "which.every-rank")
	e.addTextIf(len(ranks) > 0, "which.ranks", shortenedNames(ranks))
}

// textsAt returns the strings and numbers of a setting that is a list or one of them.
func textsAt(o *Object, key string) (texts []string) {
	if o.table.find(key) == nil || !o.setting(key).Present() {
		return nil
	}
	node := o.setting(key).Node
	for _, v := range append([]*jsonpos.Value{node}, node.Elems...) {
		if (v.Kind == jsonpos.String || v.Kind == jsonpos.Number) && v.Text != "" {
			texts = append(texts, v.Text)
		}
	}
	return texts
}

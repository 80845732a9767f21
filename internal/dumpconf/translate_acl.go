package dumpconf

import (
	"errors"
	"slices"
	"strings"
)

// fromACL reads what an acl.json asks for.
func (t *translation) fromACL(a *ACL) error {
	k := a.kinds()
	w := &t.want
	switch {
	case k.watcher:
		return errors.New(`dump_scene "watcher" has no counterpart: only the ACL runtime watches memory`)
	case k.exception:
		w.kind, w.scene = dumpException, a.DumpScene.Value
		keep(t, a.DumpScene)
		t.unusedACL(a)
	case k.overflow:
		w.kind = dumpOverflow
		keep(t, a.DumpDebug)
		t.unusedACL(a)
	case k.ops:
		w.kind = dumpOps
		keep(t, a.DumpOpSwitch)
	case k.models:
		w.kind = dumpModels
	case k.kernel:
		return errors.New("dump_kernel_data has no counterpart: only the ACL runtime dumps what kernels print")
	default:
		return nil
	}
	keep(t, a.DumpPath)
	w.path = a.DumpPath.Value
	for _, s := range []Setting[string]{a.DumpOpSwitch, a.DumpDebug} {
		if s.Value == "off" {
			keep(t, s)
		}
	}
	if w.kind == dumpModels || w.kind == dumpOps {
		t.ordinaryACL(a)
	}
	return nil
}

// unusedACL passes over what has no effect beside an overflow or exception dump.
func (t *translation) unusedACL(a *ACL) {
	keep(t, a.DumpMode, a.DumpStep, a.DumpData, a.DumpLevel)
	keep(t, a.DumpStats)
	keep(t, a.DumpList)
}

// ordinaryACL reads what a dump of models or single operators asks for.
func (t *translation) ordinaryACL(a *ACL) {
	w := &t.want
	keep(t, a.DumpMode, a.DumpStep, a.DumpData)
	keep(t, a.DumpStats)
	if a.DumpLevel.Value == "all" {
		keep(t, a.DumpLevel)
	}
	w.mode, w.stats, w.steps = a.Mode(), a.Stats(), validSteps(a.Steps)
	if w.stats {
		w.which = valuesOf(a.DumpStats.Value)
		if w.which == nil {
			w.which = []string{"Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf"}
		}
	}
	everything := false
	for _, it := range a.DumpList.Value {
		layers := slices.DeleteFunc(valuesOf(it.Layer.Value), func(s string) bool { return s == "" })
		everything = everything || len(layers) == 0
		w.ops = append(w.ops, layers...)
		if len(layers) > 0 || !it.Layer.Present() {
			keep(t, it.Layer)
		}
		if it.ModelName.Value != "" {
			w.models = append(w.models, it.ModelName.Value)
			keep(t, it.ModelName)
		}
	}
	if everything && len(w.ops) > 0 {
		for _, it := range a.DumpList.Value {
			note(t, it.Layer, Approximated, both("another item dumps all operators, and so does the result", "其他项 dump 所有算子，结果也 dump 所有算子"))
		}
	}
	if everything {
		w.ops = nil
	}
	w.ops = unique(w.ops)
	w.models = unique(w.models)
}

// unique drops what occurs again.
func unique(values []string) []string {
	seen := make(map[string]bool, len(values))
	var out []string
	for _, v := range values {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// modelsLost notes that models cannot be told apart.
func (t *translation) modelsLost() {
	if t.r.ACL == nil {
		return
	}
	for _, it := range t.r.ACL.DumpList.Value {
		note(t, it.ModelName, NoCounterpart, both("models cannot be chosen: what is dumped is dumped of every model", "无法按模型选择：对所有模型生效"))
	}
}

// toACL writes an acl.json.
func (t *translation) toACL() *jsonObject {
	w := &t.want
	root := &jsonObject{}
	d := root.child("dump")
	if w.path != "" || w.kind != dumpException {
		d.set("dump_path", jsonText(t.pathOrPlaceholder("dump.dump_path")))
	}
	switch w.kind {
	case dumpException:
		d.set("dump_scene", jsonText(t.sceneForTarget()))
		return root
	case dumpOverflow:
		d.set("dump_debug", jsonText("on"))
		return root
	}
	item := &jsonObject{}
	if len(w.ops) > 0 {
		item.set("layer", texts(w.ops))
	}
	items := jsonArray{item}
	if w.kind == dumpOps && len(w.ops) == 0 && t.opt.TargetVersion.Before(sinceCANN82) {
		items = jsonArray{} // all operators, in the form of those releases
	}
	d.set("dump_list", items)
	d.set("dump_mode", jsonText(w.mode))
	if w.kind == dumpOps {
		d.set("dump_op_switch", jsonText("on"))
	}
	if w.stats {
		d.set("dump_data", jsonText("stats"))
		if len(w.which) > 0 {
			d.set("dump_stats", texts(w.which))
		}
	}
	if len(w.steps) > 0 {
		d.set("dump_step", jsonText(strings.Join(w.steps, "|")))
	}
	return root
}

func (t *translation) pathOrPlaceholder(path string) string {
	if t.want.path != "" {
		return t.want.path
	}
	t.set(path, both("the source names no folder; replace the placeholder %s", "源文件没有目录，请替换占位值 %s", folderPlaceholder))
	return folderPlaceholder
}

// sceneForTarget is the scene in the words of the target version.
func (t *translation) sceneForTarget() string {
	if !t.opt.TargetVersion.Before(sinceCANN82) {
		return t.want.scene
	}
	if o := t.r.Engine; o != nil && t.want.scene != "aic_err_brief_dump" {
		note(t, o.Exception, Approximated, both("without shapes, types and attributes, which the target version does not add", "不含 shape、类型和属性，目标版本不支持"))
	}
	return "lite_exception"
}

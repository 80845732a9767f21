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
		t.keep(a.DumpScene)
		t.unusedACL(a)
	case k.overflow:
		w.kind = dumpOverflow
		t.keep(a.DumpDebug)
		t.unusedACL(a)
	case k.ops:
		w.kind = dumpOps
		t.keep(a.DumpOpSwitch)
	case k.models:
		w.kind = dumpModels
	case k.kernel:
		return errors.New("dump_kernel_data has no counterpart: only the ACL runtime dumps what kernels print")
	default:
		return nil
	}
	t.keep(a.DumpPath)
	w.path = a.DumpPath.Value
	t.keepIf(a.DumpOpSwitch.Value == "off", a.DumpOpSwitch)
	t.keepIf(a.DumpDebug.Value == "off", a.DumpDebug)
	if w.kind == dumpModels || w.kind == dumpOps {
		t.ordinaryACL(a)
	}
	return nil
}

// unusedACL passes over what has no effect beside an overflow or exception dump.
func (t *translation) unusedACL(a *ACL) {
	t.keep(a.DumpMode, a.DumpStep, a.DumpData, a.DumpLevel, a.DumpStats, a.DumpList)
}

// ordinaryACL reads what a dump of models or single operators asks for.
func (t *translation) ordinaryACL(a *ACL) {
	w := &t.want
	t.keep(a.DumpMode, a.DumpStep, a.DumpData, a.DumpStats)
	t.keepIf(a.DumpLevel.Value == "all", a.DumpLevel)
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
		t.keepIf(len(layers) > 0, it.Layer)
		if it.ModelName.Value != "" {
			w.models = append(w.models, it.ModelName.Value)
			t.keep(it.ModelName)
		}
	}
	if everything && len(w.ops) > 0 {
		t.opsNote("note.all-operators")
		w.ops = nil
	}
	w.ops, w.models = unique(w.ops), unique(w.models)
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

// modelsLost notes that the result does not choose models.
func (t *translation) modelsLost() {
	if t.r.ACL == nil {
		return
	}
	for _, it := range t.r.ACL.DumpList.Value {
		t.note(it.ModelName, NoCounterpart, "note.models")
	}
}

// toACL writes an acl.json.
func (t *translation) toACL() *jsonObject {
	w := &t.want
	root := &jsonObject{}
	d := root.child("dump")
	if w.path != "" || w.kind != dumpException {
		d.set("dump_path", t.pathOrPlaceholder("dump.dump_path"))
	}
	switch w.kind {
	case dumpException:
		d.set("dump_scene", t.sceneForTarget())
		return root
	case dumpOverflow:
		d.set("dump_debug", "on")
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
	d.set("dump_mode", w.mode)
	if w.kind == dumpOps {
		d.set("dump_op_switch", "on")
	}
	if w.stats {
		d.set("dump_data", "stats")
	}
	if len(w.which) > 0 {
		d.set("dump_stats", texts(w.which))
	}
	if len(w.steps) > 0 {
		d.set("dump_step", strings.Join(w.steps, "|"))
	}
	return root
}

func (t *translation) pathOrPlaceholder(path string) string {
	if t.want.path != "" {
		return t.want.path
	}
	t.set(path, "note.no-folder", folderPlaceholder)
	return folderPlaceholder
}

// sceneForTarget is the scene in the words of the target version.
func (t *translation) sceneForTarget() string {
	if !t.opt.TargetVersion.Before(sinceCANN82) {
		return t.want.scene
	}
	if o := t.r.Engine; o != nil && t.want.scene != "aic_err_brief_dump" {
		t.note(o.Exception, Approximated, "note.brief-scene")
	}
	return "lite_exception"
}

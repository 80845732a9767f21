package dumpconf

import (
	"errors"
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
)

// fromACL reads what an acl.json asks for.
func (t *translation) fromACL(a *ACL) error {
	k, w := a.kinds(), &t.want
	switch {
	case k.watcher:
		return errors.New(`dump_scene "watcher" has no counterpart: only the ACL runtime watches memory`)
	case k.exception:
		w.kind, w.scene = dumpException, a.scene()
	case k.overflow:
		w.kind = dumpOverflow
	case k.ops:
		w.kind = dumpOps
	case k.models:
		w.kind = dumpModels
	case k.kernel:
		return errors.New("dump_kernel_data has no counterpart: only the ACL runtime dumps what kernels print")
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

// unique drops what occurs again.
func unique(values []string) []string { return appendNew(nil, make(map[string]bool), values...) }

// toACL writes an acl.json.
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
	// All single operators have another form in old releases.
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

// sceneForTarget is the scene in the words of the target version.
func (t *translation) sceneForTarget() string {
	if !t.opt.TargetVersion.Before(sinceCANN82) {
		return t.want.scene
	}
	if t.want.scene != "aic_err_brief_dump" {
		t.noteAs("dump_scene", Approximated, "note.brief-scene")
	}
	return "lite_exception"
}

package dumpconf

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// fromEngine reads what options of the graph engine or the TensorFlow adapter
// ask for.
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
		return errors.New("ge.exec.enableDumpDebug has no effect without ge.exec.dumpDebugMode, there is nothing to translate")
	case scene != "":
		w.kind, w.scene = dumpException, scene
		t.keep(o.at("enable_exception_dump"))
		return nil // the engine does not use dumpPath for it
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

// toEngine writes options of the graph engine.
func (t *translation) toEngine() (*jsonpos.Value, error) {
	w, out := &t.want, jsonObject()
	set := func(name, value string) { add(out, "ge.exec."+name, jsonString(value)) }
	if isRemote(w.path) {
		return nil, fmt.Errorf("dump_path %s is on another host, which the graph engine cannot write to", show(w.path))
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
			return nil, errors.New("a dump of single operators has no counterpart: the options of the graph engine act on graphs only")
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

// exceptionLevel is the scene in the words of the graph engine.
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

// engineStepList writes ranges as the graph engine wants them: a range of one
// step is a step.
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

// engineLayers are the operators without those whose names cannot be given.
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

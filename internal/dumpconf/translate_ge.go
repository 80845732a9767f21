package dumpconf

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"dumptool/internal/lang"
)

// fromEngine reads what options of the graph engine or the TensorFlow adapter
// ask for.
func (t *translation) fromEngine(o *EngineOptions) error {
	w := &t.want
	t.keep(o.Enable, o.EnableDebug)
	scene := o.scene()
	t.keepIf(o.Exception.Value == "0", o.Exception)
	switch {
	case o.Enable.Value == "1":
		w.kind, w.mode, w.stats = dumpModels, o.mode(), o.Data.Value == "stats"
		t.keep(o.Mode, o.Data, o.Step, o.Layer)
		w.steps, w.ops = validSteps(o.Steps), unique(strings.Fields(o.Layer.Value))
	case o.overflows():
		w.kind = dumpOverflow
		t.keep(o.DebugMode)
		if o.DebugMode.Value != "all" {
			t.note(o.DebugMode, Approximated, "note.all-overflows")
		}
	case o.EnableDebug.Value == "1":
		return errors.New("ge.exec.enableDumpDebug has no effect without ge.exec.dumpDebugMode, there is nothing to translate")
	case scene != "":
		w.kind, w.scene = dumpException, scene
		t.keep(o.Exception)
		return nil // the engine does not use dumpPath for it
	default:
		return nil
	}
	w.path = o.Path.Value
	t.keep(o.Path)
	if scene != "" {
		t.note(o.Exception, NoCounterpart, "note.exception-beside")
	}
	return nil
}

// toEngine writes options of the graph engine.
func (t *translation) toEngine() (*jsonObject, error) {
	w := &t.want
	out := &jsonObject{}
	set := func(name, value string) { out.set("ge.exec."+name, value) }
	if isRemote(w.path) {
		return nil, fmt.Errorf("dump_path %s is on another host, which the graph engine cannot write to", show(w.path))
	}
	switch w.kind {
	case dumpException:
		set("enable_exception_dump", t.exceptionLevel())
		if a := t.r.ACL; a != nil {
			t.note(a.DumpPath, NoCounterpart, "note.exception-folder")
		}
		return out, nil
	case dumpOverflow:
		set("enableDumpDebug", "1")
		set("dumpPath", t.pathOrPlaceholder("ge.exec.dumpPath"))
		set("dumpDebugMode", "all")
		t.set("ge.exec.dumpDebugMode", "note.debug-mode-all")
		return out, nil
	}
	if a := t.r.ACL; a != nil && w.kind == dumpOps {
		if len(a.DumpList.Value) == 0 {
			return nil, errors.New("a dump of single operators has no counterpart: the options of the graph engine act on graphs only")
		}
		t.note(a.DumpOpSwitch, NoCounterpart, "note.op-switch")
	}
	t.modelsLost()
	set("enableDump", "1")
	set("dumpPath", t.pathOrPlaceholder("ge.exec.dumpPath"))
	if len(w.steps) > 0 {
		set("dumpStep", engineStepList(w.steps))
	}
	set("dumpMode", w.mode)
	if w.stats {
		set("dumpData", "stats")
		t.statsLost()
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
		if a := t.r.ACL; a != nil {
			t.note(a.DumpScene, Approximated, "note.brief-exception")
		}
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

// statsLost notes that statistics cannot be chosen.
func (t *translation) statsLost() {
	switch {
	case t.r.ACL != nil:
		t.note(t.r.ACL.DumpStats, NoCounterpart, "note.statistics")
	case t.r.MindSpore != nil:
		t.note(t.r.MindSpore.StatisticCategory, NoCounterpart, "note.statistics")
	}
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
		t.opsNote("note.layer-names", names(lost))
	}
	return out
}

package dumpconf

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// fromEngine reads what options of the graph engine or the TensorFlow adapter
// ask for.
func (t *translation) fromEngine(o *EngineOptions) error {
	w := &t.want
	keep(t, o.Enable, o.EnableDebug)
	scene := o.scene()
	if o.Exception.Value == "0" {
		keep(t, o.Exception)
	}
	switch {
	case o.Enable.Value == "1":
		w.kind, w.mode, w.stats = dumpModels, o.mode(), o.Data.Value == "stats"
		keep(t, o.Mode, o.Data, o.Step, o.Layer)
		w.steps, w.ops = validSteps(o.Steps), unique(strings.Fields(o.Layer.Value))
	case o.overflows():
		w.kind = dumpOverflow
		keep(t, o.DebugMode)
		if o.DebugMode.Present() && o.DebugMode.Value != "all" {
			note(t, o.DebugMode, Approximated, both("all overflows are looked for", "检测所有溢出"))
		}
	case o.EnableDebug.Value == "1":
		return errors.New("ge.exec.enableDumpDebug has no effect without ge.exec.dumpDebugMode, there is nothing to translate")
	case scene != "":
		w.kind, w.scene = dumpException, scene
		keep(t, o.Exception)
		return nil // the engine does not use dumpPath for it
	default:
		return nil
	}
	w.path = o.Path.Value
	keep(t, o.Path)
	if scene != "" {
		note(t, o.Exception, NoCounterpart, both("an exception dump cannot be added to another dump", "异常 dump 不能与其他 dump 同时配置"))
	}
	return nil
}

// toEngine writes options of the graph engine.
func (t *translation) toEngine() (*jsonObject, error) {
	w := &t.want
	out := &jsonObject{}
	set := func(name, value string) { out.set("ge.exec."+name, jsonText(value)) }
	if isRemote(w.path) {
		return nil, fmt.Errorf("dump_path %s is on another host, which the graph engine cannot write to", show(w.path))
	}
	switch w.kind {
	case dumpException:
		set("enable_exception_dump", t.exceptionLevel())
		if a := t.r.ACL; a != nil {
			note(t, a.DumpPath, NoCounterpart, both("NPU_COLLECT_PATH, then ASCEND_WORK_PATH, decide, else ./extra-info", "由 NPU_COLLECT_PATH、ASCEND_WORK_PATH 依次决定，否则为 ./extra-info"))
		}
		return out, nil
	case dumpOverflow:
		set("enableDumpDebug", "1")
		set("dumpPath", t.pathOrPlaceholder("ge.exec.dumpPath"))
		set("dumpDebugMode", "all")
		t.set("ge.exec.dumpDebugMode", both("all, the only mode that every product knows", "all，所有产品都支持的模式"))
		return out, nil
	}
	if a := t.r.ACL; a != nil && w.kind == dumpOps {
		if len(a.DumpList.Value) == 0 {
			return nil, errors.New("a dump of single operators has no counterpart: the options of the graph engine act on graphs only")
		}
		note(t, a.DumpOpSwitch, NoCounterpart, both("operators that are called one by one are not dumped: the options act on graphs only", "单算子调用不会 dump：选项仅对图生效"))
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
			note(t, a.DumpScene, Approximated, both("without memory, registers and call stack: 1 is the most that the graph engine does", "不含核内内存、寄存器和调用栈：图引擎最多支持 1"))
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
		if s := parseStep(text, 0); s.Range && s.From == s.To {
			out[i] = fmt.Sprint(s.From)
		}
	}
	return strings.Join(out, "|")
}

// statsLost notes that statistics cannot be chosen.
func (t *translation) statsLost() {
	text := both("statistics cannot be chosen", "无法选择统计项")
	switch {
	case t.r.ACL != nil:
		note(t, t.r.ACL.DumpStats, NoCounterpart, text)
	case t.r.MindSpore != nil:
		note(t, t.r.MindSpore.StatisticCategory, NoCounterpart, text)
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
		t.opsNote(both("names with blanks, commas or bars cannot be given: %s", "名称中不能含空格、逗号或竖线：%s", names(lost)))
	}
	return out
}

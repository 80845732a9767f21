package dumpconf

import (
	"cmp"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// The dump options of the graph engine, after its documentation, and the arguments of
// the TensorFlow adapter, which are the same under other names.
var (
	geOptions = keyTable{where: Text{EN: "the options", ZH: "选项"}, open: true, keys: engineKeys(false)}
	tfOptions = keyTable{where: Text{EN: "the options", ZH: "选项"}, open: true, nulls: true, keys: engineKeys(true)}
)

var dumpDebugModes = []string{"aicore_overflow", "atomic_overflow", "all"}

// engineRows have the name that an option has for the graph engine, without its prefix,
// and the one that it has for the adapter, which may be none.
var engineRows = []struct {
	ge, tf string
	key    Key
}{
	{"enableDump", "enable_dump", Key{rule: "GE001", carried: true}},
	{"enableDumpDebug", "enable_dump_debug", Key{rule: "GE001", carried: true}},
	{"dumpPath", "dump_path", Key{rule: "GE009", as: "dump_path"}},
	{"dumpStep", "dump_step", Key{rule: "GE009", as: "dump_step"}},
	{"dumpMode", "dump_mode", Key{Values: dumpModes, rule: "GE005", as: "dump_mode"}},
	{"dumpData", "dump_data", Key{Values: dumpDatas, rule: "GE005", as: "dump_data"}},
	{"dumpLayer", "dump_layer", Key{rule: "GE009", as: "layer"}},
	{"dumpDebugMode", "dump_debug_mode", Key{Values: dumpDebugModes, rule: "GE006"}},
	{"enable_exception_dump", "", Key{Values: []string{"0", "1", "2"}, Default: "0", rule: "GE009", as: "dump_scene"}},
}

func engineKeys(tf bool) []Key {
	var keys []Key
	for _, r := range engineRows {
		k := r.key
		switch k.Name = "ge.exec." + r.ge; {
		case tf && r.tf == "":
			continue
		case tf && k.rule == "GE001":
			k.Type = TypeBool
			fallthrough
		case tf:
			k.Name = r.tf
		}
		keys = append(keys, k)
	}
	return keys
}

// EngineOptions are the dump options of the graph engine or the TensorFlow
// adapter.
type EngineOptions struct {
	TF   bool // names and types of the TensorFlow adapter
	Root *Object

	Steps []lang.Step // nil means all
}

func readEngine(d *decoder, root *jsonpos.Value, tf bool) *EngineOptions {
	table := &geOptions
	if tf {
		table = &tfOptions
	}
	e := &EngineOptions{TF: tf, Root: d.top(root, table)}
	if v := e.at("dumpStep").Value; v != "" && !strings.EqualFold(v, "none") {
		e.Steps = lang.ParseSteps(v)
	}
	return e
}

// at returns a setting under the name that it has for the graph engine.
func (e *EngineOptions) at(name string) Setting {
	if !e.TF {
		return e.Root.at("ge.exec." + name)
	}
	for _, r := range engineRows {
		if r.ge == name && r.tf != "" {
			return e.Root.at(r.tf)
		}
	}
	return Setting{key: &Key{Name: name}}
}

// isOn reports whether a switch is on: "1" of the graph engine, true of the adapter.
func (e *EngineOptions) isOn(name string) bool {
	s := e.at(name)
	return s.Value == "1" || e.TF && s.isTrue()
}

// on reports whether either dump is on.
func (e *EngineOptions) on() bool { return e.isOn("enableDump") || e.isOn("enableDumpDebug") }

// switchOn is the switch of the dump that is on, the ordinary one first.
func (e *EngineOptions) switchOn() Setting {
	if e.isOn("enableDump") {
		return e.at("enableDump")
	}
	return e.at("enableDumpDebug")
}

// overflows reports whether overflow dump is on and effective: the graph engine
// needs the mode, the TensorFlow adapter has a default.
func (e *EngineOptions) overflows() bool {
	return e.isOn("enableDumpDebug") && (e.TF || e.at("dumpDebugMode").Value != "")
}

// scene is the exception dump in the words of the ACL runtime, or nothing.
func (e *EngineOptions) scene() string {
	switch e.at("enable_exception_dump").Value {
	case "1":
		return "aic_err_norm_dump"
	case "2":
		return "aic_err_brief_dump"
	default:
		return ""
	}
}

// mode is the dump mode or its default.
func (e *EngineOptions) mode() string { return cmp.Or(e.at("dumpMode").Value, "output") }

// stats reports whether statistics are dumped in place of tensors.
func (e *EngineOptions) stats() bool { return e.at("dumpData").Value == "stats" }

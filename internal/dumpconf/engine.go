package dumpconf

import (
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// EngineOptions are the dump options of the graph engine or the TensorFlow
// adapter.
type EngineOptions struct {
	TF   bool // names and types of the TensorFlow adapter
	Root Object

	Enable, EnableDebug                      Setting[string] // "0" or "1"
	Path, Step, Mode, Data, Layer, DebugMode Setting[string]
	Exception                                Setting[string] // graph engine only
	Steps                                    []lang.Step     // of Step; nil means all
}

func readEngine(d *decoder, root *jsonpos.Value, tf bool) *EngineOptions {
	table := &geOptions
	if tf {
		table = &tfOptions
	}
	e := &EngineOptions{TF: tf, Root: d.top(root, table)}
	name := func(ge, tf string) string {
		if e.TF {
			return tf
		}
		return "ge.exec." + ge
	}
	e.Enable = e.onOff(d, name("enableDump", "enable_dump"))
	e.EnableDebug = e.onOff(d, name("enableDumpDebug", "enable_dump_debug"))
	e.Path = e.str(d, name("dumpPath", "dump_path"))
	e.Step = e.str(d, name("dumpStep", "dump_step"))
	e.Mode = e.str(d, name("dumpMode", "dump_mode"))
	e.Data = e.str(d, name("dumpData", "dump_data"))
	e.Layer = e.str(d, name("dumpLayer", "dump_layer"))
	e.DebugMode = e.str(d, name("dumpDebugMode", "dump_debug_mode"))
	if !e.TF {
		e.Exception = d.str(e.Root, "ge.exec.enable_exception_dump")
	}
	if v := e.Step.Value; v != "" && !strings.EqualFold(v, "none") {
		e.Steps = lang.ParseSteps(v)
	}
	return e
}

// str reads a string. The adapter's None, null in JSON, is the same as no key.
func (e *EngineOptions) str(d *decoder, name string) Setting[string] {
	if m := e.Root.Node.Get(name); e.TF && m != nil && m.Value.Kind == jsonpos.Null {
		return Setting[string]{Path: jsonpos.JoinPath(e.Root.Path, name)}
	}
	return d.str(e.Root, name)
}

// onOff reads a switch: "0" or "1" of the graph engine, a boolean of the
// TensorFlow adapter.
func (e *EngineOptions) onOff(d *decoder, name string) Setting[string] {
	if !e.TF {
		return d.str(e.Root, name)
	}
	b := d.boolean(e.Root, name)
	s := Setting[string]{Path: b.Path, Key: b.Key, Node: b.Node, OK: b.OK}
	if b.OK {
		s.Value = "0"
	}
	if b.Value {
		s.Value = "1"
	}
	return s
}

// on reports whether either dump is on.
func (e *EngineOptions) on() bool { return e.Enable.Value == "1" || e.EnableDebug.Value == "1" }

// switchOn is the switch of the dump that is on, the ordinary one first.
func (e *EngineOptions) switchOn() Setting[string] {
	if e.Enable.Value == "1" {
		return e.Enable
	}
	return e.EnableDebug
}

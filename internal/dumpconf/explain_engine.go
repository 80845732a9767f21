package dumpconf

import "strings"

func (e *explainer) engine(o *EngineOptions) {
	folders := "{time}/{device_id}/ge_default_{timestamp}_{n}/{model_id}/{data_index}"
	if o.TF {
		folders = "{time}/{device_id}/{graph_name}/{model_id}/{data_index}"
	}
	switch {
	case o.Enable.Value == "1":
		e.engineDump(o, folders)
	case o.overflows():
		kind := o.DebugMode.Value
		if kind == "" {
			kind = "all"
		}
		e.active("what.engine-overflow-dump", shorten(printable(kind)))
		e.overflowFiles(localPath(o.Path.Value), folders)
	case o.EnableDebug.Value == "1":
		e.say("what.no-debug-mode")
	}
	if scene := o.scene(); scene != "" {
		e.exception(scene, "")
		e.say("care.exception-first")
	}
	e.when(!e.out.Active && !o.on(), "what.engine-off")
	if !e.out.Active {
		return
	}
	e.when(o.on(), "where.must-exist-engine")
	e.when(o.on(), "environment.acl-overrides")
	e.when(o.on(), "environment.collect-engine")
	e.when(o.TF, "environment.tf-arguments")
	e.when(!o.TF, "environment.engine-options")
}

// overflows reports whether overflow dump is on and effective: the graph engine
// needs the mode, the TensorFlow adapter has a default.
func (o *EngineOptions) overflows() bool {
	return o.EnableDebug.Value == "1" && (o.TF || o.DebugMode.Value != "")
}

// scene is the exception dump in the words of the ACL runtime, or nothing.
func (o *EngineOptions) scene() string {
	switch o.Exception.Value {
	case "1":
		return "aic_err_norm_dump"
	case "2":
		return "aic_err_brief_dump"
	default:
		return ""
	}
}

// mode is the dump mode or its default.
func (o *EngineOptions) mode() string {
	if o.Mode.Value == "" {
		return "output"
	}
	return o.Mode.Value
}

func (e *explainer) engineDump(o *EngineOptions, folders string) {
	data, file := text("word.tensors"), opFile
	if o.Data.Value == "stats" {
		data, file = text("word.statistics"), opFile+".csv"
	}
	e.active("what.graph-dump", data, sides(o.mode()))
	layers := strings.Fields(o.Layer.Value)
	e.when(len(layers) > 0, "which.operators", names(layers))
	e.when(len(layers) == 0, "which.all-operators")
	if len(layers) == 1 {
		file = strings.Replace(file, "{op_name}", fileSafe(layers[0]), 1)
	}
	e.steps(o.Step.Value, o.Steps)
	e.say("which.every-device")
	root := localPath(o.Path.Value)
	e.files(root, folders, file)
	if o.Data.Value == "stats" {
		e.say("format.csv-engine")
		e.say("read.csv-engine")
		return
	}
	e.tensorFormat(o.mode())
	e.readTensors(root, true)
	e.say("care.large-graph")
}

package dumpconf

import (
	"cmp"
	"strings"
)

func (e *explainer) engine(o *EngineOptions) {
	folders := "{time}/{device_id}/ge_default_{timestamp}_{n}/{model_id}/{data_index}"
	if o.TF {
		folders = "{time}/{device_id}/{graph_name}/{model_id}/{data_index}"
	}
	switch {
	case o.isOn("enableDump"):
		e.engineDump(o, folders)
	case o.overflows():
		kind := cmp.Or(o.at("dumpDebugMode").Value, "all")
		e.active("what.engine-overflow-dump", shorten(printable(kind)))
		e.overflowFiles(localPath(o.at("dumpPath").Value), folders)
	case o.isOn("enableDumpDebug"):
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

func (e *explainer) engineDump(o *EngineOptions, folders string) {
	data, file := dataAndFile(o.stats())
	e.active("what.graph-dump", data, sides(o.mode()))
	layers := strings.Fields(o.at("dumpLayer").Value)
	e.when(len(layers) > 0, "which.operators", names(layers))
	e.when(len(layers) == 0, "which.all-operators")
	if len(layers) == 1 {
		file = strings.Replace(file, "{op_name}", fileSafe(layers[0]), 1)
	}
	e.steps(o.at("dumpStep").Value, o.Steps)
	e.say("which.every-device")
	root := localPath(o.at("dumpPath").Value)
	e.files(root, folders, file)
	if o.stats() {
		e.say("format.csv-engine")
		e.say("read.csv-engine")
		return
	}
	e.say("format.dump-files", sides(o.mode()))
	e.readTensors(root, true)
	e.say("care.large-graph")
}

package dumpconf

import (
	"cmp"
	"slices"
	"strings"
)

const (
	opFile       = "{op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}"
	opdebugFile  = "Opdebug.Node_OpDebug.{task_id}.{stream_id}.{timestamp}"
	modelFolders = "{model_name}/{model_id}/{data_index}"
)

func (e *explainer) describeACL(a *ACL) {
	k, path := a.kinds(), a.setting("dump_path").Value
	switch {
	case k.exception:
		e.describeException(e.scene(a.scene()), path)
	case k.overflow:
		e.addActive("what.overflow-dump")
		e.addOverflowPatterns(localPath(path), "{time}/{device_id}/"+modelFolders)
	case k.watcher:
		e.describeWatcher(a)
	case k.ops || k.models:
		e.describeACLDump(a, k)
	}
	if k.kernel {
		e.describeKernelData(a)
	}
	if scene, variable := e.sceneVariable(); variable != "" && !e.out.Active {
		e.addText("what.by-variable")
		e.describeException(e.scene(scene), path)
		k.exception = true
	}
	if !e.out.Active {
		e.describeNoDump(a)
		return
	}
	e.describeACLPath(path, k)
	e.describeACLEnvironment(k)
}

// describeNoDump explains why there is no dump.
func (e *explainer) describeNoDump(a *ACL) {
	switch newer := e.newerSwitches(a); {
	case newer != "":
		e.addText("what.newer-keys", e.opt.TargetVersion, newer)
	case !a.Dump.Present():
		e.addText("what.no-dump-object")
	case len(a.Dump.Node.Members) == 0:
		e.addText("what.empty-dump")
	case a.setting("dump_list").OK:
		e.addText("what.empty-list")
	default:
		e.addText("what.nothing-on")
	}
}

// newerSwitches lists the keys that would switch on a dump in a newer target version.
func (e *explainer) newerSwitches(a *ACL) string {
	var keys []string
	for _, f := range e.r.newerKeys() {
		switch key := lastPart(f.Path); key {
		case "dump_debug", "dump_scene", "dump_kernel_data":
			if a.Dump.Node.Get(key).Value.Text != "off" {
				keys = append(keys, key)
			}
		}
	}
	return joinValues(keys)
}

// describeACLDump describes dumps of models and single operators.
func (e *explainer) describeACLDump(a *ACL, k aclKinds) {
	data, file := dataAndFile(a.dumpsStatistics())
	root := localPath(a.setting("dump_path").Value)
	if k.models {
		e.addActive("what.model-dump", data, describeSides(a.dumpMode()))
		for _, it := range firstN(maxNames, a.items()) {
			e.describeItem(it)
			folders, name := modelFolders, file
			if model := it.setting("model_name").Value; model != "" {
				folders = strings.Replace(folders, "{model_name}", pathName(model), 1)
			}
			if layers := valuesOf(it.setting("layer").Elems); len(layers) == 1 {
				name = strings.Replace(name, "{op_name}", pathName(layers[0]), 1)
			}
			e.addPattern(root, "{time}/{device_id}", folders, name)
		}
		more := len(a.items()) - maxNames
		e.addTextIf(more > 0, "which.more-items", more)
	}
	if k.ops {
		e.addActive("what.op-dump", data, describeSides(a.dumpMode()))
		e.addPattern(root, "{time}/{device_id}", file)
	}
	level, steps := a.setting("dump_level").Value, a.setting("dump_step").Value
	e.addTextIf(level == "op", "which.graph-level")
	e.addTextIf(level == "kernel", "which.kernel-level")
	e.addTextIf(level != "op" && level != "kernel", "which.both-levels")
	e.describeSteps(steps, a.Steps)
	e.addTextIf(steps != "", "environment.engine-step")
	e.addTextIf(steps != "", "care.steps-chosen")
	e.addText("which.every-device")
	e.addTextIf(!k.kernel && !e.opt.TargetVersion.IsBefore(sinceCANN85), "care.kernel-data-too")
	e.addCheck(root, missingName(!a.dumpsStatistics(), `"dump_data": "tensor"`), missingName(a.dumpMode() == "all", `"dump_mode": "all"`))
	if a.dumpsStatistics() {
		columns := text("word.default-statistics")
		if v := valuesOf(a.setting("dump_stats").Elems); len(v) > 0 {
			columns = shortenedNames(v)
		}
		e.addText("format.csv", columns)
		e.addStatisticsCommands(root)
		e.addText("read.csv")
		return
	}
	e.addText("format.dump-files", describeSides(a.dumpMode()))
	e.addTensorCommands(root, true)
}

// dataAndFile returns the contents of a dump of tensors, or of statistics, and the name of its
// files.
func dataAndFile(stats bool) (data Text, file string) {
	if stats {
		return text("word.statistics"), opFile + ".csv"
	}
	return text("word.tensors"), opFile
}

// describeItem describes the models and operators of an item of dump_list.
func (e *explainer) describeItem(it *Object) {
	model := text("word.every-model")
	if it.setting("model_name").Value != "" {
		model = text("word.model", shorten(printable(it.setting("model_name").Value)))
	}
	ops := text("word.all-operators")
	if layers := valuesOf(it.setting("layer").Elems); len(layers) > 0 {
		ops = text("word.operators", shortenedNames(layers))
	}
	e.addText("which.item", model, ops)
	for _, rg := range firstN(maxNames, it.setting("opname_range").Objects) {
		e.addText("which.range", model, shorten(printable(rg.setting("begin").Value)), shorten(printable(rg.setting("end").Value)))
	}
	e.describeBlacklist(model, it.setting("optype_blacklist").Objects, text("word.of-type"))
	e.describeBlacklist(model, it.setting("opname_blacklist").Objects, text("word.of-name"))
}

func (e *explainer) describeBlacklist(model Text, entries []*Object, kind Text) {
	var out []string
	for _, b := range entries {
		name := b.setting("name").Value
		if pos := valuesOf(b.setting("pos").Elems); len(pos) > 0 {
			name += " (" + strings.Join(pos, " ") + ")"
		}
		if b.setting("name").Value != "" {
			out = append(out, name)
		}
	}
	e.addTextIf(len(out) > 0, "which.blacklist", model, kind, shortenedNames(out))
}

// addTensorCommands adds the commands for tensor files; dumps adds the conversion of dump files.
func (e *explainer) addTensorCommands(folder string, dumps bool) {
	e.addCommand(folder, "dumptool inspect --stats %s", "why.inspect")
	if dumps {
		e.addCommand(folder, "dumptool convert -d %s -out out -f NCHW", "why.convert-host")
	}
	e.addCommand(folder, "dumptool compare --cpu GOLDEN --npu %s -out report", "why.compare")
	e.addCommand(folder, "dumptool overflow scan %s", "why.scan")
}

// addStatisticsCommands adds the commands for files with statistics.
func (e *explainer) addStatisticsCommands(folder string) {
	e.addCommand(folder, "dumptool overflow scan %s", "why.scan-statistics")
	e.addCommand(folder, "dumptool compare --cpu GOLDEN --npu %s -out report", "why.compare")
}

// addOverflowPatterns describes the files of an overflow dump of any schema of the runtime.
func (e *explainer) addOverflowPatterns(root, folders string) {
	e.addText("which.overflowing")
	e.addPattern(root, folders, opFile)
	e.addPattern(root, folders, opdebugFile)
	e.addText("format.dump-files", describeSides("all"))
	e.addText("format.opdebug-files")
	e.addOverflowCommands(root)
	e.addTextIf(e.r.Engine == nil, "care.status-check")
}

func (e *explainer) addOverflowCommands(root string) {
	e.addCommand(root, "dumptool overflow analyze -d %s", "why.analyze")
	e.addCommand(root, "dumptool overflow decode --extended %s", "why.decode")
}

// describeACLPath describes where paths begin.
func (e *explainer) describeACLPath(p string, k aclKinds) {
	switch {
	case k.exception || p == "":
	case isRemote(p):
		host, _, _ := strings.Cut(p, ":")
		e.addText("where.on-host", host)
	case placeholder().MatchString(p):
		e.addText("where.literal", quoteJSON(p))
	case !strings.HasPrefix(p, "/"):
		e.addText("where.relative", quoteJSON(p))
	}
	e.addTextIf(p != "" && !k.exception, "where.must-exist")
	e.addTextIf(k.usesFolders(), "where.time")
	e.addTextIf(k.usesFolders(), "where.mapping")
}

// describeACLEnvironment describes calls and variables.
func (e *explainer) describeACLEnvironment(k aclKinds) {
	if k.usesFolders() {
		v, set := e.opt.lookupEnv("NPU_COLLECT_PATH")
		e.addTextIf(set, "environment.collect-is-set", shorten(printable(v)))
		e.addTextIf(!set, "environment.collect-unset")
		scene, variable := e.sceneVariable()
		e.addTextIf(variable == sceneVariable, "environment.scene-is-set", variable, scene)
		e.addText("environment.load-order")
		e.addText("care.slow")
	}
	e.addTextIf(k.models, "care.no-core")
	e.addTextIf((k.models || k.ops) && !e.r.ACL.dumpsStatistics() && !e.opt.TargetVersion.IsBefore(sinceCANN70), "care.large-model")
}

// exceptionFolder is the folder of exception dumps below their root.
const exceptionFolder = "extra-info/data-dump/{device_id}"

// describeException describes dumps of failing operators. path is the path in the file, or empty.
func (e *explainer) describeException(scene, path string) {
	const timePattern = "{YYYYMMDDHHMMSSmmm}"
	root := e.exceptionRoot(path)
	parts := text("word.exception-parts")
	e.addText("which.failing-operator")
	switch scene {
	case "aic_err_norm_dump":
		e.addActive("what.exception-normal", parts)
		e.addPattern(root, exceptionFolder, opFile)
		e.addText("format.dump-files", describeSides("all"))
	case "aic_err_detail_dump":
		e.addActive("what.exception-detailed", parts)
		e.addPattern(root, exceptionFolder, "*.{stream_id}.{task_id}.{timestamp}.core")
		e.addText("read.core-files")
		e.addText("care.detail-needs")
	default:
		e.addActive("what.exception-brief", parts)
		e.addPattern(root, exceptionFolder, "exception_info.{stream_id}.{task_id}."+timePattern)
	}
	e.addTextIf(scene == "lite_exception", "care.lite-alias")
	e.addTextIf(scene != "aic_err_norm_dump", "format.exception-names")
	folder := strings.TrimSuffix(root, "/") + "/extra-info/data-dump"
	e.addCommand(folder, "dumptool inspect --stats %s", "why.inspect")
	e.addCommand(folder, "dumptool convert -d %s -out out", "why.convert")
	_, variable := e.sceneVariable()
	e.addTextIf(e.r.Engine == nil && variable == "", "environment.scene-order")
}

// sceneVariable is the variable that overrides dump_scene.
const sceneVariable = "ASCEND_DUMP_SCENE"

// sceneVariable returns the scene set by the environment and the variable that sets it; both are
// empty if the file decides.
func (e *explainer) sceneVariable() (scene, variable string) {
	if v, set := e.opt.lookupEnv(sceneVariable); set && !e.opt.TargetVersion.IsBefore(sinceCANN85) && slices.Contains(exceptionScenes[1:], v) {
		return v, sceneVariable
	}
	if _, set := e.opt.lookupEnv("NPU_COLLECT_PATH"); set {
		return "aic_err_norm_dump", "NPU_COLLECT_PATH"
	}
	return "", ""
}

// scene returns the effective scene: of the environment, else of the file.
func (e *explainer) scene(file string) string {
	scene, variable := e.sceneVariable()
	if variable == "" {
		return file
	}
	e.addText("environment.scene-decided", variable, scene)
	return scene
}

// exceptionRoot returns the root of exception dumps. The graph engine only reads the environment.
func (e *explainer) exceptionRoot(path string) string {
	variables := []string{"ASCEND_DUMP_PATH", "NPU_COLLECT_PATH", "ASCEND_WORK_PATH"}
	if e.r.Engine != nil {
		variables = variables[1:]
	}
	name, root := e.opt.firstEnv(variables...)
	e.addTextIf(name != "", "where.variable-decides", name)
	e.addTextIf(name == "" && e.r.Engine != nil, "where.engine-exceptions")
	e.addTextIf(name == "" && e.r.Engine == nil, "where.exception-order")
	return cmp.Or(root, localPath(path), ".")
}

// describeWatcher describes a dump of the memory watcher.
func (e *explainer) describeWatcher(a *ACL) {
	e.addActive("what.watcher")
	root := localPath(a.setting("dump_path").Value)
	folders := "{time}/{device_id}/" + modelFolders
	count := 0
	for _, it := range firstN(maxNames, a.items()) {
		watched, after := valuesOf(it.setting("watcher_nodes").Elems), valuesOf(it.setting("layer").Elems)
		ops := text("word.every-operator")
		if len(after) > 0 {
			ops = text("word.operators", shortenedNames(after))
		} else {
			after = []string{"{executed}"}
		}
		e.addText("which.watched", shortenedNames(watched), ops)
		for _, x := range after {
			for _, w := range watched {
				if count++; count > 2*maxNames {
					break
				}
				e.addPattern(root, folders, "{op_type of "+pathName(w)+"}."+pathName(x)+"_To_"+pathName(w)+".{task_id}.{stream_id}.{timestamp}")
			}
		}
	}
	e.addTextIf(len(a.items()) == 0, "which.nothing-watched")
	e.addTextIf(count > 2*maxNames, "where.more-pairs")
	e.addText("format.dump-files", describeSides("output"))
	e.addCommand(root, "dumptool overflow watch %s", "why.watch")
	e.addCommand(root, "dumptool inspect --stats %s", "why.inspect")
	e.addCommand(root, "dumptool convert -d %s -out out -f NCHW", "why.convert-host")
	e.addText("care.watcher-limits")
}

// describeKernelData describes the output of Ascend C kernels.
func (e *explainer) describeKernelData(a *ACL) {
	e.addActive("what.kernel-data", shorten(printable(a.setting("dump_kernel_data").Value)))
	_, root := e.opt.firstEnv("ASCEND_DUMP_PATH", "ASCEND_WORK_PATH")
	e.addPattern(cmp.Or(root, localPath(a.setting("dump_path").Value)), "[printf/]{time}/asc_kernel_data_{aic|aiv|simt}_{core}.bin")
	e.addText("format.kernel-files")
	e.addText("environment.kernel-path")
}

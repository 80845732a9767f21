package dumpconf

import (
	"slices"
	"strings"
)

// exceptionFolder is where dumps of exceptions are, below the root.
const exceptionFolder = "extra-info/data-dump/{device_id}"

// exception is about dumps of failing operators. The path is that of the file,
// or empty.
func (e *explainer) exception(scene, path string) {
	const when = "{YYYYMMDDHHMMSSmmm}"
	root := e.exceptionRoot(path)
	brief := text("word.exception-parts")
	e.say("which.failing-operator")
	switch scene {
	case "aic_err_norm_dump":
		e.active("what.exception-normal", brief)
		e.files(root, exceptionFolder, opFile)
		e.tensorFormat("all")
	case "aic_err_detail_dump":
		e.active("what.exception-detailed", brief)
		e.files(root, exceptionFolder, "*.{stream_id}.{task_id}.{timestamp}.core")
		e.say("read.core-files")
		e.say("care.detail-needs")
	default:
		e.active("what.exception-brief", brief)
		e.files(root, exceptionFolder, "exception_info.{stream_id}.{task_id}."+when)
	}
	e.when(scene == "lite_exception", "care.lite-alias")
	e.when(scene != "aic_err_norm_dump", "format.exception-names")
	folder := strings.TrimSuffix(root, "/") + "/extra-info/data-dump"
	e.run(folder, "dumptool inspect --stats %s", "why.inspect")
	e.run(folder, "dumptool convert -d %s -out out", "why.convert")
	_, variable := e.sceneVariable()
	e.when(e.r.Engine == nil && variable == "", "environment.scene-order")
}

// sceneVariable names the variable that comes before dump_scene.
const sceneVariable = "ASCEND_DUMP_SCENE"

// sceneVariable returns the scene that the environment asks for, and the
// variable that does; both are empty when the file decides.
func (e *explainer) sceneVariable() (scene, variable string) {
	if v, set := e.opt.env(sceneVariable); set && !e.opt.TargetVersion.Before(sinceCANN85) && slices.Contains(exceptionScenes[1:], v) {
		return v, sceneVariable
	}
	if _, set := e.opt.env("NPU_COLLECT_PATH"); set {
		return "aic_err_norm_dump", "NPU_COLLECT_PATH"
	}
	return "", ""
}

// scene returns the scene that counts: that of the environment, or that of the
// file.
func (e *explainer) scene(file string) string {
	scene, variable := e.sceneVariable()
	if variable == "" {
		return file
	}
	e.say("environment.scene-decided", variable, scene)
	return scene
}

// exceptionRoot is where dumps of exceptions begin. The graph engine looks at
// the environment only.
func (e *explainer) exceptionRoot(path string) string {
	variables := []string{"ASCEND_DUMP_PATH", "NPU_COLLECT_PATH", "ASCEND_WORK_PATH"}
	if e.r.Engine != nil {
		variables = variables[1:]
	}
	for _, name := range variables {
		if v, set := e.opt.env(name); set {
			e.say("where.variable-decides", name)
			return v
		}
	}
	if e.r.Engine != nil {
		e.say("where.engine-exceptions")
		return "."
	}
	e.say("where.exception-order")
	if path == "" {
		return "."
	}
	return localPath(path)
}

// watcher is about the watching of memory.
func (e *explainer) watcher(a *ACL) {
	e.active("what.watcher")
	root := localPath(a.DumpPath.Value)
	folders := "{time}/{device_id}/" + modelFolders
	count := 0
	for _, it := range atMost(shown, a.DumpList.Value) {
		watched, after := valuesOf(it.WatcherNodes.Value), valuesOf(it.Layer.Value)
		ops := text("word.every-operator")
		if len(after) > 0 {
			ops = text("word.operators", names(after))
		} else {
			after = []string{"{executed}"}
		}
		e.say("which.watched", names(watched), ops)
		for _, x := range after {
			for _, w := range watched {
				if count++; count > 2*shown {
					break
				}
				e.files(root, folders, "{op_type of "+fileSafe(w)+"}."+fileSafe(x)+"_To_"+fileSafe(w)+".{task_id}.{stream_id}.{timestamp}")
			}
		}
	}
	e.when(len(a.DumpList.Value) == 0, "which.nothing-watched")
	e.when(count > 2*shown, "where.more-pairs")
	e.tensorFormat("output")
	e.readTensors(root, true)
	e.say("care.watcher-limits")
}

// kernelData is about what Ascend C kernels print.
func (e *explainer) kernelData(a *ACL) {
	e.active("what.kernel-data", shorten(printable(a.DumpKernelData.Value)))
	root := localPath(a.DumpPath.Value)
	for _, name := range []string{"ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"} {
		if v, set := e.opt.env(name); set {
			root = v
			break
		}
	}
	e.files(root, "[printf/]{time}/asc_kernel_data_{aic|aiv|simt}_{core}.bin")
	e.say("format.kernel-files")
	e.say("environment.kernel-path")
}

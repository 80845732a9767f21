package dumpconf

import (
	"slices"
	"strings"
)

// exceptionFolder is where dumps of exceptions are, below the root.
const exceptionFolder = "extra-info/data-dump/{device_id}"

// exception is about dumps of failing operators. The path is that of the file,
// or empty.
func (e *explaining) exception(scene, path string) {
	const when = "{YYYYMMDDHHMMSSmmm}"
	root := e.exceptionRoot(path)
	brief := both("inputs, outputs and workspace", "输入、输出和 workspace")
	e.say("which", both("the AI Core operator that fails with an exception, whichever model and device", "发生异常的 AI Core 算子，不限模型和 device"))
	switch scene {
	case "aic_err_norm_dump":
		e.active(both("exception dump, normal: %s of the failing operator, with shapes, types, formats and attributes", "异常 dump(普通)：异常算子的%s，以及 shape、类型、格式和属性", brief))
		e.files(root, exceptionFolder, "{op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}")
	case "aic_err_detail_dump":
		e.active(both("exception dump, detailed: %s of the failing operator, with memory, registers and call stack of the core", "异常 dump(详细)：异常算子的%s，以及核内内存、寄存器和调用栈", brief))
		e.files(root, exceptionFolder, "*.{stream_id}.{task_id}.{timestamp}.core")
		e.say("read", both("msDebug reads .core files; a file without .core means that the dump was only a brief one", ".core 文件用 msDebug 解析；没有 .core 后缀说明已降级为精简 dump"))
		e.say("care", both("Atlas A2 and A3 only, driver 25.0.RC1 or later; to be set before aclrtSetDevice; the process is ended after the error", "仅 Atlas A2/A3，驱动 25.0.RC1 及以上；需在 aclrtSetDevice 之前设置；出错后进程会被强制结束"))
	default:
		e.active(both("exception dump, brief: %s of the failing operator", "异常 dump(精简)：异常算子的%s", brief))
		e.files(root, exceptionFolder, "exception_info.{stream_id}.{task_id}."+when)
	}
	if scene == "lite_exception" {
		e.say("care", both("lite_exception is the older name of aic_err_brief_dump", "lite_exception 是 aic_err_brief_dump 的旧名称"))
	}
	if scene == "aic_err_norm_dump" {
		e.tensorFormat("all")
	} else {
		e.say("format", both("binary; in names the stream id stands before the task id, other than in ordinary dumps", "二进制；文件名中 stream id 在 task id 之前，与普通 dump 相反"))
	}
	folder := strings.TrimSuffix(root, "/") + "/extra-info/data-dump"
	e.run(folder, "dumptool inspect --stats %s", both("what is in the files", "查看文件内容"))
	e.run(folder, "dumptool convert -d %s -out out", both("as .npy arrays", "转换为 .npy"))
	if _, variable := e.sceneVariable(); e.r.Engine == nil && variable == "" {
		e.say("environment", both("ASCEND_DUMP_SCENE, then NPU_COLLECT_PATH, decide before dump_scene of the file when they are set", "若设置了 ASCEND_DUMP_SCENE 或 NPU_COLLECT_PATH，则依次优先于文件中的 dump_scene"))
	}
}

// sceneVariable names the variable that comes before dump_scene.
const sceneVariable = "ASCEND_DUMP_SCENE"

// sceneVariable returns the scene that the environment asks for, and the
// variable that does; both are empty when the file decides.
func (e *explaining) sceneVariable() (scene, variable string) {
	if v, set := e.variable(sceneVariable); set && !e.opt.TargetVersion.Before(sinceCANN85) && slices.Contains(exceptionScenes[1:], v) {
		return v, sceneVariable
	}
	if _, set := e.variable("NPU_COLLECT_PATH"); set {
		return "aic_err_norm_dump", "NPU_COLLECT_PATH"
	}
	return "", ""
}

// scene returns the scene that counts: that of the environment, or that of the
// file.
func (e *explaining) scene(file string) string {
	scene, variable := e.sceneVariable()
	if variable == "" {
		return file
	}
	e.say("environment", both("%s is set and decides how much is dumped: %s", "已设置 %s，由其决定异常 dump 的详细程度：%s", variable, scene))
	return scene
}

// exceptionOrder is where the files of exceptions go.
func exceptionOrder() Text {
	return both("below the first that is set of ASCEND_DUMP_PATH, NPU_COLLECT_PATH, ASCEND_WORK_PATH and dump_path, else in the working folder; the documentation of 8.x names NPU_COLLECT_PATH first, that of 9.x not at all",
		"根目录依次取 ASCEND_DUMP_PATH、NPU_COLLECT_PATH、ASCEND_WORK_PATH、dump_path 中第一个已设置的，否则为工作目录；8.x 文档中 NPU_COLLECT_PATH 最优先，9.x 文档未提及")
}

// exceptionRoot is where dumps of exceptions begin. The graph engine looks at
// the environment only.
func (e *explaining) exceptionRoot(path string) string {
	variables := []string{"ASCEND_DUMP_PATH", "NPU_COLLECT_PATH", "ASCEND_WORK_PATH"}
	if e.r.Engine != nil {
		variables = variables[1:]
	}
	for _, name := range variables {
		if v, set := e.variable(name); set {
			e.say("where", both("%s is set and decides", "已设置 %s，以其为准", name))
			return v
		}
	}
	if e.r.Engine != nil {
		e.say("where", both("exceptions: below NPU_COLLECT_PATH, else ASCEND_WORK_PATH, else the working folder", "异常 dump：依次取 NPU_COLLECT_PATH、ASCEND_WORK_PATH，否则为工作目录"))
		return "."
	}
	e.say("where", exceptionOrder())
	if path == "" {
		return "."
	}
	return localPath(path)
}

// watcher is about the watching of memory.
func (e *explaining) watcher(a *ACL) {
	e.active(both("watcher: outputs of watched operators, again after other operators have run, to find who overwrites memory", "内存观测(watcher)：在其他算子执行后再次 dump 被观测算子的输出，用于定位内存踩踏"))
	root := localPath(a.DumpPath.Value)
	folders := "{time}/{device_id}/" + modelFolders
	count := 0
	for _, it := range a.DumpList.Value[:min(len(a.DumpList.Value), shown)] {
		watched, after := valuesOf(it.WatcherNodes.Value), valuesOf(it.Layer.Value)
		ops := both("every operator", "所有算子")
		if len(after) > 0 {
			ops = both("operators %s", "算子 %[1]s", names(after))
		} else {
			after = []string{"{executed}"}
		}
		e.say("which", both("outputs of %s, looked at after %s", "%s 的输出，在%s执行后观测", names(watched), ops))
		for _, x := range after {
			for _, w := range watched {
				if count++; count > 2*shown {
					break
				}
				e.files(root, folders, "{op_type of "+fileSafe(w)+"}."+fileSafe(x)+"_To_"+fileSafe(w)+".{task_id}.{stream_id}.{timestamp}")
			}
		}
	}
	if len(a.DumpList.Value) == 0 {
		e.say("which", both("nothing is watched: dump_list has no item", "没有观测对象：dump_list 没有元素"))
	}
	if count > 2*shown {
		e.say("where", both("and so on, a file for each pair", "等，每对算子一个文件"))
	}
	e.tensorFormat("output")
	e.readTensors(root)
	e.say("care", both("static graphs only, not operators that are called one by one; fused operators by their fused names", "仅支持静态图，不支持单算子调用；融合算子使用融合后的名称"))
}

// kernelData is about what Ascend C kernels print.
func (e *explaining) kernelData(a *ACL) {
	e.active(both("kernel data: what Ascend C kernels write themselves (%s)", "kernel 调试数据：Ascend C 算子自身输出的数据(%s)", shorten(printable(a.DumpKernelData.Value))))
	root := localPath(a.DumpPath.Value)
	for _, name := range []string{"ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"} {
		if v, set := e.variable(name); set {
			root = v
			break
		}
	}
	e.files(root, "[printf/]{time}/asc_kernel_data_{aic|aiv|simt}_{core}.bin")
	e.say("format", both("asc_kernel_data files are binary, one for each core; show_kernel_debug_data of CANN reads them", "asc_kernel_data 为二进制文件，每核一个；用 CANN 的 show_kernel_debug_data 解析"))
	e.say("environment", both("ASCEND_DUMP_PATH, then ASCEND_WORK_PATH, replace dump_path for kernel data when they are set", "若设置了 ASCEND_DUMP_PATH 或 ASCEND_WORK_PATH，kernel 数据的目录依次优先于 dump_path"))
}

package dumpconf

import "strings"

func (e *explaining) engine(o *EngineOptions) {
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
		e.active(both("overflow dump (%s): inputs and outputs of operators that overflow, with a record of the overflow", "溢出 dump(%s)：溢出算子的输入和输出，以及溢出记录", shorten(printable(kind))))
		e.overflowFiles(localPath(o.Path.Value), folders)
	case o.EnableDebug.Value == "1":
		e.say("what", both("nothing: ge.exec.enableDumpDebug has no effect without ge.exec.dumpDebugMode", "不 dump：没有 ge.exec.dumpDebugMode 时 ge.exec.enableDumpDebug 不生效"))
	}
	if scene := o.scene(); scene != "" {
		e.exception(scene, "")
		e.say("care", both("with dynamic shapes the exception dump comes before the other dumps", "动态 shape 场景下异常 dump 优先于其他 dump"))
	}
	if !e.out.Active {
		if !o.on() {
			e.say("what", both("nothing: no dump is switched on", "不 dump：没有打开任何 dump 开关"))
		}
		return
	}
	e.engineSurroundings(o)
}

// overflows reports whether overflow dump is on and effective: the graph engine
// wants to be told the mode, the TensorFlow adapter has a default.
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

func (e *explaining) engineDump(o *EngineOptions, folders string) {
	data, file := both("tensors", "张量"), opFile
	if o.Data.Value == "stats" {
		data, file = both("statistics", "统计信息"), opFile+".csv"
	}
	e.active(both("graph dump: %s of the %s of operators, while graphs run", "图 dump：图执行时 dump 算子%[2]s的%[1]s", data, sides(o.mode())))
	if layers := strings.Fields(o.Layer.Value); len(layers) > 0 {
		e.say("which", both("operators %s", "算子 %s", names(layers)))
		if len(layers) == 1 {
			file = strings.Replace(file, "{op_name}", fileSafe(layers[0]), 1)
		}
	} else {
		e.say("which", both("all operators", "所有算子"))
	}
	if o.Steps == nil {
		e.steps("", nil)
	} else {
		e.steps(o.Step.Value, o.Steps)
	}
	e.say("which", both("every device that the process uses", "进程使用的所有 device"))
	root := localPath(o.Path.Value)
	e.files(root, folders, file)
	if o.Data.Value == "stats" {
		e.say("format", both("CSV, a file an operator and a line a tensor", "CSV：每个算子一个文件，每个张量一行"))
		e.say("read", both("the CSV files are read as they are", "CSV 文件可直接查看"))
		return
	}
	e.tensorFormat(o.mode())
	e.readTensors(root)
	e.say("care", both("tensors of a whole graph are large: dump one step, or statistics first", "整图 dump 数据量大：建议只 dump 一个迭代，或先 dump 统计信息"))
}

func (e *explaining) engineSurroundings(o *EngineOptions) {
	if o.on() {
		e.say("where", both("the folder must exist and be writable", "目录必须已存在且可写"))
		e.say("environment", both("a dump configuration of the ACL runtime overrides these options", "ACL 的 dump 配置会覆盖这些选项"))
		e.say("environment", both("NPU_COLLECT_PATH must not be set: together with a dump it is an error (E10056)", "不能设置 NPU_COLLECT_PATH，与 dump 同时使用会报错(E10056)"))
	}
	if o.TF {
		e.say("environment", both("these are arguments of DumpConfig(...), or of dump_config of npu_device, not a file that the adapter reads", "这些是 DumpConfig(...) 或 npu_device 的 dump_config 的参数，适配器不会读取该文件"))
	} else {
		e.say("environment", both("these are options of GEInitialize or of a session, not a file that the engine reads", "这些是 GEInitialize 或 Session 的选项，图引擎不会读取该文件"))
	}
}

package dumpconf

import "strings"

// mindSporeFiles lists the files of MindSpore and what reads them.
func (e *explaining) mindSporeFiles(m *MindSpore) {
	root := m.Path.Value
	if root == "" {
		root = diagnosticFolder
		if v, set := e.variable("MS_DIAGNOSTIC_DATA_PATH"); set {
			root = strings.TrimSuffix(v, "/") + "/debug_dump"
		}
		e.say("where", both("path is empty, so MS_DIAGNOSTIC_DATA_PATH decides", "path 为空，由 MS_DIAGNOSTIC_DATA_PATH 决定"))
	}
	net := m.NetName.Value
	if net == "" {
		net = "{net_name}"
	}
	switch {
	case e.opt.TargetVersion.Before(Version{Major: 1, Minor: 3}):
		e.oldFiles(m, root, net)
	case e.framework(m):
		e.rankFiles(m, root, net, e.opt.TargetVersion)
		if m.DebugMode() != 0 && m.DebugMode() < 4 {
			e.files(root, "rank_{rank_id}/debug_files/{iteration}", opdebugFile)
		}
	default:
		e.deviceFiles(m, root, net)
	}
	e.mindSporeFormat(m)
	e.readMindSpore(m, root)
}

// tensorName is the name of an array that MindSpore writes.
func (e *explaining) tensorName(m *MindSpore, target Version) string {
	io := "{input|output}"
	if mode := m.mode(); mode != "all" {
		io = mode
	}
	name := opFile + "." + io + ".{slot}.{format}"
	if !target.Before(sinceMS24) {
		name += ".{dtype}"
	}
	return name + ".npy"
}

// rankFiles is the layout since 1.3.
func (e *explaining) rankFiles(m *MindSpore, root, net string, target Version) {
	folders := "rank_{rank_id}/" + net + "/{graph_id}/{iteration}"
	if m.savesTensors() || m.DebugMode() == 4 {
		switch {
		case e.framework(m) || m.FileFormat.Value == "npy":
			e.files(root, folders, e.tensorName(m, target))
		default:
			e.files(root, folders, opFile)
		}
	}
	if m.savesStatistics() && m.DebugMode() != 4 {
		e.files(root, folders, "statistic.csv")
	}
	if m.SaveKernelArgs.Value {
		e.files(root, folders, "{op_type}.{op_name}.json")
	}
	e.say("where", both("graphs and execution order of the run are in rank_{rank_id}/graphs and rank_{rank_id}/execution_order", "图文件和执行序在 rank_{rank_id}/graphs 和 rank_{rank_id}/execution_order"))
	e.say("where", both("names longer than the file system allows become numbers; mapping.csv in the same folder tells the names", "文件名过长时以数字命名，原名见同目录的 mapping.csv"))
}

// deviceFiles is the layout of dumps that the device writes: first that of
// ranks, and since 2.3 that of the ACL runtime.
func (e *explaining) deviceFiles(m *MindSpore, root, net string) {
	target := e.opt.TargetVersion
	if target.IsNewest() {
		e.say("where", both("the first path is that up to MindSpore 2.2, the last that from 2.3 to 2.5 with jit_level O2; from 2.6 on nothing is written without e2e_dump_settings", "首个路径适用于 MindSpore 2.2 及以前，最后一个适用于 2.3 到 2.5 的 jit_level O2；2.6 起没有 e2e_dump_settings 时不写数据"))
	}
	if target.IsNewest() || target.Before(sinceMS23) {
		e.rankFiles(m, root, net, Version{Major: 2, Minor: 2})
	}
	if !target.IsNewest() && target.Before(sinceMS23) {
		return
	}
	e.runtimeFiles(m, root)
}

// runtimeFiles is the layout of the ACL runtime below a folder for each step.
func (e *explaining) runtimeFiles(m *MindSpore, root string) {
	if m.DebugMode() == 4 {
		e.files(root, "{step_id}", exceptionFolder, "exception_info.{stream_id}.{task_id}.{YYYYMMDDHHMMSSmmm}")
		return
	}
	const folders = "{step_id}/{time}/{device_id}/{model_name}/{model_id}/{iteration_id}"
	isNpy := m.FileFormat.Value == "npy"
	if m.savesTensors() {
		if isNpy {
			e.files(root, folders, e.tensorName(m, Version{}))
		} else {
			e.files(root, folders, opFile)
		}
	}
	if m.savesStatistics() {
		e.files(root, folders, "statistic.csv")
	}
	if m.DebugMode() != 0 {
		name := opdebugFile
		if isNpy {
			name += ".output.0.json"
		}
		e.files(root, folders, name)
	}
}

// oldFiles are the layouts before 1.3.
func (e *explaining) oldFiles(m *MindSpore, root, net string) {
	if e.framework(m) && m.Enable.Value {
		e.files(root, net, "{device_id}/iteration_{iteration}/{op_name}_{input|output}_{slot}_shape_{d}_{d}_{dtype}_{format}.bin")
		return
	}
	e.files(root, "{device_id}", net+"_graph_{graph_id}/{graph_id}/{iteration}", opFile)
}

// arrays reports whether tensors are written as .npy.
func (e *explaining) arrays(m *MindSpore) bool {
	return !e.opt.TargetVersion.Before(Version{Major: 1, Minor: 3}) && (e.framework(m) || m.FileFormat.Value == "npy")
}

func (e *explaining) mindSporeFormat(m *MindSpore) {
	if m.savesTensors() || m.DebugMode() == 4 {
		switch {
		case e.arrays(m):
			e.say("format", both(".npy arrays, one a tensor; bfloat16 is stored as float32", ".npy 文件，每个张量一个；bfloat16 存为 float32"))
		case e.framework(m):
			e.say("format", both("raw numbers without header, one file a tensor, as numpy.fromfile reads them", "无文件头的原始数据，每个张量一个文件，可用 numpy.fromfile 读取"))
		default:
			e.tensorFormat(m.mode())
		}
	}
	if e.framework(m) && m.TransFlag.Present() && !m.TransFlag.Value {
		e.say("format", both("in the layout of the device: trans_flag is false", "保持设备侧格式：trans_flag 为 false"))
	}
	if m.savesStatistics() && m.DebugMode() != 4 {
		columns := Text{EN: "max, min, l2norm", ZH: "max, min, l2norm"}
		if v := valuesOf(m.StatisticCategory.Value); len(v) > 0 {
			columns = names(v)
		}
		e.say("format", both("statistic.csv, a line a tensor, with %s", "statistic.csv，每个张量一行，含 %s", columns))
	}
}

func (e *explaining) readMindSpore(m *MindSpore, root string) {
	if m.DebugMode() != 0 && m.DebugMode() < 4 {
		e.readOverflow(root)
	}
	if !m.savesTensors() && m.DebugMode() != 4 {
		e.say("read", both("statistic.csv is read as it is; find the operators with NaN, infinities or unusual ranges, then dump the tensors of those",
			"statistic.csv 可直接查看；找到有 NaN、inf 或数值异常的算子后，再 dump 这些算子的张量"))
		return
	}
	if !e.arrays(m) && !e.framework(m) {
		e.readTensors(root)
		return
	}
	e.run(root, "dumptool inspect --stats %s", both("what is in the files", "查看文件内容"))
	e.run(root, "dumptool compare --cpu GOLDEN --npu %s -out report", both("against a reference run in GOLDEN", "与标杆数据 GOLDEN 比对"))
	e.run(root, "dumptool overflow scan %s", both("NaN, infinities and saturated values", "查找 NaN、inf 和饱和值"))
}

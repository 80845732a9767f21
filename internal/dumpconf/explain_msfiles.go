package dumpconf

import "strings"

// mindSporeFiles lists the files of MindSpore and what reads them.
func (e *explainer) mindSporeFiles(m *MindSpore) {
	root := m.Path.Value
	if root == "" {
		root = diagnosticFolder
		if v, set := e.opt.env("MS_DIAGNOSTIC_DATA_PATH"); set {
			root = strings.TrimSuffix(v, "/") + "/debug_dump"
		}
		e.say("where.diagnostic-path")
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
func (e *explainer) tensorName(m *MindSpore, target Version) string {
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
func (e *explainer) rankFiles(m *MindSpore, root, net string, target Version) {
	folders := "rank_{rank_id}/" + net + "/{graph_id}/{iteration}"
	e.dataFiles(m, root, folders, e.framework(m) || m.FileFormat.Value == "npy", target)
	if m.SaveKernelArgs.Value {
		e.files(root, folders, "{op_type}.{op_name}.json")
	}
	e.say("where.graph-folders")
	e.say("where.mapping")
}

// dataFiles are the files with tensors and statistics in folders of any layout.
func (e *explainer) dataFiles(m *MindSpore, root, folders string, npy bool, target Version) {
	switch {
	case !m.writesTensors():
	case npy:
		e.files(root, folders, e.tensorName(m, target))
	default:
		e.files(root, folders, opFile)
	}
	if m.writesStatistics() {
		e.files(root, folders, "statistic.csv")
	}
}

// writesTensors and writesStatistics report what there are files of: a dump of
// failing operators has tensors whatever saved_data says.
func (m *MindSpore) writesTensors() bool    { return m.savesTensors() || m.DebugMode() == 4 }
func (m *MindSpore) writesStatistics() bool { return m.savesStatistics() && m.DebugMode() != 4 }

// deviceFiles is the layout of dumps that the device writes: first that of
// ranks, and since 2.3 that of the ACL runtime.
func (e *explainer) deviceFiles(m *MindSpore, root, net string) {
	target := e.opt.TargetVersion
	e.when(target.IsNewest(), "where.three-layouts")
	if target.IsNewest() || target.Before(sinceMS23) {
		e.rankFiles(m, root, net, Version{Major: 2, Minor: 2})
	}
	if !target.Before(sinceMS23) {
		e.runtimeFiles(m, root)
	}
}

// runtimeFiles is the layout of the ACL runtime below a folder for each step.
func (e *explainer) runtimeFiles(m *MindSpore, root string) {
	if m.DebugMode() == 4 {
		e.files(root, "{step_id}", exceptionFolder, "exception_info.{stream_id}.{task_id}.{YYYYMMDDHHMMSSmmm}")
		return
	}
	const folders = "{step_id}/{time}/{device_id}/{model_name}/{model_id}/{iteration_id}"
	isNpy := m.FileFormat.Value == "npy"
	e.dataFiles(m, root, folders, isNpy, Version{})
	if m.DebugMode() != 0 {
		name := opdebugFile
		if isNpy {
			name += ".output.0.json"
		}
		e.files(root, folders, name)
	}
}

// oldFiles are the layouts before 1.3.
func (e *explainer) oldFiles(m *MindSpore, root, net string) {
	if e.framework(m) && m.Enable.Value {
		e.files(root, net, "{device_id}/iteration_{iteration}/{op_name}_{input|output}_{slot}_shape_{d}_{d}_{dtype}_{format}.bin")
		return
	}
	e.files(root, "{device_id}", net+"_graph_{graph_id}/{graph_id}/{iteration}", opFile)
}

// arrays reports whether tensors are written as .npy.
func (e *explainer) arrays(m *MindSpore) bool {
	return !e.opt.TargetVersion.Before(Version{Major: 1, Minor: 3}) && (e.framework(m) || m.FileFormat.Value == "npy")
}

func (e *explainer) mindSporeFormat(m *MindSpore) {
	switch {
	case !m.writesTensors():
	case e.arrays(m):
		e.say("format.npy")
	case e.framework(m):
		e.say("format.raw")
	default:
		e.tensorFormat(m.mode())
	}
	e.when(e.framework(m) && m.TransFlag.Present() && !m.TransFlag.Value, "format.device-layout")
	if m.writesStatistics() {
		columns := Text{EN: "max, min, l2norm", ZH: "max, min, l2norm"}
		if v := valuesOf(m.StatisticCategory.Value); len(v) > 0 {
			columns = names(v)
		}
		e.say("format.statistic-csv", columns)
	}
}

func (e *explainer) readMindSpore(m *MindSpore, root string) {
	if m.DebugMode() != 0 && m.DebugMode() < 4 {
		e.readOverflow(root)
	}
	if !m.writesTensors() {
		e.say("read.statistic-csv")
		return
	}
	e.readTensors(root, !e.arrays(m) && !e.framework(m))
}

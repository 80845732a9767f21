package dumpconf

import (
	"cmp"
	"strings"
)

const diagnosticFolder = "$MS_DIAGNOSTIC_DATA_PATH/debug_dump"

func (e *explainer) mindSpore(m *MindSpore) {
	if reason := e.offReason(m); reason != "" {
		e.addText(reason)
		return
	}
	e.out.Active = true
	e.mindSporeMode(m)
	e.mindSporeScope(m)
	e.mindSporeFiles(m)
	e.mindSporeSurroundings(m)
	kernels, devices := m.setting("kernels"), m.setting("support_device")
	e.addIgnored(m.debugMode() != 0 && m.setting("dump_mode").Uint == 1 && len(m.Kernels) > 0, kernels, ruleOf("MS033").ignored)
	e.addIgnored(devices.Present() && e.opt.isCPU(), devices, text("word.not-on-cpu"))
}

// offReason returns the key of the text that explains why there is no dump, or empty.
func (e *explainer) offReason(m *MindSpore) string {
	target := e.opt.TargetVersion
	byDevice := !m.hasE2E() && !e.opt.noNPU()
	switch {
	case !m.Common.Present():
		return "what.no-common"
	case m.setting("support_device").isEmpty() && !e.opt.isCPU():
		return "what.no-device"
	case e.opt.backend() == "pynative":
		return "what.pynative"
	case e.opt.needsMsprobe():
		return "what.left-to-msprobe"
	case m.hasE2E() && e.opt.lacksE2EDump():
		return "what.no-e2e-dump"
	case target.IsBefore(sinceMS12) && !m.setting("enable").isTrue() && !m.Async.setting("enable").isTrue():
		return "what.neither-on"
	case byDevice && e.opt.isKernelByKernel() && !target.IsBefore(sinceMS24):
		return "what.backend-without-e2e"
	case byDevice && !target.IsNewest() && !target.IsBefore(sinceMS26):
		return "what.release-without-e2e"
	default:
		return ""
	}
}

// framework reports whether the framework itself writes the files. Before 2.3 the key enable
// decides, later the presence of e2e_dump_settings.
func (e *explainer) framework(m *MindSpore) bool {
	if e.opt.TargetVersion.IsBefore(sinceMS23) {
		return m.setting("enable").isTrue() || e.opt.noNPU()
	}
	return m.hasE2E() || e.opt.noNPU()
}

func (e *explainer) mindSporeMode(m *MindSpore) {
	saved := text("word.tensors")
	switch {
	case m.debugMode() == 4:
	case m.setting("saved_data").Value == "statistic":
		saved = text("word.statistics")
	case m.setting("saved_data").Value == "full":
		saved = text("word.tensors-and-statistics")
	}
	switch m.debugMode() {
	case 0:
		e.addText("what.ms-dump", saved, sides(m.mode()))
	case 1, 2, 3:
		e.addText("what.ms-overflow-dump", saved)
		e.sayIf(m.setting("overflow_number").Uint > 0, "what.at-most-overflows", m.setting("overflow_number").Value)
	default:
		e.addText("what.ms-exception-dump")
	}
	switch {
	case e.framework(m) && (m.setting("enable").isTrue() || !m.hasE2E()):
		e.addText("what.framework-sync")
	case e.framework(m):
		e.addText("what.framework-async")
	default:
		e.addText("what.device-async")
	}
}

func (e *explainer) mindSporeScope(m *MindSpore) {
	switch {
	case m.debugMode() != 0:
		e.addText("which.all-overflowing")
	case m.setting("dump_mode").Uint == 1:
		e.kernels(m)
	case m.setting("dump_mode").Uint == 2:
		e.addText("which.marked")
	default:
		e.addText("which.all-operators")
	}
	if m.debugMode() == 4 {
		e.addText("which.every-step")
	} else {
		e.steps(m.setting("iteration").Value, m.Steps)
	}
	e.sayIf(m.setting("initial_iteration").Uint > 0, "which.counter-start", m.setting("initial_iteration").Value)
	ids := unique(valuesOf(m.setting("support_device").Elems))
	e.sayIf(len(ids) > 0 && !e.opt.isCPU(), "which.devices", names(ids))
	e.sayIf(m.setting("sample_mode").Uint == 1 && m.debugMode() == 0, "which.samples", m.setting("sample_num").orDefault())
}

// kernels describes the operators that the entries of kernels match.
func (e *explainer) kernels(m *MindSpore) {
	patternsOfKind := map[KernelKind][]string{}
	for _, k := range m.Kernels {
		if k.Pattern != "" {
			patternsOfKind[k.Kind] = append(patternsOfKind[k.Kind], k.Pattern)
		}
	}
	e.sayIf(len(patternsOfKind) == 0, "which.empty-kernels")
	e.sayIf(patternsOfKind[KernelName] != nil, "which.exact-names", names(patternsOfKind[KernelName]))
	e.sayIf(patternsOfKind[KernelType] != nil, "which.type-contains", names(patternsOfKind[KernelType]))
	e.sayIf(patternsOfKind[KernelRegex] != nil, "which.name-matches", names(patternsOfKind[KernelRegex]))
}

func (e *explainer) mindSporeSurroundings(m *MindSpore) {
	e.addText("environment.ms-variable")
	e.addText("environment.useless-output")
	old := e.opt.TargetVersion.IsBefore(sinceMS23)
	e.sayIf(e.framework(m), "environment.sink-mode")
	e.sayIf(!e.framework(m) && !old, "environment.sink-size")
	e.sayIf(old, "environment.no-dynamic-graphs")
	e.sayIf(!old, "environment.msprobe-graphs")
	e.addText("care.op-numbers")
	e.sayIf(m.debugMode() == 0 && m.savesTensors() && !e.opt.TargetVersion.IsBefore(sinceMS16), "care.large-network")
}

// mindSporeFiles lists MindSpore's files and the commands that read them.
func (e *explainer) mindSporeFiles(m *MindSpore) {
	root := m.setting("path").Value
	if root == "" {
		root = diagnosticFolder
		if v, set := e.opt.env("MS_DIAGNOSTIC_DATA_PATH"); set {
			root = strings.TrimSuffix(v, "/") + "/debug_dump"
		}
		e.addText("where.diagnostic-path")
	}
	net := cmp.Or(m.setting("net_name").Value, "{net_name}")
	switch {
	case e.opt.TargetVersion.IsBefore(Version{Major: 1, Minor: 3}):
		e.oldFiles(m, root, net)
	case e.framework(m):
		e.rankFiles(m, root, net, e.opt.TargetVersion)
		if m.debugMode() != 0 && m.debugMode() < 4 {
			e.files(root, "rank_{rank_id}/debug_files/{iteration}", opdebugFile)
		}
	default:
		e.deviceFiles(m, root, net)
	}
	e.mindSporeFormat(m)
	e.readMindSpore(m, root)
}

// tensorName returns the pattern of MindSpore's tensor file names.
func (e *explainer) tensorName(m *MindSpore, target Version) string {
	io := "{input|output}"
	if mode := m.mode(); mode != "all" {
		io = mode
	}
	name := opFile + "." + io + ".{slot}.{format}"
	if !target.IsBefore(sinceMS24) {
		name += ".{dtype}"
	}
	return name + ".npy"
}

// rankFiles adds the layout since 1.3.
func (e *explainer) rankFiles(m *MindSpore, root, net string, target Version) {
	folders := "rank_{rank_id}/" + net + "/{graph_id}/{iteration}"
	e.dataFiles(m, root, folders, e.framework(m) || m.setting("file_format").Value == "npy", target)
	if m.setting("save_kernel_args").isTrue() {
		e.files(root, folders, "{op_type}.{op_name}.json")
	}
	e.addText("where.graph-folders")
	e.addText("where.mapping")
}

// dataFiles adds the tensor and statistics files below folders.
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

// writesTensors and writesStatistics report which files a dump has: a dump of failing operators has
// tensors regardless of saved_data.
func (m *MindSpore) writesTensors() bool    { return m.savesTensors() || m.debugMode() == 4 }
func (m *MindSpore) writesStatistics() bool { return m.savesStatistics() && m.debugMode() != 4 }

// deviceFiles adds the layouts of dumps written by the device: by rank, and since 2.3 the layout of
// the ACL runtime.
func (e *explainer) deviceFiles(m *MindSpore, root, net string) {
	target := e.opt.TargetVersion
	e.sayIf(target.IsNewest(), "where.three-layouts")
	if target.IsNewest() || target.IsBefore(sinceMS23) {
		e.rankFiles(m, root, net, Version{Major: 2, Minor: 2})
	}
	if !target.IsBefore(sinceMS23) {
		e.runtimeFiles(m, root)
	}
}

// runtimeFiles adds the layout of the ACL runtime below a folder per step.
func (e *explainer) runtimeFiles(m *MindSpore, root string) {
	if m.debugMode() == 4 {
		e.files(root, "{step_id}", exceptionFolder, "exception_info.{stream_id}.{task_id}.{YYYYMMDDHHMMSSmmm}")
		return
	}
	const folders = "{step_id}/{time}/{device_id}/{model_name}/{model_id}/{iteration_id}"
	isNpy := m.setting("file_format").Value == "npy"
	e.dataFiles(m, root, folders, isNpy, Version{})
	if m.debugMode() != 0 {
		name := opdebugFile
		if isNpy {
			name += ".output.0.json"
		}
		e.files(root, folders, name)
	}
}

// oldFiles adds the layouts before 1.3.
func (e *explainer) oldFiles(m *MindSpore, root, net string) {
	if e.framework(m) && m.setting("enable").isTrue() {
		e.files(root, net, "{device_id}/iteration_{iteration}/{op_name}_{input|output}_{slot}_shape_{d}_{d}_{dtype}_{format}.bin")
		return
	}
	e.files(root, "{device_id}", net+"_graph_{graph_id}/{graph_id}/{iteration}", opFile)
}

// arrays reports whether tensors are written as .npy.
func (e *explainer) arrays(m *MindSpore) bool {
	return !e.opt.TargetVersion.IsBefore(Version{Major: 1, Minor: 3}) && (e.framework(m) || m.setting("file_format").Value == "npy")
}

func (e *explainer) mindSporeFormat(m *MindSpore) {
	switch {
	case !m.writesTensors():
	case e.arrays(m):
		e.addText("format.npy")
	case e.framework(m):
		e.addText("format.raw")
	default:
		e.addText("format.dump-files", sides(m.mode()))
	}
	e.sayIf(e.framework(m) && m.setting("trans_flag").Present() && !m.setting("trans_flag").isTrue(), "format.device-layout")
	if m.writesStatistics() {
		columns := Text{EN: "max, min, l2norm"}
		if v := valuesOf(m.setting("statistic_category").Elems); len(v) > 0 {
			columns = names(v)
		}
		e.addText("format.statistic-csv", columns)
	}
}

func (e *explainer) readMindSpore(m *MindSpore, root string) {
	if m.debugMode() != 0 && m.debugMode() < 4 {
		e.readOverflow(root)
	}
	if m.debugMode() == 0 {
		e.enables(root, missingName(m.writesTensors(), `"saved_data": "tensor"`), missingName(m.mode() == "all", `"input_output": 0`))
	}
	if !m.writesTensors() {
		e.readStatistics(root)
		e.addText("read.statistic-csv")
		return
	}
	e.readTensors(root, !e.arrays(m) && !e.framework(m))
}

// unique removes repeated values.
func unique(values []string) []string { return appendNew(nil, make(map[string]bool), values...) }

package dumpconf

import (
	"cmp"
	"strings"
)

const diagnosticFolder = "$MS_DIAGNOSTIC_DATA_PATH/debug_dump"

func (e *explainer) describeMindSpore(m *MindSpore) {
	if reason := e.noDumpReason(m); reason != "" {
		e.addText(reason)
		return
	}
	e.out.Active = true
	e.describeMindSporeMode(m)
	e.describeMindSporeScope(m)
	e.addMindSporeFiles(m)
	e.describeMindSporeEnvironment(m)
	kernels, devices := m.setting("kernels"), m.setting("support_device")
	e.addIgnored(m.debugMode() != 0 && m.setting("dump_mode").Uint == 1 && len(m.Kernels) > 0, kernels, ruleOf("MS033").ignored)
	e.addIgnored(devices.Present() && e.opt.isCPU(), devices, text("word.not-on-cpu"))
}

// noDumpReason returns the key of the text that explains why there is no dump, or empty.
func (e *explainer) noDumpReason(m *MindSpore) string {
	target := e.opt.TargetVersion
	byDevice := !m.hasE2E() && !e.opt.hasNoNPU()
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

// isWrittenByFramework reports whether the framework itself writes the files. Before 2.3 the key enable
// decides, later the presence of e2e_dump_settings.
func (e *explainer) isWrittenByFramework(m *MindSpore) bool {
	if e.opt.TargetVersion.IsBefore(sinceMS23) {
		return m.setting("enable").isTrue() || e.opt.hasNoNPU()
	}
	return m.hasE2E() || e.opt.hasNoNPU()
}

func (e *explainer) describeMindSporeMode(m *MindSpore) {
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
		e.addText("what.ms-dump", saved, describeSides(m.dumpMode()))
	case 1, 2, 3:
		e.addText("what.ms-overflow-dump", saved)
		e.addTextIf(m.setting("overflow_number").Uint > 0, "what.at-most-overflows", m.setting("overflow_number").Value)
	default:
		e.addText("what.ms-exception-dump")
	}
	switch {
	case e.isWrittenByFramework(m) && (m.setting("enable").isTrue() || !m.hasE2E()):
		e.addText("what.framework-sync")
	case e.isWrittenByFramework(m):
		e.addText("what.framework-async")
	default:
		e.addText("what.device-async")
	}
}

func (e *explainer) describeMindSporeScope(m *MindSpore) {
	switch {
	case m.debugMode() != 0:
		e.addText("which.all-overflowing")
	case m.setting("dump_mode").Uint == 1:
		e.describeKernels(m)
	case m.setting("dump_mode").Uint == 2:
		e.addText("which.marked")
	default:
		e.addText("which.all-operators")
	}
	if m.debugMode() == 4 {
		e.addText("which.every-step")
	} else {
		e.describeSteps(m.setting("iteration").Value, m.Steps)
	}
	e.addTextIf(m.setting("initial_iteration").Uint > 0, "which.counter-start", m.setting("initial_iteration").Value)
	ids := unique(valuesOf(m.setting("support_device").Elems))
	e.addTextIf(len(ids) > 0 && !e.opt.isCPU(), "which.devices", shortenedNames(ids))
	e.addTextIf(m.setting("sample_mode").Uint == 1 && m.debugMode() == 0, "which.samples", m.setting("sample_num").orDefault())
}

// describeKernels describes the operators that the entries of kernels match.
func (e *explainer) describeKernels(m *MindSpore) {
	patternsOfKind := map[KernelKind][]string{}
	for _, k := range m.Kernels {
		if k.Pattern != "" {
			patternsOfKind[k.Kind] = append(patternsOfKind[k.Kind], k.Pattern)
		}
	}
	e.addTextIf(len(patternsOfKind) == 0, "which.empty-kernels")
	e.addTextIf(patternsOfKind[KernelName] != nil, "which.exact-names", shortenedNames(patternsOfKind[KernelName]))
	e.addTextIf(patternsOfKind[KernelType] != nil, "which.type-contains", shortenedNames(patternsOfKind[KernelType]))
	e.addTextIf(patternsOfKind[KernelRegex] != nil, "which.name-matches", shortenedNames(patternsOfKind[KernelRegex]))
}

func (e *explainer) describeMindSporeEnvironment(m *MindSpore) {
	e.addText("environment.ms-variable")
	e.addText("environment.useless-output")
	old := e.opt.TargetVersion.IsBefore(sinceMS23)
	e.addTextIf(e.isWrittenByFramework(m), "environment.sink-mode")
	e.addTextIf(!e.isWrittenByFramework(m) && !old, "environment.sink-size")
	e.addTextIf(old, "environment.no-dynamic-graphs")
	e.addTextIf(!old, "environment.msprobe-graphs")
	e.addText("care.op-numbers")
	e.addTextIf(m.debugMode() == 0 && m.savesTensors() && !e.opt.TargetVersion.IsBefore(sinceMS16), "care.large-network")
}

// addMindSporeFiles lists MindSpore's files and the commands that read them.
func (e *explainer) addMindSporeFiles(m *MindSpore) {
	root := m.setting("path").Value
	if root == "" {
		root = diagnosticFolder
		if v, set := e.opt.lookupEnv("MS_DIAGNOSTIC_DATA_PATH"); set {
			root = strings.TrimSuffix(v, "/") + "/debug_dump"
		}
		e.addText("where.diagnostic-path")
	}
	net := cmp.Or(m.setting("net_name").Value, "{net_name}")
	switch {
	case e.opt.TargetVersion.IsBefore(Version{Major: 1, Minor: 3}):
		e.addOldFiles(m, root, net)
	case e.isWrittenByFramework(m):
		e.addRankFiles(m, root, net, e.opt.TargetVersion)
		if m.debugMode() != 0 && m.debugMode() < 4 {
			e.addPattern(root, "rank_{rank_id}/debug_files/{iteration}", opdebugFile)
		}
	default:
		e.addDeviceFiles(m, root, net)
	}
	e.describeMindSporeFormat(m)
	e.addMindSporeCommands(m, root)
}

// tensorPattern returns the pattern of MindSpore's tensor file names.
func (e *explainer) tensorPattern(m *MindSpore, target Version) string {
	io := "{input|output}"
	if mode := m.dumpMode(); mode != "all" {
		io = mode
	}
	name := opFile + "." + io + ".{slot}.{format}"
	if !target.IsBefore(sinceMS24) {
		name += ".{dtype}"
	}
	return name + ".npy"
}

// addRankFiles adds the layout since 1.3.
func (e *explainer) addRankFiles(m *MindSpore, root, net string, target Version) {
	folders := "rank_{rank_id}/" + net + "/{graph_id}/{iteration}"
	e.addDataFiles(m, root, folders, e.isWrittenByFramework(m) || m.setting("file_format").Value == "npy", target)
	if m.setting("save_kernel_args").isTrue() {
		e.addPattern(root, folders, "{op_type}.{op_name}.json")
	}
	e.addText("where.graph-folders")
	e.addText("where.mapping")
}

// addDataFiles adds the tensor and statistics files below folders.
func (e *explainer) addDataFiles(m *MindSpore, root, folders string, npy bool, target Version) {
	switch {
	case !m.writesTensors():
	case npy:
		e.addPattern(root, folders, e.tensorPattern(m, target))
	default:
		e.addPattern(root, folders, opFile)
	}
	if m.writesStatistics() {
		e.addPattern(root, folders, "statistic.csv")
	}
}

// writesTensors and writesStatistics report which files a dump has: a dump of failing operators has
// tensors regardless of saved_data.
func (m *MindSpore) writesTensors() bool    { return m.savesTensors() || m.debugMode() == 4 }
func (m *MindSpore) writesStatistics() bool { return m.savesStatistics() && m.debugMode() != 4 }

// addDeviceFiles adds the layouts of dumps written by the device: by rank, and since 2.3 the layout of
// the ACL runtime.
func (e *explainer) addDeviceFiles(m *MindSpore, root, net string) {
	target := e.opt.TargetVersion
	e.addTextIf(target.IsNewest(), "where.three-layouts")
	if target.IsNewest() || target.IsBefore(sinceMS23) {
		e.addRankFiles(m, root, net, Version{Major: 2, Minor: 2})
	}
	if !target.IsBefore(sinceMS23) {
		e.addRuntimeFiles(m, root)
	}
}

// addRuntimeFiles adds the layout of the ACL runtime below a folder per step.
func (e *explainer) addRuntimeFiles(m *MindSpore, root string) {
	if m.debugMode() == 4 {
		e.addPattern(root, "{step_id}", exceptionFolder, "exception_info.{stream_id}.{task_id}.{YYYYMMDDHHMMSSmmm}")
		return
	}
	const folders = "{step_id}/{time}/{device_id}/{model_name}/{model_id}/{iteration_id}"
	isNpy := m.setting("file_format").Value == "npy"
	e.addDataFiles(m, root, folders, isNpy, Version{})
	if m.debugMode() != 0 {
		name := opdebugFile
		if isNpy {
			name += ".output.0.json"
		}
		e.addPattern(root, folders, name)
	}
}

// addOldFiles adds the layouts before 1.3.
func (e *explainer) addOldFiles(m *MindSpore, root, net string) {
	if e.isWrittenByFramework(m) && m.setting("enable").isTrue() {
		e.addPattern(root, net, "{device_id}/iteration_{iteration}/{op_name}_{input|output}_{slot}_shape_{d}_{d}_{dtype}_{format}.bin")
		return
	}
	e.addPattern(root, "{device_id}", net+"_graph_{graph_id}/{graph_id}/{iteration}", opFile)
}

// writesArrays reports whether tensors are written as .npy.
func (e *explainer) writesArrays(m *MindSpore) bool {
	return !e.opt.TargetVersion.IsBefore(Version{Major: 1, Minor: 3}) && (e.isWrittenByFramework(m) || m.setting("file_format").Value == "npy")
}

func (e *explainer) describeMindSporeFormat(m *MindSpore) {
	switch {
	case !m.writesTensors():
	case e.writesArrays(m):
		e.addText("format.npy")
	case e.isWrittenByFramework(m):
		e.addText("format.raw")
	default:
		e.addText("format.dump-files", describeSides(m.dumpMode()))
	}
	e.addTextIf(e.isWrittenByFramework(m) && m.setting("trans_flag").Present() && !m.setting("trans_flag").isTrue(), "format.device-layout")
	if m.writesStatistics() {
		columns := Text{EN: "max, min, l2norm"}
		if v := valuesOf(m.setting("statistic_category").Elems); len(v) > 0 {
			columns = shortenedNames(v)
		}
		e.addText("format.statistic-csv", columns)
	}
}

func (e *explainer) addMindSporeCommands(m *MindSpore, root string) {
	if m.debugMode() != 0 && m.debugMode() < 4 {
		e.addOverflowCommands(root)
	}
	if m.debugMode() == 0 {
		e.addCheck(root, missingName(m.writesTensors(), `"saved_data": "tensor"`), missingName(m.dumpMode() == "all", `"input_output": 0`))
	}
	if !m.writesTensors() {
		e.addStatisticsCommands(root)
		e.addText("read.statistic-csv")
		return
	}
	e.addTensorCommands(root, !e.writesArrays(m) && !e.isWrittenByFramework(m))
}

// unique removes repeated values.
func unique(values []string) []string { return appendNew(nil, make(map[string]bool), values...) }

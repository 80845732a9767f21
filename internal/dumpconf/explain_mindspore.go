package dumpconf

import (
	"slices"
	"strconv"
)

const diagnosticFolder = "$MS_DIAGNOSTIC_DATA_PATH/debug_dump"

func (e *explainer) mindSpore(m *MindSpore) {
	if reason := e.switchedOff(m); reason != "" {
		e.say(reason)
		return
	}
	e.out.Active = true
	e.mindSporeMode(m)
	e.mindSporeScope(m)
	e.mindSporeFiles(m)
	e.mindSporeSurroundings(m)
	e.unusedSettings(m)
}

// switchedOff returns the key of the text that says why there is no dump, or nothing.
func (e *explainer) switchedOff(m *MindSpore) string {
	target := e.opt.TargetVersion
	byDevice := !m.hasE2E() && !e.opt.noNPU()
	switch {
	case !m.Common.Present():
		return "what.no-common"
	case m.SupportDevice.OK && len(m.SupportDevice.Value) == 0 && !e.opt.isCPU():
		return "what.no-device"
	case e.opt.backend() == "pynative":
		return "what.pynative"
	case e.opt.leftToMsprobe():
		return "what.left-to-msprobe"
	case m.hasE2E() && e.opt.withoutE2EDump():
		return "what.no-e2e-dump"
	case target.Before(sinceMS12) && !m.Enable.Value && !m.AsyncEnable.Value:
		return "what.neither-on"
	case byDevice && e.opt.kernelByKernel() && !target.Before(sinceMS24):
		return "what.backend-without-e2e"
	case byDevice && !target.IsNewest() && !target.Before(sinceMS26):
		return "what.release-without-e2e"
	default:
		return ""
	}
}

// framework reports whether the framework itself writes the files. Before 2.3
// enable decides, later the block.
func (e *explainer) framework(m *MindSpore) bool {
	if e.opt.TargetVersion.Before(sinceMS23) {
		return m.Enable.Value || e.opt.noNPU()
	}
	return m.hasE2E() || e.opt.noNPU()
}

// leftToMsprobe reports whether the release does not dump with the backend any
// more.
func (o *Options) leftToMsprobe() bool {
	return o.graphEngine() && !o.noNPU() && !o.TargetVersion.Before(sinceMS26)
}

// withoutE2EDump reports whether the backend has no dump by the framework.
func (o *Options) withoutE2EDump() bool {
	return o.graphEngine() && !o.noNPU() && !o.TargetVersion.Before(sinceMS23)
}

func (e *explainer) mindSporeMode(m *MindSpore) {
	saved := text("word.tensors")
	switch {
	case m.DebugMode() == 4:
	case m.SavedData.Value == "statistic":
		saved = text("word.statistics")
	case m.SavedData.Value == "full":
		saved = text("word.tensors-and-statistics")
	}
	switch m.DebugMode() {
	case 0:
		e.say("what.ms-dump", saved, sides(m.mode()))
	case 1, 2, 3:
		e.say("what.ms-overflow-dump", saved)
		e.when(m.OverflowNumber.Value > 0, "what.at-most-overflows", strconv.FormatUint(m.OverflowNumber.Value, 10))
	default:
		e.say("what.ms-exception-dump")
	}
	switch {
	case e.framework(m) && (m.Enable.Value || !m.hasE2E()):
		e.say("what.framework-sync")
	case e.framework(m):
		e.say("what.framework-async")
	default:
		e.say("what.device-async")
	}
}

// inputOutput is the meaning of each value of input_output, in the words of the runtime.
var inputOutput = []string{"all", "input", "output"}

// mode is input_output in the words of the runtime.
func (m *MindSpore) mode() string {
	if v := m.InputOutput.Value; v < uint64(len(inputOutput)) && m.DebugMode() == 0 {
		return inputOutput[v]
	}
	return "all"
}

func (e *explainer) mindSporeScope(m *MindSpore) {
	switch {
	case m.DebugMode() != 0:
		e.say("which.all-overflowing")
	case m.DumpMode.Value == 1:
		e.kernels(m)
	case m.DumpMode.Value == 2:
		e.say("which.marked")
	default:
		e.say("which.all-operators")
	}
	if m.DebugMode() == 4 {
		e.say("which.every-step")
	} else {
		e.steps(m.Iteration.Value, m.Steps)
	}
	e.when(m.InitialIteration.Value > 0, "which.counter-start", strconv.FormatUint(m.InitialIteration.Value, 10))
	var ids []uint64
	for _, d := range m.SupportDevice.Value {
		if d.OK && !slices.Contains(ids[:min(len(ids), 1000)], d.Value) {
			ids = append(ids, d.Value)
		}
	}
	e.when(len(ids) > 0 && !e.opt.isCPU(), "which.devices", names(numbers(ids)))
	if m.SampleMode.Value == 1 && m.DebugMode() == 0 {
		n := uint64(100)
		if m.SampleNum.OK {
			n = m.SampleNum.Value
		}
		e.say("which.samples", strconv.FormatUint(n, 10))
	}
}

// kernels says which operators an entry of kernels means.
func (e *explainer) kernels(m *MindSpore) {
	of := map[KernelKind][]string{}
	for _, k := range m.Kernels {
		if k.Pattern != "" {
			of[k.Kind] = append(of[k.Kind], k.Pattern)
		}
	}
	e.when(len(of) == 0, "which.empty-kernels")
	e.when(of[KernelName] != nil, "which.exact-names", names(of[KernelName]))
	e.when(of[KernelType] != nil, "which.type-contains", names(of[KernelType]))
	e.when(of[KernelRegex] != nil, "which.name-matches", names(of[KernelRegex]))
}

func (e *explainer) mindSporeSurroundings(m *MindSpore) {
	e.say("environment.ms-variable")
	e.say("environment.useless-output")
	old := e.opt.TargetVersion.Before(sinceMS23)
	e.when(e.framework(m), "environment.sink-mode")
	e.when(!e.framework(m) && !old, "environment.sink-size")
	e.when(old, "environment.no-dynamic-graphs")
	e.when(!old, "environment.msprobe-graphs")
	e.say("care.op-numbers")
	e.when(m.DebugMode() == 0 && m.savesTensors() && !e.opt.TargetVersion.Before(sinceMS16), "care.large-network")
}

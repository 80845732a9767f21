package dumpconf

import (
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// MindSpore is a dump configuration of MindSpore.
type MindSpore struct {
	Root               Object
	Common, E2E, Async Object

	// Of common_dump_settings.
	DumpMode, InputOutput, OpDebugMode Setting[uint64]
	OverflowNumber, InitialIteration   Setting[uint64]
	Path, NetName, Iteration           Setting[string]
	SavedData, FileFormat              Setting[string]
	KernelNames, StatisticCategory     Setting[[]Setting[string]]
	SupportDevice                      Setting[[]Setting[uint64]]
	Kernels                            []Kernel    // of KernelNames
	Steps                              []lang.Step // of Iteration; nil for all
	// Of e2e_dump_settings.
	Enable, TransFlag, SaveKernelArgs     Setting[bool]
	StatCalcMode, DeviceStatPrecisionMode Setting[string]
	SampleMode, SampleNum                 Setting[uint64]
	// Of async_dump_settings.
	AsyncEnable      Setting[bool]
	AsyncOpDebugMode Setting[uint64]
}

func readMindSpore(d *decoder, root *jsonpos.Value) *MindSpore {
	m := &MindSpore{Root: d.top(root, &mindSporeRoot)}
	m.Common = d.object(m.Root, "common_dump_settings", &mindSporeCommon)
	m.E2E = d.object(m.Root, "e2e_dump_settings", &mindSporeE2E)
	m.Async = d.object(m.Root, "async_dump_settings", &mindSporeAsync)
	m.readCommon(d)
	m.Enable = d.boolean(m.E2E, "enable")
	m.TransFlag = d.boolean(m.E2E, "trans_flag")
	m.SaveKernelArgs = d.boolean(m.E2E, "save_kernel_args")
	m.StatCalcMode = d.str(m.E2E, "stat_calc_mode")
	m.DeviceStatPrecisionMode = d.str(m.E2E, "device_stat_precision_mode")
	m.SampleMode = d.uint(m.E2E, "sample_mode")
	m.SampleNum = d.uint(m.E2E, "sample_num")
	m.AsyncEnable = d.boolean(m.Async, "enable")
	m.AsyncOpDebugMode = d.uint(m.Async, "op_debug_mode")
	return m
}

func (m *MindSpore) readCommon(d *decoder) {
	o := m.Common
	m.DumpMode = d.uint(o, "dump_mode")
	m.InputOutput = d.uint(o, "input_output")
	m.OpDebugMode = d.uint(o, "op_debug_mode")
	m.OverflowNumber = d.uint(o, "overflow_number")
	m.InitialIteration = d.uint(o, "initial_iteration")
	m.Path = d.str(o, "path")
	m.NetName = d.str(o, "net_name")
	m.Iteration = d.str(o, "iteration")
	m.SavedData = d.str(o, "saved_data")
	m.FileFormat = d.str(o, "file_format")
	m.KernelNames = d.strings(o, "kernels")
	m.StatisticCategory = d.strings(o, "statistic_category")
	m.SupportDevice = d.uints(o, "support_device")
	for _, s := range m.KernelNames.Value {
		m.Kernels = append(m.Kernels, ParseKernel(s.Value))
	}
	if m.Iteration.OK && m.Iteration.Value != "all" {
		m.Steps = lang.ParseSteps(m.Iteration.Value)
	}
}

// DebugMode returns op_debug_mode, 0 when it is absent.
func (m *MindSpore) DebugMode() uint64 { return m.OpDebugMode.Value }

// savesStatistics reports whether saved_data asks for statistics.
func (m *MindSpore) savesStatistics() bool {
	return m.SavedData.Value == "statistic" || m.SavedData.Value == "full"
}

// savesTensors reports whether saved_data asks for tensors, also by default.
func (m *MindSpore) savesTensors() bool { return m.SavedData.Value != "statistic" }

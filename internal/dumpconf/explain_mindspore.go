package dumpconf

import (
	"slices"
	"strconv"
)

const diagnosticFolder = "$MS_DIAGNOSTIC_DATA_PATH/debug_dump"

func (e *explaining) mindSpore(m *MindSpore) {
	why, off := e.switchedOff(m)
	if off {
		e.say("what", why)
		return
	}
	e.out.Active = true
	e.mindSporeMode(m)
	e.mindSporeScope(m)
	e.mindSporeFiles(m)
	e.mindSporeSurroundings(m)
	e.unusedSettings(m)
}

// switchedOff says why there is no dump.
func (e *explaining) switchedOff(m *MindSpore) (Text, bool) {
	target := e.opt.TargetVersion
	byDevice := !m.hasE2E() && !e.opt.noNPU()
	switch {
	case !m.Common.Present():
		return both("nothing: there is no common_dump_settings", "不 dump：没有 common_dump_settings"), true
	case m.SupportDevice.OK && len(m.SupportDevice.Value) == 0 && !e.opt.isCPU():
		return both("nothing: support_device is empty, and so the dump is off on every device", "不 dump：support_device 为空，所有设备都不 dump"), true
	case e.opt.backend() == "pynative":
		return both("nothing: MindSpore itself does not dump in dynamic graph mode; use msprobe", "不 dump：动态图模式下 MindSpore 自身不 dump，请使用 msprobe"), true
	case e.opt.leftToMsprobe():
		return both("nothing: since version 2.6 MindSpore itself does not dump with jit_level O2 or the graph engine; use msprobe", "不 dump：2.6 起 jit_level O2 与图引擎不再由 MindSpore 自身 dump，请使用 msprobe"), true
	case m.hasE2E() && e.opt.withoutE2EDump():
		return both("nothing: jit_level O2 and the graph engine do not support the dump by the framework that e2e_dump_settings selects; remove that block", "不 dump：e2e_dump_settings 选择框架 dump，jit_level O2 与图引擎不支持；请删除该部分"), true
	case target.Before(sinceMS12) && !m.Enable.Value && !m.AsyncEnable.Value:
		return both("nothing: neither e2e_dump_settings nor async_dump_settings is enabled", "不 dump：e2e_dump_settings 和 async_dump_settings 都没有打开"), true
	case byDevice && e.opt.kernelByKernel() && !target.Before(sinceMS24):
		return both("nothing: this backend writes no data without e2e_dump_settings", "不 dump：该后端没有 e2e_dump_settings 时不写数据"), true
	case byDevice && !target.IsNewest() && !target.Before(sinceMS26):
		return both("nothing: this release writes no data without e2e_dump_settings", "不 dump：该版本没有 e2e_dump_settings 时不写数据"), true
	default:
		return Text{}, false
	}
}

// framework reports whether the framework itself writes the files. Before 2.3
// enable decides, later the block.
func (e *explaining) framework(m *MindSpore) bool {
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

// sinkSize is what the script must do when the graph engine runs the network.
func sinkSize() Text {
	return both("with jit_level O2 the sink size must be 1", "jit_level O2 时 sink size 需为 1")
}

func (e *explaining) mindSporeMode(m *MindSpore) {
	saved := both("tensors", "张量")
	switch {
	case m.DebugMode() == 4:
	case m.SavedData.Value == "statistic":
		saved = both("statistics", "统计信息")
	case m.SavedData.Value == "full":
		saved = both("tensors and their statistics", "张量及统计信息")
	}
	switch m.DebugMode() {
	case 0:
		e.say("what", both("ordinary dump: %s of the %s of operators", "普通 dump：算子%[2]s的%[1]s", saved, m.sides()))
	case 1, 2, 3:
		e.say("what", both("overflow dump: %s of the inputs and outputs of operators that overflow, with a record of the overflow", "溢出 dump：溢出算子输入和输出的%s，以及溢出记录", saved))
		if n := m.OverflowNumber; n.Value > 0 {
			e.say("what", both("at most %s overflows", "最多 %s 次溢出", strconv.FormatUint(n.Value, 10)))
		}
	default:
		e.say("what", both("exception dump: tensors of operators that fail", "异常 dump：执行异常算子的张量"))
	}
	switch {
	case e.framework(m) && (m.Enable.Value || !m.hasE2E()):
		e.say("what", both("written by the framework, synchronously", "由框架同步写出"))
	case e.framework(m):
		e.say("what", both("written by the framework, asynchronously: enable is not true", "由框架异步写出：enable 不为 true"))
	default:
		e.say("what", both("written by the device, asynchronously: e2e_dump_settings is not there, or off", "由设备异步写出：没有 e2e_dump_settings，或未打开"))
	}
}

// sides names inputs and outputs.
func (m *MindSpore) sides() Text { return sides(m.mode()) }

// mode is input_output in the words of the runtime.
func (m *MindSpore) mode() string {
	modes := [...]string{"all", "input", "output"}
	if v := m.InputOutput.Value; v < uint64(len(modes)) && m.DebugMode() == 0 {
		return modes[v]
	}
	return "all"
}

func (e *explaining) mindSporeScope(m *MindSpore) {
	switch {
	case m.DebugMode() != 0:
		e.say("which", both("all operators, as op_debug_mode is not 0; files appear only for those that overflow or fail", "所有算子(op_debug_mode 不为 0)，但仅溢出或异常的算子有文件"))
	case m.DumpMode.Value == 1:
		e.kernels(m)
	case m.DumpMode.Value == 2:
		e.say("which", both("operators that the script marks with mindspore.set_dump", "脚本中用 mindspore.set_dump 标记的算子"))
	default:
		e.say("which", both("all operators", "所有算子"))
	}
	if m.DebugMode() == 4 {
		e.say("which", both("every step", "所有迭代"))
	} else {
		e.steps(m.Iteration.Value, m.Steps)
	}
	if start := m.InitialIteration.Value; start > 0 {
		e.say("which", both("the step counter starts at %s", "迭代计数从 %s 开始", strconv.FormatUint(start, 10)))
	}
	var ids []uint64
	for _, d := range m.SupportDevice.Value {
		if d.OK && !slices.Contains(ids[:min(len(ids), 1000)], d.Value) {
			ids = append(ids, d.Value)
		}
	}
	if len(ids) > 0 && !e.opt.isCPU() {
		e.say("which", both("devices %s; others do not dump", "设备 %s，其他设备不 dump", names(numbers(ids))))
	}
	if m.SampleMode.Value == 1 && m.DebugMode() == 0 {
		n := uint64(100)
		if m.SampleNum.OK {
			n = m.SampleNum.Value
		}
		e.say("which", both("of each tensor only head and tail (sample_num %s)", "每个张量只保存首尾部分(sample_num 为 %s)", strconv.FormatUint(n, 10)))
	}
}

// kernels says which operators an entry of kernels means.
func (e *explaining) kernels(m *MindSpore) {
	of := map[KernelKind][]string{}
	for _, k := range m.Kernels {
		if k.Pattern != "" {
			of[k.Kind] = append(of[k.Kind], k.Pattern)
		}
	}
	if len(of) == 0 {
		e.say("which", both("all operators: kernels is empty", "所有算子：kernels 为空"))
	}
	if v := of[KernelName]; v != nil {
		e.say("which", both("operators of exactly these names: %s", "全名为以下名称的算子：%s", names(v)))
	}
	if v := of[KernelType]; v != nil {
		e.say("which", both("operators whose type contains, in any case: %s", "类型包含以下文字的算子(不区分大小写)：%s", names(v)))
	}
	if v := of[KernelRegex]; v != nil {
		e.say("which", both("operators whose full name matches: %s", "全名匹配以下正则表达式的算子：%s", names(v)))
	}
}

func (e *explaining) mindSporeSurroundings(m *MindSpore) {
	e.say("environment", both("MINDSPORE_DUMP_CONFIG must hold the absolute path of this file, whose name ends with .json, before the script starts and before communication is initialised",
		"脚本启动和通信初始化之前，MINDSPORE_DUMP_CONFIG 需设为本文件的绝对路径(后缀 .json)"))
	e.say("environment", both("MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT=0 keeps outputs that nobody uses", "MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT=0 保留无用的输出"))
	if e.framework(m) {
		e.say("environment", both("the script must set dataset_sink_mode=False, or steps are missing", "脚本需设置 dataset_sink_mode=False，否则迭代数据不全"))
	} else if !e.opt.TargetVersion.Before(sinceMS23) {
		e.say("environment", sinkSize())
	}
	if e.opt.TargetVersion.Before(sinceMS23) {
		e.say("environment", both("dynamic graphs are not dumped", "动态图不会 dump"))
	} else {
		e.say("environment", both("dynamic graphs, and from 2.6 on the graph engine, are dumped by msprobe, not by this file", "动态图，以及 2.6 起的图引擎，请使用 msprobe，本文件不生效"))
	}
	e.say("care", both("operator numbers such as -op12 change between runs with other settings: take graphs and dump from the same run", "算子编号(如 -op12)随配置变化：图文件与 dump 请取自同一次运行"))
	if m.DebugMode() == 0 && m.savesTensors() && !e.opt.TargetVersion.Before(sinceMS16) {
		e.say("care", both(`tensors of a whole network are large: saved_data "statistic" first, then kernels or iteration`, `张量 dump 数据量大：建议先用 saved_data "statistic"，再用 kernels 或 iteration 缩小范围`))
	}
}

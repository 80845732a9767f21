package dumpconf

import (
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// mindSporeDataRules check what is saved, and as what.
var mindSporeDataRules = []rule{
	{id: "MS024", severity: Error, checks: "saved_data is not tensor, statistic or full", message: asSaid,
		run: (*reporter).values},
	{id: "MS025", severity: Error, checks: "statistics on CPU",
		message: Text{EN: "saved_data %s: statistics are not available on CPU; use tensor", ZH: "saved_data %s：CPU 上不支持统计量，请用 tensor"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.savesStatistics() && r.opt.isCPU(), m.at("saved_data").valueSpan(), show(m.at("saved_data").Value)).suggest("tensor")
		}},
	{id: "MS026", severity: Error, checks: "statistics without e2e_dump_settings need file_format npy",
		guess: true, message: Text{EN: `saved_data %s needs "file_format": "npy" where e2e_dump_settings is missing`, ZH: `没有 e2e_dump_settings 时 saved_data %s 需要 "file_format": "npy"`},
		ms: func(m *MindSpore, r *reporter) {
			if !m.savesStatistics() || m.hasE2E() || r.opt.noNPU() || m.at("file_format").Value == "npy" || m.at("file_format").misread() {
				return
			}
			if r.lacksE2E() {
				return // another rule wants the block
			}
			r.insert(r.at(m.at("saved_data").valueSpan(), show(m.at("saved_data").Value)), m.Common, "file_format", "npy")
		}},
	{id: "MS027", severity: Warning, checks: "statistic_category without statistics",
		guess: true, message: Text{EN: `statistic_category is ignored while saved_data is "tensor"; write "statistic" or "full"`, ZH: `saved_data 为 "tensor" 时 statistic_category 会被忽略；请写 "statistic" 或 "full"`},
		ignored: Text{EN: `not used while saved_data is "tensor"`, ZH: `saved_data 为 "tensor" 时不生效`},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.at("statistic_category").Present() && (!m.at("saved_data").Present() || m.at("saved_data").Value == "tensor"), m.at("statistic_category").keySpan())
		}},
	{id: "MS028", severity: Error, checks: "statistic_category is empty, or has an item that is unknown, not for the device or listed twice", message: asSaid,
		ignored: Text{EN: "not computed on the device", ZH: "设备侧不支持该统计项"},
		ms: func(m *MindSpore, r *reporter) {
			s, seen := m.at("statistic_category"), make(map[string]bool)
			if s.isEmpty() {
				r.as(Info, s.valueSpan(), Text{EN: "statistic_category is empty; the default is max, min, l2norm", ZH: "statistic_category 为空，默认为 max、min、l2norm"})
			}
			for _, item := range s.Elems {
				if item.OK {
					r.statistic(item, seen)
				}
			}
		}},
	{id: "MS029", severity: Error, checks: "file_format is not bin or npy", message: asSaid,
		run: (*reporter).values},
	{id: "MS030", severity: Warning, checks: "file_format beside e2e_dump_settings",
		guess: true, message: Text{EN: "file_format is not used beside e2e_dump_settings; the files are npy", ZH: "有 e2e_dump_settings 时 file_format 不生效，文件为 npy"},
		ignored: Text{EN: "not used beside e2e_dump_settings: the files are npy", ZH: "有 e2e_dump_settings 时不生效，文件为 npy"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.at("file_format").Present() && m.hasE2E(), m.at("file_format").keySpan())
		}},
}

// statistic reports an item of statistic_category. What was seen is kept under
// the first of the names that mean the same.
func (r *reporter) statistic(item Setting, seen map[string]bool) {
	name := item.Value
	switch name {
	case "hash":
		name = "hash:sha1"
	case "hash:md5":
		name = "md5"
	}
	again := seen[name]
	seen[name] = true
	m := r.check.ms
	onDevice := m.at("stat_calc_mode").Value == "device" && !r.opt.noNPU() && !m.savesTensors()
	switch {
	case !slices.Contains(hostStatistics, item.Value):
		best := r.nearest(item.Value, hostStatistics)
		f := r.at(item.valueSpan(), lang.Sayf("%s is not a statistic; allowed are %s", "%s 不是统计项，可选值为 %s", show(item.Value), list(hostStatistics))).suggest(best)
		if best != "" && strings.EqualFold(best, item.Value) {
			f.repair(item, best)
		}
	case again:
		r.as(Info, item.valueSpan(), lang.Sayf("%s is listed twice", "%s 重复", show(item.Value)))
	case onDevice && !slices.Contains(deviceStatistics, item.Value):
		r.as(Warning, item.valueSpan(), lang.Sayf("%s is computed on the host only; stat_calc_mode \"device\" leaves it out", "%s 只能在主机侧计算；stat_calc_mode 为 \"device\" 时不输出", show(item.Value)))
	}
}

// mindSporeDebugRules check op_debug_mode and what goes with it.
var mindSporeDebugRules = []rule{
	{id: "MS031", severity: Error, checks: "op_debug_mode is not known",
		message: Text{EN: "op_debug_mode %d is not known; use 0 (off), 3 (overflow)%s", ZH: "不支持 op_debug_mode %d；应为 0(关闭)、3(溢出)%s"},
		ms: func(m *MindSpore, r *reporter) {
			s, old := m.at("op_debug_mode"), r.opt.TargetVersion.Before(sinceMS20)
			r.when(old && s.Uint > 3, s.valueSpan(), s.Uint, Text{EN: "; 4 is known since version 2 only", ZH: "；4 从版本 2 起才支持"})
			r.when(!old && s.Uint > 4, s.valueSpan(), s.Uint, Text{EN: " or 4 (failing operators)", ZH: "或 4(失败的算子)"})
		}},
	{id: "MS032", severity: Warning, checks: "op_debug_mode 1 or 2 for version 2 or later",
		message: Text{EN: "op_debug_mode %d is treated as 3, all overflows", ZH: "op_debug_mode %d 按 3(所有溢出)处理"},
		ignored: Text{EN: "taken as 3, all overflows", ZH: "按 3(所有溢出)处理"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.at("op_debug_mode")
			r.when((s.Uint == 1 || s.Uint == 2) && !r.opt.TargetVersion.Before(sinceMS20), s.valueSpan(), s.Uint).suggest("3")
		}},
	{id: "MS033", severity: Warning, checks: "op_debug_mode is on and filters are set, which are ignored then",
		guess: true, message: Text{EN: "%s is ignored while op_debug_mode is %d: only operators that overflow or fail are dumped", ZH: "op_debug_mode 不为 0 时 %s 会被忽略(当前为 %d)：只 dump 溢出或失败的算子"},
		ignored: Text{EN: "not used while op_debug_mode is not 0", ZH: "op_debug_mode 不为 0 时不生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.debugMode() != 0 && m.at("dump_mode").Uint != 0, m.at("dump_mode").valueSpan(), "dump_mode", m.debugMode())
			r.when(m.debugMode() == 4 && m.at("iteration").OK && m.at("iteration").Value != "all", m.at("iteration").valueSpan(), "iteration", m.debugMode())
		}},
	{id: "MS034", severity: Warning, checks: "op_debug_mode 3 with input_output other than 0",
		message: Text{EN: "input_output is forced to 0 while op_debug_mode is 3", ZH: "op_debug_mode 为 3 时 input_output 强制为 0"},
		ignored: Text{EN: "forced to 0 (both) while op_debug_mode is 3", ZH: "op_debug_mode 为 3 时强制为 0(输入和输出)"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.debugMode() == 3 && m.at("input_output").Uint != 0, m.at("input_output").valueSpan())
		}},
	{id: "MS035", severity: Error, checks: "overflow_number without op_debug_mode 3",
		guess: true, message: Text{EN: "overflow_number needs op_debug_mode 3, found %d; remove it otherwise", ZH: "overflow_number 需要 op_debug_mode 3，实际为 %d；否则请删除"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.at("overflow_number").Present() && m.debugMode() != 3 && !m.at("op_debug_mode").misread(), m.at("overflow_number").keySpan(), m.debugMode())
		}},
	{id: "MS060", severity: Warning, checks: "op_debug_mode is on for CPU or GPU",
		message: Text{EN: "op_debug_mode %d saves nothing on CPU and GPU; write 0", ZH: "op_debug_mode %d 在 CPU 和 GPU 上不保存数据，请写 0"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.debugMode() != 0 && r.opt.noNPU(), m.at("op_debug_mode").valueSpan(), m.debugMode()).suggest("0")
		}},
	{id: "MS036", severity: Warning, checks: "op_debug_mode 4 with saved_data or sampling",
		message: Text{EN: "%s while op_debug_mode is 4", ZH: "op_debug_mode 为 4 时%s"},
		ignored: Text{EN: "not used while op_debug_mode is 4", ZH: "op_debug_mode 为 4 时不生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.debugMode() == 4 && m.savesStatistics(), m.at("saved_data").valueSpan(), Text{EN: `saved_data is forced to "tensor"`, ZH: ` saved_data 强制为 "tensor"`})
			r.when(m.debugMode() == 4 && m.at("sample_mode").Uint != 0, m.at("sample_mode").valueSpan(), Text{EN: "sampling is off", ZH: "采样关闭"})
		}},
}

// mindSporeE2ERules check e2e_dump_settings.
var mindSporeE2ERules = []rule{
	{id: "MS052", severity: Error, checks: "stat_calc_mode or device_stat_precision_mode is not known", message: asSaid,
		run: (*reporter).values},
	{id: "MS053", severity: Warning, checks: "stat_calc_mode device where the host must compute",
		guess: true, message: Text{EN: `stat_calc_mode "device" is forced back to "host"%s`, ZH: `stat_calc_mode "device" 会强制改回 "host"%s`},
		ignored: Text{EN: `forced back to "host"`, ZH: `强制改为 "host"`},
		ms: func(m *MindSpore, r *reporter) {
			switch s := m.at("stat_calc_mode"); {
			case s.Value != "device":
			case r.opt.noNPU():
				r.at(s.valueSpan(), Text{EN: " without an NPU", ZH: "：没有 NPU"})
			case m.savesTensors() && !m.at("saved_data").misread():
				r.at(s.valueSpan(), Text{EN: `: it needs saved_data "statistic"`, ZH: `：需要 saved_data "statistic"`})
			}
		}},
	{id: "MS054", severity: Error, checks: "sample_mode or sample_num is out of range, or sample_num is not read", guess: true, message: asSaid,
		ignored: Text{EN: "read only when sample_mode is 1", ZH: "仅 sample_mode 为 1 时生效"},
		ms: func(m *MindSpore, r *reporter) {
			mode, num := m.at("sample_mode"), m.at("sample_num")
			if mode.OK && mode.Uint > 1 {
				r.at(mode.valueSpan(), lang.Sayf("sample_mode must be 0 (off) or 1 (head and tail), found %s", "sample_mode 必须为 0(关闭)或 1(首尾采样)，实际为 %s", mode.Node.Text))
			}
			switch {
			case num.OK && num.Uint == 0:
				r.at(num.valueSpan(), Text{EN: "sample_num must be at least 1", ZH: "sample_num 至少为 1"})
			case num.Present() && (!mode.Present() || mode.OK && mode.Uint == 0):
				r.as(Warning, num.keySpan(), Text{EN: "sample_num is read only when sample_mode is 1", ZH: "仅当 sample_mode 为 1 时读取 sample_num"})
			}
		}},
	{id: "MS059", severity: Warning, checks: "sampling on CPU or GPU, or without e2e_dump_settings",
		guess: true, message: Text{EN: "sample_mode 1 is ignored %s", ZH: "sample_mode 1 会被忽略：%s"},
		ignored: Text{EN: "sampling does not work here", ZH: "此场景不支持采样"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.at("sample_mode").Uint == 1 && r.opt.noNPU(), m.at("sample_mode").valueSpan(), Text{EN: "on CPU and GPU", ZH: "CPU 和 GPU 上不支持"})
			for _, s := range r.read.unknown {
				v := s.member.Value
				r.when(!m.hasE2E() && s.member.Key == "sample_mode" && v.Kind == jsonpos.Number && v.Text == "1", s.span(), Text{EN: "without e2e_dump_settings", ZH: "没有 e2e_dump_settings"})
			}
		}},
}

// mindSporeBackendRules check whether the backend can dump this way.
var mindSporeBackendRules = []rule{
	{id: "MS051", severity: Warning, checks: "no e2e_dump_settings for a backend that needs it",
		guess: true, message: Text{EN: "no data will be written: backend %s needs e2e_dump_settings since version 2.4", ZH: "不会写出数据：从版本 2.4 起 backend %s 需要 e2e_dump_settings"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(r.lacksE2E(), m.Common.keySpan(), r.opt.Backend).suggest(`"e2e_dump_settings": {"enable": false}`)
		}},
	{id: "MS061", severity: Warning, checks: "e2e_dump_settings for the graph engine, from version 2.4 on",
		guess: true, message: Text{EN: "backend %s has no e2e_dump_settings since version 2.4; leave the block out", ZH: "从版本 2.4 起 backend %s 不支持 e2e_dump_settings，请去掉该块"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.E2E.Present() && r.opt.graphEngine() && !r.opt.noNPU() && !r.opt.TargetVersion.Before(sinceMS24),
				m.E2E.keySpan(), r.opt.Backend)
		}},
	{id: "MS058", severity: Info, checks: "dynamic graphs, or the graph engine from version 2.6 on",
		message: Text{EN: "MindSpore itself does not dump %s; use msprobe", ZH: "MindSpore 自身不支持 dump：%s；请使用 msprobe"},
		run: func(r *reporter) {
			switch {
			case r.opt.backend() == "pynative":
				r.at(r.top(), Text{EN: "in dynamic graph mode", ZH: "动态图模式"})
			case r.opt.graphEngine() && !r.opt.TargetVersion.Before(sinceMS26):
				r.at(r.top(), Text{EN: "with the graph engine any more, since version 2.6", ZH: "图引擎(从版本 2.6 起)"})
			}
		}},
}

// lacksE2E reports whether the backend writes nothing because
// e2e_dump_settings is missing.
func (c *check) lacksE2E() bool {
	return c.ms.Common.Present() && !c.ms.hasE2E() && c.opt.kernelByKernel() && !c.opt.noNPU() &&
		!c.opt.TargetVersion.Before(sinceMS24)
}

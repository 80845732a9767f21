package dumpconf

import (
	"dumptool/internal/jsonpos"

	"dumptool/internal/lang"
)

// mindSporeE2ERules check e2e_dump_settings.
var mindSporeE2ERules = []rule{
	{id: "MS052", severity: Error, checks: "stat_calc_mode or device_stat_precision_mode is not known", message: asSaid,
		run: (*reporter).values},
	{id: "MS053", severity: Warning, checks: "stat_calc_mode device where the host must compute",
		guess: true, message: Text{EN: `stat_calc_mode "device" is forced back to "host"%s`, ZH: `stat_calc_mode "device" 会强制改回 "host"%s`},
		ignored: Text{EN: `forced back to "host"`, ZH: `强制改为 "host"`},
		ms: func(m *MindSpore, r *reporter) {
			switch s := m.StatCalcMode; {
			case s.Value != "device":
			case r.opt.noNPU():
				r.at(s.valueSpan(), Text{EN: " without an NPU", ZH: "：没有 NPU"})
			case m.savesTensors() && !m.SavedData.misread():
				r.at(s.valueSpan(), Text{EN: `: it needs saved_data "statistic"`, ZH: `：需要 saved_data "statistic"`})
			}
		}},
	{id: "MS054", severity: Error, checks: "sample_mode or sample_num is out of range, or sample_num is not read", guess: true, message: asSaid,
		ignored: Text{EN: "read only when sample_mode is 1", ZH: "仅 sample_mode 为 1 时生效"},
		ms: func(m *MindSpore, r *reporter) {
			mode, num := m.SampleMode, m.SampleNum
			if mode.OK && mode.Value > 1 {
				r.at(mode.valueSpan(), lang.Sayf("sample_mode must be 0 (off) or 1 (head and tail), found %s", "sample_mode 必须为 0(关闭)或 1(首尾采样)，实际为 %s", mode.Node.Text))
			}
			switch {
			case num.OK && num.Value == 0:
				r.at(num.valueSpan(), Text{EN: "sample_num must be at least 1", ZH: "sample_num 至少为 1"})
			case num.Present() && (!mode.Present() || mode.OK && mode.Value == 0):
				r.as(Warning, num.keySpan(), Text{EN: "sample_num is read only when sample_mode is 1", ZH: "仅当 sample_mode 为 1 时读取 sample_num"})
			}
		}},
	{id: "MS059", severity: Warning, checks: "sampling on CPU or GPU, or without e2e_dump_settings",
		guess: true, message: Text{EN: "sample_mode 1 is ignored %s", ZH: "sample_mode 1 会被忽略：%s"},
		ignored: Text{EN: "sampling does not work here", ZH: "此场景不支持采样"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.SampleMode.Value == 1 && r.opt.noNPU(), m.SampleMode.valueSpan(), Text{EN: "on CPU and GPU", ZH: "CPU 和 GPU 上不支持"})
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

package dumpconf

import "dumptool/internal/jsonpos"

// mindSporeE2ERules check e2e_dump_settings.
var mindSporeE2ERules = []rule{
	{id: "MS052", severity: Error, checks: "stat_calc_mode or device_stat_precision_mode is not known", message: "%s",
		run: (*reporter).values},
	{id: "MS053", severity: Warning, checks: "stat_calc_mode device where the host must compute",
		guess: true, message: `stat_calc_mode "device" is forced back to "host"%s`,
		ignored: Text{EN: `forced back to "host"`, ZH: `强制改为 "host"`},
		ms: func(m *MindSpore, r *reporter) {
			switch s := m.StatCalcMode; {
			case s.Value != "device":
			case r.opt.noNPU():
				r.at(s.valueSpan(), " without an NPU")
			case m.savesTensors() && !m.SavedData.misread():
				r.at(s.valueSpan(), `: it needs saved_data "statistic"`)
			}
		}},
	{id: "MS054", severity: Error, checks: "sample_mode or sample_num is out of range, or sample_num is not read", guess: true, message: "%s",
		ignored: Text{EN: "read only when sample_mode is 1", ZH: "仅 sample_mode 为 1 时生效"},
		ms: func(m *MindSpore, r *reporter) {
			mode, num := m.SampleMode, m.SampleNum
			if mode.OK && mode.Value > 1 {
				r.at(mode.valueSpan(), "sample_mode must be 0 (off) or 1 (head and tail), found "+mode.Node.Text)
			}
			switch {
			case num.OK && num.Value == 0:
				r.at(num.valueSpan(), "sample_num must be at least 1")
			case num.Present() && (!mode.Present() || mode.OK && mode.Value == 0):
				r.as(Warning, num.keySpan(), "sample_num is read only when sample_mode is 1")
			}
		}},
	{id: "MS059", severity: Warning, checks: "sampling on CPU or GPU, or without e2e_dump_settings",
		guess: true, message: "sample_mode 1 is ignored %s",
		ignored: Text{EN: "sampling does not work here", ZH: "此场景不支持采样"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.SampleMode.Value == 1 && r.opt.noNPU(), m.SampleMode.valueSpan(), "on CPU and GPU")
			for _, s := range r.read.unknown {
				v := s.member.Value
				r.when(!m.hasE2E() && s.member.Key == "sample_mode" && v.Kind == jsonpos.Number && v.Text == "1", s.span(), "without e2e_dump_settings")
			}
		}},
}

// mindSporeBackendRules check whether the backend can dump this way.
var mindSporeBackendRules = []rule{
	{id: "MS051", severity: Warning, checks: "no e2e_dump_settings for a backend that needs it",
		guess: true, message: "no data will be written: backend %s needs e2e_dump_settings since version 2.4",
		ms: func(m *MindSpore, r *reporter) {
			r.when(r.lacksE2E(), m.Common.keySpan(), r.opt.Backend).suggest(`"e2e_dump_settings": {"enable": false}`)
		}},
	{id: "MS061", severity: Warning, checks: "e2e_dump_settings for the graph engine, from version 2.4 on",
		guess: true, message: "backend %s has no e2e_dump_settings since version 2.4; leave the block out",
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.E2E.Present() && r.opt.graphEngine() && !r.opt.noNPU() && !r.opt.TargetVersion.Before(sinceMS24),
				m.E2E.keySpan(), r.opt.Backend)
		}},
	{id: "MS058", severity: Info, checks: "dynamic graphs, or the graph engine from version 2.6 on",
		message: "MindSpore itself does not dump %s; use msprobe",
		run: func(r *reporter) {
			switch {
			case r.opt.backend() == "pynative":
				r.at(r.top(), "in dynamic graph mode")
			case r.opt.graphEngine() && !r.opt.TargetVersion.Before(sinceMS26):
				r.at(r.top(), "with the graph engine any more, since version 2.6")
			}
		}},
}

// lacksE2E reports whether the backend writes nothing because
// e2e_dump_settings is missing.
func (c *check) lacksE2E() bool {
	return c.ms.Common.Present() && !c.ms.hasE2E() && c.opt.kernelByKernel() && !c.opt.noNPU() &&
		!c.opt.TargetVersion.Before(sinceMS24)
}

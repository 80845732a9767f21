package dumpconf

import "dumptool/internal/dumpconf/jsonpos"

// mindSporeE2ERules check e2e_dump_settings.
func mindSporeE2ERules() []rule {
	return []rule{
		{"MS052", Error, "", stageLint, "stat_calc_mode or device_stat_precision_mode is not known", "%s",
			func(_ *check, r *reporter) { r.mistyped(); r.enums() }},
		{"MS053", Warning, "", stageLint, "stat_calc_mode device where the host must compute",
			`stat_calc_mode "device" is forced back to "host"%s`,
			func(c *check, r *reporter) {
				m := c.ms
				switch s := m.StatCalcMode; {
				case s.Value != "device":
				case c.opt.noNPU():
					r.at(s.valueSpot(), " without an NPU")
				case m.savesTensors() && (m.SavedData.OK || !m.SavedData.Present()):
					r.at(s.valueSpot(), `: it needs saved_data "statistic"`)
				}
			}},
		{"MS054", Error, "", stageLint, "sample_mode or sample_num is out of range, or sample_num is not read", "%s",
			func(c *check, r *reporter) {
				mode, num := c.ms.SampleMode, c.ms.SampleNum
				if mode.OK && mode.Value > 1 {
					r.at(mode.valueSpot(), "sample_mode must be 0 (off) or 1 (head and tail), found "+mode.Node.Text)
				}
				switch {
				case num.OK && num.Value == 0:
					r.at(num.valueSpot(), "sample_num must be at least 1")
				case num.Present() && (!mode.Present() || mode.OK && mode.Value == 0):
					r.as(Warning, num.keySpot(), "sample_num is read only when sample_mode is 1")
				}
			}},
		{"MS059", Warning, "", stageLint, "sampling on CPU or GPU, or without e2e_dump_settings",
			"sample_mode 1 is ignored %s",
			func(c *check, r *reporter) {
				m := c.ms
				if m.SampleMode.Value == 1 && c.opt.noNPU() {
					r.at(m.SampleMode.valueSpot(), "on CPU and GPU")
				}
				if m.hasE2E() {
					return
				}
				for _, s := range c.strayed("sample_mode") {
					if s.member.Value.Kind == jsonpos.Number && s.member.Value.Text == "1" {
						r.at(s.spot(), "without e2e_dump_settings")
					}
				}
			}},
	}
}

// mindSporeBackendRules check whether the backend can dump this way.
func mindSporeBackendRules() []rule {
	return []rule{
		{"MS051", Warning, "", stageLint, "no e2e_dump_settings for a backend that needs it",
			"no data will be written: backend %s needs e2e_dump_settings since version 2.4",
			func(c *check, r *reporter) {
				if c.lacksE2E() {
					r.at(c.ms.Common.keySpot(), c.opt.Backend).Suggestion = `"e2e_dump_settings": {"enable": false}`
				}
			}},
		{"MS061", Warning, "", stageLint, "e2e_dump_settings for the graph engine, from version 2.4 on",
			"backend %s has no e2e_dump_settings since version 2.4; leave the block out",
			func(c *check, r *reporter) {
				if c.ms.E2E.Present() && c.opt.graphEngine() && !c.opt.noNPU() && !c.opt.TargetVersion.Before(sinceMS24) {
					r.at(c.ms.E2E.keySpot(), c.opt.Backend)
				}
			}},
		{"MS058", Info, "", stageLint, "dynamic graphs, or the graph engine from version 2.6 on",
			"MindSpore itself does not dump %s; use msprobe",
			func(c *check, r *reporter) {
				switch {
				case c.opt.backend() == "pynative":
					r.at(c.top(), "in dynamic graph mode")
				case c.opt.graphEngine() && !c.opt.TargetVersion.Before(sinceMS26):
					r.at(c.top(), "with the graph engine any more, since version 2.6")
				}
			}},
	}
}

// lacksE2E reports whether the backend writes nothing because
// e2e_dump_settings is missing.
func (c *check) lacksE2E() bool {
	return c.ms.Common.Present() && !c.ms.hasE2E() && c.opt.kernelByKernel() && !c.opt.noNPU() &&
		!c.opt.TargetVersion.Before(sinceMS24)
}

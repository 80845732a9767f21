package dumpconf

// mindSporeOldRules check what releases before 2.1 alone want.
func mindSporeOldRules() []rule {
	return []rule{
		{"MS062", Warning, "", stageLint, "neither dump is on, for version 1.0 or 1.1",
			"this dumps nothing in version %v: set enable in e2e_dump_settings or async_dump_settings to true",
			func(c *check, r *reporter) {
				m, target := c.ms, c.opt.TargetVersion
				unclear := m.Enable.Present() && !m.Enable.OK || m.AsyncEnable.Present() && !m.AsyncEnable.OK
				if !m.Common.Present() || !target.Before(sinceMS12) || unclear || m.Enable.Value || m.AsyncEnable.Value {
					return
				}
				at := m.Common.keySpot()
				if m.Enable.Present() {
					at = m.Enable.valueSpot()
				}
				r.at(at, target)
			}},
		{"MS063", Error, "", stageLint, "op_debug_mode of async_dump_settings is not 0 to 3, for version 1.0 or 1.1",
			"op_debug_mode %d is not known in async_dump_settings; use 0 (off) or 1 to 3 (overflow)",
			func(c *check, r *reporter) {
				if m := c.ms.AsyncOpDebugMode; m.OK && m.Value > 3 && c.opt.TargetVersion.Before(sinceMS12) {
					r.at(m.valueSpot(), m.Value)
				}
			}},
		{"MS064", Error, "", stageLint, "statistics with e2e_dump_settings on Ascend, for version 2.0",
			"saved_data %s does not go with e2e_dump_settings on Ascend in version 2.0; use tensor, or leave the block out",
			func(c *check, r *reporter) {
				v := c.opt.TargetVersion
				if v.Major == 2 && v.Minor == 0 && c.ms.E2E.Present() && c.ms.savesStatistics() && !c.opt.noNPU() && !c.opt.kernelByKernel() {
					r.at(c.ms.SavedData.valueSpot(), show(c.ms.SavedData.Value)).Suggestion = "tensor"
				}
			}},
	}
}

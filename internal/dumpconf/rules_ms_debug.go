package dumpconf

// mindSporeDebugRules check op_debug_mode and what goes with it.
func mindSporeDebugRules() []rule {
	return []rule{
		{"MS031", Error, "", stageLint, "op_debug_mode is not known",
			"op_debug_mode %d is not known; use 0 (off), 3 (overflow)%s",
			func(c *check, r *reporter) {
				m := c.ms.OpDebugMode
				switch old := c.opt.TargetVersion.Before(sinceMS20); {
				case old && m.Value > 3:
					r.at(m.valueSpot(), m.Value, "; 4 is known since version 2 only")
				case m.Value > 4:
					r.at(m.valueSpot(), m.Value, " or 4 (failing operators)")
				}
			}},
		{"MS032", Warning, "", stageLint, "op_debug_mode 1 or 2 for version 2 or later",
			"op_debug_mode %d is treated as 3, all overflows",
			func(c *check, r *reporter) {
				m := c.ms.OpDebugMode
				if (m.Value == 1 || m.Value == 2) && !c.opt.TargetVersion.Before(sinceMS20) {
					r.at(m.valueSpot(), m.Value).Suggestion = "3"
				}
			}},
		{"MS033", Warning, "", stageLint, "op_debug_mode is on and filters are set, which are ignored then",
			"%s is ignored while op_debug_mode is %d: only operators that overflow or fail are dumped",
			func(c *check, r *reporter) {
				m := c.ms
				if m.DebugMode() != 0 && m.DumpMode.Value != 0 {
					r.at(m.DumpMode.valueSpot(), "dump_mode", m.DebugMode())
				}
				if m.DebugMode() == 4 && m.Iteration.OK && m.Iteration.Value != "all" {
					r.at(m.Iteration.valueSpot(), "iteration", m.DebugMode())
				}
			}},
		{"MS034", Warning, "", stageLint, "op_debug_mode 3 with input_output other than 0",
			"input_output is forced to 0 while op_debug_mode is 3",
			func(c *check, r *reporter) {
				if c.ms.DebugMode() == 3 && c.ms.InputOutput.Value != 0 {
					r.at(c.ms.InputOutput.valueSpot())
				}
			}},
		{"MS035", Error, "", stageLint, "overflow_number without op_debug_mode 3",
			"overflow_number needs op_debug_mode 3, found %d; remove it otherwise",
			func(c *check, r *reporter) {
				m := c.ms
				if m.OverflowNumber.Present() && m.DebugMode() != 3 && (m.OpDebugMode.OK || !m.OpDebugMode.Present()) {
					r.at(m.OverflowNumber.keySpot(), m.DebugMode())
				}
			}},
		{"MS060", Warning, "", stageLint, "op_debug_mode is on for CPU or GPU",
			"op_debug_mode %d saves nothing on CPU and GPU; write 0",
			func(c *check, r *reporter) {
				if m := c.ms.OpDebugMode; m.Value != 0 && c.opt.noNPU() {
					r.at(m.valueSpot(), m.Value).Suggestion = "0"
				}
			}},
		{"MS036", Warning, "", stageLint, "op_debug_mode 4 with saved_data or sampling",
			"%s while op_debug_mode is 4",
			func(c *check, r *reporter) {
				m := c.ms
				if m.DebugMode() != 4 {
					return
				}
				if m.savesStatistics() {
					r.at(m.SavedData.valueSpot(), `saved_data is forced to "tensor"`)
				}
				if m.SampleMode.Value != 0 {
					r.at(m.SampleMode.valueSpot(), "sampling is off")
				}
			}},
	}
}

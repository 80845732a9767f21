package dumpconf

// mindSporeDebugRules check op_debug_mode and what goes with it.
var mindSporeDebugRules = []rule{
	{id: "MS031", severity: Error, checks: "op_debug_mode is not known",
		message: "op_debug_mode %d is not known; use 0 (off), 3 (overflow)%s",
		ms: func(m *MindSpore, r *reporter) {
			s, old := m.OpDebugMode, r.opt.TargetVersion.Before(sinceMS20)
			r.when(old && s.Value > 3, s.valueSpan(), s.Value, "; 4 is known since version 2 only")
			r.when(!old && s.Value > 4, s.valueSpan(), s.Value, " or 4 (failing operators)")
		}},
	{id: "MS032", severity: Warning, checks: "op_debug_mode 1 or 2 for version 2 or later",
		message: "op_debug_mode %d is treated as 3, all overflows",
		ignored: Text{EN: "taken as 3, all overflows", ZH: "按 3(所有溢出)处理"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.OpDebugMode
			r.when((s.Value == 1 || s.Value == 2) && !r.opt.TargetVersion.Before(sinceMS20), s.valueSpan(), s.Value).suggest("3")
		}},
	{id: "MS033", severity: Warning, checks: "op_debug_mode is on and filters are set, which are ignored then",
		guess: true, message: "%s is ignored while op_debug_mode is %d: only operators that overflow or fail are dumped",
		ignored: Text{EN: "not used while op_debug_mode is not 0", ZH: "op_debug_mode 不为 0 时不生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.DebugMode() != 0 && m.DumpMode.Value != 0, m.DumpMode.valueSpan(), "dump_mode", m.DebugMode())
			r.when(m.DebugMode() == 4 && m.Iteration.OK && m.Iteration.Value != "all", m.Iteration.valueSpan(), "iteration", m.DebugMode())
		}},
	{id: "MS034", severity: Warning, checks: "op_debug_mode 3 with input_output other than 0",
		message: "input_output is forced to 0 while op_debug_mode is 3",
		ignored: Text{EN: "forced to 0 (both) while op_debug_mode is 3", ZH: "op_debug_mode 为 3 时强制为 0(输入和输出)"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.DebugMode() == 3 && m.InputOutput.Value != 0, m.InputOutput.valueSpan())
		}},
	{id: "MS035", severity: Error, checks: "overflow_number without op_debug_mode 3",
		guess: true, message: "overflow_number needs op_debug_mode 3, found %d; remove it otherwise",
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.OverflowNumber.Present() && m.DebugMode() != 3 && !m.OpDebugMode.misread(), m.OverflowNumber.keySpan(), m.DebugMode())
		}},
	{id: "MS060", severity: Warning, checks: "op_debug_mode is on for CPU or GPU",
		message: "op_debug_mode %d saves nothing on CPU and GPU; write 0",
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.DebugMode() != 0 && r.opt.noNPU(), m.OpDebugMode.valueSpan(), m.DebugMode()).suggest("0")
		}},
	{id: "MS036", severity: Warning, checks: "op_debug_mode 4 with saved_data or sampling",
		message: "%s while op_debug_mode is 4",
		ignored: Text{EN: "not used while op_debug_mode is 4", ZH: "op_debug_mode 为 4 时不生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.DebugMode() == 4 && m.savesStatistics(), m.SavedData.valueSpan(), `saved_data is forced to "tensor"`)
			r.when(m.DebugMode() == 4 && m.SampleMode.Value != 0, m.SampleMode.valueSpan(), "sampling is off")
		}},
}

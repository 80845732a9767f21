package dumpconf

// mindSporeDebugRules check op_debug_mode and what goes with it.
var mindSporeDebugRules = []rule{
	{id: "MS031", severity: Error, checks: "op_debug_mode is not known",
		message: Text{EN: "op_debug_mode %d is not known; use 0 (off), 3 (overflow)%s", ZH: "不支持 op_debug_mode %d；应为 0(关闭)、3(溢出)%s"},
		ms: func(m *MindSpore, r *reporter) {
			s, old := m.OpDebugMode, r.opt.TargetVersion.Before(sinceMS20)
			r.when(old && s.Value > 3, s.valueSpan(), s.Value, Text{EN: "; 4 is known since version 2 only", ZH: "；4 从版本 2 起才支持"})
			r.when(!old && s.Value > 4, s.valueSpan(), s.Value, Text{EN: " or 4 (failing operators)", ZH: "或 4(失败的算子)"})
		}},
	{id: "MS032", severity: Warning, checks: "op_debug_mode 1 or 2 for version 2 or later",
		message: Text{EN: "op_debug_mode %d is treated as 3, all overflows", ZH: "op_debug_mode %d 按 3(所有溢出)处理"},
		ignored: Text{EN: "taken as 3, all overflows", ZH: "按 3(所有溢出)处理"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.OpDebugMode
			r.when((s.Value == 1 || s.Value == 2) && !r.opt.TargetVersion.Before(sinceMS20), s.valueSpan(), s.Value).suggest("3")
		}},
	{id: "MS033", severity: Warning, checks: "op_debug_mode is on and filters are set, which are ignored then",
		guess: true, message: Text{EN: "%s is ignored while op_debug_mode is %d: only operators that overflow or fail are dumped", ZH: "op_debug_mode 不为 0 时 %s 会被忽略(当前为 %d)：只 dump 溢出或失败的算子"},
		ignored: Text{EN: "not used while op_debug_mode is not 0", ZH: "op_debug_mode 不为 0 时不生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.DebugMode() != 0 && m.DumpMode.Value != 0, m.DumpMode.valueSpan(), "dump_mode", m.DebugMode())
			r.when(m.DebugMode() == 4 && m.Iteration.OK && m.Iteration.Value != "all", m.Iteration.valueSpan(), "iteration", m.DebugMode())
		}},
	{id: "MS034", severity: Warning, checks: "op_debug_mode 3 with input_output other than 0",
		message: Text{EN: "input_output is forced to 0 while op_debug_mode is 3", ZH: "op_debug_mode 为 3 时 input_output 强制为 0"},
		ignored: Text{EN: "forced to 0 (both) while op_debug_mode is 3", ZH: "op_debug_mode 为 3 时强制为 0(输入和输出)"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.DebugMode() == 3 && m.InputOutput.Value != 0, m.InputOutput.valueSpan())
		}},
	{id: "MS035", severity: Error, checks: "overflow_number without op_debug_mode 3",
		guess: true, message: Text{EN: "overflow_number needs op_debug_mode 3, found %d; remove it otherwise", ZH: "overflow_number 需要 op_debug_mode 3，实际为 %d；否则请删除"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.OverflowNumber.Present() && m.DebugMode() != 3 && !m.OpDebugMode.misread(), m.OverflowNumber.keySpan(), m.DebugMode())
		}},
	{id: "MS060", severity: Warning, checks: "op_debug_mode is on for CPU or GPU",
		message: Text{EN: "op_debug_mode %d saves nothing on CPU and GPU; write 0", ZH: "op_debug_mode %d 在 CPU 和 GPU 上不保存数据，请写 0"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.DebugMode() != 0 && r.opt.noNPU(), m.OpDebugMode.valueSpan(), m.DebugMode()).suggest("0")
		}},
	{id: "MS036", severity: Warning, checks: "op_debug_mode 4 with saved_data or sampling",
		message: Text{EN: "%s while op_debug_mode is 4", ZH: "op_debug_mode 为 4 时%s"},
		ignored: Text{EN: "not used while op_debug_mode is 4", ZH: "op_debug_mode 为 4 时不生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.DebugMode() == 4 && m.savesStatistics(), m.SavedData.valueSpan(), Text{EN: `saved_data is forced to "tensor"`, ZH: ` saved_data 强制为 "tensor"`})
			r.when(m.DebugMode() == 4 && m.SampleMode.Value != 0, m.SampleMode.valueSpan(), Text{EN: "sampling is off", ZH: "采样关闭"})
		}},
}

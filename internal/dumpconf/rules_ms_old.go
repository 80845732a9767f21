package dumpconf

// mindSporeOldRules check what releases before 2.1 alone want.
var mindSporeOldRules = []rule{
	{id: "MS062", severity: Warning, checks: "neither dump is on, for version 1.0 or 1.1",
		guess: true, message: Text{EN: "this dumps nothing in version %v: set enable in e2e_dump_settings or async_dump_settings to true", ZH: "在版本 %v 中不会 dump 任何数据：请把 e2e_dump_settings 或 async_dump_settings 的 enable 设为 true"},
		ms: func(m *MindSpore, r *reporter) {
			on := m.Enable.Value || m.AsyncEnable.Value || m.Enable.misread() || m.AsyncEnable.misread()
			r.when(m.Common.Present() && r.opt.TargetVersion.Before(sinceMS12) && !on, m.Enable.spanIn(m.Common), r.opt.TargetVersion)
		}},
	{id: "MS063", severity: Error, checks: "op_debug_mode of async_dump_settings is not 0 to 3, for version 1.0 or 1.1",
		message: Text{EN: "op_debug_mode %d is not known in async_dump_settings; use 0 (off) or 1 to 3 (overflow)", ZH: "async_dump_settings 中不支持 op_debug_mode %d；应为 0(关闭)或 1 到 3(溢出)"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.AsyncOpDebugMode
			r.when(s.OK && s.Value > 3 && r.opt.TargetVersion.Before(sinceMS12), s.valueSpan(), s.Value)
		}},
	{id: "MS064", severity: Error, checks: "statistics with e2e_dump_settings on Ascend, for version 2.0",
		message: Text{EN: "saved_data %s does not go with e2e_dump_settings on Ascend in version 2.0; use tensor, or leave the block out", ZH: "版本 2.0 的 Ascend 上 saved_data %s 不能与 e2e_dump_settings 同时使用；请用 tensor，或去掉该块"},
		ms: func(m *MindSpore, r *reporter) {
			v := r.opt.TargetVersion
			r.when(v.Major == 2 && v.Minor == 0 && m.E2E.Present() && m.savesStatistics() && !r.opt.noNPU() && !r.opt.kernelByKernel(),
				m.SavedData.valueSpan(), show(m.SavedData.Value)).suggest("tensor")
		}},
}

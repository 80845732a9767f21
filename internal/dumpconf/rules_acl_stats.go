package dumpconf

import "dumptool/internal/jsonpos"

// aclStatsRules check dump_stats.
var aclStatsRules = []rule{
	{id: "ACL080", severity: Error, code: "EP0005", stage: stageStats, checks: `dump_stats without dump_data "stats"`,
		guess: true, message: Text{EN: `dump_stats needs "dump_data": "stats"%s`, ZH: `dump_stats 需要 "dump_data": "stats"%s`},
		acl: func(a *ACL, r *reporter) {
			if a.DumpStats.isFilled() && !a.Stats() && !a.DumpData.misread() {
				r.insert(r.at(a.DumpStats.keySpan(), foundOr(a.DumpData)), a.Dump, "dump_data", "stats")
			}
		}},
	{id: "ACL081", severity: Error, code: "EP0001", stage: stageStats, checks: "an empty dump_stats",
		guess: true, message: Text{EN: "dump_stats is empty; fill it, or remove the key to get all but L2norm", ZH: "dump_stats 为空；请填写，或删除该键以获得除 L2norm 外的全部统计量"},
		acl: func(a *ACL, r *reporter) { r.when(a.DumpStats.isEmpty(), a.DumpStats.valueSpan()) }},
	{id: "ACL082", severity: Info, checks: "dump_stats on another product than Atlas A2",
		message: Text{EN: "dump_stats works on Atlas A2 products only, as the documentation says", ZH: "据文档说明，dump_stats 仅支持 Atlas A2 系列产品"},
		mind:    Text{EN: "works on Atlas A2 only", ZH: "仅 Atlas A2 支持"},
		acl:     func(a *ACL, r *reporter) { r.when(a.DumpStats.Present() && !r.opt.isA2(), a.DumpStats.keySpan()) }},
}

// aclSurroundingsRules check what the file meets: other keys of the file, the
// environment, the host.
var aclSurroundingsRules = []rule{
	{id: "ACL090", severity: Warning, checks: "profiler and dump in one file",
		message: Text{EN: "the profiler is switched on beside a dump, which distorts its times; use one of them at a time", ZH: "同时开启了 profiler 与 dump，性能数据会失真；请分别使用"},
		mind:    Text{EN: "the profiler is on too, the dump distorts its times", ZH: "同时开启了 profiler，dump 会影响其时间数据"},
		acl: func(a *ACL, r *reporter) {
			if m := r.root.Get("profiler"); m != nil && a.Dump.isFilled() {
				sw := m.Value.Get("switch")
				r.when(sw != nil && sw.Value.Kind == jsonpos.String && sw.Value.Text == "on", span{"profiler", m.KeyStart, m.KeyEnd})
			}
		}},
	{id: "ACL092", severity: Error, code: "E10056", checks: "NPU_COLLECT_PATH is set beside a model or operator dump",
		message: Text{EN: "the environment variable NPU_COLLECT_PATH=%s switches this dump off or makes it fail; unset it", ZH: "环境变量 NPU_COLLECT_PATH=%s 会使该 dump 不生效或失败，请取消"},
		acl: func(a *ACL, r *reporter) {
			value, ok := r.opt.env("NPU_COLLECT_PATH")
			r.when(ok && a.Dumps() && !a.Exception(), a.Dump.keySpan(), shorten(value))
		}},
	{id: "ACL093", severity: Info, checks: "a dump in a container",
		message: Text{EN: "dumps inside Docker are not supported, as the documentation says", ZH: "据文档说明，不支持在 Docker 容器内 dump"},
		mind:    Text{EN: "dumps in containers are not supported, as the documentation says", ZH: "文档说明容器内不支持 dump"},
		acl:     func(a *ACL, r *reporter) { r.when(r.opt.Container && a.Dump.isFilled(), a.Dump.keySpan()) }},
}

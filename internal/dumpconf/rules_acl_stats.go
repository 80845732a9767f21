package dumpconf

import "dumptool/internal/dumpconf/jsonpos"

// aclStatsRules check dump_stats.
func aclStatsRules() []rule {
	return []rule{
		{"ACL080", Error, "EP0005", stageStats, `dump_stats without dump_data "stats"`,
			`dump_stats needs "dump_data": "stats"%s`,
			func(c *check, r *reporter) {
				a := c.acl
				if !a.DumpStats.OK || len(a.DumpStats.Value) == 0 || a.Stats() || a.DumpData.Present() && !a.DumpData.OK {
					return
				}
				found := ", which is missing"
				if a.DumpData.Present() {
					found = ", found " + show(a.DumpData.Value)
				}
				f := r.at(a.DumpStats.keySpot(), found)
				f.Suggestion = `"dump_data": "stats"`
				f.Edits = a.Dump.insertion(c.doc.Source(), "dump_data", "stats")
			}},
		{"ACL081", Error, "EP0001", stageStats, "an empty dump_stats",
			"dump_stats is empty; fill it, or remove the key to get all but L2norm",
			func(c *check, r *reporter) {
				if s := c.acl.DumpStats; s.OK && len(s.Value) == 0 {
					r.at(s.valueSpot())
				}
			}},
		{"ACL082", Info, "", stageLint, "dump_stats on another product than Atlas A2",
			"dump_stats works on Atlas A2 products only, as the documentation says",
			func(c *check, r *reporter) {
				if c.acl.DumpStats.Present() && !c.opt.isA2() {
					r.at(c.acl.DumpStats.keySpot())
				}
			}},
	}
}

// aclSurroundingsRules check what the file meets: other keys of the file, the
// environment, the host.
func aclSurroundingsRules() []rule {
	return []rule{
		{"ACL090", Warning, "", stageLint, "profiler and dump in one file",
			"the profiler is switched on beside a dump, which distorts its times; use one of them at a time",
			func(c *check, r *reporter) {
				m := c.root.Get("profiler")
				if m == nil || !c.acl.Dump.Present() || len(c.acl.Dump.Node.Members) == 0 {
					return
				}
				if sw := m.Value.Get("switch"); sw != nil && sw.Value.Kind == jsonpos.String && sw.Value.Text == "on" {
					r.at(spot{"profiler", m.KeyStart, m.KeyEnd})
				}
			}},
		{"ACL092", Error, "E10056", stageLint, "NPU_COLLECT_PATH is set beside a model or operator dump",
			"the environment variable NPU_COLLECT_PATH=%s switches this dump off or makes it fail; unset it",
			func(c *check, r *reporter) {
				value, ok := c.opt.env("NPU_COLLECT_PATH")
				if ok && c.acl.Dumps() && !c.acl.Exception() {
					r.at(c.acl.Dump.keySpot(), shorten(value))
				}
			}},
		{"ACL093", Info, "", stageLint, "a dump in a container",
			"dumps inside Docker are not supported, as the documentation says",
			func(c *check, r *reporter) {
				if c.opt.Container && c.acl.Dump.Present() && len(c.acl.Dump.Node.Members) > 0 {
					r.at(c.acl.Dump.keySpot())
				}
			}},
	}
}

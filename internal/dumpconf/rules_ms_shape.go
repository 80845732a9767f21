package dumpconf

import (
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/dumpconf/jsonpos"
)

// mindSporeShapeRules check which keys there are and of what type.
func mindSporeShapeRules() []rule {
	return []rule{
		{"MS001", Error, "", stageLint, "the file is not strict JSON, or has no common_dump_settings", "%s",
			func(c *check, r *reporter) {
				r.syntax()
				switch {
				case c.root == nil || c.root.Kind == jsonpos.Invalid:
				case c.root.Kind != jsonpos.Object:
					r.at(c.top(), "the top level must be an object {...}, found "+c.root.Kind.String())
				case c.root.Get("common_dump_settings") == nil:
					r.at(c.top(), "common_dump_settings not found")
				}
				r.mistyped()
			}},
		{"MS002", Error, "", stageLint, "the file's name does not end with .json, or MINDSPORE_DUMP_CONFIG is not absolute", "%s",
			func(c *check, r *reporter) {
				if c.name != "" && c.name != "-" && filepath.Ext(c.name) != ".json" {
					r.at(spot{}, "MindSpore wants a file whose name ends with .json, found "+show(filepath.Base(c.name)))
				}
				if p, ok := c.opt.env("MINDSPORE_DUMP_CONFIG"); ok && !strings.HasPrefix(p, "/") {
					r.as(Warning, spot{}, "the environment variable MINDSPORE_DUMP_CONFIG must hold an absolute path, found "+show(p))
				}
			}},
		{"MS003", Warning, "", stageLint, "a key that is unknown or in the wrong block, where MindSpore ignores it",
			"key %s is ignored here%s",
			func(c *check, r *reporter) {
				for _, s := range c.read.strays {
					if r.full() {
						return
					}
					if home := c.home(s); home != nil {
						r.at(s.spot(), show(s.member.Key), ": it belongs into "+home.where)
					} else {
						r.unknownKey(s, s.in.table.names())
					}
				}
			}},
		{"MS010", Error, "", stageLint, "a required key is missing",
			"%s is required in common_dump_settings",
			func(c *check, r *reporter) {
				if !c.ms.Common.Present() {
					return
				}
				for _, name := range []string{"dump_mode", "net_name", "iteration", "input_output", "kernels", "support_device"} {
					if c.ms.Common.Node.Get(name) == nil {
						r.at(c.ms.Common.keySpot(), name)
					}
				}
			}},
		{"MS011", Error, "", stageLint, "op_debug_mode is missing and there is no e2e_dump_settings",
			"op_debug_mode is required where e2e_dump_settings is missing; write 0 for an ordinary dump",
			func(c *check, r *reporter) {
				m := c.ms
				if m.Common.Present() && !m.OpDebugMode.Present() && !m.hasE2E() && !c.opt.noNPU() && !c.opt.TargetVersion.Before(sinceMS12) {
					f := r.at(m.Common.keySpot())
					f.Suggestion = `"op_debug_mode": 0`
				}
			}},
		{"MS018", Error, "", stageLint, "a number that is quoted, negative, fractional or none", "%s",
			func(_ *check, r *reporter) { r.mistyped() }},
		{"MS019", Error, "", stageLint, "an array is none, or has a member of the wrong type", "%s",
			func(_ *check, r *reporter) { r.mistyped() }},
		{"MS050", Error, "", stageLint, "a boolean is none", "%s",
			func(_ *check, r *reporter) { r.mistyped() }},
		{"MS055", Warning, "", stageLint, "async_dump_settings for version 1.2 or later",
			"async_dump_settings is ignored since version 1.2; leave e2e_dump_settings out for an asynchronous dump",
			func(c *check, r *reporter) {
				if c.ms.Async.Present() && !c.opt.TargetVersion.Before(sinceMS12) {
					r.at(c.ms.Async.keySpot())
				}
			}},
		{"MS056", Warning, "", stageLint, "synchronous and asynchronous dump both on, for version 1.0 or 1.1",
			"synchronous and asynchronous dump are both on; only the synchronous one is effective",
			func(c *check, r *reporter) {
				if c.ms.Enable.Value && c.ms.AsyncEnable.Value && c.opt.TargetVersion.Before(sinceMS12) {
					r.at(c.ms.AsyncEnable.keySpot())
				}
			}},
		{"MS057", Error, "", stageLint, "enable or trans_flag is missing, for versions before 2.0",
			"%s is required in e2e_dump_settings before version 2.0",
			func(c *check, r *reporter) {
				if !c.ms.E2E.Present() || !c.opt.TargetVersion.Before(sinceMS20) {
					return
				}
				for _, name := range []string{"enable", "trans_flag"} {
					if c.ms.E2E.Node.Get(name) == nil {
						r.at(c.ms.E2E.keySpot(), name)
					}
				}
			}},
	}
}

// hasE2E reports whether the key e2e_dump_settings is there.
func (m *MindSpore) hasE2E() bool { return m.Root.Node.Get("e2e_dump_settings") != nil }

// strayed returns the stray keys of a name.
func (c *check) strayed(name string) []stray {
	return slices.DeleteFunc(slices.Clone(c.read.strays), func(s stray) bool { return s.member.Key != name })
}

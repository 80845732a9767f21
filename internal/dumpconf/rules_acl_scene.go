package dumpconf

import (
	"fmt"

	"dumptool/internal/dumpconf/jsonpos"
)

// aclSceneRules check which sorts of dump can go together.
func aclSceneRules() []rule {
	return []rule{
		{"ACL040", Error, "EP0005", stageScene, "an exception scene with dump_op_switch or dump_debug on",
			`%s "on" and the exception scene %s exclude each other; remove one of them`,
			func(c *check, r *reporter) {
				if c.acl.Exception() {
					for _, s := range c.acl.switchedOn() {
						r.at(s.keySpot(), lastOf(s.Path), show(c.acl.DumpScene.Value))
					}
				}
			}},
		{"ACL041", Warning, "", stageLint, "an exception scene with keys that it ignores",
			"%s is ignored in the exception scene %s",
			func(c *check, r *reporter) {
				if !c.acl.Exception() {
					return
				}
				for _, name := range []string{"dump_list", "dump_step", "dump_mode", "dump_level", "dump_data", "dump_stats"} {
					if s := look[struct{}](c.acl.Dump, name); s.Present() {
						r.at(s.keySpot(), name, show(c.acl.DumpScene.Value))
					}
				}
			}},
		{"ACL049", Info, "", stageLint, "dump_scene aic_err_detail_dump has conditions",
			"aic_err_detail_dump needs Atlas A2 or A3 and driver 25.0.RC1 or later, must be set before aclrtSetDevice, and ends the process after an error",
			func(c *check, r *reporter) {
				if s := c.acl.DumpScene; s.Value == "aic_err_detail_dump" {
					r.at(s.valueSpot())
				}
			}},
		{"ACL053", Info, "", stageLint, "dump_scene lite_exception has a newer name",
			"lite_exception is an alias; prefer aic_err_brief_dump from version 8.2 on",
			func(c *check, r *reporter) {
				if s := c.acl.DumpScene; s.Value == "lite_exception" && !c.opt.TargetVersion.Before(sinceCANN82) {
					f := r.at(s.valueSpot())
					f.Suggestion = "aic_err_brief_dump"
				}
			}},
		{"ACL050", Error, "EP0005", stageDebug, "dump_debug and dump_op_switch both on",
			`dump_debug and dump_op_switch cannot both be "on"; remove one of them`,
			func(c *check, r *reporter) {
				if c.acl.Overflow() && c.acl.OpSwitch() {
					r.at(c.acl.DumpDebug.keySpot())
				}
			}},
		{"ACL051", Error, "", stageLint, "dump_debug on with a model dump",
			`dump_debug "on" excludes a model dump: remove dump_list`,
			func(c *check, r *reporter) {
				if l := c.acl.DumpList; c.acl.Overflow() && l.OK && len(l.Node.Elems) > 0 {
					r.at(l.keySpot())
				}
			}},
		{"ACL052", Warning, "", stageLint, "dump_debug on with keys that have no effect then",
			`%s has no effect when dump_debug is "on", and is not checked`,
			func(c *check, r *reporter) {
				if !c.acl.Overflow() || c.acl.Exception() {
					return
				}
				for _, name := range []string{"dump_mode", "dump_level", "dump_step", "dump_data", "dump_stats"} {
					if s := look[struct{}](c.acl.Dump, name); s.Present() {
						r.at(s.keySpot(), name)
					}
				}
			}},
		{"ACL060", Warning, "", stageLint, "no key switches any dump on",
			`this dumps nothing: add dump_list, dump_op_switch "on", dump_debug "on", dump_scene or dump_kernel_data`,
			func(c *check, r *reporter) {
				a := c.acl
				if a.Dump.Present() && len(a.Dump.Node.Members) > 0 && !a.DumpList.Present() && !a.Dumps() &&
					!a.DumpKernelData.Present() && !a.DumpScene.Present() {
					r.at(a.Dump.keySpot())
				}
			}},
		{"ACL061", Warning, "", stageLint, "an empty dump_list with dump_op_switch off",
			"an empty dump_list dumps nothing; use [{}] for all models",
			func(c *check, r *reporter) {
				a := c.acl
				if a.DumpList.OK && len(a.DumpList.Node.Elems) == 0 && !a.Dumps() && !a.DumpKernelData.Present() {
					r.at(a.DumpList.valueSpot()).Suggestion = "[{}]"
				}
			}},
		{"ACL067", Info, "", stageLint, "dump_op_switch on with an empty dump_list, the old form",
			"an empty dump_list is the old form for single operators; use [{}] on current releases",
			func(c *check, r *reporter) {
				a := c.acl
				if a.DumpList.OK && len(a.DumpList.Node.Elems) == 0 && a.OpSwitch() && !c.opt.TargetVersion.Before(sinceCANN82) {
					r.at(a.DumpList.valueSpot()).Suggestion = "[{}]"
				}
			}},
	}
}

// switchedOn returns dump_op_switch and dump_debug, those that are on.
func (a *ACL) switchedOn() []Setting[string] {
	var on []Setting[string]
	for _, s := range []Setting[string]{a.DumpOpSwitch, a.DumpDebug} {
		if s.Value == "on" {
			on = append(on, s)
		}
	}
	return on
}

// aclWatcherRules check the watcher scene.
func aclWatcherRules() []rule {
	return []rule{
		{"ACL042", Error, "EP0005", stageScene, "the watcher scene with dump_op_switch or dump_debug on",
			`%s "on" and dump_scene "watcher" exclude each other; remove one of them`,
			func(c *check, r *reporter) {
				if c.acl.Watcher() {
					for _, s := range c.acl.switchedOn() {
						r.at(s.keySpot(), lastOf(s.Path))
					}
				}
			}},
		{"ACL043", Error, "EP0005", stageScene, "the watcher scene with another dump_mode than output",
			`dump_mode %s does not go with dump_scene "watcher"; only "output" does`,
			func(c *check, r *reporter) {
				if m := c.acl.DumpMode; c.acl.Watcher() && m.Value != "" && m.Value != "output" {
					f := r.at(m.valueSpot(), show(m.Value))
					f.Suggestion, f.Edits = "output", quoteEdit(m, "output")
				}
			}},
		{"ACL044", Error, "EP0001", stageList, "an item without watcher_nodes in the watcher scene",
			`watcher_nodes is required in every item with dump_scene "watcher"%s`,
			func(c *check, r *reporter) {
				for _, it := range c.acl.DumpList.Value {
					switch w := it.WatcherNodes; {
					case !c.acl.Watcher() || r.full():
						return
					case !w.Present():
						r.at(it.keySpot(), "")
					case w.OK && len(w.Value) == 0:
						r.at(w.valueSpot(), " and must not be empty")
					}
				}
			}},
		{"ACL045", Error, "EP0005", stageList, "an item with model_name in the watcher scene",
			`model_name is not allowed with dump_scene "watcher"; remove it`,
			func(c *check, r *reporter) {
				for _, it := range c.acl.DumpList.Value {
					if c.acl.Watcher() && it.ModelName.Present() && !r.full() {
						r.at(it.ModelName.keySpot())
					}
				}
			}},
		{"ACL046", Error, "EP0005", stageList, "watcher_nodes outside the watcher scene",
			`watcher_nodes needs dump_scene "watcher"%s`,
			func(c *check, r *reporter) {
				a := c.acl
				if a.Watcher() {
					return
				}
				hint := ""
				if a.DumpScene.Value != "" {
					hint = ", found " + show(a.DumpScene.Value)
				}
				for _, it := range a.DumpList.Value {
					if it.WatcherNodes.Present() && !r.full() {
						f := r.at(it.WatcherNodes.keySpot(), hint)
						f.Suggestion = fmt.Sprintf("%q: %q", "dump_scene", watcherScene)
					}
				}
			}},
		{"ACL047", Warning, "", stageLint, "the watcher scene with an empty or missing dump_list",
			"there is nothing to watch: list operators in watcher_nodes of an item of dump_list",
			func(c *check, r *reporter) {
				switch l := c.acl.DumpList; {
				case !c.acl.Watcher():
				case !l.Present():
					r.at(c.acl.DumpScene.valueSpot())
				case l.OK && len(l.Node.Elems) == 0:
					r.at(l.valueSpot())
				}
			}},
		{"ACL048", Warning, "", stageLint, "a layer the watcher scene makes no file for",
			"no file is made for the layer %s: %s",
			func(c *check, r *reporter) {
				if !c.acl.Watcher() {
					return
				}
				for _, it := range c.acl.DumpList.Value {
					watched := setOf(it.WatcherNodes.Value)
					for _, l := range it.Layer.Value {
						switch {
						case r.full():
							return
						case l.OK && len(l.Value) > 3 && l.Value[:4] == "Hcom":
							r.at(l.valueSpot(), show(l.Value), "it is a communication operator")
						case l.OK && watched[l.Value]:
							r.at(l.valueSpot(), show(l.Value), "it is also in watcher_nodes")
						}
					}
				}
			}},
	}
}

// setOf returns the values of the settings that have one.
func setOf(settings []Setting[string]) map[string]bool {
	set := make(map[string]bool, len(settings))
	for _, s := range settings {
		if s.OK {
			set[s.Value] = true
		}
	}
	return set
}

// quoteEdit replaces a value by a string.
func quoteEdit[T any](s Setting[T], text string) []jsonpos.Edit {
	return replace(s.valueSpot(), jsonpos.Quote(text))
}

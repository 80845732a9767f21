package dumpconf

import (
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// aclSceneRules check which sorts of dump can go together.
var aclSceneRules = []rule{
	{id: "ACL040", severity: Error, code: "EP0005", stage: stageScene, checks: "an exception scene with dump_op_switch or dump_debug on",
		message: Text{EN: `%s "on" and the exception scene %s exclude each other; remove one of them`, ZH: `%s "on" 与异常场景 %s 互斥，请删除其一`},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.switchedOn() {
				r.when(a.exception(), s.keySpan(), s.key.Name, show(a.scene()))
			}
		}},
	{id: "ACL041", severity: Warning, checks: "an exception scene with keys that it ignores",
		guess: true, message: Text{EN: "%s is ignored in the exception scene %s", ZH: "%s 在异常场景 %s 下会被忽略"},
		needs: (*ACL).exception, ignored: Text{EN: "not used in an exception scene", ZH: "异常 dump 场景下不生效"},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.Dump.having("dump_list", "dump_step", "dump_mode", "dump_level", "dump_data", "dump_stats") {
				r.when(a.exception(), s.keySpan(), s.key.Name, show(a.scene()))
			}
		}},
	{id: "ACL049", severity: Info, checks: "dump_scene aic_err_detail_dump has conditions",
		message: Text{EN: "aic_err_detail_dump needs Atlas A2 or A3 and driver 25.0.RC1 or later, must be set before aclrtSetDevice, and ends the process after an error", ZH: "aic_err_detail_dump 需要 Atlas A2 或 A3 以及 25.0.RC1 及以上的驱动，须在 aclrtSetDevice 之前设置，出错后会终止进程"},
		acl: func(a *ACL, r *reporter) {
			r.when(a.scene() == "aic_err_detail_dump", a.at("dump_scene").valueSpan())
		}},
	{id: "ACL053", severity: Info, checks: "dump_scene lite_exception has a newer name",
		message: Text{EN: "lite_exception is an alias; prefer aic_err_brief_dump from version 8.2 on", ZH: "lite_exception 是别名，8.2 及以上版本建议使用 aic_err_brief_dump"},
		acl: func(a *ACL, r *reporter) {
			r.when(a.scene() == "lite_exception" && !r.opt.TargetVersion.Before(sinceCANN82), a.at("dump_scene").valueSpan()).suggest("aic_err_brief_dump")
		}},
	{id: "ACL050", severity: Error, code: "EP0005", stage: stageDebug, checks: "dump_debug and dump_op_switch both on",
		message: Text{EN: `dump_debug and dump_op_switch cannot both be "on"; remove one of them`, ZH: `dump_debug 与 dump_op_switch 不能同时为 "on"，请删除其一`},
		acl:     func(a *ACL, r *reporter) { r.when(a.overflow() && a.opSwitch(), a.at("dump_debug").keySpan()) }},
	{id: "ACL051", severity: Error, checks: "dump_debug on with a model dump",
		guess: true, message: Text{EN: `dump_debug "on" excludes a model dump: remove dump_list`, ZH: `dump_debug "on" 与模型 dump 互斥：请删除 dump_list`},
		acl: func(a *ACL, r *reporter) {
			r.when(a.overflow() && a.at("dump_list").isFilled(), a.at("dump_list").keySpan())
		}},
	{id: "ACL052", severity: Warning, checks: "dump_debug on with keys that have no effect then",
		guess: true, message: Text{EN: `%s has no effect when dump_debug is "on", and is not checked`, ZH: `dump_debug 为 "on" 时 %s 不生效，也不检查`},
		needs: (*ACL).overflow, ignored: Text{EN: `no effect while dump_debug is "on"`, ZH: `dump_debug 为 "on" 时不生效`},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.Dump.having("dump_mode", "dump_level", "dump_step", "dump_data", "dump_stats") {
				r.when(a.overflow() && !a.exception(), s.keySpan(), s.key.Name)
			}
		}},
	{id: "ACL060", severity: Warning, checks: "no key switches any dump on",
		guess: true, message: Text{EN: `this dumps nothing: add dump_list, dump_op_switch "on", dump_debug "on", dump_scene or dump_kernel_data`, ZH: `该配置不会 dump 任何数据：请添加 dump_list、dump_op_switch "on"、dump_debug "on"、dump_scene 或 dump_kernel_data`},
		acl: func(a *ACL, r *reporter) {
			r.when(a.Dump.isFilled() && !a.at("dump_list").Present() && !a.Dumps() && !a.at("dump_kernel_data").Present() && !a.at("dump_scene").Present(),
				a.Dump.keySpan())
		}},
	{id: "ACL061", severity: Warning, checks: "an empty dump_list with dump_op_switch off",
		guess: true, message: Text{EN: "an empty dump_list dumps nothing; use [{}] for all models", ZH: "空的 dump_list 不会 dump 任何数据；所有模型用 [{}]"},
		acl: func(a *ACL, r *reporter) {
			r.when(a.at("dump_list").isEmpty() && !a.Dumps() && !a.at("dump_kernel_data").Present(), a.at("dump_list").valueSpan()).suggest("[{}]")
		}},
	{id: "ACL067", severity: Info, checks: "dump_op_switch on with an empty dump_list, the old form",
		guess: true, message: Text{EN: "an empty dump_list is the old form for single operators; use [{}] on current releases", ZH: "空的 dump_list 是单算子的旧写法；当前版本请用 [{}]"},
		acl: func(a *ACL, r *reporter) {
			r.when(a.at("dump_list").isEmpty() && a.opSwitch() && !r.opt.TargetVersion.Before(sinceCANN82), a.at("dump_list").valueSpan()).suggest("[{}]")
		}},
}

// switchedOn returns dump_op_switch and dump_debug, those that are on.
func (a *ACL) switchedOn() []Setting {
	return slices.DeleteFunc(a.Dump.having("dump_op_switch", "dump_debug"), func(s Setting) bool { return s.Value != "on" })
}

// aclWatcherRules check the watcher scene.
var aclWatcherRules = []rule{
	{id: "ACL042", severity: Error, code: "EP0005", stage: stageScene, checks: "the watcher scene with dump_op_switch or dump_debug on",
		message: Text{EN: `%s "on" and dump_scene "watcher" exclude each other; remove one of them`, ZH: `%s "on" 与 dump_scene "watcher" 互斥，请删除其一`},
		acl: func(a *ACL, r *reporter) {
			for _, s := range a.switchedOn() {
				r.when(a.watcher(), s.keySpan(), s.key.Name)
			}
		}},
	{id: "ACL043", severity: Error, code: "EP0005", stage: stageScene, checks: "the watcher scene with another dump_mode than output",
		message: Text{EN: `dump_mode %s does not go with dump_scene "watcher"; only "output" does`, ZH: `dump_mode %s 不能与 dump_scene "watcher" 同时使用，只能为 "output"`},
		acl: func(a *ACL, r *reporter) {
			if m := a.at("dump_mode"); a.watcher() && m.Value != "" && m.Value != "output" {
				r.at(m.valueSpan(), show(m.Value)).repair(m, "output")
			}
		}},
	{id: "ACL044", severity: Error, code: "EP0001", stage: stageList, checks: "an item without watcher_nodes in the watcher scene",
		guess: true, message: Text{EN: `watcher_nodes is required in every item with dump_scene "watcher"%s`, ZH: `dump_scene 为 "watcher" 时每一项都必须有 watcher_nodes%s`},
		item: func(it *Object, r *reporter) {
			need, watched := Text{}, it.at("watcher_nodes")
			if watched.Present() {
				need = Text{EN: " and must not be empty", ZH: "，且不能为空"}
			}
			r.when(r.acl.watcher() && watched.lacks(), watched.spanIn(it), need)
		}},
	{id: "ACL045", severity: Error, code: "EP0005", stage: stageList, checks: "an item with model_name in the watcher scene",
		message: Text{EN: `model_name is not allowed with dump_scene "watcher"; remove it`, ZH: `dump_scene 为 "watcher" 时不允许 model_name，请删除`},
		item: func(it *Object, r *reporter) {
			r.when(r.acl.watcher() && it.at("model_name").Present(), it.at("model_name").keySpan())
		}},
	{id: "ACL046", severity: Error, code: "EP0005", stage: stageList, checks: "watcher_nodes outside the watcher scene",
		guess: true, message: Text{EN: `watcher_nodes needs dump_scene "watcher"%s`, ZH: `watcher_nodes 需要 dump_scene "watcher"%s`},
		item: func(it *Object, r *reporter) {
			hint, watched := lang.Sentence{}, it.at("watcher_nodes")
			if r.acl.scene() != "" {
				hint = foundOr(r.acl.at("dump_scene"))
			}
			r.when(!r.acl.watcher() && watched.Present(), watched.keySpan(), hint).suggest(`"dump_scene": "watcher"`)
		}},
	{id: "ACL047", severity: Warning, checks: "the watcher scene with an empty or missing dump_list",
		guess: true, message: Text{EN: "there is nothing to watch: list operators in watcher_nodes of an item of dump_list", ZH: "没有观测对象：请在 dump_list 某一项的 watcher_nodes 中列出算子"},
		acl: func(a *ACL, r *reporter) {
			r.when(a.watcher() && !a.at("dump_list").Present(), a.at("dump_scene").valueSpan())
			r.when(a.watcher() && a.at("dump_list").isEmpty(), a.at("dump_list").valueSpan())
		}},
	{id: "ACL048", severity: Warning, checks: "a layer the watcher scene makes no file for",
		message: Text{EN: "no file is made for the layer %s: %s", ZH: "layer %s 不会生成文件：%s"},
		ignored: Text{EN: "no file is made for this layer", ZH: "该 layer 不会产生文件"},
		item: func(it *Object, r *reporter) {
			watched := make(map[string]bool)
			for _, name := range valuesOf(it.at("watcher_nodes").Elems) {
				watched[name] = true
			}
			for _, l := range it.at("layer").Elems {
				switch {
				case !l.OK || !r.acl.watcher():
				case strings.HasPrefix(l.Value, "Hcom"):
					r.at(l.valueSpan(), show(l.Value), Text{EN: "it is a communication operator", ZH: "是通信算子"})
				case watched[l.Value]:
					r.at(l.valueSpan(), show(l.Value), Text{EN: "it is also in watcher_nodes", ZH: "也在 watcher_nodes 中"})
				}
			}
		}},
}

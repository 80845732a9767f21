package dumpconf

import (
	"path/filepath"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// mindSporeShapeRules check which keys there are and of what type.
var mindSporeShapeRules = []rule{
	{id: "MS001", severity: Error, checks: "the file is not strict JSON, or has no common_dump_settings", guess: true, message: asSaid,
		run: func(r *reporter) {
			r.syntax()
			switch {
			case r.root == nil || r.root.Kind == jsonpos.Invalid:
			case r.root.Kind != jsonpos.Object:
				r.at(r.top(), lang.Sayf("the top level must be an object {...}, found %s", "顶层必须是对象 {...}，实际为%s", r.root.Kind))
			case r.root.Get("common_dump_settings") == nil:
				r.at(r.top(), Text{EN: "common_dump_settings not found", ZH: "没有 common_dump_settings"})
			}
			r.mistyped()
		}},
	{id: "MS002", severity: Error, checks: "the file's name does not end with .json, or MINDSPORE_DUMP_CONFIG is not absolute", message: asSaid,
		run: func(r *reporter) {
			if r.name != "" && r.name != "-" && filepath.Ext(r.name) != ".json" {
				r.at(span{}, lang.Sayf("MindSpore wants a file whose name ends with .json, found %s", "MindSpore 要求文件名以 .json 结尾，实际为 %s", show(store.Base(r.name))))
			}
			if p, ok := r.opt.env("MINDSPORE_DUMP_CONFIG"); ok && !strings.HasPrefix(p, "/") {
				r.as(Warning, span{}, lang.Sayf("the environment variable MINDSPORE_DUMP_CONFIG must hold an absolute path, found %s", "环境变量 MINDSPORE_DUMP_CONFIG 必须是绝对路径，实际为 %s", show(p)))
			}
		}},
	{id: "MS003", severity: Warning, checks: "a key that is unknown or in the wrong block, where MindSpore ignores it",
		guess: true, message: Text{EN: "key %s is ignored here%s", ZH: "键 %s 在此处会被忽略%s"},
		ignored: Text{EN: "unknown here, MindSpore ignores it", ZH: "此处不支持的键，MindSpore 忽略"},
		run: func(r *reporter) {
			for _, s := range r.read.unknown {
				if home := r.home(s); home != nil {
					r.at(s.span(), show(s.member.Key), lang.Sayf(": it belongs into %s", "：应位于%s", home.where))
				} else {
					r.unknownKey(s, s.in.table.names())
				}
			}
		}},
	{id: "MS010", severity: Error, checks: "a required key is missing",
		guess: true, message: Text{EN: "%s is required in common_dump_settings", ZH: "common_dump_settings 中缺少必填的 %s"},
		ms: func(m *MindSpore, r *reporter) {
			r.lacking(m.Common, "dump_mode", "net_name", "iteration", "input_output", "kernels", "support_device")
		}},
	{id: "MS011", severity: Error, checks: "op_debug_mode is missing and there is no e2e_dump_settings",
		guess: true, message: Text{EN: "op_debug_mode is required where e2e_dump_settings is missing; write 0 for an ordinary dump", ZH: "没有 e2e_dump_settings 时 op_debug_mode 必填；普通 dump 写 0"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.Common.Present() && !m.OpDebugMode.Present() && !m.hasE2E() && !r.opt.noNPU() && !r.opt.TargetVersion.Before(sinceMS12),
				m.Common.keySpan()).suggest(`"op_debug_mode": 0`)
		}},
	{id: "MS018", severity: Error, checks: "a number that is quoted, negative, fractional or none", message: asSaid,
		run: (*reporter).mistyped},
	{id: "MS019", severity: Error, checks: "an array is none, or has a member of the wrong type", message: asSaid,
		run: (*reporter).mistyped},
	{id: "MS050", severity: Error, checks: "a boolean is none", message: asSaid,
		run: (*reporter).mistyped},
	{id: "MS055", severity: Warning, checks: "async_dump_settings for version 1.2 or later",
		guess: true, message: Text{EN: "async_dump_settings is ignored since version 1.2; leave e2e_dump_settings out for an asynchronous dump", ZH: "从版本 1.2 起 async_dump_settings 会被忽略；异步 dump 请去掉 e2e_dump_settings"},
		ignored: Text{EN: "not used since version 1.2", ZH: "1.2 版本起不再使用"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.Async.Present() && !r.opt.TargetVersion.Before(sinceMS12), m.Async.keySpan())
		}},
	{id: "MS056", severity: Warning, checks: "synchronous and asynchronous dump both on, for version 1.0 or 1.1",
		message: Text{EN: "synchronous and asynchronous dump are both on; only the synchronous one is effective", ZH: "同步与异步 dump 同时开启，只有同步 dump 生效"},
		ignored: Text{EN: "only the synchronous dump is effective", ZH: "只有同步 dump 生效"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.Enable.Value && m.AsyncEnable.Value && r.opt.TargetVersion.Before(sinceMS12), m.AsyncEnable.keySpan())
		}},
	{id: "MS057", severity: Error, checks: "enable or trans_flag is missing, for versions before 2.0",
		guess: true, message: Text{EN: "%s is required in e2e_dump_settings before version 2.0", ZH: "版本 2.0 之前 e2e_dump_settings 中 %s 必填"},
		ms: func(m *MindSpore, r *reporter) {
			if r.opt.TargetVersion.Before(sinceMS20) {
				r.lacking(m.E2E, "enable", "trans_flag")
			}
		}},
}

// hasE2E reports whether the key e2e_dump_settings is there.
func (m *MindSpore) hasE2E() bool { return m.Root.Node.Get("e2e_dump_settings") != nil }

// lacking reports the keys that an object does not have.
func (r *reporter) lacking(o Object, names ...string) {
	for _, name := range names {
		r.when(o.Present() && o.Node.Get(name) == nil, o.keySpan(), name)
	}
}

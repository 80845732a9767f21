package dumpconf

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"dumptool/internal/lang"
)

var (
	notInPath = lang.Pattern(`[^A-Za-z0-9/_-]`)
	notInName = lang.Pattern(`[^A-Za-z0-9_-]`)
)

// mindSporeCommonRules check path, names, modes and devices.
var mindSporeCommonRules = []rule{
	{id: "MS012", severity: Error, checks: "path is missing or empty",
		guess: true, message: Text{EN: "path is missing or empty; %s", ZH: "缺少 path 或为空；%s"},
		ms: func(m *MindSpore, r *reporter) {
			if !m.Common.Present() || !m.Path.lacks() {
				return
			}
			at := m.Path.spanIn(m.Common)
			switch _, known := r.opt.env("MS_DIAGNOSTIC_DATA_PATH"); {
			case r.opt.TargetVersion.Before(sinceMS16):
				r.at(at, Text{EN: "it is required before version 1.6", ZH: "版本 1.6 之前必填"})
			case known:
			case r.opt.Env != nil:
				r.at(at, Text{EN: "the environment variable MS_DIAGNOSTIC_DATA_PATH must name the folder then, and is not set", ZH: "此时须由环境变量 MS_DIAGNOSTIC_DATA_PATH 指定目录，而该变量未设置"})
			default:
				r.as(Warning, at, Text{EN: "the environment variable MS_DIAGNOSTIC_DATA_PATH must name the folder then", ZH: "此时须由环境变量 MS_DIAGNOSTIC_DATA_PATH 指定目录"})
			}
		}},
	{id: "MS013", severity: Error, checks: "path is relative",
		message: Text{EN: `path must start with "/", found %s`, ZH: `path 必须以 "/" 开头，实际为 %s`},
		ms: func(m *MindSpore, r *reporter) {
			p := m.Path
			r.when(p.Value != "" && !strings.HasPrefix(p.Value, "/"), p.valueSpan(), show(p.Value))
		}},
	{id: "MS014", severity: Error, checks: "path is no string or has characters that are not allowed", message: asSaid,
		ms: func(m *MindSpore, r *reporter) {
			r.mistyped()
			r.badChar(m.Path, notInPath(), Text{EN: `letters, digits, "/", "-" and "_"`, ZH: `字母、数字、"/"、"-" 和 "_"`})
		}},
	{id: "MS015", severity: Error, checks: "net_name is no string, empty or has characters that are not allowed", message: asSaid,
		ms: func(m *MindSpore, r *reporter) {
			r.mistyped()
			r.when(m.NetName.isEmpty(), m.NetName.valueSpan(), Text{EN: "net_name must not be empty", ZH: "net_name 不能为空"})
			r.badChar(m.NetName, notInName(), Text{EN: `letters, digits, "-" and "_"`, ZH: `字母、数字、"-" 和 "_"`})
		}},
	{id: "MS016", severity: Error, checks: "dump_mode is not 0, 1 or 2, or not for the target",
		message: Text{EN: "dump_mode must be 0 (all operators), 1 (those in kernels) or 2 (those marked by set_dump)%s", ZH: "dump_mode 必须为 0(全部算子)、1(kernels 中的算子)或 2(set_dump 标记的算子)%s"},
		ms: func(m *MindSpore, r *reporter) {
			switch s := m.DumpMode; {
			case s.OK && s.Value > 2:
				r.at(s.valueSpan(), lang.Sayf(", found %s", "，实际为 %s", s.Node.Text))
			case s.Value == 2 && r.opt.TargetVersion.Before(sinceMS15):
				r.at(s.valueSpan(), Text{EN: "; 2 is known since version 1.5 only", ZH: "；2 从版本 1.5 起才支持"})
			case s.Value == 2 && r.opt.noNPU():
				r.as(Warning, s.valueSpan(), Text{EN: "; 2 is rejected on CPU and GPU", ZH: "；CPU 和 GPU 上不支持 2"})
			}
		}},
	{id: "MS017", severity: Error, checks: "input_output is not 0, 1 or 2",
		message: Text{EN: "input_output must be 0 (both), 1 (inputs) or 2 (outputs), found %s", ZH: "input_output 必须为 0(输入和输出)、1(输入)或 2(输出)，实际为 %s"},
		ms: func(m *MindSpore, r *reporter) {
			if s := m.InputOutput; s.OK && s.Value > 2 {
				r.at(s.valueSpan(), s.Node.Text)
			}
		}},
	{id: "MS045", severity: Warning, checks: "support_device is empty or lacks a device that is used",
		guess: true, message: Text{EN: "the dump is off for %s: support_device does not list it", ZH: "不会 dump 的设备：%s，support_device 中没有列出"},
		mind: Text{EN: "a device in use is not in the list and does not dump", ZH: "使用中的设备不在列表中，不会 dump"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.SupportDevice
			if !s.OK || r.opt.isCPU() {
				return
			}
			r.when(s.isEmpty(), s.valueSpan(), Text{EN: "every device", ZH: "所有设备"})
			listed := func(id uint64) bool {
				return slices.ContainsFunc(s.Value, func(d Setting[uint64]) bool { return d.OK && d.Value == id })
			}
			for _, d := range r.opt.Devices {
				r.when(s.isFilled() && !listed(d), s.valueSpan(), deviceName(d))
			}
		}},
}

// badChar reports the first character of a string that a pattern matches.
func (r *reporter) badChar(s Setting[string], bad *regexp.Regexp, allowed Text) {
	at := bad.FindStringIndex(s.Value)
	if at == nil {
		return
	}
	_, size := utf8.DecodeRuneInString(s.Value[at[0]:])
	r.at(part(s, at[0], size), lang.Sayf("%s is not allowed in %s; allowed are %s", "%[2]s 中不允许 %[1]s，可用%[3]s", show(s.Value[at[0]:at[0]+size]), lastOf(s.Path), allowed))
}

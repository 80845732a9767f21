package dumpconf

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	notInPath = regexp.MustCompile(`[^A-Za-z0-9/_-]`)
	notInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// mindSporeCommonRules check path, names, modes and devices.
var mindSporeCommonRules = []rule{
	{id: "MS012", severity: Error, checks: "path is missing or empty",
		guess: true, message: "path is missing or empty; %s",
		ms: func(m *MindSpore, r *reporter) {
			if !m.Common.Present() || !m.Path.lacks() {
				return
			}
			at := m.Path.spanIn(m.Common)
			switch _, known := r.opt.env("MS_DIAGNOSTIC_DATA_PATH"); {
			case r.opt.TargetVersion.Before(sinceMS16):
				r.at(at, "it is required before version 1.6")
			case known:
			case r.opt.Env != nil:
				r.at(at, "the environment variable MS_DIAGNOSTIC_DATA_PATH must name the folder then, and is not set")
			default:
				r.as(Warning, at, "the environment variable MS_DIAGNOSTIC_DATA_PATH must name the folder then")
			}
		}},
	{id: "MS013", severity: Error, checks: "path is relative",
		message: `path must start with "/", found %s`,
		ms: func(m *MindSpore, r *reporter) {
			p := m.Path
			r.when(p.Value != "" && !strings.HasPrefix(p.Value, "/"), p.valueSpan(), show(p.Value))
		}},
	{id: "MS014", severity: Error, checks: "path is no string or has characters that are not allowed", message: "%s",
		ms: func(m *MindSpore, r *reporter) {
			r.mistyped()
			r.badChar(m.Path, notInPath, `letters, digits, "/", "-" and "_"`)
		}},
	{id: "MS015", severity: Error, checks: "net_name is no string, empty or has characters that are not allowed", message: "%s",
		ms: func(m *MindSpore, r *reporter) {
			r.mistyped()
			r.when(m.NetName.isEmpty(), m.NetName.valueSpan(), "net_name must not be empty")
			r.badChar(m.NetName, notInName, `letters, digits, "-" and "_"`)
		}},
	{id: "MS016", severity: Error, checks: "dump_mode is not 0, 1 or 2, or not for the target",
		message: "dump_mode must be 0 (all operators), 1 (those in kernels) or 2 (those marked by set_dump)%s",
		ms: func(m *MindSpore, r *reporter) {
			switch s := m.DumpMode; {
			case s.OK && s.Value > 2:
				r.at(s.valueSpan(), ", found "+s.Node.Text)
			case s.Value == 2 && r.opt.TargetVersion.Before(sinceMS15):
				r.at(s.valueSpan(), "; 2 is known since version 1.5 only")
			case s.Value == 2 && r.opt.noNPU():
				r.as(Warning, s.valueSpan(), "; 2 is rejected on CPU and GPU")
			}
		}},
	{id: "MS017", severity: Error, checks: "input_output is not 0, 1 or 2",
		message: "input_output must be 0 (both), 1 (inputs) or 2 (outputs), found %s",
		ms: func(m *MindSpore, r *reporter) {
			if s := m.InputOutput; s.OK && s.Value > 2 {
				r.at(s.valueSpan(), s.Node.Text)
			}
		}},
	{id: "MS045", severity: Warning, checks: "support_device is empty or lacks a device that is used",
		guess: true, message: "the dump is off for %s: support_device does not list it",
		mind: Text{EN: "a device in use is not in the list and does not dump", ZH: "使用中的设备不在列表中，不会 dump"},
		ms: func(m *MindSpore, r *reporter) {
			s := m.SupportDevice
			if !s.OK || r.opt.isCPU() {
				return
			}
			r.when(s.isEmpty(), s.valueSpan(), "every device")
			listed := func(id uint64) bool {
				return slices.ContainsFunc(s.Value, func(d Setting[uint64]) bool { return d.OK && d.Value == id })
			}
			for _, d := range r.opt.Devices {
				r.when(s.isFilled() && !listed(d), s.valueSpan(), deviceName(d))
			}
		}},
}

// badChar reports the first character of a string that a pattern matches.
func (r *reporter) badChar(s Setting[string], bad *regexp.Regexp, allowed string) {
	at := bad.FindStringIndex(s.Value)
	if at == nil {
		return
	}
	_, size := utf8.DecodeRuneInString(s.Value[at[0]:])
	r.at(part(s, at[0], size), show(s.Value[at[0]:at[0]+size])+" is not allowed in "+lastOf(s.Path)+"; allowed are "+allowed)
}

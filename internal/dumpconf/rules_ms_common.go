package dumpconf

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	notInPath = regexp.MustCompile(`[^A-Za-z0-9/_-]`)
	notInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// mindSporeCommonRules check path, names, modes and devices.
func mindSporeCommonRules() []rule {
	return []rule{
		{"MS012", Error, "", stageLint, "path is missing or empty",
			"path is missing or empty; %s",
			func(c *check, r *reporter) {
				m := c.ms
				if !m.Common.Present() || m.Path.Value != "" || m.Path.Present() && !m.Path.OK {
					return
				}
				at := m.Common.keySpot()
				if m.Path.Present() {
					at = m.Path.valueSpot()
				}
				if c.opt.TargetVersion.Before(sinceMS16) {
					r.at(at, "it is required before version 1.6")
				} else if _, ok := c.opt.env("MS_DIAGNOSTIC_DATA_PATH"); !ok && c.opt.Env != nil {
					r.at(at, "the environment variable MS_DIAGNOSTIC_DATA_PATH must name the folder then, and is not set")
				} else if !ok {
					r.as(Warning, at, "the environment variable MS_DIAGNOSTIC_DATA_PATH must name the folder then")
				}
			}},
		{"MS013", Error, "", stageLint, "path is relative",
			`path must start with "/", found %s`,
			func(c *check, r *reporter) {
				if p := c.ms.Path; p.Value != "" && !strings.HasPrefix(p.Value, "/") {
					r.at(p.valueSpot(), show(p.Value))
				}
			}},
		{"MS014", Error, "", stageLint, "path is no string or has characters that are not allowed", "%s",
			func(c *check, r *reporter) {
				r.mistyped()
				r.badChar(c.ms.Path, notInPath, `letters, digits, "/", "-" and "_"`)
			}},
		{"MS015", Error, "", stageLint, "net_name is no string, empty or has characters that are not allowed", "%s",
			func(c *check, r *reporter) {
				r.mistyped()
				n := c.ms.NetName
				if n.OK && n.Value == "" {
					r.at(n.valueSpot(), "net_name must not be empty")
				}
				r.badChar(n, notInName, `letters, digits, "-" and "_"`)
			}},
		{"MS016", Error, "", stageLint, "dump_mode is not 0, 1 or 2, or not for the target",
			"dump_mode must be 0 (all operators), 1 (those in kernels) or 2 (those marked by set_dump)%s",
			func(c *check, r *reporter) {
				m := c.ms.DumpMode
				switch {
				case m.OK && m.Value > 2:
					r.at(m.valueSpot(), ", found "+m.Node.Text)
				case m.Value == 2 && c.opt.TargetVersion.Before(sinceMS15):
					r.at(m.valueSpot(), "; 2 is known since version 1.5 only")
				case m.Value == 2 && c.opt.noNPU():
					r.as(Warning, m.valueSpot(), "; 2 is rejected on CPU and GPU")
				}
			}},
		{"MS017", Error, "", stageLint, "input_output is not 0, 1 or 2",
			"input_output must be 0 (both), 1 (inputs) or 2 (outputs), found %s",
			func(c *check, r *reporter) {
				if m := c.ms.InputOutput; m.OK && m.Value > 2 {
					r.at(m.valueSpot(), m.Node.Text)
				}
			}},
		{"MS045", Warning, "", stageLint, "support_device is empty or lacks a device that is used",
			"the dump is off for %s: support_device does not list it",
			func(c *check, r *reporter) {
				s := c.ms.SupportDevice
				if !s.OK || c.opt.isCPU() {
					return
				}
				if len(s.Node.Elems) == 0 {
					r.at(s.valueSpot(), "every device")
					return
				}
				listed := make(map[uint64]bool)
				for _, d := range s.Value {
					listed[d.Value] = listed[d.Value] || d.OK
				}
				for _, d := range c.opt.Devices {
					if !listed[d] && !r.full() {
						r.at(s.valueSpot(), deviceName(d))
					}
				}
			}},
	}
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

package dumpconf

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

var opSuffix = regexp.MustCompile(`-op[0-9]+$`)

// mindSporeKernelRules check kernels and device ids.
func mindSporeKernelRules() []rule {
	return []rule{
		{"MS040", Warning, "", stageLint, "kernels without dump_mode 1",
			"kernels is used with dump_mode 1 only, found %d; it is ignored",
			func(c *check, r *reporter) {
				m := c.ms
				if m.DumpMode.OK && m.DumpMode.Value != 1 && len(m.KernelNames.Value) > 0 {
					r.at(m.KernelNames.keySpot(), m.DumpMode.Value)
				}
			}},
		{"MS041", Warning, "", stageLint, "dump_mode 1 with empty kernels",
			"kernels is empty and so matches all operators, although dump_mode is 1",
			func(c *check, r *reporter) {
				m := c.ms
				if m.DumpMode.Value != 1 || !m.KernelNames.OK {
					return
				}
				for _, k := range m.Kernels {
					if k.Pattern != "" || k.Kind == KernelRegex {
						return
					}
				}
				r.at(m.KernelNames.valueSpot())
			}},
		{"MS042", Warning, "", stageLint, "an entry of kernels that may not match as meant",
			"kernels entry %s %s",
			func(c *check, r *reporter) {
				for i, s := range c.ms.KernelNames.Value {
					if s.OK && !r.full() {
						r.kernel(s, c.ms.Kernels[i])
					}
				}
			}},
		{"MS043", Warning, "", stageLint, "a regular expression of kernels that is malformed",
			"kernels entry %s: %s; use name-regex(<pattern for the whole name>) without backslashes",
			func(c *check, r *reporter) {
				for i, s := range c.ms.KernelNames.Value {
					if fault := regexFault(c.ms.Kernels[i], c.opt.TargetVersion); s.OK && fault != "" && !r.full() {
						r.at(s.valueSpot(), show(s.Value), fault)
					}
				}
			}},
		{"MS044", Warning, "", stageLint, "a kernel or device that is listed twice",
			"%s is listed twice",
			func(c *check, r *reporter) {
				names := make(map[string]bool)
				for i, s := range c.ms.KernelNames.Value {
					pattern := fmt.Sprint(c.ms.Kernels[i].Kind, c.ms.Kernels[i].Pattern)
					if s.OK && names[pattern] && !r.full() {
						r.at(s.valueSpot(), show(s.Value))
					}
					names[pattern] = names[pattern] || s.OK
				}
				ids := make(map[uint64]bool)
				for _, s := range c.ms.SupportDevice.Value {
					if s.OK && ids[s.Value] && !r.full() {
						r.at(s.valueSpot(), deviceName(s.Value))
					}
					ids[s.Value] = ids[s.Value] || s.OK
				}
			}},
	}
}

func deviceName(id uint64) string { return fmt.Sprintf("device %d", id) }

// kernel gives hints on one entry.
func (r *reporter) kernel(s Setting[string], k Kernel) {
	switch {
	case strings.Contains(s.Value, " "):
		r.at(s.valueSpot(), show(s.Value), "contains spaces, which are removed: it means "+show(k.Pattern))
	case k.Kind == KernelName && !k.Unclosed && !opSuffix.MatchString(k.Pattern):
		r.as(Info, s.valueSpot(), show(s.Value), "is taken as the exact full name of an operator, but lacks the suffix such as -op12")
	case k.Kind == KernelType && !k.Unclosed && k.Pattern != "" && len(k.Pattern) <= 2:
		r.as(Info, s.valueSpot(), show(s.Value), "is taken as a part of an operator type and may match more than is meant")
	}
}

// longestRegex bounds what is parsed; no operator has such a name.
const longestRegex = 4096 // bytes

// regexFault says what is wrong with an entry that is meant as a regular
// expression. Constructs that only ECMAScript knows pass.
func regexFault(k Kernel, target Version) string {
	switch {
	case k.Unclosed:
		return "the closing bracket is missing, so it is taken as " + indefinite(k.Kind)
	case k.Kind != KernelRegex:
		return ""
	case target.Before(sinceMS23):
		return "name-regex is known since version 2.3 only"
	case strings.Contains(k.Pattern, `\`):
		return "backslashes do not work, write [0-9] for digits"
	case len(k.Pattern) > longestRegex:
		return ""
	}
	_, err := syntax.Parse(k.Pattern, syntax.Perl)
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return ""
	}
	switch bad.Code {
	case syntax.ErrMissingBracket, syntax.ErrMissingParen, syntax.ErrUnexpectedParen,
		syntax.ErrMissingRepeatArgument, syntax.ErrInvalidCharRange:
		return bad.Code.String()
	default:
		return ""
	}
}

func indefinite(k KernelKind) string {
	if k == KernelType {
		return "an " + k.String()
	}
	return "a " + k.String()
}

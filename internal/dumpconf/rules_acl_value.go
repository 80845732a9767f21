package dumpconf

import (
	"fmt"
	"slices"
	"strings"
)

// aclValueRules check strings whose values are known.
func aclValueRules() []rule {
	return []rule{
		{"ACL012", Error, "EP0001", stageValues, "a value is empty that must be one of a list",
			"%s is empty; allowed are %s",
			func(c *check, r *reporter) {
				for _, e := range c.read.enums {
					if e.Value == "" && !r.full() {
						r.at(e.valueSpot(), lastOf(e.Path), list(e.key.Values))
					}
				}
				if s := c.acl.DumpKernelData; s.OK && s.Value == "" {
					r.at(s.valueSpot(), "dump_kernel_data", list(kernelData))
				}
			}},
		{"ACL013", Error, "EP0002", stageValues, "a value is not among those of its key", "%s",
			func(c *check, r *reporter) {
				for _, e := range c.read.enums {
					if e.key.Type == TypeString && !slices.Contains(e.key.Values, e.Value) && e.Value != "" {
						r.enum(e)
					}
				}
			}},
		{"ACL014", Error, "EP0002", stageValues, "a part of dump_kernel_data is not known",
			"%s is no part of dump_kernel_data; give a comma list without spaces of %s",
			func(c *check, r *reporter) {
				s := c.acl.DumpKernelData
				if s.Value == "" {
					return
				}
				offset := 0
				for piece := range strings.SplitSeq(s.Value, ",") {
					if !slices.Contains(kernelData, piece) && !r.full() {
						r.kernelPart(s, offset, piece)
					}
					offset += len(piece) + 1
				}
			}},
		{"ACL015", Error, "EP0002", stageValues, "a member of dump_stats is not known", "%s",
			func(c *check, r *reporter) {
				for _, e := range c.read.enums {
					if e.key.Type == TypeStrings && !slices.Contains(e.key.Values, e.Value) && e.Value != "" && !r.full() {
						r.enum(e)
					}
				}
			}},
	}
}

// kernelPart reports a part of dump_kernel_data at an offset of its value.
func (r *reporter) kernelPart(s Setting[string], offset int, piece string) {
	f := r.at(part(s, offset, len(piece)), fmt.Sprintf("%q", shorten(piece)), list(kernelData))
	best := nearest(piece, kernelData)
	f.Suggestion = best
	if at := part(s, offset, len(piece)); best != "" && sameButForm(best, piece) && at.start > s.Node.Start {
		f.Edits = replace(at, best)
	}
}

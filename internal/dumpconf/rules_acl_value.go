package dumpconf

import (
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// aclValueRules check strings whose values are known.
var aclValueRules = []rule{
	{id: "ACL012", severity: Error, code: "EP0001", stage: stageValues, checks: "a value is empty that must be one of a list",
		message: Text{EN: "%s is empty; allowed are %s", ZH: "%s 为空，可选值为 %s"},
		acl: func(a *ACL, r *reporter) {
			for _, e := range r.read.enums {
				if e.Value == "" {
					r.at(e.valueSpan(), lastOf(e.Path), list(e.key.Values))
				}
			}
			r.when(a.DumpKernelData.isEmpty(), a.DumpKernelData.valueSpan(), "dump_kernel_data", list(kernelData))
		}},
	{id: "ACL013", severity: Error, code: "EP0002", stage: stageValues, checks: "a value is not among those of its key", message: asSaid,
		run: func(r *reporter) { r.enumsOf(TypeString) }},
	{id: "ACL014", severity: Error, code: "EP0002", stage: stageValues, checks: "a part of dump_kernel_data is not known",
		message: Text{EN: "%s is no part of dump_kernel_data; give a comma list without spaces of %s", ZH: "%s 不是 dump_kernel_data 的取值；应为以逗号分隔、不含空格的列表，可选值为 %s"},
		acl: func(a *ACL, r *reporter) {
			offset := 0
			for piece := range strings.SplitSeq(a.DumpKernelData.Value, ",") {
				if a.DumpKernelData.Value != "" && !slices.Contains(kernelData, piece) {
					r.kernelPart(a.DumpKernelData, offset, piece)
				}
				offset += len(piece) + 1
			}
		}},
	{id: "ACL015", severity: Error, code: "EP0002", stage: stageValues, checks: "a member of dump_stats is not known", message: asSaid,
		run: func(r *reporter) { r.enumsOf(TypeStrings) }},
}

// enumsOf reports the values of keys of a type that are not among theirs.
func (r *reporter) enumsOf(t KeyType) {
	for _, e := range r.read.enums {
		if e.key.Type == t && e.Value != "" {
			r.enum(e)
		}
	}
}

// kernelPart reports a part of dump_kernel_data at an offset of its value.
func (r *reporter) kernelPart(s Setting[string], offset int, piece string) {
	at, best := part(s, offset, len(piece)), r.nearest(piece, kernelData)
	f := r.at(at, show(piece), list(kernelData)).suggest(best)
	if best != "" && lang.SameButForm(best, piece) && at.start > s.Node.Start {
		f.Edits = replace(at, best)
	}
}

package dumpconf

import (
	"regexp"
	"strings"
)

// knownProducts are examples of the products that can be named.
var knownProducts = []string{"A2", "A3", "Ascend310P", "Ascend910", "Ascend910B", "cpu", "gpu"}

// productName matches the names of products without their brand.
var productName = regexp.MustCompile(`^(a[235]|cpu|gpu|[2-9][0-9]{2}.*)$`)

// targetRules check what was said about the target of the file.
var targetRules = []rule{
	{id: "CFG002", severity: Warning, checks: "a product that is not known",
		message: "%s is no known product, so nothing is checked for it; known are " + strings.Join(knownProducts, ", "),
		run: func(r *reporter) {
			r.when(r.opt.SoC != "" && !productName.MatchString(r.opt.soc()), r.top(), show(r.opt.SoC))
		}},
	{id: "CFG003", severity: Info, checks: "a backend or product that means nothing for the schema",
		message: "%s means something for MindSpore only, and this is a file for %s",
		run: func(r *reporter) {
			other := r.schema != SchemaMindSpore
			r.when(other && r.opt.Backend != "", r.top(), "the backend "+show(r.opt.Backend), r.schema)
			r.when(other && r.opt.noNPU(), r.top(), "the product "+show(r.opt.SoC), r.schema)
		}},
	{id: "CFG004", severity: Warning, checks: "an acl.json with settings of MindSpore",
		message: "the ACL runtime does not read common_dump_settings, and MindSpore not \"dump\": make two files",
		run: func(r *reporter) {
			if m := r.root.Get("common_dump_settings"); m != nil && r.schema == SchemaACL {
				r.at(span{m.Key, m.KeyStart, m.KeyEnd})
			}
		}},
}

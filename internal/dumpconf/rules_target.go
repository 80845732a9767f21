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
func targetRules() []rule {
	return []rule{
		{"CFG002", Warning, "", stageLint, "a product that is not known",
			"%s is no known product, so nothing is checked for it; known are " + strings.Join(knownProducts, ", "),
			func(c *check, r *reporter) {
				if soc := c.opt.soc(); c.opt.SoC != "" && !productName.MatchString(soc) {
					r.at(c.top(), show(c.opt.SoC))
				}
			}},
		{"CFG003", Info, "", stageLint, "a backend or product that means nothing for the schema",
			"%s means something for MindSpore only, and this is a file for %s",
			func(c *check, r *reporter) {
				if c.schema == SchemaMindSpore {
					return
				}
				if c.opt.Backend != "" {
					r.at(c.top(), "the backend "+show(c.opt.Backend), c.schema)
				}
				if c.opt.noNPU() {
					r.at(c.top(), "the product "+show(c.opt.SoC), c.schema)
				}
			}},
		{"CFG004", Warning, "", stageLint, "an acl.json with settings of MindSpore",
			"the ACL runtime does not read common_dump_settings, and MindSpore not \"dump\": make two files",
			func(c *check, r *reporter) {
				if m := c.root.Get("common_dump_settings"); m != nil && c.schema == SchemaACL {
					r.at(spot{m.Key, m.KeyStart, m.KeyEnd})
				}
			}},
	}
}

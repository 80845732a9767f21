package dumpconf

import (
	"strings"

	"dumptool/internal/lang"
)

// knownProducts are examples of the products that can be named.
var knownProducts = []string{"A2", "A3", "Ascend310P", "Ascend910", "Ascend910B", "cpu", "gpu"}

// productName matches the names of products without their brand.
var productName = lang.Pattern(`^(a[235]|cpu|gpu|[2-9][0-9]{2}.*)$`)

// targetRules check what was said about the target of the file.
var targetRules = []rule{
	{id: "CFG002", severity: Warning, checks: "a product that is not known",
		message: Text{EN: "%s is no known product, so nothing is checked for it; known are " + strings.Join(knownProducts, ", "), ZH: "%s 不是已知产品，不做相关检查；已知的有 " + strings.Join(knownProducts, ", ")},
		run: func(r *reporter) {
			r.when(r.opt.SoC != "" && !productName().MatchString(r.opt.soc()), r.top(), show(r.opt.SoC))
		}},
	{id: "CFG003", severity: Info, checks: "a backend or product that means nothing for the schema",
		message: Text{EN: "%s means something for MindSpore only, and this is a file for %s", ZH: "%s 仅对 MindSpore 有意义，而该文件用于 %s"},
		run: func(r *reporter) {
			other := r.schema != SchemaMindSpore
			r.when(other && r.opt.Backend != "", r.top(), lang.Sayf("the backend %s", "backend %s", show(r.opt.Backend)), r.schema)
			r.when(other && r.opt.noNPU(), r.top(), lang.Sayf("the product %s", "产品 %s", show(r.opt.SoC)), r.schema)
		}},
	{id: "CFG004", severity: Warning, checks: "an acl.json with settings of MindSpore",
		message: Text{EN: "the ACL runtime does not read common_dump_settings, and MindSpore not \"dump\": make two files", ZH: `ACL 运行时不读取 common_dump_settings，MindSpore 不读取 "dump"：请分成两个文件`},
		run: func(r *reporter) {
			if m := r.root.Get("common_dump_settings"); m != nil && r.schema == SchemaACL {
				r.at(span{m.Key, m.KeyStart, m.KeyEnd})
			}
		}},
}

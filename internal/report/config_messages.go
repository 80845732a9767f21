package report

import (
	"dumptool/internal/batch"
	"dumptool/internal/dumpconf"
	"dumptool/internal/lang"
)

// Outcome is how checks ended that were to repair files (fix), to write what is repaired
// (write), and to take warnings for errors (strict).
func (c *ConfigChecks) Outcome(fix, write, strict bool) batch.Outcome {
	o := c.ended(strict)
	for i := range c.Files {
		o.Messages = append(o.Messages, configMessages(&c.Files[i], write)...)
	}
	if len(c.Files) > 0 {
		o.Messages = append(o.Messages, batch.Infof("%s", "%s", configSummary(&c.Checks)))
	}
	if n := c.Fixable(); n > 0 && !fix {
		o.Messages = append(o.Messages, batch.Hintf("--fix shows how to repair %d of these, --fix --write does it", "--fix 显示其中 %d 处的修改方法，--fix --write 直接修改", n))
	}
	return o
}

func (c *ConfigChecks) ended(strict bool) batch.Outcome {
	switch {
	case len(c.Failed) > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read or written", "%s无法读写", lang.CountText(len(c.Failed), "file", "个文件")).AsShown()
	case c.Count(dumpconf.Error) > 0:
		return batch.Outcomef(batch.Found, "errors found", "发现错误").AsShown()
	case strict && c.Count(dumpconf.Warning) > 0:
		return batch.Outcomef(batch.Found, "warnings found", "发现告警").AsShown()
	}
	return batch.Outcome{}
}

// configMessages say what the findings in a file do not: what a repair does or did, and
// whether there is more to find.
func configMessages(f *dumpconf.FileCheck, written bool) []batch.Message {
	name := ConfigName(f.Name)
	var all []batch.Message
	if f.Changed() && !written && !shownAsDiff(f) {
		all = append(all, batch.Warnf("%s is no UTF-8: its change cannot be shown, --write makes it", "%s 不是 UTF-8 编码：无法显示修改，可用 --write 直接修改", name))
	}
	if f.Report().More && (f.After == nil || written) {
		all = append(all, batch.Warnf("%s: there is more to find, once this is repaired", "%s：修改后可能还有其他问题", name))
	}
	switch {
	case f.After == nil || written && !f.Written:
	case written && f.Changed():
		if left := f.After.Count(dumpconf.Error); left == 0 {
			all = append(all, batch.Infof("%s is repaired: findings before %s, left %s", "%s 已修复：修改前 %s，剩余 %s", name, howMany(f.Before), howMany(f.After)))
		} else {
			all = append(all, batch.Infof("%s is changed, but not repaired: findings before %s, left %s, of them %s", "%s 已修改但未完全修复：修改前 %s，剩余 %s，其中 %s",
				name, howMany(f.Before), howMany(f.After), lang.CountText(left, "error", "个错误")))
		}
	case f.Changed():
		all = append(all, batch.Infof("%s: findings now %s, after this change %s", "%s：当前 %s，修改后 %s", name, howMany(f.Before), howMany(f.After)))
	case len(f.Before.Findings) == 0:
	case written:
		all = append(all, batch.Infof("%s is not changed: nothing can be repaired without a decision of yours", "%s 未修改：没有可自动修复的问题", name))
	default:
		all = append(all, batch.Infof("%s: nothing can be repaired without a decision of yours", "%s：没有可自动修复的问题", name))
	}
	return all
}

// howMany counts the findings of a report, as far as it lists them.
func howMany(r *dumpconf.Report) lang.Sentence {
	switch n := len(r.Findings); {
	case n == 0:
		return lang.Sayf("none", "无问题")
	case r.More:
		return lang.Sayf("more than %d", "超过 %d 个问题", n)
	default:
		return lang.Sayf("%d", "%d 个问题", n)
	}
}

// configSummary counts the findings in all files.
func configSummary(c *dumpconf.Checks) lang.Sentence {
	var parts []lang.Sentence
	add := func(s dumpconf.Severity, noun, zh string) {
		if n := c.Count(s); n > 0 {
			parts = append(parts, lang.Sayf("%s", "%s", lang.CountText(n, noun, zh)))
		}
	}
	add(dumpconf.Error, "error", "个错误")
	add(dumpconf.Warning, "warning", "个告警")
	add(dumpconf.Info, "hint", "个提示")
	found, last := lang.Join(parts, lang.Text{EN: ", ", ZH: "，"}), &c.Files[len(c.Files)-1]
	switch {
	case len(c.Files) > 1 && found.IsZero():
		return lang.Sayf("nothing found in %d files", "%d 个文件中未发现问题", len(c.Files))
	case len(c.Files) > 1:
		return lang.Sayf("%s in %d of %d files", "%[3]d 个文件中 %[2]d 个有问题：%[1]s", found, c.Bad(), len(c.Files))
	case found.IsZero():
		return lang.Sayf("nothing found in %s (checked as %s)", "%s 中未发现问题(按 %s 检查)", ConfigName(last.Name), last.Before.Schema)
	default:
		return lang.Sayf("%s in %s", "%[2]s 中有 %[1]s", found, ConfigName(last.Name))
	}
}

// MadeMessages say what to know of a configuration that was made: the hints of its check,
// and what to do with it.
func MadeMessages(made *dumpconf.Made, check *dumpconf.Report) []batch.Message {
	var all []batch.Message
	for i := range check.Findings {
		switch f := &check.Findings[i]; f.Severity {
		case dumpconf.Warning:
			all = append(all, batch.Warnf("%s", "%s", f.Message))
		case dumpconf.Info:
			all = append(all, batch.Infof("%s", "%s", f.Message))
		}
	}
	for _, step := range made.Next {
		all = append(all, batch.Hintf("%s", "%s", step))
	}
	return all
}

// TranslationMessages say what a configuration for another runtime has of the file.
func TranslationMessages(file string, notes []dumpconf.Note) []batch.Message {
	var all []batch.Message
	for _, n := range notes {
		about := lang.Sayf("%s: %s", "%s: %s", n.Path, n.Text)
		if n.Line > 0 {
			about = lang.Sayf("%s:%d: %s", "%s:%d: %s", ConfigName(file), n.Line, about)
		}
		if n.What == dumpconf.Defaulted {
			all = append(all, batch.Infof("%s", "%s", about))
		} else {
			all = append(all, batch.Warnf("%s", "%s", about))
		}
	}
	return all
}

package report

import (
	"fmt"
	"strings"

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
		o.Messages = append(o.Messages, batch.Infof("%s", configSummary(&c.Checks)))
	}
	if n := c.Fixable(); n > 0 && !fix {
		o.Messages = append(o.Messages, batch.Hint(fmt.Sprintf("--fix shows how to repair %d of these, --fix --write does it", n)))
	}
	return o
}

func (c *ConfigChecks) ended(strict bool) batch.Outcome {
	switch {
	case len(c.Failed) > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read or written", lang.Count(len(c.Failed), "file")).AsShown()
	case c.Count(dumpconf.Error) > 0:
		return batch.Outcomef(batch.Found, "errors found").AsShown()
	case strict && c.Count(dumpconf.Warning) > 0:
		return batch.Outcomef(batch.Found, "warnings found").AsShown()
	}
	return batch.Outcome{}
}

// configMessages say what the findings in a file do not: what a repair does or did, and
// whether there is more to find.
func configMessages(f *dumpconf.FileCheck, written bool) []batch.Message {
	name := ConfigName(f.Name)
	var all []batch.Message
	if f.Changed() && !written && !shownAsDiff(f) {
		all = append(all, batch.Warnf("%s is no UTF-8: its change cannot be shown, --write makes it", name))
	}
	if f.Report().More && (f.After == nil || written) {
		all = append(all, batch.Warnf("%s: there is more to find, once this is repaired", name))
	}
	switch {
	case f.After == nil || written && !f.Written:
	case written && f.Changed():
		if left := f.After.Count(dumpconf.Error); left == 0 {
			all = append(all, batch.Infof("%s is repaired: findings before %s, left %s", name, howMany(f.Before), howMany(f.After)))
		} else {
			all = append(all, batch.Infof("%s is changed, but not repaired: findings before %s, left %s, of them %s",
				name, howMany(f.Before), howMany(f.After), lang.Count(left, "error")))
		}
	case f.Changed():
		all = append(all, batch.Infof("%s: findings now %s, after this change %s", name, howMany(f.Before), howMany(f.After)))
	case len(f.Before.Findings) == 0:
	case written:
		all = append(all, batch.Infof("%s is not changed: nothing can be repaired without a decision of yours", name))
	default:
		all = append(all, batch.Infof("%s: nothing can be repaired without a decision of yours", name))
	}
	return all
}

// howMany counts the findings of a report, as far as it lists them.
func howMany(r *dumpconf.Report) string {
	switch n := len(r.Findings); {
	case n == 0:
		return "none"
	case r.More:
		return fmt.Sprintf("more than %d", n)
	default:
		return fmt.Sprint(n)
	}
}

// configSummary counts the findings in all files.
func configSummary(c *dumpconf.Checks) string {
	var parts []string
	for _, s := range []dumpconf.Severity{dumpconf.Error, dumpconf.Warning, dumpconf.Info} {
		if n := c.Count(s); n > 0 {
			noun := s.String()
			if s == dumpconf.Info {
				noun = "hint"
			}
			parts = append(parts, lang.Count(n, noun))
		}
	}
	found, last := strings.Join(parts, ", "), &c.Files[len(c.Files)-1]
	switch {
	case len(c.Files) > 1 && found == "":
		return fmt.Sprintf("nothing found in %d files", len(c.Files))
	case len(c.Files) > 1:
		return fmt.Sprintf("%s in %d of %d files", found, c.Bad(), len(c.Files))
	case found == "":
		return fmt.Sprintf("nothing found in %s (checked as %s)", ConfigName(last.Name), last.Before.Schema)
	default:
		return fmt.Sprintf("%s in %s", found, ConfigName(last.Name))
	}
}

// MadeMessages say what to know of a configuration that was made: the hints of its check,
// and what to do with it.
func MadeMessages(made *dumpconf.Made, check *dumpconf.Report, in Lang) []batch.Message {
	var all []batch.Message
	for i := range check.Findings {
		switch f := &check.Findings[i]; f.Severity {
		case dumpconf.Warning:
			all = append(all, batch.Warnf("%s", f.Message))
		case dumpconf.Info:
			all = append(all, batch.Infof("%s", f.Message))
		}
	}
	for _, step := range made.Next {
		all = append(all, batch.Hint(in.Text(step)))
	}
	return all
}

// TranslationMessages say what a configuration for another runtime has of the file.
func TranslationMessages(file string, notes []dumpconf.Note, in Lang) []batch.Message {
	var all []batch.Message
	for _, n := range notes {
		about := fmt.Sprintf("%s: %s", n.Path, in.Text(n.Text))
		if n.Line > 0 {
			about = fmt.Sprintf("%s:%d: %s", ConfigName(file), n.Line, about)
		}
		if n.What == dumpconf.Defaulted {
			all = append(all, batch.Infof("%s", about))
		} else {
			all = append(all, batch.Warnf("%s", about))
		}
	}
	return all
}

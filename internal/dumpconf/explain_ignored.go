package dumpconf

// overruled is why the runtime does not look at a setting at all.
func (e *explainer) overruled() Text {
	if e.r.ACL != nil && e.r.ACL.Exception() {
		return ruleOf("ACL041").ignored
	}
	return ruleOf("ACL052").ignored
}

// unusedSettings lists what MindSpore does not look at and no rule reports.
func (e *explainer) unusedSettings(m *MindSpore) {
	say := func(path string, offset int, why Text) {
		line, _ := e.r.Doc.Position(offset)
		e.add("ignored", text("word.setting", path, line, why))
	}
	if s := m.KernelNames; m.DebugMode() != 0 && m.DumpMode.Value == 1 && len(m.Kernels) > 0 {
		say(s.Path, s.keySpan().start, ruleOf("MS033").ignored)
	}
	if s := m.SupportDevice; s.Present() && e.opt.isCPU() {
		say(s.Path, s.keySpan().start, text("word.not-on-cpu"))
	}
}

// ignored lists what does not count, and what to mind.
func (e *explainer) ignored() {
	count := 0
	seen := make(map[string]bool)
	for i := range e.r.Findings {
		f := &e.r.Findings[i]
		section, reason := "ignored", f.rule.ignored
		switch {
		case f.Severity == Error, f.rule.needs != nil && !f.rule.needs(e.r.ACL):
			continue
		case !f.Ignored.IsZero():
			reason = e.overruled()
		case f.Severity != Warning || reason == Text{}:
			section, reason = "care", f.rule.mind
		}
		where := shorten(printable(f.Path))
		if reason == (Text{}) || seen[where+reason.EN] {
			continue
		}
		seen[where+reason.EN] = true
		if count++; count > 5*shown {
			continue
		}
		e.add(section, text("word.setting", where, f.Line, reason))
	}
	e.when(count > 5*shown, "ignored.more")
}

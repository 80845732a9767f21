package dumpconf

import (
	"errors"
	"fmt"
)

// verify compares the result, as its target version reads it, with what was
// asked for. It fails where the result would dump nothing or other things, and
// notes every other key that the target version ignores.
func (t *translation) verify(result *Report) error {
	if err := errorsOf(result); err != nil {
		return fmt.Errorf("the result would have errors: %w", err)
	}
	var err error
	switch read := result.asRead(t.opt.TargetVersion); {
	case read.ACL != nil:
		err = t.verifyACL(read.ACL)
	case read.MindSpore != nil:
		err = t.verifyMindSpore(read.MindSpore)
	}
	if err != nil {
		return err
	}
	for _, f := range result.newer() {
		t.notes = append(t.notes, Note{Path: f.Path, What: Ignored, offset: -1,
			Text: text("note.newer-key", t.opt.TargetVersion)})
	}
	return nil
}

// tooOld is the error of a result whose target version ignores a key that
// matters.
func (t *translation) tooOld(key string, since Version, instead string) error {
	return fmt.Errorf("%s is known since version %v only: version %v ignores it and would dump %s", key, since, t.opt.TargetVersion, instead)
}

func (t *translation) verifyACL(a *ACL) error {
	k, w := a.kinds(), &t.want
	switch {
	case w.kind == dumpOverflow && !k.overflow:
		return t.tooOld("dump_debug", sinceCANN62, "nothing")
	case w.kind == dumpException && !k.exception:
		return t.tooOld("dump_scene", sinceCANN81, "nothing")
	case w.stats && !a.Stats():
		return t.tooOld("dump_data", sinceCANN70, "whole tensors in place of statistics")
	default:
		return nil
	}
}

func (t *translation) verifyMindSpore(m *MindSpore) error {
	w := &t.want
	switch {
	case t.opt.backend() == "pynative":
		return errors.New("MindSpore itself does not dump in dynamic graph mode: use msprobe")
	case t.opt.leftToMsprobe():
		return fmt.Errorf("since version 2.6 MindSpore itself does not dump with backend %s: use msprobe, or name an older release as target version", t.opt.Backend)
	case w.kind == dumpOverflow && m.DebugMode() == 0:
		return fmt.Errorf("version %v looks for overflows in asynchronous dumps only, which need an NPU", t.opt.TargetVersion)
	case w.stats && !m.savesStatistics():
		return t.tooOld("saved_data", sinceMS16, "whole tensors in place of statistics")
	default:
		return nil
	}
}

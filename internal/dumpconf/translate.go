package dumpconf

import (
	"cmp"
	"slices"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// NoteKind says how a translation treats a key.
type NoteKind int

// The kinds of notes.
const (
	NoCounterpart NoteKind = iota // the key is lost
	Approximated                  // the result differs slightly
	Defaulted                     // the result has a value that the source lacks
	Ignored                       // the target version ignores a key of the result
)

// Note is a remark on a translated key.
type Note struct {
	Path string // of the key in the source; for Defaulted and Ignored in the result
	Line int    // in the source; 0 for Defaulted and Ignored
	What NoteKind
	Text Text

	offset int
}

// Translate converts a checked configuration for another runtime. opt describes the result: its
// target version, and for MindSpore backend and devices. Every key of the source that affects the
// dump but has no counterpart gets a note. Translate fails if the source has errors or switches no
// dump on, if the dump has no counterpart, and if the result would have errors or dump something
// else. Check the source without Stat and Env if it is for another host.
func Translate(r *Report, to Schema, opt Options) ([]byte, []Note, error) {
	opt = Options{Schema: to, TargetVersion: opt.TargetVersion, SoC: opt.SoC, Backend: opt.Backend, Devices: opt.Devices}
	t := &translation{r: r, opt: &opt, done: make(map[string]bool)}
	out, err := t.run(to)
	if err != nil {
		return nil, nil, err
	}
	src := document(out)
	if err := t.verify(Check("", src, opt)); err != nil {
		return nil, nil, err
	}
	return src, t.finish(), nil
}

// translation is the translation of one configuration.
type translation struct {
	r     *Report
	root  *Object
	opt   *Options
	want  wanted
	done  map[string]bool // paths of the source with a counterpart or a note
	notes []Note
}

// wanted describes a dump in terms that all runtimes share.
type wanted struct {
	kind   dumpKind
	path   string // empty if absent
	models []string
	ops    []string // exact names; nil for all
	steps  []string // valid pieces; nil for all
	mode   string   // input, output or all
	stats  bool     // statistics instead of tensors
	// which lists the statistics by their ACL names; nil without a choice.
	which []string
	scene string // exception scene, by its ACL name
}

// dumpKind is a kind of dump.
type dumpKind int

const (
	dumpNothing dumpKind = iota
	dumpModels
	dumpOps // single operator calls and models
	dumpOverflow
	dumpException
)

func (t *translation) run(to Schema) (*jsonpos.Value, error) {
	if err := t.possible(to); err != nil {
		return nil, err
	}
	var err error
	switch {
	case t.r.ACL != nil:
		t.root = t.r.ACL.Root
		err = t.fromACL(t.r.ACL)
	case t.r.MindSpore != nil:
		t.root = t.r.MindSpore.Root
		err = t.fromMindSpore(t.r.MindSpore)
	default:
		t.root = t.r.Engine.Root
		err = t.fromEngine(t.r.Engine)
	}
	if err != nil {
		return nil, err
	}
	if t.want.kind == dumpNothing {
		return nil, lang.Errorf("the file switches no dump on, there is nothing to translate")
	}
	switch to {
	case SchemaACL:
		return t.toACL(), nil
	case SchemaMindSpore:
		return t.toMindSpore()
	default:
		return t.toEngine()
	}
}

func (t *translation) possible(to Schema) error {
	from := t.r.Schema
	switch {
	case to != SchemaACL && to != SchemaMindSpore && to != SchemaGE:
		return lang.Errorf("no translation to %v, want acl, mindspore or ge", to)
	case t.r.ACL == nil && t.r.MindSpore == nil && t.r.Engine == nil:
		return lang.Errorf("a file of %v cannot be translated", from)
	case from == to:
		return lang.Errorf("the file is one of %v already", to)
	}
	if err := errorsOf(t.r); err != nil {
		return lang.Errorf("the file has errors, repair it first: %w", err)
	}
	return nil
}

// keep marks settings as having counterparts.
func (t *translation) keep(settings ...Setting) {
	for _, s := range settings {
		t.done[s.Path] = true
	}
}

// keepIf calls keep if is holds.
func (t *translation) keepIf(is bool, settings ...Setting) {
	if is {
		t.keep(settings...)
	}
}

// noteAs adds a note on the source keys equivalent to a key of acl.json.
func (t *translation) noteAs(as string, what NoteKind, key string, args ...any) {
	var visit func(o *Object)
	visit = func(o *Object) {
		for _, s := range o.settings {
			if s.key.as == as {
				t.note(s, what, key, args...)
			}
			for _, in := range s.Objects {
				visit(in)
			}
		}
	}
	visit(t.root)
}

// note adds a note on a key of the source, if present.
func (t *translation) note(s Setting, what NoteKind, key string, args ...any) {
	if s.Present() {
		t.keep(s)
		t.notes = append(t.notes, Note{Path: s.Path, What: what, Text: text(key, args...), offset: s.keySpan().start})
	}
}

// set adds a note on a value that the source lacks.
func (t *translation) set(path, key string, args ...any) {
	t.notes = append(t.notes, Note{Path: path, What: Defaulted, Text: text(key, args...), offset: -1})
}

// finish adds notes on all untreated keys and sorts the notes: source keys by position, then
// defaults.
func (t *translation) finish() []Note {
	t.rest(t.root)
	slices.SortStableFunc(t.notes, func(a, b Note) int {
		return cmp.Compare(uint(a.offset), uint(b.offset)) // -1 sorts last
	})
	cursor := t.r.Doc.Cursor()
	for i := range t.notes {
		if n := &t.notes[i]; n.offset >= 0 {
			n.Line, _ = cursor.Position(n.offset)
		}
	}
	return t.notes
}

// rest adds notes on the untreated keys of an object.
func (t *translation) rest(o *Object) {
	for i := range o.Node.Members {
		m := &o.Node.Members[i]
		k, path := o.table.find(m.Key), jsonpos.JoinPath(o.Path, m.Key)
		switch {
		case t.done[path], o.table.nulls && o.Node.Get(m.Key).Value.Kind == jsonpos.Null:
		case k == nil && o.table.open: // no dump setting
		case k != nil && (k.carried || k.Default != "" && o.at(k.Name).Value == k.Default):
		case k != nil && (k.Type == TypeObject || k.inside == &aclItem):
			for _, in := range o.at(k.Name).Objects {
				t.rest(in)
			}
		default:
			t.notes = append(t.notes, Note{Path: path, What: NoCounterpart, offset: m.KeyStart,
				Text: text("note.no-counterpart", lastOf(path))})
		}
	}
}

// verify compares the result, as its target version reads it, with the wanted dump. It fails if the
// result would dump nothing or something else, and notes every other key that the target version
// ignores.
func (t *translation) verify(result *Report) error {
	if err := errorsOf(result); err != nil {
		return lang.Errorf("the result would have errors: %w", err)
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

// tooOld returns the error for a target version that ignores an essential key.
func (t *translation) tooOld(s Setting, instead string) error {
	return lang.Errorf("%s is known since version %v only: version %v ignores it and would dump %s", s.key.Name, s.key.Since, t.opt.TargetVersion, instead)
}

func (t *translation) verifyACL(a *ACL) error {
	k, w := a.kinds(), &t.want
	switch {
	case w.kind == dumpOverflow && !k.overflow:
		return t.tooOld(a.at("dump_debug"), "nothing")
	case w.kind == dumpException && !k.exception:
		return t.tooOld(a.at("dump_scene"), "nothing")
	case w.stats && !a.stats():
		return t.tooOld(a.at("dump_data"), "whole tensors in place of statistics")
	default:
		return nil
	}
}

func (t *translation) verifyMindSpore(m *MindSpore) error {
	w := &t.want
	switch {
	case t.opt.backend() == "pynative":
		return lang.Errorf("MindSpore itself does not dump in dynamic graph mode: use msprobe")
	case t.opt.leftToMsprobe():
		return lang.Errorf("since version 2.6 MindSpore itself does not dump with backend %s: use msprobe, or name an older release as target version", t.opt.Backend)
	case w.kind == dumpOverflow && m.debugMode() == 0:
		return lang.Errorf("version %v looks for overflows in asynchronous dumps only, which need an NPU", t.opt.TargetVersion)
	case w.stats && !m.savesStatistics():
		return t.tooOld(m.at("saved_data"), "whole tensors in place of statistics")
	default:
		return nil
	}
}

package dumpconf

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"dumptool/internal/jsonpos"
)

// NoteKind says how a translation treats a key.
type NoteKind int

// The kinds of notes.
const (
	NoCounterpart NoteKind = iota // the key is lost
	Approximated                  // the result is not quite the same
	Defaulted                     // the result has a value that the source does not have
	Ignored                       // the target version ignores a key of the result
)

// Note is something to know about a translation.
type Note struct {
	Path string // of the key in the source, or in the result for what is defaulted or ignored
	Line int    // in the source, 0 for what is defaulted or ignored
	What NoteKind
	Text Text

	offset int
}

// Translate writes a configuration that was checked for another runtime. The
// options are for the result: its target version, and of MindSpore the backend
// and the devices. Every key of the source without counterpart that changes what
// is dumped has a note. It fails where the source has errors or switches no dump
// on, where the dump has no counterpart, and where the result would have errors
// or dump something else. As the source is often not for this host, it is better
// checked without Stat and Env.
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

// translation is the translating of one configuration.
type translation struct {
	r     *Report
	opt   *Options
	want  wanted
	done  map[string]bool // paths of the source that have a counterpart or a note
	notes []Note
}

// wanted is what a configuration asks for, in words that all runtimes share.
type wanted struct {
	kind   dumpKind
	path   string // empty when none is given
	models []string
	ops    []string // exact names; nil for all
	steps  []string // valid pieces; nil for all
	mode   string   // input, output or all
	stats  bool     // statistics in place of tensors
	// which are the statistics in the words of the ACL runtime; nil when the
	// source does not choose.
	which []string
	scene string // of exceptions, in the words of the ACL runtime
	net   string // name of the network
}

// dumpKind is a sort of dump.
type dumpKind int

const (
	dumpNothing dumpKind = iota
	dumpModels
	dumpOps // operators that are called one by one, and models
	dumpOverflow
	dumpException
)

func (t *translation) run(to Schema) (*jsonObject, error) {
	if err := t.possible(to); err != nil {
		return nil, err
	}
	var err error
	switch {
	case t.r.ACL != nil:
		err = t.fromACL(t.r.ACL)
	case t.r.MindSpore != nil:
		err = t.fromMindSpore(t.r.MindSpore)
	default:
		err = t.fromEngine(t.r.Engine)
	}
	if err != nil {
		return nil, err
	}
	if t.want.kind == dumpNothing {
		return nil, errors.New("the file switches no dump on, there is nothing to translate")
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
		return fmt.Errorf("no translation to %v, want acl, mindspore or ge", to)
	case t.r.ACL == nil && t.r.MindSpore == nil && t.r.Engine == nil:
		return fmt.Errorf("a file of %v cannot be translated", from)
	case from == to:
		return fmt.Errorf("the file is one of %v already", to)
	}
	if err := errorsOf(t.r); err != nil {
		return fmt.Errorf("the file has errors, repair it first: %w", err)
	}
	return nil
}

// keep notes that keys have counterparts.
func (t *translation) keep(settings ...anySetting) {
	for _, s := range settings {
		t.done[s.where()] = true
	}
}

// keepIf is keep, if something is so.
func (t *translation) keepIf(is bool, settings ...anySetting) {
	if is {
		t.keep(settings...)
	}
}

// note adds a note on a key of the source that is there.
func (t *translation) note(s anySetting, what NoteKind, key string, args ...any) {
	if s.Present() {
		t.done[s.where()] = true
		t.notes = append(t.notes, Note{Path: s.where(), What: what, Text: text(key, args...), offset: s.keySpan().start})
	}
}

// set notes that the result has a value that the source does not have.
func (t *translation) set(path, key string, args ...any) {
	t.notes = append(t.notes, Note{Path: path, What: Defaulted, Text: text(key, args...), offset: -1})
}

// finish adds notes on all keys that nothing was done about, and orders the
// notes: the keys of the source as they stand there, then what was defaulted.
func (t *translation) finish() []Note {
	t.rest(t.r.Doc.Root, "")
	slices.SortStableFunc(t.notes, func(a, b Note) int {
		return cmp.Compare(uint(a.offset), uint(b.offset)) // -1 is the last
	})
	cursor := t.r.Doc.Cursor()
	for i := range t.notes {
		if n := &t.notes[i]; n.offset >= 0 {
			n.Line, _ = cursor.Position(n.offset)
		}
	}
	return t.notes
}

// rest adds notes on the keys of a value that nothing was done about.
func (t *translation) rest(v *jsonpos.Value, path string) {
	if v == nil {
		return
	}
	for i, e := range v.Elems {
		t.rest(e, fmt.Sprintf("%s[%d]", path, i))
	}
	for i := range v.Members {
		m := &v.Members[i]
		p := jsonpos.JoinPath(path, m.Key)
		switch {
		case t.done[p] || path == "" && t.foreign(m.Key):
		case t.container(p):
			t.rest(m.Value, p)
		default:
			t.notes = append(t.notes, Note{Path: p, What: NoCounterpart, offset: m.KeyStart,
				Text: text("note.no-counterpart", lastOf(p))})
		}
	}
}

// foreign reports whether a key at the top level has nothing to do with dumps.
func (t *translation) foreign(key string) bool {
	tables := tables(t.r.Schema)
	return len(tables) > 0 && tables[0].open && tables[0].find(key) == nil
}

// container reports whether the keys inside an object or array count, and not
// itself.
func (t *translation) container(path string) bool {
	if t.r.ACL != nil {
		return path == "dump" || path == "dump.dump_list"
	}
	return t.r.MindSpore != nil && mindSporeRoot.find(path) != nil
}

type statistic struct{ acl, mindSpore string }

// aclStatistics are the statistics of the ACL runtime, and what MindSpore calls
// them.
var aclStatistics = []statistic{
	{"Max", "max"}, {"Min", "min"}, {"Avg", "avg"}, {"Nan", "nan count"},
	{"Negative Inf", "negative inf count"}, {"Positive Inf", "positive inf count"}, {"L2norm", "l2norm"},
}

package pickle

import "unicode/utf8"

// Name is a class or function named in a pickle; it is never executed. Only values of a Dialect may
// contain names.
type Name struct {
	Module, Attr string

	off     int64
	opcode  string
	isValue bool // may be part of the value
}

// String returns the full name, such as collections.OrderedDict.
func (n *Name) String() string { return n.Module + "." + n.Attr }

func (n *Name) refusal() error {
	return &RefusedError{Off: n.off, Opcode: n.opcode, Name: n.String()}
}

// maker pushes the result of calling a name with args. It returns false if plain data cannot have
// such arguments.
type maker func(m *machine, args []any) bool

// globals maps the names that plain data needs to functions that make the result of calling them;
// nil for names that only occur as arguments. Python 2 calls the module builtins __builtin__.
var globals = map[string]maker{
	"builtins.bool": nil, "builtins.dict": nil, "builtins.float": nil, "builtins.int": nil,
	"builtins.list": nil, "builtins.str": nil, "builtins.tuple": nil,

	"builtins.set":            makeSet(Set),
	"builtins.frozenset":      makeSet(FrozenSet),
	"builtins.bytes":          makeBytes,
	"builtins.bytearray":      makeBytes,
	"_codecs.encode":          encodeLatin1,
	"collections.OrderedDict": makeOrderedDict,
	"collections.defaultdict": makeDefaultDict,
}

// findMaker returns the function of a known name, nil if the name cannot be called.
func (m *machine) findMaker(n *Name) (call maker, known bool) {
	module := n.Module
	if module == "__builtin__" {
		module = "builtins"
	}
	name := module + "." + n.Attr
	if call, known = globals[name]; known || m.dialect.Lookup == nil {
		return call, known
	}
	make, known := m.dialect.Lookup(name)
	if make == nil {
		return nil, known
	}
	return func(m *machine, args []any) bool {
		m.pushObject(make(args))
		return true
	}, known
}

// pushName pushes a known name and refuses others.
func (m *machine) pushName(opcode, module, attr string) {
	n := &Name{Module: module, Attr: attr, off: int64(m.start), opcode: opcode, isValue: m.dialect.Lookup != nil}
	if _, known := m.findMaker(n); !known {
		m.failWith(&RefusedError{Name: shorten(n.String())})
		return
	}
	m.chargeMemory(dictMemory)
	m.push(n)
}

// pushObject pushes an object made by a Dialect.
func (m *machine) pushObject(v any, err error) {
	if err != nil {
		m.failWith(err)
		return
	}
	m.chargeMemory(objectMemory)
	m.push(v)
}

// pushCall pushes the result of calling n, and refuses names that cannot be called.
func (m *machine) pushCall(n *Name, args []any) {
	call, _ := m.findMaker(n)
	if call == nil {
		m.failWith(n.refusal())
		return
	}
	if !call(m, args) {
		m.fail("found %s with other arguments than plain data has", n)
	}
}

func makeSet(k Kind) maker {
	return func(m *machine, args []any) bool {
		if len(args) == 0 {
			m.pushSequence(k, nil)
			return true
		}
		items, ok := args[0].(*Sequence)
		if len(args) != 1 || !ok {
			return false
		}
		m.pushSequence(k, items.Items)
		return true
	}
}

// makeBytes makes bytes or a bytearray from nothing, from bytes, or from a latin-1 text, depending
// on the protocol.
func makeBytes(m *machine, args []any) bool {
	switch len(args) {
	case 0:
		m.push([]byte{})
		return true
	case 1:
		b, ok := args[0].([]byte)
		m.push(b)
		return ok
	}
	return encodeLatin1(m, args)
}

// encodeLatin1 makes bytes from a latin-1 text.
func encodeLatin1(m *machine, args []any) bool {
	if len(args) != 2 || args[1] != "latin1" && args[1] != "latin-1" {
		return false
	}
	text, ok := args[0].(string)
	n := utf8.RuneCountInString(text)
	if m.chargeMemory(n); !ok || m.err != nil {
		return ok
	}
	b := make([]byte, 0, n)
	for _, r := range text {
		if r > 0xff {
			m.fail("found bytes with a character beyond latin-1")
		}
		b = append(b, byte(r))
	}
	m.push(b)
	return true
}

// makeOrderedDict makes a dict: Python 3 fills it later, Python 2 passes a list of pairs.
func makeOrderedDict(m *machine, args []any) bool {
	var flat []any
	if len(args) > 0 {
		pairs, ok := args[0].(*Sequence)
		if len(args) != 1 || !ok {
			return false
		}
		m.chargeMemory(2 * valueMemory * len(pairs.Items))
		for _, p := range pairs.Items {
			pair, ok := p.(*Sequence)
			if !ok || len(pair.Items) != 2 || m.err != nil {
				return false
			}
			flat = append(flat, pair.Items...)
		}
	}
	m.pushDict(flat)
	return true
}

// makeDefaultDict makes an empty dict. Its argument, the factory of missing values, is ignored.
func makeDefaultDict(m *machine, args []any) bool {
	if len(args) > 1 {
		return false
	}
	if len(args) == 1 && args[0] != nil {
		if _, ok := args[0].(*Name); !ok {
			return false
		}
	}
	m.pushDict(nil)
	return true
}

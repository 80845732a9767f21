package pickle

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// opcode is an instruction of a pickle.
type opcode struct {
	name string
	run  func(*machine) error
}

// opcodes are the instructions by their byte.
var opcodes = map[byte]opcode{
	'(': {"MARK", func(m *machine) error { m.marks = append(m.marks, len(m.stack)); return nil }},
	'.': {"STOP", func(*machine) error { return errStop }},
	'0': {"POP", popOne},
	'1': {"POP_MARK", func(m *machine) error { _, err := m.popMark(); return err }},
	'2': {"DUP", func(m *machine) error { return m.pushed(m.top()) }},

	'N':  {"NONE", constant(nil)},
	0x88: {"NEWTRUE", constant(true)},
	0x89: {"NEWFALSE", constant(false)},
	'I':  {"INT", text(parseInt)},
	'L':  {"LONG", text(parseLong)},
	'J':  {"BININT", func(m *machine) error { v, err := m.uint(4); return m.pushed(int64(int32(v)), err) }},
	'K':  {"BININT1", func(m *machine) error { v, err := m.uint(1); return m.pushed(int64(v), err) }},
	'M':  {"BININT2", func(m *machine) error { v, err := m.uint(2); return m.pushed(int64(v), err) }},
	0x8a: {"LONG1", sized(1, decodeLong)},
	0x8b: {"LONG4", sized(4, decodeLong)},
	'F':  {"FLOAT", text(parseFloat)},
	'G':  {"BINFLOAT", binFloat},

	'S':  {"STRING", text(parseString)},
	'T':  {"BINSTRING", sized(4, asText)},
	'U':  {"SHORT_BINSTRING", sized(1, asText)},
	'V':  {"UNICODE", text(parseUnicode)},
	'X':  {"BINUNICODE", sized(4, asUTF8)},
	0x8c: {"SHORT_BINUNICODE", sized(1, asUTF8)},
	0x8d: {"BINUNICODE8", sized(8, asUTF8)},
	'B':  {"BINBYTES", sized(4, asBytes)},
	'C':  {"SHORT_BINBYTES", sized(1, asBytes)},
	0x8e: {"BINBYTES8", sized(8, asBytes)},
	0x96: {"BYTEARRAY8", sized(8, asBytes)},

	']':  {"EMPTY_LIST", func(m *machine) error { m.push(&Sequence{Kind: List}); return nil }},
	'l':  {"LIST", fromMark(List)},
	'a':  {"APPEND", appendOne},
	'e':  {"APPENDS", appendMany},
	')':  {"EMPTY_TUPLE", func(m *machine) error { m.push(&Sequence{Kind: Tuple}); return nil }},
	't':  {"TUPLE", fromMark(Tuple)},
	0x85: {"TUPLE1", tuple(1)},
	0x86: {"TUPLE2", tuple(2)},
	0x87: {"TUPLE3", tuple(3)},
	'}':  {"EMPTY_DICT", func(m *machine) error { m.push(new(Dict)); return nil }},
	'd':  {"DICT", dictFromMark},
	's':  {"SETITEM", setOne},
	'u':  {"SETITEMS", setMany},
	0x8f: {"EMPTY_SET", func(m *machine) error { m.push(&Sequence{Kind: Set}); return nil }},
	0x90: {"ADDITEMS", addMany},
	0x91: {"FROZENSET", fromMark(FrozenSet)},

	'p':  {"PUT", putText},
	'q':  {"BINPUT", put(1)},
	'r':  {"LONG_BINPUT", put(4)},
	0x94: {"MEMOIZE", func(m *machine) error { return m.memoize(uint64(len(m.memo))) }},
	'g':  {"GET", getText},
	'h':  {"BINGET", get(1)},
	'j':  {"LONG_BINGET", get(4)},

	0x80: {"PROTO", protocol},
	0x95: {"FRAME", frame},

	'c':  {"GLOBAL", globalText},
	0x93: {"STACK_GLOBAL", globalStack},
	'R':  {"REDUCE", reduce},
	'i':  {"INST", refuseInst},
	'b':  {"BUILD", refuse},
	'o':  {"OBJ", refuse},
	'P':  {"PERSID", refuse},
	'Q':  {"BINPERSID", refuse},
	0x81: {"NEWOBJ", refuse},
	0x92: {"NEWOBJ_EX", refuse},
	0x82: {"EXT1", refuse},
	0x83: {"EXT2", refuse},
	0x84: {"EXT4", refuse},
	0x97: {"NEXT_BUFFER", refuse},
	0x98: {"READONLY_BUFFER", refuse},
}

// pushed pushes v unless there is an error.
func (m *machine) pushed(v any, err error) error {
	if err == nil {
		m.push(v)
	}
	return err
}

func constant(v any) func(*machine) error {
	return func(m *machine) error { m.push(v); return nil }
}

// text pushes what parse makes of the rest of the line.
func text(parse func(string) (any, error)) func(*machine) error {
	return func(m *machine) error {
		s, err := m.line()
		if err != nil {
			return err
		}
		return m.pushed(parse(s))
	}
}

// sized pushes what decode makes of the bytes after their count of n bytes.
func sized(n int, decode func([]byte) (any, error)) func(*machine) error {
	return func(m *machine) error {
		b, err := m.counted(n)
		if err != nil {
			return err
		}
		return m.pushed(decode(b))
	}
}

// popOne removes the top value, or a mark that is on top.
func popOne(m *machine) error {
	if n := len(m.marks); n > 0 && m.marks[n-1] == len(m.stack) {
		m.marks = m.marks[:n-1]
		return nil
	}
	_, err := m.pop()
	return err
}

func fromMark(k Kind) func(*machine) error {
	return func(m *machine) error {
		values, err := m.popMark()
		if err != nil {
			return err
		}
		s := &Sequence{Kind: k}
		if k == FrozenSet {
			for _, v := range values {
				if err := s.add(v); err != nil {
					return err
				}
			}
		} else {
			s.Items = slices.Clone(values)
		}
		m.push(s)
		return nil
	}
}

func tuple(n int) func(*machine) error {
	return func(m *machine) error {
		if len(m.stack)-m.floor() < n {
			return fmt.Errorf("wants %d values, the stack has %d", n, len(m.stack)-m.floor())
		}
		first := len(m.stack) - n
		s := &Sequence{Kind: Tuple, Items: slices.Clone(m.stack[first:])}
		m.stack = append(m.stack[:first], s)
		return nil
	}
}

// target returns the sequence of kind k on top of the stack.
func (m *machine) target(k Kind) (*Sequence, error) {
	v, err := m.top()
	if err != nil {
		return nil, err
	}
	if s, ok := v.(*Sequence); ok && s.Kind == k {
		return s, nil
	}
	return nil, fmt.Errorf("fills a %s, want a %s", typeName(v), k)
}

func appendOne(m *machine) error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	s, err := m.target(List)
	if err == nil {
		s.Items = append(s.Items, v)
	}
	return err
}

func appendMany(m *machine) error {
	values, err := m.popMark()
	if err != nil {
		return err
	}
	s, err := m.target(List)
	if err == nil {
		s.Items = append(s.Items, values...)
	}
	return err
}

func addMany(m *machine) error {
	values, err := m.popMark()
	if err != nil {
		return err
	}
	s, err := m.target(Set)
	for i := 0; err == nil && i < len(values); i++ {
		err = s.add(values[i])
	}
	return err
}

func dictFromMark(m *machine) error {
	values, err := m.popMark()
	if err != nil {
		return err
	}
	d := new(Dict)
	if err = d.fill(values); err == nil {
		m.push(d)
	}
	return err
}

// fill sets the keys and values that take turns in list.
func (d *Dict) fill(list []any) error {
	if len(list)%2 != 0 {
		return errors.New("a key without a value")
	}
	for i := 0; i < len(list); i += 2 {
		if err := d.set(list[i], list[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) targetDict() (*Dict, error) {
	v, err := m.top()
	if err != nil {
		return nil, err
	}
	if d, ok := v.(*Dict); ok {
		return d, nil
	}
	return nil, fmt.Errorf("fills a %s, want a dict", typeName(v))
}

func setOne(m *machine) error {
	value, err := m.pop()
	if err != nil {
		return err
	}
	key, err := m.pop()
	if err != nil {
		return err
	}
	d, err := m.targetDict()
	if err != nil {
		return err
	}
	return d.set(key, value)
}

func setMany(m *machine) error {
	values, err := m.popMark()
	if err != nil {
		return err
	}
	d, err := m.targetDict()
	if err != nil {
		return err
	}
	return d.fill(values)
}

func (m *machine) memoize(i uint64) error {
	v, err := m.top()
	if err == nil {
		m.memo[i] = v
	}
	return err
}

func (m *machine) recall(i uint64) error {
	v, ok := m.memo[i]
	if !ok {
		return fmt.Errorf("memo entry %d was never written", i)
	}
	m.push(v)
	return nil
}

func put(n int) func(*machine) error {
	return func(m *machine) error {
		i, err := m.uint(n)
		if err != nil {
			return err
		}
		return m.memoize(i)
	}
}

func get(n int) func(*machine) error {
	return func(m *machine) error {
		i, err := m.uint(n)
		if err != nil {
			return err
		}
		return m.recall(i)
	}
}

func putText(m *machine) error {
	i, err := m.memoText()
	if err != nil {
		return err
	}
	return m.memoize(i)
}

func getText(m *machine) error {
	i, err := m.memoText()
	if err != nil {
		return err
	}
	return m.recall(i)
}

func (m *machine) memoText() (uint64, error) {
	s, err := m.line()
	if err != nil {
		return 0, err
	}
	i, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("memo entry %q, want a number", shorten(s))
	}
	return i, nil
}

// newest is the newest protocol.
const newest = 5

func protocol(m *machine) error {
	v, err := m.uint(1)
	if err == nil && v > newest {
		err = fmt.Errorf("protocol %d, want %d at most", v, newest)
	}
	return err
}

// frame checks the length of a frame; its border has no further meaning.
func frame(m *machine) error {
	n, err := m.uint(8)
	if left := len(m.data) - m.pos; err == nil && n > uint64(left) {
		err = fmt.Errorf("a frame of %d bytes, the file has %d more", n, left)
	}
	return err
}

func globalText(m *machine) error {
	module, err := m.line()
	if err != nil {
		return err
	}
	attr, err := m.line()
	if err != nil {
		return err
	}
	return m.name("GLOBAL", module, attr)
}

func globalStack(m *machine) error {
	attr, err := m.pop()
	if err != nil {
		return err
	}
	module, err := m.pop()
	if err != nil {
		return err
	}
	a, ok := attr.(string)
	mod, ok2 := module.(string)
	if !ok || !ok2 {
		return &RefusedError{}
	}
	return m.name("STACK_GLOBAL", mod, a)
}

// name pushes a name that this package knows and refuses others.
func (m *machine) name(opcode, module, attr string) error {
	g := &global{module: module, attr: attr, off: int64(m.start), opcode: opcode}
	if g.known() == unknown {
		return &RefusedError{Name: shorten(g.name())}
	}
	m.push(g)
	return nil
}

func reduce(m *machine) error {
	args, err := m.pop()
	if err != nil {
		return err
	}
	callable, err := m.pop()
	if err != nil {
		return err
	}
	g, ok := callable.(*global)
	list, ok2 := args.(*Sequence)
	if !ok || !ok2 || list.Kind != Tuple {
		return fmt.Errorf("calls a %s with a %s, want a name and a tuple", typeName(callable), typeName(args))
	}
	return m.pushed(g.make(list.Items))
}

func refuse(*machine) error { return &RefusedError{} }

func refuseInst(m *machine) error {
	b := m.data[m.pos:]
	lines := bytes.SplitN(b[:min(len(b), 2*maxShown)], []byte("\n"), 3)
	if len(lines) < 3 {
		return &RefusedError{}
	}
	return &RefusedError{Name: shorten(string(lines[0]) + "." + string(lines[1]))}
}

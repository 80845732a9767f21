package pickle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// opcode is an instruction of a pickle.
type opcode struct {
	name string
	run  func(*machine)
}

// opcodes maps bytes to instructions.
var opcodes = [256]opcode{
	'(': {"MARK", (*machine).pushMark},
	'.': {"STOP", func(m *machine) { m.isStopped = true }},
	'0': {"POP", popOne},
	'1': {"POP_MARK", func(m *machine) { m.popMark() }},
	'2': {"DUP", func(m *machine) { m.push(m.top()) }},

	'N':  {"NONE", func(m *machine) { m.push(nil) }},
	0x88: {"NEWTRUE", func(m *machine) { m.push(true) }},
	0x89: {"NEWFALSE", func(m *machine) { m.push(false) }},
	'I':  {"INT", restOfLine(parseInt)},
	'L':  {"LONG", restOfLine(parseLong)},
	'J':  {"BININT", func(m *machine) { m.push(int64(int32(m.nextUint(4)))) }},
	'K':  {"BININT1", func(m *machine) { m.push(int64(m.nextUint(1))) }},
	'M':  {"BININT2", func(m *machine) { m.push(int64(m.nextUint(2))) }},
	0x8a: {"LONG1", countedBytes(1, decodeLong)},
	0x8b: {"LONG4", countedBytes(4, decodeLong)},
	'F':  {"FLOAT", restOfLine(parseFloat)},
	'G':  {"BINFLOAT", func(m *machine) { m.push(decodeFloat(m.nextBytes(8))) }},

	'S':  {"STRING", restOfLine(parseString)},
	'T':  {"BINSTRING", countedBytes(4, textOf)},
	'U':  {"SHORT_BINSTRING", countedBytes(1, textOf)},
	'V':  {"UNICODE", restOfLine(parseUnicode)},
	'X':  {"BINUNICODE", countedBytes(4, asUTF8)},
	0x8c: {"SHORT_BINUNICODE", countedBytes(1, asUTF8)},
	0x8d: {"BINUNICODE8", countedBytes(8, asUTF8)},
	'B':  {"BINBYTES", countedBytes(4, asBytes)},
	'C':  {"SHORT_BINBYTES", countedBytes(1, asBytes)},
	0x8e: {"BINBYTES8", countedBytes(8, asBytes)},
	0x96: {"BYTEARRAY8", countedBytes(8, asBytes)},

	']':  {"EMPTY_LIST", func(m *machine) { m.pushSequence(List, nil) }},
	'l':  {"LIST", func(m *machine) { m.pushSequence(List, m.popMark()) }},
	'a':  {"APPEND", func(m *machine) { v := m.pop(); m.addToTop(List, v) }},
	'e':  {"APPENDS", func(m *machine) { values := m.popMark(); m.addToTop(List, values...) }},
	')':  {"EMPTY_TUPLE", func(m *machine) { m.pushSequence(Tuple, nil) }},
	't':  {"TUPLE", func(m *machine) { m.pushSequence(Tuple, m.popMark()) }},
	0x85: {"TUPLE1", makeTuple(1)},
	0x86: {"TUPLE2", makeTuple(2)},
	0x87: {"TUPLE3", makeTuple(3)},
	'}':  {"EMPTY_DICT", func(m *machine) { m.pushDict(nil) }},
	'd':  {"DICT", func(m *machine) { m.pushDict(m.popMark()) }},
	's':  {"SETITEM", func(m *machine) { value, key := m.pop(), m.pop(); m.setItems(m.addToTopDict(), []any{key, value}) }},
	'u':  {"SETITEMS", func(m *machine) { values := m.popMark(); m.setItems(m.addToTopDict(), values) }},
	0x8f: {"EMPTY_SET", func(m *machine) { m.pushSequence(Set, nil) }},
	0x90: {"ADDITEMS", func(m *machine) { values := m.popMark(); m.addToTop(Set, values...) }},
	0x91: {"FROZENSET", func(m *machine) { m.pushSequence(FrozenSet, m.popMark()) }},

	'p':  {"PUT", func(m *machine) { m.memoize(m.memoText()) }},
	'q':  {"BINPUT", func(m *machine) { m.memoize(m.nextUint(1)) }},
	'r':  {"LONG_BINPUT", func(m *machine) { m.memoize(m.nextUint(4)) }},
	0x94: {"MEMOIZE", func(m *machine) { m.memoize(uint64(len(m.memo))) }},
	'g':  {"GET", func(m *machine) { m.pushMemo(m.memoText()) }},
	'h':  {"BINGET", func(m *machine) { m.pushMemo(m.nextUint(1)) }},
	'j':  {"LONG_BINGET", func(m *machine) { m.pushMemo(m.nextUint(4)) }},

	0x80: {"PROTO", checkProtocol},
	0x95: {"FRAME", checkFrame},

	'c':  {"GLOBAL", func(m *machine) { module, attr := m.nextLine(), m.nextLine(); m.pushName("GLOBAL", module, attr) }},
	0x93: {"STACK_GLOBAL", pushStackGlobal},
	'R':  {"REDUCE", callName},
	'i':  {"INST", refuseInst},
	'b':  {"BUILD", dropState},
	'o':  {"OBJ", refusedError},
	'P':  {"PERSID", refusedError},
	'Q':  {"BINPERSID", pushPersistent},
	0x81: {"NEWOBJ", newObject},
	0x92: {"NEWOBJ_EX", refusedError},
	0x82: {"EXT1", refusedError},
	0x83: {"EXT2", refusedError},
	0x84: {"EXT4", refusedError},
	0x97: {"NEXT_BUFFER", refusedError},
	0x98: {"READONLY_BUFFER", refusedError},
}

// restOfLine pushes parse's result for the rest of the line.
func restOfLine(parse func(string) (any, error)) func(*machine) {
	return func(m *machine) {
		s := m.nextLine()
		if m.chargeMemory(len(s)); m.err == nil {
			m.pushDecoded(parse(s))
		}
	}
}

// countedBytes pushes decode's result for counted bytes; the count has n bytes.
func countedBytes(n int, decode func([]byte) (any, error)) func(*machine) {
	return func(m *machine) {
		b := m.nextBytes(m.nextUint(n))
		if m.chargeMemory(len(b)); m.err == nil {
			m.pushDecoded(decode(b))
		}
	}
}

func (m *machine) pushDecoded(v any, err error) {
	if err != nil {
		m.failWith(err)
		return
	}
	m.push(v)
}

// popOne removes the top value, or a mark on top.
func popOne(m *machine) {
	if n := len(m.marks); n > 0 && m.marks[n-1] == len(m.stack) {
		m.marks = m.marks[:n-1]
		return
	}
	m.pop()
}

func makeTuple(n int) func(*machine) {
	return func(m *machine) {
		values := m.aboveMark()
		if len(values) < n {
			m.fail("found %d values on the stack, wanted %d", len(values), n)
			return
		}
		m.stack = m.stack[:len(m.stack)-n]
		m.pushSequence(Tuple, values[len(values)-n:])
	}
}

// pushSequence pushes a sequence with a copy of values.
func (m *machine) pushSequence(k Kind, values []any) {
	if m.err == nil {
		m.chargeMemory(seqMemory)
		s := &Sequence{Kind: k}
		m.add(s, values)
		m.push(s)
	}
}

// add adds values to a sequence; a set holds each value once.
func (m *machine) add(s *Sequence, values []any) {
	if s.Items = growList(m, s.Items, len(values), valueMemory); m.err != nil {
		return
	}
	if s.Kind == List || s.Kind == Tuple {
		s.Items = append(s.Items, values...)
		return
	}
	for _, v := range values {
		if _, found := s.positions.positionOf(m, v, len(s.Items)); !found && m.err == nil {
			s.Items = append(s.Items, v)
		}
	}
}

// addToTop adds values to the sequence of kind k on top of the stack.
func (m *machine) addToTop(k Kind, values ...any) {
	v := m.top()
	if s, ok := v.(*Sequence); ok && s.Kind == k {
		m.add(s, values)
		return
	}
	m.fail("found values to be added to a %s, wanted a %s", TypeName(v), k)
}

func (m *machine) pushDict(values []any) {
	if m.err == nil {
		m.chargeMemory(dictMemory)
		d := new(Dict)
		m.setItems(d, values)
		m.push(d)
	}
}

// setItems sets alternating keys and values of list. A repeated key replaces the value, as in Python.
func (m *machine) setItems(d *Dict, list []any) {
	if len(list)%2 != 0 {
		m.fail("found a key without a value")
	}
	for i := 0; i+1 < len(list) && m.err == nil; i += 2 {
		at, found := d.positions.positionOf(m, list[i], len(d.Items))
		switch {
		case m.err != nil:
		case found:
			d.Items[at].Value = list[i+1]
		default:
			if d.Items = growList(m, d.Items, 1, itemMemory); m.err == nil {
				d.Items = append(d.Items, Item{list[i], list[i+1]})
			}
		}
	}
}

func (m *machine) addToTopDict() *Dict {
	v := m.top()
	d, ok := v.(*Dict)
	if !ok {
		m.fail("found items to be added to a %s, wanted a dict", TypeName(v))
		return new(Dict)
	}
	return d
}

func (m *machine) memoize(i uint64) {
	v := m.top()
	m.chargeMemory(keyMemory)
	if m.err == nil {
		m.memo[i] = v
	}
}

func (m *machine) pushMemo(i uint64) {
	v, ok := m.memo[i]
	if !ok {
		m.fail("found no memo entry %d", i)
	}
	m.push(v)
}

func (m *machine) memoText() uint64 {
	s := m.nextLine()
	i, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		m.fail("found memo entry %q, wanted a number", shorten(s))
	}
	return i
}

// newestProtocol is the newest protocol.
const newestProtocol = 5

func checkProtocol(m *machine) {
	if v := m.nextUint(1); v > newestProtocol {
		m.fail("found protocol %d, wanted %d at most", v, newestProtocol)
	}
}

// checkFrame checks the length of a frame; frames have no other meaning here.
func checkFrame(m *machine) {
	n := m.nextUint(8)
	if left := len(m.data) - m.pos; n > uint64(left) {
		m.setTruncated("found %d bytes more in the file, wanted a frame of %d", left, n)
	}
}

func pushStackGlobal(m *machine) {
	attr, module := m.pop(), m.pop()
	a, ok := attr.(string)
	mod, ok2 := module.(string)
	if !ok || !ok2 {
		refusedError(m)
		return
	}
	m.pushName("STACK_GLOBAL", mod, a)
}

// callName calls a name.
func callName(m *machine) {
	args, callable := m.pop(), m.pop()
	n, ok := callable.(*Name)
	list, ok2 := args.(*Sequence)
	if !ok || !ok2 || list.Kind != Tuple {
		m.fail("found a call of a %s with arguments in a %s, wanted a name and a tuple", TypeName(callable), TypeName(args))
		return
	}
	m.pushCall(n, list.Items)
}

// newObject makes an object of a class, as callName does.
func newObject(m *machine) {
	if !m.dialect.Objects {
		refusedError(m)
		return
	}
	callName(m)
}

// dropState drops the state of an object.
func dropState(m *machine) {
	if m.dialect.Stateful == nil {
		refusedError(m)
		return
	}
	if m.pop(); m.err == nil && !m.dialect.Stateful(m.top()) {
		refusedError(m)
	}
}

// pushPersistent pushes the object of a persistent id.
func pushPersistent(m *machine) {
	if m.dialect.Persistent == nil {
		refusedError(m)
		return
	}
	if id := m.pop(); m.err == nil {
		m.pushObject(m.dialect.Persistent(id))
	}
}

func refusedError(m *machine) { m.failWith(&RefusedError{}) }

func refuseInst(m *machine) {
	b := m.data[m.pos:]
	lines := bytes.SplitN(b[:min(len(b), 2*maxShown)], []byte("\n"), 3)
	if len(lines) < 3 {
		refusedError(m)
		return
	}
	m.failWith(&RefusedError{Name: shorten(fmt.Sprintf("%s.%s", lines[0], lines[1]))})
}

// maxLong is the largest number of bytes of an integer, maxDigits the largest number of its digits,
// and maxShown the number of bytes of a text in a message.
const (
	maxLong   = 512
	maxDigits = 1200
	maxShown  = 100
)

// shorten cuts s to maxShown bytes for a message.
func shorten(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "..."
	}
	return s
}

// parseInt parses a decimal integer; 00 and 01 are the booleans of protocol 0.
func parseInt(s string) (any, error) {
	if s == "00" || s == "01" {
		return s == "01", nil
	}
	return parseLong(s)
}

func parseLong(s string) (any, error) {
	s = strings.TrimSuffix(s, "L")
	v, ok := new(big.Int), false
	if len(s) <= maxDigits && strings.Trim(s, "0123456789+-") == "" {
		v, ok = v.SetString(s, 10)
	}
	if !ok {
		return nil, lang.Errorf("found %q, wanted a decimal integer of %d digits at most", shorten(s), maxDigits)
	}
	return smallestInt(v), nil
}

// smallestInt returns v as an int64 if it fits.
func smallestInt(v *big.Int) any {
	if v.IsInt64() {
		return v.Int64()
	}
	return v
}

// decodeLong decodes a little-endian two's complement integer.
func decodeLong(b []byte) (any, error) {
	if len(b) > maxLong {
		return nil, lang.Errorf("found an integer of %d bytes, wanted %d at most", len(b), maxLong)
	}
	bigEndian := slices.Clone(b)
	slices.Reverse(bigEndian)
	v := new(big.Int).SetBytes(bigEndian)
	if len(b) > 0 && b[len(b)-1] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return smallestInt(v), nil
}

func parseFloat(s string) (any, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, lang.Errorf("found %q, wanted a float", shorten(s))
	}
	return v, nil
}

// decodeFloat decodes a big-endian float64, 0 if there are not enough bytes.
func decodeFloat(b []byte) float64 {
	if len(b) < 8 {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

func textOf(b []byte) (any, error)  { return string(b), nil }
func asBytes(b []byte) (any, error) { return slices.Clone(b), nil }

func asUTF8(b []byte) (any, error) {
	if !utf8.Valid(b) {
		return nil, lang.Errorf("found a str that is not UTF-8")
	}
	return string(b), nil
}

// parseString parses the repr of a Python 2 str, which is bytes.
func parseString(s string) (any, error) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '\'' && s[0] != '"' {
		return nil, lang.Errorf("found %q, wanted a text in quotes", shorten(s))
	}
	s = s[1 : len(s)-1]
	var b strings.Builder
	for len(s) > 0 {
		switch {
		case s[0] != '\\':
			b.WriteByte(s[0])
			s = s[1:]
		case len(s) > 1 && (s[1] == '\'' || s[1] == '"'):
			b.WriteByte(s[1])
			s = s[2:]
		default:
			r, multibyte, rest, err := strconv.UnquoteChar(s, 0)
			if err != nil || multibyte {
				return nil, lang.Errorf("found the escape %q, wanted an escape of Python's repr", shorten(s))
			}
			b.WriteByte(byte(r))
			s = rest
		}
	}
	return b.String(), nil
}

// parseUnicode parses the raw-unicode-escape text of protocol 0: latin-1 with \uXXXX and \UXXXXXXXX
// for other characters; any other backslash is literal.
func parseUnicode(s string) (any, error) {
	var b strings.Builder
	for len(s) > 0 {
		if len(s) > 1 && s[0] == '\\' && (s[1] == 'u' || s[1] == 'U') {
			r, _, rest, err := strconv.UnquoteChar(s, 0)
			if err != nil {
				return nil, lang.Errorf("found the escape %q, wanted the number of a character", shorten(s))
			}
			b.WriteRune(r)
			s = rest
			continue
		}
		b.WriteRune(rune(s[0]))
		s = s[1:]
	}
	return b.String(), nil
}

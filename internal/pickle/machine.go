// Package pickle reads the plain data in Python pickles, protocols 0 to 5: None,
// bool, int, float, str, bytes, list, tuple, set, frozenset and dict, and
// OrderedDict and defaultdict as dicts.
//
// A pickle is a program that may call anything. This reader executes nothing: the
// few names that plain data needs are in the table globals, with what a call of
// them makes; every other name, class or call is refused. What it allocates is
// bounded by a multiple of the file's size.
//
// Kinds of pickles with more than that, such as those of PyTorch, have a Dialect:
// functions of the caller make their objects, by the same rules.
//
// A file that makes it here: machine.go runs the opcodes of opcodes.go, which are
// those of Python's module pickletools and decode numbers and texts, value.go has the
// containers, and global.go the calls.
package pickle

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"dumptool/internal/lang"
)

// Read reads the pickle that in holds, of maxSize bytes at most, and returns how
// many bytes it has. The value is nil, bool, int64, *big.Int for larger integers,
// float64, string, []byte (also for a bytearray), *Sequence or *Dict. Parts of it
// may be shared; it never contains itself.
//
// The error is a *RefusedError for a pickle that wants to do more than build
// such a value, and a *FormatError for a broken one.
func Read(in io.Reader, maxSize int64) (v any, size int, err error) {
	data, err := io.ReadAll(io.LimitReader(in, maxSize+1))
	if err != nil {
		return nil, 0, lang.Errorf("pickle: %w", err)
	}
	if int64(len(data)) > maxSize {
		return nil, 0, &FormatError{Off: maxSize, Problem: lang.Say("the file is larger than %d MiB", maxSize>>20)}
	}
	m := new(Dialect).machine(data)
	m.strict = true
	return m.run()
}

// Parse reads the pickle that data begins with, and returns how many bytes it has. The
// value may also hold what the functions of the dialect make, and each *Name that was
// not called. As in Python, and other than in Read, values may be left over. The error
// wraps io.ErrUnexpectedEOF if the pickle does not end in data.
func (d *Dialect) Parse(data []byte) (v any, size int, err error) {
	return d.machine(data).run()
}

func (d *Dialect) machine(data []byte) *machine {
	m := &machine{dialect: d, data: data, memo: make(map[uint64]any)}
	m.memory = min(memoryFactor*int64(len(data))+freeMemory, maxMemory)
	if d.MaxMemory > 0 {
		m.memory = min(m.memory, d.MaxMemory)
	}
	return m
}

// A pickle may take this many bytes of memory for each of its own, besides those
// that are free for all, and no more than maxMemory.
const (
	memoryFactor = 64
	freeMemory   = 1 << 20
	maxMemory    = 1 << 30
)

// What values are taken to need, in bytes, with what leads to them.
const (
	valueMemory = 16
	itemMemory  = 32
	seqMemory   = 96
	dictMemory  = 96
	keyMemory   = 64
	// An object is made for no fewer bytes of a pickle than a call takes.
	objectMemory = 256
)

// machine is the stack machine of pickles. The first error ends the program;
// until then the methods go on with zero values.
type machine struct {
	dialect *Dialect
	data    []byte
	// strict is set if nothing may be left over, values on the stack or bytes.
	strict bool
	// opcode is the instruction that runs; start is where it begins, pos where the
	// next byte is read.
	opcode     string
	start, pos int
	stack      []any
	// marks are the heights of the stack at the open marks.
	marks []int
	memo  map[uint64]any
	// memory is how many bytes may still be allocated.
	memory  int64
	stopped bool
	err     error
}

// run executes the program and returns its value and how many bytes it has.
func (m *machine) run() (v any, size int, err error) {
	for !m.stopped && m.err == nil {
		m.step()
	}
	if v = m.result(); m.err != nil {
		return nil, 0, m.located()
	}
	return v, m.pos, nil
}

// step executes the next instruction.
func (m *machine) step() {
	m.start, m.opcode = m.pos, ""
	if m.start == len(m.data) {
		m.cut("found no STOP opcode")
		return
	}
	code := m.data[m.start]
	m.pos++
	op := &opcodes[code]
	if op.run == nil {
		m.opcode = fmt.Sprintf("0x%02x", code)
		m.fail("no such opcode")
		return
	}
	m.opcode = op.name
	op.run(m)
}

// located is the error with the place of the opcode that was run last.
func (m *machine) located() error {
	var refused *RefusedError
	if !errors.As(m.err, &refused) {
		return &FormatError{Off: int64(m.start), Opcode: m.opcode, Problem: lang.Error(m.err), cut: errors.Is(m.err, io.ErrUnexpectedEOF)}
	}
	if refused.Opcode == "" {
		refused.Off, refused.Opcode = int64(m.start), m.opcode
	}
	return refused
}

// result returns the value on the stack when the program ends.
func (m *machine) result() any {
	v := m.pop()
	switch {
	case m.err != nil:
	case m.strict && len(m.stack)+len(m.marks) > 0:
		m.fail("found %d values more, wanted none left over", len(m.stack)+len(m.marks))
	case m.strict && m.pos < len(m.data):
		m.fail("found %d bytes behind the end, wanted none", len(m.data)-m.pos)
	default:
		c := checker{make(map[any]int)}
		_, m.err = c.walk(v, 0)
	}
	return v
}

// fail notes an error, unless there is one.
func (m *machine) fail(format string, args ...any) { m.failWith(lang.Errorf(format, args...)) }

// cut notes that the pickle ends too early.
func (m *machine) cut(format string, args ...any) {
	m.failWith(cutError{lang.Say(format, args...)})
}

// cutError is the problem of a pickle that ends too early.
type cutError struct{ lang.Sentence }

func (e cutError) Error() string { return e.String() }
func (e cutError) Unwrap() error { return io.ErrUnexpectedEOF }

func (m *machine) failWith(err error) {
	if m.err == nil {
		m.err = err
	}
}

// charge accounts for n bytes of memory.
func (m *machine) charge(n int) {
	if m.memory -= int64(n); m.memory < 0 {
		m.fail("found values that take more memory than %d bytes of a file may, wanted fewer", len(m.data))
	}
}

// bytes returns the next n bytes of the program.
func (m *machine) bytes(n uint64) []byte {
	if left := len(m.data) - m.pos; n > uint64(left) {
		m.cut("found %d bytes more in the file, wanted %d", left, n)
	}
	if m.err != nil {
		return nil
	}
	b := m.data[m.pos : m.pos+int(n)]
	m.pos += int(n)
	return b
}

// uint returns the next n bytes as a little-endian number.
func (m *machine) uint(n int) (v uint64) {
	b := m.bytes(uint64(n))
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// line returns the text up to the next line end.
func (m *machine) line() string {
	i := bytes.IndexByte(m.data[m.pos:], '\n')
	if i < 0 {
		m.cut("found no end of its line")
	}
	if m.err != nil {
		return ""
	}
	s := string(m.data[m.pos : m.pos+i])
	m.pos += i + 1
	return s
}

// room returns values with room for n more, where each takes so many bytes.
func room[T any](m *machine, values []T, n, memory int) []T {
	if n <= cap(values)-len(values) {
		return values
	}
	n = max(n, cap(values))
	if m.charge(n * memory); m.err != nil {
		return values
	}
	return append(make([]T, 0, cap(values)+n), values...)
}

func (m *machine) push(v any) {
	m.charge(valueMemory)
	if m.stack = room(m, m.stack, 1, valueMemory); m.err == nil {
		m.stack = append(m.stack, v)
	}
}

func (m *machine) pushMark() {
	if m.marks = room(m, m.marks, 1, valueMemory); m.err == nil {
		m.marks = append(m.marks, len(m.stack))
	}
}

// above returns the values above the last mark.
func (m *machine) above() []any {
	floor := 0
	if n := len(m.marks); n > 0 {
		floor = m.marks[n-1]
	}
	return m.stack[floor:]
}

func (m *machine) top() any {
	values := m.above()
	if len(values) == 0 {
		m.fail("found an empty stack, wanted a value")
		return nil
	}
	return values[len(values)-1]
}

func (m *machine) pop() any {
	v := m.top()
	if m.err == nil {
		m.stack = m.stack[:len(m.stack)-1]
	}
	return v
}

// popMark removes the last mark and what was pushed after it. What it returns
// is overwritten by the next push.
func (m *machine) popMark() []any {
	n := len(m.marks)
	if n == 0 {
		m.fail("found no mark on the stack, wanted one")
		return nil
	}
	values := m.above()
	m.stack, m.marks = m.stack[:m.marks[n-1]], m.marks[:n-1]
	return values
}

// Dialect is a kind of pickle that has more than plain data: names of its own, and
// objects that calls of them stand for. The zero value has none. Its functions get
// plain values, what they have made themselves, and each *Name that was not called;
// what they return is an opaque part of the value, and an error ends the reading.
// They are to keep no more of the arguments than they have to: parts of these may
// be shared, and nested as deep as the file is long.
type Dialect struct {
	// Lookup returns what a call of a name makes, such as collections.OrderedDict;
	// nil for a name that is only mentioned. The module builtins never is
	// __builtin__. Names that are not known are refused, but for those of plain data.
	Lookup func(name string) (call func(args []any) (any, error), known bool)
	// Persistent returns what a persistent id stands for; nil refuses them.
	Persistent func(id any) (any, error)
	// Stateful reports whether a pickle may set the state of a value, which is
	// dropped; nil refuses it for all.
	Stateful func(v any) bool
	// MaxMemory, when not 0, bounds the bytes that a value takes, for pickles that
	// are less than their size in a file.
	MaxMemory int64
}

// FormatError reports a broken pickle, or one beyond the limits of this
// package.
type FormatError struct {
	Off     int64  // byte offset of the opcode at fault
	Opcode  string // its name, or its number in hex; empty at the end of the file
	Problem lang.Sentence

	cut bool // more bytes might mend it
}

// Error returns the text of the error.
func (e *FormatError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *FormatError) Text() lang.Text {
	if e.Opcode == "" {
		return lang.Say("pickle: end of file at 0x%x: %s", e.Off, e.Problem).Text()
	}
	return lang.Say("pickle: %s at 0x%x: %s", e.Opcode, e.Off, e.Problem).Text()
}

// Unwrap returns io.ErrUnexpectedEOF where the pickle ends too early, else nil.
func (e *FormatError) Unwrap() error {
	if e.cut {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// RefusedError reports a pickle that is more than plain data.
type RefusedError struct {
	Off    int64  // byte offset of the opcode
	Opcode string // its name
	Name   string // what it names, such as os.system; empty when it names nothing readable
}

// Error returns the text of the error.
func (e *RefusedError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *RefusedError) Text() lang.Text {
	if e.Name == "" {
		return lang.Say("pickle: refused: %s at 0x%x is not plain data, only plain data is read", e.Opcode, e.Off).Text()
	}
	return lang.Say("pickle: refused: %s at 0x%x wants %q, only plain data is read", e.Opcode, e.Off, e.Name).Text()
}

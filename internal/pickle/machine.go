// Package pickle reads the plain data in Python pickles, protocols 0 to 5: None,
// bool, int, float, str, bytes, list, tuple, set, frozenset and dict, and
// OrderedDict and defaultdict as dicts.
//
// A pickle is a program that may call anything. This reader executes nothing: the table globals has
// the few names that plain data needs, with the results of calling them; every other name, class or
// call is refused. Memory is bounded by a multiple of the file's size.
//
// Kinds of pickles with more types, such as PyTorch's, have a Dialect: the caller's functions make
// their objects, by the same rules.
//
// machine.go runs the opcodes in opcodes.go, which are the opcodes of Python's module pickletools
// and decode numbers and texts; value.go has the containers, and global.go the calls.
package pickle

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"dumptool/internal/lang"
)

// Read reads the pickle in in, at most maxSize bytes, and returns its size in bytes. The value is
// nil, bool, int64, *big.Int for larger integers, float64, string, []byte (also for a bytearray),
// *Sequence or *Dict. Parts of it may be shared; it never contains itself.
//
// The error is a *RefusedError for a pickle that does more than build such a value, and a
// *FormatError for a broken pickle.
func Read(in io.Reader, maxSize int64) (v any, size int, err error) {
	data, err := io.ReadAll(io.LimitReader(in, maxSize+1))
	if err != nil {
		return nil, 0, lang.Errorf("pickle: %w", err)
	}
	if int64(len(data)) > maxSize {
		return nil, 0, &FormatError{Off: maxSize, Problem: lang.Say("the file is larger than %d MiB", maxSize>>20)}
	}
	m := new(Dialect).newMachine(data)
	m.isStrict = true
	return m.run()
}

// Parse reads the pickle at the beginning of data, and returns its size in bytes. The value may
// also contain results of the dialect's functions, and each *Name that was not called. As in
// Python, and unlike in Read, values may be left on the stack. The error wraps io.ErrUnexpectedEOF
// if the pickle does not end in data.
func (d *Dialect) Parse(data []byte) (v any, size int, err error) {
	return d.newMachine(data).run()
}

func (d *Dialect) newMachine(data []byte) *machine {
	m := &machine{dialect: d, data: data, memo: make(map[uint64]any)}
	m.memory = min(memoryFactor*int64(len(data))+freeMemory, maxMemory)
	if d.MaxMemory > 0 {
		m.memory = min(m.memory, d.MaxMemory)
	}
	return m
}

// A pickle may use memoryFactor bytes of memory for each of its own, plus freeMemory, and at most
// maxMemory.
const (
	memoryFactor = 64
	freeMemory   = 1 << 20
	maxMemory    = 1 << 30
)

// Assumed memory of values in bytes, including references to them.
const (
	valueMemory = 16
	itemMemory  = 32
	seqMemory   = 96
	dictMemory  = 96
	keyMemory   = 64
	// The smallest call in a pickle takes as many bytes.
	objectMemory = 256
)

// machine is the stack machine of pickles. The first error ends the program; until then the methods
// continue with zero values.
type machine struct {
	dialect *Dialect
	data    []byte
	// isStrict: values left on the stack and bytes after the pickle are errors.
	isStrict bool
	// opcode is the current instruction; start is its offset, pos the offset of the next byte.
	opcode     string
	start, pos int
	stack      []any
	// marks holds the heights of the stack at the open marks.
	marks []int
	memo  map[uint64]any
	// memory is the number of bytes that may still be allocated.
	memory    int64
	isStopped bool
	err       error
}

// run executes the program and returns its value and its size in bytes.
func (m *machine) run() (v any, size int, err error) {
	for !m.isStopped && m.err == nil {
		m.step()
	}
	if v = m.result(); m.err != nil {
		return nil, 0, m.errorAtOpcode()
	}
	return v, m.pos, nil
}

// step executes the next instruction.
func (m *machine) step() {
	m.start, m.opcode = m.pos, ""
	if m.start == len(m.data) {
		m.setTruncated("found no STOP opcode")
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

// errorAtOpcode returns the error with the place of the last opcode.
func (m *machine) errorAtOpcode() error {
	var refused *RefusedError
	if !errors.As(m.err, &refused) {
		return &FormatError{Off: int64(m.start), Opcode: m.opcode, Problem: lang.Error(m.err), isTruncated: errors.Is(m.err, io.ErrUnexpectedEOF)}
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
	case m.isStrict && len(m.stack)+len(m.marks) > 0:
		m.fail("found %d unused values, wanted none", len(m.stack)+len(m.marks))
	case m.isStrict && m.pos < len(m.data):
		m.fail("found %d bytes after the end, wanted none", len(m.data)-m.pos)
	default:
		c := checker{make(map[any]int)}
		_, m.err = c.depth(v, 0)
	}
	return v
}

// fail sets an error, unless one is set.
func (m *machine) fail(format string, args ...any) { m.failWith(lang.Errorf(format, args...)) }

// setTruncated sets the error of a truncated pickle.
func (m *machine) setTruncated(format string, args ...any) {
	m.failWith(truncatedError{lang.Say(format, args...)})
}

// truncatedError is the problem of a truncated pickle.
type truncatedError struct{ lang.Sentence }

func (e truncatedError) Error() string { return e.String() }
func (e truncatedError) Unwrap() error { return io.ErrUnexpectedEOF }

func (m *machine) failWith(err error) {
	if m.err == nil {
		m.err = err
	}
}

// chargeMemory accounts for n bytes of memory.
func (m *machine) chargeMemory(n int) {
	if m.memory -= int64(n); m.memory < 0 {
		m.fail("found more values than the memory allowed for a file of %d bytes can hold, wanted fewer", len(m.data))
	}
}

// nextBytes returns the next n bytes of the program.
func (m *machine) nextBytes(n uint64) []byte {
	if left := len(m.data) - m.pos; n > uint64(left) {
		m.setTruncated("found %d bytes more in the file, wanted %d", left, n)
	}
	if m.err != nil {
		return nil
	}
	b := m.data[m.pos : m.pos+int(n)]
	m.pos += int(n)
	return b
}

// nextUint returns the next n bytes as a little-endian number.
func (m *machine) nextUint(n int) (v uint64) {
	b := m.nextBytes(uint64(n))
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// nextLine returns the text up to the next line end.
func (m *machine) nextLine() string {
	i := bytes.IndexByte(m.data[m.pos:], '\n')
	if i < 0 {
		m.setTruncated("the line of its argument has no end")
	}
	if m.err != nil {
		return ""
	}
	s := string(m.data[m.pos : m.pos+i])
	m.pos += i + 1
	return s
}

// growList returns values with room for n more, each charged memory bytes.
func growList[T any](m *machine, values []T, n, memory int) []T {
	if n <= cap(values)-len(values) {
		return values
	}
	n = max(n, cap(values))
	if m.chargeMemory(n * memory); m.err != nil {
		return values
	}
	return append(make([]T, 0, cap(values)+n), values...)
}

func (m *machine) push(v any) {
	m.chargeMemory(valueMemory)
	if m.stack = growList(m, m.stack, 1, valueMemory); m.err == nil {
		m.stack = append(m.stack, v)
	}
}

func (m *machine) pushMark() {
	if m.marks = growList(m, m.marks, 1, valueMemory); m.err == nil {
		m.marks = append(m.marks, len(m.stack))
	}
}

// aboveMark returns the values above the last mark.
func (m *machine) aboveMark() []any {
	floor := 0
	if n := len(m.marks); n > 0 {
		floor = m.marks[n-1]
	}
	return m.stack[floor:]
}

func (m *machine) top() any {
	values := m.aboveMark()
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

// popMark removes the last mark and the values above it. The result is overwritten by the next
// push.
func (m *machine) popMark() []any {
	n := len(m.marks)
	if n == 0 {
		m.fail("found no mark on the stack, wanted one")
		return nil
	}
	values := m.aboveMark()
	m.stack, m.marks = m.stack[:m.marks[n-1]], m.marks[:n-1]
	return values
}

// Dialect is a kind of pickle with more than plain data: additional names, and objects made by
// calling them. The zero value has none. Its functions receive plain values, their own results, and
// each *Name that was not called; their results are opaque parts of the value, and an error ends
// reading. They should keep as little of the arguments as possible: parts may be shared, and nested
// as deep as the file is long.
type Dialect struct {
	// Lookup returns the call of a name such as collections.OrderedDict; nil for a name that cannot
	// be called. It is never called with __builtin__. Unknown names are refused unless plain data
	// has them.
	Lookup func(name string) (call func(args []any) (any, error), known bool)
	// Persistent returns the object of a persistent id; nil refuses them.
	Persistent func(id any) (any, error)
	// Stateful reports whether a pickle may set the state of a value; the state is dropped. nil
	// refuses a state for all values.
	Stateful func(v any) bool
	// Objects allows calls of a class as by the opcode NEWOBJ; without it they are refused.
	Objects bool
	// MaxMemory, unless 0, bounds the memory of a value in bytes, for pickles that are smaller than
	// their data.
	MaxMemory int64
}

// FormatError reports a broken pickle, or one beyond the limits of this package.
type FormatError struct {
	Off     int64  // byte offset of the failing opcode
	Opcode  string // name of the opcode, or its number in hex; empty at the end of the file
	Problem lang.Sentence

	isTruncated bool // the pickle is truncated: more bytes might repair it
}

// Error returns the text of the error.
func (e *FormatError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *FormatError) Text() lang.Text {
	if e.Opcode == "" {
		return lang.Say("pickle: end of file at 0x%x: %s", e.Off, e.Problem).Text()
	}
	return lang.Say("pickle: %s at 0x%x: %s", e.Opcode, e.Off, e.Problem).Text()
}

// Unwrap returns io.ErrUnexpectedEOF for a truncated pickle, else nil.
func (e *FormatError) Unwrap() error {
	if e.isTruncated {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// RefusedError reports a pickle with more than plain data.
type RefusedError struct {
	Off    int64  // byte offset of the opcode
	Opcode string // name of the opcode
	Name   string // the refused name, such as os.system; empty if unreadable
}

// Error returns the text of the error.
func (e *RefusedError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *RefusedError) Text() lang.Text {
	if e.Name == "" {
		return lang.Say("pickle: refused: %s at 0x%x is not plain data, only plain data is read", e.Opcode, e.Off).Text()
	}
	return lang.Say("pickle: refused: %s at 0x%x wants %q, only plain data is read", e.Opcode, e.Off, e.Name).Text()
}

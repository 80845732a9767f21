package pickle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxSize is how large a pickle may be, in bytes.
const maxSize = 64 << 20

// Read reads the pickle that r holds. The value is nil, bool, int64, *big.Int
// for larger integers, float64, string, []byte (also for a bytearray),
// *Sequence or *Dict. Parts of it may be shared; it never contains itself.
//
// The error is a *RefusedError for a pickle that wants to do more than build
// such a value, and a *FormatError for a broken one.
func Read(r io.Reader) (any, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("pickle: %w", err)
	}
	if len(data) > maxSize {
		return nil, &FormatError{Off: maxSize, Problem: fmt.Sprintf("the file is larger than %d MiB", maxSize>>20)}
	}
	m := &machine{data: data, memo: make(map[uint64]any)}
	v, err := m.run()
	if err != nil {
		return nil, err
	}
	return v, nil
}

// machine is the stack machine of pickles.
type machine struct {
	data []byte
	// start is where the opcode begins, pos where the next byte is read.
	start, pos int
	stack      []any
	// marks are the heights of the stack at the open marks.
	marks []int
	memo  map[uint64]any
}

// errStop ends the program.
var errStop = errors.New("stop")

// run executes the program.
func (m *machine) run() (any, error) {
	for {
		start := m.pos
		m.start = start
		if start == len(m.data) {
			return nil, &FormatError{Off: int64(start), Problem: "no STOP opcode"}
		}
		code := m.data[start]
		m.pos++
		op, ok := opcodes[code]
		if !ok {
			return nil, &FormatError{Off: int64(start), Opcode: fmt.Sprintf("0x%02x", code), Problem: "no such opcode"}
		}
		err := op.run(m)
		if errors.Is(err, errStop) {
			var v any
			if v, err = m.result(); err == nil {
				return v, nil
			}
		}
		if err != nil {
			return nil, at(err, start, op.name)
		}
	}
}

// at adds the place to an error of an opcode.
func at(err error, start int, opcode string) error {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return &FormatError{Off: int64(start), Opcode: opcode, Problem: err.Error()}
	}
	if refused.Opcode == "" {
		refused.Off, refused.Opcode = int64(start), opcode
	}
	return refused
}

// result returns the value on the stack when the program ends.
func (m *machine) result() (any, error) {
	v, err := m.pop()
	switch {
	case err != nil:
		return nil, err
	case len(m.stack) > 0 || len(m.marks) > 0:
		return nil, fmt.Errorf("%d values are left over", len(m.stack)+len(m.marks))
	case m.pos < len(m.data):
		return nil, fmt.Errorf("%d bytes follow the end", len(m.data)-m.pos)
	}
	c := checker{make(map[any]int)}
	if _, err := c.walk(v, 0); err != nil {
		return nil, err
	}
	return v, nil
}

// bytes returns the next n bytes of the program.
func (m *machine) bytes(n uint64) ([]byte, error) {
	if left := len(m.data) - m.pos; n > uint64(left) {
		return nil, fmt.Errorf("wants %d bytes, the file has %d more", n, left)
	}
	b := m.data[m.pos : m.pos+int(n)]
	m.pos += int(n)
	return b, nil
}

// uint returns the next n bytes as a little-endian number.
func (m *machine) uint(n int) (uint64, error) {
	b, err := m.bytes(uint64(n))
	if err != nil {
		return 0, err
	}
	var v uint64
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, nil
}

// counted returns the bytes that follow their count, a number of n bytes.
func (m *machine) counted(n int) ([]byte, error) {
	count, err := m.uint(n)
	if err != nil {
		return nil, err
	}
	return m.bytes(count)
}

// line returns the text up to the next line end.
func (m *machine) line() (string, error) {
	i := bytes.IndexByte(m.data[m.pos:], '\n')
	if i < 0 {
		return "", errors.New("its line has no end")
	}
	s := string(m.data[m.pos : m.pos+i])
	m.pos += i + 1
	return s, nil
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

// floor is the height of the stack that may not be popped.
func (m *machine) floor() int {
	if n := len(m.marks); n > 0 {
		return m.marks[n-1]
	}
	return 0
}

func (m *machine) pop() (any, error) {
	v, err := m.top()
	if err == nil {
		m.stack = m.stack[:len(m.stack)-1]
	}
	return v, err
}

func (m *machine) top() (any, error) {
	n := len(m.stack)
	if n <= m.floor() {
		return nil, errors.New("the stack is empty")
	}
	return m.stack[n-1], nil
}

// popMark removes the last mark and what was pushed after it. What it returns
// is overwritten by the next push.
func (m *machine) popMark() ([]any, error) {
	n := len(m.marks)
	if n == 0 {
		return nil, errors.New("no mark is set")
	}
	values := m.stack[m.marks[n-1]:]
	m.stack = m.stack[:m.marks[n-1]]
	m.marks = m.marks[:n-1]
	return values, nil
}

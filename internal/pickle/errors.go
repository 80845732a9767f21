package pickle

import (
	"fmt"
	"io"
)

// FormatError reports a broken pickle, or one beyond the limits of this
// package.
type FormatError struct {
	Off     int64  // byte offset of the opcode at fault
	Opcode  string // its name, or its number in hex; empty at the end of the file
	Problem string

	cut bool // more bytes might mend it
}

// Error returns the text of the error.
func (e *FormatError) Error() string {
	what := "end of file"
	if e.Opcode != "" {
		what = e.Opcode
	}
	return fmt.Sprintf("pickle: %s at 0x%x: %s", what, e.Off, e.Problem)
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
func (e *RefusedError) Error() string {
	wants := "is not plain data"
	if e.Name != "" {
		wants = fmt.Sprintf("wants %q", e.Name)
	}
	return fmt.Sprintf("pickle: refused: %s at 0x%x %s, only plain data is read", e.Opcode, e.Off, wants)
}

package npy

import "fmt"

// FormatError reports a file that is not a valid .npy file.
type FormatError struct {
	Off   int64  // where in the file
	Msg   string // what is wrong, and what was wanted
	Value any    // what was found, nil when there is nothing to show
}

// Error describes the fault, what was found and where.
func (e *FormatError) Error() string { return describe(e.Msg, e.Value, e.Off) }

// UnsupportedError reports a valid .npy file that this package does not read.
type UnsupportedError struct {
	Off   int64  // where in the file
	Msg   string // what is not supported
	Value any    // what was found
}

// Error describes what is not supported, what was found and where.
func (e *UnsupportedError) Error() string { return describe(e.Msg, e.Value, e.Off) }

// maxQuoted is the number of bytes of a file that a message quotes.
const maxQuoted = 40

func describe(msg string, value any, off int64) string {
	switch v := value.(type) {
	case nil:
		return fmt.Sprintf("npy: %s at %#x", msg, off)
	case string:
		if len(v) > maxQuoted {
			return fmt.Sprintf("npy: %s, found %q... at %#x", msg, v[:maxQuoted], off)
		}
		return fmt.Sprintf("npy: %s, found %q at %#x", msg, v, off)
	}
	return fmt.Sprintf("npy: %s, found %v at %#x", msg, value, off)
}

// wrongLength reports a part of the file that should have had want bytes.
func wrongLength(off int64, msg string, want, found int64) error {
	return &FormatError{off, fmt.Sprintf("%s, want %d bytes", msg, want), found}
}

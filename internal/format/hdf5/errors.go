package hdf5

import "fmt"

// FormatError reports a file, or an object in it, that is not valid.
type FormatError struct {
	// Off is where in the file, -1 where no place says anything.
	Off int64
	Msg string // what is wrong, what was found and what was wanted
}

// Error describes the fault and where it is.
func (e *FormatError) Error() string {
	if e.Off < 0 {
		return e.Msg
	}
	return fmt.Sprintf("%s at 0x%x", e.Msg, e.Off)
}

// UnsupportedError reports what this package does not read, where the file may well
// be valid.
type UnsupportedError struct {
	What string // what is not supported, and what to do about it
}

// Error describes what is not supported.
func (e *UnsupportedError) Error() string { return e.What }

func broken(off int64, format string, args ...any) error {
	return &FormatError{off, fmt.Sprintf(format, args...)}
}

func unsupported(format string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(format, args...)}
}

package dumpfmt

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotDump is wrapped by the error for a file that shows no sign of being a
// dump. A file that starts as a dump does and then goes wrong gives a plain
// *FormatError instead.
var ErrNotDump = errors.New("not a dump file")

// FormatError reports a broken file.
type FormatError struct {
	Off     int64  // byte offset in the file of the field at fault
	What    string // the field, such as "header length"
	Found   string // the value found there, empty when the field has none
	Problem string // what is wrong with it, naming what was wanted
}

func broken(off int64, what, found, problem string) *FormatError {
	return &FormatError{Off: off, What: what, Found: found, Problem: problem}
}

// Error returns the text of the error.
func (e *FormatError) Error() string { return "dumpfmt: " + e.text() }

func (e *FormatError) text() string {
	found := e.Found
	if found != "" {
		found = " " + found
	}
	return fmt.Sprintf("%s%s at 0x%x %s", e.What, found, e.Off, e.Problem)
}

// UnsupportedError reports what this package does not do, where the file may
// well be in order.
type UnsupportedError struct {
	What string
}

// Error returns the text of the error.
func (e *UnsupportedError) Error() string { return "dumpfmt: " + e.text() }

func (e *UnsupportedError) text() string { return e.What + " is not supported" }

// verdict is an error that judges the file, as opposed to one that kept it
// from being read.
type verdict interface {
	error
	text() string
}

// attempt is the outcome of reading a file as one container.
type attempt struct {
	as  Container
	err verdict
}

// notDumpError says for each container tried why the file is not one.
type notDumpError struct {
	attempts []attempt
}

func (e *notDumpError) Error() string {
	var b strings.Builder
	b.WriteString("dumpfmt: " + ErrNotDump.Error())
	sep := ": "
	for _, a := range e.attempts {
		fmt.Fprintf(&b, "%sas %s: %s", sep, a.as, a.err.text())
		sep = "; "
	}
	return b.String()
}

func (e *notDumpError) Unwrap() []error {
	all := []error{ErrNotDump}
	for _, a := range e.attempts {
		all = append(all, a.err)
	}
	return all
}

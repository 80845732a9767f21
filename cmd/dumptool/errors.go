package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
)

// codedError is an error with an exit status.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// usagef reports a mistake on the command line: exit status 2, and a hint at the command's help.
func usagef(format string, args ...any) error {
	return asUsage(lang.Errorf(format, args...))
}

// incompletef says that some input could not be read or converted: exit status 3.
func incompletef(format string, args ...any) error {
	return &codedError{exitIncomplete, lang.Errorf(format, args...)}
}

// outcomeError returns the error for an outcome.
func outcomeError(o batch.Outcome) error {
	if o.Kind == batch.Done {
		return nil
	}
	code := map[batch.Kind]int{
		batch.Found: exitFinding, batch.NotCovered: exitCoverage, batch.Nothing: exitNothing, batch.Incomplete: exitIncomplete,
	}[o.Kind]
	err := error(&codedError{code, lang.Problem{Sentence: o.Text}})
	switch {
	case o.Shown:
		return asReported(err)
	case !o.Hint.IsZero():
		return withHint(err, o.Hint)
	}
	return err
}

// usageError marks a mistake that the help of the command explains.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// asUsage makes err a mistake on the command line, unless err has an exit status.
func asUsage(err error) error {
	if _, ok := errors.AsType[*codedError](err); ok {
		return err
	}
	return &codedError{exitUsage, &usageError{err}}
}

// hintError is an error with advice.
type hintError struct {
	err  error
	hint lang.Sentence
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

// hintf adds advice to err.
func hintf(err error, format string, args ...any) error {
	return withHint(err, lang.Say(format, args...))
}

// withHint adds a hint, given in both languages, to an error.
func withHint(err error, hint lang.Sentence) error { return &hintError{err, hint} }

// helpHint adds a hint at the help of cmd to mistakes on the command line without a hint.
func helpHint(cmd *cobra.Command, err error) error {
	var usage *usageError
	var hint *hintError
	if !errors.As(err, &usage) || errors.As(err, &hint) {
		return err
	}
	return withHint(err, lang.Say("see '%s --help'", cmd.CommandPath()))
}

// reportedError is an error that has been printed.
type reportedError struct{ err error }

func (e *reportedError) Error() string { return e.err.Error() }
func (e *reportedError) Unwrap() error { return e.err }

// asReported marks err as printed already: it only sets the exit status.
func asReported(err error) error { return &reportedError{err} }

// report prints err and its hint.
func (a *app) report(err error) {
	var done *reportedError
	var hint *hintError
	switch {
	case err == nil || errors.As(err, &done):
		return
	case errors.Is(err, context.Canceled):
		a.msg.Errorf("%s", a.translate(lang.Say("interrupted")))
		return
	}
	a.msg.Errorf("%s", a.translate(lang.Error(err)))
	if errors.As(err, &hint) {
		a.msg.Hintf("%s", a.translate(hint.hint))
	}
}

// Exit statuses. Scripts depend on them.
const (
	exitOK          = 0
	exitFinding     = 1
	exitUsage       = 2
	exitIncomplete  = 3
	exitNothing     = 4
	exitCoverage    = 5
	exitInterrupted = 130
)

// exitMeanings explains the exit statuses in the help.
var exitMeanings = map[int]string{
	exitOK:          "done, no problem found",
	exitFinding:     "done, a problem was found",
	exitUsage:       "wrong usage or configuration",
	exitIncomplete:  "some inputs or outputs failed, the rest was processed",
	exitNothing:     "nothing to do: no input matched",
	exitCoverage:    "coverage or baseline not met",
	exitInterrupted: "interrupted",
}

// exitStatusTitle starts the last section of every help text.
const exitStatusTitle = "\nEXIT STATUS\n"

// exitStatus returns the section of a help text about the exit status. Success, failure and wrong
// usage are possible for every command; codes adds others.
func exitStatus(codes ...int) string {
	codes = append([]int{exitOK, exitUsage, exitIncomplete}, codes...)
	slices.Sort(codes)
	var b strings.Builder
	b.WriteString("\n" + exitStatusTitle)
	for _, code := range slices.Compact(codes) {
		fmt.Fprintf(&b, "  %-4d %s\n", code, exitMeanings[code])
	}
	return b.String()
}

// exitCode returns the exit status for the error of a command. An error without a code is a failed
// input or output.
func exitCode(err error) int {
	var coded *codedError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &coded):
		return coded.code
	default:
		return exitIncomplete
	}
}

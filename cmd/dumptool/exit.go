package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The exit statuses. Scripts depend on them.
const (
	exitOK          = 0
	exitFound       = 1
	exitUsage       = 2
	exitIncomplete  = 3
	exitNothing     = 4
	exitCoverage    = 5
	exitInterrupted = 130
)

// exitMeanings explain the exit statuses in the help.
var exitMeanings = map[int]string{
	exitOK:          "done, nothing wrong found",
	exitFound:       "done, and the thing looked for was found",
	exitUsage:       "wrong usage or configuration",
	exitIncomplete:  "some input or output failed, the rest was done",
	exitNothing:     "nothing to do, no input matched",
	exitCoverage:    "coverage or baseline not met",
	exitInterrupted: "interrupted",
}

// exitStatusTitle starts the last section of every help text.
const exitStatusTitle = "\nEXIT STATUS\n"

// exitStatus returns the section of a help text about the exit status. Every
// command can succeed, fail or be called in a wrong way; codes are the others.
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

// exitCode returns the exit status for the error of a command. An error
// without a class is trouble with some input or output.
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

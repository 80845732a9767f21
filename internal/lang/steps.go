package lang

import (
	"strconv"
	"strings"
)

// maxPieces bounds how many pieces are read. MindSpore knows no limit.
const maxPieces = 1000

// StepFault says what is wrong with a piece of a list of steps.
type StepFault int

// The faults.
const (
	StepOK       StepFault = iota
	StepEmpty              // nothing between two bars
	StepBadChar            // something else than digits and a dash
	StepOpen               // a range without start or end: "5-", "-5", "-"
	StepDashes             // more than one dash: "1-2-3"
	StepReversed           // the start is behind the end
	StepTooLarge           // a number beyond 64 bits
	StepRest               // not a piece but all that were not read
)

// Step is a piece of a list of steps such as "0|3-5|10": a step or a closed
// range of them. Steps count from 0.
type Step struct {
	Text     string // as written
	Offset   int    // of the piece in the list, in bytes
	From, To uint64 // equal for a single step
	Range    bool   // written with a dash
	Fault    StepFault
}

// Valid reports whether the piece can be used.
func (s Step) Valid() bool { return s.Fault == StepOK }

// ParseSteps takes a list of steps apart. It keeps faulty pieces; after
// a thousand, one with the fault StepRest stands for all that follow.
func ParseSteps(text string) []Step {
	var steps []Step
	offset := 0
	for {
		piece, rest, more := strings.Cut(text[offset:], "|")
		if len(steps) == maxPieces {
			return append(steps, Step{Text: text[offset:], Offset: offset, Fault: StepRest})
		}
		steps = append(steps, parseStep(piece, offset))
		if !more {
			return steps
		}
		offset = len(text) - len(rest)
	}
}

func parseStep(text string, offset int) Step {
	s := Step{Text: text, Offset: offset}
	from, to, isRange := strings.Cut(text, "-")
	s.Range = isRange
	if !isRange {
		to = from
	}
	var err1, err2 error
	s.From, err1 = strconv.ParseUint(from, 10, 64)
	s.To, err2 = strconv.ParseUint(to, 10, 64)
	switch {
	case text == "":
		s.Fault = StepEmpty
	case strings.ContainsFunc(text, func(r rune) bool { return r != '-' && (r < '0' || r > '9') }):
		s.Fault = StepBadChar
	case strings.Contains(to, "-"):
		s.Fault = StepDashes
	case from == "" || to == "":
		s.Fault = StepOpen
	case err1 != nil || err2 != nil:
		s.Fault = StepTooLarge
	case s.From > s.To:
		s.Fault = StepReversed
	}
	return s
}

// Overlaps reports whether two pieces share a step.
func (s Step) Overlaps(t Step) bool {
	return s.Valid() && t.Valid() && s.From <= t.To && t.From <= s.To
}

// Ranges lists values with runs of numbers put together: 0-7, 9. The values are in
// natural order, each once.
func Ranges(values []string) string {
	var parts []string
	for i := 0; i < len(values); {
		last := i
		for last+1 < len(values) && follows(values[last], values[last+1]) {
			last++
		}
		part := values[i]
		switch last - i {
		case 0:
		case 1:
			part += ", " + values[last]
		default:
			part += "-" + values[last]
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ", ")
}

// follows reports whether two values are numbers, and b the next one after a.
func follows(a, b string) bool {
	n, err := strconv.ParseUint(a, 10, 63)
	m, err2 := strconv.ParseUint(b, 10, 63)
	return err == nil && err2 == nil && m == n+1
}

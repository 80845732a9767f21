package lang

import (
	"strconv"
	"strings"
)

// maxPieces limits the pieces that are read. MindSpore has no limit.
const maxPieces = 1000

// StepFault is a fault of a piece in a list of steps.
type StepFault int

// Faults of pieces.
const (
	StepOK       StepFault = iota
	StepEmpty              // nothing between two bars
	StepBadChar            // something else than digits and a dash
	StepOpen               // a range without start or end: "5-", "-5", "-"
	StepDashes             // more than one dash: "1-2-3"
	StepReversed           // the start is larger than the end
	StepTooLarge           // a number beyond 64 bits
	StepRest               // the remaining text, not read
)

// Step is a piece of a list of steps such as "0|3-5|10": a step or a closed range. Steps count from 0.
type Step struct {
	Text     string // as written
	Offset   int    // of the piece in the list, in bytes
	From, To uint64 // equal for a single step
	Range    bool   // written with a dash
	Fault    StepFault
}

// Valid reports whether the piece can be used.
func (s Step) Valid() bool { return s.Fault == StepOK }

// ParseSteps splits a list of steps into pieces, including faulty ones. After maxPieces pieces, a piece with the
// fault StepRest has the remaining text.
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

// Ranges formats values with runs of numbers as ranges: 0-7, 9. The values are different and in natural order.
func Ranges(values []string) string {
	var parts []string
	for i := 0; i < len(values); {
		last := i
		for last+1 < len(values) && isNext(values[last], values[last+1]) {
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

// isNext reports whether two values are numbers, and b is a + 1.
func isNext(a, b string) bool {
	n, err := strconv.ParseUint(a, 10, 63)
	m, err2 := strconv.ParseUint(b, 10, 63)
	return err == nil && err2 == nil && m == n+1
}

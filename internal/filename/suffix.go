package filename

import (
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// IsShortened reports whether a stem is a bare number, as files have whose own
// names were too long; it names no operator.
func IsShortened(stem string) bool { return isDigits(stem) }

// CutTimestamp returns what is left of an operator's name without a timestamp at
// its end, as in conv1_1624605159829577.
func CutTimestamp(op string) (head string, ok bool) {
	head, stamp, _ := cutLast(op, "_")
	return head, head != "" && len(stamp) >= timestampDigits && isDigits(stamp)
}

// opNumber is what MindSpore puts behind the name of an operator: its number in the
// graph, and for one of several of that number another one.
var opNumber = lang.Pattern(`-op[0-9]+(?:_[0-9]+)?$`)

// CutOpNumber returns the name of an operator of MindSpore without its number, as
// Conv2D of Conv2D-op515 and of Conv2D-op515_2. ok is false for a name without one.
func CutOpNumber(op string) (head string, ok bool) {
	at := opNumber().FindStringIndex(op)
	if at == nil || at[0] == 0 {
		return op, false
	}
	return op[:at[0]], true
}

// maxRank is how many numbers at the end of a name may be a shape.
const maxRank = 8

// ShapeSuffix is a way to read the end of an operator's name as a shape.
type ShapeSuffix struct {
	// Head is what is left of the name.
	Head  string
	Shape tensor.Shape
	// Certain is set for a text that is a shape in any case, such as 1x3x224.
	Certain bool
}

// ShapeSuffixes returns the ways to read the end of an operator's name as a
// shape: _1_3_224, of which only the last numbers may be one, or _1x3x224.
func ShapeSuffixes(op string) []ShapeSuffix {
	var all []ShapeSuffix
	add := func(head string, shape tensor.Shape, certain bool) {
		if head != "" {
			all = append(all, ShapeSuffix{head, shape, certain})
		}
	}
	if head, last, ok := cutLast(op, "_"); ok && strings.Contains(last, "x") {
		if shape, ok := parseDims(last, "x"); ok {
			add(head, shape, true)
		}
	}
	head, shape := op, tensor.Shape{}
	for range maxRank {
		rest, last, ok := cutLast(head, "_")
		dim, isDim := parseDim(last)
		if !ok || !isDim {
			break
		}
		head, shape = rest, append(tensor.Shape{dim}, shape...)
		add(head, shape, false)
	}
	return all
}

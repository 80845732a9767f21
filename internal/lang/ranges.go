package lang

import (
	"strconv"
	"strings"
)

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

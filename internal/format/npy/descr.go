package npy

import (
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// typeString is a type string of numpy for elements of one number: byte order,
// kind and size, such as <f4.
var typeString = lang.Pattern(`^([<>=|]?)([a-z][0-9]+)$`)

// otherType is one of the types that numpy writes and host arrays do not have:
// objects, strings, raw bytes, times, long double.
var otherType = lang.Pattern(`^[<>=|]?(O|[SaUV]\d*|[Mm]8(\[\w+\])?|f(12|16)|c(24|32))$`)

// parseDescr returns the element type of a numpy type string. Native byte order
// (=, | or nothing) is little-endian, as on every machine dumps come from.
func parseDescr(descr string) (host tensor.Host, bigEndian, ok bool) {
	m := typeString().FindStringSubmatch(descr)
	if m == nil {
		return 0, false, false
	}
	for _, h := range tensor.Hosts() {
		if m[2] == h.Descr()[1:] {
			return h, m[1] == ">" && h.Size() > 1, true
		}
	}
	return 0, false, false
}

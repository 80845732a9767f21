package npy

import (
	"regexp"
	"strings"

	"dumptool/internal/tensor"
)

// typeCodes are numpy's one-letter type codes; l, L, p and P as on 64-bit
// Linux. A byte order may stand before them.
var typeCodes = map[string]tensor.Host{
	"?": tensor.HostBool,
	"b": tensor.HostInt8, "h": tensor.HostInt16, "i": tensor.HostInt32,
	"l": tensor.HostInt64, "q": tensor.HostInt64, "p": tensor.HostInt64,
	"B": tensor.HostUint8, "H": tensor.HostUint16, "I": tensor.HostUint32,
	"L": tensor.HostUint64, "Q": tensor.HostUint64, "P": tensor.HostUint64,
	"e": tensor.HostFloat16, "f": tensor.HostFloat32, "d": tensor.HostFloat64,
	"F": tensor.HostComplex64, "D": tensor.HostComplex128,
}

// typeNames are names that numpy takes for a type besides its own name.
var typeNames = map[string]tensor.Host{
	"byte": tensor.HostInt8, "short": tensor.HostInt16, "intc": tensor.HostInt32,
	"int": tensor.HostInt64, "long": tensor.HostInt64, "longlong": tensor.HostInt64, "intp": tensor.HostInt64,
	"ubyte": tensor.HostUint8, "ushort": tensor.HostUint16, "uintc": tensor.HostUint32,
	"uint": tensor.HostUint64, "ulong": tensor.HostUint64, "ulonglong": tensor.HostUint64, "uintp": tensor.HostUint64,
	"half": tensor.HostFloat16, "single": tensor.HostFloat32, "double": tensor.HostFloat64, "float": tensor.HostFloat64,
	"csingle": tensor.HostComplex64, "cdouble": tensor.HostComplex128, "complex": tensor.HostComplex128,
}

// otherTypes match the type strings that numpy knows and host arrays do not:
// objects, strings, raw bytes, times, long double; records and subarrays.
var otherTypes = regexp.MustCompile(`^[<>=|]?(` +
	`O[48]?|[SaUVT]\d*|c|[Mm]8?(\[\w+\])?|f(12|16)|c(24|32)|[gG]` +
	`)$|^(` +
	`object_?|str_?|bytes_?|void|(datetime|timedelta)64(\[\w+\])?|c?longdouble|float(96|128)|complex(192|256)` +
	`)$|^[\d(]|,`)

// parseDescr returns the element type of a numpy type string. Native byte order
// (=, | or nothing) is little-endian, as on every machine dumps come from.
func parseDescr(descr string) (host tensor.Host, bigEndian, ok bool) {
	if host, ok = typeNames[descr]; ok {
		return host, false, true
	}
	code := descr
	if descr != "" && strings.Contains("<>=|", descr[:1]) {
		code = descr[1:]
	}
	host, ok = typeCodes[code]
	for _, h := range tensor.Hosts() {
		if code == h.Descr()[1:] || descr == h.String() {
			host, ok = h, true
		}
	}
	return host, ok && descr[0] == '>' && host.Size() > 1, ok
}

// isOtherType reports whether numpy knows the type string.
func isOtherType(descr string) bool { return otherTypes.MatchString(descr) }

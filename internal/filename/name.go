package filename

import (
	"crypto/md5"
	"encoding/hex"
	"path/filepath"
	"runtime"
	"strings"
)

// special are the characters of operators' names that file names have _ for.
const special = `/.:\ `

// Normalise returns an operator's name as file names have it: _ for / . : \ and
// blanks.
func Normalise(op string) string {
	if !strings.ContainsAny(op, special) {
		return op
	}
	b := []byte(op)
	for i, c := range b {
		b[i] = normalised(c)
	}
	return string(b)
}

func normalised(c byte) byte {
	if strings.IndexByte(special, c) >= 0 {
		return '_'
	}
	return c
}

// SameNormalised reports whether two names are equal as file names have them.
func SameNormalised(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && normalised(a[i]) != normalised(b[i]) {
			return false
		}
	}
	return true
}

// Index finds a number by the name of an operator: as it is written, else
// normalised.
type Index struct {
	exact, loose map[string]int
}

// conflict is the number of a normalised name that several names share.
const conflict = -1

// Add gives a name the number i, unless it has one, and returns the number that
// it has.
func (x *Index) Add(op string, i int) (number int, added bool) {
	if old, found := x.exact[op]; found {
		return old, false
	}
	if x.exact == nil {
		x.exact, x.loose = make(map[string]int), make(map[string]int)
	}
	x.exact[op] = i
	loose, number := Normalise(op), i
	if _, found := x.loose[loose]; found {
		number = conflict
	}
	x.loose[loose] = number
	return i, true
}

// Find returns the number of the first of the names that has one; exact names
// count before normalised ones.
func (x *Index) Find(ops ...string) (int, bool) {
	for _, op := range ops {
		if i, ok := x.exact[op]; ok {
			return i, true
		}
	}
	for _, op := range ops {
		if i, ok := x.loose[Normalise(op)]; ok && i != conflict && op != "" {
			return i, true
		}
	}
	return 0, false
}

// Safe makes one path component of a name that comes from a file: it can
// name a file in the output folder and nothing else.
func Safe(name string) string {
	forbidden := "/\\"
	if runtime.GOOS == "windows" {
		forbidden = `/\<>:"|?*`
	}
	// Byte by byte: names need not be UTF-8.
	safe := []byte(name)
	for i, b := range safe {
		if b < ' ' || b == 0x7f || strings.IndexByte(forbidden, b) >= 0 {
			safe[i] = '_'
		}
	}
	if strings.Trim(name, ".") == "" {
		return strings.Repeat("_", max(1, len(name)))
	}
	return string(safe)
}

// MaxBytes is what a file name must stay below (NAME_MAX of Linux).
const MaxBytes = 255

// Short returns the name a file gets instead of one that is too long: the
// hex digits of the version 3 UUID of the name in the DNS namespace, with the
// extension kept, as msaccucmp names such files.
func Short(name string) string {
	namespace := []byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	sum := md5.Sum(append(namespace, name...)) // RFC 9562, section 5.3
	sum[6] = sum[6]&0x0f | 0x30
	sum[8] = sum[8]&0x3f | 0x80
	return hex.EncodeToString(sum[:]) + filepath.Ext(name)
}

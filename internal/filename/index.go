package filename

import "strings"

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

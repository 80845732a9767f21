package lang

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/lists"
)

// Nearest returns the candidate that word probably misspells, empty if all are too far. Of equally near candidates
// the first by name counts. Case and separators do not count.
func Nearest(word string, candidates []string) string {
	if len(word) > longestWord {
		return ""
	}
	best, bestDistance := "", max(1, len(word)/4)+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := Distance(normalise(word), normalise(c)); d < bestDistance && d < len(word) {
			best, bestDistance = c, d
		}
	}
	return best
}

// NearestOf returns at most most candidates that word may be a misspelling of, the nearest first, then by name.
func NearestOf(word string, candidates []string, most int) []string {
	type near struct {
		name     string
		distance int
	}
	var all []near
	limit := max(1, len(word)/4)
	for _, c := range candidates {
		if len(c) == 0 || len(word) > longestWord || max(len(c)-len(word), len(word)-len(c)) > limit {
			continue
		}
		if d := Distance(normalise(word), normalise(c)); d <= limit && d < len(word) {
			all = append(all, near{c, d})
		}
	}
	slices.SortFunc(all, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	return lists.Map(all[:min(most, len(all))], func(n near) string { return n.name })
}

// longestWord limits the words that count as misspellings, in bytes.
const longestWord = 64

// DiffersOnlyInForm reports whether a and b differ in case and separators only.
func DiffersOnlyInForm(a, b string) bool { return normalise(a) == normalise(b) }

func normalise(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// Distance returns the Damerau-Levenshtein distance of a and b in its restricted form: missing, surplus and wrong
// bytes, and swapped neighbours.
func Distance(a, b string) int {
	d := make([][]int, len(a)+1) // d[i][j] is the distance of a[:i] and b[:j]
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			wrong := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				wrong++
			}
			d[i][j] = min(wrong, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// CompareNatural compares names in natural order, so that op2 is before op10: runs of digits as numbers, the rest as
// bytes.
func CompareNatural(a, b string) int {
	same := 0 // length of the common prefix, without a number at its end
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	for same > 0 && '0' <= a[same-1] && a[same-1] <= '9' {
		same--
	}
	x, y := a[same:], b[same:]
	for x != "" && y != "" {
		nx, ny := digits(x), digits(y)
		if nx == 0 || ny == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		u, v := strings.TrimLeft(x[:nx], "0"), strings.TrimLeft(y[:ny], "0")
		if c := cmp.Or(cmp.Compare(len(u), len(v)), strings.Compare(u, v)); c != 0 {
			return c
		}
		x, y = x[nx:], y[ny:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// digits returns how many digits s starts with.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

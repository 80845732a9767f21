package trace

import (
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// layerWords stand before the number of a layer, expertWords before the number of an expert.
var (
	layerWords  = []string{"layers", "layer", "blocks", "block", "h", "stages"}
	expertWords = []string{"local_experts", "experts", "expert"}
)

// ParseName splits the name of a call into its role, which has * for the numbers of layers and
// experts, and these numbers, -1 where the name has none. Every rank counts its communications
// itself: roles have * for that number too.
func ParseName(name string) (role string, layer, expert int) {
	layer, expert = -1, -1
	parts := strings.Split(name, ".")
	for i := 1; i < len(parts); i++ {
		n, isNumber := numberIn(parts[i])
		if !isNumber {
			continue
		}
		switch before := parts[i-1]; {
		case slices.Contains(layerWords, before):
			layer, parts[i] = n, "*"
		case slices.Contains(expertWords, before):
			expert, parts[i] = n, "*"
		case parts[0] == commPrefix:
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "."), layer, expert
}

// numberIn parses a part of a name as a number.
func numberIn(part string) (n int, ok bool) {
	if part == "" || part[0] > '9' { // a word, as most are
		return 0, false
	}
	n, err := strconv.Atoi(part)
	return n, err == nil && n >= 0
}

// RoleOf is the role of a name; see ParseName.
func RoleOf(name string) string {
	role, _, _ := ParseName(name)
	return role
}

// commPrefix begins the names of communications.
const commPrefix = "Distributed"

// WithLayer replaces the number of the layer in a name.
func WithLayer(name string, n int) string { return renumbered(name, layerWords, n) }

// WithExpert replaces the number of the expert in a name.
func WithExpert(name string, n int) string { return renumbered(name, expertWords, n) }

func renumbered(name string, words []string, n int) string {
	parts := strings.Split(name, ".")
	for i := 1; i < len(parts); i++ {
		if _, ok := numberIn(parts[i]); ok && slices.Contains(words, parts[i-1]) {
			parts[i] = strconv.Itoa(n)
		}
	}
	return strings.Join(parts, ".")
}

// ExpertsModule is the name of the module in which the experts of a call are, such as mlp of
// mlp.experts.local_experts.3.
func ExpertsModule(name string) string {
	module := BeforeExpert(name)
	for _, word := range expertWords {
		module = strings.TrimSuffix(module, "."+word)
	}
	return module
}

// BeforeExpert is a name up to the number of the expert, the name itself where it has none.
func BeforeExpert(name string) string {
	for _, word := range expertWords {
		if before, _, ok := strings.Cut(name, "."+word+"."); ok {
			return before
		}
	}
	return name
}

// RankText writes ranks as ranges: ranks 0-3 and 8.
func RankText(ranks []int) lang.Text {
	noun := "ranks "
	if len(ranks) == 1 {
		noun = "rank "
	}
	list := Ranges(ranks)
	return lang.Text{EN: noun + list, ZH: "rank " + list}
}

// Ranges writes ranks as numbers and ranges, ascending: 0-3,8.
func Ranges(ranks []int) string {
	sorted := slices.Clone(ranks)
	slices.Sort(sorted)
	var parts []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		part := strconv.Itoa(sorted[i])
		if j > i {
			part += "-" + strconv.Itoa(sorted[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

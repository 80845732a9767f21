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

// Producers put different characters between the parts of a name: layers.3.mlp of msprobe is
// layers_3_mlp of CANN and layer_3/mlp of TensorFlow.
const separators = "._/"

// number is a part of a name with digits only: name[from:to]. The part before it is the last one of
// name[:from-1].
type number struct{ from, to int }

// numbersIn returns the parts of a name with digits only, from left to right. The first part is none.
func numbersIn(name string) (all []number) {
	for from := 0; ; {
		n := strings.IndexAny(name[from:], separators)
		to := from + n
		if n < 0 {
			to = len(name)
		}
		if _, err := strconv.ParseUint(name[from:to], 10, 31); err == nil && from > 0 {
			all = append(all, number{from, to})
		}
		if n < 0 {
			return all
		}
		from = to + 1
	}
}

// follows reports whether a number of a name stands behind one of some words.
func (n number) follows(name string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		before, ok := strings.CutSuffix(name[:n.from-1], word)
		return ok && (before == "" || strings.ContainsAny(before[len(before)-1:], separators))
	})
}

// ParseName splits the name of a call into its role, which has * for the numbers of layers and
// experts, and these numbers, -1 where the name has none. Every rank counts its communications
// itself: roles have * for that number too.
func ParseName(name string) (role string, layer, expert int) {
	layer, expert = -1, -1
	var b strings.Builder
	done := 0
	for _, n := range numbersIn(name) {
		value, _ := strconv.Atoi(name[n.from:n.to])
		switch {
		case n.follows(name, layerWords):
			layer = value
		case n.follows(name, expertWords):
			expert = value
		case !strings.HasPrefix(name, commPrefix):
			continue
		}
		b.WriteString(name[done:n.from] + "*")
		done = n.to
	}
	return b.String() + name[done:], layer, expert
}

// RoleOf is the role of a name; see ParseName.
func RoleOf(name string) string {
	role, _, _ := ParseName(name)
	return role
}

// commPrefix begins the names of communications.
const commPrefix = "Distributed."

// WithLayer replaces the number of the layer in a name.
func WithLayer(name string, n int) string { return renumbered(name, layerWords, n) }

// WithExpert replaces the number of the expert in a name.
func WithExpert(name string, n int) string { return renumbered(name, expertWords, n) }

func renumbered(name string, words []string, n int) string {
	for _, old := range slices.Backward(numbersIn(name)) {
		if old.follows(name, words) {
			name = name[:old.from] + strconv.Itoa(n) + name[old.to:]
		}
	}
	return name
}

// ExpertsModule is the name of the module in which the experts of a call are, such as mlp of
// mlp.experts.local_experts.3.
func ExpertsModule(name string) string {
	module := BeforeExpert(name)
	for _, word := range expertWords {
		if at := len(module) - len(word) - 1; at >= 0 && module[at+1:] == word && strings.ContainsAny(module[at:at+1], separators) {
			module = module[:at]
		}
	}
	return module
}

// BeforeExpert is a name up to the words before the number of the expert, the name itself where it has
// none.
func BeforeExpert(name string) string {
	for _, word := range expertWords {
		for at := range name {
			end := at + 1 + len(word)
			if end < len(name) && strings.ContainsAny(name[at:at+1], separators) && name[at+1:end] == word && strings.ContainsAny(name[end:end+1], separators) {
				return name[:at]
			}
		}
	}
	return name
}

// IsInModule reports whether a name is below the name of a module.
func IsInModule(name, module string) bool {
	rest, ok := strings.CutPrefix(name, module)
	return ok && rest != "" && strings.ContainsAny(rest[:1], separators)
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

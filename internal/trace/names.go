package trace

import (
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
)

// layerWords are words before the number of a layer, expertWords words before the number of an expert.
var (
	layerWords  = []string{"layers", "layer", "blocks", "block", "h", "stages"}
	expertWords = []string{"local_experts", "experts", "expert"}
)

// Producers separate the parts of a name differently: layers.3.mlp in msprobe is layers_3_mlp in CANN and layer_3/mlp
// in TensorFlow.
const separators = "._/"

// digitRun is a part of a name that has digits only: name[from:to]. The previous part is the last part of
// name[:from-1].
type digitRun struct{ from, to int }

// numbersIn returns the numeric parts of a name, from left to right, without the first part.
func numbersIn(name string) (all []digitRun) {
	for from := 0; ; {
		n := strings.IndexAny(name[from:], separators)
		to := from + n
		if n < 0 {
			to = len(name)
		}
		if _, err := strconv.ParseUint(name[from:to], 10, 31); err == nil && from > 0 {
			all = append(all, digitRun{from, to})
		}
		if n < 0 {
			return all
		}
		from = to + 1
	}
}

// isAfterWord reports whether the part before a number is one of the words.
func (n digitRun) isAfterWord(name string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		before, ok := strings.CutSuffix(name[:n.from-1], word)
		return ok && (before == "" || strings.ContainsAny(before[len(before)-1:], separators))
	})
}

// ParseName splits the name of a call into its role, with * for the numbers of layers and experts, and these numbers,
// -1 for none. Roles also have * for the number of a communication, which every rank counts separately.
func ParseName(name string) (role string, layer, expert int) {
	layer, expert = -1, -1
	var b strings.Builder
	done := 0
	for _, n := range numbersIn(name) {
		value, _ := strconv.Atoi(name[n.from:n.to])
		switch {
		case n.isAfterWord(name, layerWords):
			layer = value
		case n.isAfterWord(name, expertWords):
			expert = value
		case !strings.HasPrefix(name, commPrefix):
			continue
		}
		b.WriteString(name[done:n.from] + "*")
		done = n.to
	}
	return b.String() + name[done:], layer, expert
}

// RoleOf returns the role of a name; see ParseName.
func RoleOf(name string) string {
	role, _, _ := ParseName(name)
	return role
}

// commPrefix is the prefix of the names of communications.
const commPrefix = "Distributed."

// WithLayer replaces the number of the layer in a name.
func WithLayer(name string, n int) string { return renumber(name, layerWords, n) }

// WithExpert replaces the number of the expert in a name.
func WithExpert(name string, n int) string { return renumber(name, expertWords, n) }

func renumber(name string, words []string, n int) string {
	for _, old := range slices.Backward(numbersIn(name)) {
		if old.isAfterWord(name, words) {
			name = name[:old.from] + strconv.Itoa(n) + name[old.to:]
		}
	}
	return name
}

// ExpertsModule returns the name of the module that contains the experts of a call, such as mlp for
// mlp.experts.local_experts.3.
func ExpertsModule(name string) string {
	module := CutAtExpert(name)
	for _, word := range expertWords {
		if at := len(module) - len(word) - 1; at >= 0 && module[at+1:] == word && strings.ContainsAny(module[at:at+1], separators) {
			module = module[:at]
		}
	}
	return module
}

// CutAtExpert returns a name up to the words before the number of the expert; the whole name without such a number.
func CutAtExpert(name string) string {
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

// WithoutClass returns the name of a call of a module without its class, such as Module.layers.3.fc.forward.0; empty for
// a function.
func WithoutClass(name string) string {
	call := msprobe.ParseName(name)
	class := call.Class()
	end := strings.LastIndex(call.Callee, "."+class)
	if class == "" || end < 0 {
		return ""
	}
	call.Callee = call.Callee[:end]
	return call.InDirection(call.Direction)
}

// RankText formats ranks as ranges: ranks 0-3 and 8.
func RankText(ranks []int) lang.Text {
	noun := "ranks "
	if len(ranks) == 1 {
		noun = "rank "
	}
	list := Ranges(ranks)
	return lang.Text{EN: noun + list, ZH: "rank " + list}
}

// Ranges formats ranks as numbers and ranges, ascending: 0-3,8.
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

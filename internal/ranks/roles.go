package ranks

import (
	"slices"
	"strconv"
	"strings"
)

// layerWords are the names before the number of a layer, expertWords those before that
// of an expert.
var (
	layerWords  = []string{"layers", "layer", "blocks", "block", "h", "stages"}
	expertWords = []string{"local_experts", "experts", "expert"}
)

// parseName takes the name of a call apart: the role, which has * for the numbers of
// layers and experts; and the numbers, -1 where the name has none. The number of the
// call at the end of a communication's name, which every rank counts for itself, is no
// part of a role.
func parseName(name string) (role string, layer, expert int) {
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

// numberIn is the number that a part of a name is.
func numberIn(part string) (n int, ok bool) {
	if part == "" || part[0] > '9' { // a word, as most are
		return 0, false
	}
	n, err := strconv.Atoi(part)
	return n, err == nil && n >= 0
}

// RoleOf is a name with * for the numbers of layers and experts: what the same operators of a
// network share.
func RoleOf(name string) string {
	role, _, _ := parseName(name)
	return role
}

// commPrefix begins the names of communications.
const commPrefix = "Distributed"

func itoa(n int) string { return strconv.Itoa(n) }

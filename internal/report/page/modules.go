package page

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// separator separates the levels of a module.
const separator = "\x1f"

// minPrefix is the smallest number of rows that share a prefix which counts as a module, for names
// without a separator.
const minPrefix = 3

// maxBeginnings is the largest number of prefixes of a name that are tried.
const maxBeginnings = 16

// modules interns the modules named by the run, by row: -1 for none.
type modules struct {
	names [][]string
	at    []int32
	known map[string]int32
}

// add adds a row in some modules.
func (m *modules) add(levels []string) {
	if len(levels) == 0 {
		m.at = append(m.at, -1)
		return
	}
	key := strings.Join(levels, separator)
	at, ok := m.known[key]
	if !ok {
		if m.known == nil {
			m.known = map[string]int32{}
		}
		at = int32(len(m.names))
		m.known[key] = at
		m.names = append(m.names, levels)
	}
	m.at = append(m.at, at)
}

// modulesOf returns the modules of the rows of some operators: modules named by the run, else the folders
// of the operator's name, else, if the run names no modules, prefixes of names with _ that several
// rows share. Levels common to all rows are omitted. paths holds the lengths, in UTF-16 units, of
// the operators' names before their last part.
func (m *modules) modulesOf(ops []string) (modules []string, paths []int) {
	levels := make([][]string, len(ops))
	paths = make([]int, len(ops))
	plain := map[string]int{}        // number of rows by prefix of the name
	folders := map[string][]string{} // levels by folder
	// If the run names modules, a row without modules is in none.
	named := len(m.names) > 0
	for i, op := range ops {
		at := strings.LastIndexByte(op, '/')
		switch {
		case m.at[i] >= 0:
			levels[i] = m.names[m.at[i]]
		case at >= 0:
			if folders[op[:at]] == nil {
				folders[op[:at]] = strings.Split(op[:at], "/")
			}
			levels[i] = folders[op[:at]]
		case named:
			levels[i] = []string{}
		default:
			for _, beginning := range namePrefixes(op) {
				plain[beginning]++
			}
		}
	}
	for i, op := range ops {
		path := strings.LastIndex(op, "/") + 1
		if levels[i] == nil {
			levels[i], path = prefixes(op, plain)
		} else if path == 0 {
			path = callStart(op)
		}
		path = wholeCall(op, path)
		paths[i] = len(utf16.Encode([]rune(op[:path])))
	}
	common := commonLevels(levels)
	modules = make([]string, len(levels))
	for i, l := range levels {
		modules[i] = strings.Join(l[common:], separator)
	}
	return modules, paths
}

// namePrefixes returns the prefixes of a name that end before a _ or a dot.
func namePrefixes(name string) []string {
	var all []string
	for i, c := range name {
		if len(all) == maxBeginnings {
			break
		}
		if i > 0 && (c == '_' || c == '.') {
			all = append(all, name[:i])
		}
	}
	return all
}

// prefixes returns the levels of a name without folders, split at prefixes that enough rows share.
// end is the start of the rest.
func prefixes(name string, shared map[string]int) (levels []string, end int) {
	levels, from, rows := []string{}, 0, 0
	for _, beginning := range namePrefixes(name) {
		n := shared[beginning]
		if n < minPrefix || n == rows {
			continue // the same rows already form a level
		}
		levels, from, rows = append(levels, strings.Trim(beginning[from:], "_.")), len(beginning)+1, n
	}
	return levels, from
}

// callStart returns the start of the last part of an msprobe name: the called function, or a module
// with its class.
func callStart(name string) int {
	words := strings.Split(name, ".")
	last := len(words) - 1
	back := func() {
		for last > 0 && isCount(words[last]) {
			last--
		}
	}
	back()
	if (words[0] == "Module" || words[0] == "Cell") && last > 1 {
		last--
		back()
	}
	return len(name) - len(strings.Join(words[last:], "."))
}

// isCount reports whether a word is the number or the direction of a call.
func isCount(word string) bool {
	_, err := strconv.ParseUint(word, 10, 64)
	return err == nil || word == "forward" || word == "backward" || word == "parameters_grad"
}

// wholeCall reduces path until the rest of the name has more than the number and direction of a
// call.
func wholeCall(name string, path int) int {
	for path > 0 {
		if word, _, _ := strings.Cut(name[path:], "."); !isCount(word) {
			break
		}
		path = strings.LastIndexAny(name[:path-1], "._/") + 1
	}
	return path
}

// commonLevels returns the number of levels that all rows share.
func commonLevels(levels [][]string) int {
	if len(levels) < 2 {
		return 0
	}
	common := levels[0]
	for _, l := range levels[1:] {
		n := 0
		for n < len(common) && n < len(l) && common[n] == l[n] {
			n++
		}
		common = common[:n]
	}
	return len(common)
}

package inspect

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"dumptool/internal/bundle"
	"dumptool/internal/dumpdir"
	"dumptool/internal/store"
)

// TwoSides are two sides in one folder: two paths, or two stems of the names of files in it.
type TwoSides struct {
	Reference, NPU string
	// Stems has the stem of the reference and the stem of the NPU; nil if the paths differ.
	Stems []string
}

// FindTwoSides finds the two sides of a comparison in a folder of a run. It tries in this order: two folders whose
// names indicate the sides, two folders with lists of calls, two lists of calls, files under two stems. ok is false
// if no way finds exactly one pair of sides.
func FindTwoSides(run *dumpdir.Run, root string) (s TwoSides, ok bool) {
	if run.Single || len(run.Paths) != 1 {
		return s, false
	}
	if s.Reference, s.NPU, ok = Sides(run, root); ok {
		return s, true
	}
	if s.Reference, s.NPU, ok = listSides(run, root); ok {
		return s, true
	}
	if lists := run.Lists(); len(lists) == 2 {
		a, b := lists[0].Path(), lists[1].Path()
		if strings.TrimSuffix(a, path.Ext(a)) > strings.TrimSuffix(b, path.Ext(b)) { // dump.json is older than dump (1).json
			a, b = b, a
		}
		a, b = inOrder(a, b)
		return TwoSides{Reference: a, NPU: b}, true
	}
	if a, b, ok := stemsOf(run); ok {
		return TwoSides{root, root, []string{a, b}}, true
	}
	return TwoSides{}, false
}

// inOrder returns the reference first. If the names do not show which path is the reference, it keeps the order.
func inOrder(a, b string) (reference, npu string) {
	if sideOfFolder(path.Base(a)) == npuSide && sideOfFolder(path.Base(b)) != npuSide || sideOfFolder(path.Base(b)) == referenceSide && sideOfFolder(path.Base(a)) != referenceSide {
		return b, a
	}
	return a, b
}

// roles are words in file names that distinguish the tensors of one operator, not the sides of a comparison.
var roles = strings.Fields("input output in out weight bias gamma beta mean var forward backward fwd bwd grad grads q k v query key value")

// isNoSide reports whether a stem is a number, of an output, step or rank, or a role.
func isNoSide(stem string) bool {
	words := wordsOf(stem)
	return len(words) == 0 || len(words) == 1 && slices.Contains(roles, words[0])
}

// stemsOf returns the two stems of the names of files with tensors in a run: the only pair of stems that names the
// sides, else the only pair of stems. A pair that does not name the sides needs more than two files.
func stemsOf(run *dumpdir.Run) (reference, npu string, ok bool) {
	var names []string
	for _, f := range run.Files {
		if f.Role == dumpdir.Tensors && f.Err == nil {
			names = append(names, f.Name)
		}
	}
	all := dumpdir.SplitStems(names)
	sides := slices.DeleteFunc(slices.Clone(all), func(s [2]string) bool {
		a, b := sideOfFolder(s[0]), sideOfFolder(s[1])
		return a == b || a == noSide || b == noSide
	})
	if len(sides) == 0 && len(names) > 2 {
		sides = all
	}
	if len(sides) != 1 || isNoSide(sides[0][0]) || isNoSide(sides[0][1]) {
		return "", "", false
	}
	reference, npu = inOrder(sides[0][0], sides[0][1])
	return reference, npu, true
}

// side is one side of a comparison.
type side int

const (
	noSide side = iota
	referenceSide
	npuSide
)

// sideWords maps words in folder names to the side that they indicate.
var sideWords = map[string]side{
	"cpu": referenceSide, "gpu": referenceSide, "golden": referenceSide, "gold": referenceSide, "ref": referenceSide, "reference": referenceSide,
	"bench": referenceSide, "benchmark": referenceSide, "baseline": referenceSide, "before": referenceSide,
	"npu": npuSide, "ascend": npuSide, "device": npuSide, "dump": npuSide, "dumps": npuSide, "dumped": npuSide, "my": npuSide, "target": npuSide,
	"run": npuSide, "current": npuSide, "after": npuSide,
}

// sideOfFolder returns the side indicated by a folder's name: golden_dump is a reference.
func sideOfFolder(name string) side {
	found := noSide
	for _, word := range wordsOf(name) {
		if s := sideWords[word]; s != noSide && found != referenceSide {
			found = s
		}
	}
	return found
}

// inFolder returns the path of a folder or archive of a run.
func inFolder(run *dumpdir.Run, root, name string) string {
	if _, _, packed := store.InArchive(run.Files[0].Path()); packed && !strings.Contains(root, "!") {
		return root + "!" + name
	}
	return store.Join(root, name)
}

// Sides returns the two folders or archives of a run whose names indicate the reference and the NPU
// side; each must be the only one of its side. They lie in the given path or in its only folder.
func Sides(run *dumpdir.Run, root string) (reference, npu string, ok bool) {
	reports := make(map[string]bool)
	for _, f := range run.Files {
		if slices.Contains(documents, f.Name) {
			reports[f.Folder.Dir] = true
		}
	}
	var places []string // of everything that may be a side
	for _, f := range run.Files {
		switch {
		case bundle.HasName(f.Name):
			places = append(places, path.Join(f.Folder.Dir, f.Name))
		case f.Role != dumpdir.Side && !reports[f.Folder.Dir]:
			places = append(places, f.Folder.Dir)
		}
	}
	above, names := "", branches(places)
	if len(names) == 1 && names[0] != "." {
		above = names[0]
		for i := range places {
			places[i] = cmp.Or(strings.TrimPrefix(strings.TrimPrefix(places[i], above), "/"), ".")
		}
		names = branches(places)
	}
	sides := foldersBySide(names)
	if len(sides[referenceSide]) != 1 || len(sides[npuSide]) != 1 {
		return "", "", false
	}
	return inFolder(run, root, path.Join(above, sides[referenceSide][0])), inFolder(run, root, path.Join(above, sides[npuSide][0])), true
}

// branches returns the first folders of paths.
func branches(paths []string) []string {
	first := make(map[string]bool)
	for _, p := range paths {
		name, _, _ := strings.Cut(p, "/")
		first[name] = true
	}
	return slices.Sorted(maps.Keys(first))
}

// documents are the files that reports of comparisons and checks have.
var documents = []string{comparison, "check.json"}

// isReport reports whether a folder holds reports.
func isReport(dir string) bool {
	return slices.ContainsFunc(documents, func(name string) bool {
		_, err := store.Stat(store.Join(dir, name))
		return err == nil
	})
}

// wordsOf returns the words of a name in lower case.
func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
}

func foldersBySide(names []string) map[side][]string {
	all := make(map[side][]string)
	for _, name := range names {
		s := sideOfFolder(name)
		all[s] = append(all[s], name)
	}
	return all
}

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
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// TwoSides are two sides in one folder: two paths, or two stems of the names of files in it.
type TwoSides struct {
	Reference, NPU string
	// Stems has the stem of the reference and the stem of the NPU; nil if the paths differ. Further stems belong to
	// more sides, among which the user has to choose.
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
		a, b = orderSides(a, b)
		return TwoSides{Reference: a, NPU: b}, true
	}
	if stems := stemsOf(run); stems != nil {
		return TwoSides{root, root, stems}, true
	}
	return TwoSides{}, false
}

// orderSides returns the reference first. If the names do not show which path is the reference, it keeps the order.
func orderSides(a, b string) (reference, npu string) {
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

// mostStems limits the number of sides in one folder.
const mostStems = 8

// stemsOf returns the stems of the names of files with tensors in a run, a reference and an NPU first: the only stems
// that name sides, else the only pair of stems, nil for none. A pair that does not name the sides needs more than two
// files.
func stemsOf(run *dumpdir.Run) []string {
	var names []string
	for _, f := range run.Files {
		if f.Role == dumpdir.Tensors && f.Err == nil {
			names = append(names, f.Name)
		}
	}
	for n := 2; n <= mostStems; n++ {
		named := slices.DeleteFunc(dumpdir.SplitStems(names, n), func(stems []string) bool {
			sides := foldersBySide(stems)
			return len(sides[noSide]) > 0 || len(sides[referenceSide]) == 0 || len(sides[npuSide]) == 0
		})
		if len(named) == 1 {
			sides := foldersBySide(named[0])
			refs, npus := sides[referenceSide], sides[npuSide]
			return slices.Concat(refs[:1], npus, refs[1:])
		}
	}
	pairs := dumpdir.SplitStems(names, 2)
	if len(names) == 2 || len(pairs) != 1 || slices.ContainsFunc(pairs[0], isNoSide) {
		return nil
	}
	a, b := orderSides(pairs[0][0], pairs[0][1])
	return []string{a, b}
}

// side is one side of a comparison.
type side int

const (
	noSide side = iota
	referenceSide
	npuSide
)

// sideWords maps words and numbers of devices in names of folders and files to the side that they indicate.
var sideWords = map[string]side{
	"cpu": referenceSide, "gpu": referenceSide, "cuda": referenceSide, "nvidia": referenceSide, "origin": referenceSide, "golden": referenceSide, "gold": referenceSide, "ref": referenceSide, "reference": referenceSide,
	"bench": referenceSide, "benchmark": referenceSide, "baseline": referenceSide, "before": referenceSide,
	"npu": npuSide, "ascend": npuSide, "device": npuSide, "dump": npuSide, "dumps": npuSide, "dumped": npuSide, "my": npuSide, "target": npuSide,
	"run": npuSide, "current": npuSide, "after": npuSide,
	"910": npuSide, "310": npuSide, "a100": referenceSide, "a800": referenceSide, "h100": referenceSide, "h800": referenceSide, "h20": referenceSide, "v100": referenceSide, "4090": referenceSide,
}

// device is the number of a device at the beginning of a word: 910 of 910b3, a100.
var device = lang.Pattern(`^[a-z]?[0-9]+`)

// sideOfFolder returns the side indicated by the name of a folder or file: golden_dump is a reference.
func sideOfFolder(name string) side {
	found, words := noSide, wordsOf(name)
	for _, word := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		words = append(words, device().FindString(word))
	}
	for _, word := range words {
		if s := sideWords[word]; s != noSide && found != referenceSide {
			found = s
		}
	}
	return found
}

// pathInFolder returns the path of a folder or archive of a run.
func pathInFolder(run *dumpdir.Run, root, name string) string {
	if _, _, packed := store.SplitArchive(run.Files[0].Path()); packed && !strings.Contains(root, "!") {
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
	return pathInFolder(run, root, path.Join(above, sides[referenceSide][0])), pathInFolder(run, root, path.Join(above, sides[npuSide][0])), true
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

package inspect

import (
	"path"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
)

// TwoSides are two sides in one folder: two paths, or two stems of the names of files in it.
type TwoSides struct {
	Reference, NPU string
	// Stems has the stem of the reference and the stem of the NPU; nil if the paths differ.
	Stems []string
}

// FindTwoSides finds the two sides in a folder of a run: two folders whose names say so, or of two
// frameworks, two lists of calls, or files under two stems. ok is false if there are none, or
// several ways to see them.
func FindTwoSides(run *dumpdir.Run, root string) (s TwoSides, ok bool) {
	if run.Single || len(run.Paths) != 1 {
		return s, false
	}
	if s.Reference, s.NPU, ok = Sides(run, root); ok {
		return s, true
	}
	if s.Reference, s.NPU, ok = frameworkSides(run, root); ok {
		return s, true
	}
	if lists := run.Lists(); len(lists) == 2 {
		a, b := inOrder(lists[0].Path(), lists[1].Path())
		return TwoSides{Reference: a, NPU: b}, true
	}
	if a, b, ok := stemsOf(run); ok {
		return TwoSides{root, root, []string{a, b}}, true
	}
	return TwoSides{}, false
}

// inOrder returns the reference first. It keeps the order of paths whose names do not tell which one it is.
func inOrder(a, b string) (reference, npu string) {
	if sideOfFolder(path.Base(a)) == npuSide && sideOfFolder(path.Base(b)) != npuSide || sideOfFolder(path.Base(b)) == referenceSide && sideOfFolder(path.Base(a)) != referenceSide {
		return b, a
	}
	return a, b
}

// roles are words that tell tensors of one operator apart, not sides.
var roles = strings.Fields("input output in out weight bias gamma beta mean var forward backward fwd bwd grad grads q k v query key value")

// isNoSide reports whether a stem is a number, of an output, step or rank, or a role.
func isNoSide(stem string) bool {
	words := wordsOf(stem)
	return len(words) == 0 || len(words) == 1 && slices.Contains(roles, words[0])
}

// stemsOf returns the two stems of the files with tensors in a run: those that name sides, else the
// only ones. Of two files only such stems are sides.
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

package dumpdir

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
)

// problem adds a problem.
func (r *Run) problem(kind ProblemKind, name string, at Coordinates, err error) {
	r.Problems = append(r.Problems, Problem{kind, name, at, err})
}

// TreeWarnings are the oddities of mapping.csv files, and what is wrong with the tree
// that no file of tensors shows when it is read.
func (r *Run) TreeWarnings() []string {
	all := slices.Clone(r.Warnings)
	for i := range r.Problems {
		if p := &r.Problems[i]; p.Kind != Unreadable && p.Kind != Cut {
			all = append(all, p.Error())
		}
	}
	return all
}

// findProblems looks for files that cannot be read, and for ranks and steps that
// ought to be there.
func (r *Run) findProblems() {
	for _, f := range r.Files {
		switch {
		case f.Err != nil:
			r.problem(Unreadable, f.Path(), f.Folder.At, f.Err)
		case f.Size == 0 && f.Role == Tensors && !isEmpty(f):
			r.problem(Cut, f.Path(), f.Folder.At, errors.New("the file is empty"))
		}
	}
	r.findEmpty()
	r.findMissing()
	r.findRepeated()
}

// isEmpty reports whether the name of a file says that its tensor has no elements.
func isEmpty(f *File) bool {
	n := filename.Parse(f.Name)
	count, ok := n.Shape.Count()
	return ok && count == 0 && n.Shape != nil
}

// findEmpty looks for folders of a rank or step without tensors.
func (r *Run) findEmpty() {
	filled := make(map[*Folder]bool)
	for _, f := range r.Files {
		if f.Role == Side || f.Role == Product && f.Err == nil {
			continue
		}
		for dir := f.Folder; dir != nil && !filled[dir]; dir = dir.parent {
			filled[dir] = true
		}
	}
	for _, f := range r.folders {
		if filled[f] || f.side || f.parent == nil || !filled[f.parent] || !f.namesRound() {
			continue
		}
		at := f.At
		at.Folder = ""
		r.problem(Empty, f.Path, at, fmt.Errorf("%s has no tensors", at))
	}
}

// namesRound reports whether the folder itself stands for a rank or a step: the one
// above it does not say as much.
func (f *Folder) namesRound() bool {
	up := f.parent.At
	return f.At.Rank != "" && f.At.Rank != up.Rank || f.At.Step != "" && f.At.Step != up.Step
}

// findMissing looks for ranks between those that are there, and for steps that
// other ranks have.
func (r *Run) findMissing() {
	empty := make(map[[2]string]bool)
	for _, p := range r.Problems {
		if p.Kind == Empty {
			empty[[2]string{p.At.Rank, p.At.Step}] = true
		}
	}
	steps := make(map[string]map[string]bool) // by rank
	all := make(map[string]bool)
	for _, round := range r.Rounds {
		at := round.At
		if at.Rank == "" {
			continue
		}
		if steps[at.Rank] == nil {
			steps[at.Rank] = make(map[string]bool)
		}
		if at.Step != "" {
			steps[at.Rank][at.Step], all[at.Step] = true, true
		}
	}
	for _, rank := range missingNumbers(steps) {
		if at := (Coordinates{Rank: rank}); !empty[[2]string{rank, ""}] {
			r.problem(MissingRank, "", at, fmt.Errorf("rank %s is missing, although there are ranks below and above it", rank))
		}
	}
	for _, rank := range sortedKeys(steps) {
		for _, step := range sortedKeys(all) {
			if has := steps[rank]; len(has) == 0 || has[step] || empty[[2]string{rank, step}] {
				continue
			}
			r.problem(MissingStep, "", Coordinates{Rank: rank, Step: step}, fmt.Errorf("rank %s has no step %s, other ranks have", rank, step))
		}
	}
}

// missingNumbers returns the numbers between the smallest and the largest key that
// are none; nothing unless most are there.
func missingNumbers[V any](keys map[string]V) []string {
	var numbers []uint64
	for key := range keys {
		n, ok := parseNumber(key)
		if !ok {
			return nil
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	all := uint64(len(numbers))
	if all == 0 || numbers[all-1]-numbers[0] >= 2*all-1 {
		return nil
	}
	var missing []string
	for i := 1; i < len(numbers); i++ {
		for n := numbers[i-1] + 1; n < numbers[i]; n++ {
			missing = append(missing, strconv.FormatUint(n, 10))
		}
	}
	return missing
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, lang.CompareNatural)
	return keys
}

// findRepeated looks for rounds that several start times hold.
func (r *Run) findRepeated() {
	for _, round := range r.Rounds {
		starts := make(map[string]bool)
		for _, f := range round.folders {
			if f.start != "" {
				starts[f.start] = true
			}
		}
		repeats := slices.ContainsFunc(round.Ops, func(o *Op) bool { return o.Execution > 0 })
		if len(starts) > 1 && repeats {
			r.problem(Repeated, "", round.At, fmt.Errorf("%s was dumped at %d start times (%s): the operators count as executed several times",
				cmp.Or(round.At.String(), "one round"), len(starts), strings.Join(sortedKeys(starts), ", ")))
		}
	}
}

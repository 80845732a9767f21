package dumpdir

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/filename"
	"dumptool/internal/foreign"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// addProblem adds a problem.
func (r *Run) addProblem(kind ProblemKind, name string, at Coordinates, err error) {
	r.Problems = append(r.Problems, Problem{kind, name, at, lang.AsFailure(err)})
}

// TreeWarnings returns the warnings about mapping.csv files, and the problems of the tree that
// reading the tensors does not report.
func (r *Run) TreeWarnings() []lang.Sentence {
	all := slices.Clone(r.Warnings)
	for i := range r.Problems {
		if p := &r.Problems[i]; p.Kind != Unreadable && p.Kind != Cut {
			all = append(all, lang.Error(p))
		}
	}
	return all
}

// findProblems looks for unreadable files, and for missing and repeated ranks and steps.
func (r *Run) findProblems() {
	for _, f := range r.Files {
		switch {
		case f.Err != nil:
			r.addProblem(Unreadable, f.Path(), f.Folder.At, f.Err)
		case f.Size == 0 && f.Role == Tensors:
			shape := filename.Parse(f.Name).Shape
			if n, ok := shape.Count(); ok && n == 0 && shape != nil {
				continue
			}
			r.addProblem(Cut, f.Path(), f.Folder.At, lang.Errorf("the file is empty"))
		}
	}
	r.findEmpty()
	r.findMissing()
	r.findRepeated()
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
		if filled[f] || f.isSideFolder || f.parent == nil || !filled[f.parent] {
			continue
		}
		// The name of the folder itself is a rank or a step.
		if up := f.parent.At; (f.At.Rank == "" || f.At.Rank == up.Rank) && (f.At.Step == "" || f.At.Step == up.Step) {
			continue
		}
		at := f.At
		at.Folder = ""
		r.addProblem(Empty, f.Path, at, lang.Errorf("%s has no tensors", at))
	}
}

// findMissing looks for missing ranks between existing ones, and for missing steps of other ranks.
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
			r.addProblem(MissingRank, "", at, lang.Errorf("rank %s is missing, although there are ranks below and above it", rank))
		}
	}
	allSteps := slices.SortedFunc(maps.Keys(all), lang.CompareNatural)
	for _, rank := range slices.SortedFunc(maps.Keys(steps), lang.CompareNatural) {
		for _, step := range allSteps {
			if has := steps[rank]; len(has) == 0 || has[step] || empty[[2]string{rank, step}] {
				continue
			}
			r.addProblem(MissingStep, "", Coordinates{Rank: rank, Step: step}, lang.Errorf("rank %s has no step %s, other ranks have", rank, step))
		}
	}
}

// missingNumbers returns the missing numbers between the smallest and the largest key; nothing
// unless most numbers exist.
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

// findRepeated looks for rounds with several start times.
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
			r.addProblem(Repeated, "", round.At, lang.Errorf("%s was dumped at %d start times (%s): the operators count as executed several times",
				cmp.Or(round.At.Text(), lang.Text{EN: "one round"}), len(starts), strings.Join(slices.SortedFunc(maps.Keys(starts), lang.CompareNatural), ", ")))
		}
	}
}

// CountOtherFiles counts the texts, logs and pictures: files that are neither dumps nor arrays nor
// side files that dumptool reads.
func (r *Run) CountOtherFiles() (n int) {
	for _, f := range r.Files {
		ext := strings.ToLower(path.Ext(f.Name))
		isOther := f.Role == Unknown || f.Role == Side && (slices.Contains(uselessExtensions, ext) || !slices.Contains(sideNames, ext))
		if isOther && f.Err == nil && !f.IsGiven() && !f.Folder.isSideFolder {
			n++
		}
	}
	return n
}

// uselessExtensions lists extensions of side files that dumptool never reads.
var uselessExtensions = []string{".htm", ".html", ".log", ".md", ".png", ".py", ".sh", ".svg"}

// OtherFiles describes the files of a run without tensors. It is empty for a single file, which has
// an error.
func (r *Run) OtherFiles() []batch.Message {
	var found foreign.Files
	for _, f := range r.Files {
		if r.Single || f.Err != nil || f.Role == Table {
			continue
		}
		if head, err := readHead(f.Path(), foreign.HeadBytes); err == nil {
			found.Add(f.Path(), head)
		}
	}
	return lists.Map(found.Sentences(), func(s lang.Sentence) batch.Message { return batch.Infof("%s", s) })
}

// UnreadMessages are the error of an unreadable file and, for a file of another program, the
// reason why no reader accepts it.
func UnreadMessages(path string, err error) []batch.Message {
	all := []batch.Message{batch.Errorf("%v", safefile.WithPath(path, err))}
	if other, ok := errors.AsType[*tensorfile.ForeignError](err); ok && other.Err != nil {
		all = append(all, batch.Debug("no reader takes it", "file", path, "why", other.Err))
	}
	return all
}

// readHead reads at most the first bytes of a regular file.
func readHead(path string, most int64) ([]byte, error) {
	if info, err := store.Stat(path); err != nil || !info.Mode().IsRegular() { // a pipe would block
		return nil, os.ErrInvalid
	}
	in, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, most))
}

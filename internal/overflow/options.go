package overflow

import (
	"cmp"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/shard"
)

// Options says what of a run is looked at, and how.
type Options struct {
	// Select chooses rounds.
	Select dumpdir.Selection
	// Ops chooses operators; nil chooses all.
	Ops *dumpdir.NameSet
	// Workers is the number of files read at a time; 0 means one per CPU.
	Workers int
	// Most is how many records of each rank are analyzed, earliest first; 0 means
	// all.
	Most int
	// All makes Scan keep the rows of good tensors too, and reports for people show
	// everything.
	All bool
	// Shard is the part of the tensors that is read; the zero Spec reads all.
	Shard shard.Spec
	// Observe hears of the progress.
	Observe func(batch.Event)
}

// Problem is a file that could not be used, a record without an overflow, or
// something that the run lacks.
type Problem struct {
	// File is what it is about, empty for what is missing.
	File string `json:"file"`
	Fault
	// Empty is set for a readable record without an overflow.
	Empty bool `json:"empty,omitempty"`
	// Kind is that of a problem of the folders, empty for others.
	Kind dumpdir.ProblemKind `json:"kind,omitempty"`
	// Place is the place among those of all shards, for what a shard could not read.
	Place int `json:"place,omitempty"`
}

func newProblem(file string, err error) Problem { return Problem{File: file, Fault: faultOf(err)} }

// orderProblems orders problems by their places, which are kept for those who merge.
func orderProblems(problems []Problem, keepPlaces bool) {
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Place, b.Place) })
	for i := range problems {
		if !keepPlaces {
			problems[i].Place = 0
		}
	}
}

// Unread reports whether data could not be read.
func (p *Problem) Unread() bool {
	return !p.Empty && (p.Kind == "" || p.Kind == dumpdir.Unreadable || p.Kind == dumpdir.Cut)
}

// unread counts the problems that are about data that could not be read.
func unread(problems []Problem) int {
	n := 0
	for i := range problems {
		if problems[i].Unread() {
			n++
		}
	}
	return n
}

// unfetched counts the problems of the way to object storage.
func unfetched(problems []Problem) int {
	n := 0
	for i := range problems {
		if problems[i].Transport {
			n++
		}
	}
	return n
}

// problemsOf lists the problems of the chosen rounds of a run. A table of
// statistics that cannot be used holds data.
func problemsOf(run *dumpdir.Run, chosen *dumpdir.Selection) []Problem {
	tables := make(map[string]bool)
	for _, f := range run.Files {
		if f.Role == dumpdir.Table {
			tables[f.Path()] = true
		}
	}
	all := []Problem{}
	for _, p := range run.Problems {
		if !chosen.Wants(p.At) {
			continue
		}
		if p.Kind == dumpdir.BadSide && tables[p.Path] {
			p.Kind = dumpdir.Unreadable
		}
		all = append(all, Problem{File: p.Path, Fault: faultOf(p.Err), Kind: p.Kind})
	}
	return slices.Clip(all)
}

package overflow

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Place is where in a dump tree a file lies: which device wrote it, and in
// which step. Empty parts are not known.
type Place struct {
	// Device is the rank or else the device id.
	Device string
	// Step is the step or else the iteration (data index).
	Step string
	// Model is the name of the model or network.
	Model string

	dir   string
	order []int64 // of steps: outer step, start time, iteration
}

// The layouts of dump folders, from the public documentation of the Ascend
// toolkit and MindSpore:
//
//	{time}/{device}[/{model_name}][/{model_id}/{data_index}]
//	{step}/{time}/{device}/{model_name}/{model_id}/{iteration}
//	rank_{rank}/{time}/step_{n}/{time}/{device}/{model_name}/{model_id}/{iteration}
//	rank_{rank}/{net_name}/{graph_id}/{iteration}
//	rank_{rank}/debug_files/{iteration}
//	{device}/{net_name}_graph_{graph_id}/{graph_id}/{iteration}
//
// {time} has 14 digits.
var (
	timeFolder  = regexp.MustCompile(`^[0-9]{14}$`)
	rankFolder  = regexp.MustCompile(`^rank_?([0-9]+)$`)
	stepFolder  = regexp.MustCompile(`^step_?([0-9]+)$`)
	graphFolder = regexp.MustCompile(`^(.+)_graph_[0-9]+$`)
)

// placeOf reads the folders of a path, the last of which are below, the folders
// of the file inside the tree. The folders nearest to the file count most; a
// plain number above a start time is a step only inside the tree.
func placeOf(path, below string) Place {
	dir := filepath.Dir(path)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	parts := strings.Split(filepath.ToSlash(dir), "/")
	p := Place{dir: dir}
	at := func(i int) string {
		if i < 0 || i >= len(parts) {
			return ""
		}
		return parts[i]
	}
	last := len(parts) - 1
	inside := len(parts)
	if below != "." && below != "" {
		inside -= strings.Count(filepath.ToSlash(below), "/") + 1
	}
	time := lastMatch(parts, timeFolder)
	rank := lastMatch(parts, rankFolder)
	graph := lastMatch(parts, graphFolder)
	outer, start, iteration := int64(-1), int64(-1), int64(-1)
	switch {
	case time >= 0 && isNumber(at(time+1)):
		p.Device = at(time + 1)
		start, _ = strconv.ParseInt(at(time), 10, 64)
		if last >= time+3 && isNumber(at(last)) && isNumber(at(last-1)) {
			iteration = number(at(last))
			p.Step = at(last)
			if last-2 > time+1 {
				p.Model = at(last - 2)
			}
		}
		if above := at(time - 1); isNumber(above) && time-1 >= inside {
			outer, p.Step = number(above), above
		} else if m := stepFolder.FindStringSubmatch(above); m != nil {
			outer, p.Step = number(m[1]), m[1]
		}
	case rank >= 0 && last > rank:
		if isNumber(at(last)) {
			iteration, p.Step = number(at(last)), at(last)
		}
		if at(rank+1) != "debug_files" && last > rank+1 {
			p.Model = at(rank + 1)
		}
	case graph >= 1 && isNumber(at(graph-1)):
		p.Device, p.Model = at(graph-1), graphFolder.FindStringSubmatch(at(graph))[1]
		if isNumber(at(last)) && last > graph {
			iteration, p.Step = number(at(last)), at(last)
		}
	}
	if rank >= 0 && (time < rank || stepFolder.MatchString(at(time-1))) {
		p.Device = rankFolder.FindStringSubmatch(at(rank))[1]
	}
	p.order = []int64{outer, start, iteration}
	return p
}

func lastMatch(parts []string, form *regexp.Regexp) int {
	for i := len(parts) - 1; i >= 0; i-- {
		if form.MatchString(parts[i]) {
			return i
		}
	}
	return -1
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 63)
	return err == nil
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// comparePlaces orders places by device, then step.
func comparePlaces(a, b Place) int {
	if c := compareNatural(a.Device, b.Device); c != 0 {
		return c
	}
	for i := range a.order {
		if c := cmp.Compare(a.order[i], b.order[i]); c != 0 {
			return c
		}
	}
	return 0
}

// compareNatural orders numbers by value and before other text.
func compareNatural(a, b string) int {
	switch an, bn := isNumber(a), isNumber(b); {
	case an && bn:
		return cmp.Compare(number(a), number(b))
	case an != bn && a != "" && b != "":
		if an {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

// sameStep reports whether a record lies apart from a dump of the same step, as
// MindSpore keeps them: rank and iteration are the same, and one of the folders
// names no network. Ids repeat in every run, model and device, so nothing less
// will do.
func sameStep(a, b Place) bool {
	return a.Device != "" && a.Step != "" && a.Device == b.Device && slices.Equal(a.order, b.order) &&
		(a.Model == "" || b.Model == "")
}

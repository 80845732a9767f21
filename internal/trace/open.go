package trace

import (
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Open reads the calls of rounds. Rounds whose rank is no number are left out. If a step has a rank twice, the later
// round counts, with a warning.
func Open(rounds []*dumpdir.Round) (*Run, []lang.Sentence) {
	var warnings []lang.Sentence
	steps := make(map[dumpdir.Coordinates]*Step)
	var all []*Step
	of := StepsOf(rounds)
	odd, first := 0, lang.Sentence{}
	for _, round := range rounds {
		rank, err := strconv.Atoi(round.At.Rank)
		if err != nil || rank < 0 {
			continue
		}
		at := of[round]
		s := steps[at]
		if s == nil {
			s = &Step{At: at, Calls: make(map[int][]*Call), Ordered: make(map[int]bool), rounds: make(map[int]dumpdir.Coordinates)}
			steps[at] = s
			all = append(all, s)
		}
		if s.Calls[rank] != nil {
			warnings = append(warnings, lang.Say("rank %d occurs twice: the later one counts", rank))
		}
		s.Calls[rank], s.Ordered[rank], s.rounds[rank] = callsOf(s, rank, round), round.Order.IsKnown(), round.At
		for _, op := range round.Ops {
			if text := oddGroup(op); !text.IsZero() {
				if odd++; odd == 1 {
					first = lang.Say("%s: %s", op.Names()[0], text)
				}
			}
		}
	}
	if odd > 0 {
		warnings = append(warnings, lang.Say("%s have an unreadable group, which is ignored, first %s", lang.CountText(odd, "communication"), first))
	}
	return New(all), append(warnings, severalPrograms(all)...)
}

// severalPrograms warns about a run of several programs with the same ranks in different folders.
func severalPrograms(steps []*Step) []lang.Sentence {
	var ranks []int
	var folders []string
	for _, s := range steps {
		for _, o := range steps {
			at := o.At
			if at.Folder = s.At.Folder; o == s || at != s.At {
				continue
			}
			both := slices.DeleteFunc(s.Ranks(), func(rank int) bool { return o.Calls[rank] == nil })
			if ranks = append(ranks, both...); len(both) > 0 {
				folders = append(folders, s.At.Folder)
			}
		}
	}
	if len(ranks) == 0 {
		return nil
	}
	slices.Sort(ranks)
	slices.Sort(folders)
	ranks, folders = slices.Compact(ranks), slices.Compact(folders)
	return []lang.Sentence{lang.Say("%s in several folders (%s): each folder counts as a separate run", RankText(ranks), strings.Join(folders, ", "))}
}

// StepsOf returns the coordinates of the step of each round. Several programs of a run with the same ranks differ in
// their folders. A rank that only one program has belongs to the program in whose folder it is.
func StepsOf(rounds []*dumpdir.Round) map[*dumpdir.Round]dumpdir.Coordinates {
	folders := make(map[dumpdir.Coordinates][]string)
	of := make(map[*dumpdir.Round]dumpdir.Coordinates, len(rounds))
	for _, r := range rounds {
		at := r.At
		at.Rank, at.Folder = "", ""
		of[r] = at
		if f := r.At.Folder; f != "" && !slices.Contains(folders[at], f) {
			folders[at] = append(folders[at], f)
		}
	}
	for _, r := range rounds {
		at := of[r]
		all := folders[at]
		at.Folder = r.At.Folder
		for _, f := range all {
			if r.At.Folder == "" && len(f) > len(at.Folder) && liesIn(r, f) {
				at.Folder = f
			}
		}
		of[r] = at
	}
	return of
}

// liesIn reports whether a round is in a folder; folder is a part of a path.
func liesIn(r *dumpdir.Round, folder string) bool {
	for _, op := range r.Ops {
		if len(op.Tensors) > 0 {
			if in := op.Tensors[0].File.Folder; in != nil {
				return strings.Contains("/"+in.Dir+"/", "/"+folder+"/")
			}
		}
	}
	return false
}

// oddGroup describes a group of a communication that cannot be read, empty for a good group.
func oddGroup(op *dumpdir.Op) (odd lang.Sentence) {
	if op.Call == nil || Communication(op) == "" {
		return odd
	}
	for i := range op.Call.Leaves {
		if v := op.Call.Leaves[i].Value; v != nil && !v.Odd.IsZero() {
			return v.Odd
		}
	}
	return odd
}

// OpenStep reads the calls of a round of the reference, to be compared with all ranks of a step.
func OpenStep(round *dumpdir.Round) *Step {
	s := &Step{At: round.At, Calls: make(map[int][]*Call), Ordered: map[int]bool{0: round.Order.IsKnown()}}
	s.Calls[0] = callsOf(s, 0, round)
	return New([]*Step{s}).Steps[0]
}

// RanksOf returns the ranks of rounds without repetition.
func RanksOf(rounds []*dumpdir.Round) (all []int) {
	for _, round := range rounds {
		if rank, err := strconv.Atoi(round.At.Rank); err == nil && rank >= 0 && !slices.Contains(all, rank) {
			all = append(all, rank)
		}
	}
	return all
}

// callsOf returns the calls of a round in their order. Calls in dumps of msprobe without tensors, such as barriers,
// are included.
func callsOf(s *Step, rank int, round *dumpdir.Round) []*Call {
	calls := make([]*Call, 0, len(round.Ops))
	for _, op := range round.Ops {
		name := op.Names()[0]
		role, layer, _ := ParseName(name)
		c := &Call{Rank: rank, Step: s, Name: name, Role: role, Layer: layer, Script: op.Script()}
		byName := c.addTensors(op)
		switch api := Communication(op); {
		case op.Call != nil && CallAPI(name) != "":
			c.Comm = NewComm(api, op.Call.Leaves, byName)
			if n := len(op.Call.Modules); n > 0 {
				c.Module = op.Call.Modules[n-1]
			}
		case api != "":
			c.Comm = commOfFiles(api, c)
		}
		calls = append(calls, c)
	}
	return calls
}

// addTensors sets the tensors of a call, and returns them by name.
func (c *Call) addTensors(op *dumpdir.Op) map[string]*Tensor {
	byName := make(map[string]*Tensor, len(op.Tensors))
	for i := range op.Tensors {
		of := &op.Tensors[i]
		t := &Tensor{Call: c, Path: strings.Trim(strconv.Itoa(of.Index)+"."+of.Slice, "."), File: of}
		if s := of.Statistics; s != nil {
			t.DType, t.Shape, t.Digest = s.DType, s.Shape, s.Digest
			if highest, lowest := s.Number(dumpdir.Max), s.Number(dumpdir.Min); highest != nil && lowest != nil {
				t.spread, t.numbers = varied, finite
				if !(*highest > *lowest) {
					t.spread = uniform
				}
				if !IsFinite(*highest - *lowest) {
					t.numbers = notFinite
				}
			}
		}
		if of.Table { // the elements are not stored
			t.File = nil
		}
		if l := of.Leaf; l != nil {
			t.Name, t.Path = l.Name, l.Path
			byName[l.Name] = t
		} else {
			t.Name = c.Name + "." + string(of.Kind) + "." + t.Path
		}
		switch of.Kind {
		case tensor.Input:
			c.In = append(c.In, t)
		case tensor.Parameter:
			c.Params = append(c.Params, t)
		case tensor.Output, "":
			c.Out = append(c.Out, t)
		}
	}
	return byName
}

// commOfFiles returns a communication from its tensors, without group and root.
func commOfFiles(name string, c *Call) *Comm {
	m := CommOf(name)
	if m.API.Pattern == SendReceives {
		m.Parts = batchOfFiles(c)
		return m
	}
	m.Out, m.ArgsMissing = c.Out, true
	in := m.API.in
	if typeAPI(name) != nil { // the data comes before counts and displacements
		in = 0
	}
	for _, t := range c.In {
		if at, _, _ := strings.Cut(t.Path, "."); at == strconv.Itoa(in) || len(c.In) == 1 {
			m.In = append(m.In, t)
		}
	}
	return m
}

// batchOfFiles returns the sends and receives of a batch from its tensors. Buffers of receives have no
// contents before the call: a tensor that is an output only was received, all others were sent.
func batchOfFiles(c *Call) (parts []*Comm) {
	for _, t := range c.In {
		part := CommOf("isend")
		part.In, part.ArgsMissing = []*Tensor{t}, true
		parts = append(parts, part)
	}
	for _, t := range c.Out {
		if !slices.ContainsFunc(c.In, func(in *Tensor) bool { return in.Path == t.Path }) {
			part := CommOf("irecv")
			part.Out, part.ArgsMissing = []*Tensor{t}, true
			parts = append(parts, part)
		}
	}
	return parts
}

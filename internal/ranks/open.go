package ranks

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Open takes from a run what is needed to judge it as one of many ranks. Rounds whose
// rank is no number are left out, and of a rank that a step has twice the one that comes
// last counts: a warning says so. Besides are ranks of the run that were not chosen; see
// RanksOf.
func Open(rounds []*dumpdir.Round, besides []int) (*Run, []lang.Sentence) {
	var warnings []lang.Sentence
	steps := make(map[dumpdir.Coordinates]*Step)
	var all []*Step
	odd, first := 0, ""
	for _, round := range rounds {
		rank, err := strconv.Atoi(round.At.Rank)
		if err != nil || rank < 0 {
			continue
		}
		at := round.At
		at.Rank = ""
		s := steps[at]
		if s == nil {
			s = &Step{At: at, Calls: make(map[int][]*Call), ordered: make(map[int]bool)}
			steps[at] = s
			all = append(all, s)
		}
		if s.Calls[rank] != nil {
			warnings = append(warnings, lang.Sayf("rank %d is there twice: the later one counts", "rank %d 出现了两次：以后出现的为准", rank))
		}
		s.Calls[rank], s.ordered[rank] = callsOf(s, rank, round), round.Order.IsKnown()
		for _, op := range round.Ops {
			if text := oddGroup(op); text != "" {
				if odd++; odd == 1 {
					first = op.Names()[0] + ": " + text
				}
			}
		}
	}
	if odd > 0 {
		warnings = append(warnings, lang.Sayf("%s have no group that can be read and count as if they named none, first %s", "%s的组无法读取，按未给出组处理，首个为 %s", lang.CountText(odd, "communication", "次通信"), first))
	}
	return newRun(all, besides), warnings
}

// oddGroup says what is wrong with the group of a communication, empty for nothing.
func oddGroup(op *dumpdir.Op) string {
	if op.Call == nil || communication(op) == "" {
		return ""
	}
	for i := range op.Call.Leaves {
		if v := op.Call.Leaves[i].Value; v != nil && v.Odd != "" {
			return v.Odd
		}
	}
	return ""
}

// openStep takes what is needed from a round that is compared with all ranks of a step.
func openStep(round *dumpdir.Round) *Step {
	s := &Step{At: round.At, Calls: make(map[int][]*Call), ordered: map[int]bool{0: round.Order.IsKnown()}}
	s.Calls[0] = callsOf(s, 0, round)
	return newRun([]*Step{s}, nil).Steps[0]
}

// RanksOf are the ranks of rounds, each once.
func RanksOf(rounds []*dumpdir.Round) (all []int) {
	for _, round := range rounds {
		if rank, err := strconv.Atoi(round.At.Rank); err == nil && rank >= 0 && !slices.Contains(all, rank) {
			all = append(all, rank)
		}
	}
	return all
}

// callsOf are the calls of a round in their order. Those of msprobe without tensors,
// such as barriers, count too.
func callsOf(s *Step, rank int, round *dumpdir.Round) []*Call {
	calls := make([]*Call, 0, len(round.Ops))
	for _, op := range round.Ops {
		name := op.Names()[0]
		role, layer, _ := parseName(name)
		c := &Call{Rank: rank, Step: s, Name: name, Role: role, Layer: layer, Script: op.Script()}
		byName := c.addTensors(op)
		switch api := callAPI(name); {
		case api != "" && op.Call != nil:
			c.Comm = newComm(api, op.Call.Leaves, byName)
			if n := len(op.Call.Modules); n > 0 {
				c.Module = op.Call.Modules[n-1]
			}
		case api != "":
			c.Comm = commOfFiles(api, c)
		case typeAPI(op.Type) != nil:
			c.Comm = commOfFiles(op.Type, c)
		}
		calls = append(calls, c)
	}
	return calls
}

// addTensors gives a call its tensors, and returns them by their names.
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
				if apart := *highest - *lowest; math.IsNaN(apart) || math.IsInf(apart, 0) {
					t.numbers = notFinite
				}
			}
		}
		if of.Table { // the elements are not there
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

// commOfFiles is a communication of which only tensors are known: the group has to be
// found, and the root is not known.
func commOfFiles(name string, c *Call) *Comm {
	m := &Comm{api: apiOf(name), Name: name, Root: -1, Op: sum, Out: c.Out, untold: true}
	if m.api == nil {
		m.api = &api{names: []string{name}}
	}
	for _, t := range c.In {
		if at, _, _ := strings.Cut(t.Path, "."); at == itoa(m.api.in) || len(c.In) == 1 {
			m.In = append(m.In, t)
		}
	}
	return m
}

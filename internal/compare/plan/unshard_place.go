package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// This file makes pairs and rows from located tensors, and orders them across ranks.

// pairs returns the pairs of the located tensors of a round.
func (s *ShardedStep) pairs(npus []pair.Tensor) []pair.Pair {
	all := []pair.Pair{}
	for i := range npus {
		if x, ok := s.locations[npus[i].ID]; ok {
			all = append(all, pair.Pair{Ref: x.ref, NPU: npus[i].ID})
		}
	}
	return all
}

// setParts sets the part of the reference on the rows of a round, or the reason why a row is not compared.
func (p *Planner) setParts(round *Round, from int) {
	s := round.sharded
	for i := range p.Pairs[from:] {
		x := &p.Pairs[from+i]
		if x.NPU == nil || x.Ref == nil || x.Row.Pair.Status != "" {
			continue
		}
		at := s.locations[x.NPU.ID]
		skip := func(code finding.Code, why lang.Sentence) {
			x.Row.Pair = record.PairVerdict{Status: record.Skip, Reasons: []finding.Finding{{Code: code, Confidence: finding.High, Evidence: why}}}
		}
		if len(s.refs) > 1 && !at.isCommunication && at.op != x.Row.Op { // it belongs to another pipeline stage of the reference
			x.Row.Op, x.Row.NPUOp = at.op, cmp.Or(x.Row.NPUOp, x.Row.Op)
			if x.Row.NPUOp == at.op {
				x.Row.NPUOp = ""
			}
		}
		if joined := s.joined[x.NPU.ID]; joined != nil {
			one := *x.Ref
			one.Joined, one.Statistics, one.Size = joined, nil, one.Size*int64(len(joined.Pieces))
			x.Ref = &one
		}
		if x.comm = at.isCommunication; at.isCommunication {
			t := &p.npu.pairingNames[x.NPU.ID]
			x.Row.Op, x.Row.NPUOp, x.Row.OpType, x.Row.Kind, x.Row.Output = t.Name(), "", t.OpType, string(t.Kind), t.Index
		}
		switch {
		case at.isSummand:
			skip(finding.PartialSum, lang.Say("a summand of a sum over ranks: only the sum is compared"))
		case at.isLost && s.hasOnlyStatistics:
			skip(finding.NotLocated, lang.Say("statistics do not show which part of the reference the tensor is"))
		case at.isLost && len(s.refs) > 1:
			skip(finding.NotLocated, lang.Say("its values are not found in the joined tensors of %d reference ranks; compare with a reference of one rank instead", len(s.refs)))
		case at.isLost:
			skip(finding.NotLocated, lang.Say("its values are not found in the reference"))
		case at.part != nil:
			x.Row.Part = at.part
		}
	}
}

// missingTensors returns the reference tensors that are listed as missing: the tensors that no rank has, in the round
// of the first rank only.
func (s *ShardedStep) missingTensors(ref *Side, round *Round, all []pair.UnmatchedTensor) []pair.UnmatchedTensor {
	if round.pair.NPU != s.npu[0] {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(u pair.UnmatchedTensor) bool {
		return s.located[u.ID] || len(s.refs) > 1 && trace.IsCommunication(ref.op[u.ID])
	})
}

// clockOf returns the position of a tensor in the causal order of all ranks.
func (s *ShardedStep) clockOf(npu *Side, t *Tensor, place int) int {
	rank, _ := strconv.Atoi(npu.round[t.ID].At.Rank)
	if clock, ok := s.clock[CallOfRank{rank, npu.op[t.ID].Names()[0]}]; ok {
		return clock
	}
	return place
}

// orderRounds sorts the rounds so that ranks that are judged together are neighbours.
func (p *Planner) orderRounds(chosen []dumpdir.RoundPair) {
	if p.sharding == nil {
		return
	}
	slices.SortStableFunc(chosen, func(a, b dumpdir.RoundPair) int {
		if c := p.sharding.coordinates[a.NPU].Compare(p.sharding.coordinates[b.NPU]); c != 0 {
			return c
		}
		return a.NPU.At.Compare(b.NPU.At)
	})
}

// AddRankFlow adds the inputs of the communications of a round to its data flow: the operators of all ranks whose
// outputs the communications read.
func (r *Round) AddRankFlow(flow record.Flow, rounds []*Round) record.Flow {
	if r.sharded == nil {
		return flow
	}
	if flow == nil {
		flow = record.Flow{}
	}
	rank, _ := strconv.Atoi(r.RoundCoordinates.Rank)
	for at, reads := range r.sharded.Reads {
		if at.Rank != rank {
			continue
		}
		sources := []record.Source{}
		for _, from := range reads {
			source := record.Source{Op: cmp.Or(r.sharded.names[from], from.Name), Output: -1}
			if from.Rank != rank {
				i := slices.IndexFunc(rounds, func(x *Round) bool {
					return x.sharded == r.sharded && x.RoundCoordinates.Rank == strconv.Itoa(from.Rank)
				})
				if i < 0 {
					continue
				}
				source.Round = rounds[i].Name
			}
			sources = append(sources, source)
		}
		slices.SortFunc(sources, func(a, b record.Source) int {
			return strings.Compare(a.Round+"\x00"+a.Op, b.Round+"\x00"+b.Op)
		})
		flow[at.Name] = sources
	}
	return flow
}

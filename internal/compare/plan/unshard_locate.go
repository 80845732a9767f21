package plan

import (
	"context"
	"slices"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/tensor"
	"dumptool/internal/unshard"
	"dumptool/internal/unshard/locate"
)

// This file locates the tensors of a step in the reference.

// openRanks opens the compared ranks of the NPU.
func (s *sharding) openRanks(o *Options, npu *Side) {
	var rounds []*dumpdir.Round
	for _, step := range s.steps {
		if npu.isOwn(step.npu[0]) {
			rounds = append(rounds, step.npu...)
		}
	}
	var warnings []lang.Sentence
	s.Run, warnings = ranks.Open(rounds, npu.run.Rounds)
	npu.Warnings = append(npu.Warnings, warnings...)
	if o.Shard.IsSharded() {
		npu.Warnings = append(npu.Warnings, lang.Say("shards compare tensors alone: dumptool check judges communication and replicas of the ranks"))
	}
}

// matchNames maps NPU tensors to reference tensors of the same name if there are only statistics: without values their
// parts cannot be located.
func (s *sharding) matchNames(ref, npu *Side) {
	refID, npuID := ref.tensorIDs(), npu.tensorIDs()
	for _, step := range s.steps {
		step.locations, step.located, step.hasOnlyStatistics = make(map[int]location), make(map[int]bool), true
		of := make(map[string]int)
		for _, op := range step.ref.Ops {
			for i := range op.Tensors {
				of[tensorKey(op, &op.Tensors[i])] = refID[&op.Tensors[i]]
			}
		}
		for _, r := range step.npu {
			for _, op := range r.Ops {
				for i := range op.Tensors {
					t := &op.Tensors[i]
					if id, ok := of[tensorKey(op, t)]; ok {
						step.locations[npuID[t]] = location{ref: id, op: op.Name, isLost: true}
						step.located[id] = true
					}
				}
			}
		}
	}
}

// locateReference finds the part of the reference that each NPU tensor is.
func (s *sharding) locateReference(ctx context.Context, o *Options, ref, npu *Side) error {
	refID, npuID := ref.tensorIDs(), npu.tensorIDs()
	for k, step := range s.steps {
		own := s.Run.StepOf(step.npu[0].At)
		if own == nil {
			continue
		}
		located, err := unshard.Locate(ctx, own, unshard.OpenReference(step.refs), s.otherReferences(k), o.Pair.NamesOnly, o.Version, o.Workers)
		if err != nil {
			return err
		}
		s.Given = append(s.Given, &located.Given)
		step.setLocations(located, ref, refID, npuID)
		step.setOrder(s.Run.Flow(own, ranks.Options{Version: o.Version, Groups: o.Groups}), located)
		s.Maps = append(s.Maps, located.Maps(step.npu[0].At.Step)...)
	}
	return nil
}

// otherReferences returns the reference rounds of all other steps: the preceding steps first, the nearest first, then
// the following steps.
func (s *sharding) otherReferences(k int) (rounds [][]*dumpdir.Round) {
	for _, step := range slices.Backward(s.steps[:k]) {
		rounds = append(rounds, step.refs)
	}
	for _, step := range s.steps[k+1:] {
		rounds = append(rounds, step.refs)
	}
	return rounds
}

// readIDs returns the IDs of the tensors of a side.
func (s *Side) tensorIDs() map[*dumpdir.Tensor]int {
	ids := make(map[*dumpdir.Tensor]int, len(s.entries))
	for i, t := range s.entries {
		ids[t] = i
	}
	return ids
}

// setLocations stores the locations of the tensors.
func (s *ShardedStep) setLocations(located *unshard.StepPositions, ref *Side, refID, npuID map[*dumpdir.Tensor]int) {
	s.locations, s.located, s.names, s.joined = make(map[int]location, len(located.At)), make(map[int]bool), make(map[CallOfRank]string), make(map[int]*align.Joined)
	type of struct {
		m    *locate.Role
		what string
	}
	parts := make(map[of]*record.Part)
	for t, l := range located.At {
		id, ok := npuID[t.File]
		if !ok || l.Ref == nil {
			continue
		}
		x := location{isSummand: l.Partial, isLost: !l.Partial && l.Map == nil, isCommunication: t.Call.Comm != nil}
		if x.ref, ok = refID[l.Ref.File]; !ok {
			continue
		}
		x.op = l.Ref.Call.Name
		for _, t := range l.Ref.Sources {
			s.located[refID[t.File]] = true
		}
		if pieces := l.Ref.Pieces; l.Map != nil && pieces != nil {
			s.joined[id] = &align.Joined{Shape: l.Ref.Shape}
			for _, p := range pieces {
				s.joined[id].Pieces = append(s.joined[id].Pieces, align.Piece{Ref: &ref.Tensors[refID[p.Of.File]].Ref, From: p.From})
			}
		}
		if l.Map != nil {
			key := of{l.Map, record.PartOf}
			switch {
			case t.IsSummed():
				key.what = record.SumOf
			case x.isCommunication:
				key.what = record.CopyOf
			}
			if _, ok := parts[key]; !ok {
				parts[key] = recordPart(l.Map, l.Ref.Shape, key.what)
			}
			x.part = parts[key]
		}
		s.locations[id], s.located[x.ref] = x, true
		if !x.isCommunication {
			s.names[CallOfRank{t.Call.Rank, t.Call.Name}] = l.Ref.Call.Name
		}
	}
}

// setOrder sets the causal order of the calls, and the inputs of communications.
func (s *ShardedStep) setOrder(flow *ranks.Flow, located *unshard.StepPositions) {
	s.Reads, s.clock = make(map[CallOfRank][]CallOfRank), make(map[CallOfRank]int)
	for at, sources := range flow.Reads(located.Sources) {
		key := CallOfRank{at.Rank, at.Name}
		for _, from := range sources {
			s.Reads[key] = append(s.Reads[key], CallOfRank{from.Rank, from.Name})
		}
	}
	s.ordered = flow.Ordered
	for c, clock := range flow.Clocks {
		s.clock[CallOfRank{c.Rank, c.Name}] = clock
	}
}

// recordPart converts a part of the reference for records; nil if it is the whole tensor.
func recordPart(m *locate.Role, full tensor.Shape, what string) *record.Part {
	p := &record.Part{Score: jsonpos.Float(m.Score), Confidence: unshard.Confidence(m), Of: what}
	for axis, x := range m.Axes {
		if x == nil {
			continue
		}
		a := record.PartAxis{Axis: axis, Kind: string(x.Kind(int(full[axis])))}
		for _, r := range x.Runs() {
			a.Runs = append(a.Runs, [2]int64{int64(r.From), int64(r.N)})
		}
		p.Axes = append(p.Axes, a)
	}
	if len(p.Axes) == 0 {
		return nil
	}
	return p
}

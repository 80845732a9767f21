package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
	"dumptool/internal/shard"
	"dumptool/internal/tensor"
)

// Round is a pair of rounds whose tensors are compared.
type Round struct {
	record.Round
	pair dumpdir.RoundPair
	// calls has the paired calls of two msprobe rounds, nil for others.
	calls *pair.Calls
	// Graph is the data flow, nil without a graph file.
	Graph *graph.Graph
	// sharded is the step of the round if NPU tensors are parts of tensors of the reference, else nil.
	sharded *ShardedStep
	// Tokens are the rows that are compared, nil for all rows.
	Tokens *align.Tokens
}

// pairRounds pairs the rounds of both sides; chosen are the indexes of the requested pairs.
func (o *Options) pairRounds(sharded *sharding, ref, npu []*dumpdir.Round) (paired *dumpdir.RoundPairs, chosen []int) {
	paired = dumpdir.PairRounds(ref, npu)
	if o.Pair.SameRounds {
		paired.DropDiffering()
	}
	sharded.joinReferences(paired)
	wanted := o.Pair.Rounds.selectedRound(paired.Pairs)
	for i, x := range paired.Pairs {
		if wanted == nil || x.NPU == wanted {
			chosen = append(chosen, i)
		}
	}
	return paired, chosen
}

// pairRounds sets the pairs of rounds to compare.
func (p *Planner) pairRounds() {
	paired, which := p.options.pairRounds(p.sharding, p.ref.rounds, p.npu.rounds)
	p.Warnings = append(p.Warnings, paired.Notes...)
	p.RefRounds, p.NPURounds = paired.Ref, paired.NPU
	var chosen []dumpdir.RoundPair
	all := roundNames(paired.Pairs)
	for i, x := range paired.Pairs {
		if slices.Contains(which, i) {
			chosen = append(chosen, x)
			continue
		}
		p.OtherRounds, p.otherRounds = append(p.OtherRounds, all[i]), append(p.otherRounds, x.NPU)
	}
	p.orderRounds(chosen)
	keys, names := p.npu.roundKeys(), roundNames(chosen)
	for i, x := range chosen {
		p.rounds = append(p.rounds, &Round{pair: x, Round: record.Round{
			Name: names[i], RoundCoordinates: recordCoordinates(x.At), RefAt: recordCoordinates(x.Ref.At), Notes: x.Notes, Findings: record.NoFindings(),
			Pairing: record.Pairing{Place: i, Key: keys[x.NPU]}}})
		if p.sharding != nil && p.sharding.byRound[x.NPU] != nil {
			r := p.rounds[i]
			r.sharded, r.Pairing.Across, r.Pairing.Folder = p.sharding.byRound[x.NPU], true, x.NPU.At.Folder
		}
	}
	p.findUnreadRounds()
	p.listed = &record.Listing{Ref: p.ref.listRounds(paired.Ref, p.options.Pair.Ops == nil), NPU: p.npu.listRounds(paired.NPU, false),
		Inputs: p.options.Pair.Inputs || hasInputs(p.ref.pairingNames), Others: p.unrequestedRounds(keys)}
	if p.share != nil {
		p.rounds = slices.DeleteFunc(p.rounds, func(r *Round) bool { return !p.share.pairs[bothRounds(r.pair)] })
	}
}

// listRounds returns the rounds of a side; alone are its rounds without a partner, whose outputs it counts if outputs is
// set.
func (s *Side) listRounds(alone []*dumpdir.Round, outputs bool) []record.ListedRound {
	all := make([]record.ListedRound, len(s.rounds))
	for i, r := range s.rounds {
		all[i] = record.ListedRound{RoundCoordinates: recordCoordinates(r.At), Folder: r.At.Folder, Paired: !slices.Contains(alone, r), Dumps: s.dumps[r]}
		if outputs && !all[i].Paired {
			all[i].Outputs = s.outputsIn(r)
		}
	}
	return all
}

// unrequestedRounds returns the keys of the NPU rounds that were not requested.
func (p *Planner) unrequestedRounds(keys map[*dumpdir.Round]string) []string {
	out := map[string]bool{}
	for round, key := range keys {
		if !slices.Contains(p.npu.rounds, round) {
			out[key] = true
		}
	}
	for _, round := range p.otherRounds {
		out[keys[round]] = true
	}
	for _, round := range p.rounds {
		delete(out, round.Pairing.Key)
	}
	return slices.Sorted(maps.Keys(out))
}

// roundShare is the part of the rounds that a run compares: all rounds, or the rounds of a shard.
type roundShare struct {
	pairs map[[2]*dumpdir.Round]bool
	// hasStrayTensors: tensors that belong to no round are compared by another shard.
	hasStrayTensors bool
	// sharding locates tensors of ranks that are sharded differently from the reference, nil for none.
	sharding *sharding
}

// bothRounds returns the rounds of a pair as a key.
func bothRounds(x dumpdir.RoundPair) [2]*dumpdir.Round { return [2]*dumpdir.Round{x.Ref, x.NPU} }

// chooseRounds selects the rounds of this shard from the listing and limits both sides to them. Rounds that share a file
// stay together, and so do the ranks of a step that is sharded differently. Tensors without a round belong to the
// shard with the first round. Rounds of the reference without a partner are distributed over the shards, which count
// their tensors.
func (o *Options) chooseRounds(ref, npu *Side, sharded *sharding) *roundShare {
	spec := o.Shard
	if !spec.IsSharded() {
		spec.Of = 1
	}
	paired, chosen := o.pairRounds(sharded, ref.rounds, npu.rounds)
	group, at, steps := make([]int, len(chosen)), map[string]int{}, map[*ShardedStep]int{}
	var keys []string
	var sizes []int64
	for i, k := range chosen {
		files := paired.Pairs[k].NPU.FileSizes()
		group[i] = len(keys)
		for path := range files {
			if g, shared := at[path]; shared {
				group[i] = g
			}
		}
		if step := sharded.stepOf(paired.Pairs[k].NPU); step != nil {
			if g, known := steps[step]; known {
				group[i] = g
			}
			steps[step] = group[i]
		}
		if group[i] == len(keys) {
			keys, sizes = append(keys, fmt.Sprintf("%08d", i)), append(sizes, 0)
		}
		for path, size := range files {
			at[path] = group[i]
			sizes[group[i]] += size
		}
		for _, size := range paired.Pairs[k].Ref.FileSizes() {
			sizes[group[i]] += size
		}
	}
	shards := shard.Balance(sizes, keys, spec.Of)
	mine := &roundShare{pairs: map[[2]*dumpdir.Round]bool{}, hasStrayTensors: spec.Index > 0}
	if len(chosen) > 0 {
		mine.hasStrayTensors = shards[group[0]] != spec.Index
	}
	ref.ownRounds, npu.ownRounds = map[*dumpdir.Round]bool{}, map[*dumpdir.Round]bool{}
	for i, k := range chosen {
		if x := paired.Pairs[k]; shards[group[i]] == spec.Index {
			mine.pairs[bothRounds(x)], ref.ownRounds[x.Ref], npu.ownRounds[x.NPU] = true, true, true
			if step := sharded.stepOf(x.NPU); step != nil {
				for _, r := range step.refs {
					ref.ownRounds[r] = true
				}
			}
		}
	}
	for i, alone := range paired.Ref {
		if o.Pair.Ops == nil && i%spec.Of == spec.Index {
			ref.ownRounds[alone] = true
		}
	}
	return mine
}

// roundKeys returns the keys of rounds in a baseline: their short names among all rounds of
// the run, so that the keys do not depend on the selection.
func (s *Side) roundKeys() map[*dumpdir.Round]string {
	all := make([]dumpdir.Coordinates, len(s.run.Rounds))
	for i, round := range s.run.Rounds {
		all[i] = round.At
	}
	keys := make(map[*dumpdir.Round]string, len(all))
	for i, name := range dumpdir.ShortNames(all) {
		keys[s.run.Rounds[i]] = name
	}
	return keys
}

// outputsIn returns the number of outputs in a round.
func (s *Side) outputsIn(round *dumpdir.Round) int {
	n := 0
	for i := range s.pairingNames {
		if s.pairingNames[i].Kind == tensor.Output && s.round[i] == round {
			n++
		}
	}
	return n
}

// recordCoordinates converts coordinates for records.
func recordCoordinates(c dumpdir.Coordinates) record.RoundCoordinates {
	return record.RoundCoordinates{Rank: c.Rank, Step: c.Step, Graph: c.Graph, Model: c.Model}
}

// selectedRound returns the selected NPU round, nil for all.
func (r Rounds) selectedRound(pairs []dumpdir.RoundPair) *dumpdir.Round {
	if r == (Rounds{}) {
		return nil
	}
	var rounds []*dumpdir.Round
	for i := range pairs {
		if !slices.Contains(rounds, pairs[i].NPU) {
			rounds = append(rounds, pairs[i].NPU)
		}
	}
	i := 0
	switch {
	case r.Last:
		i = len(rounds) - 1
	case r.Number != nil:
		i = *r.Number
	}
	if i < 0 || i >= len(rounds) {
		return new(dumpdir.Round) // matches no pair
	}
	return rounds[i]
}

// roundNames returns short names of pairs of rounds.
func roundNames(pairs []dumpdir.RoundPair) []string {
	here, there := make([]dumpdir.Coordinates, len(pairs)), make([]dumpdir.Coordinates, len(pairs))
	for i := range pairs {
		here[i], there[i] = pairs[i].At, pairs[i].Ref.At
	}
	return ShortNames(here, there)
}

// ShortNames returns short names of pairs of rounds, given their coordinates.
func ShortNames(here, there []dumpdir.Coordinates) []string {
	names, seen := dumpdir.ShortNames(here), make(map[string]int)
	for _, name := range names {
		seen[name]++
	}
	for i, ref := range dumpdir.ShortNames(there) {
		if seen[names[i]] > 1 { // one NPU round has several partners
			names[i] = strings.TrimSpace(names[i] + " against " + ref)
		}
	}
	return names
}

// The range of plausible dump times, in microseconds: 2000 to 2100. Other numbers in names are
// not times.
const earliestTime, latestTime = 946_684_800_000_000, 4_102_444_800_000_000

// dumpsOf summarises the files of each round, over all its operators. Each round is summarised alone: which other
// rounds are read depends on the shard.
func dumpsOf(rounds []*dumpdir.Round) map[*dumpdir.Round]record.Dumps {
	all := make(map[*dumpdir.Round]record.Dumps, len(rounds))
	for _, round := range rounds {
		d, seen := record.Dumps{}, map[*dumpdir.File]bool{}
		for _, op := range round.Ops {
			for i := range op.Tensors {
				if file := op.Tensors[i].File; file.Err == nil && !seen[file] {
					seen[file] = true
					d.Files, d.Bytes = d.Files+1, d.Bytes+file.Size
				}
			}
			if at := op.Timestamp; at >= earliestTime && at < latestTime {
				d.Add(&record.Dumps{Oldest: at, Newest: at})
			}
		}
		for _, s := range round.Software {
			d.Software = append(d.Software, record.Software(s))
		}
		all[round] = d
	}
	return all
}

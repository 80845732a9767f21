package plan

import (
	"maps"
	"slices"
	"strconv"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/ranks"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
	"dumptool/internal/trace"
	"dumptool/internal/unshard"
)

// sharding locates the tensors of the steps whose ranks are sharded differently from the reference.
type sharding struct {
	steps       []*ShardedStep
	byRound     map[*dumpdir.Round]*ShardedStep        // by round of the NPU
	Run         *ranks.Run                             // the compared rounds of the NPU
	coordinates map[*dumpdir.Round]dumpdir.Coordinates // steps of all rounds of the NPU
	Given       []*unshard.RankContents
	Maps        []*unshard.Map // tensors and their parts of the reference
}

// stepOf returns the step of a round of the NPU, nil if both runs are sharded alike.
func (s *sharding) stepOf(r *dumpdir.Round) *ShardedStep {
	if s == nil {
		return nil
	}
	return s.byRound[r]
}

// IsInSameShard returns a predicate for coordinates of the NPU: whether the ranks of the step are judged together.
func (s *sharding) IsInSameShard() func(dumpdir.Coordinates) bool {
	rounds := make(map[dumpdir.Coordinates]bool)
	if s != nil {
		for r := range s.byRound {
			rounds[r.At] = true
		}
	}
	return func(at dumpdir.Coordinates) bool { return rounds[at] }
}

// ShardedStep is a step of the NPU, and the round of the reference whose tensors the ranks have parts of. Several
// ranks of a reference are joined.
type ShardedStep struct {
	ref       *dumpdir.Round
	refs      []*dumpdir.Round // all ranks of the reference in this step; ref is the first
	npu       []*dumpdir.Round
	locations map[int]location // locations of NPU tensors, by ID
	located   map[int]bool     // IDs of the reference tensors that some rank has
	// Reads are the calls whose results each communication reads.
	Reads map[CallOfRank][]CallOfRank
	// joined are reference tensors that are joined from pieces of several ranks, by the ID of the NPU tensor.
	joined map[int]*align.Joined
	// names are the names of NPU calls in the reference.
	names map[CallOfRank]string
	// clock is the Lamport clock of each call; ordered reports whether the causal order is known.
	clock             map[CallOfRank]int
	ordered           bool
	hasOnlyStatistics bool // only statistics are known, which do not locate tensors
}

// CallOfRank is a call of a rank.
type CallOfRank struct {
	Rank int
	Name string
}

// location is the location of an NPU tensor in the reference.
type location struct {
	ref             int    // ID of the reference tensor
	op              string // name of the call in the reference
	part            *record.Part
	isSummand       bool // the tensor is a summand
	isLost          bool // the location is not known
	isCommunication bool // the tensor belongs to a communication
}

// withoutRank returns the coordinates of a round without its rank.
func withoutRank(r *dumpdir.Round) dumpdir.Coordinates {
	at := r.At
	at.Rank = ""
	return at
}

// findSharding finds the steps that are sharded differently, nil if there are none.
func (o *Options) findSharding(ref, npu *Side) *sharding {
	if o.Unshard != UnshardAuto || o.needElements() || len(npu.rounds)*len(ref.rounds) < 2 {
		return nil
	}
	paired, chosen := o.pairRounds(nil, ref.rounds, npu.rounds)
	at := make(map[dumpdir.Coordinates]*ShardedStep)
	s := &sharding{byRound: make(map[*dumpdir.Round]*ShardedStep), coordinates: trace.StepsOf(npu.rounds)}
	mixed := make(map[*ShardedStep]bool) // several rounds of the reference, or of a rank
	for _, k := range chosen {
		x := paired.Pairs[k]
		if _, err := strconv.ParseUint(x.NPU.At.Rank, 10, 31); err != nil {
			continue
		}
		key := s.coordinates[x.NPU]
		step := at[key]
		if step == nil {
			step = &ShardedStep{refs: ranksOfStep(ref.rounds, x.Ref)}
			step.ref = step.refs[0]
			at[key] = step
			s.steps = append(s.steps, step)
		}
		mixed[step] = mixed[step] || !slices.Contains(step.refs, x.Ref) || slices.ContainsFunc(step.npu, func(r *dumpdir.Round) bool { return r.At.Rank == x.NPU.At.Rank })
		step.npu = append(step.npu, x.NPU)
	}
	for _, r := range paired.NPU { // ranks that the reference lacks
		if step := at[s.coordinates[r]]; step != nil && len(step.refs) > 1 && o.Pair.Rounds == (Rounds{}) {
			step.npu = append(step.npu, r)
		}
	}
	several := len(trace.RanksOf(npu.rounds)) > 1 // even if a step has only one rank
	s.steps = slices.DeleteFunc(s.steps, func(step *ShardedStep) bool {
		return mixed[step] || !several && len(step.refs) < 2 || step.isAlike(o) || o.Groups.Mesh == nil && !o.isShardedDifferently(step)
	})
	for _, step := range s.steps {
		for _, r := range step.npu {
			s.byRound[r] = step
		}
	}
	if len(s.steps) == 0 {
		return nil
	}
	return s
}

const (
	// minOtherShapes is the share (0 to 1) of tensors with other shapes from which on a step is sharded differently.
	minOtherShapes = 0.2
	// maxShapeFiles is the number of files that are opened for their shapes if there is no dump.json.
	maxShapeFiles = 48
)

// isShardedDifferently reports whether a step is sharded differently from the reference: many tensors have other
// shapes, or communicating ranks have different operators.
func (o *Options) isShardedDifferently(step *ShardedStep) bool {
	return operatorsDiffer(step.npu) || operatorsDiffer(step.refs) || o.shapesDiffer(step.ref, step.npu[len(step.npu)-1])
}

// operatorsDiffer reports whether ranks communicate and have different operators.
func operatorsDiffer(rounds []*dumpdir.Round) bool {
	communicates, names := false, make([]map[string]bool, len(rounds))
	for i, r := range rounds {
		names[i] = make(map[string]bool, len(r.Ops))
		for _, op := range r.Ops {
			if trace.IsCommunication(op) {
				communicates = true
			} else {
				names[i][op.Name] = true
			}
		}
	}
	for i := range names[1:] {
		if communicates && !maps.Equal(names[0], names[i+1]) {
			return true
		}
	}
	return false
}

// shapesDiffer reports whether many tensors of two rounds have different shapes.
func (o *Options) shapesDiffer(of, npu *dumpdir.Round) bool {
	theirs := make(map[string]*dumpdir.Tensor)
	for _, op := range of.Ops {
		for i := range op.Tensors {
			theirs[tensorKey(op, &op.Tensors[i])] = &op.Tensors[i]
		}
	}
	type tensorPair struct{ ref, npu *dumpdir.Tensor }
	var pairs []tensorPair
	known := true
	for _, op := range npu.Ops {
		for i := range op.Tensors {
			t := &op.Tensors[i]
			if ref := theirs[tensorKey(op, t)]; ref != nil {
				pairs = append(pairs, tensorPair{ref, t})
				known = known && t.Statistics != nil && ref.Statistics != nil
			}
		}
	}
	if n := len(pairs); !known && n > maxShapeFiles {
		some := make([]tensorPair, maxShapeFiles)
		for i := range some {
			some[i] = pairs[i*n/maxShapeFiles]
		}
		pairs = some
	}
	differ := 0
	for _, x := range pairs {
		if a, b := o.shapeOf(x.ref), o.shapeOf(x.npu); a != nil && b != nil && !a.Equal(b) {
			differ++
		}
	}
	return differ > 0 && float64(differ) >= minOtherShapes*float64(len(pairs))
}

// tensorKey returns a unique key of a tensor in its round.
func tensorKey(op *dumpdir.Op, t *dumpdir.Tensor) string {
	if t.Leaf != nil {
		return t.Leaf.Name
	}
	return op.Name + "\x00" + string(t.Kind) + "\x00" + strconv.Itoa(t.Index) + "\x00" + t.Member
}

// shapeOf returns the shape of a tensor, nil if it is not known.
func (o *Options) shapeOf(t *dumpdir.Tensor) tensor.Shape {
	if t.Statistics != nil {
		return t.Statistics.Shape
	}
	if t.Table || t.IsWholeFile() || t.File.Err != nil {
		return nil
	}
	f, err := tensorfile.Open(t.File.Path(), tensorfile.Options{Name: t.File.Name, Version: o.Version})
	if err != nil {
		return nil // comparing the tensor reports the error
	}
	defer func() { _ = f.Close() }() // opened for reading
	of, err := f.FindOrOnly(t.Kind, t.Index)
	if err != nil {
		return nil // comparing the tensor reports the error
	}
	return of.Shape
}

// ShardedSteps returns the steps that are sharded differently, by the names of their rounds.
func (p *Plan) ShardedSteps() map[string]*ShardedStep {
	steps := make(map[string]*ShardedStep)
	for _, r := range p.Rounds {
		steps[r.Name] = r.sharded
	}
	return steps
}

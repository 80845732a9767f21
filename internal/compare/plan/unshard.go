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

// sharding are the steps whose ranks are sharded otherwise than the reference.
type sharding struct {
	steps []*ShardedStep
	of    map[*dumpdir.Round]*ShardedStep        // by the rounds of the NPU
	Run   *ranks.Run                             // the rounds of the NPU that are compared
	at    map[*dumpdir.Round]dumpdir.Coordinates // the steps of all rounds of the NPU
	Given []*unshard.Given
	Maps  []*unshard.Map // where tensors lie
}

// stepOf is the step of a round of the NPU that is sharded otherwise, nil for none.
func (s *sharding) stepOf(r *dumpdir.Round) *ShardedStep {
	if s == nil {
		return nil
	}
	return s.of[r]
}

// Together reports of coordinates of the NPU whether the ranks of their step are judged together.
func (s *sharding) Together() func(dumpdir.Coordinates) bool {
	rounds := make(map[dumpdir.Coordinates]bool)
	if s != nil {
		for r := range s.of {
			rounds[r.At] = true
		}
	}
	return func(at dumpdir.Coordinates) bool { return rounds[at] }
}

// ShardedStep is a step of the NPU with the round of the reference that all of its ranks
// are parts of. Several ranks of a reference are joined.
type ShardedStep struct {
	ref  *dumpdir.Round
	refs []*dumpdir.Round // all ranks of the reference in this step, ref is the first
	npu  []*dumpdir.Round
	at   map[int]place // of tensors of the NPU, by their IDs
	has  map[int]bool  // the tensors of the reference that some rank has
	// Reads is what communications read, by the rank of the call and its name.
	Reads map[CallAt][]CallAt
	// joined are tensors of the reference that several of its ranks have pieces of, by those of
	// the NPU.
	joined map[int]*align.Joined
	// names are those that calls have in the reference.
	names map[CallAt]string
	// clock is the place of a call in the order of cause, ordered whether that is known.
	clock   map[CallAt]int
	ordered bool
	untold  bool // there are statistics only, which do not say what is where
}

// CallAt is a call of a rank.
type CallAt struct {
	Rank int
	Name string
}

// place is where a tensor of the NPU lies in the reference.
type place struct {
	ref     int    // the ID
	op      string // the name of the call in the reference
	part    *record.Part
	partial bool // it is a summand
	lost    bool // nobody knows where
	comm    bool // it is of a communication
}

// withoutRank are the coordinates of a round without its rank.
func withoutRank(r *dumpdir.Round) dumpdir.Coordinates {
	at := r.At
	at.Rank = ""
	return at
}

// findSharding finds the steps that are sharded otherwise, nil for none.
func (o *Options) findSharding(ref, npu *Side) *sharding {
	if o.Unshard != UnshardAuto || o.needElements() || len(npu.rounds)*len(ref.rounds) < 2 {
		return nil
	}
	paired, chosen := o.pairRounds(nil, ref.rounds, npu.rounds)
	at := make(map[dumpdir.Coordinates]*ShardedStep)
	s := &sharding{of: make(map[*dumpdir.Round]*ShardedStep), at: trace.StepsOf(npu.rounds)}
	mixed := make(map[*ShardedStep]bool) // with several rounds of the reference, or of a rank
	for _, k := range chosen {
		x := paired.Pairs[k]
		if _, err := strconv.ParseUint(x.NPU.At.Rank, 10, 31); err != nil {
			continue
		}
		key := s.at[x.NPU]
		step := at[key]
		if step == nil {
			step = &ShardedStep{refs: ranksWith(ref.rounds, x.Ref)}
			step.ref = step.refs[0]
			at[key] = step
			s.steps = append(s.steps, step)
		}
		mixed[step] = mixed[step] || !slices.Contains(step.refs, x.Ref) || slices.ContainsFunc(step.npu, func(r *dumpdir.Round) bool { return r.At.Rank == x.NPU.At.Rank })
		step.npu = append(step.npu, x.NPU)
	}
	for _, r := range paired.NPU { // ranks that the reference has not
		if step := at[s.at[r]]; step != nil && len(step.refs) > 1 && o.Pair.Rounds == (Rounds{}) {
			step.npu = append(step.npu, r)
		}
	}
	several := len(trace.RanksOf(npu.rounds)) > 1 // of which a step may have one alone
	s.steps = slices.DeleteFunc(s.steps, func(step *ShardedStep) bool {
		return mixed[step] || !several && len(step.refs) < 2 || step.isAlike(o) || o.Groups.Mesh == nil && !o.otherwise(step)
	})
	for _, step := range s.steps {
		for _, r := range step.npu {
			s.of[r] = step
		}
	}
	if len(s.steps) == 0 {
		return nil
	}
	return s
}

const (
	// otherShapes is the share of tensors of another shape from which a step is sharded
	// otherwise.
	otherShapes = 0.2
	// askedShapes is the number of files that are opened for their shapes if there is no
	// dump.json.
	askedShapes = 48
)

// otherwise reports whether a step is sharded otherwise than the reference: tensors have
// other shapes, or ranks that communicate have different operators.
func (o *Options) otherwise(step *ShardedStep) bool {
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

// shapesDiffer reports whether many tensors of two rounds have other shapes.
func (o *Options) shapesDiffer(of, npu *dumpdir.Round) bool {
	theirs := make(map[string]*dumpdir.Tensor)
	for _, op := range of.Ops {
		for i := range op.Tensors {
			theirs[tensorKey(op, &op.Tensors[i])] = &op.Tensors[i]
		}
	}
	type both struct{ ref, npu *dumpdir.Tensor }
	var pairs []both
	known := true
	for _, op := range npu.Ops {
		for i := range op.Tensors {
			t := &op.Tensors[i]
			if ref := theirs[tensorKey(op, t)]; ref != nil {
				pairs = append(pairs, both{ref, t})
				known = known && t.Statistics != nil && ref.Statistics != nil
			}
		}
	}
	if n := len(pairs); !known && n > askedShapes {
		some := make([]both, askedShapes)
		for i := range some {
			some[i] = pairs[i*n/askedShapes]
		}
		pairs = some
	}
	differ := 0
	for _, x := range pairs {
		if a, b := o.shapeOf(x.ref), o.shapeOf(x.npu); a != nil && b != nil && !a.Equal(b) {
			differ++
		}
	}
	return differ > 0 && float64(differ) >= otherShapes*float64(len(pairs))
}

// tensorKey names a tensor among those of a round.
func tensorKey(op *dumpdir.Op, t *dumpdir.Tensor) string {
	if t.Leaf != nil {
		return t.Leaf.Name
	}
	return op.Name + "\x00" + string(t.Kind) + "\x00" + strconv.Itoa(t.Index) + "\x00" + t.Member
}

// shapeOf is the shape of a tensor, nil where it is not known.
func (o *Options) shapeOf(t *dumpdir.Tensor) tensor.Shape {
	if t.Statistics != nil {
		return t.Statistics.Shape
	}
	if t.Table || t.Whole() || t.File.Err != nil {
		return nil
	}
	f, err := tensorfile.Open(t.File.Path(), tensorfile.Options{Name: t.File.Name, Version: o.Version})
	if err != nil {
		return nil // the error is found again when the tensor is compared
	}
	defer func() { _ = f.Close() }() // only read
	of, err := f.FindOrOnly(t.Kind, t.Index)
	if err != nil {
		return nil // as above
	}
	return of.Shape
}

// ShardedSteps are the steps that are sharded otherwise, by the names of their rounds.
func (p *Plan) ShardedSteps() map[string]*ShardedStep {
	steps := make(map[string]*ShardedStep)
	for _, r := range p.Rounds {
		steps[r.Name] = r.sharded
	}
	return steps
}

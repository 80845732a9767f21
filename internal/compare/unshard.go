package compare

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/ranks/locate"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Unshard says whether tensors of ranks are compared with their part of the reference.
type Unshard string

// The modes.
const (
	// UnshardAuto finds out whether the sides are sharded alike.
	UnshardAuto Unshard = "auto"
	UnshardOff  Unshard = "off"
)

// Unshards are all of them.
func Unshards() []Unshard { return []Unshard{UnshardAuto, UnshardOff} }

// RankOptions say of the ranks of the NPU what their dumps do not.
type RankOptions struct {
	// Groups are groups that communicate. With a mesh, and with dims, the ranks are sharded
	// otherwise than the reference.
	Groups ranks.Groups
	// Dims say how tensors are cut; nil where only values tell.
	Dims *ranks.Dims
	// WriteDims is the path of the file for what was found, empty for none.
	WriteDims string
}

// sharding are the steps whose ranks are sharded otherwise than the reference.
type sharding struct {
	steps []*shardedStep
	of    map[*dumpdir.Round]*shardedStep        // by the rounds of the NPU
	run   *ranks.Run                             // the rounds of the NPU that are compared
	at    map[*dumpdir.Round]dumpdir.Coordinates // the steps of all rounds of the NPU
	given []*ranks.Given
	// maps are where tensors lie, mismatches those that do not lie where dims say.
	maps       []*ranks.Map
	mismatches []*ranks.Finding
	// dims is what was found as a file of dims, if that is wanted.
	dims bytes.Buffer
}

// stepOf is the step of a round of the NPU that is sharded otherwise, nil for none.
func (s *sharding) stepOf(r *dumpdir.Round) *shardedStep {
	if s == nil {
		return nil
	}
	return s.of[r]
}

// together reports of coordinates of the NPU whether the ranks of their step are judged together.
func (s *sharding) together() func(dumpdir.Coordinates) bool {
	rounds := make(map[dumpdir.Coordinates]bool)
	if s != nil {
		for r := range s.of {
			rounds[r.At] = true
		}
	}
	return func(at dumpdir.Coordinates) bool { return rounds[at] }
}

// shardedStep is a step of the NPU with the round of the reference that all of its ranks
// are parts of. Several ranks of a reference are joined.
type shardedStep struct {
	ref  *dumpdir.Round
	refs []*dumpdir.Round // all ranks of the reference in this step, ref is the first
	npu  []*dumpdir.Round
	at   map[int]place // of tensors of the NPU, by their IDs
	has  map[int]bool  // the tensors of the reference that some rank has
	// reads is what communications read, by the rank of the call and its name.
	reads map[callAt][]callAt
	// joined are tensors of the reference that several of its ranks have pieces of, by those of
	// the NPU.
	joined map[int]*align.Joined
	// names are those that calls have in the reference.
	names map[callAt]string
	// clock is the place of a call in the order of cause, ordered whether that is known.
	clock   map[callAt]int
	ordered bool
	untold  bool // there are statistics only, which do not say what is where
}

// callAt is a call of a rank.
type callAt struct {
	rank int
	name string
}

// place is where a tensor of the NPU lies in the reference.
type place struct {
	ref     int    // the ID
	op      string // the name of the call in the reference
	part    *record.Part
	partial bool // it is a summand
	lost    bool // nobody knows where
	comm    bool // it is of a communication
	left    bool // somebody says that it is not judged
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
	at := make(map[dumpdir.Coordinates]*shardedStep)
	s := &sharding{of: make(map[*dumpdir.Round]*shardedStep), at: ranks.StepsOf(npu.rounds)}
	mixed := make(map[*shardedStep]bool) // with several rounds of the reference, or of a rank
	for _, k := range chosen {
		x := paired.Pairs[k]
		if _, err := strconv.ParseUint(x.NPU.At.Rank, 10, 31); err != nil {
			continue
		}
		key := s.at[x.NPU]
		step := at[key]
		if step == nil {
			step = &shardedStep{refs: ranksWith(ref.rounds, x.Ref)}
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
	several := len(ranks.RanksOf(npu.rounds)) > 1 // of which a step may have one alone
	s.steps = slices.DeleteFunc(s.steps, func(step *shardedStep) bool {
		return mixed[step] || !several && len(step.refs) < 2 || step.isAlike(o) || !o.says() && !o.otherwise(step)
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

// says reports whether anybody says that the ranks are sharded otherwise.
func (o *RankOptions) says() bool { return o.Dims != nil || o.Groups.Mesh != nil }

const (
	// otherShapes is the share of tensors of another shape from which a step is sharded
	// otherwise.
	otherShapes = 0.2
	// askedShapes is of how many tensors the files are asked for their shapes, where no
	// dump.json has them.
	askedShapes = 48
)

// otherwise reports whether a step is sharded otherwise than the reference: tensors have
// other shapes, or ranks that communicate have different operators.
func (o *Options) otherwise(step *shardedStep) bool {
	return operatorsDiffer(step.npu) || operatorsDiffer(step.refs) || o.shapesDiffer(step.ref, step.npu[len(step.npu)-1])
}

// operatorsDiffer reports whether ranks communicate and have different operators.
func operatorsDiffer(rounds []*dumpdir.Round) bool {
	communicates, names := false, make([]map[string]bool, len(rounds))
	for i, r := range rounds {
		names[i] = make(map[string]bool, len(r.Ops))
		for _, op := range r.Ops {
			if ranks.IsCommunication(op) {
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
	for i := range f.Tensors {
		if of := &f.Tensors[i]; len(f.Tensors) == 1 || of.Kind == t.Kind && of.Index == t.Index {
			return of.Shape
		}
	}
	return nil
}

// open opens the ranks of the NPU that are compared.
func (s *sharding) open(o *Options, npu *Side) {
	var rounds []*dumpdir.Round
	for _, step := range s.steps {
		if npu.isOwn(step.npu[0]) {
			rounds = append(rounds, step.npu...)
		}
	}
	var warnings []lang.Sentence
	s.run, warnings = ranks.Open(rounds, ranks.RanksOf(npu.run.Rounds))
	npu.Warnings = append(npu.Warnings, warnings...)
	if o.Shard.On() {
		npu.Warnings = append(npu.Warnings, lang.Sayf("shards compare tensors alone: dumptool check judges communication and replicas of the ranks", "分片只比对张量：各 rank 的通信与副本由 dumptool check 检查"))
	}
}

// leave notes the tensors of the reference that those of the NPU have the names of, where
// there are no values that say which part of them they are.
func (s *sharding) leave(ref, npu *Side) {
	refID, npuID := ref.ids(), npu.ids()
	for _, step := range s.steps {
		step.at, step.has, step.untold = make(map[int]place), make(map[int]bool), true
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
						step.at[npuID[t]] = place{ref: id, op: op.Name, lost: true}
						step.has[id] = true
					}
				}
			}
		}
	}
}

// locate finds the parts that the tensors of the NPU are of the reference.
func (s *sharding) locate(ctx context.Context, o *Options, ref, npu *Side) error {
	refID, npuID := ref.ids(), npu.ids()
	opt := ranks.Options{Version: o.Version, Workers: o.Workers, Groups: o.Groups, Dims: o.Dims}
	var all []*ranks.Located
	for k, step := range s.steps {
		own := s.run.StepOf(step.npu[0].At)
		if own == nil {
			continue
		}
		located, err := ranks.Locate(ctx, s.run, own, ranks.OpenReference(step.refs), s.otherThan(k), opt)
		if err != nil {
			return err
		}
		s.given = append(s.given, &located.Given)
		step.take(located, ref, refID, npuID)
		s.maps = append(s.maps, located.Maps(step.npu[0].At.Step)...)
		s.mismatches = append(s.mismatches, located.Mismatches...)
		if o.WriteDims != "" {
			all = append(all, located)
		}
	}
	if o.Shard.On() { // which have no findings between ranks
		for _, f := range s.mismatches {
			npu.Warnings = append(npu.Warnings, f.Evidence)
		}
	}
	if o.Dims != nil {
		for _, unused := range o.Dims.Unused() {
			npu.Warnings = append(npu.Warnings, lang.Error(unused))
		}
	}
	if o.WriteDims != "" {
		return ranks.WriteDims(&s.dims, all, o.mesh())
	}
	return nil
}

// otherThan are the rounds of the reference of the other steps: the one before first, and back
// from it, then those behind.
func (s *sharding) otherThan(k int) (rounds [][]*dumpdir.Round) {
	for _, step := range slices.Backward(s.steps[:k]) {
		rounds = append(rounds, step.refs)
	}
	for _, step := range s.steps[k+1:] {
		rounds = append(rounds, step.refs)
	}
	return rounds
}

// checkRanks reports an error where what is said does not fit the ranks.
func (o *RankOptions) checkRanks(rounds []*dumpdir.Round) error {
	if err := o.Groups.Check(rounds); err != nil || o.Dims == nil {
		return err
	}
	return o.Dims.Check(rounds)
}

// Dims is what was found as a file of dims, nil where the ranks are not sharded otherwise, or
// nobody wants it.
func (p *Plan) Dims() []byte {
	if p.sharding == nil {
		return nil
	}
	return p.sharding.dims.Bytes()
}

// mesh is that which somebody says, nil for none.
func (o *RankOptions) mesh() []ranks.Axis {
	if o.Groups.Mesh == nil && o.Dims != nil {
		return o.Dims.Mesh
	}
	return o.Groups.Mesh
}

// ids are the IDs of the tensors of a side.
func (s *Side) ids() map[*dumpdir.Tensor]int {
	ids := make(map[*dumpdir.Tensor]int, len(s.from))
	for i, t := range s.from {
		ids[t] = i
	}
	return ids
}

// take notes where tensors were found.
func (s *shardedStep) take(located *ranks.Located, ref *Side, refID, npuID map[*dumpdir.Tensor]int) {
	s.at, s.has, s.names, s.joined = make(map[int]place, len(located.At)), make(map[int]bool), make(map[callAt]string), make(map[int]*align.Joined)
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
		x := place{partial: l.Partial, lost: !l.Partial && l.Map == nil, comm: t.Call.Comm != nil, left: located.Left[t]}
		if x.ref, ok = refID[l.Ref.File]; !ok {
			continue
		}
		x.op = l.Ref.Call.Name
		for _, t := range l.Ref.Sources() {
			s.has[refID[t.File]] = true
		}
		if pieces := l.Ref.Pieces(); l.Map != nil && pieces != nil {
			s.joined[id] = &align.Joined{Shape: l.Ref.Shape}
			for _, p := range pieces {
				s.joined[id].Pieces = append(s.joined[id].Pieces, align.Piece{Ref: &ref.Tensors[refID[p.Of.File]].Ref, From: p.From})
			}
		}
		if l.Map != nil {
			key := of{l.Map, record.PartOf}
			switch {
			case t.Summed():
				key.what = record.SumOf
			case x.comm:
				key.what = record.CopyOf
			}
			if _, ok := parts[key]; !ok {
				parts[key] = partOf(l.Map, l.Ref.Shape, key.what)
			}
			x.part = parts[key]
		}
		s.at[id], s.has[x.ref] = x, true
		if !x.comm {
			s.names[callAt{t.Call.Rank, t.Call.Name}] = l.Ref.Call.Name
		}
	}
	s.reads, s.clock = make(map[callAt][]callAt), make(map[callAt]int)
	for at, sources := range located.Reads() {
		key := callAt{at.Rank, at.Name}
		for _, from := range sources {
			s.reads[key] = append(s.reads[key], callAt{from.Rank, from.Name})
		}
	}
	s.ordered = located.Ordered
	for c, clock := range located.Clocks {
		s.clock[callAt{c.Rank, c.Name}] = clock
	}
}

// partOf is a part as records have it, nil where it is all of the reference.
func partOf(m *locate.Role, full tensor.Shape, what string) *record.Part {
	p := &record.Part{Score: metrics.Float(m.Score), Confidence: ranks.Confidence(m), Of: what}
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

// given are the pairs of a round that is sharded otherwise.
func (s *shardedStep) given(npus []pair.Tensor) []pair.Pair {
	all := []pair.Pair{}
	for i := range npus {
		if x, ok := s.at[npus[i].ID]; ok {
			all = append(all, pair.Pair{Ref: x.ref, NPU: npus[i].ID})
		}
	}
	return all
}

// place says on the rows of a round which part of the reference they are, or why none is
// compared; and leaves those out of the reference that other ranks have.
func (p *Plan) place(round *plannedRound, from int) {
	s := round.sharded
	for i := range p.Pairs[from:] {
		x := &p.Pairs[from+i]
		if x.NPU == nil || x.Ref == nil || x.Row.Pair.Status != "" {
			continue
		}
		at := s.at[x.NPU.ID]
		skip := func(code record.Code, why lang.Sentence) {
			x.Row.Pair = record.Judged{Status: record.Skip, Reasons: []record.Finding{{Code: code, Confidence: record.High, Evidence: why}}}
		}
		if len(s.refs) > 1 && !at.comm && at.op != x.Row.Op { // of another stage of the reference
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
		if x.comm = at.comm; at.comm {
			t := &p.npu.named[x.NPU.ID]
			x.Row.Op, x.Row.NPUOp, x.Row.OpType, x.Row.Kind, x.Row.Output = t.Name(), "", t.OpType, string(t.Kind), t.Index
		}
		switch {
		case at.left:
			skip(record.Excluded, lang.Sayf("the dims file leaves it out", "dims 文件将其排除"))
		case at.partial:
			skip(record.PartialSum, lang.Sayf("a summand: the sum of the ranks is compared", "求和的加数：比对的是各 rank 之和"))
		case at.lost && s.untold:
			skip(record.NotLocated, lang.Sayf("statistics do not say which part of the reference it is", "统计量无法说明它是标杆的哪一部分"))
		case at.lost && len(s.refs) > 1:
			skip(record.NotLocated, lang.Sayf("its values are not found in what %d ranks of the reference are joined to: a reference of one rank can be compared", "在标杆 %d 个 rank 拼接的结果中未找到其值：可与单 rank 的标杆比对", len(s.refs)))
		case at.lost:
			skip(record.NotLocated, lang.Sayf("its values are not found in the reference", "在标杆中未找到其值"))
		case at.part != nil:
			x.Row.Part = at.part
		}
	}
}

// alone are the tensors of the reference that are listed as missing in a round: those that
// no rank has, in the round of the first.
func (s *shardedStep) alone(ref *Side, round *plannedRound, all []pair.Unmatched) []pair.Unmatched {
	if round.pair.NPU != s.npu[0] {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(u pair.Unmatched) bool {
		return s.has[u.ID] || len(s.refs) > 1 && ranks.IsCommunication(ref.op[u.ID])
	})
}

// clockOf is the place of a tensor in the order of cause of all ranks.
func (s *shardedStep) clockOf(npu *Side, t *Tensor, place int) int {
	rank, _ := strconv.Atoi(npu.of[t.ID].At.Rank)
	if clock, ok := s.clock[callAt{rank, npu.op[t.ID].Names()[0]}]; ok {
		return clock
	}
	return place
}

// orderRounds puts the ranks of steps that are judged together behind each other.
func (p *Plan) orderRounds(chosen []dumpdir.RoundPair) {
	if p.sharding == nil {
		return
	}
	slices.SortStableFunc(chosen, func(a, b dumpdir.RoundPair) int {
		if c := p.sharding.at[a.NPU].Compare(p.sharding.at[b.NPU]); c != 0 {
			return c
		}
		return a.NPU.At.Compare(b.NPU.At)
	})
}

// acrossFlow is what communications of a round read: the operators of all ranks whose
// outputs go into them.
func (r *plannedRound) acrossFlow(flow record.Flow, rounds []*plannedRound) record.Flow {
	if r.sharded == nil {
		return flow
	}
	if flow == nil {
		flow = record.Flow{}
	}
	rank, _ := strconv.Atoi(r.At.Rank)
	for at, reads := range r.sharded.reads {
		if at.rank != rank {
			continue
		}
		sources := []record.Source{}
		for _, from := range reads {
			source := record.Source{Op: cmp.Or(r.sharded.names[from], from.name), Output: -1}
			if from.rank != rank {
				i := slices.IndexFunc(rounds, func(x *plannedRound) bool {
					return x.sharded == r.sharded && x.At.Rank == strconv.Itoa(from.rank)
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
		flow[at.name] = sources
	}
	return flow
}

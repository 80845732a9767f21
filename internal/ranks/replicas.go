package ranks

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// replicaCount counts sets of replicas.
type replicaCount struct {
	// Sets counts the compared sets, Wrong the sets that differ, Drift the sets that differ by the rounding of sums.
	Sets  int `json:"sets"`
	Wrong int `json:"wrong"`
	Drift int `json:"drift"`
	// Skipped counts sets with an unknown digest.
	Skipped int `json:"skipped"`
}

// roleKey identifies the instances of a parameter: the program, the stage, the role of the module, the name of the
// parameter, whether the module is an expert, and whether the parameter is an input of its call. Such inputs may be
// data that no dumped call wrote.
type roleKey struct {
	program    dumpdir.Coordinates
	stage      int
	role, path string
	isExpert   bool
	isInput    bool
}

// instance is a parameter of a module in a step, on all ranks that have it.
type instance struct {
	step    *trace.Step
	name    string
	ranks   []int // ascending
	tensors map[int]*trace.Tensor
}

// replica is a parameter of a rank.
type replica struct {
	program dumpdir.Coordinates
	rank    int
	name    string
}

// replicas compares parameters that should be equal on several ranks.
type replicas struct {
	*trace.Digests
	run *Run
	// rounded has the sums that ranks hold in different roundings. It includes sums that were not checked because a
	// member is not in the dump.
	rounded []rounding

	roles     map[roleKey][]*instance // in the order of steps
	keys      []roleKey
	learned   map[roleKey]pairs
	families  map[family]pairs
	count     replicaCount
	found     []*Finding
	notes     []*Note
	different map[replica]bool // found different in an earlier step
	places    map[int][2]int   // index of each rank in its group of all-to-all, and the size of the group
}

// rounding is a sum that ranks hold in different roundings.
type rounding struct {
	step  int
	ranks []int
}

// family identifies the parameters of a program with one axis (vectors), or its parameters with more axes.
type family struct {
	program dumpdir.Coordinates
	vectors bool
}

// pairs counts, for two ranks, how often their parameters are equal, and how often both have one.
type pairs map[[2]int]*[2]int

func (p pairs) add(a, b int, equal bool) {
	n := p[[2]int{a, b}]
	if n == nil {
		n = new([2]int)
		p[[2]int{a, b}] = n
	}
	n[1]++
	if equal {
		n[0]++
	}
}

// equalShare returns the share of equal parameters, 0 to 1, and the number of compared parameters.
func (p pairs) equalShare(a, b int) (share float64, all int) {
	n := p[[2]int{a, b}]
	if n == nil {
		return 0, 0
	}
	return float64(n[0]) / float64(n[1]), n[1]
}

// collectTensors lists the parameters of all ranks and steps.
func (r *replicas) collectTensors() {
	r.roles, r.learned = make(map[roleKey][]*instance), make(map[roleKey]pairs)
	r.families = make(map[family]pairs)
	for _, s := range r.run.Steps {
		stages := s.Stages()
		at := make(map[string]*instance)
		for c := range s.AllCalls() {
			for _, t := range c.Params {
				r.add(s, stages[c.Rank], c, t, at)
			}
		}
	}
}

// add adds a parameter of a call.
func (r *replicas) add(s *trace.Step, stage int, c *trace.Call, t *trace.Tensor, at map[string]*instance) {
	name := strconv.Itoa(stage) + " " + c.Name + " " + t.Path
	in := at[name]
	if in == nil {
		in = &instance{step: s, name: c.Name + "." + t.Path, tensors: make(map[int]*trace.Tensor)}
		at[name] = in
		key := roleKey{s.Program(), stage, c.Role, t.Path, c.Expert() >= 0, slices.Contains(c.In, t)}
		if r.roles[key] == nil {
			r.keys = append(r.keys, key)
		}
		r.roles[key] = append(r.roles[key], in)
	}
	if in.tensors[c.Rank] == nil {
		in.ranks = append(in.ranks, c.Rank)
	}
	in.tensors[c.Rank] = t
}

// tensors lists the parameters that several ranks have.
func (r *replicas) tensors() (all []*trace.Tensor) {
	for _, key := range r.keys {
		for _, in := range r.roles[key] {
			for _, rank := range in.ranks {
				if len(in.ranks) > 1 {
					all = append(all, in.tensors[rank])
				}
			}
		}
	}
	return all
}

// countEqualRanks counts which ranks hold equal parameters.
func (r *replicas) countEqualRanks() {
	for _, key := range r.keys {
		role := make(pairs)
		r.learned[key] = role
		for _, in := range r.roles[key] {
			for i, a := range in.ranks {
				for _, b := range in.ranks[i+1:] {
					equal, known := r.Equal(in.tensors[a], in.tensors[b])
					if !known || equal && r.IsUniform(in.tensors[a]) {
						continue
					}
					role.add(a, b, equal)
					if !key.isExpert { // ranks may share an expert and have different shards of other matrices
						of := family{key.program, len(in.tensors[a].Shape) == 1}
						if r.families[of] == nil {
							r.families[of] = make(pairs)
						}
						r.families[of].add(a, b, equal)
					}
				}
			}
		}
	}
}

// Two ranks are replicas if at least this share of their parameters, 0 to 1, is equal: of the parameters of one role,
// of all vectors, or of all other parameters.
const (
	equalRole     = 0.5
	equalVectors  = 0.5
	equalMatrices = 0.4
)

// areReplicas reports whether two ranks should hold equal parameters of a role.
func (r *replicas) areReplicas(key roleKey, a, b int, axes int) bool {
	vectors, n := r.families[family{key.program, true}].equalShare(a, b)
	if axes == 1 && n > 0 && vectors >= equalVectors {
		return true
	}
	matrices, others := r.families[family{key.program, false}].equalShare(a, b)
	if others > 0 && matrices >= equalMatrices && !key.isExpert && !key.isInput {
		return true
	}
	role, n := r.learned[key].equalShare(a, b)
	if key.isExpert && role <= equalRole { // often unequal: a rank may hold the experts of another position
		return r.haveSamePlace(a, b) && (others == 0 || matrices >= equalMatrices)
	}
	return n > 0 && role >= equalRole && (n > 2 || axes == 1)
}

// compare compares all replicas.
func (r *replicas) compare() {
	r.different = make(map[replica]bool)
	for _, key := range r.keys {
		for _, in := range r.roles[key] {
			seen := make(map[int]bool)
			for i, a := range in.ranks {
				if seen[a] {
					continue
				}
				set := []int{a}
				for _, b := range in.ranks[i+1:] {
					if r.areReplicas(key, a, b, len(in.tensors[a].Shape)) {
						set, seen[b] = append(set, b), true
					}
				}
				if len(set) > 1 {
					r.compareSet(key, in, set)
				}
			}
		}
	}
	r.found = mergeFindings(r.found)
}

// haveSamePlace reports whether two ranks have the same index in groups of all-to-all: they should have the same experts
// then.
func (r *replicas) haveSamePlace(a, b int) bool {
	if r.places == nil {
		r.places = make(map[int][2]int)
		for c := range r.run.AllCalls() {
			if m := c.Comm; m != nil && m.API.Pattern == trace.AllToAll && m.Group != nil {
				r.places[c.Rank] = [2]int{slices.Index(m.Group, c.Rank), len(m.Group)}
			}
		}
	}
	x, ok := r.places[a]
	y, too := r.places[b]
	return ok && too && x == y
}

// compareSet compares the replicas of a parameter.
func (r *replicas) compareSet(key roleKey, in *instance, set []int) {
	classes := trace.EqualSets(r.Digests, set, func(rank int) []*trace.Tensor { return []*trace.Tensor{in.tensors[rank]} })
	if len(slices.Concat(classes...)) < len(set) {
		r.count.Skipped++
		return
	}
	r.count.Sets++
	if len(classes) < 2 {
		return
	}
	if classes = r.dropDrift(key, in, classes); len(classes) < 2 {
		r.count.Drift++
		r.notes = append(r.notes, newNote(in.step, Drift, in.name, set))
		return
	}
	r.count.Wrong++
	o := r.findWrongReplicas(key, in, set, classes)
	suspects := o.suspects
	if o.isTie {
		suspects = append(slices.Clone(o.suspects), o.alt...)
	}
	again := slices.ContainsFunc(suspects, func(rank int) bool { return r.different[replica{key.program, rank, in.name}] })
	for _, rank := range suspects {
		r.different[replica{key.program, rank, in.name}] = true
	}
	if again {
		return
	}
	for _, rank := range o.suspects {
		r.found = append(r.found, r.finding(in, set, classes, o, rank))
	}
}

// suspectReplicas has the replicas that are probably wrong.
type suspectReplicas struct {
	suspects, alt []int
	stale         []int // suspects whose parameter equals their parameter of the previous step
	isTie         bool  // any rank of suspects and alt may be wrong
	isMisplaced   bool  // suspects hold experts of other positions
}

// previous returns the parameter of a rank in the previous step, nil for none.
func (r *replicas) previous(key roleKey, in *instance, rank int) *trace.Tensor {
	for _, other := range r.roles[key] {
		if other.step == in.step.Before && other.name == in.name {
			return other.tensors[rank]
		}
	}
	return nil
}

// isStale reports whether a parameter of a rank equals the parameter of the previous step; known is false if one of
// the two has no known contents.
func (r *replicas) isStale(key roleKey, in *instance, rank int) (same, known bool) {
	before := r.previous(key, in, rank)
	if before == nil {
		return false, false
	}
	return r.Equal(before, in.tensors[rank])
}

// hasMoved reports whether more than a quarter of the other parameters of a role change in this step; known is false
// without other instances.
func (r *replicas) hasMoved(key roleKey, in *instance) (moves, known bool) {
	moved, all := 0, 0
	for _, other := range r.roles[key] {
		if other.step != in.step || other == in {
			continue
		}
		for _, rank := range other.ranks {
			if same, ok := r.isStale(key, other, rank); ok {
				all++
				if !same {
					moved++
				}
			}
		}
	}
	return 4*moved > all, all > 0
}

// findWrongReplicas finds the wrong replicas: the minority. Of two equal halves the half is wrong that did not change
// although other parameters did, or that changed although others did not.
func (r *replicas) findWrongReplicas(key roleKey, in *instance, set []int, classes [][]int) suspectReplicas {
	o := suspectReplicas{isTie: len(classes[0]) == len(classes[1])}
	for _, c := range classes[1:] {
		o.suspects = append(o.suspects, c...)
	}
	moves, known := r.hasMoved(key, in)
	still := slices.DeleteFunc(slices.Clone(set), func(rank int) bool {
		same, ok := r.isStale(key, in, rank)
		return !ok || !same
	})
	if o.isTie && known && len(still) > 0 && len(still) < len(set) {
		o.isTie, o.suspects = false, still
		if !moves {
			o.suspects = slices.DeleteFunc(slices.Clone(set), func(rank int) bool { return slices.Contains(still, rank) })
		}
	}
	if !o.isTie && known && moves {
		o.stale = still
	}
	if others := r.findHeldByOthers(in, set); len(others) > 0 && len(others) < len(set) {
		o.isTie, o.isMisplaced, o.stale, o.suspects = false, true, nil, others
	}
	if o.isTie {
		slices.Sort(o.suspects)
		all := slices.Clone(set)
		o.suspects, o.alt = all[:1], all[1:]
	}
	return o
}

// findHeldByOthers returns the replicas of an expert that equal an expert of ranks outside the set.
func (r *replicas) findHeldByOthers(in *instance, set []int) (all []int) {
	if _, _, expert := trace.ParseName(in.name); expert < 0 {
		return nil
	}
	for _, rank := range set {
		if slices.ContainsFunc(in.ranks, func(other int) bool {
			equal, known := r.Equal(in.tensors[rank], in.tensors[other])
			return !slices.Contains(set, other) && known && equal && !r.IsUniform(in.tensors[rank])
		}) {
			all = append(all, rank)
		}
	}
	return all
}

// finding describes a wrong replica.
func (r *replicas) finding(in *instance, set []int, classes [][]int, o suspectReplicas, rank int) *Finding {
	f := newFinding(in.tensors[rank].Call, Replica, high, lang.Sentence{})
	f.Members = set
	if slices.Contains(o.stale, rank) {
		f.Kind = StaleWeights
	}
	if o.isTie {
		f.Confidence, f.Alt = low, o.alt
	}
	if o.isMisplaced {
		f.Kind = WrongExpert
		f.Evidence = lang.Say("%s belongs to another expert", in.tensors[rank].Label())
		return f
	}
	other := classes[0]
	if slices.Contains(other, rank) {
		other = classes[1]
	}
	path := in.tensors[rank].Label()
	a, b := []*trace.Tensor{in.tensors[other[0]]}, []*trace.Tensor{in.tensors[rank]}
	f.Evidence = lang.Say("%s differs from %s", path, trace.RankText(other))
	if !trace.AllStored(a, b) || !a[0].Shape.Equal(b[0].Shape) {
		return f
	}
	d, err := r.Differences(a, 0, b, 0, b[0].Elements(), 0)
	if err != nil || d.Count == 0 {
		return f
	}
	f.Facts = finding.Facts{}.Int("elements", d.Count).Int("of", d.Total).Int("first_bad", d.First)
	f.Evidence = lang.Say("%s: %d of %d elements differ from the elements of %s", path, d.Count, d.Total, trace.RankText(other))
	if d.Count == 1 && bits.OnesCount64(d.Xor) == 1 && f.Kind == Replica {
		f.Kind = ReplicaBit
		bit := bits.TrailingZeros64(d.Xor)
		f.Facts = f.Facts.Int("bit", int64(bit))
		f.Evidence = lang.Say("%s: bit %d of element %d differs from the bit in %s", path, bit, d.First, trace.RankText(other))
		if o.isTie {
			r.decideByOutlier(f, in, other[0], rank, d.First)
		}
	}
	return f
}

// decideByOutlier decides between two replicas that differ in one bit of one element: the replica is wrong whose
// element is an outlier (beyond 6 RMS, or NaN).
func (r *replicas) decideByOutlier(f *Finding, in *instance, a, b int, at int64) {
	values := make([][]float64, 2)
	for i, rank := range []int{a, b} {
		t := in.tensors[rank]
		values[i] = make([]float64, min(t.Elements(), trace.Window))
		if at >= int64(len(values[i])) || r.Floats(values[i], []*trace.Tensor{t}, 0) != nil {
			return
		}
	}
	var squares float64
	for k, v := range values[0] {
		if int64(k) != at {
			squares += float64(v * v)
		}
	}
	rms := math.Sqrt(squares / float64(max(1, len(values[0])-1)))
	x, y := math.Abs(values[0][at]), math.Abs(values[1][at])
	if far := max(x, y) > 6*rms; !far && !math.IsNaN(x) && !math.IsNaN(y) {
		return
	}
	rank, other := b, a
	if !(y > x) && !math.IsNaN(y) {
		rank, other = a, b
	}
	f.Rank, f.call = rank, in.tensors[rank].Call
	f.Alt = slices.DeleteFunc(slices.Clone(f.Members), func(r int) bool { return r == rank })
	if f.Confidence = medium; len(f.Alt) == 1 && f.Alt[0] == other {
		f.Alt = nil
	}
}

// dropDrift drops classes whose difference from the first class is explained by sums of an earlier step that ranks
// rounded differently.
func (r *replicas) dropDrift(key roleKey, in *instance, classes [][]int) [][]int {
	base := in.tensors[classes[0][0]]
	if !slices.ContainsFunc(r.rounded, func(n rounding) bool { return in.step.Index > n.step && haveCommon(n.ranks, in.ranks) }) {
		return classes
	}
	before := r.previous(key, in, classes[0][0])
	if before == nil || !trace.AllStored([]*trace.Tensor{base, before}) || !base.Shape.Equal(before.Shape) {
		return classes
	}
	d, ok := r.newDrift(base, before)
	if !ok {
		return classes
	}
	return slices.DeleteFunc(slices.Clone(classes), func(c []int) bool {
		t := in.tensors[c[0]]
		return t != base && t.Shape.Equal(base.Shape) && trace.AllStored([]*trace.Tensor{t}) && d.explains(t)
	})
}

func haveCommon(a, b []int) bool {
	return slices.ContainsFunc(a, func(x int) bool { return slices.Contains(b, x) })
}

// driftBound bounds the distance of replicas.
type driftBound struct {
	*replicas
	base   *trace.Tensor
	half   float64 // half the relative spacing of values
	median float64 // median of the absolute values
	update float64 // largest update in this step
}

// newDrift bounds the distance of replicas of a parameter from its values in this and the previous step.
func (r *replicas) newDrift(base, before *trace.Tensor) (*driftBound, bool) {
	d := &driftBound{replicas: r, base: base}
	numbers := true
	err := r.Windows(base, before, func(x, y []float64, first bool) bool {
		for k := range x {
			if u := math.Abs(x[k] - y[k]); u > d.update && !math.IsInf(u, 0) {
				d.update = u
			}
		}
		if first {
			p, ok := precisionOf(base, x)
			numbers, d.half, d.median = ok && p.bits == 0, p.spacing/2, medianAbs(x)
		}
		return numbers
	})
	return d, err == nil && numbers
}

// medianAbs returns the median of absolute values.
func medianAbs(x []float64) float64 {
	abs := make([]float64, 0, len(x))
	for _, v := range x {
		if !math.IsNaN(v) {
			abs = append(abs, math.Abs(v))
		}
	}
	if len(abs) == 0 {
		return 0
	}
	slices.Sort(abs)
	return abs[len(abs)/2]
}

// explains reports whether rounding explains the differences of a replica.
func (d *driftBound) explains(t *trace.Tensor) bool {
	explained := true
	err := d.Windows(d.base, t, func(x, y []float64, _ bool) bool {
		for k := range x {
			allowed := float64(max(math.Abs(x[k]), d.median)*d.half) + float64(4*d.half*d.update)
			explained = explained && (x[k] == y[k] || math.Abs(x[k]-y[k]) <= 4*allowed)
		}
		return explained
	})
	return err == nil && explained
}

// mergeFindings joins all STALE_WEIGHTS of a rank in a step, and all WRONG_EXPERT of a layer, in the finding about
// the first call.
func mergeFindings(all []*Finding) []*Finding {
	type key struct {
		kind  Kind
		step  *trace.Step
		rank  int
		layer string
	}
	left := make(map[*Finding]bool) // findings to drop
	for _, same := range trace.GroupBy(slices.Values(all), func(f *Finding) (key, bool) {
		k := key{kind: f.Kind, step: f.call.Step, rank: f.Rank}
		if f.Kind == WrongExpert {
			k.layer = trace.CutAtExpert(f.call.Name)
		}
		return k, f.Kind == StaleWeights || f.Kind == WrongExpert
	}) {
		first := slices.MinFunc(same, func(a, b *Finding) int { return cmp.Compare(a.call.Place, b.call.Place) })
		first.Facts = first.Facts.Int("parameters", int64(len(same)))
		for _, f := range same {
			left[f] = f != first
		}
	}
	return slices.DeleteFunc(all, func(f *Finding) bool { return left[f] })
}

package pair

import (
	"cmp"
	"iter"
	"slices"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// join applies the rules to the tensors of two sides. Its pairs and ambiguities have positions in
// ref and npu instead of IDs.
type join struct {
	opt      *Options
	ref, npu []*Tensor
	// isDecided: later rules skip the tensor of the NPU, since it has a pair or an ambiguity, or a rule reserved it for
	// the reason in why.
	isDecided []bool
	reasons   map[int]lang.Sentence
	isUsed    []bool // the tensor of the reference has a pair or an ambiguity
	shapes    map[tensorPlace][]tensor.Shape

	pairs     []Pair
	ambiguous []Ambiguity
}

// target is a possible partner of one tensor of the NPU: a tensor of the reference; for shared rules a tensor of the
// reference for one operator of the NPU.
type target struct {
	ref   int
	npuOp key
}

func newJoin(opt *Options, ref, npu []*Tensor) *join {
	return &join{
		opt: opt, ref: ref, npu: npu, isDecided: make([]bool, len(npu)), reasons: make(map[int]lang.Sentence),
		isUsed: make([]bool, len(ref)), shapes: make(map[tensorPlace][]tensor.Shape),
	}
}

// pairAll applies all rules to the tensors that are not skipped, and sorts pairs and ambiguities by
// position.
func (j *join) pairAll(skipped map[*Tensor]*SkippedPair) {
	active := func(t *Tensor) *Tensor {
		if skipped[t] != nil {
			return nil
		}
		return t
	}
	ref, npu := applyToAll(j.ref, active), applyToAll(j.npu, active)
	if j.opt.Given != nil {
		j.addGiven(ref, npu)
		return
	}
	for i := range rules {
		if r := &rules[i]; r.applies(j.opt) && slices.Contains(j.isDecided, false) {
			j.apply(r, ref, npu)
		}
	}
	slices.SortFunc(j.pairs, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.NPU, b.NPU)) })
	slices.SortFunc(j.ambiguous, func(a, b Ambiguity) int {
		return cmp.Or(cmp.Compare(a.Refs[0], b.Refs[0]), cmp.Compare(a.NPUs[0], b.NPUs[0]))
	})
}

// addGiven adds the given pairs.
func (j *join) addGiven(ref, npu []*Tensor) {
	refs := make(map[int]int, len(ref))
	for i, t := range ref {
		if t != nil {
			refs[t.ID] = i
		}
	}
	partner := make(map[int]int, len(j.opt.Given))
	for _, p := range j.opt.Given {
		partner[p.NPU] = p.Ref
	}
	for i, t := range npu {
		if t == nil || j.isDecided[i] {
			continue
		}
		if of, ok := partner[t.ID]; ok {
			if at, ok := refs[of]; ok {
				j.pairs, j.isDecided[i] = append(j.pairs, Pair{Ref: at, NPU: i, Rule: RuleValues}), true
			}
		}
	}
}

// applyToAll returns as(t) for each tensor t, nil for nil.
func applyToAll(tensors []*Tensor, as func(*Tensor) *Tensor) []*Tensor {
	all := make([]*Tensor, len(tensors))
	for i, t := range tensors {
		if t != nil {
			all[i] = as(t)
		}
	}
	return all
}

// views returns tensors in the view of a rule.
func (j *join) views(tensors []*Tensor, as namedView) []*Tensor {
	if as == nil {
		return tensors
	}
	return applyToAll(tensors, func(t *Tensor) *Tensor { return as(j.opt, t) })
}

// apply adds the pairs of a rule and removes its reserved tensors from ref and npu.
func (j *join) apply(r *rule, ref, npu []*Tensor) {
	if r.countedName != nil {
		j.pairByCount(r, ref, npu)
		return
	}
	if r.prepare != nil {
		r.prepare(j)
	}
	refViews, npuViews := j.views(ref, r.ref), j.views(npu, r.npu)
	j.match(r, refViews, npuViews)
	if r.reserve == nil {
		return
	}
	for i, t := range npuViews {
		if t != nil && !j.isDecided[i] {
			j.isDecided[i] = true
			if _, known := j.reasons[i]; !known {
				j.reasons[i] = r.reserve(j.opt, npu[i])
			}
		}
	}
	for i, t := range refViews {
		if t != nil && r.reserveRef {
			ref[i] = nil
		}
	}
}

// match finds the partners of the NPU's tensors by a rule. A tensor and its only partner are a
// pair if no other tensor has this partner; anything else is an ambiguity.
func (j *join) match(r *rule, ref, npu []*Tensor) {
	wanted := make([]keys, len(npu))
	for i, t := range npu {
		if t != nil && !j.isDecided[i] {
			wanted[i] = r.keys(t)
		}
	}
	index := newRefIndex(ref, r.keys, wanted)
	partners := make([][]int, len(npu))
	byTarget, numbers := make([][]int, len(ref)), make(map[target]int)
	for i, t := range npu {
		if t == nil || j.isDecided[i] {
			continue
		}
		partners[i] = keepSameSlice(ref, j.findPartners(index, wanted[i], i, r.shared), t.Slice)
		for _, p := range partners[i] {
			to := j.targetNumber(r, p, i, numbers)
			if to >= len(byTarget) {
				byTarget = append(byTarget, nil)
			}
			byTarget[to] = append(byTarget[to], i)
		}
	}
	for i, refs := range partners {
		if len(refs) == 0 || j.isDecided[i] {
			continue
		}
		same := byTarget[j.targetNumber(r, refs[0], i, numbers)]
		switch {
		case r.loose:
			j.pairLoosely(r, refs, same, i)
		case len(refs) > 1:
			j.addAmbiguity(r, refs, []int{i})
			j.isDecided[i] = true
		case len(same) == 1:
			j.addPair(r, refs[0], i)
		default:
			j.addAmbiguity(r, refs, same)
			for _, n := range same {
				// A tensor with other candidates too gets an ambiguity of its own.
				j.isDecided[n] = j.isDecided[n] || len(partners[n]) == 1
			}
		}
	}
}

// targetNumber returns the number of a tensor's target: the position of the reference's tensor; for shared rules a
// number that it adds to numbers.
func (j *join) targetNumber(r *rule, ref, npu int, numbers map[target]int) int {
	if !r.shared {
		return ref
	}
	t := j.npu[npu]
	to := target{ref, key{t.Name(), t.Kind, t.Index}}
	n, ok := numbers[to]
	if !ok {
		n = len(numbers)
		numbers[to] = n
	}
	return n
}

// maxCandidates limits the candidates that an ambiguity names.
const maxCandidates = 16

// findPartners returns the free tensors of the reference, each once, that share a key with ks, the
// keys of the NPU's tensor at position i.
func (j *join) findPartners(index refIndex, ks keys, i int, shared bool) []int {
	var found []int
	for c := range index.find(ks) {
		if !shared && j.isUsed[c.ref] || slices.Contains(found, c.ref) {
			continue
		}
		// The shape comes last, because it may have to be read from a file.
		if c.shortened != nil && !j.isShape(c, i) {
			continue
		}
		if found = append(found, c.ref); len(found) == maxCandidates {
			break
		}
	}
	return found
}

// keepSameSlice returns the candidates of the same slice; all if there is at most one candidate or
// none of the slice.
func keepSameSlice(refs []*Tensor, found []int, slice string) []int {
	if len(found) < 2 {
		return found
	}
	same := slices.DeleteFunc(slices.Clone(found), func(r int) bool { return refs[r].Slice != slice })
	if len(same) > 0 {
		return same
	}
	return found
}

// tensorPlace is the position of a tensor and its side.
type tensorPlace struct {
	at  int
	npu bool
}

// shapesOf returns the known shapes of a tensor: the shape in its file name, else the shapes in the file.
func (j *join) shapesOf(at int, npu bool) []tensor.Shape {
	side := j.ref
	if npu {
		side = j.npu
	}
	t := side[at]
	if t.Shape != nil {
		return []tensor.Shape{t.Shape}
	}
	shapes, asked := j.shapes[tensorPlace{at, npu}]
	if !asked && j.opt.Shapes != nil {
		shapes = j.opt.Shapes(t.ID, npu)
		j.shapes[tensorPlace{at, npu}] = shapes
	}
	return shapes
}

// isShape reports whether the text that was cut from the name of a candidate, or of the NPU's
// tensor at position npu, is the shape of its tensor. If no shape is known, the text must be
// certain.
func (j *join) isShape(c candidate, npu int) bool {
	at := c.ref
	if c.cutNPU {
		at = npu
	}
	shapes := j.shapesOf(at, c.cutNPU)
	if len(shapes) == 0 {
		return c.shortened.certain
	}
	return slices.ContainsFunc(shapes, c.shortened.shape.Equal)
}

func (j *join) addPair(r *rule, ref, npu int) {
	j.pairs = append(j.pairs, Pair{ref, npu, r.name})
	j.isDecided[npu] = true
	j.isUsed[ref] = true
}

func (j *join) addAmbiguity(r *rule, refs, npus []int) {
	j.ambiguous = append(j.ambiguous, Ambiguity{refs, npus, r.name})
	for _, ref := range refs {
		j.isUsed[ref] = true
	}
}

// refIndex finds tensors of the reference by the keys of the NPU's tensors. Whole keys come before shortened keys.
type refIndex map[key][]entry

// entry is the position of a tensor of the reference. shortened is nil for a whole key; a shortened key
// holds only if the removed text is a shape.
type entry struct {
	ref       int
	shortened *shortenedKey
}

// newRefIndex makes an index of the wanted keys.
func newRefIndex(refs []*Tensor, keysOf func(*Tensor) keys, wanted []keys) refIndex {
	x := make(refIndex, len(wanted))
	for _, ks := range wanted {
		for k := range ks.eachKey {
			x[k] = nil
		}
	}
	add := func(k key, e entry) {
		if _, ok := x[k]; ok {
			x[k] = append(x[k], e)
		}
	}
	var cut []entry
	for i, t := range refs {
		if t == nil || len(x) == 0 {
			continue
		}
		ks := keysOf(t)
		for _, k := range ks.whole {
			add(k, entry{ref: i})
		}
		for k := range ks.shortened {
			cut = append(cut, entry{i, &ks.shortened[k]})
		}
	}
	for _, e := range cut {
		add(e.shortened.key, e)
	}
	return x
}

// candidate is a tensor of the reference that shares a key with a tensor of the NPU.
type candidate struct {
	entry
	cutNPU bool // the NPU's name was cut, not the reference's
}

// find yields the tensors that share a key with ks, once for each key.
func (x refIndex) find(ks keys) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		for _, k := range ks.whole {
			for _, e := range x[k] {
				if !yield(candidate{e, false}) {
					return
				}
			}
		}
		for _, s := range ks.shortened {
			for _, e := range x[s.key] {
				if e.shortened == nil && !yield(candidate{entry{e.ref, &s}, true}) {
					return
				}
			}
		}
	}
}

// withoutNumber returns the name of an operator without MindSpore's number at its end, -op515 or -op515_2, which
// differs from graph to graph; empty for a name without a number.
func withoutNumber(t *Tensor) string {
	base, ok := filename.CutOpNumber(t.Name())
	if !ok {
		return ""
	}
	return filename.Normalise(base)
}

// slot is the position of a tensor in its operator.
type slot struct {
	kind  tensor.Kind
	index int
	slice string
}

// numberedNames are the tensors of operators whose names differ only by a number, by whole name.
type numberedNames map[string]map[slot]int

// names returns the whole names, in the order of their numbers.
func (n numberedNames) names() []string {
	all := make([]string, 0, len(n))
	for name := range n {
		all = append(all, name)
	}
	slices.SortFunc(all, lang.CompareNatural)
	return all
}

// pairByCount pairs the undecided operators with the same name by a counted rule: the k-th operators of both sides are
// partners if both sides have equally many, else none, with a reason.
func (j *join) pairByCount(r *rule, ref, npu []*Tensor) {
	refs := groupByName(r, ref, func(i int) bool { return j.isUsed[i] })
	npus := groupByName(r, npu, func(i int) bool { return j.isDecided[i] })
	for base, here := range npus {
		there := refs[base]
		if len(here) != len(there) {
			for _, at := range here {
				for _, i := range at {
					if len(there) > 0 {
						j.reasons[i] = lang.Say("%d operators of the reference and %d of the NPU have this name without its number: use --map-node-dict to choose", len(there), len(here))
					}
				}
			}
			continue
		}
		refNames := there.names()
		for k, name := range here.names() {
			for at, i := range here[name] {
				if partner, ok := there[refNames[k]][at]; ok {
					j.addPair(r, partner, i)
				}
			}
		}
	}
}

// groupByName returns the operators by their names in a counted rule, without operators that have a decided tensor.
func groupByName(r *rule, tensors []*Tensor, decided func(int) bool) map[string]numberedNames {
	all, done := make(map[string]numberedNames), make(map[string]bool)
	for i, t := range tensors {
		if t != nil && decided(i) {
			done[t.Name()] = true
		}
	}
	for i, t := range tensors {
		if t == nil || done[t.Name()] {
			continue
		}
		base := r.countedName(t)
		if base == "" {
			continue
		}
		if all[base] == nil {
			all[base] = make(numberedNames)
		}
		if all[base][t.Name()] == nil {
			all[base][t.Name()] = make(map[slot]int)
		}
		all[base][t.Name()][slot{t.Kind, t.Index, t.Slice}] = i
	}
	return all
}

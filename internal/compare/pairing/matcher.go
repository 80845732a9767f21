package pairing

import (
	"cmp"
	"slices"

	"dumptool/internal/tensor"
)

// link is a pair by the positions of its tensors.
type link struct {
	ref, npu int
	rule     Rule
}

// tie is an ambiguity by positions.
type tie struct {
	refs, npus []int
	rule       Rule
}

// use is a tensor of the reference in a round of the NPU.
type use struct {
	ref   int
	round string
}

// matcher pairs the tensors of two sides.
type matcher struct {
	opt      *Options
	ref, npu []*Tensor
	// done are the NPU's tensors that have a pair or an ambiguity, or that a
	// rule has judged to have no partner, which why then explains.
	done []bool
	why  map[int]string
	used map[use]bool
	// known are the shapes that were asked for.
	known map[shapeOf][]tensor.Shape

	links []link
	ties  []tie
}

func newMatcher(opt *Options, ref, npu []*Tensor) *matcher {
	return &matcher{opt: opt, ref: ref, npu: npu, done: make([]bool, len(npu)), why: make(map[int]string), used: make(map[use]bool), known: make(map[shapeOf][]tensor.Shape)}
}

// pass is the application of a rule.
type pass struct {
	rule Rule
	keys func(*Tensor) keys
	// ref and npu are the tensors as the rule sees them, nil for those that it
	// does not apply to.
	ref, npu []*Tensor
	// shared allows several of the NPU's tensors the same partner.
	shared bool
}

// run applies all rules to the tensors for which active is true.
func (m *matcher) run(activeRef, activeNPU func(*Tensor) bool) {
	ref, npu := filter(m.ref, activeRef), filter(m.npu, activeNPU)
	m.byMap(ref, npu)
	m.byFusion(ref, npu)
	for _, rule := range []struct {
		rule Rule
		keys func(*Tensor) keys
	}{{RuleStem, stemKeys}, {RuleName, bothKeys}, {RuleName, nameKeys}, {RuleNormalised, normalisedKeys}, {RuleSuffix, suffixKeys}} {
		m.apply(pass{rule: rule.rule, keys: rule.keys, ref: ref, npu: npu})
	}
}

// filter returns tensors with nil for those that are not active.
func filter(tensors []*Tensor, active func(*Tensor) bool) []*Tensor {
	view := make([]*Tensor, len(tensors))
	for i, t := range tensors {
		if active(t) {
			view[i] = t
		}
	}
	return view
}

// byMap pairs the operators of the name map, and takes them from both sides:
// no other rule may give them a partner.
func (m *matcher) byMap(ref, npu []*Tensor) {
	nameMap := m.opt.Map
	if nameMap == nil || len(nameMap.Entries) == 0 {
		return
	}
	mapped := func(index *nameIndex, side []*Tensor) []*Tensor {
		view := make([]*Tensor, len(side))
		for i, t := range side {
			if t == nil {
				continue
			}
			if k, ok := index.find(t.names()...); ok {
				alias := *t
				alias.rename(nameMap.Entries[k].Ref)
				view[i] = &alias
			}
		}
		return view
	}
	refView, npuView := mapped(&nameMap.ref, ref), mapped(&nameMap.npu, npu)
	m.apply(pass{rule: RuleMap, keys: nameKeys, ref: refView, npu: npuView})
	for i, t := range refView {
		if t != nil {
			ref[i] = nil
		}
	}
	for i, t := range npuView {
		if t != nil {
			npu[i] = nil
			m.close(i, "the name map gives it to "+t.Name()+", which has no free tensor for it")
		}
	}
}

// close takes a tensor of the NPU that has no partner from further rules.
func (m *matcher) close(i int, why string) {
	if !m.done[i] {
		m.done[i] = true
		m.why[i] = why
	}
}

// byFusion pairs results with the model's results that they stand for. An
// output with an origin that the reference lacks is not paired by its own name,
// under which the reference has an earlier result, unless the reference is a
// run of the NPU with the same operator.
func (m *matcher) byFusion(ref, npu []*Tensor) {
	f := m.opt.Fusion
	if f == nil {
		return
	}
	view := make([]*Tensor, len(npu))
	for i, t := range npu {
		if t == nil || m.done[i] {
			continue
		}
		find := f.Origin
		if t.Kind == Input {
			find = f.InputOrigin
		}
		if origin, ok := find(t.Index, t.names()...); ok {
			alias := *t
			alias.rename(origin.Op)
			alias.Kind, alias.Index = Output, origin.Output
			view[i] = &alias
		}
	}
	for _, keysOf := range []func(*Tensor) keys{nameKeys, normalisedKeys, suffixKeys} {
		m.apply(pass{rule: RuleFusion, keys: keysOf, ref: ref, npu: view, shared: true})
	}
	outputs := filterAt(npu, func(i int) bool { return view[i] != nil && npu[i].Kind == Output })
	m.apply(pass{rule: RuleName, keys: typedKeys, ref: ref, npu: outputs})
	for i, t := range outputs {
		if t != nil {
			m.close(i, "it stands for the model's "+tensorName(view[i])+", which the reference lacks")
		}
	}
}

func filterAt(tensors []*Tensor, active func(int) bool) []*Tensor {
	view := make([]*Tensor, len(tensors))
	for i, t := range tensors {
		if t != nil && active(i) {
			view[i] = t
		}
	}
	return view
}

// typedKeys are keys of operators with a known type.
func typedKeys(t *Tensor) keys {
	if t.OpType == "" {
		return keys{}
	}
	var k keys
	for _, name := range t.distinctNames() {
		k.addWhole(t, Normalise(name)+"\x00"+t.OpType)
	}
	return k
}

// apply pairs what a rule pairs.
func (m *matcher) apply(p pass) {
	wanted := make([]keys, len(p.npu))
	for i, t := range p.npu {
		if t != nil && !m.done[i] {
			wanted[i] = p.keys(t)
		}
	}
	index := newRefIndex(p.ref, p.keys, wanted)
	if len(index.at) == 0 {
		return
	}
	found := make([][]int, len(p.npu))
	rivals := make(map[claim][]int)
	for i, t := range p.npu {
		if t == nil || m.done[i] {
			continue
		}
		free := func(r int) bool { return p.shared || !m.used[use{r, t.Round}] }
		found[i] = sameSlice(p.ref, index.find(wanted[i], &search{p.ref, i, t.Round, free, m.hasShape}), t.Slice)
		for _, r := range found[i] {
			c := m.claim(p, r, i)
			rivals[c] = append(rivals[c], i)
		}
	}
	for i, refs := range found {
		switch {
		case len(refs) == 0 || m.done[i]:
		case len(refs) > 1:
			m.addTie(tie{refs, []int{i}, p.rule})
		case len(rivals[m.claim(p, refs[0], i)]) == 1:
			m.addLink(link{refs[0], i, p.rule})
		default:
			m.addTie(tie{refs, rivals[m.claim(p, refs[0], i)], p.rule})
			for _, n := range rivals[m.claim(p, refs[0], i)] {
				// A rival with other candidates too has an ambiguity of its own.
				m.done[n] = m.done[n] || len(found[n]) == 1
			}
		}
	}
}

// claim is what only one tensor of the NPU may have. Where a partner may be
// shared, it is so by different operators only.
type claim struct {
	use
	by key
}

func (m *matcher) claim(p pass, ref, npu int) claim {
	t := m.npu[npu]
	c := claim{use: use{ref, t.Round}}
	if p.shared {
		c.by = key{t.Name(), t.Kind, t.Index}
	}
	return c
}

// sameSlice chooses, where there are several candidates, those of the same
// slice if there are any.
func sameSlice(refs []*Tensor, found []int, slice string) []int {
	if len(found) < 2 {
		return found
	}
	same := slices.DeleteFunc(slices.Clone(found), func(r int) bool { return refs[r].Slice != slice })
	if len(same) > 0 {
		return same
	}
	return found
}

// shapeOf is the position of a tensor whose shapes were asked for.
type shapeOf struct {
	at  int
	npu bool
}

// hasShape reports whether c, which was cut from the name of a tensor, is its
// shape. Where no shape is known, only a text that cannot be anything else is.
func (m *matcher) hasShape(at int, npu bool, c *cut) bool {
	side := m.ref
	if npu {
		side = m.npu
	}
	t := side[at]
	if t.HasShape {
		return c.shape.Equal(t.Shape)
	}
	shapes, asked := m.known[shapeOf{at, npu}]
	if !asked && m.opt.Shapes != nil {
		shapes = m.opt.Shapes(t.ID, npu)
		m.known[shapeOf{at, npu}] = shapes
	}
	if len(shapes) == 0 {
		return c.marked
	}
	return slices.ContainsFunc(shapes, c.shape.Equal)
}

func (m *matcher) addLink(l link) {
	m.links = append(m.links, l)
	m.done[l.npu] = true
	m.used[use{l.ref, m.npu[l.npu].Round}] = true
}

func (m *matcher) addTie(t tie) {
	m.ties = append(m.ties, t)
	round := m.npu[t.npus[0]].Round
	for _, r := range t.refs {
		m.used[use{r, round}] = true
	}
	if len(t.refs) > 1 {
		m.done[t.npus[0]] = true
	}
}

// sort brings what was found into an order that does not depend on the rules.
func (m *matcher) sort() {
	slices.SortFunc(m.links, func(a, b link) int { return cmp.Or(cmp.Compare(a.ref, b.ref), cmp.Compare(a.npu, b.npu)) })
	slices.SortFunc(m.ties, func(a, b tie) int {
		return cmp.Or(cmp.Compare(a.refs[0], b.refs[0]), cmp.Compare(a.npus[0], b.npus[0]))
	})
}

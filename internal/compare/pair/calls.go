package pair

import (
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
)

// Calls are the calls of two rounds of msprobe under names that partners have in
// common:
//
//   - the names of the map, of calls or of single values, and of modules by the parts of
//     their names or the layers that they are in;
//   - the names of the calls, of MindSpore as PyTorch has them if the other side is
//     that;
//   - of backward calls the number is that of the order, if the two sides have not the
//     same ones: a forward call that is computed again shifts the numbers, and that of the
//     gradients of parameters is the step's. So it is of another call, the only one of its
//     name, whose number is that of the step on both sides;
//   - of calls without a partner by all these, the place among those of their name, if
//     that is asked for (fuzzy).
type Calls struct {
	nameMap  *sidefile.NameMap // nil for none
	ref, npu callSide
}

// callSide are the calls of a side.
type callSide struct {
	calls map[string]*call
	// names are what partners have in common, by the calls' own names.
	names map[string]string
	// near are, of calls without a partner, the names of the other side's without one that
	// are most like theirs.
	near map[string]string
}

// NewCalls returns the calls of two rounds, nil if one is missing or has none. nameMap
// may be nil.
func NewCalls(ref, npu *dumpdir.Round, nameMap *sidefile.NameMap, fuzzy bool) *Calls {
	if ref == nil || npu == nil || len(ref.Calls) == 0 || len(npu.Calls) == 0 {
		return nil
	}
	refs, npus := parseCalls(ref.Calls), parseCalls(npu.Calls)
	mapModules(npus, nameMap)
	var modules bool // pair by their places in the network, whatever their classes are
	switch here, there := isMindSpore(ref), isMindSpore(npu); {
	case here && !there:
		d := newDictionary(refs, npus, nameMap)
		d.translate(refs, func(*call) bool { return true })
		d.translate(npus, func(c *call) bool { return c.mapped })
		modules = true
	case there && !here:
		newDictionary(npus, refs, nameMap).translate(npus, func(c *call) bool { return !c.mapped })
		modules = true
	}
	if nameMap != nil && nameMap.Layers != nil {
		modules = true
		if inModules(ref) && inModules(npu) {
			within(refs)
			within(npus)
		}
	}
	for _, calls := range [][]call{refs, npus} {
		for i := range calls {
			calls[i].setBase(modules)
		}
	}
	c := &Calls{nameMap: nameMap}
	ordered := byOrder(refs, npus, ref.At.Step, npu.At.Step)
	c.ref, c.npu = newSide(refs, ordered), newSide(npus, ordered)
	if fuzzy {
		c.pairLeftovers(refs, npus)
	}
	c.ref.near, c.npu.near = nearest(&c.ref, &c.npu), nearest(&c.npu, &c.ref)
	return c
}

// pairLeftovers pairs the calls of one name that have no partner with one another, in
// their order, whatever their numbers are.
func (c *Calls) pairLeftovers(refs, npus []call) {
	left := func(calls []call, own, other map[string]string) map[string][]string {
		partners := make(map[string]bool, len(other))
		for _, name := range other {
			partners[name] = true
		}
		all := make(map[string][]string)
		for i := range calls {
			if x := &calls[i]; !partners[own[x.of.API]] {
				all[x.base] = append(all[x.base], x.of.API)
			}
		}
		return all
	}
	here, there := left(refs, c.ref.names, c.npu.names), left(npus, c.npu.names, c.ref.names)
	for base, apis := range here {
		for k, api := range apis[:min(len(apis), len(there[base]))] {
			name := base + " left over " + strconv.Itoa(k)
			c.ref.names[api], c.npu.names[there[base][k]] = name, name
		}
	}
}

// Key is what a value has in common with its partner.
func (c *Calls) Key(api string, l *msprobe.Leaf, npu bool) string {
	find, side := (*sidefile.NameMap).FindRef, &c.ref
	if npu {
		find, side = (*sidefile.NameMap).FindNPU, &c.npu
	}
	path := l.Path
	if call := side.calls[api]; call != nil {
		path = call.value(l)
	}
	if c.nameMap != nil {
		if entry, ok := find(c.nameMap, l.Name); ok {
			return "value " + entry.Ref
		}
		if entry, ok := find(c.nameMap, api); ok {
			return "call " + entry.Ref + "\x00" + path
		}
	}
	return side.names[api] + "\x00" + path
}

// call is a call and what it is called.
type call struct {
	of *dumpdir.Call
	// Name is the call's own, with the callee that PyTorch or the reference has for it.
	msprobe.Name
	// mapped is set for a name that the map has given, translated for one of PyTorch for a
	// call of MindSpore; values is then what is known of its values, nil for nothing.
	mapped, translated bool
	values             *renaming
	// inside is the call of a module that it is a part of, as the other side has it too.
	inside string
	// base is all but the number.
	base string
}

func parseCalls(calls []*dumpdir.Call) []call {
	all := make([]call, len(calls))
	for i, c := range calls {
		all[i] = call{of: c, Name: msprobe.ParseName(c.API)}
	}
	return all
}

// setBase makes the base of the name. Modules go by their places in the network where their
// classes have other names on the other side.
func (c *call) setBase(modules bool) {
	name := c.Callee
	if dot := strings.LastIndexByte(name, '.'); modules && dot > 0 && msprobe.IsModule(name) {
		name = name[:dot]
	}
	c.base = strings.Join([]string{c.inside, name, string(c.Direction)}, " ")
}

const mindspore = "mindspore"

func isMindSpore(r *dumpdir.Round) bool {
	if r.Header.Framework != "" {
		return r.Header.Framework == mindspore
	}
	return slices.ContainsFunc(r.Calls, func(c *dumpdir.Call) bool {
		return strings.HasPrefix(c.API, "Cell.") || strings.HasPrefix(c.API, "Mint")
	})
}

// mapModules gives the NPU's calls the names of the modules or functions that the map
// has for theirs.
func mapModules(npus []call, nameMap *sidefile.NameMap) {
	if nameMap == nil {
		return
	}
	layers := layersOf(npus, nameMap.Layers)
	for i := range npus {
		c := &npus[i]
		if c.Direction == "" {
			continue
		}
		if entry, ok := nameMap.FindNPU(c.Callee); ok {
			c.Callee, c.mapped = entry.Ref, true
		} else if word, path, ok := cutModule(c.Callee); ok {
			if to := layers.rename(path); to != path {
				c.Callee = word + "." + to
			}
			if to := mapCell(nameMap, path); to != path {
				c.Callee = word + "." + to
			}
		}
	}
}

// cutModule splits the name of a module into the word for modules, and its place and class.
func cutModule(name string) (word, path string, ok bool) {
	word, path, _ = strings.Cut(name, ".")
	return word, path, path != "" && msprobe.IsModule(name)
}

// mapCell returns the place and class of a module as the cell mapping has them: the whole of
// them, or else the first entry that is a part of them.
func mapCell(nameMap *sidefile.NameMap, path string) string {
	for _, e := range nameMap.Cells {
		if e.NPU == path {
			return e.Ref
		}
	}
	for _, e := range nameMap.Cells {
		if strings.Contains(path, e.NPU) {
			return strings.Replace(path, e.NPU, e.Ref, 1)
		}
	}
	return path
}

// layers are the names of layers in modules, by the classes of these.
type layers struct {
	sections map[string]map[string]string
	classes  map[string]string // of modules by their places in the network
}

// topLayers are the names of sections for modules that are in no other one.
var topLayers = []string{"TopLayer", "Cell", "Module"}

func layersOf(calls []call, sections map[string]map[string]string) *layers {
	l := &layers{sections, make(map[string]string)}
	if sections == nil {
		return l
	}
	add := func(name msprobe.Name) {
		if _, path, ok := cutModule(name.Callee); ok {
			if dot := strings.LastIndexByte(path, '.'); dot > 0 {
				l.classes[path[:dot]] = path[dot+1:]
			}
		}
	}
	for i := range calls {
		add(calls[i].Name)
		for _, around := range calls[i].of.Modules {
			add(msprobe.ParseName(around))
		}
	}
	return l
}

// rename returns the place and class of a module with the names of layers that the other
// side has. A layer is in the nearest module above it that is called.
func (l *layers) rename(path string) string {
	if l.sections == nil {
		return path
	}
	parts := strings.Split(path, ".")
	named := slices.Clone(parts)
	around := topLayers
	for i, part := range parts[:len(parts)-1] {
		for _, class := range around {
			if to := l.sections[class][part]; to != "" {
				named[i] = to
				break
			}
		}
		if class := l.classes[strings.Join(parts[:i+1], ".")]; class != "" {
			around = []string{class}
		}
	}
	return strings.Join(named, ".")
}

// inModules reports whether it is known which modules calls are in.
func inModules(r *dumpdir.Round) bool {
	return slices.ContainsFunc(r.Calls, func(c *dumpdir.Call) bool { return len(c.Modules) > 0 })
}

// within tells functions apart by the call of the module that they are in: with layers of
// other names the two sides may count them in another order.
func within(calls []call) {
	bases := make(map[string]string)
	for i := range calls {
		c := calls[i]
		c.setBase(true)
		bases[c.of.API] = c.base + " " + c.Number
	}
	for i := range calls {
		c := &calls[i]
		if at := c.of.Modules; len(at) > 0 && !msprobe.IsModule(c.of.API) {
			c.inside = bases[at[len(at)-1]]
		}
	}
}

// CallName is the name of a call without its number and direction, as name maps may
// have it; empty for other names.
func CallName(api string) string {
	if name := msprobe.ParseName(api); name.Direction != "" {
		return name.Callee
	}
	return ""
}

// byOrder returns the bases whose calls pair by their order, not by their numbers.
func byOrder(ref, npu []call, refStep, npuStep string) map[string]bool {
	first := make(map[string]string, len(ref))
	for i := range ref {
		first[ref[i].base] = ref[i].Number
	}
	here, there := numbersOf(ref), numbersOf(npu)
	ordered := make(map[string]bool)
	for i := range npu {
		c := &npu[i]
		a, b := here[c.base], there[c.base]
		switch {
		case c.Number == "" && !c.Direction.IsBackward() || slices.Equal(a, b):
		case c.Direction.IsBackward(), c.inside != "":
			ordered[c.base] = true
		case len(a) == 1 && len(b) == 1:
			ordered[c.base] = c.Number == npuStep && first[c.base] == refStep
		case len(a) == len(b): // several functions that are one on the other side
			ordered[c.base] = twice(a) != twice(b)
		}
	}
	for i := range ref { // what one side lacks has no partner in any case
		ordered[ref[i].base] = ordered[ref[i].base] || ref[i].Direction.IsBackward() && there[ref[i].base] == nil
	}
	return ordered
}

// numbersOf are the numbers of the calls of each base, sorted.
func numbersOf(calls []call) map[string][]int {
	all := make(map[string][]int)
	for i := range calls {
		n, err := strconv.Atoi(calls[i].Number)
		if err != nil {
			n = -1
		}
		all[calls[i].base] = append(all[calls[i].base], n)
	}
	for _, n := range all {
		slices.Sort(n)
	}
	return all
}

// twice reports whether sorted numbers have one twice.
func twice(sorted []int) bool { return len(slices.Compact(slices.Clone(sorted))) < len(sorted) }

// newSide returns calls under the names that partners have in common.
func newSide(calls []call, ordered map[string]bool) callSide {
	s := callSide{calls: make(map[string]*call, len(calls)), names: make(map[string]string, len(calls))}
	seen := make(map[string]int)
	for i := range calls {
		c := &calls[i]
		name := c.base + "#" + c.Number
		if ordered[c.base] {
			name = c.base + " in order " + strconv.Itoa(seen[c.base])
			seen[c.base]++
		}
		s.calls[c.of.API], s.names[c.of.API] = c, name
	}
	return s
}

// mostNames is how many names are held against each other.
const mostNames = 300

// nearest returns, for each call of a side that has no partner by its name, the name of the
// other side's without one that is most like it, of modules that of a module.
func nearest(of, others *callSide) map[string]string {
	lost, left := of.without(others), others.without(of)
	if len(lost)*len(left) > mostNames*mostNames {
		return nil
	}
	byName, near := make(map[string]string), make(map[string]string)
	for _, c := range lost {
		found, known := byName[c.base]
		if !known {
			word := c.word()
			least := len(word) // nothing in common
			for _, other := range left {
				if other.Direction != c.Direction || msprobe.IsModule(other.Callee) != msprobe.IsModule(c.Callee) {
					continue
				}
				if d := lang.Distance(word, other.word()); d < least {
					found, least = other.of.API, d
				}
			}
			byName[c.base] = found
		}
		near[c.of.API] = found
	}
	return near
}

// without are the calls that the other side has none for, one of each name, in order.
func (s *callSide) without(others *callSide) (all []*call) {
	there := make(map[string]bool, len(others.names))
	for _, name := range others.names {
		there[name] = true
	}
	for api, name := range s.names {
		if !there[name] {
			all = append(all, s.calls[api])
		}
	}
	slices.SortFunc(all, func(a, b *call) int { return lang.CompareNatural(a.of.API, b.of.API) })
	return all
}

// word is the part of a name that says most: that of the function, or the place of a module.
func (c *call) word() string {
	if _, path, ok := cutModule(c.Callee); ok {
		return path
	}
	return strings.ToLower(c.Callee[strings.LastIndexByte(c.Callee, '.')+1:])
}

// hasCalls reports whether both sides are of msprobe.
func hasCalls(opt *Options) bool { return opt.Calls != nil }

// ofCall is a tensor of a call.
func ofCall(_ *Options, t *Tensor) *Tensor {
	if t.Call == "" {
		return nil
	}
	return t
}

func callKeys(t *Tensor) keys {
	return keys{whole: []key{{name: t.Call, kind: t.Kind}}}
}

func whyCall(_ *Options, t *Tensor) lang.Sentence {
	return lang.Sayf("the reference has no call %s with this value", "标杆中没有带该值的调用 %s", t.Name())
}

func whyNoCall(t *Tensor) lang.Sentence {
	return lang.Sayf("the NPU has no call %s with this value", "NPU 中没有带该值的调用 %s", t.Name())
}

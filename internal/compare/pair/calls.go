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

// Calls gives the calls of two rounds of msprobe names that partners share:
//
//   - names from the map: for calls, for single values, and for modules by parts of their
//     names or by their layers;
//   - the names of the calls; MindSpore's names are translated if the other side is
//     PyTorch;
//   - for backward calls whose numbers differ between the sides, the place in the order
//     instead of the number: a forward call that is computed again shifts the numbers, and
//     gradients of parameters have the number of the step. So does a single forward call
//     whose number is the step on both sides;
//   - with places, for modules without a partner of their class, the place in the network, if the
//     other side has one module there and it reads tensors of the same shapes; places are
//     counted inside of wrappers that one side alone has;
//   - with fuzzy, for calls still without a partner, the place among the calls of the same
//     name.
type Calls struct {
	nameMap  *sidefile.NameMap // nil for none
	ref, npu callSide
}

// callSide is the calls of one side, by their names in dump.json.
type callSide struct {
	calls map[string]*call
	// names are the names that partners share.
	names map[string]string
	// near has, for a call without a partner, the most similar name without a partner on the
	// other side.
	near map[string]string
}

// CallOptions say when two calls with different names are partners.
type CallOptions struct {
	Map *sidefile.NameMap // nil for none
	// Places pairs modules of different classes, Fuzzy calls with different numbers.
	Places, Fuzzy bool
}

// NewCalls names the calls of two rounds, nil if a round is missing or has no calls.
func NewCalls(ref, npu *dumpdir.Round, opt CallOptions) *Calls {
	nameMap := opt.Map
	if ref == nil || npu == nil || len(ref.Calls) == 0 || len(npu.Calls) == 0 {
		return nil
	}
	refs, npus := parseCalls(ref.Calls), parseCalls(npu.Calls)
	mapModules(npus, nameMap)
	var modules bool // pair modules by their places in the network, not by their classes
	switch here, there := isMindSpore(ref), isMindSpore(npu); {
	case here && !there:
		d := newDictionary(refs, npus, nameMap)
		d.translate(refs, func(*call) bool { return true })
		d.translate(npus, func(c *call) bool { return c.isMapped })
		modules = true
	case there && !here:
		newDictionary(npus, refs, nameMap).translate(npus, func(c *call) bool { return !c.isMapped })
		modules = true
	}
	if nameMap != nil && nameMap.Layers != nil {
		modules = true
		if recordsModules(ref) && recordsModules(npu) {
			setOuterModules(refs)
			setOuterModules(npus)
		}
	}
	if opt.Places && !modules {
		unwrap(refs, npus)
	}
	for _, calls := range [][]call{refs, npus} {
		for i := range calls {
			calls[i].setBase(modules)
		}
	}
	if opt.Places && !modules {
		pairPlaces(refs, npus)
	}
	c := &Calls{nameMap: nameMap}
	ordered := basesInOrder(refs, npus, ref.At.Step, npu.At.Step)
	c.ref, c.npu = newSide(refs, ordered), newSide(npus, ordered)
	if opt.Fuzzy {
		c.pairLeftovers(refs, npus)
	}
	c.ref.near, c.npu.near = nearestUnmatched(&c.ref, &c.npu), nearestUnmatched(&c.npu, &c.ref)
	return c
}

// pairLeftovers pairs calls without a partner with calls of the same name, in their order,
// whatever their numbers.
func (c *Calls) pairLeftovers(refs, npus []call) {
	left := func(calls []call, own, other map[string]string) map[string][]string {
		partners := make(map[string]bool, len(other))
		for _, name := range other {
			partners[name] = true
		}
		all := make(map[string][]string)
		for i := range calls {
			if x := &calls[i]; !partners[own[x.source.API]] {
				all[x.base] = append(all[x.base], x.source.API)
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

// Key returns the text that a value and its partner share.
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

// call is a call and its names.
type call struct {
	source *dumpdir.Call
	// Name is the name of the call, with the callee's name in PyTorch or in the reference.
	msprobe.Name
	// isMapped: the callee comes from the map. isTranslated: it is PyTorch's name for a call of MindSpore; renaming then
	// has PyTorch's names of the values, nil for no change.
	isMapped, isTranslated bool
	renaming               *renaming
	// outerModule is the base and number of the module around the call, empty if not needed.
	outerModule string
	// base is the name that partners share, without the number.
	base string
	// class is the class of the module of the other side at the same place, empty for calls
	// whose partner has the same class.
	class string
}

func parseCalls(calls []*dumpdir.Call) []call {
	all := make([]call, len(calls))
	for i, c := range calls {
		all[i] = call{source: c, Name: msprobe.ParseName(c.API)}
	}
	return all
}

// setBase sets the base. With modules, modules lose their classes, which have other names on the
// other side.
func (c *call) setBase(modules bool) {
	name := c.Callee
	if dot := strings.LastIndexByte(name, '.'); modules && dot > 0 && msprobe.IsModule(name) {
		name = name[:dot]
	}
	c.base = strings.Join([]string{c.outerModule, name, string(c.Direction)}, " ")
}

// wrappedModel is the name of the model in a module around it, such as DistributedDataParallel.
const wrappedModel = "module."

// unwrap drops the wrappers around the model that one side alone has: only their place gives its modules partners.
func unwrap(refs, npus []call) {
	more, n := npus, countWrappers(npus)-countWrappers(refs)
	if n < 0 {
		more, n = refs, -n
	}
	if n == 0 {
		return
	}
	for i := range more {
		if word, path, ok := cutModule(more[i].Callee); ok {
			more[i].Callee = word + "." + strings.TrimPrefix(path, strings.Repeat(wrappedModel, n))
		}
	}
	for _, calls := range [][]call{refs, npus} {
		for i := range calls {
			calls[i].class = calls[i].Class()
		}
	}
}

// countWrappers returns the number of wrappers around all modules inside of a model.
func countWrappers(calls []call) int {
	least := -1
	for i := range calls {
		_, path, _ := cutModule(calls[i].Callee)
		inner, n := path, 0
		for strings.HasPrefix(inner, wrappedModel) {
			inner, n = inner[len(wrappedModel):], n+1
		}
		if strings.Contains(inner, ".") && (least < 0 || n < least) {
			least = n
		}
	}
	return max(0, least)
}

// pairPlaces gives modules without a partner of their class a common base, if each side has one module at a place and
// both read tensors of the same shape.
func pairPlaces(refs, npus []call) {
	first := [2]map[string]*call{make(map[string]*call), make(map[string]*call)} // by base
	for side, calls := range [][]call{refs, npus} {
		for i := range calls {
			if c := &calls[i]; first[side][c.base] == nil {
				first[side][c.base] = c
			}
		}
	}
	places := make(map[string]*[2][]*call)
	for side := range first {
		for base, c := range first[side] {
			if first[1-side][base] != nil || c.Class() == "" {
				continue
			}
			place := *c
			place.setBase(true)
			if places[place.base] == nil {
				places[place.base] = new([2][]*call)
			}
			places[place.base][side] = append(places[place.base][side], c)
		}
	}
	others := make(map[string]string) // classes by base
	for _, at := range places {
		if len(at[0]) == 1 && len(at[1]) == 1 && haveSameInputs(at[0][0], at[1][0]) {
			others[at[0][0].base], others[at[1][0].base] = at[1][0].Class(), at[0][0].Class()
		}
	}
	for _, calls := range [][]call{refs, npus} {
		for i := range calls {
			if c := &calls[i]; others[c.base] != "" {
				c.class = others[c.base]
				c.setBase(true)
			}
		}
	}
}

// haveSameInputs reports whether the first tensors that two calls read have the same kind and shape.
func haveSameInputs(a, b *call) bool {
	first := func(c *call) int {
		return slices.IndexFunc(c.source.Leaves, func(l msprobe.Leaf) bool { return l.Tensor != nil })
	}
	i, k := first(a), first(b)
	if i < 0 || k < 0 {
		return false
	}
	x, y := &a.source.Leaves[i], &b.source.Leaves[k]
	return x.Kind == y.Kind && slices.Equal(sortedLengths(x.Tensor.Shape), sortedLengths(y.Tensor.Shape))
}

// ClassesAtPlace returns the classes of a module and of its partner; empty texts unless only their place
// makes them partners.
func (c *Calls) ClassesAtPlace(api string, npu bool) (own, other string) {
	side := &c.ref
	if npu {
		side = &c.npu
	}
	if call := side.calls[api]; call != nil && call.class != "" {
		return call.Class(), call.class
	}
	return "", ""
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

// mapModules renames the NPU's modules and functions by the map.
func mapModules(npus []call, nameMap *sidefile.NameMap) {
	if nameMap == nil {
		return
	}
	layers := newLayerRenamer(npus, nameMap.Layers)
	for i := range npus {
		c := &npus[i]
		if c.Direction == "" {
			continue
		}
		if entry, ok := nameMap.FindNPU(c.Callee); ok {
			c.Callee, c.isMapped = entry.Ref, true
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

// cutModule splits the name of a module into Module or Cell, and its place followed by its class.
func cutModule(name string) (word, path string, ok bool) {
	word, path, _ = strings.Cut(name, ".")
	return word, path, path != "" && msprobe.IsModule(name)
}

// mapCell renames the place and class of a module by the cell mapping: by the entry for the whole path, else by the
// first entry for a part of it.
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

// layerRenamer renames layers by the classes of the modules around them.
type layerRenamer struct {
	sections map[string]map[string]string
	classes  map[string]string // classes of modules by their places in the network
}

// topLayers are the names of sections for modules at the top of the network.
var topLayers = []string{"TopLayer", "Cell", "Module"}

func newLayerRenamer(calls []call, sections map[string]map[string]string) *layerRenamer {
	l := &layerRenamer{sections, make(map[string]string)}
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
		for _, around := range calls[i].source.Modules {
			add(msprobe.ParseName(around))
		}
	}
	return l
}

// rename returns the place and class of a module with the other side's names of layers. A layer
// belongs to the nearest called module above it.
func (l *layerRenamer) rename(path string) string {
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

// recordsModules reports whether a round records the modules around its calls.
func recordsModules(r *dumpdir.Round) bool {
	return slices.ContainsFunc(r.Calls, func(c *dumpdir.Call) bool { return len(c.Modules) > 0 })
}

// setOuterModules sets inside of functions to the innermost module around them: with other names of layers the two sides
// may count functions in another order.
func setOuterModules(calls []call) {
	bases := make(map[string]string)
	for i := range calls {
		c := calls[i]
		c.setBase(true)
		bases[c.source.API] = c.base + " " + c.Number
	}
	for i := range calls {
		c := &calls[i]
		if at := c.source.Modules; len(at) > 0 && !msprobe.IsModule(c.source.API) {
			c.outerModule = bases[at[len(at)-1]]
		}
	}
}

// CallName returns the name of a call without number and direction, as in name maps; empty for other names.
func CallName(api string) string {
	if name := msprobe.ParseName(api); name.Direction != "" {
		return name.Callee
	}
	return ""
}

// basesInOrder returns the bases whose calls pair in their order, not by number.
func basesInOrder(ref, npu []call, refStep, npuStep string) map[string]bool {
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
		case c.Direction.IsBackward(), c.outerModule != "":
			ordered[c.base] = true
		case len(a) == 1 && len(b) == 1:
			ordered[c.base] = c.Number == npuStep && first[c.base] == refStep
		case len(a) == len(b): // several functions of one side are one function on the other
			ordered[c.base] = hasDuplicate(a) != hasDuplicate(b)
		}
	}
	for i := range ref { // bases of one side alone have no partner in any case
		ordered[ref[i].base] = ordered[ref[i].base] || ref[i].Direction.IsBackward() && there[ref[i].base] == nil
	}
	return ordered
}

// numbersOf lists the numbers of the calls of each base, sorted.
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

// hasDuplicate reports whether a number occurs twice in sorted numbers.
func hasDuplicate(sorted []int) bool { return len(slices.Compact(slices.Clone(sorted))) < len(sorted) }

// newSide gives calls the names that partners share.
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
		s.calls[c.source.API], s.names[c.source.API] = c, name
	}
	return s
}

// maxNames limits the names of each side that nearest compares.
const maxNames = 300

// nearestUnmatched returns, for each call without a partner, the most similar name without a partner on
// the other side; for a module the name of a module.
func nearestUnmatched(of, others *callSide) map[string]string {
	lost, left := of.unpaired(others), others.unpaired(of)
	if len(lost)*len(left) > maxNames*maxNames {
		return nil
	}
	byName, near := make(map[string]string), make(map[string]string)
	for _, c := range lost {
		found, known := byName[c.base]
		if !known {
			word := c.distinctiveName()
			least := len(word) // the distance of words without a common letter
			for _, other := range left {
				if other.Direction != c.Direction || msprobe.IsModule(other.Callee) != msprobe.IsModule(c.Callee) {
					continue
				}
				if d := lang.Distance(word, other.distinctiveName()); d < least {
					found, least = other.source.API, d
				}
			}
			byName[c.base] = found
		}
		near[c.source.API] = found
	}
	return near
}

// unpaired lists the calls without a partner on the other side, in natural order.
func (s *callSide) unpaired(others *callSide) (all []*call) {
	there := make(map[string]bool, len(others.names))
	for _, name := range others.names {
		there[name] = true
	}
	for api, name := range s.names {
		if !there[name] {
			all = append(all, s.calls[api])
		}
	}
	slices.SortFunc(all, func(a, b *call) int { return lang.CompareNatural(a.source.API, b.source.API) })
	return all
}

// distinctiveName returns the distinctive part of a name: the function, or the place and class of a module.
func (c *call) distinctiveName() string {
	if _, path, ok := cutModule(c.Callee); ok {
		return path
	}
	return strings.ToLower(c.Callee[strings.LastIndexByte(c.Callee, '.')+1:])
}

// hasCalls reports whether both sides come from msprobe.
func hasCalls(opt *Options) bool { return opt.Calls != nil }

// callView returns tensors of calls, nil for other tensors.
func callView(_ *Options, t *Tensor) *Tensor {
	if t.Call == "" {
		return nil
	}
	return t
}

// placeView returns tensors of modules whose class differs from the partner's, nil for other tensors.
func placeView(_ *Options, t *Tensor) *Tensor {
	if !t.AtPlace {
		return nil
	}
	return t
}

func callKeys(t *Tensor) keys {
	return keys{whole: []key{{name: t.Call, kind: t.Kind}}}
}

func explainNoRefCall(_ *Options, t *Tensor) lang.Sentence {
	return lang.Say("the reference has no call %s with this value", t.Name())
}

func explainNoNPUCall(t *Tensor) lang.Sentence {
	return lang.Say("the NPU has no call %s with this value", t.Name())
}

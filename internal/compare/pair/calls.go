package pair

import (
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/sidefile"
)

// Calls are the calls of two rounds of msprobe under names that partners have in
// common:
//
//   - the names of the map, of calls or of single values;
//   - the names of the calls, of MindSpore as PyTorch has them if the other side is
//     that;
//   - of backward calls the number is that of the order, if the two sides have not the
//     same ones: a forward call that is computed again shifts the numbers, and that of the
//     gradients of parameters is the step's;
//   - of calls without a partner by all these, the place among those of their name, if
//     that is asked for (fuzzy).
type Calls struct {
	nameMap  *sidefile.NameMap // nil for none
	ref, npu map[string]string
}

// NewCalls returns the calls of two rounds, nil if one is missing or has none. nameMap
// may be nil.
func NewCalls(ref, npu *dumpdir.Round, nameMap *sidefile.NameMap, fuzzy bool) *Calls {
	if ref == nil || npu == nil || len(ref.Calls) == 0 || len(npu.Calls) == 0 {
		return nil
	}
	c := &Calls{nameMap: nameMap}
	refs, npus := parseCalls(ref.Calls), parseCalls(npu.Calls)
	if here, there := isMindSpore(ref), isMindSpore(npu); here && !there {
		translate(refs)
	} else if there && !here {
		translate(npus)
	}
	mapModules(npus, nameMap)
	same := sameNumbers(refs, npus)
	c.ref, c.npu = common(refs, same), common(npus, same)
	if fuzzy {
		c.pairLeftovers(refs, npus)
	}
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
			if x := &calls[i]; !partners[own[x.api]] {
				all[x.base] = append(all[x.base], x.api)
			}
		}
		return all
	}
	here, there := left(refs, c.ref, c.npu), left(npus, c.npu, c.ref)
	for base, apis := range here {
		for k, api := range apis[:min(len(apis), len(there[base]))] {
			name := base + " left over " + strconv.Itoa(k)
			c.ref[api], c.npu[there[base][k]] = name, name
		}
	}
}

// Key is what a value has in common with its partner.
func (c *Calls) Key(api string, l *msprobe.Leaf, npu bool) string {
	find, names := (*sidefile.NameMap).FindRef, c.ref
	if npu {
		find, names = (*sidefile.NameMap).FindNPU, c.npu
	}
	if c.nameMap != nil {
		if entry, ok := find(c.nameMap, l.Name); ok {
			return "value " + entry.Ref
		}
		if entry, ok := find(c.nameMap, api); ok {
			return "call " + entry.Ref + "\x00" + l.Path
		}
	}
	return names[api] + "\x00" + l.Path
}

// call is the name of a call.
type call struct {
	api string
	// base is the name without the number, name that without the direction too; number
	// is the number, empty where there is none.
	name, base, number string
	backward           bool
}

func parseCalls(calls []*dumpdir.Call) []call {
	all := make([]call, len(calls))
	for i, c := range calls {
		all[i] = parseCall(c.API)
	}
	return all
}

// parseCall reads names such as Functional.relu.0.backward, and of modules
// Module.relu.ReLU.backward.0.
func parseCall(api string) call {
	parts := strings.Split(api, ".")
	c := call{api: api, base: api}
	n := len(parts)
	if n < 3 {
		return c
	}
	number, direction := n-2, n-1
	if msprobe.IsModule(api) {
		number, direction = n-1, n-2
	}
	word := parts[direction]
	if _, err := strconv.ParseUint(parts[number], 10, 32); err != nil || word != "forward" && word != "backward" && word != "parameters_grad" {
		return c
	}
	c.number, c.backward = parts[number], word != "forward"
	c.base = strings.Join(slices.Delete(parts, number, number+1), ".")
	c.name = c.base[:strings.LastIndexByte(c.base, '.')]
	return c
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

// frameworks are the beginnings of MindSpore's names, and what PyTorch has there.
var frameworks = [...][2]string{{"Cell.", "Module."}, {"Mint.", "Torch."}, {"MintFunctional.", "Functional."}}

// translate gives MindSpore's calls the names of PyTorch.
func translate(calls []call) {
	for i := range calls {
		for _, f := range frameworks {
			if rest, ok := strings.CutPrefix(calls[i].base, f[0]); ok {
				calls[i].base = f[1] + rest
				break
			}
		}
	}
}

// mapModules gives the NPU's calls the names of the modules or functions that the map
// has for theirs.
func mapModules(npus []call, nameMap *sidefile.NameMap) {
	if nameMap == nil {
		return
	}
	for i := range npus {
		c := &npus[i]
		if entry, ok := nameMap.FindNPU(c.name); ok && c.name != "" {
			c.base = entry.Ref + c.base[strings.LastIndexByte(c.base, '.'):]
		}
	}
}

// CallName is the name of a call without its number and direction, as name maps may
// have it; empty for other names.
func CallName(api string) string {
	c := parseCall(api)
	return c.name
}

// sameNumbers returns the bases whose backward calls have the same numbers on both
// sides.
func sameNumbers(ref, npu []call) map[string]bool {
	numbers := func(calls []call) map[string][]string {
		all := make(map[string][]string)
		for i := range calls {
			if c := &calls[i]; c.backward {
				all[c.base] = append(all[c.base], c.number)
			}
		}
		for _, n := range all {
			slices.Sort(n)
		}
		return all
	}
	here, there := numbers(ref), numbers(npu)
	same := make(map[string]bool)
	for base, n := range here {
		same[base] = slices.Equal(n, there[base])
	}
	return same
}

// common are the names of calls that partners have in common, by their own.
func common(calls []call, same map[string]bool) map[string]string {
	names, seen := make(map[string]string, len(calls)), make(map[string]int)
	for i := range calls {
		c := &calls[i]
		name := c.base + "#" + c.number
		if c.backward && !same[c.base] {
			name = c.base + " backward " + strconv.Itoa(seen[c.base])
			seen[c.base]++
		}
		names[c.api] = name
	}
	return names
}

// hasCalls reports whether both sides are of msprobe.
func hasCalls(opt *Options) bool { return opt.Calls }

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

func whyCall(_ *Options, t *Tensor) string {
	return "the reference has no call " + t.Name() + " with this value"
}

package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// eval computes the outputs of an operator. It may change nothing of its inputs.
type eval func(m *machine, in []*Array) []*Array

// node is an operator of a net.
type node struct {
	name, kind string // the type is CANN's
	api        string // the name in PyTorch: the group and function, ! before one of a backward pass
	in         []value
	out        []Type
	eval       eval
	ref, npu   []*Array
	constant   bool // weights and constants, which nobody dumps
	missing    bool // no dump was made
	drawn      bool // numbers are drawn: other ones are no fault of the operator
	offers     []string
}

// value is an output of an operator.
type value struct {
	*node
	k int
}

func (v value) ref() *Array         { return v.node.ref[v.k] }
func (v value) shape() []int        { return v.ref().Shape }
func (v value) dim(axis int) int    { return v.ref().dim(axis) }
func (v value) typ() Type           { return v.out[v.k] }
func (v value) at(k int) value      { return value{v.node, k} }
func (v value) rank() int           { return len(v.shape()) }
func (v value) spread() float64     { return rms(v.ref().V) }
func (v value) with(n ...int) []int { return append(slices.Clone(v.shape()[:v.rank()-1]), n...) }

// net is a simulated network. The reference's values are computed while it is built.
type net struct {
	*rand.Rand
	seed   uint64
	family string
	typ    Type // of most tensors
	nodes  []*node
	cpu    *machine
	npu    machine
	own    bool // the NPU's weights are rounded to its type, the reference's are not
	names  map[string]int
	// notes are what differs from the reference without a fault, such as indices that tie.
	notes map[string]int
}

// newNet makes the net of a family and a seed.
func newNet(family string, seed uint64) (*net, error) {
	build, ok := families[family]
	if !ok {
		return nil, fmt.Errorf("no family %q, there are: %s", family, strings.Join(slices.Sorted(maps.Keys(families)), " "))
	}
	n := start(family, seed)
	build(n)
	if n.IntN(5) == 0 {
		for _, nd := range n.nodes {
			nd.missing = nd.missing || n.IntN(7) == 0
		}
	}
	n.finish()
	return n, nil
}

// start is a net without operators.
func start(family string, seed uint64) *net {
	salt := uint64(len(family))
	for _, c := range family {
		salt = salt*131 + uint64(c)
	}
	n := &net{Rand: rand.New(rand.NewPCG(seed, salt)), seed: seed, family: family, names: map[string]int{}}
	n.typ = pick(n, F16, F16, BF16, F32)
	n.own = n.IntN(3) == 0
	n.cpu = &machine{exact: true, draw: 1, offers: map[string]bool{}, notes: map[string]int{}}
	n.npu = machine{block: pick(n, 8, 16, 32, 64), coarse: n.IntN(3) == 0, draw: 1, hf32: n.IntN(2) == 0}
	n.npu.hf32MatMul = n.npu.hf32 && n.IntN(3) == 0
	return n
}

// finish computes what the NPU has.
func (n *net) finish() {
	n.notes = n.run(nil)
	for _, nd := range n.nodes {
		for k, a := range nd.npu {
			if a.Type == I32 && nd.kind != "QuantBatchMatmul" && !slices.Equal(a.V, nd.ref[k].V) {
				n.notes["ties"]++
			}
		}
	}
}

// pick draws one of several.
func pick[T any](n *net, of ...T) T { return of[n.IntN(len(of))] }

// between draws a whole number from lo to hi.
func (n *net) between(lo, hi int) int { return lo + n.IntN(hi-lo+1) }

// name makes a name that no other operator has.
func (n *net) name(base string) string {
	n.names[base]++
	if c := n.names[base]; c > 1 {
		return fmt.Sprintf("%s_%d", base, c)
	}
	return base
}

// add adds an operator of a kind, "CANN type|Group.function", computes the reference's
// value, and returns its first output. Outputs are of the type of the first input, unless
// types are given.
func (n *net) add(kind string, in []value, f eval, out ...Type) value {
	kind, api, _ := strings.Cut(kind, "|")
	nd := &node{name: n.name(strings.ToLower(kind)), kind: kind, api: api, in: in, eval: f}
	n.cpu.offers = map[string]bool{}
	nd.ref = f(n.cpu, arrays(in, false))
	for k := range nd.ref {
		t := n.typ
		if k < len(out) {
			t = out[k]
		} else if len(in) > 0 && in[0].typ().float() {
			t = in[0].typ()
		}
		nd.out = append(nd.out, t)
		nd.ref[k].Type = t
		for i, x := range nd.ref[k].V {
			if t.float() {
				nd.ref[k].V[i] = float64(float32(x))
			} else {
				nd.ref[k].V[i] = t.round(x)
			}
		}
	}
	n.nodes = append(n.nodes, nd)
	return value{nd, 0}
}

// arrays are the values of one side.
func arrays(of []value, npu bool) []*Array {
	var all []*Array
	for _, v := range of {
		a := v.ref()
		if npu {
			a = v.npu[v.k]
		}
		all = append(all, a)
	}
	return all
}

// given adds values that no operator makes: inputs of the network.
func (n *net) given(kind string, a *Array, t Type) value {
	if !n.own {
		a = rounded(a, t)
	}
	v := n.add(kind, nil, func(*machine, []*Array) []*Array { return []*Array{a.clone()} }, t)
	v.constant = true
	return v
}

// input adds an input of the network, which half of the networks dump.
func (n *net) input(a *Array, t Type) value {
	v := n.given("Data|", a, t)
	v.constant = n.IntN(2) == 0
	return v
}

// weight adds normal weights.
func (n *net) weight(std float64, shape ...int) value {
	return n.given("Const|", normal(n.Rand, std, shape...), n.typ)
}

// rounded returns an array in a type.
func rounded(a *Array, t Type) *Array {
	b := a.clone()
	for i, x := range b.V {
		b.V[i] = t.round(x)
	}
	return b
}

// fault is an error in one output of an operator.
type fault struct {
	kind   string
	strong bool
	node   *node
	output int
	seed   uint64
}

// run computes what the NPU has, with a fault if there is one, and returns what differs
// from the reference without being one.
func (n *net) run(f *fault) map[string]int {
	m := n.npu
	m.notes = map[string]int{}
	for _, nd := range n.nodes {
		m.offers, m.fault, m.out = map[string]bool{}, "", nd.out[0]
		if f != nil && f.node == nd {
			m.fault, m.rng = f.kind, rand.New(rand.NewPCG(f.seed, 77))
		}
		nd.npu = nd.eval(&m, arrays(nd.in, true))
		nd.offers = slices.Sorted(maps.Keys(m.offers))
		for k, a := range nd.npu {
			a.Type = nd.out[k]
			if f != nil && f.node == nd && f.output == k {
				spoil(a, f.kind, m.rng)
			}
			for i, x := range a.V {
				a.V[i] = a.Type.round(x)
			}
		}
	}
	return m.notes
}

// choose looks for a fault of a strength that shows, and leaves the net with it; nil if
// thirty tries find none.
func (n *net) choose(strong bool) *fault {
	clean := map[*node][]*Array{}
	var open []*node
	for _, nd := range n.nodes {
		clean[nd] = nd.npu
		if !nd.constant && !nd.missing && !nd.drawn && len(nd.in) > 0 {
			open = append(open, nd)
		}
	}
	for range 30 {
		f := &fault{strong: strong, node: pick(n, open...), seed: n.Uint64()}
		f.output = n.IntN(len(f.node.out))
		own, kinds := possible(f.node, f.output, strong)
		if len(own) > 0 && (len(kinds) == 0 || n.IntN(2) == 0) {
			kinds = own
		}
		if len(kinds) == 0 {
			continue
		}
		f.kind = pick(n, kinds...)
		n.run(f)
		if visible(f.node.ref[f.output], clean[f.node][f.output], f.node.npu[f.output]) {
			return f
		}
	}
	n.run(nil)
	return nil
}

// visible reports whether a fault changes a tensor by 3 times its error without it, or its
// largest error by 8 times, or the class of an element.
func visible(ref, clean, bad *Array) bool {
	before, change := make([]float64, len(ref.V)), make([]float64, len(ref.V))
	for i := range ref.V {
		before[i], change[i] = clean.V[i]-ref.V[i], bad.V[i]-clean.V[i]
		if finite(clean.V[i]) != finite(bad.V[i]) {
			return true
		}
	}
	own := make([]float64, len(ref.V))
	if ref.Type.float() {
		for i, x := range ref.V {
			own[i] = ref.Type.round(x) - x
		}
	}
	noise, most := max(rms(before), rms(own)), max(peak(before), peak(own))
	if noise == 0 {
		return rms(change) > 1e-7*rms(ref.V)
	}
	return rms(change) >= 3*noise || peak(change) >= 8*most
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

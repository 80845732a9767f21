package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// eval computes the outputs of an operator. It must not modify its inputs.
type eval func(m *machine, in []*Array) []*Array

// node is an operator of a network.
type node struct {
	name, kind string // kind is CANN's type
	api        string // the name in PyTorch: group and function, with ! for a backward call
	in         []value
	out        []Type
	eval       eval
	ref, npu   []*Array
	constant   bool // weights and constants, which are not dumped
	missing    bool // not dumped
	drawn      bool // random output: differences are no fault of the operator
	offers     []string
}

// value is an output of an operator.
type value struct {
	*node
	k int
}

func (v value) ref() *Array              { return v.node.ref[v.k] }
func (v value) shape() []int             { return v.ref().Shape }
func (v value) dim(axis int) int         { return v.ref().dim(axis) }
func (v value) typ() Type                { return v.out[v.k] }
func (v value) output(k int) value       { return value{v.node, k} }
func (v value) rank() int                { return len(v.shape()) }
func (v value) spread() float64          { return rms(v.ref().V) }
func (v value) shapeWith(n ...int) []int { return append(slices.Clone(v.shape()[:v.rank()-1]), n...) }

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
	// notes counts differences from the reference that are no faults, such as tied indices.
	notes map[string]int
}

// newNet builds the network of a family and a seed.
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

// start returns a network without operators.
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

// finish computes the NPU's side.
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

// pick draws one of several values.
func pick[T any](n *net, of ...T) T { return of[n.IntN(len(of))] }

// between draws an integer from lo to hi.
func (n *net) between(lo, hi int) int { return lo + n.IntN(hi-lo+1) }

// name returns a unique name.
func (n *net) name(base string) string {
	n.names[base]++
	if c := n.names[base]; c > 1 {
		return fmt.Sprintf("%s_%d", base, c)
	}
	return base
}

// add adds an operator of a kind, "CANN type|Group.function", computes the reference's value, and returns its first
// output. Output types default to the type of the first input.
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

// arrays returns the values of one side.
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

// addConstant adds values from outside: inputs, weights and constants of the network.
func (n *net) addConstant(kind string, a *Array, t Type) value {
	if !n.own {
		a = roundTo(a, t)
	}
	v := n.add(kind, nil, func(*machine, []*Array) []*Array { return []*Array{a.clone()} }, t)
	v.constant = true
	return v
}

// input adds an input of the network, which is dumped in half of the networks.
func (n *net) input(a *Array, t Type) value {
	v := n.addConstant("Data|", a, t)
	v.constant = n.IntN(2) == 0
	return v
}

// weight adds normally distributed weights.
func (n *net) weight(std float64, shape ...int) value {
	return n.addConstant("Const|", normal(n.Rand, std, shape...), n.typ)
}

// roundTo returns an array rounded to a type.
func roundTo(a *Array, t Type) *Array {
	b := a.clone()
	for i, x := range b.V {
		b.V[i] = t.round(x)
	}
	return b
}

// fault is a fault in one output of an operator.
type fault struct {
	kind   string
	strong bool
	node   *node
	output int
	seed   uint64
}

// run computes the NPU's side, with a fault unless f is nil. It returns the counts of differences from the reference
// that are no faults.
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

// choose draws a visible fault, and leaves the network with it; nil after thirty attempts.
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
		own, kinds := possibleFaults(f.node, f.output, strong)
		if len(own) > 0 && (len(kinds) == 0 || n.IntN(2) == 0) {
			kinds = own
		}
		if len(kinds) == 0 {
			continue
		}
		f.kind = pick(n, kinds...)
		n.run(f)
		if isVisible(f.node.ref[f.output], clean[f.node][f.output], f.node.npu[f.output]) {
			return f
		}
	}
	n.run(nil)
	return nil
}

// isVisible reports whether a fault changes a tensor by at least 3 times its RMS error without the fault, or by 8 times
// its largest error, or makes an element NaN or infinite, or finite.
func isVisible(ref, clean, bad *Array) bool {
	before, change := make([]float64, len(ref.V)), make([]float64, len(ref.V))
	for i := range ref.V {
		before[i], change[i] = clean.V[i]-ref.V[i], bad.V[i]-clean.V[i]
		if isFinite(clean.V[i]) != isFinite(bad.V[i]) {
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

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// spoils are the faults that any tensor can have, applied to its elements.
var spoils = []struct {
	kind   string
	strong bool
	spoil  func(a *Array, r *rand.Rand)
}{
	{"transpose", true, func(a *Array, _ *rand.Rand) {
		if rank := len(a.Shape); rank > 1 {
			_, rows, _ := a.around(rank - 2)
			cols, v := a.dim(-1), slices.Clone(a.V)
			for i := range v {
				block, at := i/(rows*cols)*rows*cols, i%(rows*cols)
				a.V[block+at%cols*rows+at/cols] = v[i]
			}
		}
	}},
	{"zero", true, part(func(float64, float64) float64 { return 0 })},
	{"stale", true, func(a *Array, r *rand.Rand) {
		v := slices.Clone(a.V)
		back := len(v) / (2 + r.IntN(4))
		from := back + r.IntN(max(1, len(v)-2*back+1))
		copy(a.V[from:min(from+back, len(v))], v[from-back:])
	}},
	{"scale", true, func(a *Array, r *rand.Rand) {
		s := 1.25 + 0.75*r.Float64()
		for i := range a.V {
			a.V[i] *= s
		}
	}},
	{"scale_part", true, part(func(x, u float64) float64 { return x * (1.25 + 0.75*u) })},
	{"sign", true, part(func(x, _ float64) float64 { return -x })},
	{"shift", true, func(a *Array, r *rand.Rand) {
		outer, n, inner := a.around(r.IntN(len(a.Shape)))
		v := slices.Clone(a.V)
		for i := range outer * n * inner {
			block, at := i/(n*inner)*n*inner, i%(n*inner)
			a.V[block+(at+inner)%(n*inner)] = v[i]
		}
	}},
	{"swap", true, func(a *Array, r *rand.Rand) {
		outer, n, inner := a.around(r.IntN(len(a.Shape)))
		v := slices.Clone(a.V)
		half := n / 2 * inner
		for o := range outer {
			copy(a.V[o*n*inner:o*n*inner+half], v[o*n*inner+half:o*n*inner+2*half])
			copy(a.V[o*n*inner+half:o*n*inner+2*half], v[o*n*inner:o*n*inner+half])
		}
	}},
	{"one", true, func(a *Array, r *rand.Rand) {
		a.V[r.IntN(len(a.V))] += (2 + 6*r.Float64()) * peak(a.V)
	}},
	{"nan", true, func(a *Array, r *rand.Rand) { a.V[r.IntN(len(a.V))] = math.NaN() }},
	{"saturate", true, func(a *Array, r *rand.Rand) {
		limit := peak(a.V) * (0.2 + 0.4*r.Float64())
		for i, x := range a.V {
			a.V[i] = min(max(x, -limit), limit)
		}
	}},
	{"overflow", true, func(a *Array, _ *rand.Rand) {
		limit := 0.7 * peak(a.V)
		for i, x := range a.V {
			if math.Abs(x) > limit {
				a.V[i] = math.Inf(int(math.Copysign(1, x)))
			}
		}
	}},
	{"offset", true, func(a *Array, r *rand.Rand) {
		d := rms(a.V) * (0.3 + r.Float64())
		part(func(x, _ float64) float64 { return x + d })(a, r)
	}},
	{"scale_1pct", false, part(func(x, _ float64) float64 { return 1.01 * x })},
	{"wave", false, func(a *Array, _ *rand.Rand) { // a table with too few entries
		most := peak(a.V)
		for i, x := range a.V {
			if math.Abs(x) > most/4 {
				a.V[i] = x * (1 + 2e-3*math.Sin(40*x/most))
			}
		}
	}},
	{"truncate", false, func(a *Array, _ *rand.Rand) { // towards zero, two bits too early
		bits := max(types[a.Type].mantissa-2, 5)
		for i, x := range a.V {
			if isFinite(x) && x != 0 {
				exponent := int(math.Float64bits(x)>>52&0x7ff) - 1023
				step := math.Ldexp(1, exponent-bits)
				a.V[i] = math.Trunc(x/step) * step
			}
		}
	}},
}

// part applies a fault of an element to a range of an axis; u is the same random number from 0 to 1 for all elements.
func part(f func(x, u float64) float64) func(*Array, *rand.Rand) {
	return func(a *Array, r *rand.Rand) {
		_, n, inner := a.around(r.IntN(len(a.Shape)))
		long := max(1, n/(2+r.IntN(7)))
		from, u := r.IntN(n-long+1), r.Float64()
		for i, x := range a.V {
			if at := i / inner % n; at >= from && at < from+long {
				a.V[i] = f(x, u)
			}
		}
	}
}

// inner are the strong faults that operators implement themselves; their other faults are mild.
var inner = map[string]bool{"no_bias": true, "eps": true, "off_by_one": true, "causal": true, "wrap": true}

// integers are the faults that integers can have.
var integers = []string{"stale", "shift", "swap"}

// possibleFaults lists the kinds of faults that an output can have: faults that the operator implements itself, and faults
// of any tensor.
func possibleFaults(nd *node, output int, strong bool) (own, any []string) {
	if len(nd.ref[output].V) == 0 {
		return nil, nil
	}
	for _, o := range nd.offers {
		if inner[o] == strong {
			own = append(own, o)
		}
	}
	t := nd.out[output]
	for _, s := range spoils {
		fits := t.float() || slices.Contains(integers, s.kind) || t == I8 && s.kind != "nan" && s.kind != "overflow"
		if fits && s.strong == strong && (t.float() || strong) {
			any = append(any, s.kind)
		}
	}
	return own, any
}

// spoil applies a fault of any tensor, if kind is one.
func spoil(a *Array, kind string, r *rand.Rand) {
	for _, s := range spoils {
		if s.kind == kind {
			s.spoil(a, r)
		}
	}
	if kind == "quarter" { // fault of printByDepth: the first quarter times 1.25
		for i := range len(a.V) / 4 {
			a.V[i] *= 1.25
		}
	}
}

package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// spoils are the faults that any tensor can have, made on its elements.
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
			if finite(x) && x != 0 {
				exponent := int(math.Float64bits(x)>>52&0x7ff) - 1023
				step := math.Ldexp(1, exponent-bits)
				a.V[i] = math.Trunc(x/step) * step
			}
		}
	}},
}

// part makes a fault of a run of an axis out of one of an element; u is the same number
// in 0 .. 1 for all.
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

// inner are the faults that operators make themselves where they ask for them; the
// others are mild.
var inner = map[string]bool{"no_bias": true, "eps": true, "off_by_one": true, "causal": true, "wrap": true}

// integers are the faults of elements that integers can have.
var integers = []string{"stale", "shift", "swap"}

// possible are the kinds of faults that an output of an operator can have: those that it
// makes itself, if it makes some, and those of any tensor.
func possible(nd *node, output int, strong bool) (own, any []string) {
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

// spoil makes a fault on the elements, if it is one of those.
func spoil(a *Array, kind string, r *rand.Rand) {
	for _, s := range spoils {
		if s.kind == kind {
			s.spoil(a, r)
		}
	}
	if kind == "quarter" { // of the tables by depth: the first quarter times 1.25
		for i := range len(a.V) / 4 {
			a.V[i] *= 1.25
		}
	}
}

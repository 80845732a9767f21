package main

import (
	"math/rand/v2"
	"sync"

	"dumptool/internal/dumptest"
	"dumptool/tools/bench/synth"
)

// values is a kind of made-up values.
type values int

const (
	normal   values = iota // normally distributed
	positive               // the same behind a ReLU: half of them zero
	weights                // normally distributed and small
)

// table holds values to draw from, exact and rounded to float16.
type table struct {
	exact   [1 << 16]float32
	rounded [1 << 16]uint16
}

// tables returns the tables of all kinds.
var tables = sync.OnceValue(func() *[3]table {
	random := rand.New(rand.NewPCG(50, 0))
	t := new([3]table)
	for i := range 1 << 16 {
		x := float32(random.NormFloat64())
		for kind, v := range [3]float32{normal: x, positive: max(0, x), weights: x / 50} {
			t[kind].exact[i], t[kind].rounded[i] = v, dumptest.Half(v)
		}
	}
	return t
})

// rounded returns the elements as the device has them.
func (a *array) rounded() synth.Tensor {
	t := a.tensor()
	from := &tables()[a.values].rounded
	t.Elements = make([]uint16, t.Count())
	a.draw(func(i int, entry uint16) { t.Elements[i] = from[entry] })
	return t
}

// exact returns the elements as a golden run has them. Rounded to float16 they
// are those of rounded.
func (a *array) exact() []float32 {
	from := &tables()[a.values].exact
	out := make([]float32, a.tensor().Count())
	a.draw(func(i int, entry uint16) { out[i] = from[entry] })
	return out
}

// draw calls put with a table entry for every element.
func (a *array) draw(put func(i int, entry uint16)) {
	random := rand.NewPCG(a.seed, uint64(a.values))
	n := a.tensor().Count()
	for i := 0; i < n; {
		for bits, end := random.Uint64(), min(n, i+4); i < end; i++ {
			put(i, uint16(bits))
			bits >>= 16
		}
	}
}

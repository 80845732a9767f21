package torch

import "math/rand/v2"

// noise returns n bytes that depend on seed only.
func noise(seed uint64, n int64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

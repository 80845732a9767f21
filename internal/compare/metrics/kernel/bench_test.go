package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// benchBlocks is how many blocks there are: what jumps to take cannot be learnt by heart.
const benchBlocks = 64

// benchBlock returns blocks of pairs as a network has them, or of one octave.
func benchBlock(kind string) (n, r []float64) {
	random := rand.New(rand.NewPCG(1, 2))
	for range benchBlocks * 1024 {
		x := random.NormFloat64()
		if kind == "octave" {
			x = 1 + random.Float64()
		}
		r = append(r, float64(float32(x)))
		n = append(n, float64(float32(x*(1+1e-4*random.NormFloat64()))))
	}
	if kind == "equal" {
		copy(n, r)
	}
	return n, r
}

func perPair(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/pair")
}

// BenchmarkRuns adds a block to runs and octaves.
func BenchmarkRuns(b *testing.B) {
	for _, kind := range []string{"normal", "octave", "equal"} {
		for _, length := range []int{1024, 64, 28, 7} {
			b.Run(fmt.Sprint(kind, length), func(b *testing.B) {
				n, r := benchBlock(kind)
				var runs []int
				for left := 1024; left > 0; left -= length {
					runs = append(runs, min(length, left))
				}
				out := make([]GroupSums, len(runs))
				o := NewOctaves()
				o.Cover(Smallest(r), 8)
				for i := 0; b.Loop(); i = (i + 1024) % len(n) {
					o.SumRuns(out, runs, n[i:i+1024], r[i:i+1024], 0x1p-14)
				}
				perPair(b)
			})
		}
	}
}

// BenchmarkColumns adds a tile to its columns.
func BenchmarkColumns(b *testing.B) {
	for _, width := range []int{64, 1024} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			n, r := benchBlock("normal")
			quads := make([]Quad, width/4)
			for i := 0; b.Loop(); i = (i + 1024) % len(n) {
				AddRows(quads, width, width, n[i:i+1024], r[i:i+1024], 0x1p-14)
			}
			perPair(b)
		})
	}
}

// BenchmarkSteps adds the steps of a block.
func BenchmarkSteps(b *testing.B) {
	n, r := benchBlock("normal")
	keep := make([]uint64, len(n))
	for i := range keep {
		keep[i] = math.MaxUint64
	}
	b.Run("all", func(b *testing.B) {
		for i := 0; b.Loop(); i = (i + 1024) % len(n) {
			SumSteps(n[i:i+1024], r[i:i+1024], nil)
		}
		perPair(b)
	})
	b.Run("kept", func(b *testing.B) {
		for i := 0; b.Loop(); i = (i + 1024) % len(n) {
			SumSteps(n[i:i+1024], r[i:i+1024], keep[i:i+1024])
		}
		perPair(b)
	})
}

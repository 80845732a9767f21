package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// benchBlocks is the number of blocks: too many for the branch predictor to learn.
const benchBlocks = 64

// benchBlock returns a block of pairs typical of a network, or of a single octave.
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

// BenchmarkSteps adds the steps of rows.
func BenchmarkSteps(b *testing.B) {
	n, r := benchBlock("normal")
	for _, row := range []int{7, 14, 56, 1024} {
		b.Run(fmt.Sprint(row), func(b *testing.B) {
			for i := 0; b.Loop(); i = (i + 1024) % len(n) {
				SumSteps(n[i:i+1024], r[i:i+1024], row/2, row)
			}
			perPair(b)
		})
	}
}

// BenchmarkLoops runs the loops over the pairs of a block.
func BenchmarkLoops(b *testing.B) {
	n, r := benchBlock("normal")
	d, abs, rel, codes, others := make([]float64, 1024), make([]float64, 1024), make([]float64, 1024), make([]int64, 1024), make([]int64, 1024)
	src := make([]byte, 4*len(n))
	for i, x := range n {
		binary.LittleEndian.PutUint32(src[4*i:], math.Float32bits(float32(x)))
	}
	alike, apart := make([]byte, 2*len(n)), make([]byte, 2*len(n))
	half16 := make([]int64, len(n))
	Float16Codes(half16, src)
	for i, code := range half16 {
		bits := uint16(max(code, -code)) | uint16(uint64(code)>>48&0x8000)
		binary.LittleEndian.PutUint16(alike[2*i:], bits)
		binary.LittleEndian.PutUint16(apart[2*i:], bits^uint16(i&1))
	}
	var nSpan, rSpan Span
	var digests Digests
	tables, half := NewTables(1024), NewForm(10, -14, 0x7bff)
	tables.Relatives(rel, abs, n[:1024], r[:1024], r[:1024], &RelativeOptions{})
	half.Round(codes, n[:1024])
	half.Round(others, r[:1024])
	for _, loop := range []struct {
		name string
		run  func(i int)
	}{
		{"Float16s", func(i int) { Float16s(d, src[2*i:][:2048]) }},
		{"BFloat16s", func(i int) { BFloat16s(d, src[2*i:][:2048]) }},
		{"Float32s", func(i int) { Float32s(d, src[4*i:][:4096]) }},
		{"SpanOf", func(i int) { SpanOf(n[i:][:1024]) }},
		{"SumPairs", func(i int) { SumPairs(n[i:][:1024], r[i:][:1024]) }},
		{"Subtract", func(i int) { Subtract(d, n[i:], r[i:]) }},
		{"Relatives", func(i int) { tables.Relatives(rel, abs, n[i:], r[i:], r[i:][:1024], &RelativeOptions{Quotients: true}) }},
		{"HalfPairs", func(i int) { HalfPairs(d, rel, apart[2*i:][:2048], src[4*i:][:4096], &nSpan, &rSpan, &digests) }},
		{"HalfPairsAlike", func(i int) { HalfPairs(d, rel, alike[2*i:][:2048], src[4*i:][:4096], &nSpan, &rSpan, &digests) }},
		{"AddTo", func(i int) { AddTo(d, n[i:][:1024]) }},
		{"FirstBeyond", func(i int) { FindFirstBeyond(abs, r[i:][:1024], 10, 1) }},
		{"Round", func(i int) { half.Round(codes, n[i:][:1024]) }},
		{"Codes16", func(i int) { Codes16(codes, src[2*i:][:2048]) }},
		{"Codes32", func(i int) { Codes32(codes, src[4*i:][:4096]) }},
		{"Digest", func(int) { Digest(codes, others) }},
		{"CountSmall", func(i int) { CountSmall(n[i:][:1024], r[i:][:1024], 0x1p-14, 0x1p-126) }},
		{"Smallest", func(i int) { Smallest(n[i:][:1024]) }},
		{"Sum", func(i int) { Sum(n[i:][:1024]) }},
	} {
		b.Run(loop.name, func(b *testing.B) {
			for i := 0; b.Loop(); i = (i + 1024) % len(n) {
				loop.run(i)
			}
			perPair(b)
		})
	}
}

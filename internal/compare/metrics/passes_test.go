package metrics

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// passShapes are shapes of a convolutional network and of a transformer.
var passShapes = []tensor.Shape{
	{1, 64, 112, 112}, {4, 256, 56, 56}, {4, 512, 28, 28}, {8, 1024, 14, 14}, {16, 2048, 7, 7}, {512, 512, 3, 3},
	{1024, 1024}, {8, 128, 768}, {8, 12, 128, 128}, {8, 12, 128, 64},
}

// passes are the passes of block.compute for finite elements.
var passes = []struct {
	name string
	do   func(*block)
}{
	{"decode", (*block).decode},
	{"sample", (*block).takeSamples},
	{"encode", func(b *block) {
		if !b.hashed {
			b.setCodes()
		}
	}},
	{"classify", (*block).classify},
	{"relate", (*block).computeDifferences},
	{"noise", func(b *block) { b.addNoise(b.maxRatio()) }},
	{"sum", (*block).sumBlock},
	{"bound", (*block).updateBounds},
	{"small", func(b *block) { b.countSmall(); b.countSaturated() }},
	{"ulp", (*block).measureULP},
	{"errors", func(b *block) { b.findErrors(); b.rankErrors() }},
	{"axes", (*block).sumAxes},
	{"flags", func(b *block) { clear(b.flags[:b.pairCount]) }},
}

// BenchmarkPasses computes tensors in memory with all options of compare, and measures the time
// of each pass for a pair of elements, of both checksums, and of the work done once at the end.
// It takes the minimum of 25 measurements for each pass and block, to exclude other processes. A
// reading of the clock adds 0.07 ns to each pair.
func BenchmarkPasses(b *testing.B) {
	const runs = 25
	for _, shape := range passShapes {
		b.Run(fmt.Sprint(shape), func(b *testing.B) {
			count := int(shape.Elements())
			ref, npu := activations(count)
			typ, _ := noise.TypeOf(tensor.Float16)
			e, err := New(Request{
				Shape: shape, RefDType: tensor.Float32, NPUDType: tensor.Float16, Limits: hpaaLimits, Top: 16, List: 128, Points: 2000, LateAxes: true,
				Noise: &noise.Request{Shape: shape, Type: typ, Mask: math.Inf(-1), Groups: noise.MaxGroups, Atol: hpaaLimits.Atol, Rtol: hpaaLimits.Rtol},
			})
			if err != nil {
				b.Fatal(err)
			}
			t := passTimes{}
			for b.Loop() {
				for range runs {
					t.add(e, ref.data, npu.data)
				}
			}
			total := time.Duration(0)
			for _, name := range t.names {
				d := t.least(name)
				total += d
				b.ReportMetric(float64(d.Nanoseconds())/float64(count), name+"-ns/pair")
			}
			b.ReportMetric(float64(total.Nanoseconds())/float64(count), "all-ns/pair")
		})
	}
}

// passTimes has the minimum times of passes, by name, for each block.
type passTimes struct {
	names []string
	times map[string][]time.Duration
	next  map[string]int
}

// took records the time of a pass over the next block, which began at since. It returns the current time.
func (t *passTimes) took(name string, since time.Time) time.Time {
	now := time.Now()
	d, times := now.Sub(since), t.times[name]
	if i := t.next[name]; i < len(times) {
		times[i] = min(times[i], d)
	} else {
		if i == 0 {
			t.names = append(t.names, name)
		}
		t.times[name] = append(times, d)
	}
	t.next[name]++
	return now
}

// least returns the sum of the minimum times over all blocks.
func (t *passTimes) least(name string) (sum time.Duration) {
	for _, d := range t.times[name] {
		sum += d
	}
	return sum
}

// add computes a pair like Engine.Run.
func (t *passTimes) add(e *Engine, ref, npu []byte) {
	if t.next = map[string]int{}; t.times == nil {
		t.times = map[string][]time.Duration{}
	}
	b, p := e.pool.get(e), e.newPartial(0)
	l := block{buffers: b, e: e, part: p}
	var sums tree
	for i := 0; i < int(e.total); i += blockElements {
		count := min(blockElements, int(e.total)-i)
		l.reset(int64(i), count, ref[i*e.ref.size:], npu[i*e.npu.size:])
		now := time.Now()
		for _, pass := range passes {
			pass.do(&l)
			now = t.took(pass.name, now)
		}
		for _, stored := range [][]byte{l.r.stored, l.n.stored} {
			crc32.Checksum(stored, crc32.MakeTable(crc32.Castagnoli))
		}
		now = t.took("crc", now)
		sums.add(&l.sums, 1)
		p.blocks++
		t.took("tree", now)
	}
	now := time.Now()
	p.sums = sums.root()
	b.histograms.drainInto(p)
	m := e.NewMerger()
	if err := m.Add(p); err != nil {
		panic(err)
	}
	m.Finish()
	t.took("end", now)
	e.pool.buffers.Put(b)
}

// activations returns float32 references, half of them 0, as after a ReLU, in every
// second row of 4096, and the references with small errors as float16.
func activations(count int) (ref, npu memory) {
	random := rand.New(rand.NewPCG(3, 4))
	ref.size, npu.size = 4, 2
	form := codesOf(tensor.Float16)
	values, codes := make([]float64, count), make([]int64, count)
	for i := range values {
		x := random.NormFloat64()
		if i>>12&1 == 1 {
			x = max(x, 0)
		}
		ref.data = binary.LittleEndian.AppendUint32(ref.data, math.Float32bits(float32(x)))
		values[i] = math.Abs(x * (1 + random.NormFloat64()*1e-4))
		if x < 0 {
			codes[i] = 1 << 15
		}
	}
	signs := append([]int64(nil), codes...)
	form.round(codes, values)
	for i, code := range codes {
		npu.data = binary.LittleEndian.AppendUint16(npu.data, uint16(code|signs[i]))
	}
	return ref, npu
}

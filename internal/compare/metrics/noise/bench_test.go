package noise

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"dumptool/internal/tensor"
)

// benchShapes have short rows, as networks have them.
var benchShapes = []tensor.Shape{{1, 64, 32, 32}, {3, 512, 7, 7}, {1024, 64}, {64, 1024}}

// BenchmarkAdd collects pairs in blocks, and BenchmarkFinish concludes.
func BenchmarkAdd(b *testing.B) { benchCollector(b, false) }

func BenchmarkFinish(b *testing.B) { benchCollector(b, true) }

func benchCollector(b *testing.B, finish bool) {
	b.Helper()
	for _, shape := range benchShapes {
		for _, kind := range []string{"normal", "equal"} {
			b.Run(fmt.Sprint(kind, shape), func(b *testing.B) {
				count := int(shape.Elements())
				n, r := samples[kind](rand.New(rand.NewPCG(1, 2)), count)
				typ, _ := TypeOf(tensor.Float16)
				req := &Request{Shape: shape, Type: typ, Mask: -inf, Groups: 256}
				c := NewCollector(req)
				for b.Loop() {
					if finish {
						b.StopTimer()
					}
					c.Reset(req)
					c.Add(0, n, r)
					if finish {
						b.StartTimer()
						c.Finish(differences(n[:1], r[:1]))
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/pair")
			})
		}
	}
}

package browsertest

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// BenchmarkLoad is what people wait for a page: the milliseconds from its address to the end
// of its loading, with its scripts, in a browser that has just begun (median and least of
// -benchtime 7x).
func BenchmarkLoad(b *testing.B) {
	for _, c := range []struct {
		name string
		page func() string
	}{
		{"rows=5000", func() string { page, _ := compared(b, deep(5000)); return page }},
		{"rows=100000", func() string { page, _ := compared(b, deep(100_000)); return page }},
		{"ranks=512", func() string {
			return filepath.Join(roundsOf(b, 512, 1, func(rank, _ int) net {
				n := deep(20)
				n.bad = rank%40 - 20 // half of the ranks go wrong, at any of the operators
				return n
			}), "report.html")
		}},
	} {
		page := sync.OnceValue(c.page)
		b.Run(c.name, func(b *testing.B) {
			file := page()
			info, err := os.Stat(file)
			if err != nil {
				b.Fatal(err)
			}
			var took []float64
			for range b.N {
				ctx, end := begin(b, "en-US")
				tab := openIn(ctx, b, file, view{})
				took = append(took, eval[float64](tab, `performance.getEntriesByType("navigation")[0].domComplete`))
				end()
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2], "ms/median")
			b.ReportMetric(took[0], "ms/least")
			b.ReportMetric(float64(info.Size())/1e6, "MB")
		})
	}
}

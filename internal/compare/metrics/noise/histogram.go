package noise

import (
	"iter"

	"dumptool/internal/compare/metrics/kernel"
)

// histogram counts magnitudes by kernel.Bin.
type histogram struct {
	counts [kernel.Bins]int64
	end    uint // bins from here on are empty
}

func (h *histogram) add(x float64) {
	bin := kernel.Bin(x)
	h.counts[bin]++
	h.end = max(h.end, bin+1)
}

// merge adds the counts of another histogram.
func (h *histogram) merge(g *histogram) {
	for bin, n := range g.counts[:g.end] {
		h.counts[bin] += n
	}
	h.end = max(h.end, g.end)
}

func (h *histogram) clear() {
	clear(h.counts[:h.end])
	h.end = 0
}

// quantile returns the 0.9 quantile of magnitudes, as the lower edge of its bin. counts has the lower edge and the
// count of each bin in rising order. The counts in h are subtracted; total magnitudes remain.
func (h *histogram) quantile(counts iter.Seq2[float64, int64], total int64) float64 {
	rank := (9*total + 9) / 10
	for edge, n := range counts {
		if h != nil {
			bin := kernel.Bin(edge)
			n -= h.counts[bin]
			h.counts[bin] = 0
		}
		if rank -= n; n > 0 && rank <= 0 {
			return edge
		}
	}
	return 0
}

package noise

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// histogram counts magnitudes by the bins of kernel.Bin.
type histogram struct {
	counts [kernel.Bins]int64
	end    uint // no bin from here on has any
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

// edge returns the lower edge of the bin of the magnitude with a rank, which is
// from 1 on.
func (h *histogram) edge(rank int64) float64 {
	for bin, n := range h.counts[:h.end] {
		if rank -= n; rank <= 0 {
			return math.Float64frombits(uint64(bin) << 49)
		}
	}
	return 0
}

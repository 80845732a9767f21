package metrics

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"dumptool/internal/compare/metrics/kernel"
)

// histograms count the pairs of a segment by |d|, by |d|/|r| and by both |d| and
// |r|: in tables, and what those have no cells for in maps.
type histograms struct {
	tables       *kernel.Tables
	abs, rel     binRange
	absSubnormal map[int32]int64 // by bins
	relSubnormal map[int32]int64
	outside      map[[2]int32]*outsideBin
	bins         []HistogramBin // memory for those that are taken
	pairs        []JointBin
}

// binRange is a range of bins of a table after that of zero, both ends included.
// It is empty at first.
type binRange struct{ first, last uint }

func emptyRange() binRange { return binRange{first: kernel.Bins} }

func (b *binRange) add(first, last uint) { b.first, b.last = min(b.first, first), max(b.last, last) }

// add adds the ranges of pairs that the tables have counted, by their quotients too or not.
func (h *histograms) add(c *kernel.Ratios, quotients bool) {
	h.abs.add(c.FirstAbs, kernel.Bin(c.MaxAbs))
	if quotients {
		h.rel.add(c.FirstRel, kernel.Bin(c.MaxRel))
	}
}

// moveOutside moves the pairs, which the tables have just counted, that belong
// into maps; maxAbs is the largest |d|. Only float64 and its complex type have any.
func (h *histograms) moveOutside(rel, abs, r []float64, maxAbs float64, quotients bool) {
	const grouped, normal = 0x1p-1008, 0x1p-1022
	if maxAbs <= math.MaxFloat64 && !kernel.HasBelow(abs, grouped) && !kernel.HasBelow(r, grouped) && !kernel.HasBelow(rel, normal) {
		return
	}
	t := h.tables
	for i, a := range abs {
		ref := math.Abs(r[i])
		if isSubnormal(a) {
			addSubnormal(&h.absSubnormal, a)
		}
		if q := rel[i]; quotients && isSubnormal(q) {
			kernel.Move(t.Rel[:], i, kernel.Bin(q), -1)
			addSubnormal(&h.relSubnormal, q)
		}
		if hasNoGroup(a) || hasNoGroup(ref) {
			t.DropGroups(i, a, ref, !isSubnormal(a))
			h.addOutside(a, ref)
		}
	}
}

// isSubnormal reports whether a magnitude is below the normal ones.
func isSubnormal(x float64) bool { return x != 0 && kernel.Bin(x) < 8 }

func addSubnormal(bins *map[int32]int64, x float64) {
	if *bins == nil {
		*bins = map[int32]int64{}
	}
	(*bins)[binNumber(kernel.Bin(x*0x1p100))-800]++
}

// firstBin is the bin of 1 in a table.
const firstBin = 1023 * 8

// binNumber returns the number of a bin of a table.
func binNumber(bin uint) int32 { return int32(bin) - firstBin }

// taken returns the counts of a table in a range, with those of subnormal
// magnitudes, in the memory of a list. take returns the count of a bin and clears it.
func (h *histograms) taken(list []HistogramBin, take func(bin uint) int64, within binRange, subnormal map[int32]int64) Histogram {
	bins := h.bins[:0]
	if len(subnormal) > 0 {
		for _, k := range slices.Sorted(maps.Keys(subnormal)) {
			bins = append(bins, HistogramBin{Bin: k, Count: subnormal[k]})
		}
	}
	zeros := take(0)
	for bin := within.first; bin <= within.last; bin++ {
		if n := take(bin); n > 0 {
			bins = append(bins, HistogramBin{Bin: binNumber(bin), Count: n})
		}
	}
	h.bins = bins
	return Histogram{Zeros: zeros, Bins: append(list[:0], bins...)}
}

// take moves the histograms to a partial result.
func (h *histograms) take(p *Partial) {
	least := p.minRef
	if len(h.outside) > 0 { // |d| of such pairs are not in the rows of their |r|
		least = 0
	}
	takeAbs, takeRel := h.tables.TakeAbs(least, p.maxRef), func(bin uint) int64 { return kernel.Take(h.tables.Rel[:], bin) }
	p.absHistogram = h.taken(p.lists.abs, takeAbs, h.abs, h.absSubnormal)
	p.relHistogram = h.taken(p.lists.rel, takeRel, h.rel, h.relSubnormal)
	p.joint = slices.Clone(h.takeJoint(p.absHistogram.Bins, p.minRef, p.maxRef))
	*h = histograms{tables: h.tables, bins: h.bins, pairs: h.pairs, abs: emptyRange(), rel: emptyRange()}
}

// merged joins two histograms.
func (h Histogram) merged(g Histogram) Histogram {
	all := slices.Concat(h.Bins, g.Bins)
	slices.SortStableFunc(all, func(x, y HistogramBin) int { return cmp.Compare(x.Bin, y.Bin) })
	bins := all[:0]
	for _, b := range all {
		if k := len(bins); k > 0 && bins[k-1].Bin == b.Bin {
			bins[k-1].Count += b.Count
			continue
		}
		bins = append(bins, b)
	}
	return Histogram{Zeros: h.Zeros + g.Zeros, Bins: bins}
}

// quantiles returns the middles of the bins where shares of the values are reached,
// or the largest value where that is lower. The widest bins, those at powers of two,
// are an eighth of their lower edge wide: their middle, the geometric mean of the
// edges, is at most 6.1 % off.
func (h *Histogram) quantiles(largest float64) (q Quantiles) {
	total := h.Zeros
	for _, b := range h.Bins {
		total += b.Count
	}
	if total == 0 {
		return q
	}
	seen, bins, last := h.Zeros, h.Bins, NumberOf(0)
	at := func(share float64) Metric {
		rank, before := int64(math.Ceil(share*float64(total))), len(bins)
		var b HistogramBin
		for seen < rank && len(bins) > 0 {
			b, bins = bins[0], bins[1:]
			seen += b.Count
		}
		switch {
		case seen < rank:
			return NumberOf(largest)
		case len(bins) < before:
			last = NumberOf(b.middle(largest))
		}
		return last
	}
	return Quantiles{P50: at(0.5), P90: at(0.9), P95: at(0.95), P99: at(0.99), P999: at(0.999)}
}

// middle is the geometric mean of the edges of a bin, or the largest value if that is lower.
func (b HistogramBin) middle(largest float64) float64 {
	return min(rootOfEdge(b.Bin)*rootOfEdge(b.Bin+1), largest)
}

// quantileNear is the quantile in whose bin a number is.
func quantileNear(x, largest float64) float64 {
	if !(0 < x && x <= math.MaxFloat64) {
		return x
	}
	return HistogramBin{Bin: int32(math.Float64bits(x)>>49) - firstBin}.middle(largest)
}

// lowerEdges returns the counts of the bins, that of zero first, by their lower edges.
func (h *Histogram) lowerEdges() iter.Seq2[float64, int64] {
	return func(yield func(float64, int64) bool) {
		if !yield(0, h.Zeros) {
			return
		}
		for _, b := range h.Bins {
			if !yield(math.Ldexp(1+float64(float64(b.Bin&7)/8), int(b.Bin>>3)), b.Count) {
				return
			}
		}
	}
}

// rootOfEdge returns the root of the lower edge of a bin.
func rootOfEdge(k int32) float64 {
	octave := int(k >> 3)
	return math.Ldexp(math.Sqrt(math.Ldexp(1+float64(float64(k&7)/8), octave&1)), octave>>1)
}

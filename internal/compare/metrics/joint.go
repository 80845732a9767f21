package metrics

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"dumptool/internal/compare/metrics/kernel"
)

// The joint histogram of |d| and |r| bounds the errors under other limits. A bin
// is made by the groups of 16 octaves that |d| and |r| are in.

// outsideBin counts pairs of a bin of which a magnitude has no group in the
// tables: it is below 2^-1008, or |d| exceeds the range of float64.
type outsideBin struct {
	minAbs, maxAbs, minRef, maxRef float64
	count                          int64
}

// hasNoGroup reports whether a magnitude has no group of its own.
func hasNoGroup(x float64) bool { return x != 0 && kernel.Group(x)%kernel.Groups == 0 }

func (h *histograms) addOutside(abs, ref float64) {
	key := [2]int32{jointBin(abs), jointBin(ref)}
	bin := h.outside[key]
	if bin == nil {
		bin = &outsideBin{minAbs: abs, minRef: ref}
		if h.outside == nil {
			h.outside = map[[2]int32]*outsideBin{}
		}
		h.outside[key] = bin
	}
	bin.count++
	bin.minAbs, bin.maxAbs = min(bin.minAbs, abs), max(bin.maxAbs, abs)
	bin.minRef, bin.maxRef = min(bin.minRef, ref), max(bin.maxRef, ref)
}

// jointBin returns the number of the bin of a magnitude.
func jointBin(x float64) int32 {
	switch {
	case x == 0:
		return ZeroBin
	case math.IsInf(x, 0):
		return 64
	}
	_, exp := math.Frexp(x)
	return int32(exp-1) >> 4
}

// takeJoint returns the bins of the table in the order of Abs and Ref, and clears
// them. The bounds of |d| are those of its histogram, those of |r| the ones of its
// group; all |r| are within a range.
func (h *histograms) takeJoint(abs []HistogramBin, minRef, maxRef float64) []JointBin {
	bins := h.pairs[:0]
	for key, b := range h.outside {
		bins = append(bins, JointBin{
			Abs: key[0], Ref: key[1], Count: b.count,
			MinAbs: b.minAbs, MaxAbs: b.maxAbs, MinRef: b.minRef, MaxRef: b.maxRef,
		})
	}
	refs := binRange{kernel.Group(minRef), kernel.Group(maxRef)}
	bins = h.takeGroup(bins, JointBin{Abs: ZeroBin}, 0, refs)
	for len(abs) > 0 {
		group, end := groupOf(abs[0].Bin), 1
		for end < len(abs) && groupOf(abs[end].Bin) == group {
			end++
		}
		if 0 < group && group < kernel.Groups {
			first, last := uint64(abs[0].Bin+firstBin), uint64(abs[end-1].Bin+firstBin)
			low, high := math.Float64frombits(first<<49), math.Float64frombits((last+1)<<49-1)
			bins = h.takeGroup(bins, JointBin{Abs: jointBin(low), MinAbs: low, MaxAbs: high}, uint(group), refs)
		}
		abs = abs[end:]
	}
	h.pairs = bins
	return mergedJoint(bins)
}

// groupOf returns the group of a bin of a histogram; none is below 1.
func groupOf(bin int32) int { return int(bin+firstBin+8) >> 7 }

// takeGroup adds the bins of a group of |d|, which are like one.
func (h *histograms) takeGroup(bins []JointBin, like JointBin, group uint, refs binRange) []JointBin {
	for ref := refs.first; ref <= min(refs.last, kernel.Groups-1); ref++ {
		like.Count = h.tables.TakeJoint(group, ref)
		if like.Count == 0 {
			continue
		}
		if like.Ref, like.MinRef, like.MaxRef = ZeroBin, 0, 0; ref > 0 {
			like.MinRef, like.MaxRef = groupBounds(ref)
			like.Ref = jointBin(like.MinRef)
		}
		bins = append(bins, like)
	}
	return bins
}

// groupBounds returns the smallest and the largest magnitude of a group but the
// first.
func groupBounds(group uint) (first, last float64) {
	from := uint64(16*group-1) << 52
	return math.Float64frombits(from), math.Float64frombits(from + 16<<52 - 1)
}

// clamped returns the bins with bounds no wider than the ranges of all pairs.
func clamped(bins []JointBin, maxAbs, minRef, maxRef float64) []JointBin {
	for i := range bins {
		b := &bins[i]
		b.MaxAbs, b.MaxRef = min(b.MaxAbs, maxAbs), min(b.MaxRef, maxRef)
		b.MinRef = max(b.MinRef, minRef)
	}
	return bins
}

// mergedJoint joins bins of the same groups and sorts them, in their memory.
func mergedJoint(all []JointBin) []JointBin {
	slices.SortFunc(all, func(x, y JointBin) int {
		return cmp.Or(cmp.Compare(x.Abs, y.Abs), cmp.Compare(x.Ref, y.Ref))
	})
	out := all[:0]
	for _, b := range all {
		k := len(out) - 1
		if k < 0 || out[k].Abs != b.Abs || out[k].Ref != b.Ref {
			out = append(out, b)
			continue
		}
		out[k].Count += b.Count
		out[k].MinAbs, out[k].MaxAbs = min(out[k].MinAbs, b.MinAbs), max(out[k].MaxAbs, b.MaxAbs)
		out[k].MinRef, out[k].MaxRef = min(out[k].MinRef, b.MinRef), max(out[k].MaxRef, b.MaxRef)
	}
	return out
}

// mostFolded is the most bins of a joint histogram that is folded.
const mostFolded = 12

// FoldJoint joins bins of a histogram with many until few are left, and bounds the numbers
// in them by ones with few digits: they bound the errors by other limits less closely. Bins
// of one ratio of |d| to |r|, which limits mostly part from the others, become the one of it
// beside |r| from 1 on. Those without a difference, which pass by any limits, and those of
// |r| = 0, which have no ratio, are one bin each. Of too many ratios neighbours are joined,
// those with the fewest pairs first.
func FoldJoint(bins []JointBin) []JointBin {
	folded := slices.Clone(bins)
	if len(folded) > mostFolded {
		folded = joinRatios(folded)
	}
	for i := range folded {
		b := &folded[i]
		b.MinAbs, b.MaxAbs = shortBelow(b.MinAbs), shortAbove(b.MaxAbs)
		b.MinRef, b.MaxRef = shortBelow(b.MinRef), shortAbove(b.MaxRef)
	}
	return folded
}

// joinRatios joins bins, which it may change.
func joinRatios(bins []JointBin) []JointBin {
	for i := range bins {
		switch b := &bins[i]; {
		case b.Abs == ZeroBin:
			b.Ref = 0
		case b.Ref == ZeroBin:
			b.Abs = -ZeroBin // behind all others
		default:
			b.Abs, b.Ref = b.Abs-b.Ref, 0
		}
	}
	for bins = mergedJoint(bins); len(bins) > mostFolded; bins = mergedJoint(bins) {
		fewest, least := int64(math.MaxInt64), 0
		for i := range bins[1:] {
			a, b := &bins[i], &bins[i+1]
			if n := a.Count + b.Count; a.Abs != ZeroBin && b.Ref != ZeroBin && n < fewest {
				fewest, least = n, i
			}
		}
		bins[least].Abs = bins[least+1].Abs
	}
	return bins
}

// shortBelow and shortAbove are the nearest numbers of three digits that are not above and
// not below a magnitude, which is its own beyond the range of float64.
func shortBelow(x float64) float64 { return short(x, -1) }
func shortAbove(x float64) float64 { return short(x, 1) }

func short(x float64, side int) float64 {
	if x == 0 || math.IsInf(x, 0) {
		return x
	}
	const digits = 3
	text := strconv.FormatFloat(x, 'e', digits-1, 64) // d.dde+xx
	near, err := strconv.ParseFloat(text, 64)
	if err == nil && (near-x)*float64(side) >= 0 {
		return near
	}
	mantissa, _ := strconv.Atoi(text[:1] + text[2:1+digits])
	exp, _ := strconv.Atoi(text[2+digits:])
	if mantissa+side < 100 {
		mantissa, exp = 1000, exp-1
	}
	beside, err := strconv.ParseFloat(strconv.Itoa(mantissa+side)+"e"+strconv.Itoa(exp-digits+1), 64)
	if err != nil || (beside-x)*float64(side) < 0 {
		return x
	}
	return beside
}

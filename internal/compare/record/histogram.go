package record

import (
	"errors"
	"fmt"
	"slices"

	"dumptool/internal/compare/metrics"
)

// HalfOctaves are magnitudes in bins of half an octave: those that are 0, and the
// counts from bin First on; bin k holds magnitudes from 2^(k/2) up to 2^((k+1)/2),
// cut linearly inside the octave.
type HalfOctaves struct {
	Zeros  int64   `json:"zeros"`
	First  int32   `json:"first"`
	Counts []int64 `json:"counts"`
}

// The bins of a histogram of a result, of which four are one in compare.json.
const (
	joinedBins = 4
	// The bins of the smallest float64, and what is behind that of infinity, which the
	// ratio of two numbers may be.
	firstHalfOctave, lastHalfOctave = -2 * 1075, 2*1024 + 1
)

// FoldHistogram joins the bins of an octave to two.
func FoldHistogram(h metrics.Histogram) metrics.Histogram {
	var bins []metrics.HistogramBin
	for _, b := range h.Bins {
		k := b.Bin &^ (joinedBins - 1)
		if n := len(bins); n > 0 && bins[n-1].Bin == k {
			bins[n-1].Count += b.Count
			continue
		}
		bins = append(bins, metrics.HistogramBin{Bin: k, Count: b.Count})
	}
	return metrics.Histogram{Zeros: h.Zeros, Bins: slices.Clip(bins)}
}

// HalfOctavesOf folds a histogram, nil where the result is without.
func HalfOctavesOf(h metrics.Histogram) *HalfOctaves {
	if len(h.Bins) == 0 {
		return nil
	}
	h = FoldHistogram(h)
	first, last := h.Bins[0].Bin/joinedBins, h.Bins[len(h.Bins)-1].Bin/joinedBins
	j := &HalfOctaves{Zeros: h.Zeros, First: first, Counts: make([]int64, last-first+1)}
	for _, b := range h.Bins {
		j.Counts[b.Bin/joinedBins-first] = b.Count
	}
	return j
}

// histogram is the histogram that was folded, of a number of elements.
func (j *HalfOctaves) histogram(total int64) (h metrics.Histogram, err error) {
	if j == nil {
		return h, nil
	}
	if j.First < firstHalfOctave || len(j.Counts) > lastHalfOctave-firstHalfOctave || int(j.First)+len(j.Counts) > lastHalfOctave {
		return h, fmt.Errorf("histogram: %d bins from %d on", len(j.Counts), j.First)
	}
	h.Zeros = j.Zeros
	left := total - j.Zeros
	if j.Zeros < 0 || left < 0 {
		return h, errors.New("histogram: more zeros than elements")
	}
	for i, n := range j.Counts {
		if n < 0 || n > left {
			return h, fmt.Errorf("histogram: a count of %d, of %d elements", n, total)
		}
		if left -= n; n > 0 {
			h.Bins = append(h.Bins, metrics.HistogramBin{Bin: joinedBins * (j.First + int32(i)), Count: n})
		}
	}
	return h, nil
}

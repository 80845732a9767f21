package noise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// TestStrata: the sample has one block of each of 128 equal parts, or all of a small tensor.
func TestStrata(t *testing.T) {
	for _, total := range []int64{0, 1, 1024, 1 << 17} {
		if s := NewStrata(total); !s.IsComplete() || !s.HasBlock(0) || !s.HasBlock(total/2) {
			t.Errorf("%d elements are not all looked at", total)
		}
		next := int64(0)
		for at, count := range NewStrata(total).Runs(total, 1000) {
			if at != next || count < 1 || count > 1000 {
				t.Errorf("%d elements: a run of %d from %d on", total, count, at)
			}
			next += int64(count)
		}
		if next != total {
			t.Errorf("%d elements: runs end at %d", total, next)
		}
	}
	for _, total := range []int64{1<<17 + 1, 1<<17 + 1023, 1<<17 + 1024, 255 << 10, 257 << 10, 1e6, 1e7 + 77} {
		s, blocks := NewStrata(total), total/1024
		var seen []int64
		for block := range (total + 1023) / 1024 {
			if has := s.HasBlock(block * 1024); has != s.HasBlock(min(total, block*1024+1024)-1) {
				t.Fatalf("%d elements: a part of block %d", total, block)
			} else if has {
				seen = append(seen, block)
			}
		}
		if len(seen) != 128 || s.IsComplete() {
			t.Fatalf("%d elements: %d blocks, want 128", total, len(seen))
		}
		steps := map[int64]bool{}
		for k, block := range seen {
			if first, end := blocks*int64(k)/128, blocks*int64(k+1)/128; block < first || block >= end {
				t.Errorf("%d elements: block %d in place %d, want one from %d to before %d", total, block, k, first, end)
			}
			if k > 0 {
				steps[block-seen[k-1]] = true
			}
		}
		var runs []int64
		for at, count := range s.Runs(total, 4096) {
			if runs = append(runs, at/1024); at%1024 != 0 || count != 1024 {
				t.Errorf("%d elements: a run of %d from %d on", total, count, at)
			}
		}
		if !slices.Equal(runs, seen) {
			t.Errorf("%d elements: runs are the blocks %v, want %v", total, runs, seen)
		}
		if total >= 1e6 && len(steps) < 8 {
			t.Errorf("%d elements: blocks are %d distances apart", total, len(steps))
		}
	}
}

// TestSample: numbers of the sample depend only on its elements, all other numbers on all
// elements, wherever a fault is.
func TestSample(t *testing.T) {
	shape := tensor.Shape{2, 3, 300, 200}
	total := int(shape.Elements())
	for _, kind := range []string{"normal", "octaves", "masks", "tiny", "range"} {
		n, r := samples[kind](rand.New(rand.NewPCG(35, 1)), total)
		req := &Request{Shape: shape, Type: typeOf(t, tensor.Float16), Mask: -9000, Groups: MaxGroups}
		strata := NewStrata(int64(total))
		var inN, inR []float64
		outside := -1
		for i := range n {
			if strata.HasBlock(int64(i)) {
				inN, inR = append(inN, n[i]), append(inR, r[i])
			} else if outside < 0 && i > 5000 && math.Abs(r[i]) < 1 {
				outside = i
			}
		}
		n[outside] = r[outside] + 40000
		got := collect(req, n, r, 70*1024, 1024)
		all := slowly(req, n, r)
		few := slowly(&Request{Shape: tensor.Shape{int64(len(inR))}, Type: req.Type, Mask: -9000, Groups: 1}, inN, inR)
		if got.Sampled != 1<<17 || len(inR) != 1<<17 {
			t.Fatalf("%s: %d and %d elements sampled", kind, got.Sampled, len(inR))
		}
		if got.Max < 39999 {
			t.Errorf("%s: the largest difference is %v: a fault outside of the sample is not seen", kind, got.Max)
		}
		for _, x := range []struct {
			name      string
			got, want float64
		}{
			{"ScaleBySign", got.ScaleBySign, few.ScaleBySign}, {"TowardZero", got.TowardZero, few.TowardZero},
			{"MaxRelative", got.MaxRelative, few.MaxRelative}, {"MaxAbsolute", got.MaxAbsolute, few.MaxAbsolute}, {"Subnormal", got.Subnormal, few.Subnormal},
			{"RMS", got.RMS, all.RMS}, {"RefRMS", got.RefRMS, all.RefRMS}, {"Rounding", got.Rounding, all.Rounding}, {"RefStd", got.RefStd, all.RefStd},
			{"Mean", got.Mean, all.Mean}, {"Scale", got.Scale, all.Scale}, {"Residual", got.Residual, all.Residual}, {"P90", got.P90, all.P90},
			{"GroupScale", got.GroupScale, all.GroupScale}, {"GroupMean", got.GroupMean, all.GroupMean}, {"Max", got.Max, all.Max},
		} {
			if !(math.Abs(x.got-x.want) <= 1e-9*math.Abs(x.want)+1e-12) {
				t.Errorf("%s: %s is %v, want %v", kind, x.name, x.got, x.want)
			}
		}
	}
}

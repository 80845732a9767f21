package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// TestRanking compares rankings with sorted scores, among them many equal ones.
func TestRanking(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for limit := 1; limit < 40; limit++ {
		r := ranking{limit: limit}
		var all []rankedElement
		for offset := range int64(200) {
			score := float64(1 + random.IntN(60))
			all = append(all, rankedElement{score, location{offset: offset}})
			if score >= r.floor {
				r.add(score, all[offset].location)
			}
		}
		slices.SortFunc(all, compareRanked)
		for i, want := range all[:limit] {
			if got := r.entries[i]; got.offset != want.offset || got.score != want.score {
				t.Fatalf("limit %d: place %d is %d with %v, want %d with %v", limit, i, got.offset, got.score, want.offset, want.score)
			}
		}
	}
}

// TestWorstBesideSpecials checks the differences of the worst elements in blocks that also have
// non-finite elements.
func TestWorstBesideSpecials(t *testing.T) {
	const count = 5 * blockElements
	req := sampleRequest(tensor.Shape{count})
	req.Top = 100
	ref, npu := sample(count, 3, req.RefDType, req.NPUDType)
	r, err := Compare(t.Context(), req, ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	finite := 0
	for _, e := range r.Worst {
		if ClassOf(e.NPU.Real) != Finite || ClassOf(e.Ref.Real) != Finite {
			continue
		}
		finite++
		abs := math.Abs(e.NPU.Real - e.Ref.Real)
		if e.Abs != abs || e.Ref.Real != 0 && e.Rel != abs/math.Abs(e.Ref.Real) {
			t.Errorf("element %d of %v and %v has |d| %v and |d|/|r| %v", e.Offset, e.NPU.Real, e.Ref.Real, e.Abs, e.Rel)
		}
	}
	if finite < 50 {
		t.Errorf("%d worst elements are finite, want most of %d", finite, req.Top)
	}
}

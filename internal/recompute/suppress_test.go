package recompute

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// scene has boxes and scores of a random image. Many scores are equal.
type scene struct {
	boxes, scores []float64
}

func newScene(r *rand.Rand) *scene {
	s := new(scene)
	for range 40 {
		x, y := float64(r.IntN(64)), float64(r.IntN(64))
		s.boxes = append(s.boxes, x, y, x+8+float64(r.IntN(24)), y+8+float64(r.IntN(24)))
		s.scores = append(s.scores, float64(r.IntN(16))/16)
	}
	return s
}

func (s *scene) overlap(i, k int) float64 {
	a, b := s.boxes[4*i:], s.boxes[4*k:]
	inter := max(0, min(a[2], b[2])-max(a[0], b[0])) * max(0, min(a[3], b[3])-max(a[1], b[1]))
	return inter / ((a[2]-a[0])*(a[3]-a[1]) + (b[2]-b[0])*(b[3]-b[1]) - inter)
}

// suppress keeps boxes one after the other, with equal scores in a random order.
func (s *scene) suppress(r *rand.Rand, threshold float64) (kept []int) {
	order := r.Perm(len(s.scores))
	slices.SortStableFunc(order, func(i, k int) int { return int(16 * (s.scores[k] - s.scores[i])) })
	for _, i := range order {
		if !slices.ContainsFunc(kept, func(k int) bool { return s.overlap(i, k) > threshold }) {
			kept = append(kept, i)
		}
	}
	return kept
}

// isRight checks by the definition whether boxes may have been kept: none twice, by descending scores, no two that
// overlap, and every dropped box overlaps with one whose score is not lower.
func (s *scene) isRight(kept []int, threshold float64) bool {
	for at, i := range kept {
		if i < 0 || i >= len(s.scores) || slices.Contains(kept[:at], i) || at > 0 && s.scores[kept[at-1]] < s.scores[i] {
			return false
		}
		if slices.ContainsFunc(kept[:at], func(k int) bool { return s.overlap(i, k) > threshold }) {
			return false
		}
	}
	for i := range s.scores {
		if !slices.Contains(kept, i) && !slices.ContainsFunc(kept, func(k int) bool { return s.scores[k] >= s.scores[i] && s.overlap(i, k) > threshold }) {
			return false
		}
	}
	return true
}

func (s *scene) judged(t *testing.T, kept []int, attrs string) *Verdict {
	t.Helper()
	indices := make([]float64, len(kept))
	for i, k := range kept {
		indices[i] = float64(k)
	}
	n := int64(len(s.scores))
	return judgeWith(t, "Nms", []*Tensor{tensorOf(t, fmt.Sprintf("%dx4", n), s.boxes...), tensorOf(t, fmt.Sprint(n), s.scores...)},
		[]*Tensor{{DType: tensor.Int32, Stored: tensor.Int32, Shape: tensor.Shape{int64(len(kept))}, Source: numbers{indices, tensor.Int32}}}, attributesOf(attrs))
}

// TestSuppression: any choice among boxes of equal scores is right, and every other choice is wrong, with a known and
// with an unknown threshold.
func TestSuppression(t *testing.T) {
	t.Parallel()
	const threshold = .4703 // no two of these boxes have this overlap
	faults := map[string]func(r *rand.Rand, s *scene, kept []int) []int{
		"a box is dropped": func(r *rand.Rand, _ *scene, kept []int) []int {
			i := r.IntN(len(kept))
			return slices.Delete(kept, i, i+1)
		},
		"the last box is dropped": func(_ *rand.Rand, _ *scene, kept []int) []int { return kept[:len(kept)-1] },
		"nothing is kept":         func(*rand.Rand, *scene, []int) []int { return nil },
		"everything is kept":      func(_ *rand.Rand, s *scene, _ []int) []int { return s.suppress(rand.New(rand.NewPCG(1, 1)), 1) },
		"two boxes change places": func(r *rand.Rand, _ *scene, kept []int) []int {
			i := r.IntN(len(kept) - 1)
			kept[i], kept[i+1] = kept[i+1], kept[i]
			return kept
		},
		"indices are off by one": func(_ *rand.Rand, _ *scene, kept []int) []int {
			for i := range kept {
				kept[i]++
			}
			return kept
		},
		"a box is kept twice": func(r *rand.Rand, _ *scene, kept []int) []int {
			i := r.IntN(len(kept))
			return slices.Insert(kept, i, kept[i])
		},
		"an index is out of range": func(r *rand.Rand, _ *scene, kept []int) []int { kept[r.IntN(len(kept))] = 40; return kept },
		"a dropped box is kept": func(_ *rand.Rand, s *scene, kept []int) []int {
			for i := range s.scores {
				if !slices.Contains(kept, i) {
					at := 0
					for at < len(kept) && s.scores[kept[at]] >= s.scores[i] {
						at++
					}
					return slices.Insert(kept, at, i)
				}
			}
			return kept
		},
		"another threshold": func(r *rand.Rand, s *scene, _ []int) []int { return s.suppress(r, .7) },
	}
	r, wrong := rand.New(rand.NewPCG(3, 4)), map[string]int{}
	for range 40 {
		s := newScene(r)
		kept := s.suppress(r, threshold)
		for _, attrs := range []string{"", "iou_threshold=0.4703"} {
			if v := s.judged(t, kept, attrs); v.Status != OK {
				t.Fatalf("%q: %s %s: %+v", attrs, v.Status, v.Why, v.Outputs)
			}
			for _, name := range slices.Sorted(maps.Keys(faults)) {
				other := faults[name](r, s, slices.Clone(kept))
				if s.isRight(other, threshold) || attrs == "" && name == "another threshold" {
					continue
				}
				if v := s.judged(t, other, attrs); v.Status == Wrong {
					wrong[name]++
				} else if attrs != "" {
					t.Errorf("%s: %s %s of %v", name, v.Status, v.Why, other)
				}
			}
		}
	}
	for name := range faults {
		if least := 20; wrong[name] < least {
			t.Errorf("%s: wrong %d times, want %d", name, wrong[name], least)
		}
	}
}

// TestSuppressionByScore: a box is kept if its score exceeds score_threshold, the NPU may choose among equal scores,
// and at most max_output_size boxes are kept.
func TestSuppressionByScore(t *testing.T) {
	t.Parallel()
	s := &scene{scores: []float64{.1, .9, .2, .8, .7}} // boxes that do not overlap
	for i := range s.scores {
		x := 10 * float64(i)
		s.boxes = append(s.boxes, x, x, x+5, x+5)
	}
	for _, c := range []struct {
		attrs string
		kept  []int
		want  Status
	}{
		{"iou_threshold=0.5 score_threshold=0.2", []int{1, 3, 4}, OK},
		{"iou_threshold=0.5 score_threshold=0.2", []int{1, 3, 4, 2}, OK},
		{"iou_threshold=0.5 score_threshold=0.2", []int{1, 3, 4, 2, 0}, Wrong},
		{"iou_threshold=0.5 score_threshold=0.3", []int{1, 3, 4, 2}, Wrong},
		{"iou_threshold=0.5 score_threshold=0.2", []int{1, 3}, Wrong},
		{"iou_threshold=0.5 score_threshold=0.15", []int{1, 3, 4, 2}, OK},
		{"iou_threshold=0.5 max_output_size=2", []int{1, 3}, OK},
		{"iou_threshold=0.5 max_output_size=2", []int{1, 3, 4}, Wrong},
		{"iou_threshold=0.5 max_output_size=2", []int{3, 1}, Wrong},
	} {
		if v := s.judged(t, c.kept, c.attrs); v.Status != c.want {
			t.Errorf("%s: %v is %s %s, want %s", c.attrs, c.kept, v.Status, v.Why, c.want)
		}
	}
}

// TestLengths: an output whose length follows from the values of the inputs is wrong with another length.
func TestLengths(t *testing.T) {
	t.Parallel()
	mask := &Tensor{DType: tensor.Bool, Stored: tensor.Int32, Shape: tensor.Shape{4}, Source: numbers{[]float64{1, 0, 1, 1}, tensor.Int32}}
	x := tensorOf(t, "4", 5, 6, 7, 8)
	for _, c := range []struct {
		name, formula, attrs string
		in                   []*Tensor
		right                []float64
		columns              string
	}{
		{"nonzero", "NonZero", "", []*Tensor{tensorOf(t, "4", 1, 0, 2, 3)}, []float64{0, 2, 3}, "x1"},
		{"masked_select", "MaskedSelect", "", []*Tensor{x, mask}, []float64{5, 7, 8}, ""},
		{"getitem", "GetItem", "index=T", []*Tensor{x, mask}, []float64{5, 7, 8}, ""},
		{"unique", "Unique", "sorted=1", []*Tensor{tensorOf(t, "4", 7, 5, 8, 5)}, []float64{5, 7, 8}, ""},
	} {
		for _, got := range [][]float64{c.right, c.right[:2], {}, append(slices.Clone(c.right), 9)} {
			want := Wrong
			if len(got) == len(c.right) {
				want = OK
			}
			v := judgeWith(t, c.formula, c.in, []*Tensor{tensorOf(t, fmt.Sprint(len(got))+c.columns, got...)}, attributesOf(c.attrs))
			if v.Status != want || want == Wrong && v.Reason != ByShape {
				t.Errorf("%s of %v: %s %s %s, want %s", c.name, got, v.Status, v.Reason, v.Why, want)
			}
		}
	}
}

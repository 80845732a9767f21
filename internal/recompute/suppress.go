package recompute

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// overlapThreshold is the name of the attribute with the threshold of overlap, intersection / union, above which the
// box with the lower score is dropped.
const overlapThreshold = "iou_threshold"

const (
	// maxOverlaps limits the pairs of boxes whose overlap is computed.
	maxOverlaps = 1 << 28
	// overlapSteps is the error of an overlap in roundings: three of the intersection, nine of the union of at
	// most three times its size, and their quotient, rounded up.
	overlapSteps = 16
)

// suppression drops boxes like torchvision.ops.nms: it goes through the boxes by descending score and keeps a box
// unless its overlap with a kept box is above the threshold.
type suppression struct {
	boxes, scores []float64
	// order lists the boxes by descending score, boxes of equal score by index.
	order []int
	// minScore is the score that a box must exceed.
	minScore float64
	// boxRounding and scoreRounding are half an ulp of 1 in the types of boxes and scores. Comparisons of numbers that
	// differ by no more may go either way.
	boxRounding, scoreRounding float64
}

// newSuppression takes boxes of two corners each, and their scores. ok is false if the boxes have another shape or a
// number is not finite.
func newSuppression(boxes, scores []float64, shape tensor.Shape, types []tensor.DType) (s *suppression, ok bool) {
	n := len(scores)
	if !shape.Equal(tensor.Shape{int64(n), 4}) || !isAllFinite(boxes) || !isAllFinite(scores) {
		return nil, false
	}
	unit := func(d tensor.DType) float64 { return math.Ldexp(1, -formatOf(d).Mantissa-1) }
	s = &suppression{boxes: boxes, scores: scores, order: firstIntegers(n), minScore: -math.MaxFloat64, boxRounding: unit(types[0]), scoreRounding: unit(types[1])}
	slices.SortStableFunc(s.order, func(i, k int) int { return cmp.Compare(scores[k], scores[i]) })
	return s, true
}

// overlap returns intersection / union of two boxes, 0 if they do not intersect.
func (s *suppression) overlap(i, k int) float64 {
	a, b := s.boxes[4*i:][:4], s.boxes[4*k:][:4]
	width, height := min(a[2], b[2])-max(a[0], b[0]), min(a[3], b[3])-max(a[1], b[1])
	if width <= 0 || height <= 0 {
		return 0
	}
	inter := float64(width * height)
	area := func(x []float64) float64 { return float64((x[2] - x[0]) * (x[3] - x[1])) }
	return inter / (area(a) + area(b) - inter)
}

// isHigher reports whether score x is higher than y by more than rounding.
func (s *suppression) isHigher(x, y float64) bool {
	return x-y > float64(s.scoreRounding*(math.Abs(x)+math.Abs(y)))
}

// keepBoxes returns the boxes that suppression keeps, at most maxBoxes. got are the boxes that the NPU kept: if an
// overlap is so close to the threshold that rounding decides, the NPU's decision is followed.
func (s *suppression) keepBoxes(c *call, got []float64, threshold float64, maxBoxes int) (all []int) {
	delta := float64(threshold * float64(overlapSteps*s.boxRounding))
	low, high := threshold-delta, threshold+delta
	// nearest is the largest overlap of each box with a kept box: infinite for a box that cannot be kept, the
	// threshold for a box whose score is within rounding of least.
	nearest, next := make([]float64, len(s.order)), 0
	for k, score := range s.scores {
		switch {
		case s.isHigher(s.minScore, score):
			nearest[k] = math.Inf(1)
		case !s.isHigher(score, s.minScore):
			nearest[k] = threshold
		}
	}
	for len(all) < maxBoxes && !c.isStopped() {
		for next < len(s.order) && nearest[s.order[next]] > low {
			next++
		}
		i := -1
		if next < len(s.order) {
			i = s.order[next]
		}
		if len(all) < len(got) {
			if k, ok := indexOf(got[len(all)], len(s.order)); ok && nearest[k] <= high && (i < 0 || !s.isHigher(s.scores[i], s.scores[k])) {
				i = k
			}
		}
		if i < 0 {
			break
		}
		all = append(all, i)
		for k := range nearest {
			nearest[k] = max(nearest[k], s.overlap(i, k))
		}
		nearest[i] = math.Inf(1)
	}
	return all
}

// indexOf returns a number as an index; ok is false unless it is a whole number from 0 to n-1.
func indexOf(x float64, n int) (k int, ok bool) {
	return int(x), x >= 0 && x < float64(n) && x == math.Trunc(x)
}

// keptIndices returns the indices of the kept boxes.
func keptIndices(c *call) *Array {
	boxes, scores := c.input(0), c.input(1)
	if c.err != nil {
		return boxes
	}
	s, ok := newSuppression(boxes.v, scores.v, boxes.shape, c.types)
	got, maxBoxes := c.got[0].v, len(scores.v)
	if !ok || len(c.shapes[0]) != 1 || len(got)*maxBoxes > maxOverlaps {
		return c.fail("boxes of shape %s for scores of shape %s, not finite or too many", boxes.shape, scores.shape)
	}
	if n, ok := c.attrs["max_output_size"].Value.Number(); ok {
		maxBoxes = min(maxBoxes, int(max(n, 0)))
	}
	if least, ok := c.attrs["score_threshold"].Value.Number(); ok {
		s.minScore = least
	}
	all := s.keepBoxes(c, got, c.numberAttribute(overlapThreshold), maxBoxes)
	c.dynamicLength = true
	z := c.exactArray(tensor.Shape{int64(len(all))}, c.alloc(len(all)))
	for i, k := range all {
		z.v[i] = float64(k)
	}
	return z
}

// findThreshold returns one value for an unknown threshold: the first usual number, else the shortest number,
// with which the NPU could have kept these boxes. If there is none, the output is wrong for every threshold.
func findThreshold(p *problem) []Attributes {
	low, high := p.thresholdRange()
	threshold := .5
	usual := []float64{.5, .7, .45, .6, .4, .3, .65, .55, .35}
	if k := slices.IndexFunc(usual, func(x float64) bool { return low <= x && x < high }); k >= 0 {
		threshold = usual[k]
	} else if low < high {
		const mostDigits = 17 // of a float64
		for digits := 1; digits <= mostDigits; digits++ {
			if threshold = roundDigits((low+high)/2, digits); low <= threshold && threshold < high {
				break
			}
		}
	}
	return []Attributes{{overlapThreshold: {Number(threshold), FromValues}}}
}

// thresholdRange returns the range of the threshold: low is the largest overlap of two boxes that the NPU kept, high the
// smallest overlap for which it dropped a box. A box is dropped for its largest overlap with a kept box whose score
// is not lower.
func (p *problem) thresholdRange() (low, high float64) {
	low, high = 0, 1
	boxes, err := p.Inputs[0].Values()
	scores, err2 := p.Inputs[1].Values()
	got, err3 := p.Outputs[0].Values()
	if cmp.Or(err, err2, err3) != nil || len(got)*len(scores) > maxOverlaps {
		return low, high
	}
	s, ok := newSuppression(boxes, scores, p.Inputs[0].Shape, []tensor.DType{p.Inputs[0].DType, p.Inputs[1].DType})
	if !ok {
		return low, high
	}
	isKept, all := make([]bool, len(scores)), make([]int, 0, len(got))
	for _, x := range got {
		if k, ok := indexOf(x, len(scores)); ok && !isKept[k] {
			isKept[k], all = true, append(all, k)
		}
	}
	for i := range scores {
		nearest := 0.0
		for _, k := range all {
			if k != i && !s.isHigher(scores[i], scores[k]) && !p.isStopped() {
				nearest = max(nearest, s.overlap(i, k))
			}
		}
		if isKept[i] {
			low = max(low, nearest)
		} else {
			high = min(high, nearest)
		}
	}
	return low, high
}

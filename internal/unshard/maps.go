package unshard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/finding"
	"dumptool/internal/lists"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
	"dumptool/internal/unshard/locate"
)

// Map says where a tensor of all layers and ranks lies in the reference.
type Map struct {
	// Steps are ranges of steps, first and last; empty if steps have no numbers.
	Steps [][2]int `json:"steps"`
	// Role is the name of the calls with * for the numbers of layers and experts, Tensor a tensor of these calls.
	Role   string `json:"role"`
	Tensor string `json:"tensor"`
	// Kind says how the tensor is cut: the kinds of its cut axes; WHOLE if none is cut; PARTIAL for summands;
	// BY_TOKEN if every tensor has rows of its own; NOT_LOCATED if the reference does not have the values.
	Kind string `json:"kind"`
	// Axes are the cut axes.
	Axes []MapAxis `json:"axes"`
	// Score is the share of slices that were found, 0 to 1; Confidence the confidence in the map; Instances the
	// number of layers in which it was found. Each is the lowest of all ranks.
	Score      tensor.Number      `json:"score"`
	Confidence finding.Confidence `json:"confidence"`
	Instances  int                `json:"instances"`
}

// MapAxis says how an axis is cut.
type MapAxis struct {
	// Axis is the axis of the reference, Kind how it is cut.
	Axis int    `json:"axis"`
	Kind string `json:"kind"`
	// Runs are [first slice in the reference, number of slices], by the ranks that have them, such as
	// 0 or 2-3. First is -1 for slices that the reference does not have, -2 for padding. More than 256
	// runs are not listed.
	Runs map[string][][2]int `json:"runs"`
}

// maxRuns limits the runs of an axis that a map lists.
const maxRuns = 256

// Kinds of maps besides the kinds of axes.
const (
	partialMap = "PARTIAL"
	tokenMap   = "BY_TOKEN"
	lostMap    = "NOT_LOCATED"
)

// sureScore is the minimum share of matched slices, 0 to 1, of a map with medium or high confidence.
const sureScore = 0.95

// Confidence returns the confidence in a map.
func Confidence(m *locate.Role) finding.Confidence {
	const surePlaces = 2 // layers
	switch {
	case !m.Assumed && m.Score >= sureScore && m.Instances >= surePlaces && m.Others == 0:
		return finding.High
	case m.Assumed || m.Score < sureScore:
		return finding.Low
	}
	return finding.Medium
}

// lowerConfidence returns the lower confidence of two.
func lowerConfidence(a, b finding.Confidence) finding.Confidence {
	for _, c := range []finding.Confidence{finding.Low, finding.Medium} {
		if a == c || b == c {
			return c
		}
	}
	return finding.High
}

// roleMaps is a tensor in all layers of a step, with its map on each rank.
type roleMaps struct {
	role, tensor string
	name, call   string // name of one of the tensors, and name of its call
	expert       bool
	full         tensor.Shape
	byRank       map[int]*Location
	// varied: a rank has several maps, or the reference has several shapes.
	varied bool
}

// groupByRole groups the tensors of operators by role. Of several tensors of a rank the worst counts: the first
// unlocated tensor, else the tensor with the lowest score.
func (l *StepPositions) groupByRole() []*roleMaps {
	at := make(map[string]*roleMaps)
	for _, t := range slices.SortedFunc(maps.Keys(l.At), func(a, b *trace.Tensor) int {
		return cmp.Or(cmp.Compare(a.Call.Rank, b.Call.Rank), cmp.Compare(a.Call.Place, b.Call.Place), strings.Compare(a.Name, b.Name))
	}) {
		where := l.At[t]
		if t.Call.Comm != nil || where.Ref == nil {
			continue
		}
		place := strings.Replace(strings.Replace(t.Place(), "parameter ", "parameters ", 1), " ", ".", 1)
		key := t.Call.Role + " " + place
		p := at[key]
		if p == nil {
			p = &roleMaps{role: t.Call.Role, tensor: place, name: t.Name, call: t.Call.Name, full: where.Ref.Shape, byRank: make(map[int]*Location)}
			at[key] = p
		}
		if t.Name < p.name {
			p.name, p.call = t.Name, t.Call.Name
		}
		p.expert = p.expert || t.Call.Expert() >= 0
		old := p.byRank[t.Call.Rank]
		p.varied = p.varied || !p.full.Equal(where.Ref.Shape) || old != nil && !old.hasSameMap(&where)
		if old == nil || old.Map != nil && (where.Map == nil || old.Map.Score > where.Map.Score) {
			p.byRank[t.Call.Rank] = &where
		}
	}
	return slices.SortedFunc(maps.Values(at), func(a, b *roleMaps) int {
		return cmp.Or(strings.Compare(a.role, b.role), strings.Compare(a.tensor, b.tensor))
	})
}

// hasSameMap reports whether two tensors have equal maps.
func (l *Location) hasSameMap(o *Location) bool {
	if l.Map == nil || o.Map == nil {
		return l.Partial == o.Partial && l.Map == o.Map
	}
	return l.Partial == o.Partial && l.Map.Equal(&o.Map.Map)
}

// Maps returns the maps of a step; step is its name, such as 3.
func (l *StepPositions) Maps(step string) (all []*Map) {
	steps := [][2]int{}
	if n, err := strconv.Atoi(step); err == nil {
		steps = append(steps, [2]int{n, n})
	}
	for _, p := range l.groupByRole() {
		m := &Map{Steps: steps, Role: p.role, Tensor: p.tensor, Axes: []MapAxis{}, Score: 1, Confidence: finding.High}
		ranks := slices.Sorted(maps.Keys(p.byRank))
		partial, lost := false, false
		for i, rank := range ranks {
			x := p.byRank[rank]
			partial, lost = partial || x.Partial, lost || !x.Partial && x.Map == nil
			if x.Map == nil {
				continue
			}
			if i == 0 || x.Map.Instances < m.Instances {
				m.Instances = x.Map.Instances
			}
			m.Score = min(m.Score, tensor.Number(x.Map.Score))
			m.Confidence = lowerConfidence(m.Confidence, Confidence(x.Map))
		}
		switch {
		case lost:
			m.Kind, m.Score, m.Confidence, m.Instances = lostMap, 0, finding.Low, 0
		case partial:
			m.Kind = partialMap
		case p.varied:
			m.Kind = tokenMap
		default:
			m.Axes = p.cutAxes(ranks)
			m.Kind = joinKinds(m.Axes)
		}
		all = append(all, m)
	}
	return all
}

// cutAxes returns the axes that are cut on some rank, with the slices of each rank.
func (p *roleMaps) cutAxes(ranks []int) []MapAxis {
	all := []MapAxis{}
	for k, full := range p.full {
		a := MapAxis{Axis: k, Runs: make(map[string][][2]int)}
		var kinds []string
		by := make(map[string][]int) // ranks with the same runs
		runs := make(map[string][][2]int)
		for _, rank := range ranks {
			x := p.byRank[rank].Map.Axes[k]
			kind := string(x.Kind(int(full)))
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			list := lists.Map(x.OrIdentity(int(full)).Runs(), func(r locate.Run) [2]int { return [2]int{r.From, r.N} })
			key := fmt.Sprint(list)
			by[key], runs[key] = append(by[key], rank), list
		}
		if len(kinds) == 1 && kinds[0] == string(locate.Whole) {
			continue
		}
		slices.Sort(kinds)
		a.Kind = strings.Join(kinds, "/")
		for key, some := range by {
			if len(runs[key]) <= maxRuns {
				a.Runs[trace.Ranges(some)] = runs[key]
			}
		}
		all = append(all, a)
	}
	return all
}

// joinKinds joins the kinds of axes; WHOLE without any.
func joinKinds(axes []MapAxis) string {
	return cmp.Or(strings.Join(lists.Map(axes, func(a MapAxis) string { return a.Kind }), ","), string(locate.Whole))
}

// FoldMaps joins maps that are equal in several steps, and sorts them by role, tensor and steps.
func FoldMaps(all []*Map) []*Map {
	out := []*Map{}
	for _, same := range trace.GroupBy(slices.Values(all), func(m *Map) (string, bool) {
		alone := *m
		alone.Steps = nil
		text, err := json.Marshal(&alone) // has no numbers that JSON cannot represent
		return string(text), err == nil
	}) {
		one := *same[0]
		one.Steps = nil
		for _, m := range same {
			one.Steps = append(one.Steps, m.Steps...)
		}
		one.Steps = mergeRanges(one.Steps)
		out = append(out, &one)
	}
	slices.SortStableFunc(out, func(a, b *Map) int {
		return cmp.Or(strings.Compare(a.Role, b.Role), strings.Compare(a.Tensor, b.Tensor), slices.CompareFunc(a.Steps, b.Steps, func(x, y [2]int) int { return cmp.Compare(x[0], y[0]) }))
	})
	return out
}

// mergeRanges merges ranges of numbers that touch or overlap.
func mergeRanges(ranges [][2]int) [][2]int {
	slices.SortFunc(ranges, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	out := [][2]int{}
	for _, r := range ranges {
		if n := len(out) - 1; n >= 0 && r[0] <= out[n][1]+1 {
			out[n][1] = max(out[n][1], r[1])
			continue
		}
		out = append(out, r)
	}
	return out
}

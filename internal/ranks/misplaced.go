package ranks

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
	"dumptool/internal/unshard"
)

// FindMisplaced finds ranks with data or experts of the reference that they should not have; steps has what the ranks of
// each step were given. Where the reference has the data of a call, it also decides whether the data is stale.
func (r *Run) FindMisplaced(steps []*unshard.RankContents) []*Finding {
	var refuted, found []*Finding
	known := make(map[string]bool) // experts of earlier steps
	for _, g := range steps {
		for _, in := range g.Inputs {
			if in.Axes != nil {
				f := newFinding(in.Tensor.Call, StaleInput, high, lang.Sentence{})
				f.refuted = true
				refuted = append(refuted, f)
			}
		}
		found = append(append(found, staleInputs(g)...), wrongParts(g, steps)...)
		for _, f := range r.wrongExperts(g) {
			if key := strconv.Itoa(f.Rank) + " " + f.call.Name; !known[key] {
				known[key] = true
				found = append(found, f)
			}
		}
	}
	return append(refuted, found...)
}

// staleInputs finds ranks that read data of another step of the reference.
func staleInputs(g *unshard.RankContents) (found []*Finding) {
	named := make(map[int]bool)
	for _, in := range g.Inputs {
		if rank := in.Tensor.Call.Rank; in.Stale != "" && !named[rank] {
			named[rank] = true
			found = append(found, newFinding(in.Tensor.Call, StaleInput, high, lang.Say("the reference has its data in step %s", in.Stale)))
		}
	}
	return found
}

// wrongParts finds ranks that have data of another rank in place of their own part. Of several suspects it names the
// ranks whose part occurs on the fewest other ranks and steps.
func wrongParts(g *unshard.RankContents, steps []*unshard.RankContents) (found []*Finding) {
	for _, suspects := range trace.GroupBy(slices.Values(g.Inputs), func(in *unshard.Input) (string, bool) { return in.Key(), in.Surplus }) {
		least := -1
		var named []*unshard.Input
		for _, in := range suspects {
			switch n := countAlongAxis(in, steps); {
			case least < 0 || n < least:
				least, named = n, []*unshard.Input{in}
			case n == least:
				named = append(named, in)
			}
		}
		found = append(found, wrongPart(named))
	}
	return found
}

// wrongPart returns the finding that one of several inputs is wrong. Inputs with the same positions have one source and
// are wrong together.
func wrongPart(named []*unshard.Input) *Finding {
	first := named[0]
	f := newFinding(first.Tensor.Call, WrongPart, high, lang.Say("it has positions of the reference that another rank also has, while some positions are on no rank: %s", positionsText(first)))
	f.Members = nil
	for _, in := range named {
		f.Members = append(f.Members, in.Tensor.Call.Rank)
		if !slices.Equal(in.Axes, first.Axes) {
			f.Alt, f.Confidence = append(f.Alt, in.Tensor.Call.Rank), low
		}
	}
	return f
}

// shownRuns limits the runs of an axis in a text.
const shownRuns = 8

// positionsText lists the positions of an input along the axes that it has only in part.
func positionsText(in *unshard.Input) string {
	var axes []string
	for k, x := range in.Axes {
		if runs := strings.SplitAfterN(x, ", ", shownRuns+1); x != "" {
			if len(runs) > shownRuns {
				runs[shownRuns] = "..."
			}
			axes = append(axes, strings.Join(runs, "")+" of axis "+strconv.Itoa(k))
		}
	}
	return strings.Join(axes, "; ")
}

// countAlongAxis counts the inputs of other ranks and steps with the same positions along an axis, and returns the
// smallest count of all axes. Inputs of the same step with the same positions along all axes are suspects too, and do
// not count.
func countAlongAxis(in *unshard.Input, steps []*unshard.RankContents) int {
	least := -1
	for k, x := range in.Axes {
		if x == "" {
			continue
		}
		n := 0
		for _, g := range steps {
			for _, other := range g.Inputs {
				isSuspect := other.Tensor.Call.Step == in.Tensor.Call.Step && slices.Equal(other.Axes, in.Axes)
				if !isSuspect && other.Stale == "" && other.Tensor.Call.Name == in.Tensor.Call.Name && other.Tensor.Path == in.Tensor.Path && k < len(other.Axes) && other.Axes[k] == x {
					n++
				}
			}
		}
		if least < 0 || n < least {
			least = n
		}
	}
	return max(0, least)
}

// wrongExperts finds ranks that hold the experts of other ranks. If the dump lacks ranks nothing is found: the
// lacking ranks may hold the missing experts.
func (r *Run) wrongExperts(g *unshard.RankContents) (found []*Finding) {
	if len(g.Experts) == 0 {
		return nil
	}
	if p := r.programOf(g.Experts[0].Call.Step); !slices.Equal(p.ranks, p.world) {
		return nil
	}
	layers := make(map[string]map[int][]*unshard.Expert) // by layer and rank
	for _, x := range g.Experts {
		if layers[x.Layer] == nil {
			layers[x.Layer] = make(map[int][]*unshard.Expert)
		}
		layers[x.Layer][x.Call.Rank] = append(layers[x.Layer][x.Call.Rank], x)
	}
	for _, layer := range slices.Sorted(maps.Keys(layers)) {
		p := &placement{ranks: slices.Sorted(maps.Keys(layers[layer])), held: layers[layer]}
		if p.isUneven() {
			if f := p.finding(layers, layer); f != nil {
				found = append(found, f)
			}
		}
	}
	return found
}

// placement says which ranks hold which experts of a layer.
type placement struct {
	ranks  []int
	held   map[int][]*unshard.Expert
	local  int         // experts per rank
	all    int         // experts of the layer
	counts map[int]int // number of ranks that hold an expert
}

// isUneven reports whether some experts are held more often than others; false if unknown, since an expert is not in
// the reference or ranks hold different numbers of experts.
func (p *placement) isUneven() bool {
	first := p.held[p.ranks[0]]
	p.local, p.all, p.counts = len(first), first[0].Count, make(map[int]int)
	for _, rank := range p.ranks {
		if len(p.held[rank]) != p.local {
			return false
		}
		for _, x := range p.held[rank] {
			if x.Number < 0 {
				return false
			}
			p.counts[x.Number]++
		}
	}
	if p.all == 0 || len(p.ranks)*p.local%p.all != 0 {
		return false
	}
	for e := range p.all {
		if p.counts[e] != p.replicas() {
			return true
		}
	}
	return false
}

// replicas returns the number of ranks that should hold each expert.
func (p *placement) replicas() int { return len(p.ranks) * p.local / p.all }

// expertNumbers returns the numbers of experts in the reference, ascending.
func expertNumbers(held []*unshard.Expert) []int {
	all := make([]int, len(held))
	for i, x := range held {
		all[i] = x.Number
	}
	slices.Sort(all)
	return all
}

// finding names a rank with experts that too many ranks hold: the rank that has other experts in other layers, else a
// rank whose experts do not fit its position among the ranks.
func (p *placement) finding(layers map[string]map[int][]*unshard.Expert, layer string) *Finding {
	type suspect struct {
		rank, support int
		inPlace       bool
	}
	var all []suspect
	for i, rank := range p.ranks {
		mine := expertNumbers(p.held[rank])
		if !slices.ContainsFunc(mine, func(e int) bool { return p.counts[e] > p.replicas() }) {
			continue
		}
		s := suspect{rank: rank, inPlace: mine[0] == i*p.local%p.all}
		for other, held := range layers {
			if other != layer && len(held[rank]) > 0 && slices.Equal(expertNumbers(held[rank]), mine) {
				s.support++
			}
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b suspect) int {
		place := map[bool]int{true: 1}
		return cmp.Or(cmp.Compare(a.support, b.support), cmp.Compare(place[a.inPlace], place[b.inPlace]))
	})
	f := newFinding(p.held[all[0].rank][0].Call, WrongExpert, medium, lang.Sentence{})
	f.Members = p.ranks
	for _, s := range all[1:] {
		switch {
		case s.support > all[0].support:
			f.Confidence = high
		case s.inPlace == all[0].inPlace:
			f.Alt, f.Confidence = append(f.Alt, s.rank), low
		}
	}
	mine := expertNumbers(p.held[f.Rank])
	f.Facts = finding.Facts{}.List("experts", mine)
	f.Evidence = lang.Say("it holds experts %s of the reference, of which there are %d copies, while other experts have fewer copies",
		strings.ReplaceAll(groupKey(mine), " ", ", "), p.counts[mine[0]])
	return f
}

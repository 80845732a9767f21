package unshard

import (
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/trace"
	"dumptool/internal/unshard/locate"
)

// RankContents lists the data and the experts of the reference that the ranks of a step have.
type RankContents struct {
	// Inputs are integers that no call of the rank computed, at the call that first reads them.
	Inputs  []*Input
	Experts []*Expert
}

// Input is a tensor of integers from outside the network, such as tokens.
type Input struct {
	Tensor *trace.Tensor
	// Axes are the positions in the reference along each axis, such as "0-7, 24-31", empty for a whole axis. Nil if
	// the reference does not have these integers.
	Axes []string
	// Stale is the other step of the reference that has the integers, empty for the same step.
	Stale string
	// Surplus marks an input that the ranks hold too often: the ranks hold some integers more often than the
	// reference and others less often, and removing this input reduces the difference most.
	Surplus bool

	whole  *trace.Tensor // in the reference
	values []float32
}

// Key identifies the call and tensor that reads the integers, equal on all ranks.
func (in *Input) Key() string { return in.Tensor.Call.Name + " " + in.Tensor.Place() }

// Expert is an expert of a rank.
type Expert struct {
	Call *trace.Call
	// Layer is the name in the reference up to the number of the expert.
	Layer string
	// Number is the number of the expert in the reference, -1 if no expert there has such weights. Count is the
	// number of experts of the layer.
	Number, Count int
}

// collectGiven collects the inputs and the experts of a rank.
func (u *unsharder) collectGiven(calls []*trace.Call) {
	seen, held := make(map[string]bool), make(map[string]bool)
	for _, c := range calls {
		if c.Comm != nil {
			continue
		}
		for _, t := range c.In {
			if !t.IsInteger() {
				continue
			}
			if mark := u.Mark(t); mark != "" && !seen[mark] {
				seen[mark] = true
				u.addInput(t)
			}
		}
		for _, t := range c.Out {
			if t.IsInteger() {
				seen[u.Mark(t)] = true
			}
		}
		if key := trace.CutAtExpert(c.Name) + " " + strconv.Itoa(c.Expert()); c.Expert() >= 0 && len(c.Params) > 0 && !held[key] {
			held[key] = true
			u.addExpert(c)
		}
	}
}

// addInput adds an input and searches for it in the reference: in the same step first, then in the other steps.
func (u *unsharder) addInput(t *trace.Tensor) {
	whole := u.refOf(t)
	if whole == nil {
		return
	}
	in := &Input{Tensor: t, whole: whole}
	u.out.Given.Inputs = append(u.out.Given.Inputs, in)
	if m := u.out.At[t].Map; u.isFoundIn(in, whole, m) {
		return
	}
	for _, s := range u.otherSteps() {
		for c := range s.AllCalls() {
			for _, other := range c.In {
				if c.Name == whole.Call.Name && other.Path == whole.Path && u.isFoundIn(in, other, nil) {
					in.Stale = s.At.Step
					return
				}
			}
		}
	}
}

// isFoundIn reports whether a tensor of the reference contains the integers, and sets their positions.
func (u *unsharder) isFoundIn(in *Input, whole *trace.Tensor, role *locate.Role) bool {
	p, ok := u.readPair(partPair{in.Tensor, whole})
	if !ok {
		return false
	}
	isPart := func(m *locate.Map) bool { return slices.Equal(m.Part(p.Whole).Values, p.Part.Values) }
	var m locate.Map
	if role != nil && isPart(&role.Map) {
		m = role.Map
	} else if m, ok = u.learner.Find(p); !ok || !isPart(&m) {
		return false
	}
	in.Axes, in.values = make([]string, len(m.Axes)), p.Part.Values
	for k, x := range m.Axes {
		in.Axes[k] = x.String()
	}
	return true
}

// otherSteps opens and returns the other steps of the reference.
func (u *unsharder) otherSteps() []*trace.Step {
	u.opening.Lock()
	defer u.opening.Unlock()
	for ; len(u.others) > 0; u.others = u.others[1:] {
		s := OpenReference(u.others[0])
		u.DescribeAll([]*trace.Step{s})
		s = u.joinRanks(s)
		for _, c := range s.Calls[0] {
			for _, t := range c.Tensors() {
				joinLike(t, u.refs[c.Name+" "+t.Place()])
			}
		}
		u.opened = append(u.opened, s)
	}
	return u.opened
}

// addExpert adds an expert of the rank, with its number in the reference.
func (u *unsharder) addExpert(c *trace.Call) {
	h := &Expert{Call: c, Number: -1, Layer: trace.CutAtExpert(trace.WithLayer(c.Name, c.Layer+u.shift))}
	if name := u.nameOf(c); name != "" {
		_, _, h.Number = trace.ParseName(name)
	}
	for u.refs[trace.WithExpert(h.Layer+strings.TrimPrefix(c.Name, trace.CutAtExpert(c.Name)), h.Count)+" "+c.Params[0].Place()] != nil {
		h.Count++
	}
	u.out.Given.Experts = append(u.out.Given.Experts, h)
}

// findSurplus sets Input.Surplus. If the ranks hold some integers more often than the reference and others less
// often, it marks the inputs whose removal reduces the excess most. Equal parts count once. Integers are compared
// instead of positions, since several positions may hold the same integer.
func (u *unsharder) findSurplus() {
	g := &u.out.Given
	for _, all := range trace.GroupBy(slices.Values(g.Inputs), func(in *Input) (string, bool) { return in.Key(), in.Axes != nil && in.Stale == "" }) {
		p, ok := u.readPair(partPair{all[0].Tensor, all[0].whole})
		if !ok {
			continue
		}
		left := make(integerBalance)
		left.add(p.Whole.Values, 1)
		tiles := make(map[string][]*Input)
		for _, in := range all {
			tile := strings.Join(in.Axes, "/")
			if tiles[tile] == nil {
				left.add(in.values, -1)
			}
			tiles[tile] = append(tiles[tile], in)
		}
		over, under := left.balance()
		if over == 0 || under == 0 {
			continue
		}
		without, least := make(map[string]int), over
		for tile, holders := range tiles {
			left.add(holders[0].values, 1)
			without[tile], _ = left.balance()
			left.add(holders[0].values, -1)
			least = min(least, without[tile])
		}
		for tile, holders := range tiles {
			for _, in := range holders {
				in.Surplus = without[tile] == least && least < over
			}
		}
	}
	for _, in := range g.Inputs {
		in.values, in.whole = nil, nil
	}
}

// integerBalance counts, for each integer, how often the reference has it minus how often the ranks have it.
type integerBalance map[float32]int

func (s integerBalance) add(values []float32, by int) {
	for _, v := range values {
		s[v] += by
	}
}

// balance counts the integers that ranks hold too often, and the integers that ranks hold too rarely.
func (s integerBalance) balance() (over, under int) {
	for _, n := range s {
		over, under = over+max(0, -n), under+max(0, n)
	}
	return over, under
}

package dumpdir

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
)

// Flow says who feeds whom in a round.
type Flow struct {
	// Graph is nil where nobody knows.
	Graph *graph.Graph `json:"-"`
	// Source describes it in a line.
	Source lang.Sentence `json:"source"`
	// Known is how many of Of operators the graph has.
	Known int `json:"known"`
	Of    int `json:"of"`
	// Rejected are the graphs that were given and are not used, each with the
	// reason.
	Rejected []lang.Sentence `json:"rejected,omitempty"`
}

// Flow returns the best of the graphs that has at least half of the operators.
func (s *Sources) Flow(items []Item) Flow {
	f := Flow{Of: operators(items)}
	for _, g := range []*graph.Graph{s.Consumers, s.Fusion, s.ir, s.dumpFlow} {
		if g == nil {
			continue
		}
		known, ops := 0, len(g.Ops)
		for i := range items {
			if !items[i].Passive && g.Find(items[i].Names...) != nil {
				known++
			}
		}
		switch {
		case 2*known < f.Of && (g == s.dumpFlow || g == s.ir): // nobody gave it
		case known == 0:
			f.Rejected = append(f.Rejected, lang.Sayf("%s: 0 of its %d operators occur in this run: it is not used", "%s：其 %d 个算子均未出现在本次运行中，不使用", sourceName(g.Source), ops))
		case 2*known < f.Of:
			f.Rejected = append(f.Rejected, lang.Sayf("%s has %d of %d operators of this run: it is not used for the data flow", "%s 只有本次运行 %[3]d 个算子中的 %[2]d 个，不用于数据流", sourceName(g.Source), known, f.Of))
		default:
			f.Graph, f.Known = g, known
			f.Source = lang.Sayf("%s, %d of %d operators known", "%s，已知 %d/%d 个算子", sourceName(g.Source), known, f.Of)
			return f
		}
	}
	return f
}

// attachOrders gives a round the orders in the run that are for it: of several of
// one kind that which knows most of its operators.
func (r *reader) attachOrders(round *Round) {
	best := make(map[OrderBy]int)
	var items []Item
	for i := range r.orders {
		o := &r.orders[i]
		if !slices.ContainsFunc(round.folders, o.fits) {
			continue
		}
		if items == nil {
			items = round.items()
		}
		known := byExecution(o.order, items).known
		if n, ok := best[o.by]; ok && n >= known {
			continue
		}
		best[o.by] = known
		switch o.by {
		case ByDumpJSON:
			round.side.dumpJSON = o.order
		case ByRuntime:
			round.side.Runtime = o.order
		case ByExecution:
			round.side.Execution = o.order
		case ByStatistics:
			round.side.statistics = o.order
		}
	}
}

// Arrange orders the operators of all rounds by the sources that are given and
// those in the run, and finds out who feeds whom.
func (r *Run) Arrange(given Sources) error {
	r.sources = given
	for _, round := range r.Rounds {
		if err := round.arrange(&given); err != nil {
			return err
		}
	}
	return nil
}

func (r *Round) arrange(given *Sources) error {
	sources := given.or(&r.side)
	r.sources = sources
	items := r.items()
	order, places, err := sources.Rank(items)
	if err != nil {
		return lang.Errorf("%s: %w", cmp.Or(r.At.String(), "the run"), err)
	}
	r.Order, r.Flow = order, sources.Flow(items)
	for i, op := range r.Ops {
		op.Place = places[i]
	}
	slices.SortFunc(r.Ops, func(a, b *Op) int {
		if a.Place != b.Place {
			return cmp.Compare(a.Place, b.Place)
		}
		return cmp.Or(lang.CompareNatural(a.Name, b.Name), strings.Compare(a.Type, b.Type), cmp.Compare(a.Execution, b.Execution))
	})
	return nil
}

// InGraphs is what the graph of the compiler and those of MindSpore say of an operator, nil
// for one that they do not know.
func (r *Round) InGraphs(op *Op) (known []*graph.Op) {
	for _, g := range []*graph.Graph{r.sources.Fusion, r.sources.ir} {
		if g == nil {
			continue
		}
		if at := g.Find(op.Names()...); at != nil {
			known = append(known, at)
		}
	}
	return known
}

// ByName are the operators of the round by their names as files have them.
func (r *Round) ByName() map[string][]*Op {
	all := map[string][]*Op{}
	for _, op := range r.Ops {
		name := filename.Normalise(op.Name)
		all[name] = append(all[name], op)
	}
	return all
}

// LastBefore is the last of several executions of an operator that is not after this one by
// its time; nil where there are none, or several without times.
func (o *Op) LastBefore(executions []*Op) (last *Op) {
	for _, op := range executions {
		if len(executions) > 1 && !(op.IsTimed() && o.IsTimed()) {
			return nil
		}
		after := op.IsTimed() && o.IsTimed() && (op.Timestamp > o.Timestamp || op.seq > o.seq)
		if !after && (last == nil || op.Timestamp > last.Timestamp || op.seq > last.seq) {
			last = op
		}
	}
	return last
}

// parameterType is the type of MindSpore's parameters and constants.
const parameterType = "Parameter"

// items are the operators of a round as they are ordered.
func (r *Round) items() []Item {
	items := make([]Item, len(r.Ops))
	for i, op := range r.Ops {
		items[i] = op.Item()
	}
	return items
}

// Item is the operator as it is ordered.
func (o *Op) Item() Item {
	return Item{Names: o.Names(), Timestamp: o.Timestamp, Task: o.Task, HasTask: o.HasTask, IDs: o.ids, Seq: o.seq, Passive: o.Type == parameterType}
}

// IsTimed reports whether the operator has a place in the run by a clock of its own:
// a timestamp, or the number of its execution.
func (o *Op) IsTimed() bool { return o.Timestamp > 0 || o.seq > 0 }

// Script is the line of the user's script that the operator comes from, as FILE:LINE;
// empty when unknown.
func (o *Op) Script() string {
	if o.Call == nil {
		return ""
	}
	return o.Call.Script
}

// Names are the names that the operator goes by, the best first.
func (o *Op) Names() []string {
	if o.Header == "" || o.Header == o.Name {
		return []string{o.Name}
	}
	return []string{o.Header, o.Name}
}

// Sources order what both rounds hold: those of the NPU's, and of the reference's
// where the NPU's has none.
func (p *RoundPair) Sources() Sources { return p.NPU.sources.or(&p.Ref.sources) }

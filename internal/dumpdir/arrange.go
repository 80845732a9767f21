package dumpdir

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

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
		return fmt.Errorf("%s: %w", cmp.Or(r.At.String(), "the run"), err)
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

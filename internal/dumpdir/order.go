package dumpdir

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
)

// OrderSource names a source of the execution order, as --order does.
type OrderSource string

// The sources.
const (
	// Auto is the first source that exists and has at least half of the operators.
	Auto         OrderSource = ""
	ByDumpJSON   OrderSource = "dump.json"
	ByRuntime    OrderSource = "runtime"
	ByExecution  OrderSource = "execution"
	ByIR         OrderSource = "ir"
	ByFusion     OrderSource = "fusion"
	ByConsumers  OrderSource = "consumers"
	ByStatistics OrderSource = "statistics"
	BySequence   OrderSource = "sequence"
	ByTimestamp  OrderSource = "timestamp"
	ByID         OrderSource = "id"
	ByNumber     OrderSource = "number"
	ByName       OrderSource = "name"
)

// Sources are sources of the execution order and of the data flow; nil for missing ones.
type Sources struct {
	// By selects a source; Auto selects the best one.
	By OrderSource
	// Runtime and Execution are order files. Files from the user replace files in the run.
	Runtime, Execution *sidefile.Order
	// Fusion is the graph of the compiler, Consumers a map of consumers.
	Fusion, Consumers *graph.Graph

	// dumpJSON and statistics are the orders in dump.json and in statistic.csv.
	dumpJSON, statistics *sidefile.Order
	// ir is the graph that MindSpore saved in the run, dumpFlow the data flow found by equal
	// tensors in dump.json.
	ir, dumpFlow *graph.Graph
}

// orElse returns s with its missing sources from t. By is not changed.
func (s Sources) orElse(t *Sources) Sources {
	s.Runtime, s.Execution = cmp.Or(s.Runtime, t.Runtime), cmp.Or(s.Execution, t.Execution)
	s.dumpJSON, s.statistics = cmp.Or(s.dumpJSON, t.dumpJSON), cmp.Or(s.statistics, t.statistics)
	s.Fusion, s.Consumers = cmp.Or(s.Fusion, t.Fusion), cmp.Or(s.Consumers, t.Consumers)
	s.ir, s.dumpFlow = cmp.Or(s.ir, t.ir), cmp.Or(s.dumpFlow, t.dumpFlow)
	return s
}

// Order describes the source of an execution order.
type Order struct {
	// By is the source: ByName if the order is unknown, never Auto.
	By OrderSource `json:"-"`
	// Name is the name of the source.
	Name string `json:"-"`
	// SourceCoverage lists rejected graphs with the data flow.
	SourceCoverage
}

// SourceCoverage says which source of an order or a data flow is used, and how many operators it has.
type SourceCoverage struct {
	// Source describes the source and the number of operators in it.
	Source lang.Sentence `json:"source"`
	// Known is the number of operators in the source, Of the number of all.
	Known int `json:"known"`
	Of    int `json:"of"`
	// Rejected are the sources that are not used, with the reasons.
	Rejected []lang.Sentence `json:"rejected,omitempty"`
}

// IsKnown reports whether the order is the execution order.
func (o *Order) IsKnown() bool { return o.By != ByName }

// Item is an operator to order, or several with all their names.
type Item struct {
	// Names are the names of the operator, the best first.
	Names []string
	Moment
	// Passive is set for a parameter or constant, which may be missing in a source.
	Passive bool
}

// ranking is an order of items: places[i] is the place of item i, known the number of items in the
// source.
type ranking struct {
	source string // its name
	places []int
	known  int
	// weak is the reason to use the source only on request; empty for none.
	weak lang.Sentence
}

// orderSource is a source of the execution order.
type orderSource struct {
	by OrderSource
	// rank orders items. It returns nil if the source is missing.
	rank func(s *Sources, items []Item) *ranking
	// absent is the error of a missing source that the user asked for.
	absent string
}

// orderSources are tried in this order.
var orderSources = [...]orderSource{
	{ByDumpJSON, func(s *Sources, items []Item) *ranking { return rankByList(s.dumpJSON, items) }, "the run has no dump.json"},
	{ByRuntime, func(s *Sources, items []Item) *ranking { return rankByList(s.Runtime, items) }, "there is no file with it"},
	{ByExecution, func(s *Sources, items []Item) *ranking { return rankByExecution(s.Execution, items) }, "there is no file with it"},
	{ByIR, func(s *Sources, items []Item) *ranking { return rankByGraph(s.ir, items) }, "the run has no graph of MindSpore"},
	{ByFusion, func(s *Sources, items []Item) *ranking { return rankByGraph(s.Fusion, items) }, "there is no file with it"},
	{ByConsumers, func(s *Sources, items []Item) *ranking { return rankByGraph(s.Consumers, items) }, "there is no file with it"},
	{ByStatistics, func(s *Sources, items []Item) *ranking { return rankByList(s.statistics, items) }, "the run has no statistic.csv of ATB"},
	{BySequence, rankBySequence, "no dump has a sequence number"},
	{ByTimestamp, rankByTimestamp, "no operator has a timestamp"},
	{ByID, rankByID, "no operator has an id"},
	{ByNumber, rankByNumber, "no name begins with a number"},
}

// sourceKinds are names of sources, or their beginnings.
var sourceKinds = []lang.Text{
	{EN: "sequence numbers of the dumps"}, {EN: "timestamps of the dumps"},
	{EN: "ids of the operators"}, {EN: "task ids"}, {EN: "numbers in the names"},
	{EN: "execution order "}, {EN: "fusion graph "}, {EN: "graph "},
	{EN: equalTensorsSource},
}

// SourceName is the name of a source in both languages.
func SourceName(name string) lang.Text {
	for _, kind := range sourceKinds {
		if rest, ok := strings.CutPrefix(name, kind.String()); ok {
			return lang.Text{EN: name, ZH: kind.Chinese() + rest}
		}
	}
	return lang.Text{EN: name, ZH: name}
}

const byNames = "natural order of names"

// Rank gives every item its place in the execution order, from 0. Items that run at the same time
// share a place. Items unknown to the source come last, in natural order of their names. It is an
// error if a source in By is missing, is no source, or covers none of the items.
func (s *Sources) Rank(items []Item) (Order, []int, error) {
	if s.By != Auto && s.By != ByName {
		return s.orderBySource(items)
	}
	o := Order{ByName, byNames, SourceCoverage{Source: lang.Say(byNames), Of: countOperators(items)}}
	if s.By == Auto {
		for _, source := range orderSources {
			r := source.rank(s, items)
			switch {
			case r == nil:
				continue
			case !r.weak.IsZero():
				o.Rejected = append(o.Rejected, r.weak)
			case r.known == 0 && o.Of == 0:
			case 2*r.known < o.Of && (source.by == ByFusion || source.by == ByConsumers || source.by == ByIR): // Flow reports this rejection
			case 2*r.known < o.Of:
				o.Rejected = append(o.Rejected, lang.Say("%s covers only %d of %d operators and is not used", r.source, r.known, o.Of))
			default:
				o.setSource(source.by, r)
				return o, r.places, nil
			}
		}
		o.Source = lang.Say(byNames + ", the execution order is not known")
	}
	return o, placesByKey(items, func(*Item) (int, bool) { return 0, false }, cmp.Compare), nil
}

// orderBySource orders items by the source in By, even if the source has few of them.
func (s *Sources) orderBySource(items []Item) (Order, []int, error) {
	var names []string
	for _, source := range orderSources {
		names = append(names, string(source.by))
		if source.by != s.By {
			continue
		}
		r := source.rank(s, items)
		if r == nil {
			return Order{}, nil, lang.Errorf("order %q was requested, but %s", s.By, source.absent)
		}
		o := Order{SourceCoverage: SourceCoverage{Of: countOperators(items)}}
		if r.known == 0 && o.Of > 0 {
			return Order{}, nil, lang.Errorf("%s covers none of the %d operators", r.source, o.Of)
		}
		o.setSource(s.By, r)
		return o, r.places, nil
	}
	return Order{}, nil, lang.Errorf("order %q, want %s or %s", s.By, strings.Join(names, ", "), ByName)
}

func (o *Order) setSource(by OrderSource, r *ranking) {
	o.By, o.Name, o.Known = by, r.source, r.known
	name := lang.Text{EN: r.source, ZH: SourceName(r.source).Chinese()}
	o.Source = lang.Say("%s, %d of %d operators known", name, r.known, o.Of)
}

// countOperators counts the items that are operators.
func countOperators(items []Item) int {
	n := 0
	for i := range items {
		if !items[i].Passive {
			n++
		}
	}
	return n
}

// rankByKey ranks items by a key. Items without a key come last.
func rankByKey[K any](source string, items []Item, key func(*Item) (K, bool), compare func(K, K) int) *ranking {
	r := &ranking{source: source}
	r.places = placesByKey(items, func(item *Item) (K, bool) {
		k, ok := key(item)
		if ok && !item.Passive {
			r.known++
		}
		return k, ok
	}, compare)
	return r
}

// rankByList ranks items by a list of names.
func rankByList(list *sidefile.Order, items []Item) *ranking {
	if list == nil {
		return nil
	}
	return rankByKey(list.Source, items, func(item *Item) (int, bool) { return list.Find(item.Names...) }, cmp.Compare)
}

// rankByExecution ranks items by MindSpore's execution order. In file names of synchronous dumps some
// versions write only the last segment of the operator's name.
func rankByExecution(list *sidefile.Order, items []Item) *ranking {
	if list == nil {
		return nil
	}
	last := lastSegments(list.Names)
	return rankByKey(list.Source, items, func(item *Item) (int, bool) {
		if i, ok := list.Find(item.Names...); ok {
			return i, true
		}
		for _, name := range item.Names {
			if i, ok := last[name]; ok && i >= 0 {
				return i, true
			}
		}
		return 0, false
	}, cmp.Compare)
}

// lastSegments has the positions of names by their last segments, -1 for a segment of several
// names.
func lastSegments(names []string) map[string]int {
	last := make(map[string]int, len(names))
	for i, name := range names {
		segment := name[strings.LastIndexByte(name, '/')+1:]
		if _, seen := last[segment]; seen {
			i = -1
		}
		last[segment] = i
	}
	return last
}

// rankByGraph ranks items topologically.
func rankByGraph(g *graph.Graph, items []Item) *ranking {
	if g == nil {
		return nil
	}
	return rankByKey(g.Source+", topological", items, func(item *Item) (int, bool) { return g.TopologicalIndex(item.Names...) }, cmp.Compare)
}

// rankBySequence ranks items by the numbers of their executions.
func rankBySequence(_ *Sources, items []Item) *ranking {
	if !slices.ContainsFunc(items, func(item Item) bool { return item.Seq > 0 }) {
		return nil
	}
	return rankByKey("sequence numbers of the dumps", items, func(item *Item) (int64, bool) { return item.Seq, item.Seq > 0 }, cmp.Compare)
}

// rankByTimestamp ranks items by the time of their dumps.
func rankByTimestamp(_ *Sources, items []Item) *ranking {
	var first uint64
	differ := false
	for i := range items {
		if at := items[i].Timestamp; at > 0 {
			differ = differ || first > 0 && at != first
			first = at
		}
	}
	if first == 0 {
		return nil
	}
	r := rankByKey("timestamps of the dumps", items, func(item *Item) (uint64, bool) { return item.Timestamp, item.Timestamp > 0 }, cmp.Compare)
	switch all := countOperators(items); {
	case r.known < all:
		r.weak = lang.Say("only %d of %d operators have a timestamp", r.known, all)
	case !differ && all > 1:
		r.weak = lang.Say("all timestamps are equal")
	}
	return r
}

// noTask is MindSpore's task id for an unknown one.
const noTask = 65535

// rankByID ranks items by the ids of ATB's operators, or by task ids.
func rankByID(_ *Sources, items []Item) *ranking {
	withIDs, tasks := false, make(map[uint64]bool)
	for i := range items {
		withIDs = withIDs || items[i].IDs != nil
		if items[i].HasTask && items[i].Task != noTask {
			tasks[items[i].Task] = true
		}
	}
	if withIDs {
		return rankByKey("ids of the operators", items, func(item *Item) ([]uint64, bool) { return item.IDs, item.IDs != nil }, slices.Compare)
	}
	if len(tasks) == 0 {
		return nil
	}
	r := rankByKey("task ids", items, func(item *Item) (uint64, bool) { return item.Task, item.HasTask && item.Task != noTask }, cmp.Compare)
	if len(tasks) == 1 && countOperators(items) > 1 {
		r.weak = lang.Say("all task ids are equal")
	}
	return r
}

// rankByNumber ranks items by the numbers that their names begin with, such as
// 000_conv1, if all names have one and all differ.
func rankByNumber(_ *Sources, items []Item) *ranking {
	numbers := make(map[uint64]bool, len(items))
	for i := range items {
		n, ok := leadingNumber(&items[i])
		if !ok || numbers[n] {
			return nil
		}
		numbers[n] = true
	}
	if len(items) == 0 {
		return nil
	}
	return rankByKey("numbers in the names", items, leadingNumber, cmp.Compare)
}

// leadingNumber returns the number before the first _ - or . of an operator's
// name.
func leadingNumber(item *Item) (uint64, bool) {
	if len(item.Names) == 0 {
		return 0, false
	}
	name := item.Names[0]
	end := strings.IndexAny(name, "_-.")
	if end <= 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(name[:end], 10, 64)
	return n, err == nil && name[0] != '+'
}

// placesByKey returns the places of items ordered by key. Items without a key come last, by name.
// It calls key once for every item.
func placesByKey[K any](items []Item, key func(*Item) (K, bool), compareKeys func(K, K) int) []int {
	type keyed struct {
		index int
		key   K
		known bool
		name  string
	}
	all := make([]keyed, len(items))
	for i := range items {
		k, ok := key(&items[i])
		all[i] = keyed{index: i, key: k, known: ok}
		if !ok && len(items[i].Names) > 0 {
			all[i].name = items[i].Names[0]
		}
	}
	compare := func(a, b keyed) int {
		switch {
		case a.known && b.known:
			return compareKeys(a.key, b.key)
		case a.known:
			return -1
		case b.known:
			return 1
		}
		return lang.CompareNatural(a.name, b.name)
	}
	slices.SortFunc(all, compare) // items that compare equal share a place
	places := make([]int, len(items))
	place := 0
	for i, k := range all {
		if i > 0 && compare(all[i-1], k) != 0 {
			place++
		}
		places[k.index] = place
	}
	return places
}

// Flow is the data flow of a round.
type Flow struct {
	// Graph is nil if the data flow is unknown.
	Graph *graph.Graph `json:"-"`
	SourceCoverage
}

// Flow returns the data flow of the first graph that has at least half of the operators.
func (s *Sources) Flow(items []Item) Flow {
	f := Flow{SourceCoverage: SourceCoverage{Of: countOperators(items)}}
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
		case 2*known < f.Of && (g == s.dumpFlow || g == s.ir): // the user did not give it
		case known == 0:
			f.Rejected = append(f.Rejected, lang.Say("%s: 0 of its %d operators occur in this run: it is not used", SourceName(g.Source), ops))
		case 2*known < f.Of:
			f.Rejected = append(f.Rejected, lang.Say("%s has %d of %d operators of this run: it is not used for the data flow", SourceName(g.Source), known, f.Of))
		default:
			f.Graph, f.Known = g, known
			f.Source = lang.Say("%s, %d of %d operators known", SourceName(g.Source), known, f.Of)
			return f
		}
	}
	return f
}

// attachOrders gives a round its orders from the run: of each kind the order that has most of its
// operators.
func (r *reader) attachOrders(round *Round) {
	best := make(map[OrderSource]int)
	var items []Item
	for i := range r.orders {
		o := &r.orders[i]
		if !slices.ContainsFunc(round.folders, o.fits) {
			continue
		}
		if items == nil {
			items = round.orderItems()
		}
		known := rankByExecution(o.order, items).known
		if n, ok := best[o.by]; ok && n >= known {
			continue
		}
		best[o.by] = known
		switch o.by {
		case ByDumpJSON:
			round.sideSources.dumpJSON = o.order
		case ByRuntime:
			round.sideSources.Runtime = o.order
		case ByExecution:
			round.sideSources.Execution = o.order
		case ByStatistics:
			round.sideSources.statistics = o.order
		}
	}
}

// SortOperators orders the operators of all rounds by the given sources and the sources in the run, and
// sets their data flows.
func (r *Run) SortOperators(given Sources) error {
	r.sources = given
	for _, round := range r.Rounds {
		if err := round.sortOperators(&given); err != nil {
			return err
		}
	}
	return nil
}

func (r *Round) sortOperators(given *Sources) error {
	sources := given.orElse(&r.sideSources)
	r.sources = sources
	items := r.orderItems()
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

// GraphNodes returns the nodes of an operator in the graph of the compiler and in the graphs of
// MindSpore; nil if no graph has it.
func (r *Round) GraphNodes(op *Op) (known []*graph.Op) {
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

// OpsByName has the operators of the round by their normalised names.
func (r *Round) OpsByName() map[string][]*Op {
	all := map[string][]*Op{}
	for _, op := range r.Ops {
		name := filename.Normalise(op.Name)
		all[name] = append(all[name], op)
	}
	return all
}

// LastBefore returns the last of the executions of another operator that is not later than o. It is
// nil if there is none, or if several have no times.
func (o *Op) LastBefore(executions []*Op) (last *Op) {
	for _, op := range executions {
		if len(executions) > 1 && !(op.IsTimed() && o.IsTimed()) {
			return nil
		}
		after := op.IsTimed() && o.IsTimed() && (op.Timestamp > o.Timestamp || op.Seq > o.Seq)
		if !after && (last == nil || op.Timestamp > last.Timestamp || op.Seq > last.Seq) {
			last = op
		}
	}
	return last
}

// parameterType is the type of MindSpore's parameters and constants.
const parameterType = "Parameter"

// orderItems are the operators of a round to order.
func (r *Round) orderItems() []Item {
	items := make([]Item, len(r.Ops))
	for i, op := range r.Ops {
		items[i] = op.Item()
	}
	return items
}

// Item is the operator as an item to order.
func (o *Op) Item() Item {
	return Item{o.Names(), o.Moment, o.Type == parameterType}
}

// IsTimed reports whether the operator has a timestamp or the number of its execution.
func (o *Op) IsTimed() bool { return o.Timestamp > 0 || o.Seq > 0 }

// Script is the line of the user's script behind the operator, as FILE:LINE; empty if unknown.
func (o *Op) Script() string {
	if o.Call == nil {
		return ""
	}
	return o.Call.Script
}

// Names are the names of the operator, the best first.
func (o *Op) Names() []string {
	if o.Header == "" || o.Header == o.Name {
		return []string{o.Name}
	}
	return []string{o.Header, o.Name}
}

// Sources are the sources of the NPU's round, with missing ones from the reference's round.
func (p *RoundPair) Sources() Sources { return p.NPU.sources.orElse(&p.Ref.sources) }

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

// OrderBy names a source of the execution order, as --order does.
type OrderBy string

// The sources.
const (
	// Auto is the first of the others that is there and knows at least half of the
	// operators.
	Auto         OrderBy = ""
	ByDumpJSON   OrderBy = "dump.json"
	ByRuntime    OrderBy = "runtime"
	ByExecution  OrderBy = "execution"
	ByIR         OrderBy = "ir"
	ByFusion     OrderBy = "fusion"
	ByConsumers  OrderBy = "consumers"
	ByStatistics OrderBy = "statistics"
	BySequence   OrderBy = "sequence"
	ByTimestamp  OrderBy = "timestamp"
	ByID         OrderBy = "id"
	ByNumber     OrderBy = "number"
	ByName       OrderBy = "name"
)

// Sources are what orders operators, and what says who feeds whom, besides the
// files of the run; nil ones are missing.
type Sources struct {
	// By is the source to use, Auto for the best one.
	By OrderBy
	// Runtime and Execution are files of which the user says what they are. They come
	// before those in the run.
	Runtime, Execution *sidefile.Order
	// Fusion is the graph of the compiler, Consumers a map of consumers.
	Fusion, Consumers *graph.Graph

	// dumpJSON and statistics are the orders of files in the run.
	dumpJSON, statistics *sidefile.Order
	// ir is what the graphs that MindSpore saved in the run say of its operators, dumpFlow
	// is who feeds whom by the digests of tensors.
	ir, dumpFlow *graph.Graph
}

// or returns s with what it lacks from t, but not By.
func (s Sources) or(t *Sources) Sources {
	s.Runtime, s.Execution = cmp.Or(s.Runtime, t.Runtime), cmp.Or(s.Execution, t.Execution)
	s.dumpJSON, s.statistics = cmp.Or(s.dumpJSON, t.dumpJSON), cmp.Or(s.statistics, t.statistics)
	s.Fusion, s.Consumers = cmp.Or(s.Fusion, t.Fusion), cmp.Or(s.Consumers, t.Consumers)
	s.ir, s.dumpFlow = cmp.Or(s.ir, t.ir), cmp.Or(s.dumpFlow, t.dumpFlow)
	return s
}

// Order says where an execution order comes from.
type Order struct {
	// By is the source, never Auto: ByName where the order is not known.
	By OrderBy `json:"-"`
	// Name is what the source is, Source that and how many operators it knows.
	Name   string        `json:"-"`
	Source lang.Sentence `json:"source"`
	// Known is how many of Of operators the source knows.
	Known int `json:"known"`
	Of    int `json:"of"`
	// Rejected are the sources that are there and were not used, each with the
	// reason; graphs are among those of Flow.
	Rejected []lang.Sentence `json:"rejected,omitempty"`
}

// IsKnown reports whether the order is that of the execution.
func (o *Order) IsKnown() bool { return o.By != ByName }

// Item is what is to be ordered: an operator, or several with all their names.
type Item struct {
	// Names are those of the operator, the best first.
	Names     []string
	Timestamp uint64 // 0 when unknown
	Task      uint64
	HasTask   bool
	// IDs are those of ATB's operator and of the ones around it, outermost first.
	IDs []uint64
	// Seq is the number that torch.utils.dumper gave the execution, from 1; 0 when
	// unknown.
	Seq int64
	// Passive is set for what is no operator, such as a parameter: sources need not
	// know it.
	Passive bool
}

// ranking gives items their places.
type ranking struct {
	source string // in a line
	places []int
	known  int
	// weak says why the source is not used unless it is asked for; empty for one
	// that is good.
	weak lang.Sentence
}

// orderSource is a source of the execution order.
type orderSource struct {
	by OrderBy
	// rank orders items. It returns nil where the source is missing.
	rank func(s *Sources, items []Item) *ranking
	// absent is the error of a source that was asked for and is missing.
	absent string
}

// orderSources are tried in this order. Those whose file lies in the run are set
// in Sources for each round.
var orderSources = [...]orderSource{
	{ByDumpJSON, func(s *Sources, items []Item) *ranking { return byList(s.dumpJSON, items) }, "the run has no dump.json"},
	{ByRuntime, func(s *Sources, items []Item) *ranking { return byList(s.Runtime, items) }, "there is no file with it"},
	{ByExecution, func(s *Sources, items []Item) *ranking { return byExecution(s.Execution, items) }, "there is no file with it"},
	{ByIR, func(s *Sources, items []Item) *ranking { return byGraph(s.ir, items) }, "the run has no graph of MindSpore"},
	{ByFusion, func(s *Sources, items []Item) *ranking { return byGraph(s.Fusion, items) }, "there is no file with it"},
	{ByConsumers, func(s *Sources, items []Item) *ranking { return byGraph(s.Consumers, items) }, "there is no file with it"},
	{ByStatistics, func(s *Sources, items []Item) *ranking { return byList(s.statistics, items) }, "the run has no statistic.csv of ATB"},
	{BySequence, bySequence, "no file of torch.utils.dumper is there"},
	{ByTimestamp, byTimestamp, "no operator has a timestamp"},
	{ByID, byID, "no operator has an id"},
	{ByNumber, byNumber, "no name begins with a number"},
}

// sourceNames are the sources that are no files, in Chinese.
var sourceNames = map[OrderBy]string{BySequence: "torch.utils.dumper 的序号", ByTimestamp: "dump 的时间戳", ByID: "算子或任务 id", ByNumber: "名称中的编号"}

// sourceKinds are what names of sources begin with.
var sourceKinds = []lang.Text{
	{EN: "execution order ", ZH: "执行顺序文件 "}, {EN: "fusion graph ", ZH: "融合图 "}, {EN: "graph ", ZH: "图 "},
	{EN: equalTensors, ZH: "dump.json 中相等的张量"},
}

// sourceName is the name of a source in both languages.
func sourceName(name string) lang.Text {
	for _, kind := range sourceKinds {
		if rest, ok := strings.CutPrefix(name, kind.EN); ok {
			return lang.Text{EN: name, ZH: kind.ZH + rest}
		}
	}
	return lang.Text{EN: name, ZH: name}
}

const byNames = "natural order of names"

// Rank gives every item its place in the execution order, from 0; items that run
// at the same time share one, and those that the source does not know come last,
// in natural order of their names. The error is for a source that was asked for
// and is missing, not known, or knows none of the items.
func (s *Sources) Rank(items []Item) (Order, []int, error) {
	if s.By != Auto && s.By != ByName {
		return s.rankBy(items)
	}
	o := Order{By: ByName, Name: byNames, Source: lang.Sayf(byNames, "名称的自然顺序"), Of: operators(items)}
	if s.By == Auto {
		for _, source := range orderSources {
			r := source.rank(s, items)
			switch {
			case r == nil:
				continue
			case !r.weak.IsZero():
				o.Rejected = append(o.Rejected, r.weak)
			case r.known == 0 && o.Of == 0:
			case 2*r.known < o.Of && (source.by == ByFusion || source.by == ByConsumers || source.by == ByIR): // Flow says it
			case 2*r.known < o.Of:
				o.Rejected = append(o.Rejected, lang.Sayf("%s knows %d of %d operators and is not used", "%s 只知道 %[3]d 个算子中的 %[2]d 个，不使用", r.source, r.known, o.Of))
			default:
				o.use(source.by, r)
				return o, r.places, nil
			}
		}
		o.Source = lang.Sayf(byNames+", the execution order is not known", "名称的自然顺序，执行顺序未知")
	}
	return o, places(items, func(*Item) (int, bool) { return 0, false }, cmp.Compare), nil
}

// rankBy orders items by the source that was asked for, however few it knows.
func (s *Sources) rankBy(items []Item) (Order, []int, error) {
	var names []string
	for _, source := range orderSources {
		names = append(names, string(source.by))
		if source.by != s.By {
			continue
		}
		r := source.rank(s, items)
		if r == nil {
			return Order{}, nil, lang.Errorf("the order %q was asked for, but %s", s.By, source.absent)
		}
		o := Order{Of: operators(items)}
		if r.known == 0 && o.Of > 0 {
			return Order{}, nil, lang.Errorf("%s knows none of the %d operators", r.source, o.Of)
		}
		o.use(s.By, r)
		return o, r.places, nil
	}
	return Order{}, nil, lang.Errorf("order %q, want %s or %s", s.By, strings.Join(names, ", "), ByName)
}

func (o *Order) use(by OrderBy, r *ranking) {
	o.By, o.Name, o.Known = by, r.source, r.known
	name := lang.Text{EN: r.source, ZH: cmp.Or(sourceNames[by], sourceName(r.source).ZH)}
	o.Source = lang.Sayf("%s, %d of %d operators known", "%s，已知 %d/%d 个算子", name, r.known, o.Of)
}

// operators counts the items that are operators.
func operators(items []Item) int {
	n := 0
	for i := range items {
		if !items[i].Passive {
			n++
		}
	}
	return n
}

// byKey ranks items by a key that some of them have.
func byKey[K any](source string, items []Item, key func(*Item) (K, bool), compare func(K, K) int) *ranking {
	r := &ranking{source: source}
	r.places = places(items, func(item *Item) (K, bool) {
		k, ok := key(item)
		if ok && !item.Passive {
			r.known++
		}
		return k, ok
	}, compare)
	return r
}

// byList ranks items by a list of names.
func byList(list *sidefile.Order, items []Item) *ranking {
	if list == nil {
		return nil
	}
	return byKey(list.Source, items, func(item *Item) (int, bool) { return list.Find(item.Names...) }, cmp.Compare)
}

// byExecution ranks items by MindSpore's execution order. Synchronous dumps of
// some versions are named by the last segment of an operator's name only.
func byExecution(list *sidefile.Order, items []Item) *ranking {
	if list == nil {
		return nil
	}
	last := lastSegments(list.Names)
	return byKey(list.Source, items, func(item *Item) (int, bool) {
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

// lastSegments finds names by what follows their last slash; -1 stands for one
// that several share.
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

// byGraph ranks items topologically.
func byGraph(g *graph.Graph, items []Item) *ranking {
	if g == nil {
		return nil
	}
	return byKey(g.Source+", topological", items, func(item *Item) (int, bool) { return g.Place(item.Names...) }, cmp.Compare)
}

// bySequence ranks items by the numbers of their executions.
func bySequence(_ *Sources, items []Item) *ranking {
	if !slices.ContainsFunc(items, func(item Item) bool { return item.Seq > 0 }) {
		return nil
	}
	return byKey("sequence numbers of torch.utils.dumper", items, func(item *Item) (int64, bool) { return item.Seq, item.Seq > 0 }, cmp.Compare)
}

// byTimestamp ranks items by the time of their dumps.
func byTimestamp(_ *Sources, items []Item) *ranking {
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
	r := byKey("timestamps of the dumps", items, func(item *Item) (uint64, bool) { return item.Timestamp, item.Timestamp > 0 }, cmp.Compare)
	switch all := operators(items); {
	case r.known < all:
		r.weak = lang.Sayf("only %d of %d operators have a timestamp", "%[2]d 个算子中只有 %[1]d 个有时间戳", r.known, all)
	case !differ && all > 1:
		r.weak = lang.Sayf("all timestamps are equal", "所有时间戳都相同")
	}
	return r
}

// noTask is the task id that MindSpore writes for one that it does not know.
const noTask = 65535

// byID ranks items by the ids of ATB's operators, or by task ids.
func byID(_ *Sources, items []Item) *ranking {
	withIDs, tasks := false, make(map[uint64]bool)
	for i := range items {
		withIDs = withIDs || items[i].IDs != nil
		if items[i].HasTask && items[i].Task != noTask {
			tasks[items[i].Task] = true
		}
	}
	if withIDs {
		return byKey("ids of the operators", items, func(item *Item) ([]uint64, bool) { return item.IDs, item.IDs != nil }, slices.Compare)
	}
	if len(tasks) == 0 {
		return nil
	}
	r := byKey("task ids", items, func(item *Item) (uint64, bool) { return item.Task, item.HasTask && item.Task != noTask }, cmp.Compare)
	if len(tasks) == 1 && operators(items) > 1 {
		r.weak = lang.Sayf("all task ids are equal", "所有任务 id 都相同")
	}
	return r
}

// byNumber ranks items by the numbers that their names begin with, such as
// 000_conv1, if all names have one and all differ.
func byNumber(_ *Sources, items []Item) *ranking {
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
	return byKey("numbers in the names", items, leadingNumber, cmp.Compare)
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

// places returns the places of items by key; those without one come last, by
// name. It calls key once for every item.
func places[K any](items []Item, key func(*Item) (K, bool), compareKeys func(K, K) int) []int {
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
	slices.SortFunc(all, compare) // equal ones share a place
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

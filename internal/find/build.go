package find

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
	"dumptool/internal/jsonpos"
	"dumptool/internal/store"
)

// builder builds the results for the hits in a root.
type builder struct {
	*search
	root   *root
	graphs []*loadedGraph
	kind   Kind
	dumps  map[graphItem]*dumps
	uses   map[*loadedGraph]map[int][]graph.Use
	files  map[*loadedGraph]store.Source
}

func (b *builder) build(hits []matchedNode) []Result {
	hits = slices.Concat(hits, b.expandLevels(hits))
	var things []graphItem
	readers, nodes := make(map[graphItem][]graph.Consumer), make(nodeSets)
	for _, h := range hits {
		things = append(things, h.graphItem)
		switch {
		case h.node >= 0:
			nodes.add(h.graphItem)
		case b.kind != File:
			readers[h.graphItem] = h.graph.Readers(h.param)
			for _, c := range readers[h.graphItem] {
				things = append(things, graphItem{h.graph, c.Node, -1})
			}
		}
	}
	b.uses, b.files = make(map[*loadedGraph]map[int][]graph.Use), make(map[*loadedGraph]store.Source)
	for g, of := range nodes {
		b.uses[g] = g.Consumers(of)
		for _, uses := range b.uses[g] {
			for _, u := range uses {
				things = append(things, graphItem{g, u.Node, -1})
			}
		}
		if f, err := store.Open(g.file.path); err == nil { // without it the types are missing
			b.files[g] = f
			defer f.Close()
		}
	}
	if !b.opt.NoFiles {
		if b.root.dumped = b.root.hasDumps(); b.root.dumped {
			things = append(things, upstream(nodes)...)
		}
		b.dumps = b.root.dumpsOf(b.graphs, things)
	}
	var results []Result
	for _, h := range hits {
		place := TreePosition{Match: h.match, Confidence: h.conf, Rank: b.root.rank, Graph: h.graph.id(), IR: nullableText(h.graph.file.name)}
		if h.node < 0 {
			results = append(results, b.parameter(&h, place, readers[h.graphItem]))
		} else {
			results = append(results, b.operator(&h, place))
		}
	}
	return results
}

// expandLevels returns the producers and consumers of the hits, Up and Down levels deep, in the order of
// the graphs.
func (b *builder) expandLevels(hits []matchedNode) []matchedNode {
	var all []matchedNode
	seen, found := make(map[graphItem]bool), make(nodeSets)
	for _, h := range hits {
		if seen[h.graphItem] = true; h.node >= 0 {
			found.add(h.graphItem)
		}
	}
	walk := func(match Match, count int, next func(g *loadedGraph, of map[int]bool) map[int]bool) {
		for _, g := range b.graphs {
			of := found[g]
			for k := 1; k <= count && len(of) > 0; k++ {
				fresh := make(map[int]bool)
				for i := range next(g, of) {
					if x := (graphItem{g, i, -1}); !seen[x] {
						seen[x], fresh[i] = true, true
						all = append(all, matchedNode{graphItem: x, match: match, conf: High, level: k})
					}
				}
				of = fresh
			}
		}
	}
	walk(MatchUp, b.opt.Up, (*loadedGraph).producersOf)
	walk(MatchDown, b.opt.Down, (*loadedGraph).consumersOf)
	slices.SortFunc(all, func(x, y matchedNode) int {
		return cmp.Or(x.match.compare(y.match), x.level-y.level, slices.Index(b.graphs, x.graph)-slices.Index(b.graphs, y.graph), x.node-y.node)
	})
	return all
}

// nullableText copies a text: graphs are large, and results outlive them.
func nullableText(s string) jsonpos.NullableText { return jsonpos.NullableText(strings.Clone(s)) }

func (g *loadedGraph) nodeOf(n *graph.Node) GraphNode {
	return GraphNode{nullableText(g.Label(n)), strings.Clone(g.Subgraphs[n.Subgraph])}
}

// positiveOrNil returns a pointer to a number, nil for 0.
func positiveOrNil(n int32) *int {
	if n <= 0 {
		return nil
	}
	return new(int(n))
}

func (b *builder) operator(h *matchedNode, place TreePosition) *Operator {
	g, n := h.graph, &h.graph.Nodes[h.node]
	op := &Operator{
		TreePosition: place, IRLine: positiveOrNil(n.Line), GraphNode: g.nodeOf(n), OpType: strings.Clone(n.Type), OpName: nullableText(n.OpName()),
		Files: []string{}, Ambiguous: []string{}, Statistics: []string{}, Level: h.level,
	}
	if h.file != nil {
		op.FileTensor = &h.file.FileTensor
	}
	if g.names != nil {
		op.OrderTotal = new(len(g.names))
	}
	if at, ok := g.place[n.OpName()]; ok {
		op.Order = &at
	}
	if f, via := g.Script(n); via != graph.ViaNone {
		op.Source, op.SourceVia, op.Code = nullableText(fmt.Sprintf("%s:%d", g.Text(f.Path), f.Line)), nullableText(string(via)), nullableText(g.Text(f.Code))
	}
	if d := b.dumps[h.graphItem]; d != nil {
		op.Files, op.Ambiguous, op.dumps, op.Rows = b.fileNames(d.files), b.fileNames(d.ambiguous), d.files, d.rows
		for _, r := range d.rows {
			op.Statistics = append(op.Statistics, fmt.Sprintf("%s#%d", b.tree.name(r.Statistics.File), r.Statistics.Line))
		}
		slices.Sort(op.Statistics)
	}
	op.NotDumped = b.isUndumped(h.graphItem)
	b.addEdges(op, g, h.node)
	if b.opt.Stack {
		for _, s := range g.Stacks(n) {
			for _, f := range s.Frames {
				op.Stack = append(op.Stack, Frame{
					File: strings.Clone(g.Text(f.Path)), Line: f.Line, LineEnd: f.End, Code: nullableText(g.Text(f.Code)), Library: g.IsLibrary(f), Kind: s.Kind.String(),
				})
			}
		}
	}
	return op
}

// fileNames returns the sorted paths of files, in the form of results.
func (b *builder) fileNames(files []*dumpdir.File) []string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = b.tree.name(f)
	}
	slices.Sort(names)
	return names
}

// addEdges adds the inputs and outputs with the operators at their other ends.
func (b *builder) addEdges(op *Operator, g *loadedGraph, node int) {
	n := &g.Nodes[node]
	var ins, outs []graph.TensorType
	if f := b.files[g]; f != nil {
		ins, outs = g.Types(f, n)
	}
	op.Inputs, op.Outputs = []Input{}, []Output{}
	slot := func(index int, types []graph.TensorType) Slot {
		if index >= len(types) {
			return Slot{Index: index}
		}
		t := types[index]
		if t.Format == "" { // the graph has host types only
			t.Host = t.Shape
		}
		return Slot{index, t}
	}
	constants := false
	for k := range g.InputCount(n) {
		in := Input{Slot: Slot{Index: k}, From: []Link{}, Via: []string{}}
		sources := g.Producers(n, k)
		for _, s := range sources {
			in.From = append(in.From, g.linkTo(s))
		}
		if len(sources) == 1 {
			if end, via := g.FollowViews(sources[0]); len(via) > 0 {
				for _, i := range via {
					in.Via = append(in.Via, strings.Clone(g.Nodes[i].Name))
				}
				in.End = []Link{g.linkTo(end)}
			}
		}
		constants = constants || len(sources) == 0
		if len(sources) > 0 && !holdsInput(op.dumps, k) {
			in.Dumped, in.Undumped = b.findDumpedProducers(g, sources)
		}
		// Some writers list only types of tensors, so they do not match inputs with constants.
		if len(ins) == g.InputCount(n) || !constants {
			in.Slot = slot(k, ins)
		}
		op.Inputs = append(op.Inputs, in)
	}
	add := func() {
		op.Outputs = append(op.Outputs, Output{Slot: slot(len(op.Outputs), outs), To: []Link{}})
	}
	for range outs {
		add()
	}
	for _, u := range b.uses[g][node] {
		for len(op.Outputs) <= u.Output && u.Output < maxOutputs {
			add()
		}
		if u.Output < len(op.Outputs) {
			out, to := &op.Outputs[u.Output], Link{g.nodeName(u.Node), u.Input}
			out.To = append(out.To, to)
			if out.dumped == nil && !b.isUndumped(graphItem{g, u.Node, -1}) {
				out.dumped = &to
			}
		}
	}
}

// maxOutputs limits the listed outputs without known types.
const maxOutputs = 1024

// linkTo returns a link to an output of a node, or to a parameter.
func (g *loadedGraph) linkTo(s graph.Source) Link {
	if s.Node < 0 {
		return Link{"param:" + g.Params[s.Param].Name, s.Output}
	}
	return Link{g.nodeName(s.Node), s.Output}
}

// nodeName returns the full name of a node, else its label.
func (g *loadedGraph) nodeName(node int) string {
	n := &g.Nodes[node]
	return strings.Clone(cmp.Or(n.OpName(), g.Label(n)))
}

func (b *builder) parameter(h *matchedNode, place TreePosition, readers []graph.Consumer) *Parameter {
	g := h.graph
	p := &g.Params[h.param]
	out := &Parameter{TreePosition: place, Param: strings.Clone(p.Name), Number: positiveOrNil(p.Number), Files: []string{}, Consumers: []Consumer{}}
	if d := b.dumps[h.graphItem]; d != nil {
		out.dumps = d.files
		if b.kind != File {
			out.Files = b.fileNames(d.files)
		}
	}
	for _, c := range readers {
		n := &g.Nodes[c.Node]
		one := Consumer{
			GraphNode: g.nodeOf(n), OpName: nullableText(n.OpName()), Input: c.Input, Via: []string{}, Files: []string{},
		}
		for _, i := range c.Via {
			one.Via = append(one.Via, g.nodeName(i))
		}
		if d := b.dumps[graphItem{g, c.Node, -1}]; d != nil {
			one.Files = b.fileNames(d.files)
		}
		out.Consumers = append(out.Consumers, one)
	}
	return out
}

// levelsAbove limits the walk through producers that were not dumped.
const levelsAbove = 8

// nodeSets maps graphs to sets of nodes.
type nodeSets map[*loadedGraph]map[int]bool

func (s nodeSets) add(x graphItem) {
	if s[x.graph] == nil {
		s[x.graph] = make(map[int]bool)
	}
	s[x.graph][x.node] = true
}

// producersOf returns the producers of a set of nodes.
func (g *loadedGraph) producersOf(of map[int]bool) map[int]bool {
	up := make(map[int]bool)
	for i := range of {
		for _, s := range g.sources(i) {
			if s.Node >= 0 {
				up[s.Node] = true
			}
		}
	}
	return up
}

// sources returns the sources of a node's inputs.
func (g *loadedGraph) sources(node int) (all []graph.Source) {
	n := &g.Nodes[node]
	for k := range g.InputCount(n) {
		all = append(all, g.Producers(n, k)...)
	}
	return all
}

// consumersOf returns the consumers of a set of nodes.
func (g *loadedGraph) consumersOf(of map[int]bool) map[int]bool {
	down := make(map[int]bool)
	for _, uses := range g.Consumers(of) {
		for _, u := range uses {
			down[u.Node] = true
		}
	}
	return down
}

// upstream returns the direct and indirect producers of nodes.
func upstream(nodes nodeSets) []graphItem {
	var all []graphItem
	for g, of := range nodes {
		seen := make(map[int]bool)
		for level := 0; level < levelsAbove && len(of) > 0; level++ {
			of = g.producersOf(of)
			for i := range of {
				if seen[i] {
					delete(of, i)
					continue
				}
				seen[i] = true
				all = append(all, graphItem{g, i, -1})
			}
		}
	}
	return all
}

// isUndumped reports whether an operator has no dump although the tree has dumps.
func (b *builder) isUndumped(x graphItem) bool {
	d := b.dumps[x]
	return b.root.dumped && (d == nil || len(d.files)+len(d.ambiguous)+len(d.rows) == 0)
}

// holdsInput reports whether the names of an operator's dumps allow one of them to hold input
// index.
func holdsInput(files []*dumpdir.File, index int) bool {
	return slices.ContainsFunc(files, func(f *dumpdir.File) bool {
		id, ok := parseDumpName(f.Name, "")
		return ok && !id.excludes("input", index)
	})
}

// findDumpedProducers returns the nearest operators with dumps above an input, and the operators without
// dumps in between; nothing if all producers of the input were dumped.
func (b *builder) findDumpedProducers(g *loadedGraph, sources []graph.Source) (dumped []Link, through []string) {
	seen := make(map[int]bool)
	for level := 0; level < levelsAbove && len(sources) > 0; level++ {
		var up []graph.Source
		for _, s := range sources {
			switch {
			case s.Node < 0:
			case !b.isUndumped(graphItem{g, s.Node, -1}):
				if l := g.linkTo(s); !slices.Contains(dumped, l) {
					dumped = append(dumped, l)
				}
			case !seen[s.Node]:
				seen[s.Node] = true
				through = append(through, g.linkTo(s).Name)
				up = append(up, g.sources(s.Node)...)
			}
		}
		sources = up
	}
	if len(through) == 0 || len(dumped) == 0 {
		return nil, nil
	}
	return dumped, through
}

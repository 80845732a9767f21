package find

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
	"dumptool/internal/store"
)

// builder makes results of the hits in a root.
type builder struct {
	*search
	root   *root
	graphs []*loaded
	kind   Kind
	dumps  map[thing]*dumps
	uses   map[*loaded]map[int][]graph.Use
	files  map[*loaded]store.Source
}

func (b *builder) build(hits []hit) []Result {
	levels := b.levels(hits)
	things := make([]thing, 0, len(hits)+len(levels))
	readers := make(map[thing][]graph.Consumer)
	nodes := make(map[*loaded]map[int]bool)
	add := func(x thing) {
		things = append(things, x)
		if x.node >= 0 {
			if nodes[x.graph] == nil {
				nodes[x.graph] = make(map[int]bool)
			}
			nodes[x.graph][x.node] = true
		}
	}
	for i := range hits {
		x := hits[i].thing()
		add(x)
		if x.node < 0 && b.kind != File {
			readers[x] = x.graph.Readers(x.param)
			for _, c := range readers[x] {
				things = append(things, thing{x.graph, c.Node, -1})
			}
		}
	}
	for _, l := range levels {
		add(l.thing)
	}
	b.uses, b.files = make(map[*loaded]map[int][]graph.Use), make(map[*loaded]store.Source)
	for g, of := range nodes {
		b.uses[g] = g.Consumers(of)
		for _, uses := range b.uses[g] {
			for _, u := range uses {
				things = append(things, thing{g, u.Node, -1})
			}
		}
		if f, err := store.Open(g.file.path); err == nil { // without it the types are missing
			b.files[g] = f
			defer f.Close()
		}
	}
	if !b.opt.NoFiles {
		if b.root.dumped = b.root.hasDumps(); b.root.dumped {
			things = append(things, above(nodes)...)
		}
		b.dumps = b.root.dumpsOf(b.graphs, things)
	}
	results := make([]Result, 0, len(hits)+len(levels))
	for i := range hits {
		h := &hits[i]
		place := Place{Match: h.match, Confidence: h.conf, Rank: b.root.rank, Graph: h.graph.id(), IR: text(h.graph.file.name)}
		if h.node < 0 {
			results = append(results, Result{Param: b.parameter(h, place, readers[h.thing()])})
			continue
		}
		op := b.operator(h.thing(), place)
		if h.file != nil {
			op.IO, op.Index = h.file.io, h.file.index
		}
		results = append(results, Result{Operator: op})
	}
	for _, l := range levels {
		op := b.operator(l.thing, Place{Match: l.match, Confidence: High, Rank: b.root.rank, Graph: l.graph.id(), IR: text(l.graph.file.name)})
		op.Level = l.level
		results = append(results, Result{Operator: op})
	}
	return results
}

// level is a producer or consumer of what was found.
type level struct {
	thing
	match Match
	level int
}

// levels are the producers and consumers of the hits, as many levels as the options
// want, in the order of the graphs.
func (b *builder) levels(hits []hit) []level {
	var all []level
	seen := make(map[thing]bool)
	for i := range hits {
		seen[hits[i].thing()] = true
	}
	walk := func(match Match, count int, next func(g *loaded, of map[int]bool) map[int]bool) {
		now := make(map[*loaded]map[int]bool)
		for i := range hits {
			if h := &hits[i]; h.node >= 0 {
				if now[h.graph] == nil {
					now[h.graph] = make(map[int]bool)
				}
				now[h.graph][int(h.node)] = true
			}
		}
		for _, g := range b.graphs {
			of := now[g]
			for k := 1; k <= count && len(of) > 0; k++ {
				fresh := make(map[int]bool)
				for i := range next(g, of) {
					if x := (thing{g, i, -1}); !seen[x] {
						seen[x], fresh[i] = true, true
						all = append(all, level{x, match, k})
					}
				}
				of = fresh
			}
		}
	}
	walk(MatchUp, b.opt.Up, func(g *loaded, of map[int]bool) map[int]bool {
		up := make(map[int]bool)
		for i := range of {
			n := &g.Nodes[i]
			for k := range g.InputCount(n) {
				for _, s := range g.Producers(n, k) {
					if s.Node >= 0 {
						up[s.Node] = true
					}
				}
			}
		}
		return up
	})
	walk(MatchDown, b.opt.Down, func(g *loaded, of map[int]bool) map[int]bool {
		down := make(map[int]bool)
		for _, uses := range g.Consumers(of) {
			for _, u := range uses {
				down[u.Node] = true
			}
		}
		return down
	})
	slices.SortFunc(all, func(x, y level) int {
		if x.match != y.match {
			return slices.Index(matchOrder, x.match) - slices.Index(matchOrder, y.match)
		}
		if x.level != y.level {
			return x.level - y.level
		}
		if x.graph != y.graph {
			return slices.Index(b.graphs, x.graph) - slices.Index(b.graphs, y.graph)
		}
		return x.node - y.node
	})
	return all
}

// text returns a pointer to a copy of a text, nil for an empty one: graphs are big,
// and results outlive them.
func text(s string) *string {
	if s == "" {
		return nil
	}
	s = strings.Clone(s)
	return &s
}

func (b *builder) operator(x thing, place Place) *Operator {
	g := x.graph
	n := &g.Nodes[x.node]
	op := &Operator{
		Place: place, Node: text(g.Label(n)), Subgraph: strings.Clone(g.Subgraphs[n.Subgraph]), OpType: strings.Clone(n.Type), OpName: text(n.OpName()),
		Files: []string{}, Ambiguous: []string{}, Statistics: []string{},
	}
	if n.Line > 0 {
		line := int(n.Line)
		op.IRLine = &line
	}
	if g.names != nil {
		total := len(g.names)
		op.OrderTotal = &total
	}
	if at, ok := g.place[n.OpName()]; ok {
		op.Order = &at
	}
	if f, via := g.Script(n); via != graph.ViaNone {
		op.Source, op.SourceVia = text(fmt.Sprintf("%s:%d", g.Text(f.Path), f.Line)), viaName(via)
		op.Code = text(g.Text(f.Code))
	}
	if d := b.dumps[x]; d != nil {
		op.Files, op.Ambiguous, op.dumps = b.names(d.files), b.names(d.ambiguous), d.files
		for _, r := range d.rows {
			op.Statistics = append(op.Statistics, fmt.Sprintf("%s#%d", b.tree.name(r.statistics.File), r.statistics.Line))
			op.Rows = append(op.Rows, Row{r.kind, r.index, r.statistics})
		}
		slices.Sort(op.Statistics)
	}
	op.NotDumped = b.isUndumped(x)
	b.addEdges(op, g, x.node)
	if b.opt.Stack {
		for _, s := range g.Stacks(n) {
			for _, f := range s.Frames {
				op.Stack = append(op.Stack, Frame{
					File: strings.Clone(g.Text(f.Path)), Line: f.Line, LineEnd: f.End, Code: text(g.Text(f.Code)), Library: g.IsLibrary(f), Kind: s.Kind.String(),
				})
			}
		}
	}
	return op
}

// names are the paths of files as results have them, sorted.
func (b *builder) names(files []*dumpdir.File) []string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = b.tree.name(f)
	}
	slices.Sort(names)
	return names
}

// addEdges adds the inputs and outputs with who is at their other ends.
func (b *builder) addEdges(op *Operator, g *loaded, node int) {
	n := &g.Nodes[node]
	var ins, outs []graph.TensorType
	if f := b.files[g]; f != nil {
		ins, outs = g.Types(f, n)
	}
	op.Inputs, op.Outputs = []Input{}, []Output{}
	constants := false
	for k := range g.InputCount(n) {
		in := Input{Slot: Slot{Index: k}, From: []Link{}, Via: []string{}}
		sources := g.Producers(n, k)
		for _, s := range sources {
			in.From = append(in.From, b.link(g, s))
		}
		if len(sources) == 1 {
			if end, via := g.Through(sources[0]); len(via) > 0 {
				for _, i := range via {
					in.Via = append(in.Via, strings.Clone(g.Nodes[i].Name))
				}
				in.End = []Link{b.link(g, end)}
			}
		}
		constants = constants || len(sources) == 0
		if len(sources) > 0 && !holdsInput(op.dumps, k) {
			in.Dumped, in.Undumped = b.dumpedAbove(g, sources)
		}
		// Some writers list the types of tensors only.
		if k < len(ins) && (len(ins) == g.InputCount(n) || !constants) {
			in.Slot = newSlot(k, &ins[k])
		}
		op.Inputs = append(op.Inputs, in)
	}
	for k := range outs {
		op.Outputs = append(op.Outputs, Output{Slot: newSlot(k, &outs[k]), To: []Link{}})
	}
	for _, u := range b.uses[g][node] {
		for len(op.Outputs) <= u.Output && u.Output < maxOutputs {
			op.Outputs = append(op.Outputs, Output{Slot: Slot{Index: len(op.Outputs)}, To: []Link{}})
		}
		if u.Output < len(op.Outputs) {
			out, to := &op.Outputs[u.Output], Link{strings.Clone(b.nodeName(g, u.Node)), u.Input}
			out.To = append(out.To, to)
			if out.dumped == nil && !b.isUndumped(thing{g, u.Node, -1}) {
				out.dumped = &to
			}
		}
	}
}

// maxOutputs is how many outputs are listed of which no type is known.
const maxOutputs = 1024

func (b *builder) link(g *loaded, s graph.Source) Link {
	if s.Node < 0 {
		return Link{"param:" + g.Params[s.Param].Name, s.Output}
	}
	return Link{strings.Clone(b.nodeName(g, s.Node)), s.Output}
}

// nodeName is the full name of a node, its label where the graph knows none.
func (b *builder) nodeName(g *loaded, node int) string {
	n := &g.Nodes[node]
	if name := n.OpName(); name != "" {
		return name
	}
	return g.Label(n)
}

func (b *builder) parameter(h *hit, place Place, readers []graph.Consumer) *Parameter {
	g := h.graph
	p := &g.Params[h.param]
	out := &Parameter{Place: place, Param: strings.Clone(p.Name), Files: []string{}, Consumers: []Consumer{}}
	if p.Number > 0 {
		number := int(p.Number)
		out.Number = &number
	}
	if d := b.dumps[h.thing()]; d != nil {
		out.dumps = d.files
		if b.kind != File {
			out.Files = b.names(d.files)
		}
	}
	for _, c := range readers {
		n := &g.Nodes[c.Node]
		one := Consumer{
			Node: text(g.Label(n)), Subgraph: strings.Clone(g.Subgraphs[n.Subgraph]), OpName: text(n.OpName()), Input: c.Input, Via: []string{}, Files: []string{},
		}
		for _, i := range c.Via {
			one.Via = append(one.Via, strings.Clone(b.nodeName(g, i)))
		}
		if d := b.dumps[thing{g, c.Node, -1}]; d != nil {
			one.Files = b.names(d.files)
		}
		out.Consumers = append(out.Consumers, one)
	}
	return out
}

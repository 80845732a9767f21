package dumpdir

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/filename"
	"dumptool/internal/graph"
	"dumptool/internal/guard"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// graphsFolder holds the graphs that MindSpore saves beside the dumps.
const graphsFolder = "graphs"

// attachGraphs gives the rounds of MindSpore what the graphs of their rank say: the
// order of the operators, who feeds whom, and the lines of the script. Of a graph only
// what was dumped is kept, and what stands between that.
func (r *reader) attachGraphs() {
	type of struct {
		folder *Folder
		rounds []*Round
	}
	var all []of
	files := NewGraphFiles()
	for _, f := range r.run.folders {
		if f.Producer != MindSpore || path.Base(f.Dir) != graphsFolder {
			continue
		}
		var rounds []*Round
		for _, round := range r.run.Rounds {
			if (f.At.Rank == "" || f.At.Rank == round.At.Rank) && slices.ContainsFunc(round.folders, func(x *Folder) bool { return x.Producer == MindSpore }) {
				rounds = append(rounds, round)
			}
		}
		if len(rounds) == 0 {
			continue
		}
		all = append(all, of{f, rounds})
		for _, file := range f.files {
			if s, ok := graph.ParseSaved(file.Name); ok && !s.Proto {
				files.Expect(file.Path())
			}
		}
	}
	for _, x := range all {
		r.readGraphs(files, x.folder, x.rounds)
	}
}

// attachGiven gives all rounds what a graph that was given says, or the graphs of a
// folder.
func (r *reader) attachGiven(name string) {
	f := &Folder{Path: name, Dir: "."}
	info, err := store.Stat(name)
	switch {
	case err != nil:
		r.run.problem(BadSide, name, Coordinates{}, err)
		return
	case !info.IsDir():
		f.files = []*File{{Folder: f, Name: store.Base(name), Size: info.Size()}}
	default:
		entries, err := store.ReadDir(name)
		if err != nil {
			r.run.problem(BadSide, name, Coordinates{}, err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				f.files = append(f.files, &File{Folder: f, Name: e.Name(), Size: info.Size(), path: store.Join(name, e.Name())})
			}
		}
	}
	r.readGraphs(NewGraphFiles(), f, r.run.Rounds)
}

// readGraphs reads the graphs of a folder one after the other, and hands the rounds
// what they say.
func (r *reader) readGraphs(reader *GraphFiles, f *Folder, of []*Round) {
	rounds := make([]*roundGraph, len(of))
	for i, round := range of {
		rounds[i] = newRoundGraph(round)
	}
	var files []*File
	var saved []graph.Saved
	for _, file := range f.files {
		s, ok := graph.ParseSaved(file.Name)
		if file.path == "" && !ok { // it was given
			s, ok = graph.Saved{Stage: graph.OtherStage, Graph: -1, Seq: -1, Proto: strings.HasSuffix(file.Name, ".pb")}, true
		}
		if ok && file.Err == nil {
			files, saved = append(files, file), append(saved, s)
		}
	}
	whole := make(map[int]bool) // graphs whose text was read
	for _, i := range graph.LastStage(saved) {
		s := saved[i]
		if s.Proto && whole[s.Graph] {
			continue
		}
		g, err := reader.Read(files[i].Path(), s.Proto)
		if err != nil {
			r.run.problem(BadSide, files[i].Path(), f.At, err)
		}
		if g == nil || len(g.Nodes) == 0 {
			continue
		}
		whole[s.Graph] = true
		for _, round := range rounds {
			own := s.Graph < 0 || round.round.At.Graph == "" || round.round.At.Graph == fmt.Sprint(s.Graph)
			round.add(g, files[i].Name, own)
			if !r.attributes {
				continue
			}
			if err := round.addAttributes(g, files[i]); err != nil {
				r.run.problem(BadSide, files[i].Path(), f.At, err)
			}
		}
	}
	for _, g := range rounds {
		g.finish()
	}
}

// roundGraph collects what graphs say about the operators of a round.
type roundGraph struct {
	round *Round
	// names are the operators by their names as files have them.
	names map[string][]*Op
	found map[*Op]*foundNode
	files []string
}

// foundNode is what a graph says about an operator.
type foundNode struct {
	op     graph.Op
	script string
	own    bool // the graph is that of the round
	flow   *flow
}

func newRoundGraph(round *Round) *roundGraph {
	g := &roundGraph{round: round, names: make(map[string][]*Op), found: make(map[*Op]*foundNode)}
	for _, op := range round.Ops {
		if op.Type != parameterType {
			norm := filename.Normalise(op.Name)
			g.names[norm] = append(g.names[norm], op)
		}
	}
	return g
}

// add takes what a graph knows. Operators of an inner graph are dumped into the folder
// of their root graph, so that other graphs count too, where that of the round does
// not know an operator.
func (r *roundGraph) add(g *graph.IR, file string, own bool) {
	nodes := r.match(g)
	dumped := make(map[int]*Op, len(nodes))
	for op, i := range nodes {
		if old := dumped[i]; old == nil || old.Execution > op.Execution {
			dumped[i] = op
		}
	}
	used := false
	flow := &flow{g: g, dumped: dumped, ops: map[int]*graph.Op{}, levels: map[int]int{}, names: map[string]bool{},
		taken: func(name string) bool { return r.names[filename.Normalise(name)] != nil }}
	for _, op := range slices.SortedFunc(maps.Keys(nodes), func(a, b *Op) int {
		return cmp.Or(cmp.Compare(nodes[a], nodes[b]), strings.Compare(a.Name, b.Name), cmp.Compare(a.Execution, b.Execution))
	}) {
		i := nodes[op]
		if old := r.found[op]; old != nil && (old.own || !own) {
			continue
		}
		n := &g.Nodes[i]
		if _, known := flow.levels[i]; !known {
			flow.connect(i, 0)
		}
		f := &foundNode{own: own, op: *flow.op(i), flow: flow}
		f.op.Name, f.op.Type = op.Name, op.Type // several may be of one node
		if line, via := g.Script(n); via != graph.ViaNone && via != graph.ViaLibrary {
			f.script = fmt.Sprintf("%s:%d", path.Base(g.Text(line.Path)), line.Line)
		}
		r.found[op] = f
		used = true
	}
	if used {
		r.files = append(r.files, file)
	}
}

// addAttributes reads the attributes of the nodes of a graph that stand for operators.
func (r *roundGraph) addAttributes(g *graph.IR, file *File) error {
	return safefile.Read(file.Path(), func(in safefile.Input) error {
		for _, f := range r.found {
			if f.flow.g == g {
				f.op.Attributes = g.Attributes(in, &g.Nodes[f.op.ID])
			}
		}
		return nil
	})
}

// match finds the nodes of operators: by the whole name, else by its last segment and
// the type. A name that several nodes have is none.
func (r *roundGraph) match(g *graph.IR) map[*Op]int {
	type key struct{ name, opType string }
	const several = -1
	nodes := make(map[key]int)
	add := func(k key, i int) {
		if _, known := nodes[k]; known {
			i = several
		}
		nodes[k] = i
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		name := n.OpName()
		if norm := filename.Normalise(name); r.names[norm] != nil {
			add(key{name: norm}, i)
		}
		last := filename.Normalise(name[strings.LastIndexByte(name, '/')+1:])
		for _, op := range r.names[last] {
			if strings.EqualFold(op.Type, n.Type) {
				add(key{last, strings.ToLower(n.Type)}, i)
				break
			}
		}
	}
	found := make(map[*Op]int)
	for norm, ops := range r.names {
		for _, op := range ops {
			i, ok := nodes[key{name: norm}]
			if !ok {
				i, ok = nodes[key{norm, strings.ToLower(op.Type)}]
			}
			if ok && i != several {
				found[op] = i
			}
		}
	}
	return found
}

// levelsUp is how far producers that were not dumped are looked through.
const levelsUp = 8

// flow is who feeds whom in a graph, as far as operators that were dumped are fed,
// directly or through others.
type flow struct {
	g      *graph.IR
	dumped map[int]*Op
	// ops are the operators by their nodes; those that were not dumped have the names
	// of the graph.
	ops map[int]*graph.Op
	// levels are how far below a node an operator is that was dumped.
	levels map[int]int
	names  map[string]bool        // of operators that were not dumped
	taken  func(name string) bool // is it that of an operator that was dumped?
}

// op returns the operator of a node.
func (f *flow) op(i int) *graph.Op {
	if op := f.ops[i]; op != nil {
		return op
	}
	n := &f.g.Nodes[i]
	op := &graph.Op{ID: int64(i), HasID: true}
	f.ops[i] = op
	if d := f.dumped[i]; d != nil {
		op.Name, op.Type = d.Name, d.Type
		return op
	}
	// The texts of a graph are kept as a whole: what outlives it is a copy.
	op.Name, op.Type = strings.Clone(n.OpName()), strings.Clone(n.Type)
	if op.Name == "" || f.names[op.Name] || f.taken(op.Name) {
		op.Name = fmt.Sprintf("@%s:%s", f.g.Subgraphs[n.Subgraph], f.g.Label(n))
	}
	f.names[op.Name] = true
	return op
}

// connect finds the producers of a node, and those of these that were not dumped.
func (f *flow) connect(i, level int) {
	n, op := &f.g.Nodes[i], f.op(i)
	_, known := f.levels[i]
	f.levels[i] = level
	for k := range f.g.InputCount(n) {
		for _, s := range f.g.Producers(n, k) {
			if s.Node < 0 {
				continue
			}
			if p := (graph.Producer{Op: f.op(s.Node).Name, Output: s.Output}); !known && !slices.Contains(op.Inputs, p) {
				op.Inputs = append(op.Inputs, p)
			}
			before, seen := f.levels[s.Node]
			if f.dumped[s.Node] == nil && level < levelsUp && (!seen || before > level+1) {
				f.connect(s.Node, level+1)
			}
		}
	}
}

// between are the operators that were not dumped, in the order of the graph.
func (f *flow) between() []graph.Op {
	var ops []graph.Op
	for _, i := range slices.Sorted(maps.Keys(f.ops)) {
		if f.dumped[i] == nil {
			ops = append(ops, *f.ops[i])
		}
	}
	return ops
}

// finish hands the round what was found.
func (r *roundGraph) finish() {
	if len(r.found) == 0 {
		return
	}
	var ops []graph.Op
	var flows []*flow
	names := make(map[string]bool)
	for _, op := range slices.SortedFunc(maps.Keys(r.found), func(a, b *Op) int {
		return cmp.Or(cmp.Compare(r.found[a].op.ID, r.found[b].op.ID), strings.Compare(a.Name, b.Name), cmp.Compare(a.Execution, b.Execution))
	}) {
		f := r.found[op]
		if f.script != "" && op.Call == nil {
			op.Call = &Call{Script: f.script}
		}
		if !names[op.Name] {
			names[op.Name] = true
			ops = append(ops, f.op)
		}
		if !slices.Contains(flows, f.flow) {
			flows = append(flows, f.flow)
		}
	}
	for _, f := range flows {
		ops = append(ops, f.between()...)
	}
	slices.Sort(r.files)
	r.round.side.ir = graph.New(ops)
	r.round.side.ir.Source = "graph " + strings.Join(slices.Compact(r.files), ", ")
}

// GraphFiles reads the graphs that MindSpore saved. Those of the ranks of a run are
// often alike: of such texts one is read. It may be used by several goroutines.
type GraphFiles struct {
	mu    sync.Mutex
	files map[int64]*graphShare // by their sizes
}

// graphShare is the graph of the first of the files of a size that is read. It is kept
// while there are others to come.
type graphShare struct {
	left int // files that are still to be read
	name string
	once sync.Once
	g    *graph.IR
	err  error
}

// NewGraphFiles returns a reader of files, all of which are read once.
func NewGraphFiles() *GraphFiles { return &GraphFiles{files: make(map[int64]*graphShare)} }

// Expect announces a text. What was not announced is read all the same.
func (f *GraphFiles) Expect(name string) {
	if info, err := store.Stat(name); err == nil {
		if f.files[info.Size()] == nil {
			f.files[info.Size()] = new(graphShare)
		}
		f.files[info.Size()].left++
	}
}

// Read reads a file. As with graph.ReadIR there may be a graph beside an error. The
// graph may be that of another file, and must not be changed.
func (f *GraphFiles) Read(name string, proto bool) (g *graph.IR, err error) {
	err = safefile.Read(name, func(in safefile.Input) (err error) {
		if proto {
			g, err = graph.ReadIRProto(in, in.Size())
			return err
		}
		share := f.take(in.Size(), name)
		if share == nil || share.name != name && !isAlike(share.name, name) {
			g, err = graph.ReadIR(in)
			return err
		}
		share.once.Do(func() {
			share.err = guard.Do(func() (err error) {
				share.g, err = graph.ReadIR(in)
				return err
			})
		})
		g = share.g
		return share.err
	})
	return g, err
}

// take returns what a file may share with others of its size, nil for nothing.
func (f *GraphFiles) take(size int64, name string) *graphShare {
	f.mu.Lock()
	defer f.mu.Unlock()
	share := f.files[size]
	if share == nil || share.name == "" && share.left < 2 {
		return nil
	}
	if share.name == "" {
		share.name = name
	}
	if share.left--; share.left <= 0 {
		delete(f.files, size)
	}
	return share
}

// isAlike reports whether the text of a graph reads like that in another file.
func isAlike(name, other string) bool {
	a, err := safefile.Open(name)
	if err != nil {
		return false
	}
	defer a.Close()
	b, err := safefile.Open(other)
	if err != nil {
		return false
	}
	defer b.Close()
	return graph.AlikeIR(a, b)
}

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

// graphsFolder is the folder of graphs that MindSpore saves beside the dumps.
const graphsFolder = "graphs"

// HasGraphs reports whether a folder has graphs that MindSpore saved beside its dumps.
func HasGraphs(dir string) bool {
	info, err := store.Stat(store.Join(dir, graphsFolder))
	return err == nil && info.IsDir()
}

// attachGraphs reads the graphs of MindSpore and gives each round the graphs of its rank: order,
// data flow, and lines of the script. It keeps the dumped operators and the operators between them.
func (r *reader) attachGraphs() {
	type rankGraphs struct {
		folder *Folder
		rounds []*Round
	}
	var all []rankGraphs
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
		all = append(all, rankGraphs{f, rounds})
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

// attachUserGraphs gives all rounds the graph in a file from the user, or the graphs in a folder.
func (r *reader) attachUserGraphs(name string) {
	f := &Folder{Path: name, Dir: "."}
	info, err := store.Stat(name)
	switch {
	case err != nil:
		r.run.addProblem(BadSide, name, Coordinates{}, err)
		return
	case !info.IsDir():
		f.files = []*File{{Folder: f, Name: store.Base(name), Size: info.Size()}}
	default:
		entries, err := store.ReadDir(name)
		if err != nil {
			r.run.addProblem(BadSide, name, Coordinates{}, err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				f.files = append(f.files, &File{Folder: f, Name: e.Name(), Size: info.Size(), path: store.Join(name, e.Name())})
			}
		}
	}
	r.readGraphs(NewGraphFiles(), f, r.run.Rounds)
}

// readGraphs reads the graphs of a folder one after the other and adds them to rounds.
func (r *reader) readGraphs(reader *GraphFiles, f *Folder, targets []*Round) {
	rounds := make([]*roundGraph, len(targets))
	for i, round := range targets {
		rounds[i] = newRoundGraph(round)
	}
	var files []*File
	var saved []graph.SavedFile
	for _, file := range f.files {
		s, ok := graph.ParseSaved(file.Name)
		if file.path == "" && !ok { // given by the user
			s, ok = graph.SavedFile{Stage: graph.OtherStage, Graph: -1, Seq: -1, Proto: strings.HasSuffix(file.Name, ".pb")}, true
		}
		if ok && file.Err == nil {
			files, saved = append(files, file), append(saved, s)
		}
	}
	whole := make(map[int]bool) // graphs read from a text
	for _, i := range graph.LastStage(saved) {
		s := saved[i]
		if s.Proto && whole[s.Graph] {
			continue
		}
		g, err := reader.Read(files[i].Path(), s.Proto)
		if err != nil {
			r.run.addProblem(BadSide, files[i].Path(), f.At, err)
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
				r.run.addProblem(BadSide, files[i].Path(), f.At, err)
			}
		}
	}
	for _, g := range rounds {
		g.attachToRound()
	}
}

// roundGraph collects the nodes of graphs for the operators of a round.
type roundGraph struct {
	round *Round
	// names has the operators by their normalised names.
	names map[string][]*Op
	found map[*Op]*foundNode
	files []string
}

// foundNode is the node of an operator.
type foundNode struct {
	op     graph.Op
	script string
	isOwn  bool // the graph belongs to the round
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

// add adds the nodes of a graph. MindSpore dumps the operators of an inner graph into the folder of
// its root graph, so an operator of the round may be in a graph with another number.
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
		isDumped: func(name string) bool { return r.names[filename.Normalise(name)] != nil }}
	for _, op := range slices.SortedFunc(maps.Keys(nodes), func(a, b *Op) int {
		return cmp.Or(cmp.Compare(nodes[a], nodes[b]), strings.Compare(a.Name, b.Name), cmp.Compare(a.Execution, b.Execution))
	}) {
		i := nodes[op]
		if old := r.found[op]; old != nil && (old.isOwn || !own) {
			continue
		}
		n := &g.Nodes[i]
		if _, known := flow.levels[i]; !known {
			flow.connect(i, 0)
		}
		f := &foundNode{isOwn: own, op: *flow.nodeOp(i), flow: flow}
		f.op.Name, f.op.Type = op.Name, op.Type // several operators may share a node
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

// addAttributes reads the attributes of the found nodes of a graph.
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

// match finds the nodes of operators: by the full name, else by its last segment and the type. A
// name that several nodes have is not used.
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

// maxLevels is the largest number of producers without a dump between two dumped operators.
const maxLevels = 8

// flow is the data flow into the dumped operators of a graph, directly or through operators without
// a dump.
type flow struct {
	g      *graph.IR
	dumped map[int]*Op
	// ops has the operators by node. Operators without a dump have the names of the graph.
	ops map[int]*graph.Op
	// levels is the distance from a node to the next dumped operator below it.
	levels   map[int]int
	names    map[string]bool        // of operators without a dump
	isDumped func(name string) bool // reports whether a dumped operator has the name
}

// nodeOp returns the operator of a node.
func (f *flow) nodeOp(i int) *graph.Op {
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
	// Clones: a substring would keep all texts of the graph in memory.
	op.Name, op.Type = strings.Clone(n.OpName()), strings.Clone(n.Type)
	if op.Name == "" || f.names[op.Name] || f.isDumped(op.Name) {
		op.Name = fmt.Sprintf("@%s:%s", f.g.Subgraphs[n.Subgraph], f.g.Label(n))
	}
	f.names[op.Name] = true
	return op
}

// connect finds the producers of a node, and the producers of producers without a dump.
func (f *flow) connect(i, level int) {
	n, op := &f.g.Nodes[i], f.nodeOp(i)
	_, known := f.levels[i]
	f.levels[i] = level
	for k := range f.g.InputCount(n) {
		for _, s := range f.g.Producers(n, k) {
			if s.Node < 0 {
				continue
			}
			if p := (graph.Producer{Op: f.nodeOp(s.Node).Name, Output: s.Output}); !known && !slices.Contains(op.Inputs, p) {
				op.Inputs = append(op.Inputs, p)
			}
			before, seen := f.levels[s.Node]
			if f.dumped[s.Node] == nil && level < maxLevels && (!seen || before > level+1) {
				f.connect(s.Node, level+1)
			}
		}
	}
}

// attachToRound gives the round its graph and the lines of the script.
func (r *roundGraph) attachToRound() {
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
	for _, f := range flows { // the operators without a dump, in the order of the graph
		for _, i := range slices.Sorted(maps.Keys(f.ops)) {
			if f.dumped[i] == nil {
				ops = append(ops, *f.ops[i])
			}
		}
	}
	slices.Sort(r.files)
	r.round.sideSources.ir = graph.New(ops)
	r.round.sideSources.ir.Source = "graph " + strings.Join(slices.Compact(r.files), ", ")
}

// GraphFiles reads graphs saved by MindSpore. The ranks of a job often save the same graph: texts
// for which graph.AlikeIR holds are parsed once. Several goroutines may read.
type GraphFiles struct {
	mu    sync.Mutex
	files map[int64]*graphShare // by their sizes
}

// graphShare is the graph of the first file of a size. It is kept until the last file of that size
// is read.
type graphShare struct {
	left int // files of the size still to read
	name string
	once sync.Once
	g    *graph.IR
	err  error
}

// NewGraphFiles returns a reader. Each file must be read once.
func NewGraphFiles() *GraphFiles { return &GraphFiles{files: make(map[int64]*graphShare)} }

// Expect announces a text, so that its graph can be shared. It is optional.
func (f *GraphFiles) Expect(name string) {
	if info, err := store.Stat(name); err == nil {
		if f.files[info.Size()] == nil {
			f.files[info.Size()] = new(graphShare)
		}
		f.files[info.Size()].left++
	}
}

// Read reads a file. Like graph.ReadIR it may return a graph with an error. The graph may be shared
// with another file and must not be changed.
func (f *GraphFiles) Read(name string, proto bool) (g *graph.IR, err error) {
	err = safefile.Read(name, func(in safefile.Input) (err error) {
		if proto {
			g, err = graph.ReadIRProto(in, in.Size())
			return err
		}
		share := f.sharedGraph(in.Size(), name)
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

// sharedGraph returns the shared graph for files of a size, nil for none.
func (f *GraphFiles) sharedGraph(size int64, name string) *graphShare {
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

// isAlike calls graph.AlikeIR for two files.
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
	return graph.IsSameGraphIR(a, b)
}

package dumpdir

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/graph"
)

// graphsFolder holds the graphs that MindSpore saves beside the dumps.
const graphsFolder = "graphs"

// attachGraphs gives the rounds of MindSpore what the graphs of their rank say: the
// order of the operators, who feeds whom, and the lines of the script. Of a graph only
// what was dumped is kept.
func (r *reader) attachGraphs() {
	for _, f := range r.run.folders {
		if f.Producer != MindSpore || path.Base(f.Dir) != graphsFolder {
			continue
		}
		var rounds []*roundGraph
		for _, round := range r.run.Rounds {
			if (f.At.Rank == "" || f.At.Rank == round.At.Rank) && slices.ContainsFunc(round.folders, func(x *Folder) bool { return x.Producer == MindSpore }) {
				rounds = append(rounds, newRoundGraph(round))
			}
		}
		if len(rounds) == 0 {
			continue
		}
		r.readGraphs(f, rounds)
	}
}

// attachGiven gives all rounds what a graph that was given says, or the graphs of a
// folder.
func (r *reader) attachGiven(name string) {
	f := &Folder{Path: name, Dir: "."}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		r.run.problem(BadSide, name, Coordinates{}, err)
		return
	case !info.IsDir():
		f.files = []*File{{Folder: f, Name: filepath.Base(name), Size: info.Size()}}
	default:
		entries, err := os.ReadDir(name)
		if err != nil {
			r.run.problem(BadSide, name, Coordinates{}, err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				f.files = append(f.files, &File{Folder: f, Name: e.Name(), Size: info.Size(), path: filepath.Join(name, e.Name())})
			}
		}
	}
	var rounds []*roundGraph
	for _, round := range r.run.Rounds {
		rounds = append(rounds, newRoundGraph(round))
	}
	r.readGraphs(f, rounds)
}

// readGraphs reads the graphs of a folder one after the other, and hands the rounds
// what they say.
func (r *reader) readGraphs(f *Folder, rounds []*roundGraph) {
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
		g, err := readSaved(files[i], s.Proto)
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
		}
	}
	for _, g := range rounds {
		g.finish()
	}
}

func readSaved(file *File, proto bool) (g *graph.IR, err error) {
	err = readSide(file.Path(), func(in io.Reader) (err error) {
		if proto {
			g, err = graph.ReadIRProto(in, file.Size)
		} else {
			g, err = graph.ReadIR(in)
		}
		return err
	})
	return g, err
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
	for op, i := range nodes {
		if old := r.found[op]; old != nil && (old.own || !own) {
			continue
		}
		n := &g.Nodes[i]
		f := &foundNode{own: own, op: graph.Op{Name: op.Name, Type: op.Type, ID: int64(i), HasID: true}}
		f.op.Inputs = dumpedProducers(g, n, dumped)
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

// dumpedProducers returns the dumped operators that feed a node, directly or through
// others.
func dumpedProducers(g *graph.IR, n *graph.Node, dumped map[int]*Op) []graph.Producer {
	var all []graph.Producer
	seen := make(map[int]bool)
	var walk func(n *graph.Node, level int)
	walk = func(n *graph.Node, level int) {
		for k := range g.InputCount(n) {
			for _, s := range g.Producers(n, k) {
				if s.Node < 0 {
					continue
				}
				if op := dumped[s.Node]; op != nil {
					if p := (graph.Producer{Op: op.Name, Output: s.Output}); !slices.Contains(all, p) {
						all = append(all, p)
					}
				} else if level < levelsUp && !seen[s.Node] {
					seen[s.Node] = true
					walk(&g.Nodes[s.Node], level+1)
				}
			}
		}
	}
	walk(n, 1)
	return all
}

// finish hands the round what was found.
func (r *roundGraph) finish() {
	if len(r.found) == 0 {
		return
	}
	var ops []graph.Op
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
	}
	slices.Sort(r.files)
	r.round.side.ir, r.round.side.irFile = graph.New(ops), strings.Join(slices.Compact(r.files), ", ")
}

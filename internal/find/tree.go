package find

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
)

// tree is the searched folders.
type tree struct {
	run   *dumpdir.Run
	roots []*root
	// several: results must include the paths of their folders.
	several      bool
	reader       *dumpdir.GraphFiles
	rootByFolder map[string]*root // roots by absolute folder
}

// root is a folder with the graphs and dumps of a rank.
type root struct {
	dir    string // absolute
	name   string // as shown in results
	rank   *int
	graphs []graphFile
	files  []*dumpdir.File
	rounds []*dumpdir.Round // with statistics
	dumped bool             // some operator has a dump
	kinds  dumpedKinds      // inputs or outputs that the configuration dumps
	// orders maps graphs to the files with their execution orders.
	orders map[int]string
	// bare is used instead of graphs if there are none.
	bare *bareGraph
}

type graphFile struct {
	graph.SavedFile
	path string
	name string // as shown in results
}

// notFolderError reports a path that does not exist.
type notFolderError struct{ error }

// IsUsage reports whether an error of Run is a mistake of the caller.
func IsUsage(err error) bool {
	var bad notFolderError
	return errors.As(err, &bad)
}

// openTree lists the folders and finds the graphs in them.
func openTree(ctx context.Context, opt *Options) (*tree, error) {
	for _, p := range append(slices.Clone(opt.Paths), opt.IR...) {
		_, err := store.Stat(p)
		if store.IsRemote(p) && err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = notFolderError{err}
			}
			return nil, err
		}
		if err != nil {
			return nil, notFolderError{lang.Errorf("%s: no such file or folder", p)}
		}
	}
	run, err := dumpdir.Open(ctx, opt.Paths, dumpdir.Options{NoRaw: true})
	if err != nil {
		return nil, err
	}
	t := &tree{run: run, several: len(opt.Paths) > 1, rootByFolder: make(map[string]*root)}
	t.findGraphs(ctx, opt)
	t.chooseGraphs(opt)
	t.assignFiles(opt)
	t.readSettings()
	if len(t.roots) == 0 {
		return t, t.bareRoots(ctx, opt, false)
	}
	return t, nil
}

// name returns a path as shown in results: relative to the given folder.
func (t *tree) name(f *dumpdir.File) string {
	if t.several {
		return filepath.ToSlash(f.Path())
	}
	return path.Join(f.Folder.Dir, store.Base(f.Path()))
}

// findGraphs finds the files with graphs: the given ones, else files in the tree, else files in a
// folder graphs above it.
func (t *tree) findGraphs(ctx context.Context, opt *Options) {
	for _, p := range opt.IR {
		t.addGraphs(ctx, p)
	}
	if len(opt.IR) > 0 {
		return
	}
	for _, f := range t.run.Files {
		t.addGraph(f.Path(), t.name(f), false)
	}
	if len(t.roots) > 0 {
		return
	}
	for _, p := range opt.Paths {
		t.findAbove(p)
	}
}

// addGraphs adds a given graph file, or the graphs in a given folder or archive.
func (t *tree) addGraphs(ctx context.Context, p string) {
	run, err := dumpdir.Open(ctx, []string{p}, dumpdir.Options{NoRaw: true, IR: dumpdir.NoIR})
	if err != nil || run.Single {
		t.addGraph(p, filepath.ToSlash(p), true)
		return
	}
	for _, f := range run.Files {
		t.addGraph(f.Path(), filepath.ToSlash(f.Path()), false)
	}
}

// foldersAbove is the number of parent folders that are searched for graphs.
const foldersAbove = 6

// findAbove searches for graphs above a folder.
func (t *tree) findAbove(p string) {
	for up := range foldersAbove {
		dir := ancestor(p, up+1)
		folder := store.Join(dir, graphsFolder)
		entries, err := store.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Type().IsRegular() {
				full := store.Join(folder, e.Name())
				t.addGraph(full, filepath.ToSlash(full), false)
			}
		}
		if len(t.roots) == 0 {
			continue
		}
		orders, _ := store.ReadDir(store.Join(dir, orderFolder)) // there may be none
		for _, e := range orders {
			if id, ok := orderGraph(e.Name()); ok {
				t.roots[0].orders[id] = store.Join(dir, orderFolder, e.Name())
			}
		}
		return
	}
}

// ancestor returns the folder levels above p.
func ancestor(p string, levels int) string {
	if !store.IsRemote(p) {
		return store.Join(p, strings.Repeat("../", levels))
	}
	for range levels {
		p = store.Dir(store.Clean(p))
	}
	return p
}

// The folders beside the dumps.
const (
	graphsFolder = "graphs"
	orderFolder  = "execution_order"
)

var rankFolder = regexp.MustCompile(`^rank_(\d+)$`)

// addGraph adds a file if its name may be a graph's; a given file is always added.
func (t *tree) addGraph(file, name string, given bool) {
	saved, ok := graph.ParseSaved(store.Base(file))
	if !ok && !given {
		return
	}
	if !ok {
		saved = graph.SavedFile{Stage: graph.OtherStage, Graph: -1, Seq: -1, Proto: strings.HasSuffix(file, ".pb")}
	}
	dir := store.Dir(absolute(file))
	rootName := store.Dir(name)
	if store.Base(dir) == graphsFolder {
		dir, rootName = store.Dir(dir), store.Dir(rootName)
	}
	r := t.rootByFolder[dir]
	if r == nil {
		r = &root{dir: dir, name: rootName, orders: make(map[int]string)}
		if m := rankFolder.FindStringSubmatch(store.Base(dir)); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				r.rank = &n
			}
		}
		t.rootByFolder[dir] = r
		t.roots = append(t.roots, r)
	}
	r.graphs = append(r.graphs, graphFile{saved, file, name})
}

func absolute(p string) string {
	if abs, err := store.Abs(p); err == nil {
		return abs
	}
	return p
}

// chooseGraphs keeps the latest file of every graph in the latest stage of every folder.
func (t *tree) chooseGraphs(opt *Options) {
	slices.SortStableFunc(t.roots, func(a, b *root) int { return lang.CompareNatural(a.name, b.name) })
	for _, r := range t.roots {
		if len(opt.IR) == 0 {
			r.graphs = bestGraphs(r.graphs)
		}
		r.graphs = slices.DeleteFunc(r.graphs, func(g graphFile) bool { return !opt.Rounds.Includes(r.coordinatesOf(g.Graph)) })
		slices.SortStableFunc(r.graphs, func(a, b graphFile) int {
			return cmp.Or(cmp.Compare(a.Graph, b.Graph), lang.CompareNatural(a.name, b.name))
		})
	}
}

// expectGraphs tells the reader which graph texts it will read.
func (t *tree) expectGraphs() {
	t.reader = dumpdir.NewGraphFiles()
	for _, r := range t.roots {
		for i := range r.graphs {
			if g := &r.graphs[i]; !g.Proto {
				t.reader.Expect(g.path)
			}
		}
	}
}

// coordinatesOf returns the coordinates of a graph of the root.
func (r *root) coordinatesOf(id int) dumpdir.Coordinates {
	at := dumpdir.Coordinates{}
	if r.rank != nil {
		at.Rank = strconv.Itoa(*r.rank)
	}
	if id >= 0 {
		at.Graph = strconv.Itoa(id)
	}
	return at
}

// bestGraphs returns the relevant graph files of each folder of a root.
func bestGraphs(all []graphFile) []graphFile {
	folders := make(map[string][]graphFile)
	for _, g := range all {
		dir := store.Dir(g.name)
		folders[dir] = append(folders[dir], g)
	}
	var best []graphFile
	for _, files := range folders {
		saved := make([]graph.SavedFile, len(files))
		for i, g := range files {
			saved[i] = g.SavedFile
		}
		for _, i := range graph.LastStage(saved) {
			best = append(best, files[i])
		}
	}
	return best
}

// assignFiles assigns every file to the nearest root above it; files below no root belong to the
// only root, if there is one.
func (t *tree) assignFiles(opt *Options) {
	for _, f := range t.run.Files {
		r := t.rootOf(f)
		if r == nil {
			continue
		}
		if id, ok := orderGraph(f.Name); ok && path.Base(filepath.ToSlash(store.Dir(f.Path()))) == orderFolder {
			r.orders[id] = f.Path()
		}
		if opt.Rounds.Includes(f.Folder.At) {
			r.files = append(r.files, f)
		}
	}
	if opt.NoFiles {
		return
	}
	for _, round := range t.run.Rounds {
		if !opt.Rounds.Includes(round.At) {
			continue
		}
		seen := make(map[*root]bool)
		for _, op := range round.Ops {
			for i := range op.Tensors {
				if s := op.Tensors[i].Statistics; s != nil && s.File != nil {
					if r := t.rootOf(s.File); r != nil && !seen[r] {
						seen[r] = true
						r.rounds = append(r.rounds, round)
					}
				}
			}
		}
	}
}

// rootOf returns the root of a file, nil for none.
func (t *tree) rootOf(f *dumpdir.File) *root {
	dir := store.Dir(absolute(f.Path()))
	if r, known := t.rootByFolder[dir]; known {
		return r
	}
	var found *root
	for up := dir; found == nil; up = store.Dir(up) {
		found = t.rootByFolder[up]
		if store.Dir(up) == up {
			break
		}
	}
	if found == nil && len(t.roots) == 1 {
		found = t.roots[0]
	}
	t.rootByFolder[dir] = found
	return found
}

// orderGraph returns the graph whose execution order a file holds.
func orderGraph(name string) (int, bool) {
	id, ok := strings.CutPrefix(name, "ms_execution_order_graph_")
	id, ok2 := strings.CutSuffix(id, ".csv")
	n, err := strconv.Atoi(id)
	return n, ok && ok2 && err == nil && n >= 0
}

// loadedGraph is a graph in memory.
type loadedGraph struct {
	*graph.IR
	file  graphFile
	names []string       // in execution order
	place map[string]int // by name, from 1
	// ops lists the operators of the nodes if no file holds the graph.
	ops [][]*dumpdir.Op
}

// id returns the number of the graph, nil if unknown.
func (g *loadedGraph) id() *int {
	if g.file.Graph < 0 {
		return nil
	}
	id := g.file.Graph // a pointer into g would keep the whole graph
	return &id
}

// oddities returns oddities of the graph.
func (g *loadedGraph) oddities() []lang.Sentence {
	all := lists.Map(g.Warnings, func(warning lang.Sentence) lang.Sentence { return lang.Say("%s: %s", g.file.name, warning) })
	if n := g.Misfits.Count; n > 0 {
		all = append(all, lang.Say("%s: skipped %s of another format; to list them: %s", g.file.name, lang.CountText(n, "place"), lang.CommandLine("inspect", "--verbose", lang.PathArgument(g.file.path))))
	}
	return all
}

// load reads the graphs of a root. Protobuf files are used for graphs whose text is missing or has
// no nodes.
func (r *root) load(ctx context.Context, reader *dumpdir.GraphFiles) (all []*loadedGraph, bad []Unreadable) {
	if r.bare != nil {
		return []*loadedGraph{{IR: graph.NewIR(r.bare.specs), file: graphFile{SavedFile: graph.SavedFile{Graph: r.bare.id}}, ops: r.bare.ops}}, nil
	}
	hasNodes := make(map[int]bool)
	for _, proto := range []bool{false, true} {
		for _, f := range r.graphs {
			if f.Proto != proto || proto && f.Graph >= 0 && hasNodes[f.Graph] || ctx.Err() != nil {
				continue
			}
			g, err := reader.Read(f.path, f.Proto)
			if err != nil {
				bad = append(bad, unreadable(f.name, err))
			}
			if g != nil && len(g.Nodes) > 0 {
				hasNodes[f.Graph] = true
				all = append(all, &loadedGraph{IR: g, file: f})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *loadedGraph) int {
		return cmp.Or(cmp.Compare(a.file.Graph, b.file.Graph), lang.CompareNatural(a.file.name, b.file.name))
	})
	for _, g := range all {
		if file, ok := r.orders[g.file.Graph]; ok {
			if err := g.readOrder(file); err != nil {
				bad = append(bad, unreadable(filepath.ToSlash(file), err))
			}
		}
	}
	return all, bad
}

func unreadable(name string, err error) Unreadable {
	u := Unreadable{Path: name, Error: lang.Error(err)}
	if at, ok := errors.AsType[*graph.IRError](err); ok {
		u.Error, u.Offset = at.What, &at.Offset
	}
	return u
}

// readOrder reads the execution order of the graph.
func (g *loadedGraph) readOrder(file string) error {
	return safefile.Read(file, func(in safefile.Input) error {
		order, err := sidefile.ReadExecutionOrder(in, store.Base(file))
		if err != nil {
			return err
		}
		g.names, g.place = order.Names, make(map[string]int, len(order.Names))
		for i, name := range order.Names {
			g.place[name] = i + 1
		}
		return nil
	})
}

// dumpedKinds selects the tensors of an operator that the configuration of a tree dumps. Its values are the values of
// MindSpore's input_output.
type dumpedKinds int

const (
	keptAll dumpedKinds = iota
	keptInputs
	keptOutputs
)

// The copy of the configuration that MindSpore writes beside the dumps.
const (
	settingsName = "data_dump.json"
	maxSettings  = 1 << 20 // bytes
)

// settingsFolders lists the folders of the settings file: beside the ranks in old releases, in the folder of the rank
// in later releases.
var settingsFolders = []string{".metadata", ".dump_metadata"}

// readSettings reads which tensors of each root were dumped. An unreadable configuration is ignored
// here: dumptool config check reports it.
func (t *tree) readSettings() {
	for _, f := range t.run.Files {
		dir := store.Dir(absolute(f.Path()))
		if f.Name != settingsName || f.Err != nil || !slices.Contains(settingsFolders, store.Base(dir)) {
			continue
		}
		above := store.Dir(dir)
		for _, r := range t.roots {
			if r.dir == above || strings.HasPrefix(r.dir, above+string(filepath.Separator)) {
				r.kinds = readDumpedKinds(f.Path())
			}
		}
	}
	for _, r := range t.roots { // for a given folder below its root
		for _, folder := range settingsFolders {
			if r.kinds == keptAll && r.bare == nil {
				r.kinds = readDumpedKinds(store.Join(r.dir, folder, settingsName))
			}
		}
	}
}

func readDumpedKinds(name string) dumpedKinds {
	in, err := safefile.Open(name)
	if err != nil {
		return keptAll
	}
	defer in.Close()
	var settings struct {
		Common struct {
			InputOutput dumpedKinds `json:"input_output"`
		} `json:"common_dump_settings"`
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSettings))
	if err != nil || json.Unmarshal(data, &settings) != nil {
		return keptAll
	}
	return settings.Common.InputOutput
}

// dumpedKindsNote says where to find a tensor that the configuration did not dump, for the first result
// that lacks one; empty for none.
func (r *root) dumpedKindsNote(results []Result) lang.Sentence {
	for _, result := range results {
		op, ok := result.(*Operator)
		if !ok || op.Level > 0 || op.NotDumped || !r.dumped {
			continue
		}
		switch r.kinds {
		case keptOutputs:
			for k := range op.Inputs {
				in := &op.Inputs[k]
				from := in.From
				if len(in.Dumped) > 0 {
					from = in.Dumped
				}
				if len(from) == 0 || op.excludes("input", in.Index) {
					continue
				}
				return lang.Say("only outputs were dumped (input_output 2): for input %d of %s take %s",
					in.Index, path.Base(string(op.OpName)), from[0].text())
			}
		case keptInputs:
			for k := range op.Outputs {
				out := &op.Outputs[k]
				if out.dumped == nil || op.excludes("output", out.Index) {
					continue
				}
				return lang.Say("only inputs were dumped (input_output 1): for output %d of %s take input %d of %s",
					out.Index, path.Base(string(op.OpName)), out.dumped.Index, path.Base(out.dumped.Name))
			}
		}
	}
	return lang.Sentence{}
}

// text describes an output or a parameter.
func (l Link) text() lang.Text {
	if name, isParam := strings.CutPrefix(l.Name, "param:"); isParam {
		return lang.Say("the parameter %s", name).Text()
	}
	return lang.Say("output %d of %s", l.Index, path.Base(l.Name)).Text()
}

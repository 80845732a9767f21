package find

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/graph"
	"dumptool/internal/jsonpos"
)

// fileID is the operator named by a dump's file name.
type fileID struct {
	op, opType string
	norm       string // op, normalised as in file names
	graph      string // the graph of the folder, empty if unknown
	FileTensor
}

// parameterType is the operator type in the names of parameters' dumps.
const parameterType = "Parameter"

// parseDumpName parses the name of a dump. It returns false for other files, and for overflow records,
// whose names do not identify an operator.
func parseDumpName(name, graph string) (*fileID, bool) {
	n := filename.Parse(name)
	id := &fileID{op: n.OpName, opType: n.OpType, graph: graph}
	switch {
	case n.IsOpDebug():
		return nil, false
	case n.HasDump || n.Grammar == filename.Sync:
	case n.Grammar == filename.Plain && n.Ext == ".json":
		// The arguments of a kernel.
		var ok bool
		if id.opType, id.op, ok = strings.Cut(n.Stem, "."); !ok {
			return nil, false
		}
	default:
		return nil, false
	}
	id.norm = filename.Normalise(id.op)
	if n.Kind != "" {
		id.FileTensor = FileTensor{jsonpos.NullableText(n.Kind), &n.Index}
	}
	return id, true
}

// graphItem is a node or a parameter of a graph.
type graphItem struct {
	graph       *loadedGraph
	node, param int // the other is -1
}

// resolver maps file names to nodes and parameters of graphs.
type resolver struct {
	names, lasts, params map[string][]graphItem
}

// lastPart returns the part of a name behind the last slash.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// newResolver indexes the nodes and parameters that the normalised names norms may mean.
func newResolver(graphs []*loadedGraph, norms map[string]bool) *resolver {
	r := &resolver{names: make(map[string][]graphItem), lasts: make(map[string][]graphItem), params: make(map[string][]graphItem)}
	lengths := make(map[int]bool) // most names differ in length, which is cheap to check
	for norm := range norms {
		lengths[len(norm)] = true
	}
	for _, g := range graphs {
		for i := range g.Nodes {
			n := &g.Nodes[i]
			name := n.OpName()
			last := lastPart(name)
			if lengths[len(name)] {
				if norm := filename.Normalise(name); norms[norm] {
					r.names[norm] = append(r.names[norm], graphItem{g, i, -1})
				}
			}
			if lengths[len(last)] {
				if norm := filename.Normalise(last); norms[norm] {
					key := lastKey(n.Type, norm)
					r.lasts[key] = append(r.lasts[key], graphItem{g, i, -1})
				}
			}
		}
		for i := range g.Params {
			if norm := filename.Normalise(g.Params[i].Name); norms[norm] {
				r.params[norm] = append(r.params[norm], graphItem{g, -1, i})
			}
		}
	}
	return r
}

func lastKey(opType, last string) string { return strings.ToLower(opType) + "\x00" + last }

// candidates returns the things that a file may belong to: found by the whole name, else by last
// segment and type, else a parameter. Things in the graph of the file's folder are preferred.
func (r *resolver) candidates(id *fileID) []graphItem {
	all := r.params[id.norm]
	if id.opType != parameterType {
		if found := r.names[id.norm]; len(found) > 0 {
			all = found
		} else if found := r.lasts[lastKey(id.opType, id.norm)]; len(found) > 0 {
			all = found
		} else if id.opType != "" {
			return nil
		}
	}
	own := slices.DeleteFunc(slices.Clone(all), func(x graphItem) bool {
		return x.graph.file.Graph < 0 || strconv.Itoa(x.graph.file.Graph) != id.graph
	})
	if len(own) > 0 {
		return own
	}
	return all
}

// dumps lists the files of a thing.
type dumps struct {
	files, ambiguous []*dumpdir.File
	rows             []Row
}

// mayBeDump reports whether a file may be a dump of an operator.
func mayBeDump(f *dumpdir.File) bool {
	return f.Role != dumpdir.Product && f.Role != dumpdir.Table && f.Err == nil
}

// hasDumps reports whether any operator has a dump.
func (r *root) hasDumps() bool {
	return r.bare == nil && (len(r.rounds) > 0 || slices.ContainsFunc(r.files, func(f *dumpdir.File) bool {
		_, ok := parseDumpName(f.Name, "")
		return ok && mayBeDump(f)
	}))
}

// dumpsOf finds the files of things by name.
func (r *root) dumpsOf(graphs []*loadedGraph, things []graphItem) map[graphItem]*dumps {
	of := make(map[graphItem]*dumps, len(things))
	if r.bare != nil {
		for _, x := range things {
			of[x] = x.graph.dumps(x.node)
		}
		return of
	}
	interest := make(map[string]bool)
	for _, x := range things {
		of[x] = &dumps{}
		if x.node < 0 {
			interest[filename.Normalise(x.graph.Params[x.param].Name)] = true
			continue
		}
		name := x.graph.Nodes[x.node].OpName()
		interest[filename.Normalise(name)] = true
		interest[filename.Normalise(lastPart(name))] = true
	}
	delete(interest, "")
	type found struct {
		id   *fileID
		file *dumpdir.File
		op   *dumpdir.Op
	}
	var all []found
	norms := make(map[string]bool)
	add := func(f found) {
		if interest[f.id.norm] {
			all = append(all, f)
			norms[f.id.norm] = true
		}
	}
	for _, f := range r.files {
		if !mayBeDump(f) {
			continue
		}
		if id, ok := parseDumpName(f.Name, f.Folder.At.Graph); ok {
			add(found{id: id, file: f})
		}
	}
	for _, round := range r.rounds {
		for _, op := range round.Ops {
			add(found{id: &fileID{op: op.Name, opType: op.Type, norm: filename.Normalise(op.Name), graph: round.At.Graph}, op: op})
		}
	}
	names := newResolver(graphs, norms)
	for _, f := range all {
		candidates := names.candidates(f.id)
		for _, x := range candidates {
			d := of[x]
			switch {
			case d == nil:
			case f.op != nil && len(candidates) == 1:
				for i := range f.op.Tensors {
					if t := &f.op.Tensors[i]; t.Statistics != nil && t.Statistics.File != nil {
						d.rows = append(d.rows, Row{t.Kind, t.Index, t.Statistics})
					}
				}
			case f.op != nil:
			case len(candidates) == 1:
				d.files = append(d.files, f.file)
			default:
				d.ambiguous = append(d.ambiguous, f.file)
			}
		}
	}
	return of
}

// target is a file that the query names.
type target struct {
	id   *fileID
	root *root // nil for every root
	file *dumpdir.File
}

// targets returns the files that a query names: the file at that path, else files in the tree with
// that name, else any file with that name. known is false if the query is no file.
func (t *tree) targets(q *Query, opt *Options) (all []target, known bool) {
	if q.Kind != Auto && q.Kind != File && q.Kind != ID && q.Kind != Line && q.Kind != Param {
		return nil, false
	}
	base := lastPart(q.Text)
	if existing := existingFile(q.Text, opt.Paths); existing != "" {
		for _, f := range t.run.Files {
			if absolute(f.Path()) == existing {
				return t.appendTarget(nil, f), true
			}
		}
		if id, ok := parseDumpName(base, ""); ok {
			return []target{{id: id}}, true
		}
		return nil, true
	}
	if base == q.Text {
		isFile := false
		for _, f := range t.run.Files {
			if f.Name == base || strings.HasSuffix(f.Path(), "/"+base) {
				isFile = true
				all = t.appendTarget(all, f)
			}
		}
		if isFile {
			return all, true
		}
	}
	if q.Kind == File || q.isDumpName() {
		if id, ok := parseDumpName(base, ""); ok {
			return []target{{id: id}}, true
		}
		return nil, true
	}
	return nil, false
}

func (t *tree) appendTarget(all []target, f *dumpdir.File) []target {
	if t.hasNoGraphs() {
		return append(all, target{file: f})
	}
	if id, ok := parseDumpName(f.Name, f.Folder.At.Graph); ok {
		if r := t.rootOf(f); r != nil {
			return append(all, target{id, r, f})
		}
	}
	return all
}

// hasNoGraphs reports whether the tree has no graphs.
func (t *tree) hasNoGraphs() bool { return len(t.roots) > 0 && t.roots[0].bare != nil }

// hitsOf returns the things that the target files belong to.
func (r *root) hitsOf(targets []target, graphs []*loadedGraph) []matchedNode {
	if r.bare != nil {
		return bareFiles(targets, graphs)
	}
	norms := make(map[string]bool)
	for _, t := range targets {
		norms[t.id.norm] = true
	}
	names := newResolver(graphs, norms)
	var hits []matchedNode
	for _, t := range targets {
		if t.root != nil && t.root != r {
			continue
		}
		for _, x := range names.candidates(t.id) {
			match := MatchFile
			if x.node < 0 {
				match = MatchParam
			}
			hits = append(hits, matchedNode{graphItem: x, match: match, file: t.id})
		}
	}
	return hits
}

// Without MindSpore graphs, the operators come from the names and headers of the dumps, and from
// msprobe's calls. They replace the graph.

// bareRoots makes a root for each rank, graph and model of a tree without graphs. With headers it
// also uses the names in the headers, and the names in the user's model.
func (t *tree) bareRoots(ctx context.Context, opt *Options, headers bool) error {
	if headers {
		if err := t.run.ReadHeaders(ctx, dumpdir.HeaderOptions{Workers: opt.Workers}); err != nil {
			return err
		}
	}
	t.roots = nil
	roots := make(map[dumpdir.Coordinates]*root)
	var keys []dumpdir.Coordinates
	for _, round := range t.run.Rounds {
		if !opt.Rounds.Includes(round.At) {
			continue
		}
		at := round.At
		at.Step, at.Folder = "", ""
		r := roots[at]
		if r == nil {
			r = &root{name: at.String(), orders: make(map[int]string), bare: &bareGraph{index: make(map[string]int)}}
			if n, err := strconv.Atoi(at.Rank); err == nil {
				r.rank = &n
			}
			r.bare.id = -1
			if n, err := strconv.ParseUint(at.Graph, 10, 31); err == nil {
				r.bare.id = int(n)
			}
			roots[at] = r
			keys = append(keys, at)
		}
		for _, op := range round.Ops {
			r.bare.add(op)
		}
	}
	slices.SortFunc(keys, dumpdir.Coordinates.Compare)
	for _, at := range keys {
		t.roots = append(t.roots, roots[at])
	}
	return nil
}

// bareGraph collects the operators of a root without graphs.
type bareGraph struct {
	id    int
	specs []graph.OpSpec
	ops   [][]*dumpdir.Op
	index map[string]int
}

// add adds an execution of an operator under its names: first the name in the header, then its
// names in the model.
func (b *bareGraph) add(op *dumpdir.Op) {
	names := op.Names()
	for _, o := range op.Origins {
		names = append(names, o.Op)
	}
	slices.Sort(names[1:])
	for k, name := range slices.Compact(names) {
		if name == "" || k > 0 && name == names[0] {
			continue
		}
		key := op.Type + "\x00" + name
		i, known := b.index[key]
		if !known {
			i = len(b.specs)
			b.index[key] = i
			spec := graph.OpSpec{Name: name, Type: op.Type}
			if op.Call != nil {
				spec.Stack = locations(op.Call.Stack)
			}
			b.specs, b.ops = append(b.specs, spec), append(b.ops, nil)
		}
		b.ops[i] = append(b.ops[i], op)
	}
}

// callLine matches a line of a stack in msprobe's form.
var callLine = regexp.MustCompile(`(?s)^File (.+), line (\d+), in [^,]*,?\s*(.*)$`)

func locations(lines []string) []graph.Location {
	var all []graph.Location
	for _, line := range lines {
		m := callLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if n, ok := parseNumber(m[2]); ok {
			library := strings.Contains(m[1], "/site-packages/") || strings.Contains(m[1], "/dist-packages/")
			all = append(all, graph.Location{Path: m[1], Line: n, Code: m[3], Library: library})
		}
	}
	return all
}

// dumps returns the files of a node.
func (g *loadedGraph) dumps(node int) *dumps {
	d := &dumps{}
	for _, op := range g.ops[node] {
		for i := range op.Tensors {
			t := &op.Tensors[i]
			if !slices.Contains(d.files, t.File) && !t.Table {
				d.files = append(d.files, t.File)
			}
			if t.Statistics != nil && t.Statistics.File != nil {
				d.rows = append(d.rows, Row{t.Kind, t.Index, t.Statistics})
			}
		}
	}
	return d
}

// bareFiles returns the operators of the target files.
func bareFiles(targets []target, graphs []*loadedGraph) []matchedNode {
	var hits []matchedNode
	for _, g := range graphs {
		for i, ops := range g.ops {
			if id := targetOfOperators(targets, ops); id != nil {
				hits = append(hits, matchedNode{graphItem: graphItem{g, i, -1}, match: MatchFile, file: id})
			}
		}
	}
	return hits
}

// targetOfOperators returns the target that is a file of the operators, nil for none.
func targetOfOperators(targets []target, ops []*dumpdir.Op) *fileID {
	for _, t := range targets {
		for _, op := range ops {
			for i := range op.Tensors {
				if x := &op.Tensors[i]; x.File == t.file {
					id := fileID{op: op.Name, opType: op.Type}
					if !x.IsWholeFile() {
						id.FileTensor = FileTensor{jsonpos.NullableText(x.Kind), &x.Index}
					}
					return &id
				}
			}
		}
	}
	return nil
}

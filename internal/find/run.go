package find

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// Run looks for what a query means. The error is that of ctx, or of a folder that is
// not there; see IsUsage. Files that cannot be read are in the answer.
func Run(ctx context.Context, q *Query, opt Options) (*Answer, error) {
	t, err := openTree(ctx, &opt)
	if err != nil {
		return nil, err
	}
	a := &Answer{Schema: Schema, Query: q.Text, Kind: q.Kind, Results: []Result{}, Unreadable: []Unreadable{}, Notes: []lang.Sentence{}}
	s := &search{tree: t, query: q, opt: &opt}
	if targets, isFile := t.targets(q, &opt); isFile {
		s.isFile, s.targets = true, targets
	}
	found, err := s.roots(ctx)
	if err == nil && t.isBare() && !slices.ContainsFunc(found, func(r *rootResult) bool { return len(r.results) > 0 && !r.low }) {
		// Headers may have other names.
		if err = t.bareRoots(ctx, &opt, true); err == nil {
			found, err = s.roots(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	s.conclude(a, found)
	return a, nil
}

// roots looks into all roots.
func (s *search) roots(ctx context.Context) (found []*rootResult, err error) {
	s.tree.expectGraphs()
	err = batch.Run(ctx, batch.Options{Workers: s.opt.Workers, Observe: s.opt.Observe}, s.tree.roots, nil, s.root, func(_ int, r *rootResult) {
		found = append(found, r)
	})
	return found, err
}

// existingFile returns the absolute path of a file, from the working folder or one of
// the others; empty for none.
func existingFile(name string, dirs []string) string {
	for _, dir := range append([]string{""}, dirs...) {
		p := name
		if dir != "" && !store.IsAbs(name) {
			p = store.Join(dir, name)
		}
		if info, err := store.Stat(p); err == nil && !info.IsDir() {
			return absolute(p)
		}
	}
	return ""
}

// search is one search.
type search struct {
	tree    *tree
	query   *Query
	opt     *Options
	isFile  bool
	targets []target
}

// rootResult is what was found in the graphs of a root.
type rootResult struct {
	stage   int // of the hits, the number of stages for none
	kind    Kind
	low     bool // the stage
	results []Result
	more    int
	// name is that of all hits, mixed is set where they differ.
	name    string
	mixed   bool
	repeats bool // an id is that of several operators of a graph

	graphs     int
	unreadable []Unreadable
	notes      []lang.Sentence // about the graphs
	hints      hints
}

// root looks into the graphs of a root.
func (s *search) root(ctx context.Context, r *root) *rootResult {
	graphs, bad := r.load(ctx, s.tree.reader)
	out := &rootResult{unreadable: bad}
	if r.bare == nil {
		out.graphs = len(graphs)
	}
	for _, g := range graphs {
		out.notes = append(out.notes, g.notes()...)
	}
	stages := s.query.stages()
	if s.isFile {
		stages = []stage{{File, func(graphs []*loaded) []hit { return r.hitsOf(s.targets, graphs) }, false}}
	}
	out.stage = len(stages)
	var hits []hit
	for i, one := range stages {
		hits = addHits(hits, one.find(graphs))
		if len(hits) > 0 && out.stage == len(stages) {
			out.stage, out.kind, out.low = i, one.kind, one.low
		}
		if len(hits) > 0 && !s.opt.All {
			break
		}
	}
	if len(hits) == 0 {
		out.hints.collect(s, r, graphs)
		return out
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return a.match.compare(b.match) })
	out.name = hits[0].opName()
	perGraph := make(map[*loaded]int)
	for i := range hits {
		out.mixed = out.mixed || hits[i].opName() != out.name
		perGraph[hits[i].graph]++
		out.repeats = out.repeats || perGraph[hits[i].graph] > 1
	}
	if limit := s.opt.Limit; limit > 0 && len(hits) > limit {
		out.more = len(hits) - limit
		hits = hits[:limit]
	}
	b := builder{search: s, root: r, graphs: graphs, kind: out.kind}
	out.results = b.build(hits)
	if note := r.keptNote(out.results); !note.IsZero() {
		out.notes = append(out.notes, note)
	}
	return out
}

// addHits appends the hits of another stage that no earlier one has, each once.
func addHits(hits, more []hit) []hit {
	seen := make(map[thing]bool, len(hits)+len(more))
	for _, h := range hits {
		seen[h.thing] = true
	}
	for _, h := range more {
		if !seen[h.thing] {
			seen[h.thing] = true
			hits = append(hits, h)
		}
	}
	return hits
}

// opName is the name that tells whether hits are one thing.
func (h *hit) opName() string {
	if h.node < 0 {
		return h.graph.Params[h.param].Name
	}
	return h.graph.Nodes[h.node].Name
}

// conclude makes the answer of the results of all roots: those of the best stage.
func (s *search) conclude(a *Answer, found []*rootResult) {
	best, name, mixed, repeats := -1, "", false, false
	for _, r := range found {
		a.Graphs += r.graphs
		a.Unreadable = append(a.Unreadable, r.unreadable...)
		for _, note := range r.notes { // ranks have much in common
			if !slices.ContainsFunc(a.Notes, note.Equal) {
				a.Notes = append(a.Notes, note)
			}
		}
		if len(r.results) > 0 && (best < 0 || r.stage < best) {
			best = r.stage
		}
	}
	s.addSideProblems(a)
	first := true
	for _, r := range found {
		if len(r.results) == 0 || r.stage > best && !s.opt.All {
			continue
		}
		if r.stage == best {
			a.Kind = r.kind
		}
		if first {
			name, first = r.name, false
		}
		mixed = mixed || r.mixed || r.name != name
		repeats = repeats || r.repeats
		a.Results = append(a.Results, r.results...)
		a.More += r.more
	}
	for _, r := range a.Results {
		if p := r.Where(); p.Confidence == "" {
			p.Confidence = High
			if mixed {
				p.Confidence = Medium
			}
		}
	}
	slices.SortStableFunc(a.Results, func(x, y Result) int { return x.Where().Match.compare(y.Where().Match) })
	if limit := s.opt.Limit; limit > 0 && len(a.Results) > limit {
		a.More += len(a.Results) - limit
		a.Results = a.Results[:limit]
	}
	switch {
	case s.isFile:
		a.Kind = File
	case a.Kind == Auto:
		a.Kind = Op
		if s.query.isCode() {
			a.Kind = Code
		}
	}
	if a.Kind == ID && repeats {
		a.Notes = append(a.Notes, lang.Sayf("ids repeat in this graph: name the scope or the type of the operator", "此图中的 id 有重复：请给出算子的 scope 或类型"))
	}
	if len(a.Results) == 0 {
		s.addHints(a, found)
	}
	a.chosen = make(map[string]bool)
	for _, r := range a.Results {
		a.paths = append(a.paths, s.pathsOf(r)...)
		if r.Where().Confidence != Low {
			for _, f := range r.tensors() {
				a.chosen[absolute(f.Path())] = true
			}
		}
	}
}

// tensors implements Result: the dumps of the parameter itself.
func (q *Parameter) tensors() []*dumpdir.File { return q.dumps }

// tensors implements Result: all dumps of the operator, those of the same tensor for a
// query that is a file.
func (op *Operator) tensors() []*dumpdir.File {
	if op.FileTensor == nil || op.IO == nil {
		return op.dumps
	}
	return slices.DeleteFunc(slices.Clone(op.dumps), func(f *dumpdir.File) bool {
		id, ok := identify(f.Name, "")
		return !ok || id.IO == nil || id.excludes(*op.IO, *op.Index)
	})
}

// Chosen are the dumps that the query asks for, by their absolute paths: those that are
// surely of results of high or medium confidence.
func (a *Answer) Chosen() map[string]bool { return a.chosen }

// addSideProblems adds the files beside the dumps that could not be used.
func (s *search) addSideProblems(a *Answer) {
	for i := range s.tree.run.Problems {
		p := &s.tree.run.Problems[i]
		if p.Kind != dumpdir.BadSide || !s.opt.Rounds.Wants(p.At) {
			continue
		}
		name := s.relative(p.Path)
		if !slices.ContainsFunc(a.Unreadable, func(u Unreadable) bool { return u.Path == name }) {
			a.Unreadable = append(a.Unreadable, Unreadable{Path: name, Error: p.Err.Error()})
		}
	}
	for _, name := range s.tree.run.BadMappings {
		a.Unreadable = append(a.Unreadable, Unreadable{Path: s.relative(name), Error: "it could not be read"})
	}
	a.Notes = append(a.Notes, lang.Plains(s.tree.run.Warnings)...)
}

// relative is a path below the only folder that was given, as results have it.
func (s *search) relative(p string) string {
	if !s.tree.several && len(s.opt.Paths) == 1 {
		if rel, err := store.Rel(s.opt.Paths[0], p); err == nil && !strings.HasPrefix(rel, "..") {
			p = rel
		}
	}
	return filepath.ToSlash(p)
}

// pathsOf returns the files of a result as they can be opened.
func (s *search) pathsOf(r Result) []string {
	var names []string
	switch r := r.(type) {
	case *Operator:
		names = r.Files
	case *Parameter:
		names = append(names, r.Files...)
		for _, c := range r.Consumers {
			names = append(names, c.Files...)
		}
	}
	if s.tree.several || len(s.opt.Paths) != 1 {
		return names
	}
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = store.Join(s.opt.Paths[0], filepath.FromSlash(name))
	}
	return all
}

// Paths are the dumps of all results that are surely theirs, as they can be opened,
// each once.
func (a *Answer) Paths() []string {
	seen := make(map[string]bool)
	var all []string
	for _, p := range a.paths {
		if !seen[p] {
			seen[p] = true
			all = append(all, p)
		}
	}
	return all
}

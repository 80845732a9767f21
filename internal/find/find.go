// Package find finds related things of a MindSpore network: script lines, operators, parameters and
// dump files, each from any other. It reads the graphs that MindSpore saved beside the dumps and
// the names of the dumps, but no tensor.
//
//	q, err := find.ParseQuery("resnet.py:88", find.Auto)
//	answer, err := find.Run(ctx, q, find.Options{Paths: []string{"dump"}})
package find

import (
	"cmp"
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// Run searches for a query. The error is an error of ctx, or of a missing folder; see IsUsage.
// Unreadable files are listed in the answer.
func Run(ctx context.Context, q *Query, opt Options) (*SearchResult, error) {
	t, err := openTree(ctx, &opt)
	if err != nil {
		return nil, err
	}
	a := &SearchResult{Schema: Schema, Query: q.Text, Kind: q.Kind, Results: []Result{}, Unreadable: []Unreadable{}, Notes: []lang.Sentence{}}
	s := &search{tree: t, query: q, opt: &opt}
	if targets, isFile := t.targets(q, &opt); isFile {
		s.isFile, s.targets = true, targets
	}
	found, err := s.searchRoots(ctx)
	if err == nil && t.hasNoGraphs() && !slices.ContainsFunc(found, func(r *rootResult) bool { return len(r.Results) > 0 && !r.low }) {
		// The headers may have other names.
		if err = t.bareRoots(ctx, &opt, true); err == nil {
			found, err = s.searchRoots(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	s.conclude(a, found)
	return a, nil
}

func (s *search) searchRoots(ctx context.Context) (found []*rootResult, err error) {
	s.tree.expectGraphs()
	err = batch.Run(ctx, batch.Options{Workers: s.opt.Workers, Observe: s.opt.Observe}, s.tree.roots, nil, s.searchRoot, func(_ int, r *rootResult) {
		found = append(found, r)
	})
	return found, err
}

// existingFile returns the absolute path of a file, relative to the working folder or one of dirs;
// empty if it exists nowhere.
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

type search struct {
	tree    *tree
	query   *Query
	opt     *Options
	isFile  bool
	targets []target
}

// rootResult is the result for the graphs of a root.
type rootResult struct {
	SearchResult
	stage int  // stage of the hits, or the number of stages if there are no hits
	low   bool // stage.low of the stage
	// name is the common name of all hits; mixed: they differ.
	name    string
	mixed   bool
	repeats bool // several operators of a graph share an id
	hints   hints
}

// searchRoot searches the graphs of a root.
func (s *search) searchRoot(ctx context.Context, r *root) *rootResult {
	graphs, bad := r.load(ctx, s.tree.reader)
	out := &rootResult{SearchResult: SearchResult{Unreadable: bad}}
	if r.bare == nil {
		out.Graphs = len(graphs)
	}
	for _, g := range graphs {
		out.Notes = append(out.Notes, g.oddities()...)
	}
	stages := s.query.stages()
	if s.isFile {
		stages = []matchStage{{File, func(graphs []*loadedGraph) []matchedNode { return r.hitsOf(s.targets, graphs) }, false}}
	}
	out.stage = len(stages)
	var hits []matchedNode
	for i, one := range stages {
		hits = addHits(hits, one.find(graphs))
		if len(hits) > 0 && out.stage == len(stages) {
			out.stage, out.Kind, out.low = i, one.kind, one.low
		}
		if len(hits) > 0 && !s.opt.All {
			break
		}
	}
	if len(hits) == 0 {
		out.hints.collect(s, r, graphs)
		return out
	}
	slices.SortStableFunc(hits, func(a, b matchedNode) int { return a.match.compare(b.match) })
	out.name = hits[0].opName()
	perGraph := make(map[*loadedGraph]int)
	for i := range hits {
		out.mixed = out.mixed || hits[i].opName() != out.name
		perGraph[hits[i].graph]++
		out.repeats = out.repeats || perGraph[hits[i].graph] > 1
	}
	if limit := s.opt.Limit; limit > 0 && len(hits) > limit {
		out.More = len(hits) - limit
		hits = hits[:limit]
	}
	b := builder{search: s, root: r, graphs: graphs, kind: out.Kind}
	out.Results = b.build(hits)
	if note := r.dumpedKindsNote(out.Results); !note.IsZero() {
		out.Notes = append(out.Notes, note)
	}
	return out
}

// addHits appends the new hits of a later stage.
func addHits(hits, more []matchedNode) []matchedNode {
	seen := make(map[graphItem]bool, len(hits)+len(more))
	for _, h := range hits {
		seen[h.graphItem] = true
	}
	for _, h := range more {
		if !seen[h.graphItem] {
			seen[h.graphItem] = true
			hits = append(hits, h)
		}
	}
	return hits
}

// opName returns the name under which hits are grouped.
func (h *matchedNode) opName() string {
	if h.node < 0 {
		return h.graph.Params[h.param].Name
	}
	return h.graph.Nodes[h.node].Name
}

// conclude builds the answer from the best stage's results in all roots.
func (s *search) conclude(a *SearchResult, found []*rootResult) {
	best, name, mixed, repeats := -1, "", false, false
	for _, r := range found {
		a.Graphs += r.Graphs
		a.Unreadable = append(a.Unreadable, r.Unreadable...)
		for _, note := range r.Notes { // ranks share most notes
			if !slices.ContainsFunc(a.Notes, note.Equal) {
				a.Notes = append(a.Notes, note)
			}
		}
		if len(r.Results) > 0 && (best < 0 || r.stage < best) {
			best = r.stage
		}
	}
	s.addSideProblems(a)
	first := true
	for _, r := range found {
		if len(r.Results) == 0 || r.stage > best && !s.opt.All {
			continue
		}
		if r.stage == best {
			a.Kind = r.Kind
		}
		if first {
			name, first = r.name, false
		}
		mixed = mixed || r.mixed || r.name != name
		repeats = repeats || r.repeats
		a.Results = append(a.Results, r.Results...)
		a.More += r.More
	}
	for _, r := range a.Results {
		if p := r.Position(); p.Confidence == "" {
			p.Confidence = High
			if mixed {
				p.Confidence = Medium
			}
		}
	}
	slices.SortStableFunc(a.Results, func(x, y Result) int { return x.Position().Match.compare(y.Position().Match) })
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
		a.Notes = append(a.Notes, lang.Say("ids repeat in this graph: name the scope or the type of the operator"))
	}
	if len(a.Results) == 0 {
		s.addHints(a, found)
	}
	a.chosen = make(map[string]bool)
	for _, r := range a.Results {
		a.paths = append(a.paths, s.pathsOf(r)...)
		if r.Position().Confidence != Low {
			for _, f := range r.tensors() {
				a.chosen[absolute(f.Path())] = true
			}
		}
	}
}

// tensors implements Result: the dumps of the parameter itself.
func (q *Parameter) tensors() []*dumpdir.File { return q.dumps }

// tensors implements Result: all dumps of the operator. For a query that is a file, only dumps of
// the same tensor.
func (op *Operator) tensors() []*dumpdir.File {
	if op.FileTensor == nil || op.IO == "" {
		return op.dumps
	}
	return slices.DeleteFunc(slices.Clone(op.dumps), func(f *dumpdir.File) bool {
		id, ok := parseDumpName(f.Name, "")
		return !ok || id.IO == "" || id.excludes(string(op.IO), *op.Index)
	})
}

// SelectedDumps returns the absolute paths of the dumps that the query selects: dumps that certainly
// belong to results of high or medium confidence.
func (a *SearchResult) SelectedDumps() map[string]bool { return a.chosen }

// addSideProblems adds unusable files beside the dumps.
func (s *search) addSideProblems(a *SearchResult) {
	for i := range s.tree.run.Problems {
		p := &s.tree.run.Problems[i]
		if p.Kind != dumpdir.BadSide || !s.opt.Rounds.Includes(p.At) {
			continue
		}
		name := s.relative(p.Path)
		if !slices.ContainsFunc(a.Unreadable, func(u Unreadable) bool { return u.Path == name }) {
			a.Unreadable = append(a.Unreadable, Unreadable{Path: name, Error: lang.Error(p.Err)})
		}
	}
	for _, name := range s.tree.run.BadMappings {
		a.Unreadable = append(a.Unreadable, Unreadable{Path: s.relative(name), Error: lang.Say("it could not be read")})
	}
	a.Notes = append(a.Notes, s.tree.run.Warnings...)
}

// relative returns a path relative to the only given folder, as results show it.
func (s *search) relative(p string) string {
	if !s.tree.several && len(s.opt.Paths) == 1 {
		if rel, err := store.Rel(s.opt.Paths[0], p); err == nil && !strings.HasPrefix(rel, "..") {
			p = rel
		}
	}
	return filepath.ToSlash(p)
}

// pathsOf returns the openable paths of a result's files.
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

// Paths returns the openable paths of all dumps that certainly belong to a result, each once.
func (a *SearchResult) Paths() []string {
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

// hints collects what a root can suggest if nothing is found.
type hints struct {
	lines  map[int32]bool // lines of the queried script with operators
	names  map[string]bool
	frames int
	nodes  int
	// foreign: a dump of the tree has an operator number that no graph has.
	foreign bool
}

// maxNames limits the names kept for hints.
const maxNames = 20000

func (h *hints) collect(s *search, r *root, graphs []*loadedGraph) {
	h.lines, h.names = make(map[int32]bool), make(map[string]bool)
	ids := make(map[string]bool)
	name := func(names ...string) {
		for _, one := range names {
			if len(h.names) < maxNames {
				h.names[strings.Clone(one)] = true
			}
		}
	}
	for _, g := range graphs {
		h.nodes += len(g.Nodes)
		for i := range g.Nodes {
			n := &g.Nodes[i]
			for _, f := range g.Frames(n) {
				h.frames++
				if s.query.Kind == Line && !g.IsBlock(f) && s.query.matchesPath(g.Text(f.Path)) {
					h.lines[f.Line] = true
				}
			}
			ids[n.ID()] = true
			name(n.Type, lastPart(n.Name))
		}
		for i := range g.Params {
			name(g.Params[i].Name)
		}
	}
	if len(graphs) == 0 {
		return
	}
	for _, f := range r.files {
		if id, ok := parseDumpName(f.Name, ""); ok {
			if at := strings.LastIndex(id.op, "-op"); at >= 0 && !ids[id.op[at+len("-op"):]] {
				h.foreign = true
				return
			}
		}
	}
}

// nearestLines is the number of lines in a hint.
const nearestLines = 5

func (s *search) addHints(a *SearchResult, found []*rootResult) {
	all := hints{lines: make(map[int32]bool), names: make(map[string]bool)}
	for _, r := range found {
		h := &r.hints
		all.frames, all.nodes, all.foreign = all.frames+h.frames, all.nodes+h.nodes, all.foreign || h.foreign
		maps.Copy(all.lines, h.lines)
		maps.Copy(all.names, h.names)
	}
	if all.nodes == 0 {
		return
	}
	add := func(en string, args ...any) {
		a.Notes, a.hints = append(a.Notes, lang.Say(en, args...)), a.hints+1
	}
	switch {
	case (a.Kind == Line || a.Kind == Code) && all.frames == 0:
		add("the graph was saved without call stacks")
	case len(all.lines) > 0:
		add("%s has operators at lines %s", path.Base(s.query.path), s.query.nearestLines(all.lines))
	}
	if a.Kind != Line && a.Kind != Node && a.Kind != Order {
		if near := lang.NearestOf(s.query.Text, slices.Collect(maps.Keys(all.names)), 3); len(near) > 0 {
			add("did you mean %s?", strings.Join(near, ", "))
		}
	}
	if all.foreign {
		add("op ids change between runs: take the graphs of the same run")
	}
}

// nearestLines lists the lines nearest to the queried lines, in ascending order.
func (q *Query) nearestLines(lines map[int32]bool) string {
	all := slices.Collect(maps.Keys(lines))
	distance := func(line int32) int64 { return max(int64(q.from)-int64(line), int64(line)-int64(q.to)) }
	slices.SortFunc(all, func(a, b int32) int { return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b)) })
	all = all[:min(len(all), nearestLines)]
	slices.Sort(all)
	texts := make([]string, len(all))
	for i, line := range all {
		texts[i] = strconv.Itoa(int(line))
	}
	return strings.Join(texts, ", ")
}

// Outcome returns the outcome of the search.
func (a *SearchResult) Outcome() batch.Outcome { return a.withMessages(a.searchOutcome()) }

// ChosenOutcome returns the outcome of a search for dumps; finding none is batch.Nothing.
func (a *SearchResult) ChosenOutcome() batch.Outcome {
	switch {
	case len(a.chosen) > 0:
		return a.withMessages(batch.Outcome{})
	case len(a.Results) > 0:
		return a.withMessages(batch.Outcomef(batch.Nothing, "%q was found, but no dump certainly belongs to it", a.Query))
	case a.Graphs > 0:
		return a.withMessages(batch.Outcomef(batch.Nothing, "nothing found for %q", a.Query))
	}
	return a.Outcome()
}

func (a *SearchResult) withMessages(o batch.Outcome) batch.Outcome {
	say := func(notes []lang.Sentence) {
		for _, note := range notes {
			o.Messages = append(o.Messages, batch.Message{Text: note})
		}
	}
	notes := len(a.Notes) - a.hints
	say(a.Notes[:notes])
	for _, u := range a.Unreadable {
		if u.Offset != nil {
			o.Messages = append(o.Messages, batch.Warnf("%s: %s, at byte %d", u.Path, u.Error, *u.Offset))
		} else {
			o.Messages = append(o.Messages, batch.Warnf("%s: %s", u.Path, u.Error))
		}
	}
	say(a.Notes[notes:])
	return o
}

func (a *SearchResult) searchOutcome() batch.Outcome {
	switch {
	case len(a.Unreadable) > 0 && len(a.Results) == 0:
		return batch.Outcomef(batch.Incomplete, "nothing found for %q, but %s could not be read completely", a.Query, lang.CountText(len(a.Unreadable), "file"))
	case len(a.Unreadable) > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read completely", lang.CountText(len(a.Unreadable), "file"))
	case len(a.Results) > 0 && a.Graphs == 0:
		return batch.Outcome{Messages: []batch.Message{batch.Infof("no graph files below the folder: using the information in the dumps")}}
	case a.Graphs == 0:
		return batch.Outcomef(batch.Nothing, "no graph files below the folder").
			WithHint("MindSpore saves them to {path}/rank_N/graphs (dump) or by MS_DEV_SAVE_GRAPHS=2")
	case len(a.Results) == 0:
		return batch.Outcomef(batch.Nothing, "nothing found for %q", a.Query)
	}
	return batch.Outcome{}
}

package find

import (
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
)

// levelsAbove is how far producers that were not dumped are looked through.
const levelsAbove = 8

// nodeSets are nodes by their graphs.
type nodeSets map[*loaded]map[int]bool

func (s nodeSets) add(x thing) {
	if s[x.graph] == nil {
		s[x.graph] = make(map[int]bool)
	}
	s[x.graph][x.node] = true
}

// feeding are the nodes that feed others.
func (g *loaded) feeding(of map[int]bool) map[int]bool {
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

// sources are what feeds a node.
func (g *loaded) sources(node int) (all []graph.Source) {
	n := &g.Nodes[node]
	for k := range g.InputCount(n) {
		all = append(all, g.Producers(n, k)...)
	}
	return all
}

// reading are the nodes that read the outputs of others.
func (g *loaded) reading(of map[int]bool) map[int]bool {
	down := make(map[int]bool)
	for _, uses := range g.Consumers(of) {
		for _, u := range uses {
			down[u.Node] = true
		}
	}
	return down
}

// above are the operators that feed some nodes of graphs, directly or through others.
func above(nodes nodeSets) []thing {
	var all []thing
	for g, of := range nodes {
		seen := make(map[int]bool)
		for level := 0; level < levelsAbove && len(of) > 0; level++ {
			of = g.feeding(of)
			for i := range of {
				if seen[i] {
					delete(of, i)
					continue
				}
				seen[i] = true
				all = append(all, thing{g, i, -1})
			}
		}
	}
	return all
}

// isUndumped reports whether nothing was dumped of an operator of a tree with dumps.
func (b *builder) isUndumped(x thing) bool {
	d := b.dumps[x]
	return b.root.dumped && (d == nil || len(d.files)+len(d.ambiguous)+len(d.rows) == 0)
}

// holdsInput reports whether the dumps of an operator hold one of its inputs, as far as
// their names say.
func holdsInput(files []*dumpdir.File, index int) bool {
	return slices.ContainsFunc(files, func(f *dumpdir.File) bool {
		id, ok := identify(f.Name, "")
		return ok && !id.excludes("input", index)
	})
}

// dumpedAbove returns the nearest operators with dumps above an input, and those without
// one in between; nothing where all that feeds the input was dumped.
func (b *builder) dumpedAbove(g *loaded, sources []graph.Source) (dumped []Link, through []string) {
	seen := make(map[int]bool)
	for level := 0; level < levelsAbove && len(sources) > 0; level++ {
		var up []graph.Source
		for _, s := range sources {
			switch {
			case s.Node < 0:
			case !b.isUndumped(thing{g, s.Node, -1}):
				if l := g.link(s); !slices.Contains(dumped, l) {
					dumped = append(dumped, l)
				}
			case !seen[s.Node]:
				seen[s.Node] = true
				through = append(through, g.link(s).Name)
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

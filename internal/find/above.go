package find

import (
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
)

// levelsAbove is how far producers that were not dumped are looked through.
const levelsAbove = 8

// above are the operators that feed some nodes of graphs, directly or through others.
func above(nodes map[*loaded]map[int]bool) []thing {
	var all []thing
	for g, of := range nodes {
		seen := make(map[int]bool)
		for level := 0; level < levelsAbove && len(of) > 0; level++ {
			next := make(map[int]bool)
			for i := range of {
				for k := range g.InputCount(&g.Nodes[i]) {
					for _, s := range g.Producers(&g.Nodes[i], k) {
						if s.Node >= 0 && !seen[s.Node] {
							seen[s.Node], next[s.Node] = true, true
							all = append(all, thing{g, s.Node, -1})
						}
					}
				}
			}
			of = next
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
		return ok && (id.io == nil || *id.io == "input" && *id.index == index)
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
				if l := b.link(g, s); !slices.Contains(dumped, l) {
					dumped = append(dumped, l)
				}
			case !seen[s.Node]:
				seen[s.Node] = true
				through = append(through, b.link(g, s).Name)
				for k := range g.InputCount(&g.Nodes[s.Node]) {
					up = append(up, g.Producers(&g.Nodes[s.Node], k)...)
				}
			}
		}
		sources = up
	}
	if len(through) == 0 || len(dumped) == 0 {
		return nil, nil
	}
	return dumped, through
}

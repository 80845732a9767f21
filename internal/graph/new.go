package graph

// New returns a graph of operators. Of several with one name the first counts.
func New(ops []Op) *Graph {
	g := new(Graph)
	for i := range ops {
		g.add(ops[i])
	}
	return g
}

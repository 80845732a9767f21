package graph

// Made is an operator of a graph that no file holds.
type Made struct {
	Name, Type string
	// Stack are the lines of the script around the call, innermost first.
	Stack []Location
}

// Location is a line of a script.
type Location struct {
	Path, Code string
	Line       int32
	Library    bool // not the user's
}

// NewIR makes a graph of operators without data flow.
func NewIR(ops []Made) *IR {
	g := newIR()
	g.Subgraphs = []string{""}
	for i := range ops {
		op := &ops[i]
		n := Node{Name: op.Name, Type: op.Type, Offset: int64(i), Number: -1, item: -1, innerFirst: true, frames: span{int32(len(g.frames)), int32(len(g.frames))}}
		for _, l := range op.Stack {
			f := Frame{Path: g.texts.add([]byte(l.Path), nil), Code: g.texts.add([]byte(l.Code), squeeze), Line: l.Line, End: l.Line}
			if l.Library {
				g.texts.flags[f.Path] |= isLibrary
			}
			g.frames = append(g.frames, f)
			n.frames.to++
		}
		g.Nodes = append(g.Nodes, n)
	}
	g.texts.index = nil
	return g
}

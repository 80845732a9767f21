package graph

import "slices"

// Source is what feeds an input: an output of a node, or a parameter.
type Source struct {
	// Node is the index of the node, -1 for a parameter; Param is that of the
	// parameter, -1 for a node.
	Node, Param int
	Output      int
}

// Types of nodes that move no data: what they are fed with is looked through.
const (
	load         = "Load"
	depend       = "Depend"
	tupleGetItem = "TupleGetItem"
	makeTuple    = "MakeTuple"
	updateState  = "UpdateState"
)

// InputCount returns how many operands a node has, constants included.
func (g *IR) InputCount(n *Node) int { return int(n.inputs.to - n.inputs.from) }

// Producers returns what feeds an input of a node: operators and parameters, of
// several for a tuple. Nodes that move no data are looked through. A constant, and the
// state that orders effects, is nothing; what calls a subgraph is not followed from the
// parameters of that one.
func (g *IR) Producers(n *Node, input int) []Source {
	if input < 0 || input >= g.InputCount(n) {
		return nil
	}
	w := producers{g: g}
	w.todo = append(w.todo, wanted{at: g.inputs[int(n.inputs.from)+input]})
	for len(w.todo) > 0 {
		next := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.follow(next.at, next.output, next.chosen)
	}
	return w.found
}

// producers walks upwards.
type producers struct {
	g     *IR
	found []Source
	seen  map[wanted]bool
	// todo is what is still to be followed, the next one last: tuples may be in as many
	// others as a file has nodes.
	todo []wanted
}

// wanted is an output of a node, or all of them.
type wanted struct {
	at     ref
	output int
	chosen bool // by a TupleGetItem
}

// follow looks for what an output of a node is; chosen says that a TupleGetItem asked
// for it.
func (w *producers) follow(at ref, output int, chosen bool) {
	for at != noRef {
		if i, ok := at.param(); ok {
			w.add(Source{-1, i, output})
			return
		}
		n := &w.g.Nodes[at]
		inputs := w.g.inputs[n.inputs.from:n.inputs.to]
		if transparent[n.Type] && len(inputs) > 0 {
			k := wanted{at, output, chosen}
			if w.seen[k] {
				return
			}
			if w.seen == nil {
				w.seen = make(map[wanted]bool)
			}
			w.seen[k] = true
		}
		switch {
		case n.Type == updateState:
			return
		case (n.Type == load || n.Type == depend) && len(inputs) > 0:
			at = inputs[0]
		case n.Type == tupleGetItem && len(inputs) > 0:
			at, output, chosen = inputs[0], max(0, int(n.item)), true
		case n.Type == makeTuple:
			if chosen {
				if output >= len(inputs) {
					return
				}
				at, output, chosen = inputs[output], 0, false
				continue
			}
			for _, in := range slices.Backward(inputs) {
				w.todo = append(w.todo, wanted{at: in})
			}
			return
		default:
			w.add(Source{int(at), -1, output})
			return
		}
	}
}

func (w *producers) add(s Source) {
	if !slices.Contains(w.found, s) {
		w.found = append(w.found, s)
	}
}

// transparent are the types of nodes that are looked through.
var transparent = map[string]bool{load: true, depend: true, tupleGetItem: true, makeTuple: true}

// Consumer is an operator that reads something.
type Consumer struct {
	Node, Input int
	// Via are the nodes that the data goes through before, in its order.
	Via []int
}

// Readers returns the operators that read a parameter, looking through nodes that
// hand it on: those that move no data, and those that change its type or layout.
func (g *IR) Readers(param int) []Consumer {
	type step struct {
		at  ref
		via []int
	}
	uses := make(map[ref][][2]int) // what is read by which input
	start := paramRef(param)
	collect := func(wanted map[ref]bool) {
		for i := range g.Nodes {
			n := &g.Nodes[i]
			for k, in := range g.inputs[n.inputs.from:n.inputs.to] {
				if wanted[in] {
					uses[in] = append(uses[in], [2]int{i, k})
				}
			}
		}
	}
	// Level by level: each pass over the nodes finds the users of one level.
	var all []Consumer
	seen := map[ref]bool{start: true}
	for level := []step{{at: start}}; len(level) > 0; {
		wanted := make(map[ref]bool, len(level))
		for _, s := range level {
			wanted[s.at] = true
		}
		collect(wanted)
		var next []step
		for _, s := range level {
			for _, use := range uses[s.at] {
				n := &g.Nodes[use[0]]
				switch {
				case handing[n.Type] && use[1] == 0:
					if at := ref(use[0]); !seen[at] {
						seen[at] = true
						next = append(next, step{at, append(slices.Clone(s.via), use[0])})
					}
				case n.Type == updateState || n.Type == depend:
				default:
					all = append(all, Consumer{use[0], use[1], s.via})
				}
			}
		}
		level = next
	}
	slices.SortFunc(all, func(a, b Consumer) int {
		if a.Node != b.Node {
			return a.Node - b.Node
		}
		return a.Input - b.Input
	})
	return all
}

// handing are the operators that hand input 0 on.
var handing = map[string]bool{load: true, depend: true, tupleGetItem: true, "Cast": true, "TransData": true}

// Through follows a source upwards through casts and changes of layout, and returns
// where it ends and what it went through, the last first.
func (g *IR) Through(s Source) (end Source, via []int) {
	seen := make(map[int]bool)
	for s.Node >= 0 && !seen[s.Node] {
		n := &g.Nodes[s.Node]
		if n.Type != "Cast" && n.Type != "TransData" {
			break
		}
		up := g.Producers(n, 0)
		if len(up) != 1 {
			break
		}
		seen[s.Node] = true
		via = append(via, s.Node)
		s = up[0]
	}
	return s, via
}

// Use is an input that reads an output of a node.
type Use struct{ Output, Node, Input int }

// Consumers returns who reads the outputs of nodes, looking through those that move
// no data.
func (g *IR) Consumers(of map[int]bool) map[int][]Use {
	uses := make(map[int][]Use)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if transparent[n.Type] || n.Type == updateState {
			continue
		}
		for k := range g.InputCount(n) {
			// Most inputs are others; what is looked through is rare.
			in := g.inputs[int(n.inputs.from)+k]
			if in < 0 || !of[int(in)] && !transparent[g.Nodes[in].Type] {
				continue
			}
			for _, s := range g.Producers(n, k) {
				if s.Node >= 0 && of[s.Node] {
					uses[s.Node] = append(uses[s.Node], Use{s.Output, i, k})
				}
			}
		}
	}
	return uses
}

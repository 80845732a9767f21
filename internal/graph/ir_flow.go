package graph

import (
	"bytes"
	"slices"
)

// Source is the source of an input: an output of a node, or a parameter.
type Source struct {
	// Node is the index of a node, -1 for a parameter; Param is the index of a parameter, -1 for a
	// node.
	Node, Param int
	Output      int
}

// Types of nodes that move no data; Producers looks through them.
const (
	load         = "Load"
	depend       = "Depend"
	tupleGetItem = "TupleGetItem"
	makeTuple    = "MakeTuple"
	updateState  = "UpdateState"
)

// InputCount returns the number of operands, constants included.
func (g *IR) InputCount(n *Node) int { return int(n.inputs.to - n.inputs.from) }

// Producers returns the sources of an input: operators and parameters, several for a tuple. Nodes
// that move no data are looked through. Constants, and the state that orders side effects, have no
// source; parameters of a subgraph are not followed to its callers.
func (g *IR) Producers(n *Node, input int) []Source {
	if input < 0 || input >= g.InputCount(n) {
		return nil
	}
	w := producers{g: g}
	w.todo = append(w.todo, outputRef{at: g.inputs[int(n.inputs.from)+input]})
	for len(w.todo) > 0 {
		next := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.sourcesOf(next.at, next.output, next.chosen)
	}
	return w.found
}

// producers walks from an input to its sources.
type producers struct {
	g     *IR
	found []Source
	seen  map[outputRef]bool
	// todo is a stack of outputs to follow; recursion could be as deep as the file has nodes, since
	// tuples nest.
	todo []outputRef
}

// outputRef is an output of a node, or all outputs of a tuple.
type outputRef struct {
	at     ref
	output int
	chosen bool // selected by a TupleGetItem
}

// sourcesOf finds the sources of an output; chosen says that a TupleGetItem selects the output.
func (w *producers) sourcesOf(at ref, output int, chosen bool) {
	for at != noRef {
		if i, ok := at.param(); ok {
			w.add(Source{-1, i, output})
			return
		}
		n := &w.g.Nodes[at]
		inputs := w.g.inputs[n.inputs.from:n.inputs.to]
		if transparentTypes[n.Type] && len(inputs) > 0 {
			k := outputRef{at, output, chosen}
			if w.seen[k] {
				return
			}
			if w.seen == nil {
				w.seen = make(map[outputRef]bool)
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
				w.todo = append(w.todo, outputRef{at: in})
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

// transparentTypes lists the types of nodes that Producers looks through.
var transparentTypes = map[string]bool{load: true, depend: true, tupleGetItem: true, makeTuple: true}

// Consumer is an input of an operator that reads a parameter.
type Consumer struct {
	Node, Input int
	// Via lists the nodes between the parameter and the input, in the order of the data flow.
	Via []int
}

// Readers returns the operators that read a parameter, looking through nodes that move no data or
// only change its type or layout.
func (g *IR) Readers(param int) []Consumer {
	type step struct {
		at  ref
		via []int
	}
	uses := make(map[ref][][2]int) // [node, input] pairs by source
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
	// Breadth first: each pass over the nodes finds the users of one level.
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
				case valueForwarders[n.Type] && use[1] == 0:
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

// valueForwarders lists the operators whose output carries the values of input 0.
var valueForwarders = map[string]bool{load: true, depend: true, tupleGetItem: true, "Cast": true, "TransData": true}

// FollowViews follows a source upwards through casts and layout changes. It returns the end of the walk
// and the nodes passed, the nearest to s first.
func (g *IR) FollowViews(s Source) (end Source, via []int) {
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

// Use is an input that reads output number Output of a node.
type Use struct{ Output, Node, Input int }

// Consumers returns the readers of the outputs of nodes, looking through nodes that move no data.
func (g *IR) Consumers(of map[int]bool) map[int][]Use {
	uses := make(map[int][]Use)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if transparentTypes[n.Type] || n.Type == updateState {
			continue
		}
		for k := range g.InputCount(n) {
			// Most inputs have another source, and transparent nodes are rare: skip both checks
			// early.
			in := g.inputs[int(n.inputs.from)+k]
			if in < 0 || !of[int(in)] && !transparentTypes[g.Nodes[in].Type] {
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

// crossRef is an input whose source is a node or parameter of another subgraph.
type crossRef struct {
	input           int
	subgraph, debug string
}

// closingBracket returns the index of the bracket that closes the bracket at b[0], -1 if there is none.
// Brackets in quotes do not count.
func closingBracket(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		case '"':
			end := quoteEnd(b, i)
			if end < 0 {
				return -1
			}
			i = end
		}
	}
	return -1
}

// quoteEnd returns the index of the quote that closes the quote at b[i], -1 if there is none.
func quoteEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// attributeMarks precede the attributes behind the operands; old writers use a plain { for the last
// kind.
var attributeMarks = [...]string{" {instance name", " primitive_attrs: {", " cnode_attrs: {", " cnode_primal_attrs: {", " {"}

// cutOperands returns the contents of the brackets that b begins with. Old writers print texts
// without quotes: if the closing bracket is not found, the attributes mark the end.
func cutOperands(b []byte) []byte {
	if len(b) == 0 || b[0] != '(' {
		return nil
	}
	if end := closingBracket(b); end > 0 {
		return b[1:end]
	}
	for _, mark := range attributeMarks {
		if at := bytes.Index(b, []byte(mark)); at > 0 {
			return bytes.TrimSuffix(b[1:at], []byte(")"))
		}
	}
	return b[1:]
}

// splitOperands splits operands; the result is valid until the next call.
func (r *irReader) splitOperands(b []byte) [][]byte {
	r.operands = splitOperands(r.operands[:0], b)
	return r.operands
}

// splitOperands splits b at commas outside of brackets and quotes, and appends the parts to all.
func splitOperands(all [][]byte, b []byte) [][]byte {
	if len(b) == 0 {
		return all
	}
	from, depth := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '"':
			if end := quoteEnd(b, i); end > 0 {
				i = end
			}
		case ',':
			if depth <= 0 {
				all = append(all, bytes.TrimSpace(b[from:i]))
				from = i + 1
			}
		}
	}
	return append(all, bytes.TrimSpace(b[from:]))
}

// parseOperand returns the source of an operand; noRef for constants and unknown forms.
func (r *irReader) parseOperand(b []byte) ref {
	if len(b) < 2 {
		return noRef
	}
	switch b[0] {
	case '%':
		if number, name, ok := cutParam(b); ok {
			return r.findParam(number, name)
		}
		number, rest, ok := cutNumber(b[1:])
		if !ok || len(rest) > 0 && rest[0] != '(' {
			return noRef
		}
		return r.nodeByNumber(number)
	case '$':
		return r.parseCrossOperand(b)
	}
	return noRef
}

// nodeByNumber returns the node with a number in the current subgraph; noRef if it is not defined above.
func (r *irReader) nodeByNumber(number int32) ref {
	at := r.first + int(number)
	if at < len(r.graph.Nodes) && r.graph.Nodes[at].Number == number {
		return ref(at)
	}
	if i, ok := r.unordered[number]; ok {
		return ref(i)
	}
	return noRef
}

// findParam finds a parameter by number, else by name. An excerpt of a text may use parameters that it
// does not declare: they are added.
func (r *irReader) findParam(number int32, name []byte) ref {
	if i, ok := r.params[number]; ok && number > 0 {
		return paramRef(int(i))
	}
	if i, ok := r.byName[string(name)]; ok && number == 0 {
		return paramRef(int(i))
	}
	return r.addParam(number, name)
}

// parseCrossOperand reads $(@graph:name); resolve finds its node at the end of the file.
func (r *irReader) parseCrossOperand(b []byte) ref {
	b, ok := bytes.CutPrefix(b, []byte("$("))
	b, ok2 := bytes.CutSuffix(b, []byte(")"))
	graph, debug, ok3 := bytes.Cut(bytes.TrimPrefix(b, []byte("@")), []byte(":"))
	if !ok || !ok2 || !ok3 {
		return noRef
	}
	if number, name, ok := cutParam(append([]byte("%"), debug...)); ok {
		return r.findParam(number, name)
	}
	r.cross = append(r.cross, crossRef{len(r.graph.inputs), string(graph), string(debug)})
	return noRef
}

// resolve finds the nodes of other subgraphs by name; a name must be unique in its subgraph.
func (r *irReader) resolve() {
	if len(r.cross) == 0 {
		return
	}
	type key struct {
		subgraph int32
		debug    string
	}
	wanted := make(map[key]ref)
	for _, c := range r.cross {
		if s, ok := r.subgraphs[c.subgraph]; ok {
			wanted[key{s, c.debug}] = noRef
		}
	}
	seen := make(map[key]bool)
	for i := range r.graph.Nodes {
		k := key{r.graph.Nodes[i].Subgraph, r.graph.Nodes[i].debug}
		if _, ok := wanted[k]; ok {
			wanted[k] = ref(i)
			if seen[k] {
				wanted[k] = noRef
			}
			seen[k] = true
		}
	}
	for _, c := range r.cross {
		if s, ok := r.subgraphs[c.subgraph]; ok {
			r.graph.inputs[c.input] = wanted[key{s, c.debug}]
		}
	}
}

// constantIndex reads the constant that selects an output: 0 or I64(0); -1 for another form.
func constantIndex(b []byte) int32 {
	if at := bytes.IndexByte(b, '('); at >= 0 {
		b = bytes.TrimSuffix(b[at+1:], []byte(")"))
	}
	n, rest, ok := cutNumber(b)
	if !ok || len(rest) > 0 {
		return -1
	}
	return n
}

package graph

import "bytes"

// crossRef is an input that is a node or parameter of another subgraph.
type crossRef struct {
	input           int
	subgraph, debug string
}

// closing returns the index of the bracket that closes the one that b begins with, -1
// if there is none. Brackets in quotes do not count.
func closing(b []byte) int {
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

// quoteEnd returns the index of the quote that closes the one at b[i], -1 if there is
// none.
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

// attributeMarks begin the attributes behind the operands, the last ones of which
// old writers put in brackets alone.
var attributeMarks = [...]string{" {instance name", " primitive_attrs: {", " cnode_attrs: {", " cnode_primal_attrs: {", " {"}

// cutOperands returns what is in the brackets that b begins with. Old writers print
// texts without quotes: where the bracket that closes is not found the attributes
// show the end.
func cutOperands(b []byte) []byte {
	if len(b) == 0 || b[0] != '(' {
		return nil
	}
	if end := closing(b); end > 0 {
		return b[1:end]
	}
	for _, mark := range attributeMarks {
		if at := bytes.Index(b, []byte(mark)); at > 0 {
			return bytes.TrimSuffix(b[1:at], []byte(")"))
		}
	}
	return b[1:]
}

// split splits operands; the result is valid until the next call.
func (r *irReader) split(b []byte) [][]byte {
	r.operands = splitOperands(r.operands[:0], b)
	return r.operands
}

// splitOperands splits at the commas outside of brackets and quotes, and appends the
// parts to all.
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

// operand finds what an operand is; constants and what is not known are nothing.
func (r *irReader) operand(b []byte) ref {
	if len(b) < 2 {
		return noRef
	}
	switch b[0] {
	case '%':
		if number, name, ok := cutParam(b); ok {
			return r.param(number, name)
		}
		number, rest, ok := cutNumber(b[1:])
		if !ok || len(rest) > 0 && rest[0] != '(' {
			return noRef
		}
		return r.lookup(number)
	case '$':
		return r.crossOperand(b)
	}
	return noRef
}

// lookup finds the node of a number of this subgraph; one that is defined later or
// never is nothing.
func (r *irReader) lookup(number int32) ref {
	at := r.first + int(number)
	if at < len(r.graph.Nodes) && r.graph.Nodes[at].Number == number {
		return ref(at)
	}
	if i, ok := r.others[number]; ok {
		return ref(i)
	}
	return noRef
}

// param finds a parameter by its number, else by its name. Text that is no whole file
// uses some that it does not declare.
func (r *irReader) param(number int32, name []byte) ref {
	if i, ok := r.params[number]; ok && number > 0 {
		return paramRef(int(i))
	}
	if i, ok := r.byName[string(name)]; ok && number == 0 {
		return paramRef(int(i))
	}
	return r.addParam(number, name)
}

// crossOperand reads $(@graph:name), which is resolved at the end.
func (r *irReader) crossOperand(b []byte) ref {
	b, ok := bytes.CutPrefix(b, []byte("$("))
	b, ok2 := bytes.CutSuffix(b, []byte(")"))
	graph, debug, ok3 := bytes.Cut(bytes.TrimPrefix(b, []byte("@")), []byte(":"))
	if !ok || !ok2 || !ok3 {
		return noRef
	}
	if number, name, ok := cutParam(append([]byte("%"), debug...)); ok {
		return r.param(number, name)
	}
	r.cross = append(r.cross, crossRef{len(r.graph.inputs), string(graph), string(debug)})
	return noRef
}

// resolve finds the nodes of other subgraphs by their names, each of which must be
// the only one of its subgraph.
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

// constantIndex reads the constant that says which output is taken: 0 or I64(0); -1
// for another one.
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

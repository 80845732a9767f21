package graph

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The text of a graph, after the sources of MindSpore that write it, versions 1.0 to
// 2.11. They differ in words and blanks; a file may hold what several of them wrote:
//
//	%para2_conv1.weight : <Ref[Tensor(F32)], (4, 3, 3, 3)>  :  IsWeight:true
//	subgraph @kernel_graph_0(%para6_x) {
//	  %4(equiv[CNode]519) = Conv2D(%0, %3) primitive_attrs: {pad_mode: pad}
//	      : (<Tensor[Float32], (1, 3, 2, 2)>) -> (<Tensor[Float32], (1, 4, 2, 2)>)
//	      : (Default/net/Conv2D-op515)                    or # Fullname with scope: (...)
//	      # In file /home/u/net.py:88/x = self.conv1(x)/  or (88), or :88~90, 8~25
//	}
//
// A number is that of a node of the same subgraph, $(@graph:name) is one of another
// subgraph. Nodes before any subgraph make one without a name.

// Limits of the reader, in bytes.
const (
	irBuffer  = 1 << 20
	maxIRLine = 16 << 20 // the rest of a longer line is passed over
	nodeDepth = 6        // blanks before a line that belongs to the node above
)

const sortedMode = "it was saved in sorted mode: save it again without MS_DEV_SAVE_GRAPHS_SORT_MODE"

// ReadIR reads the text of a graph. Of a file that is cut, or is damaged from some
// place on, the graph holds the whole nodes before; the error, an *IRError or that of
// in, says where that is.
func ReadIR(in io.Reader) (*IR, error) {
	r := &irReader{lines: lineReader{in: bufio.NewReaderSize(in, irBuffer)}, graph: newIR(), node: -1, subgraph: -1,
		subgraphs: make(map[string]int32), params: make(map[int32]int32), byName: make(map[string]int32)}
	err := r.read()
	r.resolve()
	if n := r.lines.tooLong; n > 0 {
		r.graph.Warnings = append(r.graph.Warnings, fmt.Sprintf("%d lines are longer than %d bytes, their ends are left out", n, maxIRLine))
	}
	r.graph.texts.index = nil
	return r.graph, err
}

// irReader reads a text.
type irReader struct {
	lines lineReader
	graph *IR

	subgraph  int32 // that is being read, -1 for none
	open      bool  // its } is still to come
	subgraphs map[string]int32
	first     int             // the first node of the subgraph
	others    map[int32]int32 // nodes of the subgraph that are not in the order of their numbers
	params    map[int32]int32 // by number
	byName    map[string]int32
	types     arena
	known     map[string]string // types
	operands  [][]byte

	// node is the one that is being read, -1 for none; the others are about it.
	node  int
	named bool
	typed bool
	kind  StackKind
	stack uint16

	isIR, sorted bool
	cross        []crossRef
}

// crossRef is an input that is a node or parameter of another subgraph.
type crossRef struct {
	input           int
	subgraph, debug string
}

// lineReader reads lines with their places.
type lineReader struct {
	in      *bufio.Reader
	offset  int64 // of the next line
	line    int32 // the number of the last one
	long    []byte
	tooLong int
}

// next returns a line without its end, and its place.
func (r *lineReader) next() (line []byte, offset int64, err error) {
	offset = r.offset
	line, err = r.in.ReadSlice('\n')
	r.offset += int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = r.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			r.long = append(r.long, line[:min(len(line), maxIRLine-len(r.long))]...)
			line, err = r.in.ReadSlice('\n')
			r.offset += int64(len(line))
		}
		if len(r.long)+len(line) > maxIRLine {
			r.tooLong++
		}
		r.long = append(r.long, line[:min(len(line), maxIRLine-len(r.long))]...)
		line = r.long
	}
	if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
		return nil, offset, err
	}
	r.line++
	return bytes.TrimRight(line, "\r\n"), offset, nil
}

func (r *irReader) read() error {
	for {
		line, offset, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			return r.end(offset)
		}
		if err != nil {
			r.drop()
			return err
		}
		text := bytes.TrimLeft(line, " \t")
		if len(text) == 0 {
			continue
		}
		if len(r.graph.Nodes) >= maxIndex || len(r.graph.inputs) >= maxIndex/2 {
			return &IRError{offset, "more nodes than any graph has"}
		}
		r.take(text, len(line)-len(text), offset)
	}
}

// take reads a line, of which the blanks before the text are counted.
func (r *irReader) take(text []byte, blanks int, offset int64) {
	switch text[0] {
	case '%':
		if blanks >= nodeDepth || !r.nodeLine(text, offset) {
			r.paramLine(text)
		}
	case 'R':
		if blanks < nodeDepth && bytes.HasPrefix(text, []byte("Return(")) {
			r.finish()
		}
	case '}':
		if blanks == 0 && len(text) == 1 && r.subgraph >= 0 {
			r.finish()
			r.subgraph, r.open = -1, false
		}
	case 's':
		if bytes.HasPrefix(text, []byte("subgraph @")) {
			r.subgraphLine(text)
		}
	case ':':
		if r.node >= 0 {
			r.colonLine(bytes.TrimLeft(text[1:], " "))
		}
	case '#':
		r.hashLine(bytes.TrimLeft(text[1:], " "))
	default:
		if r.node >= 0 && !r.typed {
			r.graph.Nodes[r.node].readIDs(text) // an attribute with a line feed
		}
	}
}

// end ends the reading at the end of the file.
func (r *irReader) end(size int64) error {
	cut := r.open
	switch {
	case cut:
		r.drop()
	default:
		r.finish()
	}
	switch {
	case size == 0:
		return &IRError{0, "the file is empty"}
	case r.sorted && len(r.graph.Nodes) == 0:
		return &IRError{0, sortedMode}
	case !r.isIR && len(r.graph.Nodes) == 0:
		return &IRError{0, `neither "IR entry" nor "subgraph @" found, this is no text of a graph`}
	case cut:
		return &IRError{size, "the file ends inside a subgraph"}
	}
	return nil
}

// drop ends the node that is being read where the file is cut: without a name it is
// not whole.
func (r *irReader) drop() {
	if r.node >= 0 && !r.named {
		g := r.graph
		n := &g.Nodes[r.node]
		g.inputs, g.frames = g.inputs[:n.inputs.from], g.frames[:n.frames.from]
		for len(r.cross) > 0 && r.cross[len(r.cross)-1].input >= len(g.inputs) {
			r.cross = r.cross[:len(r.cross)-1]
		}
		g.Nodes = g.Nodes[:r.node]
	}
	r.finish()
}

// finish ends the node that is being read.
func (r *irReader) finish() { r.node = -1 }

// subgraphLine reads subgraph @name parent: [subgraph @other](%para6_x, %para7_y) {.
func (r *irReader) subgraphLine(text []byte) {
	r.finish()
	r.isIR = true
	text = text[len("subgraph @"):]
	end := bytes.IndexByte(text, '(')
	if end < 0 {
		end = len(text)
	}
	name, formals := text[:end], text[end:]
	if at := bytes.Index(name, []byte(" parent:")); at >= 0 {
		name = name[:at]
	}
	r.startSubgraph(bytes.TrimSpace(name))
	r.open = true
	for _, formal := range r.split(cutOperands(formals)) {
		if number, name, ok := cutParam(formal); ok {
			r.addParam(number, name, r.subgraph, false)
		}
	}
}

func (r *irReader) startSubgraph(name []byte) {
	s := r.types.keep(name)
	r.subgraph = int32(len(r.graph.Subgraphs))
	r.graph.Subgraphs = append(r.graph.Subgraphs, s)
	if _, known := r.subgraphs[s]; !known {
		r.subgraphs[s] = r.subgraph
	}
	r.first, r.others = len(r.graph.Nodes), nil
}

// paramLine reads a parameter of the graph: %para2_conv1.weight : <type> : words.
func (r *irReader) paramLine(text []byte) {
	if r.subgraph >= 0 || r.node >= 0 {
		return
	}
	number, rest, ok := cutParam(text)
	if !ok {
		r.sorted = r.sorted || bytes.Contains(text, []byte(" = Primitive::"))
		return
	}
	name, words, found := bytes.Cut(rest, []byte(": <"))
	if !found {
		return
	}
	weight := bytes.Contains(words, []byte("has_default")) || bytes.Contains(words, []byte("IsWeight:true")) ||
		bytes.Contains(words, []byte("IsWeight: true")) || bytes.Contains(words, []byte("ref_key"))
	r.addParam(number, bytes.TrimRight(name, " "), -1, weight)
}

// cutParam splits %para2_conv1.weight, the number of which is 0 in %para_x.
func cutParam(text []byte) (number int32, name []byte, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte("%para"))
	if !ok {
		return 0, nil, false
	}
	number, rest, _ = cutNumber(rest)
	name, ok = bytes.CutPrefix(rest, []byte("_"))
	return number, name, ok && len(name) > 0
}

func (r *irReader) addParam(number int32, name []byte, subgraph int32, weight bool) ref {
	g := r.graph
	i := int32(len(g.Params))
	g.Params = append(g.Params, Param{Name: r.types.keep(name), Number: number, Subgraph: subgraph, Weight: weight})
	if _, known := r.params[number]; !known && number > 0 {
		r.params[number] = i
	}
	if _, known := r.byName[g.Params[i].Name]; !known {
		r.byName[g.Params[i].Name] = i
	}
	return paramRef(int(i))
}

// nodeLine reads %4(name) = Operator(operands) attributes. It reports whether the
// line is one.
func (r *irReader) nodeLine(text []byte, offset int64) bool {
	number, rest, ok := cutNumber(text[1:])
	if !ok {
		return false
	}
	var debug []byte
	if bytes.HasPrefix(rest, []byte("(")) {
		end := bytes.Index(rest, []byte(") = "))
		if end < 0 {
			return false
		}
		debug, rest = rest[1:end], rest[end+len(") = "):]
	} else if rest, ok = bytes.CutPrefix(rest, []byte(" = ")); !ok {
		r.sorted = r.sorted || bytes.HasPrefix(rest, []byte(" : ")) && bytes.Contains(rest, []byte(" = Primitive::"))
		return false
	}
	if r.subgraph < 0 {
		r.startSubgraph(nil)
	}
	r.finish()
	operator, rest := cutOperator(rest)
	g := r.graph
	n := Node{
		Type: r.typeOf(operator), Offset: offset, Line: r.lines.line, Number: number, Subgraph: r.subgraph, item: -1,
		inputs: span{int32(len(g.inputs)), int32(len(g.inputs))}, frames: span{int32(len(g.frames)), int32(len(g.frames))},
		debug: g.debugName(debug, r),
	}
	r.node, r.named, r.typed, r.kind, r.stack = len(g.Nodes), false, false, Own, 0
	isItem := n.Type == "TupleGetItem"
	for i, operand := range r.split(cutOperands(rest)) {
		in := r.operand(operand)
		if in == noRef && isItem && i == 1 {
			n.item = constantIndex(operand)
		}
		g.inputs = append(g.inputs, in)
	}
	n.inputs.to = int32(len(g.inputs))
	n.readIDs(rest)
	g.Nodes = append(g.Nodes, n)
	if at := r.first + int(number); at != r.node {
		if r.others == nil {
			r.others = make(map[int32]int32)
		}
		if _, known := r.others[number]; !known {
			r.others[number] = int32(r.node)
		}
	}
	return true
}

// debugName keeps the name of a node that only other subgraphs use; the one that the
// oldest writers give all nodes is kept once.
func (g *IR) debugName(name []byte, r *irReader) string {
	if string(name) == "equivoutput" {
		return "equivoutput"
	}
	return r.types.keep(name)
}

// typeOf returns the type of an operator, each once.
func (r *irReader) typeOf(operator []byte) string {
	operator = bytes.TrimPrefix(operator, []byte("PrimFunc_"))
	if s, ok := r.known[string(operator)]; ok {
		return s
	}
	if r.known == nil {
		r.known = make(map[string]string)
	}
	s := r.types.keep(operator)
	r.known[s] = s
	return s
}

// cutOperator splits what follows the = of a node before the bracket with the
// operands. What calls a graph is Call.
func cutOperator(b []byte) (operator, rest []byte) {
	isCall := bytes.HasPrefix(b, []byte("call @"))
	switch {
	case len(b) > 0 && b[0] == '%':
		isCall = true
		if at := bytes.IndexAny(b, "[("); at >= 0 && b[at] == '[' {
			if end := closing(b[at:]); end >= 0 {
				return []byte(Call), b[at+end+1:]
			}
		}
	case len(b) > 0 && b[0] == '$':
		isCall = true
		if end := closing(b[1:]); end >= 0 {
			return []byte(Call), b[1+end+1:]
		}
	}
	end := bytes.IndexByte(b, '(')
	if end < 0 {
		end = len(b)
	}
	if isCall {
		return []byte(Call), b[end:]
	}
	return bytes.TrimSpace(b[:end]), b[end:]
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
	return r.addParam(number, name, -1, false)
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

// readIDs reads the ids that join a gradient to its forward node from attributes:
// unique_id: "782099" and forward_unique_id: "782099".
func (n *Node) readIDs(attributes []byte) {
	const word = `unique_id: "`
	for {
		at := bytes.Index(attributes, []byte(word))
		if at < 0 {
			return
		}
		isForward := bytes.HasSuffix(attributes[:at], []byte("forward_"))
		attributes = attributes[at+len(word):]
		end := bytes.IndexByte(attributes, '"')
		if end < 0 || end > 20 {
			continue
		}
		id, err := strconv.ParseUint(string(attributes[:end]), 10, 64)
		switch {
		case err != nil:
		case isForward:
			n.forward = id
		default:
			n.unique = id
		}
	}
}

// colonLine reads : (types) -> (types), or : (full name) of the oldest writers, of
// which the last counts. Some print the stack on the same line.
func (r *irReader) colonLine(text []byte) {
	n := &r.graph.Nodes[r.node]
	stack := []byte(nil)
	if at := bytes.Index(text, []byte("# "+inFile)); at >= 0 {
		text, stack = text[:at], text[at:]
	}
	switch {
	case len(text) > 0 && text[0] == '(' && !isTypes(text):
		if n.Name == "" || n.innerFirst {
			r.setName(text, false)
			n.innerFirst = true
		}
	case hasFoldedPrefix(text, "full_name_with_scope:"), hasFoldedPrefix(text, "fullname_with_scope:"):
		r.setName(text, false)
	default:
		r.typed = true
	}
	r.graph.addLocations(n, stack, r.kind, r.stack)
}

// isTypes reports whether text in brackets is that of types: a name has no < and no
// arrow.
func isTypes(text []byte) bool {
	return bytes.IndexByte(text, '<') >= 0 || bytes.Contains(text, []byte(") -> (")) || bytes.HasPrefix(text, []byte("()")) ||
		bytes.HasPrefix(text, []byte("(, )"))
}

// hasFoldedPrefix reports whether text begins with a word in any letter case.
func hasFoldedPrefix(text []byte, word string) bool {
	return len(text) >= len(word) && bytes.EqualFold(text[:len(word)], []byte(word))
}

// setName sets the name of the node: what is between the first and the last bracket.
func (r *irReader) setName(text []byte, scopeOnly bool) {
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return
	}
	n := &r.graph.Nodes[r.node]
	n.Name, n.scopeOnly = r.types.keep(text[from+1:to]), scopeOnly
	r.named = true
}

// hashLine reads a comment: the full name, the scope, a location, or what the
// locations below belong to.
func (r *irReader) hashLine(text []byte) {
	if r.node < 0 {
		r.isIR = r.isIR || bytes.HasPrefix(text, []byte("IR entry"))
		return
	}
	n := &r.graph.Nodes[r.node]
	switch {
	case len(text) == 0:
		return
	case hasFoldedPrefix(text, "fullname"), hasFoldedPrefix(text, "full_name"):
		name := text
		if at := bytes.Index(text, []byte("# "+inFile)); at >= 0 {
			name = text[:at]
		}
		r.setName(name, false)
		n.innerFirst = false
		text = text[len(name):]
	case hasFoldedPrefix(text, "scope:"):
		if n.Name == "" {
			r.setName(text, true)
		}
		return
	case bytes.HasPrefix(text, []byte("Corresponding ")):
		r.kind = Fused
		if bytes.HasPrefix(text, []byte("Corresponding forward ")) {
			r.kind = Forward
		}
		if r.stack < 1<<16-1 {
			r.stack++
		}
	}
	from := n.frames.to
	r.graph.addLocations(n, text, r.kind, r.stack)
	if n.Name == "" || n.scopeOnly { // only the form of the location shows who wrote it
		n.innerFirst = n.innerFirst || n.frames.to > from && !bytes.Contains(text, []byte(".py:"))
	}
}

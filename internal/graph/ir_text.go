package graph

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"

	"dumptool/internal/lang"
	"dumptool/internal/misfit"
)

// The text of a graph, as written by MindSpore 1.0 to 2.11. The versions differ in words and
// blanks; one file may mix the forms of several writers:
//	%para2_conv1.weight : <Ref[Tensor(F32)], (4, 3, 3, 3)>  :  IsWeight:true
//	subgraph @kernel_graph_0(%para6_x) {
//	  %4(equiv[CNode]519) = Conv2D(%0, %3) primitive_attrs: {pad_mode: pad}
//	      : (<Tensor[Float32], (1, 3, 2, 2)>) -> (<Tensor[Float32], (1, 4, 2, 2)>)
//	      : (Default/net/Conv2D-op515)                    or # Fullname with scope: (...)
//	      # In file /home/u/net.py:88/x = self.conv1(x)/  or (88), or :88~90, 8~25
//	}
//
// %N is node N of the same subgraph, $(@graph:name) a node of another subgraph. Nodes before any
// subgraph make a subgraph without a name.

// Limits of the reader, in bytes.
const (
	irBuffer  = 1 << 20
	maxIRLine = 16 << 20 // the rest of a longer line is skipped
	nodeDepth = 6        // leading blanks of a line that continues the node above
)

const sortedMode = "it was saved in sorted mode: save it again without MS_DEV_SAVE_GRAPHS_SORT_MODE"

// ReadIR reads the text of a graph. If the file is truncated, or damaged from some byte on, the
// graph holds the complete nodes before; the error, an *IRError or an error of in, has the place.
func ReadIR(in io.Reader) (*IR, error) {
	r := &irReader{lines: lineReader{in: bufio.NewReaderSize(in, irBuffer)}, graph: newIR(), node: -1, subgraph: -1,
		subgraphs: make(map[string]int32), params: make(map[int32]int32), byName: make(map[string]int32)}
	err := r.read()
	r.resolve()
	if n := r.lines.tooLong; n > 0 {
		r.graph.Warnings = append(r.graph.Warnings, lang.Say("%d lines are longer than %d bytes: only their beginnings are used", n, maxIRLine))
	}
	r.graph.texts.index = nil
	r.graph.Misfits.Sort()
	return r.graph, err
}

// irReader reads a text.
type irReader struct {
	lines lineReader
	graph *IR

	subgraph  int32 // current subgraph, -1 for none
	open      bool  // the closing } has not been read
	subgraphs map[string]int32
	first     int             // index of the subgraph's first node
	unordered map[int32]int32 // nodes of the subgraph out of numeric order, by number
	params    map[int32]int32 // by number
	byName    map[string]int32
	types     arena
	known     map[string]string // interned types
	operands  [][]byte

	// node is the index of the current node, -1 for none; the next fields describe it.
	node  int
	named bool
	typed bool
	kind  StackKind
	stack uint16
	// offset is the byte where the line begins. returned: the Return of the subgraph has been read;
	// its following lines are skipped.
	offset   int64
	returned bool
	// between lists the lines after the node's first line that match no form: they belong to an attribute with line
	// feeds if the node's types follow.
	between misfit.List

	isIR, sorted bool
	cross        []crossRef
}

func (r *irReader) read() error {
	for {
		line, offset, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			return r.finish(offset)
		}
		if err != nil {
			r.endTruncated()
			return err
		}
		text := bytes.TrimLeft(line, " \t")
		if len(text) == 0 {
			continue
		}
		if len(r.graph.Nodes) >= maxIndex || len(r.graph.inputs) >= maxIndex/2 {
			return &IRError{offset, lang.Say("more nodes than any graph has")}
		}
		r.offset = offset
		r.readLine(text, len(line)-len(text))
	}
}

// Descriptions of expected lines and parts, for misfits.
const (
	wantHead     = "a line of the head such as KEY: VALUE, or a subgraph"
	wantNode     = "%4(name) = Operator(operands)"
	wantOfNode   = "a line of a node: its types, name or place in a script"
	wantTypes    = "(types) or (name)"
	wantName     = "a name in brackets"
	wantLocation = "a line of a script such as net.py:88/code/"
	wantOperand  = "a node or parameter defined above"
)

// misfit records a line, or a part of it, that does not fit.
func (r *irReader) misfit(text []byte, wanted string) {
	r.graph.Misfits.Add(int(r.lines.line), r.offset, text, wanted)
}

// readLine reads a line; blanks is the number of blanks before the text.
func (r *irReader) readLine(text []byte, blanks int) {
	switch c := text[0]; {
	case c == '%' && (blanks < nodeDepth && r.readNode(text) || r.readParam(text)):
	case c == 'R' && blanks < nodeDepth && bytes.HasPrefix(text, []byte("Return(")):
		r.endNode()
		r.returned = true
	case c == '}' && blanks == 0 && len(text) == 1 && r.subgraph >= 0:
		r.endNode()
		r.subgraph, r.open = -1, false
	case c == 's' && bytes.HasPrefix(text, []byte("subgraph @")):
		r.readSubgraph(text)
	case c == ':' && r.node >= 0:
		r.readColonLine(bytes.TrimLeft(text[1:], " "))
	case c == '#':
		r.readComment(bytes.TrimLeft(text[1:], " "))
	default:
		r.readOtherLine(text)
	}
}

// readOtherLine reads a line that matches no known form.
func (r *irReader) readOtherLine(text []byte) {
	switch {
	case r.node >= 0 && !r.typed:
		r.graph.Nodes[r.node].readIDs(text)
		r.between.Add(int(r.lines.line), r.offset, text, wantOfNode)
	case r.node < 0 && r.returned, string(text) == "...":
	case r.node >= 0:
		r.misfit(text, wantOfNode)
	case r.subgraph >= 0:
		r.misfit(text, wantNode)
	case text[0] == '%' && r.sorted:
	case text[0] == '%' || text[0] == '}' || bytes.IndexByte(text, ':') < 0:
		r.misfit(text, wantHead)
	}
}

// finish ends reading at the end of the file.
func (r *irReader) finish(size int64) error {
	cut := r.open
	switch {
	case cut:
		r.endTruncated()
	default:
		r.endNode()
	}
	switch {
	case size == 0:
		return &IRError{0, lang.Say("the file is empty")}
	case r.sorted && len(r.graph.Nodes) == 0:
		r.graph.Misfits.Clear()
		return &IRError{0, lang.Say(sortedMode)}
	case !r.isIR && len(r.graph.Nodes) == 0:
		r.graph.Misfits.Clear()
		return &IRError{0, lang.Say(`neither "IR entry" nor "subgraph @" found, this is no text of a graph`)}
	case cut:
		return &IRError{size, lang.Say("the file ends inside a subgraph")}
	}
	return nil
}

// endTruncated ends the current node where the file is truncated, and removes it if its name has not been read.
func (r *irReader) endTruncated() {
	if r.node >= 0 && !r.named {
		g := r.graph
		n := &g.Nodes[r.node]
		g.inputs, g.frames = g.inputs[:n.inputs.from], g.frames[:n.frames.from]
		for len(r.cross) > 0 && r.cross[len(r.cross)-1].input >= len(g.inputs) {
			r.cross = r.cross[:len(r.cross)-1]
		}
		g.Nodes = g.Nodes[:r.node]
	}
	r.endNode()
}

// endNode ends the current node. Without types, the lines collected in between were no attribute: they become misfits.
func (r *irReader) endNode() {
	if r.between.Count > 0 && !r.typed {
		r.graph.Misfits.Append(&r.between)
	}
	r.between.Clear()
	r.node, r.returned = -1, false
}

// readSubgraph reads subgraph @name parent: [subgraph @other](%para6_x, %para7_y) {.
func (r *irReader) readSubgraph(text []byte) {
	r.endNode()
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
	for _, formal := range r.splitOperands(cutOperands(formals)) {
		if number, name, ok := cutParam(formal); ok {
			r.addParam(number, name)
		}
	}
}

func (r *irReader) startSubgraph(name []byte) {
	s := r.types.copyString(name)
	r.subgraph = int32(len(r.graph.Subgraphs))
	r.graph.Subgraphs = append(r.graph.Subgraphs, s)
	if _, known := r.subgraphs[s]; !known {
		r.subgraphs[s] = r.subgraph
	}
	r.first, r.unordered = len(r.graph.Nodes), nil
}

// readParam reads a parameter of the graph, %para2_conv1.weight : <type> : words, and reports whether the line has
// this form.
func (r *irReader) readParam(text []byte) bool {
	if r.subgraph >= 0 || r.node >= 0 {
		return false
	}
	number, rest, ok := cutParam(text)
	if !ok {
		r.sorted = r.sorted || bytes.Contains(text, []byte(" = Primitive::"))
		return false
	}
	name, _, found := bytes.Cut(rest, []byte(": <"))
	if found {
		r.addParam(number, bytes.TrimRight(name, " "))
	}
	return found
}

// cutParam splits %para2_conv1.weight into number and name; the number is 0 in %para_x.
func cutParam(text []byte) (number int32, name []byte, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte("%para"))
	if !ok {
		return 0, nil, false
	}
	number, rest, _ = cutNumber(rest)
	name, ok = bytes.CutPrefix(rest, []byte("_"))
	return number, name, ok && len(name) > 0
}

func (r *irReader) addParam(number int32, name []byte) ref {
	g := r.graph
	i := int32(len(g.Params))
	g.Params = append(g.Params, Param{Name: r.types.copyString(name), Number: number})
	if _, known := r.params[number]; !known && number > 0 {
		r.params[number] = i
	}
	if _, known := r.byName[g.Params[i].Name]; !known {
		r.byName[g.Params[i].Name] = i
	}
	return paramRef(int(i))
}

// readNode reads %4(name) = Operator(operands) attributes, and reports whether the line has this form.
func (r *irReader) readNode(text []byte) bool {
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
	r.endNode()
	operator, rest := cutOperator(rest)
	g := r.graph
	n := Node{
		Type: r.typeOf(operator), Offset: r.offset, Line: r.lines.line, Number: number, Subgraph: r.subgraph, item: -1,
		inputs: span{int32(len(g.inputs)), int32(len(g.inputs))}, frames: span{int32(len(g.frames)), int32(len(g.frames))},
		debug: "equivoutput",
	}
	if string(debug) != n.debug { // the oldest writers give all nodes the same name
		n.debug = r.types.copyString(debug)
	}
	r.node, r.named, r.typed, r.kind, r.stack = len(g.Nodes), false, false, Own, 0
	isItem := n.Type == "TupleGetItem"
	for i, operand := range r.splitOperands(cutOperands(rest)) {
		in := r.parseOperand(operand)
		if in == noRef && isItem && i == 1 {
			n.item = constantIndex(operand)
		}
		if in == noRef && len(operand) > 0 && operand[0] == '%' && r.open { // an excerpt refers to nodes outside of it
			r.misfit(operand, wantOperand)
		}
		g.inputs = append(g.inputs, in)
	}
	n.inputs.to = int32(len(g.inputs))
	n.readIDs(rest)
	g.Nodes = append(g.Nodes, n)
	if at := r.first + int(number); at != r.node {
		if r.unordered == nil {
			r.unordered = make(map[int32]int32)
		}
		if _, known := r.unordered[number]; !known {
			r.unordered[number] = int32(r.node)
		}
	}
	return true
}

// typeOf returns the interned type of an operator.
func (r *irReader) typeOf(operator []byte) string {
	operator = bytes.TrimPrefix(operator, []byte("PrimFunc_"))
	if s, ok := r.known[string(operator)]; ok {
		return s
	}
	if r.known == nil {
		r.known = make(map[string]string)
	}
	s := r.types.copyString(operator)
	r.known[s] = s
	return s
}

// cutOperator splits the text behind the = of a node at the bracket of the operands. The operator
// of a call is Call.
func cutOperator(b []byte) (operator, rest []byte) {
	isCall := bytes.HasPrefix(b, []byte("call @"))
	switch {
	case len(b) > 0 && b[0] == '%':
		isCall = true
		if at := bytes.IndexAny(b, "[("); at >= 0 && b[at] == '[' {
			if end := closingBracket(b[at:]); end >= 0 {
				return []byte(Call), b[at+end+1:]
			}
		}
	case len(b) > 0 && b[0] == '$':
		isCall = true
		if end := closingBracket(b[1:]); end >= 0 {
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

// readIDs reads the ids that link a gradient to its forward node from attributes: unique_id:
// "782099" and forward_unique_id: "782099".
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

// readColonLine reads : (types) -> (types), or : (full name) of the oldest writers, where the last name
// counts. Some writers print the stack on the same line.
func (r *irReader) readColonLine(text []byte) {
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
		if bytes.IndexByte(text, '(') < 0 {
			r.misfit(text, wantTypes)
		}
		r.typed = true
	}
	r.addLocations(stack)
}

func (r *irReader) addLocations(line []byte) {
	if bad := r.graph.addLocations(&r.graph.Nodes[r.node], line, r.kind, r.stack); bad != nil {
		r.misfit(bad, wantLocation)
	}
}

// isTypes reports whether bracketed text holds types: a name has no < and no arrow.
func isTypes(text []byte) bool {
	return bytes.IndexByte(text, '<') >= 0 || bytes.Contains(text, []byte(") -> (")) || bytes.HasPrefix(text, []byte("()")) ||
		bytes.HasPrefix(text, []byte("(, )"))
}

// hasFoldedPrefix reports whether text begins with word, ignoring case.
func hasFoldedPrefix(text []byte, word string) bool {
	return len(text) >= len(word) && bytes.EqualFold(text[:len(word)], []byte(word))
}

// setName sets the node's name to the text between the first and the last bracket.
func (r *irReader) setName(text []byte, scopeOnly bool) {
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from {
		r.misfit(text, wantName)
		return
	}
	n := &r.graph.Nodes[r.node]
	n.Name, n.scopeOnly = r.types.copyString(text[from+1:to]), scopeOnly
	r.named = true
}

// readComment reads a comment: the full name, the scope, a location, or a heading that says which node
// the locations below belong to.
func (r *irReader) readComment(text []byte) {
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
	r.addLocations(text)
	if n.Name == "" || n.scopeOnly { // without a name, only the form of the location identifies the writer
		n.innerFirst = n.innerFirst || n.frames.to > from && !bytes.Contains(text, []byte(".py:"))
	}
}

// lineReader reads lines with their offsets and numbers.
type lineReader struct {
	in      *bufio.Reader
	offset  int64 // of the next line
	line    int32 // number of the last line
	long    []byte
	tooLong int
}

// next returns a line without its line end, and its offset.
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

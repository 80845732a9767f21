package graph

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"dumptool/internal/lang"
	"dumptool/internal/misfit"
)

// IR is a graph saved by MindSpore, as text or protobuf: operators with their inputs and their
// lines of the script. Types and attributes stay in the file; see Types.
type IR struct {
	// Nodes lists the operators of all subgraphs in file order, without Return.
	Nodes []Node
	// Params lists the parameters of the graph and of its subgraphs.
	Params []Param
	// Subgraphs lists the names of the subgraphs; a name is empty in an excerpt of a text and in
	// protobuf.
	Subgraphs []string
	// Proto marks a graph read from protobuf. Its node numbers differ from the numbers in the text.
	Proto bool
	// Warnings lists oddities that leave the graph usable.
	Warnings []lang.Sentence
	// Misfits lists skipped lines, or skipped fields of protobuf.
	Misfits misfit.List

	inputs []ref
	frames []Frame
	texts  texts

	forward struct {
		once sync.Once
		of   map[uint64]int32 // indexes of nodes by unique id
	}
}

// Node is an operator, or another node of the graph such as a call.
type Node struct {
	// Name is the full name: scope, type and number, as Default/net/Conv2D-op515. If the file has
	// only the scope, Name holds the scope; see OpName.
	Name string
	// Type is the operator, as Conv2D; Call for nodes that call a graph.
	Type string
	// Offset is the byte where the node begins, Line its line from 1, 0 for protobuf.
	Offset int64
	Line   int32
	// Number is the 4 of %4, -1 for none.
	Number int32
	// Subgraph is the index of the node's subgraph.
	Subgraph int32

	debug           string
	unique, forward uint64 // 0 for none
	length          int32  // of the message in bytes, protobuf only
	inputs, frames  span
	item            int32 // index of the output that TupleGetItem selects, -1 if unknown
	scopeOnly       bool  // Name holds the scope
	innerFirst      bool  // stacks begin with the innermost frame
}

// Call is the type of nodes that call a graph.
const Call = "call"

// OpName returns the full name, empty if the file has only the scope.
func (n *Node) OpName() string {
	if n.scopeOnly {
		return ""
	}
	return n.Name
}

// Scope returns the folders of the full name, or the scope that replaces it.
func (n *Node) Scope() string {
	if n.scopeOnly {
		return n.Name
	}
	return n.Name[:max(0, strings.LastIndexByte(n.Name, '/'))]
}

// ID returns the operator's number in the full name, as 515 or 515_2; empty for none.
func (n *Node) ID() string {
	if n.scopeOnly {
		return ""
	}
	at := strings.LastIndex(n.Name, "-op")
	if at < 0 {
		return ""
	}
	id := n.Name[at+len("-op"):]
	first, second, two := strings.Cut(id, "_")
	if !isDigits(first) || two && !isDigits(second) {
		return ""
	}
	return id
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Param is a parameter of the graph or of a subgraph.
type Param struct {
	Name string
	// Number is the 2 of %para2_conv1.weight, 0 for none.
	Number int32
}

// span is a half-open range of a list.
type span struct{ from, to int32 }

// ref is the source of an input: the index of a node, an encoded parameter, or noRef.
type ref int32

const noRef ref = -1

func paramRef(index int) ref { return ref(-2 - index) }

func (r ref) param() (index int, ok bool) { return int(-2 - r), r < noRef }

// Label returns the name of a node in the file, such as %4.
func (g *IR) Label(n *Node) string {
	switch {
	case n.Number < 0:
		return ""
	case g.Proto:
		return strconv.Itoa(int(n.Number))
	}
	return "%" + strconv.Itoa(int(n.Number))
}

// IRError is an error with the offset at which reading stopped.
type IRError struct {
	// Offset is the byte at which reading stopped.
	Offset int64
	What   lang.Sentence
}

// Error implements error.
func (e *IRError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *IRError) Text() lang.Text { return lang.Say("graph: %s at byte %d", e.What, e.Offset).Text() }

// maxIndex is the largest index and number in a graph: 31 bits.
const maxIndex = 1<<31 - 1

// texts interns texts. Text 0 is empty.
type texts struct {
	all   []string
	flags []textFlag
	index map[string]Text
	arena arena
}

// Text is the index of an interned text.
type Text int32

// textFlag classifies a path or code.
type textFlag uint8

const (
	isLibrary textFlag = 1 << iota // a path of MindSpore's own Python code
	isBlock                        // code that begins a block, such as if or def
	isNamed                        // code that begins a definition
)

// Text returns the text with an index.
func (g *IR) Text(t Text) string { return g.texts.all[t] }

func newIR() *IR {
	return &IR{texts: texts{all: []string{""}, flags: []textFlag{0}, index: map[string]Text{"": 0}}}
}

// TextCount returns the number of texts; all indexes are below it.
func (g *IR) TextCount() int { return len(g.texts.all) }

// add interns b and returns its index; clean, unless nil, returns the text to store.
func (t *texts) add(b []byte, clean func([]byte) []byte) Text {
	if i, ok := t.index[string(b)]; ok {
		return i
	}
	kept := b
	if clean != nil {
		kept = clean(b)
	}
	s := t.arena.copyString(kept)
	key := s
	if len(kept) != len(b) {
		key = t.arena.copyString(b)
	}
	i := Text(len(t.all))
	t.all, t.flags = append(t.all, s), append(t.flags, textFlags(s))
	t.index[key] = i
	return i
}

// arena stores many short strings in few allocations.
type arena struct{ b strings.Builder }

const arenaChunk = 64 << 10

// copyString copies b to a string; invalid UTF-8 is replaced.
func (a *arena) copyString(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if !utf8.Valid(b) {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	if len(b) > arenaChunk/4 {
		return string(b)
	}
	if a.b.Cap()-a.b.Len() < len(b) {
		a.b = strings.Builder{}
		a.b.Grow(arenaChunk)
	}
	from := a.b.Len()
	a.b.Write(b)
	return a.b.String()[from:]
}

// OpSpec describes an operator of a graph that is built in memory, not read from a file.
type OpSpec struct {
	Name, Type string
	// Stack lists the lines of the script around the call, innermost first.
	Stack []Location
}

// Location is a line of a script.
type Location struct {
	Path, Code string
	Line       int32
	Library    bool // not the user's code
}

// NewIR makes a graph of operators without data flow.
func NewIR(ops []OpSpec) *IR {
	g := newIR()
	g.Subgraphs = []string{""}
	for i := range ops {
		op := &ops[i]
		n := Node{Name: op.Name, Type: op.Type, Offset: int64(i), Number: -1, item: -1, innerFirst: true, frames: span{int32(len(g.frames)), int32(len(g.frames))}}
		for _, l := range op.Stack {
			f := Frame{Path: g.texts.add([]byte(l.Path), nil), Code: g.texts.add([]byte(l.Code), squeezeBlanks), Line: l.Line, End: l.Line}
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

// SavedFile is the parsed name of a file in which MindSpore saved a graph.
type SavedFile struct {
	// Stage ranks the compilation stages, latest first; dumps show the graph of the latest stage.
	Stage int
	// Graph is the number of the graph, -1 if the name has none.
	Graph int
	// Seq is the sequence number of the file in its run, highest for the latest file; -1 for none.
	Seq int
	// Proto marks a protobuf file.
	Proto bool
}

// savedForms lists the forms of names by stage, with the regexp groups of the graph's number and of
// the sequence number; 0 for none.
var savedForms = [...]struct {
	name       *regexp.Regexp
	graph, seq int
}{
	{regexp.MustCompile(`^ms_output_trace_code_graph_(\d+)\.(?:ir|pb)$`), 1, 0},
	{regexp.MustCompile(`^trace_code_graph_(\d+)(?:_(\d+))?(?:\.ir)?$`), 1, 2},
	{regexp.MustCompile(`^graph_build_(\d+)(?:_(\d+))?\.ir$`), 1, 2},
	{regexp.MustCompile(`^hwopt_.*end.*_graph_(\d+)(?:_(\d+))?\.ir$`), 1, 2},
	{regexp.MustCompile(`^hwopt_.*_graph_(\d+)(?:_(\d+))?\.ir$`), 1, 2},
	{regexp.MustCompile(`^\d+_execute(?:_(\d+))?\.ir$`), 0, 1},
	{regexp.MustCompile(`^\d+_validate(?:_(\d+))?\.ir$`), 0, 1},
	{regexp.MustCompile(`\.ir$`), 0, 0},
}

// OtherStage is the stage of file names without a stage; each of these files is a separate graph.
const OtherStage = len(savedForms) - 1

// ParseSaved parses the base name of a file. ok is false if the file cannot be a graph.
func ParseSaved(base string) (SavedFile, bool) {
	if !strings.Contains(base, "graph_") && !strings.HasSuffix(base, ".ir") {
		return SavedFile{}, false
	}
	for stage, form := range savedForms {
		m := form.name.FindStringSubmatch(base)
		if m == nil {
			continue
		}
		s := SavedFile{Stage: stage, Graph: -1, Seq: -1, Proto: strings.HasSuffix(base, ".pb")}
		if form.graph > 0 {
			s.Graph = savedNumber(m[form.graph])
		}
		if form.seq > 0 {
			s.Seq = savedNumber(m[form.seq])
		}
		// A single number of four digits is the sequence number.
		const seqDigits = 4
		if stage == 1 && s.Seq < 0 && len(m[1]) == seqDigits {
			s.Graph, s.Seq = -1, s.Graph
		}
		return s, true
	}
	return SavedFile{}, false
}

func savedNumber(digits string) int {
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// LastStage returns the indexes of the relevant files of a folder: the latest file of each graph in the latest stage.
// Protobuf files come after the text files. A protobuf file is needed only if the text of its graph is missing or has
// no nodes.
func LastStage(all []SavedFile) []int {
	type key struct {
		graph int
		proto bool
	}
	stage := OtherStage
	for _, s := range all {
		stage = min(stage, s.Stage)
	}
	last := make(map[key]int)
	for i, s := range all {
		k := key{s.Graph, s.Proto}
		if old, ok := last[k]; s.Stage == stage && (!ok || s.Seq > all[old].Seq) {
			last[k] = i
		}
	}
	var chosen []int
	for i, s := range all {
		if s.Stage == stage && (stage == OtherStage || last[key{s.Graph, s.Proto}] == i) {
			chosen = append(chosen, i)
		}
	}
	slices.SortStableFunc(chosen, func(a, b int) int {
		switch {
		case all[a].Proto != all[b].Proto && all[a].Proto:
			return 1
		case all[a].Proto != all[b].Proto:
			return -1
		}
		return cmp.Compare(all[a].Graph, all[b].Graph)
	})
	return chosen
}

// IsSameGraphIR reports whether ReadIR returns the same graph for two texts: each pair of lines is equal,
// or has the same length and differs only in parts that are not kept, such as the address of a
// subgraph or the number of a rank among the attributes. Graphs of the ranks of one network differ
// in such lines. In doubt the result is false.
func IsSameGraphIR(a, b io.Reader) bool {
	x, y := make([]byte, irBuffer), make([]byte, irBuffer)
	for kept := 0; ; { // bytes of an incomplete line at the start of both buffers
		n, err := io.ReadFull(a, x[kept:])
		m, err2 := io.ReadFull(b, y[kept:])
		ends := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if n != m || err != nil && !ends || err2 != nil && !errors.Is(err2, io.EOF) && !errors.Is(err2, io.ErrUnexpectedEOF) {
			return false
		}
		size := kept + n
		end := size
		if !ends {
			if end = bytes.LastIndexByte(x, '\n') + 1; end == 0 { // lines longer than the buffer must be equal
				if !bytes.Equal(x, y) {
					return false
				}
				end = size
			}
		}
		if !alikeBlocks(x[:end], y[:end]) {
			return false
		}
		if ends {
			return true
		}
		kept = copy(x, x[end:size])
		copy(y, y[end:size])
	}
}

// alikeBlocks compares blocks of whole lines.
func alikeBlocks(a, b []byte) bool {
	for at := 0; ; {
		d := firstDifference(a[at:], b[at:])
		if d < 0 {
			return true
		}
		from := bytes.LastIndexByte(a[:at+d], '\n') + 1
		to := bytes.IndexByte(a[from:], '\n')
		if to < 0 {
			to = len(a) - from
		}
		line, line2 := a[from:from+to], b[from:from+to]
		at = from + to
		if bytes.IndexByte(line2, '\n') >= 0 || at < len(a) && b[at] != '\n' || !alikeLines(line, line2) {
			return false
		}
	}
}

// firstDifference returns the index of the first byte that differs between two texts of equal
// length, -1 for none.
func firstDifference(a, b []byte) int {
	const block = 512
	for at := 0; at < len(a); at += block {
		x, y := a[at:min(at+block, len(a))], b[at:min(at+block, len(a))]
		if bytes.Equal(x, y) {
			continue
		}
		for i := range x {
			if x[i] != y[i] {
				return at + i
			}
		}
	}
	return -1
}

// alikeLines reports whether two different lines of equal length have the same meaning.
func alikeLines(a, b []byte) bool {
	text := bytes.TrimLeft(a, " \t")
	if len(text) == 0 {
		return false
	}
	text2 := b[len(a)-len(text):]
	if text[0] != text2[0] || !bytes.Equal(a[:len(a)-len(text)], b[:len(a)-len(text)]) {
		return false
	}
	switch text[0] {
	case '%': // a node with its attributes
		end := attributesAt(text)
		if end < 0 || !bytes.Equal(text[:end], text2[:end]) {
			return false
		}
		text, text2 = text[end:], text2[end:]
	case ':': // types are read again from each file
		return isOnlyTypes(text) && isOnlyTypes(text2)
	case '#', '}', 'R':
		return false
	default: // a line of the head, or an attribute with line feeds
		const subgraph = "subgraph @"
		if bytes.HasPrefix(text, []byte(subgraph)) || bytes.HasPrefix(text2, []byte(subgraph)) ||
			(bytes.IndexByte(text, ':') < 0) != (bytes.IndexByte(text2, ':') < 0) {
			return false
		}
	}
	var n, n2 Node
	n.readIDs(text)
	n2.readIDs(text2)
	return n.unique == n2.unique && n.forward == n2.forward
}

// isOnlyTypes reports whether a line holds types and no location behind them.
func isOnlyTypes(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text[1:], " "), []byte("(<")) && !bytes.Contains(text, []byte(inFile))
}

// attributesAt returns the index of a node's attributes in its line, -1 for other lines.
func attributesAt(text []byte) int {
	_, rest, ok := cutNumber(text[1:])
	if !ok {
		return -1
	}
	at := bytes.Index(rest, []byte(" = "))
	if at < 0 || at > 0 && rest[0] != '(' {
		return -1
	}
	_, rest = cutOperator(rest[at+len(" = "):])
	if end := closingBracket(rest); end >= 0 {
		return len(text) - len(rest) + end + 1
	}
	return -1
}

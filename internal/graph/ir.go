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

// IR is a graph that MindSpore saved, as text or as protobuf: its operators with
// their inputs and the lines of the script that they come from. Types and
// attributes stay in the file; see Types.
type IR struct {
	// Nodes are the operators of all subgraphs in the order of the file, without
	// Return.
	Nodes []Node
	// Params are the parameters of the graph and those of its subgraphs.
	Params []Param
	// Subgraphs are the names of the subgraphs; empty for text that is no whole
	// file, and for protobuf.
	Subgraphs []string
	// Proto is set for a graph that was read from protobuf, of which the numbers of
	// nodes are others than those of the text.
	Proto bool
	// Warnings are oddities that do not keep the graph from being used.
	Warnings []lang.Sentence
	// Misfits are the lines, of protobuf the fields, that were passed over.
	Misfits misfit.List

	inputs []ref
	frames []Frame
	texts  texts

	forward struct {
		once sync.Once
		of   map[uint64]int32 // nodes by their unique ids
	}
}

// Node is an operator, or another node of the graph such as a call.
type Node struct {
	// Name is the full name: scope, type and number, as Default/net/Conv2D-op515. It
	// is empty where the file knows only the Scope.
	Name string
	// Type is the operator, as Conv2D, and Call for those that call a graph.
	Type string
	// Offset is where the node begins in the file, Line the line there from 1, 0
	// for protobuf.
	Offset int64
	Line   int32
	// Number is that of %4, -1 for none.
	Number int32
	// Subgraph is the index of its subgraph.
	Subgraph int32

	debug           string
	unique, forward uint64 // 0 for none
	length          int32  // in bytes, of protobuf
	inputs, frames  span
	item            int32 // the output that TupleGetItem takes, -1 if not known
	scopeOnly       bool  // Name is the scope
	innerFirst      bool  // the stacks begin with the innermost frame
}

// Call is the type of nodes whose operator is a graph.
const Call = "call"

// OpName returns the full name, empty if the file does not know it.
func (n *Node) OpName() string {
	if n.scopeOnly {
		return ""
	}
	return n.Name
}

// Scope returns the folders of the full name, or what the file has in its place.
func (n *Node) Scope() string {
	if n.scopeOnly {
		return n.Name
	}
	return n.Name[:max(0, strings.LastIndexByte(n.Name, '/'))]
}

// ID returns the number of the operator in its full name, as 515 or 515_2; empty
// for none.
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
	// Number is that of %para2_conv1.weight, 0 for none.
	Number int32
}

// span is a part of a list.
type span struct{ from, to int32 }

// ref is what an input is: the index of a node, of a parameter, or nothing.
type ref int32

const noRef ref = -1

func paramRef(index int) ref { return ref(-2 - index) }

func (r ref) param() (index int, ok bool) { return int(-2 - r), r < noRef }

// Label returns the node as the file names it, such as %4.
func (g *IR) Label(n *Node) string {
	switch {
	case n.Number < 0:
		return ""
	case g.Proto:
		return strconv.Itoa(int(n.Number))
	}
	return "%" + strconv.Itoa(int(n.Number))
}

// IRError says where a graph could not be read.
type IRError struct {
	// Offset is the byte at which the reading ended.
	Offset int64
	What   lang.Sentence
}

// Error implements error.
func (e *IRError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *IRError) Text() lang.Text { return lang.Say("graph: %s at byte %d", e.What, e.Offset).Text() }

// limits of what a graph may hold: indexes have 31 bits.
const maxIndex = 1<<31 - 1

// texts keeps every text once. Text 0 is empty.
type texts struct {
	all   []string
	flags []textFlag
	index map[string]Text
	arena arena
}

// Text is the number of a text of a graph.
type Text int32

// textFlag says what a text is, as a path or as code.
type textFlag uint8

const (
	isLibrary textFlag = 1 << iota // a path of MindSpore's own Python code
	isBlock                        // code that others are inside of
	isNamed                        // a block that is a definition
)

// Text returns a text of the graph.
func (g *IR) Text(t Text) string { return g.texts.all[t] }

func newIR() *IR {
	return &IR{texts: texts{all: []string{""}, flags: []textFlag{0}, index: map[string]Text{"": 0}}}
}

// TextCount is how many texts the graph has; the numbers of all are below it.
func (g *IR) TextCount() int { return len(g.texts.all) }

// add returns the number of a text; clean makes it what is kept.
func (t *texts) add(b []byte, clean func([]byte) []byte) Text {
	if i, ok := t.index[string(b)]; ok {
		return i
	}
	kept := b
	if clean != nil {
		kept = clean(b)
	}
	s := t.arena.keep(kept)
	key := s
	if len(kept) != len(b) {
		key = t.arena.keep(b)
	}
	i := Text(len(t.all))
	t.all, t.flags = append(t.all, s), append(t.flags, textFlags(s))
	t.index[key] = i
	return i
}

// arena keeps many short strings in few allocations.
type arena struct{ b strings.Builder }

const arenaChunk = 64 << 10

// keep returns a string with the bytes, in which those that are no UTF-8 are
// replaced.
func (a *arena) keep(b []byte) string {
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

// Saved is what the name of a file says in which MindSpore saved a graph.
type Saved struct {
	// Stage is the place of the stage of the compilation among all, the last one
	// first: what a dump shows is the graph of the last stage.
	Stage int
	// Graph is the number of the graph, -1 for one that the name does not say.
	Graph int
	// Seq is the number of the file in its run, of which the highest one is the
	// last; -1 for none.
	Seq int
	// Proto is set for protobuf.
	Proto bool
}

// savedForms are the names by stage. The groups are the graph and the number of the
// file.
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

// OtherStage is the stage of names that do not say theirs; each is a graph.
const OtherStage = len(savedForms) - 1

// ParseSaved takes the base name of a file apart. It reports whether such a file may
// be a graph.
func ParseSaved(base string) (Saved, bool) {
	if !strings.Contains(base, "graph_") && !strings.HasSuffix(base, ".ir") {
		return Saved{}, false
	}
	for stage, form := range savedForms {
		m := form.name.FindStringSubmatch(base)
		if m == nil {
			continue
		}
		s := Saved{Stage: stage, Graph: -1, Seq: -1, Proto: strings.HasSuffix(base, ".pb")}
		if form.graph > 0 {
			s.Graph = savedNumber(m[form.graph])
		}
		if form.seq > 0 {
			s.Seq = savedNumber(m[form.seq])
		}
		// One number of four digits is that of the file.
		const seqDigits = 4
		if stage == 1 && s.Seq < 0 && len(m[1]) == seqDigits {
			s.Graph, s.Seq = -1, s.Graph
		}
		return s, true
	}
	return Saved{}, false
}

func savedNumber(digits string) int {
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// LastStage returns the indexes of the files of a folder that count: those of the
// last stage that is there, and of each graph the last file. Protobuf comes behind
// the text; it counts where the text of its graph is missing or holds no node.
func LastStage(all []Saved) []int {
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

// AlikeIR reports whether ReadIR makes the same of two texts: every line is the same, or
// has the same length and differs in what is not kept, such as the address of a subgraph
// or the number of a rank among the attributes. The graphs of the ranks of one network
// differ in such lines. It errs on the side of false.
func AlikeIR(a, b io.Reader) bool {
	x, y := make([]byte, irBuffer), make([]byte, irBuffer)
	for kept := 0; ; { // bytes of a line that is not whole, at the begin of both
		n, err := io.ReadFull(a, x[kept:])
		m, err2 := io.ReadFull(b, y[kept:])
		ends := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if n != m || err != nil && !ends || err2 != nil && !errors.Is(err2, io.EOF) && !errors.Is(err2, io.ErrUnexpectedEOF) {
			return false
		}
		size := kept + n
		end := size
		if !ends {
			if end = bytes.LastIndexByte(x, '\n') + 1; end == 0 { // of a line without end both have to be equal
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

// alikeBlocks compares whole lines.
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

// firstDifference returns the index of the first byte in which two texts of the same
// length differ, -1 for none.
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

// alikeLines reports whether two lines of the same length that differ mean the same.
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
	case '%': // a node, and its attributes
		end := attributesAt(text)
		if end < 0 || !bytes.Equal(text[:end], text2[:end]) {
			return false
		}
		text, text2 = text[end:], text2[end:]
	case ':': // types are read again, from the file of each
		return isOnlyTypes(text) && isOnlyTypes(text2)
	case '#', '}', 'R':
		return false
	default: // of the head, or attributes with a line feed
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

// isOnlyTypes reports whether a line has types, and no place in a script behind them.
func isOnlyTypes(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text[1:], " "), []byte("(<")) && !bytes.Contains(text, []byte(inFile))
}

// attributesAt returns where the attributes of a node begin in its line, -1 for another
// line.
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
	if end := closing(rest); end >= 0 {
		return len(text) - len(rest) + end + 1
	}
	return -1
}

package graph

import (
	"bytes"
	"slices"
	"strings"
)

// StackKind says which node a stack belongs to.
type StackKind uint8

// Kinds of stacks.
const (
	// Own is the stack of the node itself.
	Own StackKind = iota
	// Fused is the stack of a node that was merged into this node.
	Fused
	// Forward is the stack of the node whose gradient this node computes.
	Forward
)

// String returns the name of the kind.
func (k StackKind) String() string { return [...]string{"own", "fused", "forward"}[k] }

// Frame is a line of a script in a stack.
type Frame struct {
	// Path and Code are texts of the graph; runs of blanks in Code are squeezed. Code is empty if
	// the script could not be read when the graph was saved.
	Path, Code Text
	// Line and End are the first and last line of the statement, or of the whole block.
	Line, End int32
	Kind      StackKind

	stack uint16 // index of the stack in its node
}

// Stack is a call stack, innermost frame first.
type Stack struct {
	Kind   StackKind
	Frames []Frame
}

// StackSource says which stack gave the script line of a node.
type StackSource string

// Sources of a script line.
const (
	ViaNone    StackSource = ""
	ViaOwn     StackSource = "own"
	ViaFused   StackSource = "fused"
	ViaForward StackSource = "forward"
	ViaLibrary StackSource = "library" // no line of the user is known
)

// libraryFolders lists the folders of MindSpore's Python code.
var libraryFolders = strings.Fields("nn ops _extends common train parallel boost numpy scipy rewrite amp experimental communication dataset graph")

// blockWords lists the words that begin block statements.
var blockWords = strings.Fields("def class if elif else for while with try except finally async")

func textFlags(s string) textFlag {
	var flags textFlag
	if isLibraryPath(s) {
		flags |= isLibrary
	}
	word := s
	if end := strings.IndexFunc(s, func(r rune) bool { return r < 'a' || r > 'z' }); end >= 0 {
		word = s[:end]
	}
	if strings.HasPrefix(s, "@") || slices.Contains(blockWords, word) && !strings.HasPrefix(s[len(word):], "_") {
		flags |= isBlock
	}
	if strings.HasPrefix(s, "@") || word == "def" || word == "class" || word == "async" {
		flags |= isNamed
	}
	return flags
}

// isLibraryPath reports whether a script belongs to MindSpore.
func isLibraryPath(path string) bool {
	const folder = "mindspore/"
	for at := 0; ; {
		i := strings.Index(path[at:], folder)
		if i < 0 {
			return false
		}
		i += at
		at = i + len(folder)
		if i > 0 && path[i-1] != '/' {
			continue
		}
		if strings.HasSuffix(path[:i], "/site-packages/") || strings.HasSuffix(path[:i], "/dist-packages/") {
			return true
		}
		next, _, isFolder := strings.Cut(path[at:], "/")
		if isFolder && slices.Contains(libraryFolders, next) {
			return true
		}
	}
}

// IsLibrary reports whether a frame is in MindSpore's own Python code.
func (g *IR) IsLibrary(f Frame) bool { return g.texts.flags[f.Path]&isLibrary != 0 }

// IsBlock reports whether a frame is a whole block statement, whose line says little.
func (g *IR) IsBlock(f Frame) bool { return f.End > f.Line && g.texts.flags[f.Code]&isBlock != 0 }

// IsDefinition reports whether a frame is the definition of a function or class.
func (g *IR) IsDefinition(f Frame) bool { return g.IsBlock(f) && g.texts.flags[f.Code]&isNamed != 0 }

// Frames returns all frames of a node in file order.
func (g *IR) Frames(n *Node) []Frame { return g.frames[n.frames.from:n.frames.to] }

// Stacks returns the stacks of a node.
func (g *IR) Stacks(n *Node) []Stack {
	var stacks []Stack
	rest := g.Frames(n)
	for len(rest) > 0 {
		end := 1
		for end < len(rest) && rest[end].stack == rest[0].stack {
			end++
		}
		s := Stack{Kind: rest[0].Kind, Frames: slices.Clone(rest[:end])}
		// If only one end of the stack is library code, this end is innermost. Otherwise the order depends on the
		// writer of the file.
		begins, ends := g.IsLibrary(s.Frames[0]), g.IsLibrary(s.Frames[len(s.Frames)-1])
		if begins != ends && ends || begins == ends && !n.innerFirst {
			slices.Reverse(s.Frames)
		}
		stacks = append(stacks, s)
		rest = rest[end:]
	}
	return stacks
}

// UserFrame returns the frame that the user wrote: the innermost frame outside of the library, preferably not of a block;
// else the innermost.
func (g *IR) UserFrame(s Stack) Frame {
	for _, f := range s.Frames {
		if !g.IsLibrary(f) && !g.IsBlock(f) {
			return f
		}
	}
	for _, f := range s.Frames {
		if !g.IsLibrary(f) {
			return f
		}
	}
	return s.Frames[0]
}

// Script returns the line of the script that a node comes from.
func (g *IR) Script(n *Node) (Frame, StackSource) {
	stacks := g.Stacks(n)
	var library *Frame
	for _, wanted := range []struct {
		kind StackKind
		via  StackSource
	}{{Own, ViaOwn}, {Fused, ViaFused}, {Forward, ViaForward}} {
		for _, s := range stacks {
			if s.Kind != wanted.kind {
				continue
			}
			f := g.UserFrame(s)
			if !g.IsLibrary(f) {
				return f, wanted.via
			}
			if library == nil {
				library = &f
			}
		}
	}
	if !slices.ContainsFunc(stacks, func(s Stack) bool { return s.Kind == Forward }) {
		if f, ok := g.forwardUser(n); ok {
			return f, ViaForward
		}
	}
	if library != nil {
		return *library, ViaLibrary
	}
	return Frame{}, ViaNone
}

// Forward returns the node whose gradient n computes, found by the ids in the attributes; nil if
// there is none.
func (g *IR) Forward(n *Node) *Node {
	if n.forward == 0 {
		return nil
	}
	g.forward.once.Do(func() {
		g.forward.of = make(map[uint64]int32)
		for i := range g.Nodes {
			if id := g.Nodes[i].unique; id != 0 {
				if _, known := g.forward.of[id]; !known {
					g.forward.of[id] = int32(i)
				}
			}
		}
	})
	if i, ok := g.forward.of[n.forward]; ok && &g.Nodes[i] != n {
		return &g.Nodes[i]
	}
	return nil
}

// forwardUser returns the user's frame in the own stack of the node's forward node.
func (g *IR) forwardUser(n *Node) (Frame, bool) {
	f := g.Forward(n)
	if f == nil {
		return Frame{}, false
	}
	for _, s := range g.Stacks(f) {
		if s.Kind == Own {
			user := g.UserFrame(s)
			return user, !g.IsLibrary(user)
		}
	}
	return Frame{}, false
}

const inFile = "In file "

// addLocations adds the locations in a line of comments to the current node. It returns the last part that begins
// like a location but cannot be parsed, else nil.
func (g *IR) addLocations(n *Node, line []byte, kind StackKind, stack uint16) (bad []byte) {
	for {
		at := bytes.Index(line, []byte(inFile))
		if at < 0 {
			return bad
		}
		line = line[at+len(inFile):]
		one := line
		if end := bytes.Index(line, []byte("# "+inFile)); end >= 0 {
			one, line = line[:end], line[end:]
		} else {
			line = nil
		}
		path, f, code, ok := cutLocation(one)
		if !ok {
			bad = one
			continue
		}
		f.Path, f.Code = g.texts.add(path, nil), g.texts.add(trimCode(code), squeezeBlanks)
		f.Kind, f.stack = kind, stack
		if int(n.frames.to) > int(n.frames.from) && g.frames[n.frames.to-1] == f {
			continue
		}
		if len(g.frames) >= maxIndex {
			return bad
		}
		g.frames = append(g.frames, f)
		n.frames.to++
	}
}

// cutLocation parses the text behind "In file ": path(88)/code/, path:88/code/ or path:88~90, 8~25/code/. The path
// ends at the first position that fits.
func cutLocation(b []byte) (path []byte, f Frame, code []byte, ok bool) {
	for i, c := range b {
		if c != '(' && c != ':' {
			continue
		}
		rest := b[i+1:]
		line, rest, isLine := cutNumber(rest)
		if !isLine {
			continue
		}
		f = Frame{Line: line, End: line}
		if c == '(' {
			if after, found := bytes.CutPrefix(rest, []byte(")/")); found {
				return b[:i], f, after, true
			}
			continue
		}
		if after, found := bytes.CutPrefix(rest, []byte("~")); found {
			if f.End, rest, found = cutNumber(after); !found {
				continue
			}
			f.End = max(f.Line, f.End)
		}
		if after, found := bytes.CutPrefix(rest, []byte(", ")); found {
			_, after, ok1 := cutNumber(after)
			after, ok2 := bytes.CutPrefix(after, []byte("~"))
			_, after, ok3 := cutNumber(after)
			if !ok1 || !ok2 || !ok3 {
				continue
			}
			rest = after
		}
		if after, found := bytes.CutPrefix(rest, []byte("/")); found {
			return b[:i], f, after, true
		}
	}
	return nil, Frame{}, nil, false
}

// cutNumber reads the leading decimal digits of b, a number of at most 31 bits.
func cutNumber(b []byte) (n int32, rest []byte, ok bool) {
	v := int64(0)
	i := 0
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		if v = 10*v + int64(b[i]-'0'); v > maxIndex {
			return 0, b, false
		}
		i++
	}
	return int32(v), b[i:], i > 0
}

// trimCode strips the additions of writers behind the code of a location: a label, a remark on
// shared lines, and the closing slash.
func trimCode(code []byte) []byte {
	code = bytes.TrimSpace(code)
	if !bytes.HasSuffix(code, []byte("/")) {
		if at := bytes.LastIndex(code, []byte("/#")); at >= 0 {
			code = code[:at+1]
		} else if bytes.HasPrefix(code, []byte("#")) {
			return nil
		}
	}
	if at := bytes.Index(code, []byte("<~~This line of code can be shared")); at >= 0 {
		code = code[:at]
	}
	return bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(code), []byte("/")))
}

// squeezeBlanks replaces runs of blanks by one blank.
func squeezeBlanks(b []byte) []byte { return bytes.Join(bytes.Fields(b), []byte(" ")) }

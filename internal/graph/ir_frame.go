package graph

import (
	"bytes"
	"slices"
	"strings"
)

// StackKind says whose stack it is.
type StackKind uint8

// The kinds of stacks.
const (
	// Own is the stack of the node itself.
	Own StackKind = iota
	// Fused is that of a node that was made part of this one.
	Fused
	// Forward is that of the node of which this one computes the gradient.
	Forward
)

// String names the kind.
func (k StackKind) String() string { return [...]string{"own", "fused", "forward"}[k] }

// Frame is a line of a script in a stack.
type Frame struct {
	// Path and Code are texts of the graph. Code is empty where the script could
	// not be read when the graph was saved; blanks in it are single.
	Path, Code Text
	// Line and End are the lines of the statement; of a block, those of all of it.
	Line, End int32
	Kind      StackKind

	stack uint16 // the number of the stack in the node
}

// Stack are the frames of a call stack, innermost first.
type Stack struct {
	Kind   StackKind
	Frames []Frame
}

// Via says which stack the script line of a node comes from.
type Via string

// The ways to a script line.
const (
	ViaNone    Via = ""
	ViaOwn     Via = "own"
	ViaFused   Via = "fused"
	ViaForward Via = "forward"
	ViaLibrary Via = "library" // no line of the user is known
)

// libraryFolders are the folders of MindSpore's Python code.
var libraryFolders = strings.Fields("nn ops _extends common train parallel boost numpy scipy rewrite amp experimental communication dataset graph")

// blockWords begin statements that others are inside of.
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

// IsBlock reports whether a frame is a statement that others are inside of, so that
// its line says little.
func (g *IR) IsBlock(f Frame) bool { return f.End > f.Line && g.texts.flags[f.Code]&isBlock != 0 }

// IsDefinition reports whether a frame is the definition of a function or class.
func (g *IR) IsDefinition(f Frame) bool { return g.IsBlock(f) && g.texts.flags[f.Code]&isNamed != 0 }

// Frames returns all frames of a node in the order of the file.
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
		// The innermost frame is the first one if that alone is of the library, and the last
		// one if that alone is; else it is as the file is written.
		begins, ends := g.IsLibrary(s.Frames[0]), g.IsLibrary(s.Frames[len(s.Frames)-1])
		if begins != ends && ends || begins == ends && !n.innerFirst {
			slices.Reverse(s.Frames)
		}
		stacks = append(stacks, s)
		rest = rest[end:]
	}
	return stacks
}

// User returns the frame of a stack that the user wrote: the innermost one that is
// neither of the library nor a block, else not of the library, else the innermost.
func (g *IR) User(s Stack) Frame {
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
func (g *IR) Script(n *Node) (Frame, Via) {
	stacks := g.Stacks(n)
	var library *Frame
	for _, wanted := range []struct {
		kind StackKind
		via  Via
	}{{Own, ViaOwn}, {Fused, ViaFused}, {Forward, ViaForward}} {
		for _, s := range stacks {
			if s.Kind != wanted.kind {
				continue
			}
			f := g.User(s)
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

// Forward returns the node of which a node computes the gradient, by the ids in
// their attributes; nil if it says none.
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

// forwardUser returns the user's frame in the own stack of the node of which a node
// computes the gradient.
func (g *IR) forwardUser(n *Node) (Frame, bool) {
	f := g.Forward(n)
	if f == nil {
		return Frame{}, false
	}
	for _, s := range g.Stacks(f) {
		if s.Kind == Own {
			user := g.User(s)
			return user, !g.IsLibrary(user)
		}
	}
	return Frame{}, false
}

const inFile = "In file "

// addLocations adds the locations in a comment, or in several on a line, to the node
// that is being read. It returns what of the line is none although it begins like one,
// nil for nothing.
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
		f.Path, f.Code = g.texts.add(path, nil), g.texts.add(trimCode(code), squeeze)
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

// cutLocation takes apart what follows "In file ": path(88)/code/, path:88/code/ or
// path:88~90, 8~25/code/. The first place that can be the end of a path is it.
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

// cutNumber reads the decimal digits that b begins with, a number of 31 bits.
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

// trimCode drops what writers put behind the code of a location: a label, a remark
// on shared lines, and the closing slash.
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

// squeeze makes runs of blanks single ones.
func squeeze(b []byte) []byte { return bytes.Join(bytes.Fields(b), []byte(" ")) }

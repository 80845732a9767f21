package find

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
)

// Kind is the kind of a query.
type Kind string

// Values of Kind.
const (
	Auto  Kind = ""
	Line  Kind = "line"
	Code  Kind = "code"
	Op    Kind = "op"
	ID    Kind = "id"
	Node  Kind = "node"
	Param Kind = "param"
	Order Kind = "order"
	File  Kind = "file"
)

// Kinds lists the kinds that a user can select.
var Kinds = []Kind{Line, Code, Op, ID, Node, Param, Order, File}

// Query is a parsed query.
type Query struct {
	Text string
	// Kind is Auto if only the tree can show whether the query is a file, a parameter, an operator
	// or code.
	Kind Kind

	path     string // of a line query
	from, to int32
	subgraph string // of a node query, optional
	inGraph  bool
	number   int32 // of a node, a parameter or a position in the order
	name     string
	id       string
}

var (
	lineQuery  = regexp.MustCompile(`^(.+)(?::(\d+)(?:[-~](\d+))?|\((\d+)\))$`)
	nodeQuery  = regexp.MustCompile(`^(?:@(.*):)?%(\d+)$`)
	orderQuery = regexp.MustCompile(`^(?:#|order:)(\d+)$`)
	idQuery    = regexp.MustCompile(`^(?:op)?(\d+(?:_\d+)?)$`)
	paramQuery = regexp.MustCompile(`^%?para(\d+)(?:_(.+))?$`)
)

// ParseQuery parses a query of the kind by; Auto detects the kind.
func ParseQuery(text string, by Kind) (*Query, error) {
	q := &Query{Text: text, Kind: by}
	switch {
	case strings.TrimSpace(text) == "":
		return nil, lang.Errorf("the query is empty")
	case by != Auto && !slices.Contains(Kinds, by):
		return nil, lang.Errorf("a query by %q, want one of line, code, op, id, node, param, order, file", by)
	}
	forms := []struct {
		kind   Kind
		form   *regexp.Regexp
		read   func(m []string) bool
		wanted string
	}{
		{Line, lineQuery, q.readLine, "a script and a line, such as resnet.py:88"},
		{Node, nodeQuery, func(m []string) bool {
			q.subgraph, q.inGraph = m[1], strings.HasPrefix(text, "@")
			return q.readNumber(m[2])
		}, "a node, such as %4"},
		{Order, orderQuery, func(m []string) bool { return q.readNumber(m[1]) }, "a place in the execution order from 1, such as #17"},
		{ID, idQuery, func(m []string) bool { q.id = m[1]; return true }, "the number of an operator, such as op515"},
	}
	for _, f := range forms {
		if by != Auto && by != f.kind {
			continue
		}
		m := f.form.FindStringSubmatch(text)
		switch ok := m != nil && f.read(m); {
		case ok && f.kind == Order && q.number == 0:
			return nil, lang.Errorf("%.80q, want a place in the execution order from 1", text)
		case ok:
			q.Kind = f.kind
			return q, nil
		case by == f.kind:
			return nil, lang.Errorf("%.80q, want %s", text, f.wanted)
		}
	}
	if m := paramQuery.FindStringSubmatch(text); m != nil && (by == Auto || by == Param) && q.readNumber(m[1]) {
		q.Kind, q.name = Param, m[2]
	}
	return q, nil
}

func (q *Query) readLine(m []string) bool {
	if q.Kind == Auto && !strings.HasSuffix(m[1], ".py") {
		return false
	}
	from, ok := parseNumber(m[2] + m[4])
	to, ok2 := from, true
	if m[3] != "" {
		to, ok2 = parseNumber(m[3])
	}
	q.path, q.from, q.to = path.Clean(m[1]), min(from, to), max(from, to)
	return ok && ok2
}

func parseNumber(digits string) (int32, bool) {
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), err == nil
}

func (q *Query) readNumber(digits string) (ok bool) {
	q.number, ok = parseNumber(digits)
	return ok
}

// isDumpName reports whether the base name has the form of a dump's name, existing or not.
func (q *Query) isDumpName() bool {
	n := filename.Parse(path.Base(q.Text))
	return n.HasDump || n.Grammar == filename.Sync
}

// isCode reports whether the query has characters that no operator name has.
func (q *Query) isCode() bool { return strings.ContainsAny(q.Text, " \t()=[]\"'+*<>,") }

// matchesPath reports whether the path of a script ends in the path of the query.
func (q *Query) matchesPath(script string) bool {
	script = strings.ReplaceAll(script, `\`, "/")
	if path.IsAbs(q.path) {
		return script == q.path
	}
	rest, ok := strings.CutSuffix(script, q.path)
	return ok && (rest == "" || strings.HasSuffix(rest, "/"))
}

// plainCode removes insignificant blanks: runs become one blank, and blanks beside a character
// outside of words are dropped.
func plainCode(code string) string {
	b := make([]byte, 0, len(code))
	blank := false
	for i := range len(code) {
		c := code[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			blank = len(b) > 0
			continue
		}
		if blank && isWord(c) && isWord(b[len(b)-1]) {
			b = append(b, ' ')
		}
		blank = false
		b = append(b, c)
	}
	return string(b)
}

// isWord reports whether a byte belongs to a word; bytes of non-ASCII characters do.
func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// occursInCode reports whether part occurs in plain code at word boundaries.
func occursInCode(code, part string) bool {
	return part != "" && containsWhere(code, part, func(before, after byte) bool {
		return !(isWord(part[0]) && isWord(before)) && !(isWord(part[len(part)-1]) && isWord(after))
	})
}

// containsWhere reports whether s has an occurrence of part whose neighbouring bytes, 0 at the ends,
// satisfy right.
func containsWhere(s, part string, right func(before, after byte) bool) bool {
	for from := 0; from+len(part) <= len(s); {
		at := strings.Index(s[from:], part)
		if at < 0 {
			return false
		}
		at += from
		before, after := byte(0), byte(0)
		if at > 0 {
			before = s[at-1]
		}
		if end := at + len(part); end < len(s) {
			after = s[end]
		}
		if right(before, after) {
			return true
		}
		from = at + 1
	}
	return false
}

// matchedNode is a node or a parameter that matches a query.
type matchedNode struct {
	graphItem
	match Match
	conf  Confidence // empty if it depends on the other hits
	level int        // distance of a producer or consumer from a match, from 1
	file  *fileID    // the queried file
}

// matchStage is a way to match. The first stage with a hit anywhere wins.
type matchStage struct {
	kind Kind
	find func(graphs []*loadedGraph) []matchedNode
	low  bool // shown only if no other stage finds anything
}

// stages returns the ways to match a query, best first.
func (q *Query) stages() []matchStage {
	switch q.Kind {
	case Line:
		m := matcher{path: q.matchesPath, from: q.from, to: q.to}
		return []matchStage{{Line, m.scriptStage(false), false}, {Line, m.scriptStage(true), true}}
	case Code:
		return q.codeStages()
	case Node:
		return []matchStage{{Node, q.nodesByNumber, false}}
	case Order:
		return []matchStage{{Order, q.nodesByOrder, false}}
	case ID:
		return append([]matchStage{{ID, q.nodesByID, false}, {Param, q.paramSuffixes, false}}, append(q.codeStages(), q.partStage())...)
	case Param:
		return []matchStage{{Param, q.paramsByName, false}, {Param, q.paramSuffixes, false}}
	case Op:
		return append(q.opStages(), q.partStage())
	}
	all := []matchStage{{Param, q.paramsByName, false}}
	if q.isCode() {
		return append(all, q.codeStages()...)
	}
	all = append(append(all, q.opStages()...), matchStage{Param, q.paramSuffixes, false})
	return append(append(all, q.codeStages()...), q.partStage())
}

func (q *Query) codeStages() []matchStage {
	part := plainCode(q.Text)
	m := matcher{code: func(code string) bool { return occursInCode(plainCode(code), part) }}
	return []matchStage{{Code, m.scriptStage(false), false}, {Code, m.scriptStage(true), true}}
}

// matcher matches frames by path and lines, or by code.
type matcher struct {
	path     func(string) bool
	from, to int32
	code     func(string) bool
	answers  []cachedMatch // cached answers, by path or code of the graph
}

// cachedMatch is a cached result of a predicate.
type cachedMatch uint8

const (
	notEvaluated cachedMatch = iota
	matching
	notMatching
)

// scriptStage returns a stage that matches the stacks of nodes: frames other than blocks, or only
// blocks.
func (m matcher) scriptStage(blocks bool) func([]*loadedGraph) []matchedNode {
	confidences := map[Match]Confidence{MatchLine: High, MatchBlock: Low, MatchStack: Medium, MatchFused: Medium, MatchBackward: Medium}
	return func(graphs []*loadedGraph) []matchedNode {
		var hits []matchedNode
		for _, g := range graphs {
			m.answers = make([]cachedMatch, g.TextCount())
			for i := range g.Nodes {
				if match := m.matchNode(g, &g.Nodes[i]); match != "" && blocks == (match == MatchBlock) {
					hits = append(hits, matchedNode{graphItem: graphItem{g, i, -1}, match: match, conf: confidences[match]})
				}
			}
		}
		return hits
	}
}

// matchesFrame reports whether a frame matches the query.
func (m *matcher) matchesFrame(g *loadedGraph, f graph.Frame) bool {
	if m.code != nil {
		return m.evaluate(g, f.Code, m.code)
	}
	return f.Line <= m.to && f.End >= m.from && m.evaluate(g, f.Path, m.path)
}

// evaluate evaluates a predicate on a text once.
func (m *matcher) evaluate(g *loadedGraph, t graph.Text, is func(string) bool) bool {
	if m.answers[t] == notEvaluated {
		m.answers[t] = notMatching
		if is(g.Text(t)) {
			m.answers[t] = matching
		}
	}
	return m.answers[t] == matching
}

// matchNode returns how a node matches: by its own line, as a caller, as part of a fused operator, as a
// gradient, or by the block around it.
func (m *matcher) matchNode(g *loadedGraph, n *graph.Node) Match {
	forward := g.Forward(n)
	if !m.matchesAny(g, n) && (forward == nil || !m.matchesAny(g, forward)) {
		return ""
	}
	best := Match("")
	better := func(match Match) {
		rank := func(m Match) int {
			return strings.Index("line stack fused backward block", string(m))
		}
		if best == "" || rank(match) < rank(best) {
			best = match
		}
	}
	hasForward := false
	for _, s := range g.Stacks(n) {
		hasForward = hasForward || s.Kind == graph.Forward
		if s.Kind == graph.Own && m.isLine(g, s) {
			return MatchLine
		}
		for _, f := range s.Frames {
			switch {
			case !m.matchesFrame(g, f):
			case !g.IsBlock(f):
				better([...]Match{graph.Own: MatchStack, graph.Fused: MatchFused, graph.Forward: MatchBackward}[s.Kind])
			case s.Kind == graph.Own:
				better(MatchBlock)
			}
		}
	}
	if !hasForward && forward != nil {
		for _, s := range g.Stacks(forward) {
			if user := g.UserFrame(s); s.Kind == graph.Own && m.matchesFrame(g, user) && !g.IsBlock(user) {
				better(MatchBackward)
			}
		}
	}
	return best
}

func (m *matcher) matchesAny(g *loadedGraph, n *graph.Node) bool {
	return slices.ContainsFunc(g.Frames(n), func(f graph.Frame) bool { return m.matchesFrame(g, f) })
}

// isLine reports whether the query matches the line that the user wrote for the operator. A block
// matches by its first line only: an if creates an operator, a def does not.
func (m *matcher) isLine(g *loadedGraph, own graph.Stack) bool {
	user := g.UserFrame(own)
	if !g.IsBlock(user) {
		return m.matchesFrame(g, user)
	}
	if g.IsDefinition(user) {
		return false
	}
	user.End = user.Line
	return m.matchesFrame(g, user)
}

// nodesWhere returns the nodes that satisfy a predicate.
func nodesWhere(graphs []*loadedGraph, match Match, conf Confidence, is func(g *loadedGraph, n *graph.Node) bool) []matchedNode {
	var hits []matchedNode
	for _, g := range graphs {
		for i := range g.Nodes {
			if is(g, &g.Nodes[i]) {
				hits = append(hits, matchedNode{graphItem: graphItem{g, i, -1}, match: match, conf: conf})
			}
		}
	}
	return hits
}

func (q *Query) nodesByNumber(graphs []*loadedGraph) []matchedNode {
	return nodesWhere(graphs, MatchNode, "", func(g *loadedGraph, n *graph.Node) bool {
		return !g.Proto && n.Number == q.number && (!q.inGraph || g.Subgraphs[n.Subgraph] == q.subgraph)
	})
}

func (q *Query) nodesByOrder(graphs []*loadedGraph) []matchedNode {
	return nodesWhere(graphs, MatchOrder, "", func(g *loadedGraph, n *graph.Node) bool {
		return int(q.number) <= len(g.names) && n.OpName() == g.names[q.number-1]
	})
}

func (q *Query) nodesByID(graphs []*loadedGraph) []matchedNode {
	return nodesWhere(graphs, MatchID, "", func(_ *loadedGraph, n *graph.Node) bool { return n.ID() == q.id })
}

// opStages match names of operators, from the whole name down to the scope.
func (q *Query) opStages() []matchStage {
	by := func(match Match, conf Confidence, is func(n *graph.Node) bool) matchStage {
		return matchStage{Op, func(graphs []*loadedGraph) []matchedNode {
			return nodesWhere(graphs, match, conf, func(_ *loadedGraph, n *graph.Node) bool { return is(n) })
		}, false}
	}
	name := func(is func(name string) bool) matchStage {
		return by(MatchName, "", func(n *graph.Node) bool { return n.OpName() != "" && is(n.Name) })
	}
	slashed, below := strings.ReplaceAll(q.Text, "--", "/"), "/"+q.Text
	return []matchStage{
		name(func(name string) bool { return name == q.Text || name == slashed }),
		name(func(name string) bool { return filename.SameNormalised(name, q.Text) }),
		name(func(name string) bool { return lastPart(name) == q.Text }),
		name(func(name string) bool { return strings.HasSuffix(name, below) }),
		by(MatchType, Medium, func(n *graph.Node) bool { return strings.EqualFold(n.Type, q.Text) }),
		by(MatchScope, Medium, func(n *graph.Node) bool { return hasSegments(n.Scope(), q.Text) }),
	}
}

// partStage matches a part of a name; a number at its end must match whole.
func (q *Query) partStage() matchStage {
	text := strings.ToLower(q.Text)
	return matchStage{Op, func(graphs []*loadedGraph) []matchedNode {
		return nodesWhere(graphs, MatchPart, Low, func(_ *loadedGraph, n *graph.Node) bool {
			return containsWhere(strings.ToLower(n.Name), text, func(_, after byte) bool {
				return !isDigit(text[len(text)-1]) || !isDigit(after)
			})
		})
	}, true}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// hasSegments reports whether scope contains part as consecutive whole segments.
func hasSegments(scope, part string) bool {
	part = strings.Trim(part, "/")
	return part != "" && containsWhere(scope, part, func(before, after byte) bool {
		return (before == 0 || before == '/') && (after == 0 || after == '/')
	})
}

// paramsWhere returns the parameters that satisfy a predicate.
func paramsWhere(graphs []*loadedGraph, conf Confidence, is func(p *graph.Param) bool) []matchedNode {
	var hits []matchedNode
	for _, g := range graphs {
		for i := range g.Params {
			if is(&g.Params[i]) {
				hits = append(hits, matchedNode{graphItem: graphItem{g, -1, i}, match: MatchParam, conf: conf})
			}
		}
	}
	return hits
}

// paramsByName matches a parameter by name or number.
func (q *Query) paramsByName(graphs []*loadedGraph) []matchedNode {
	return paramsWhere(graphs, High, func(p *graph.Param) bool {
		switch {
		case p.Name == q.Text:
			return true
		case q.Kind != Param || q.number == 0:
			return false
		case q.name != "":
			return p.Name == q.name
		}
		return p.Number == q.number
	})
}

func (q *Query) paramSuffixes(graphs []*loadedGraph) []matchedNode {
	suffix := "." + strings.TrimPrefix(q.Text, ".")
	return paramsWhere(graphs, Medium, func(p *graph.Param) bool { return strings.HasSuffix(p.Name, suffix) })
}

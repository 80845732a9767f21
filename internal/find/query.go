package find

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/filename"
)

// Kind says what a query is.
type Kind string

// The kinds.
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

// Kinds are all kinds that a query may be said to be of.
var Kinds = []Kind{Line, Code, Op, ID, Node, Param, Order, File}

// Query is what is looked for.
type Query struct {
	Text string
	// Kind is Auto where only the tree shows what the query is: a file, a parameter,
	// an operator or code.
	Kind Kind

	path     string // of a line
	from, to int32
	subgraph string // of a node, if it has one
	inGraph  bool
	number   int32 // of a node, parameter or place in the order
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

// ParseQuery reads a query of a kind, or of the kind that it looks like.
func ParseQuery(text string, by Kind) (*Query, error) {
	q := &Query{Text: text, Kind: by}
	switch {
	case strings.TrimSpace(text) == "":
		return nil, fmt.Errorf("the query is empty")
	case by != Auto && !slices.Contains(Kinds, by):
		return nil, fmt.Errorf("a query by %q, want one of line, code, op, id, node, param, order, file", by)
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
			return nil, fmt.Errorf("%.80q, want a place in the execution order from 1", text)
		case ok:
			q.Kind = f.kind
			return q, nil
		case by == f.kind:
			return nil, fmt.Errorf("%.80q, want %s", text, f.wanted)
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
	from, ok := number(m[2] + m[4])
	to, ok2 := from, true
	if m[3] != "" {
		to, ok2 = number(m[3])
	}
	q.path, q.from, q.to = path.Clean(m[1]), min(from, to), max(from, to)
	return ok && ok2
}

func number(digits string) (int32, bool) {
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), err == nil
}

func (q *Query) readNumber(digits string) (ok bool) {
	q.number, ok = number(digits)
	return ok
}

// isDumpName reports whether the base name is that of a dump, whether or not there is
// such a file.
func (q *Query) isDumpName() bool {
	n := filename.Parse(path.Base(q.Text))
	return n.HasDump || n.Grammar == filename.Sync
}

// isCode reports whether the query has what names of operators have not.
func (q *Query) isCode() bool { return strings.ContainsAny(q.Text, " \t()=[]\"'+*<>,") }

// matchesPath reports whether a script is the one of a line: the last parts of its
// path are those of the query.
func (q *Query) matchesPath(script string) bool {
	script = strings.ReplaceAll(script, `\`, "/")
	if path.IsAbs(q.path) {
		return script == q.path
	}
	rest, ok := strings.CutSuffix(script, q.path)
	return ok && (rest == "" || strings.HasSuffix(rest, "/"))
}

// plainCode is code without the blanks that mean nothing: runs of them are single, and
// none stands beside a character that is not of a word.
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

// isWord reports whether a byte belongs to a word; those of letters beyond ASCII do.
func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// inCode reports whether a part is in plain code and cuts no word.
func inCode(code, part string) bool {
	return part != "" && contains(code, part, func(before, after byte) bool {
		return !(isWord(part[0]) && isWord(before)) && !(isWord(part[len(part)-1]) && isWord(after))
	})
}

// contains reports whether part is in s where what stands before and behind it, 0 at
// the ends, is right.
func contains(s, part string, right func(before, after byte) bool) bool {
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

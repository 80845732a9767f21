package hpaa

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// Pattern is a template of the paths of pieces below their folder.
type Pattern struct {
	text   string
	re     *regexp.Regexp
	fields []field
}

// field is a field of a pattern, in the order of the template.
type field struct {
	name string
	base int // of a number
}

// Successor is the pattern of the only names of raw pieces that are public, with its
// short name: what they mean is inferred, not proven.
const (
	SuccessorName    = "successor"
	successorPattern = "{card}/{n}_{node}@{output}.{*}_{round:hex}.dat"
)

// fieldForms are the regular expressions of the fields; numbers have one for each base.
// node takes as much as it can, all others as little, and only node may hold a slash.
var fieldForms = map[string]string{
	"node": `(.+)`, "card": `([^/]+?)`, "n": `([^/]+?)`, "*": `([^/]*?)`,
	"output": "", "piece": "", "round": "", "axis": `(-?[0-9]+)`, "time": `([0-9]+(?:\.[0-9]+)?)`,
	"dtype": `([A-Za-z0-9_]+?)`, "shape": `([0-9]+(?:[x_][0-9]+)*)`,
}

// numberForms are those of numbers by their form in the template.
var numberForms = map[string]struct {
	expr string
	base int
}{"": {`([0-9]+)`, 10}, "int": {`([0-9]+)`, 10}, "hex": {`([0-9A-Fa-f]+)`, 16}}

// ParsePattern reads a template: literal text and fields in braces, such as
// {node}@{output}.{piece:hex}.dat. {*} is any text, {card} and {n} are text that is
// not used.
func ParsePattern(text string) (*Pattern, error) {
	p := &Pattern{text: text}
	if strings.EqualFold(text, SuccessorName) {
		text = successorPattern
	}
	var expr strings.Builder
	expr.WriteString(`(?s)^`)
	for rest := text; rest != ""; {
		open := strings.IndexAny(rest, "{}")
		if open < 0 {
			expr.WriteString(regexp.QuoteMeta(rest))
			break
		}
		expr.WriteString(regexp.QuoteMeta(rest[:open]))
		end := strings.IndexByte(rest, '}')
		if rest[open] == '}' || end < 0 {
			return nil, fmt.Errorf("pattern %q: column %d: a brace without its partner", p.text, len(text)-len(rest)+open+1)
		}
		form, err := p.addField(rest[open+1 : end])
		if err != nil {
			return nil, fmt.Errorf("pattern %q: column %d: %w", p.text, len(text)-len(rest)+open+1, err)
		}
		expr.WriteString(form)
		rest = rest[end+1:]
	}
	if !slices.ContainsFunc(p.fields, func(f field) bool { return f.name == "node" }) {
		return nil, fmt.Errorf("pattern %q has no {node}", p.text)
	}
	re, err := regexp.Compile(expr.String() + `$`)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", p.text, err)
	}
	p.re = re
	return p, nil
}

// addField adds a field and returns its regular expression.
func (p *Pattern) addField(text string) (string, error) {
	name, form, _ := strings.Cut(text, ":")
	expr, known := fieldForms[name]
	number, isNumber := numberForms[form]
	switch {
	case !known:
		return "", fmt.Errorf("no field {%s}, want {node}, {output}, {round}, {piece}, {card}, {dtype}, {shape}, {axis}, {time}, {n} or {*}", lang.Clip(text))
	case form != "" && !isNumber:
		return "", fmt.Errorf("{%s}: want {%s:hex} or {%s:int}", lang.Clip(text), name, name)
	case form != "" && expr != "":
		return "", fmt.Errorf("{%s}: only {output}, {round} and {piece} have a base", lang.Clip(text))
	case name != "*" && name != "n" && slices.ContainsFunc(p.fields, func(f field) bool { return f.name == name }):
		return "", fmt.Errorf("{%s} comes again", name)
	}
	f := field{name: name}
	if expr == "" {
		expr, f.base = number.expr, number.base
	}
	p.fields = append(p.fields, f)
	return expr, nil
}

// String is the pattern as it was written.
func (p *Pattern) String() string { return p.text }

// Match returns the piece that a path with slashes below the folder of pieces stands
// for. The error says why it does not fit.
func (p *Pattern) Match(file string) (*Piece, error) {
	values := p.re.FindStringSubmatch(file)
	if values == nil {
		return nil, fmt.Errorf("the name does not fit %s", p.text)
	}
	piece := &Piece{File: file, Skip: -1}
	for i, f := range p.fields {
		text := values[i+1]
		switch {
		case f.base != 0:
			n, err := strconv.ParseUint(text, f.base, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %q has more than 64 bits", f.name, lang.Clip(text))
			}
			text = strconv.FormatUint(n, 10)
		case f.name == "card" || f.name == "n" || f.name == "*":
			continue
		}
		if err := piece.setKey(f.name, text); err != nil {
			return nil, err
		}
	}
	return piece, nil
}

// templates are the templates of a name: the text before and behind the node, with
// every choice of roles for the numbers in it.
func templates(left, right []string) []string {
	slots := 0
	count := func(parts []string) {
		for _, part := range parts {
			if part == "" {
				slots++
			}
		}
	}
	count(left)
	count(right)
	extra := max(0, slots-maxTokens) // those at the beginning mean nothing
	var all []string
	var build func(k int, chosen []string)
	build = func(k int, chosen []string) {
		if k < slots {
			for _, role := range roles {
				name, _, _ := strings.Cut(role, ":")
				name = strings.Trim(name, "{}")
				if role != "{*}" && (k < extra || slices.ContainsFunc(chosen, func(c string) bool { return strings.HasPrefix(c, "{"+name) })) {
					continue
				}
				build(k+1, append(slices.Clone(chosen), role))
			}
			return
		}
		var text strings.Builder
		next := 0
		write := func(parts []string) {
			for _, part := range parts {
				if part == "" {
					part = chosen[next]
					next++
				}
				text.WriteString(part)
			}
		}
		write(left)
		text.WriteString("{node}")
		write(right)
		all = append(all, text.String())
	}
	build(0, nil)
	return all
}

// tokens splits a text at its numbers, for which empty strings stand: words of hex
// digits with a decimal one, and decimal digits at the end of words.
func tokens(text string) []string {
	var parts []string
	literal := ""
	for text != "" {
		n := 0
		for n < len(text) && isWord(text[n]) {
			n++
		}
		word := text[:n]
		if n == 0 {
			literal += strings.NewReplacer("{", "", "}", "").Replace(text[:1])
			text = text[1:]
			continue
		}
		text = text[n:]
		end := n
		switch hexWord := strings.Trim(word, "0123456789abcdefABCDEF") == ""; {
		case hexWord && strings.ContainsAny(word, "0123456789"):
			end = 0
		default:
			for end > 0 && word[end-1] >= '0' && word[end-1] <= '9' {
				end--
			}
		}
		literal += word[:end]
		if end < n {
			if literal != "" {
				parts = append(parts, literal)
			}
			parts, literal = append(parts, ""), ""
		}
	}
	if literal != "" {
		parts = append(parts, literal)
	}
	return parts
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

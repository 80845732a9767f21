package hpaa

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// Found is what there is to import.
type Found struct {
	Pieces []*Piece
	// Others are files that are no piece; Misfits counts those of them whose names
	// should have fitted a pattern.
	Others  []Other
	Misfits int
}

// Source says where pieces are.
type Source struct {
	// Description is the file that describes them, or Pattern the template of their
	// paths below Dir.
	Description string
	Pattern     *Pattern
	// Dir is the folder of the pieces, Top that of the whole run.
	Dir, Top string
	// AllowOutside takes pieces that lie outside of the folder of the description and
	// of Top.
	AllowOutside bool
	// Skip are folders that hold results.
	Skip []string
}

// Find lists the pieces. The error is a *DescriptionError, or that of a file or folder.
func (s *Source) Find() (*Found, error) {
	if s.Pattern == nil {
		return s.described()
	}
	files, err := s.list()
	if err != nil {
		return nil, err
	}
	return s.fit(files), nil
}

// fit makes pieces of the files whose names fit the pattern.
func (s *Source) fit(files []string) *Found {
	found := new(Found)
	for _, name := range files {
		p, err := s.Pattern.Match(name)
		if err != nil {
			found.Others = append(found.Others, Other{name, lang.Plain(err.Error())})
			found.Misfits++
			continue
		}
		p.Path = store.Join(s.Dir, filepath.FromSlash(name))
		found.Pieces = append(found.Pieces, p)
	}
	return found
}

// list lists the files below Dir by their paths with slashes, in natural order.
func (s *Source) list() ([]string, error) {
	top, err := store.Real(s.Dir) // a link is not walked
	if err != nil {
		return nil, err
	}
	var names []string
	err = store.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != top && slices.ContainsFunc(s.Skip, func(dir string) bool { return safefile.SameFile(dir, path) }) {
				return fs.SkipDir
			}
			return nil
		}
		name, err := store.Rel(top, path)
		if err != nil {
			return err
		}
		names = append(names, filepath.ToSlash(name))
		return nil
	})
	slices.SortFunc(names, lang.CompareNatural)
	return names, err
}

// described lists the pieces of the description.
func (s *Source) described() (*Found, error) {
	file, err := safefile.Open(s.Description)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	pieces, err := ReadPieces(file)
	if err != nil {
		return nil, err
	}
	_ = store.Preload(store.Dir(s.Description)) // what it cannot list is looked at one by one
	found := &Found{Pieces: pieces}
	var bad DescriptionError
	known := map[string]bool{}
	for _, p := range pieces {
		if p.Path, err = s.pathOf(p.File); err != nil {
			bad.add(p.line, err)
			continue
		}
		known[resolved(p.Path)] = true
	}
	if err := bad.orNil(); err != nil {
		return nil, err
	}
	files, err := s.list()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range files {
		path := store.Join(s.Dir, filepath.FromSlash(name))
		if !known[resolved(path)] && !safefile.SameFile(path, s.Description) {
			found.Others = append(found.Others, Other{name, lang.Sayf("not described", "没有描述")})
		}
	}
	return found, nil
}

// pathOf is where the file of a piece is: below the folder of the description, or where
// it is not there below Top.
func (s *Source) pathOf(name string) (string, error) {
	local := filepath.FromSlash(name)
	folder := store.Dir(s.Description)
	outside := lang.Errorf("file: %q leads out of the folder, want a path below it (or --allow-outside)", lang.Clip(name))
	switch {
	case filepath.IsLocal(local) && !slices.Contains(strings.Split(filepath.ToSlash(local), "/"), ".."):
	case !s.AllowOutside:
		return "", outside
	case store.IsAbs(local):
		return local, nil
	}
	path := store.Join(folder, local)
	if _, err := store.Lstat(path); errors.Is(err, fs.ErrNotExist) && s.Top != "" {
		if below := store.Join(s.Top, local); exists(below) {
			path = below
		}
	}
	if s.AllowOutside {
		return path, nil
	}
	_, err := store.Within(folder, path)
	if errors.Is(err, store.ErrOutside) && s.Top != "" {
		_, err = store.Within(s.Top, path)
	}
	if errors.Is(err, store.ErrOutside) {
		return "", outside
	}
	return path, nil // whoever reads it says what else is wrong
}

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
			return nil, lang.Errorf("pattern %q: column %d: a brace without its partner", p.text, len(text)-len(rest)+open+1)
		}
		form, err := p.addField(rest[open+1 : end])
		if err != nil {
			return nil, lang.Errorf("pattern %q: column %d: %w", p.text, len(text)-len(rest)+open+1, err)
		}
		expr.WriteString(form)
		rest = rest[end+1:]
	}
	if !slices.ContainsFunc(p.fields, func(f field) bool { return f.name == "node" }) {
		return nil, lang.Errorf("pattern %q has no {node}", p.text)
	}
	re, err := regexp.Compile(expr.String() + `$`)
	if err != nil {
		return nil, lang.Errorf("pattern %q: %w", p.text, err)
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
		return "", lang.Errorf("no field {%s}, want {node}, {output}, {round}, {piece}, {card}, {dtype}, {shape}, {axis}, {time}, {n} or {*}", lang.Clip(text))
	case form != "" && !isNumber:
		return "", lang.Errorf("{%s}: want {%s:hex} or {%s:int}", lang.Clip(text), name, name)
	case form != "" && expr != "":
		return "", lang.Errorf("{%s}: only {output}, {round} and {piece} have a base", lang.Clip(text))
	case name != "*" && name != "n" && slices.ContainsFunc(p.fields, func(f field) bool { return f.name == name }):
		return "", lang.Errorf("{%s} comes again", name)
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
		return nil, lang.Errorf("the name does not fit %s", p.text)
	}
	piece := &Piece{File: file, Skip: -1}
	for i, f := range p.fields {
		text := values[i+1]
		switch {
		case f.base != 0:
			n, err := strconv.ParseUint(text, f.base, 64)
			if err != nil {
				return nil, lang.Errorf("%s: %q has more than 64 bits", f.name, lang.Clip(text))
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

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

// SearchResult is the result of a search for pieces.
type SearchResult struct {
	Pieces []*Piece
	// Others lists files that are no pieces; Misfits counts the others whose names do not fit the
	// pattern.
	Others  []UnusedFile
	Misfits int
}

// Source says where pieces are.
type Source struct {
	// Description is the file that describes the pieces; else Pattern is the template of their
	// paths below Dir.
	Description string
	Pattern     *Pattern
	// Dir is the folder of the pieces, Top the folder of the whole run.
	Dir, Top string
	// AllowOutside accepts pieces outside of the description's folder and of Top.
	AllowOutside bool
	// Skip lists folders that hold results, not pieces.
	Skip []string
}

// Find lists the pieces. The error is a *DescriptionError, or an error of a file or folder.
func (s *Source) Find() (*SearchResult, error) {
	if s.Pattern == nil {
		return s.readDescription()
	}
	files, err := s.listFiles()
	if err != nil {
		return nil, err
	}
	return s.matchFiles(files), nil
}

// matchFiles makes pieces of the files whose names fit the pattern.
func (s *Source) matchFiles(files []string) *SearchResult {
	found := new(SearchResult)
	for _, name := range files {
		p, err := s.Pattern.Match(name)
		if err != nil {
			found.Others = append(found.Others, UnusedFile{name, lang.Plain(err.Error())})
			found.Misfits++
			continue
		}
		p.Path = store.Join(s.Dir, filepath.FromSlash(name))
		found.Pieces = append(found.Pieces, p)
	}
	return found
}

// listFiles returns the slash-separated paths of the files below Dir in natural order.
func (s *Source) listFiles() ([]string, error) {
	top, err := store.Real(s.Dir) // WalkDir does not follow a link
	if err != nil {
		return nil, err
	}
	var names []string
	err = store.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != top && slices.ContainsFunc(s.Skip, func(dir string) bool { return safefile.IsSameFile(dir, path) }) {
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

// readDescription lists the pieces of the description.
func (s *Source) readDescription() (*SearchResult, error) {
	file, err := safefile.Open(s.Description)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	pieces, err := ReadPieces(file)
	if err != nil {
		return nil, err
	}
	_ = store.Preload(store.Dir(s.Description)) // files that it cannot list are opened one by one
	found := &SearchResult{Pieces: pieces}
	var bad DescriptionError
	known := map[string]bool{}
	for _, p := range pieces {
		if p.Path, err = s.pathOf(p.File); err != nil {
			bad.add(p.line, err)
			continue
		}
		known[resolveFolder(p.Path)] = true
	}
	if err := bad.nilIfEmpty(); err != nil {
		return nil, err
	}
	files, err := s.listFiles()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range files {
		path := store.Join(s.Dir, filepath.FromSlash(name))
		if !known[resolveFolder(path)] && !safefile.IsSameFile(path, s.Description) {
			found.Others = append(found.Others, UnusedFile{name, lang.Say("not described")})
		}
	}
	return found, nil
}

// pathOf returns the path of a piece's file: below the description's folder, else below Top.
func (s *Source) pathOf(name string) (string, error) {
	local := filepath.FromSlash(name)
	folder := store.Dir(s.Description)
	errOutside := lang.Errorf("file: %q leads out of the folder, want a path below it (or --allow-outside)", lang.Clip(name))
	switch {
	case filepath.IsLocal(local) && !slices.Contains(strings.Split(filepath.ToSlash(local), "/"), ".."):
	case !s.AllowOutside:
		return "", errOutside
	case store.IsAbs(local):
		return local, nil
	}
	path := store.Join(folder, local)
	if _, err := store.Lstat(path); errors.Is(err, fs.ErrNotExist) && s.Top != "" {
		if topPath := store.Join(s.Top, local); exists(topPath) {
			path = topPath
		}
	}
	if s.AllowOutside {
		return path, nil
	}
	_, err := store.ResolveWithin(folder, path)
	if errors.Is(err, store.ErrOutside) && s.Top != "" {
		_, err = store.ResolveWithin(s.Top, path)
	}
	if errors.Is(err, store.ErrOutside) {
		return "", errOutside
	}
	return path, nil // the reader reports other errors
}

// Pattern is a template of the paths of pieces below their folder.
type Pattern struct {
	text   string
	re     *regexp.Regexp
	fields []field
}

// field is a field of a pattern, in template order.
type field struct {
	name string
	base int // base of an integer, else 0
}

// successorPattern is the pattern of the only raw pieces with public names, under a short name. The
// meaning of its fields is inferred, not proven.
const (
	SuccessorName    = "successor"
	successorPattern = "{card}/{n}_{node}@{output}.{*}_{round:hex}.dat"
)

// fieldForms maps fields to regular expressions; numbers have one for each base. node is greedy,
// all other fields are not, and only node may contain a slash.
var fieldForms = map[string]string{
	"node": `(.+)`, "card": `([^/]+?)`, "n": `([^/]+?)`, "*": `([^/]*?)`,
	"output": "", "piece": "", "round": "", "axis": `(-?[0-9]+)`, "time": `([0-9]+(?:\.[0-9]+)?)`,
	"dtype": `([A-Za-z0-9_]+?)`, "shape": `([0-9]+(?:[x_][0-9]+)*)`,
}

// numberForms maps the forms of numbers in templates to regular expressions.
var numberForms = map[string]struct {
	expr string
	base int
}{"": {`([0-9]+)`, 10}, "int": {`([0-9]+)`, 10}, "hex": {`([0-9A-Fa-f]+)`, 16}}

// ParsePattern parses a template: literal text and fields in braces, such as
// {node}@{output}.{piece:hex}.dat. {*} is any text; {card} and {n} are text that is ignored.
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
		return "", lang.Errorf("duplicate {%s}", name)
	}
	f := field{name: name}
	if expr == "" {
		expr, f.base = number.expr, number.base
	}
	p.fields = append(p.fields, f)
	return expr, nil
}

// String returns the pattern as it was written.
func (p *Pattern) String() string { return p.text }

// Match returns the piece of a slash-separated path below the folder of pieces. The error says why
// the path does not fit.
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

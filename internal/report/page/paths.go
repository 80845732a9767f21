package page

import (
	"bytes"
	"encoding/json"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"dumptool/internal/store"
)

// absolutePath matches the folders of an absolute path.
var absolutePath = regexp.MustCompile(`(^|[\s"'=(,:])(?:[A-Za-z]:)?/(?:[^\s"'/]+/)+`)

// pathRemover removes folders from texts: known folders, and folders of absolute paths.
type pathRemover struct{ replacer *strings.Replacer }

// newPathless collects the folders of some paths, and their parents.
func newPathless(paths []string) *pathRemover {
	folders, pairs := map[string]bool{}, []string{}
	for _, p := range paths {
		p = strings.ReplaceAll(p, `\`, "/")
		if store.IsRemote(p) {
			scheme, rest, _ := strings.Cut(p, "://")
			pairs, p = append(pairs, scheme+"://", ""), rest
		}
		for _, one := range []string{p, path.Clean(p)} { // as written, and without a/..
			for i := strings.LastIndexByte(one, '/'); i > 0; i = strings.LastIndexByte(one[:i], '/') {
				if dir := one[:i]; dir != "." && dir != ".." {
					folders[dir] = true
				}
			}
		}
	}
	var all []string
	for dir := range folders {
		all = append(all, dir)
	}
	slices.SortFunc(all, func(a, b string) int { // longest first
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	for _, dir := range all {
		pairs = append(pairs, dir+"/", "")
	}
	return &pathRemover{strings.NewReplacer(pairs...)}
}

// removeFolders removes the folders from a text.
func (p *pathRemover) removeFolders(s string) string {
	if p == nil {
		return s
	}
	return absolutePath.ReplaceAllString(p.replacer.Replace(s), "$1")
}

// keepNames lists the keys whose texts are names of operators, not of files.
var keepNames = []string{"name", "op", "op_name", "mod", "from"}

// encode writes the output of marshal, which may be large.
func (p *pathRemover) encode(w io.Writer, value any) error {
	if p == nil {
		return json.NewEncoder(newlineTrimmer{w}).Encode(value)
	}
	text, err := p.marshal(value)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// newlineTrimmer drops the newline behind JSON.
type newlineTrimmer struct{ io.Writer }

// Write implements io.Writer.
func (w newlineTrimmer) Write(text []byte) (int, error) {
	n, err := w.Writer.Write(bytes.TrimSuffix(text, []byte("\n")))
	if err != nil {
		return n, err
	}
	return len(text), nil
}

// marshal returns a value as JSON without folders in its texts.
func (p *pathRemover) marshal(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if p == nil || err != nil {
		return text, err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var tree any
	if err := in.Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(p.walk(tree))
}

func (p *pathRemover) walk(tree any) any {
	switch x := tree.(type) {
	case string:
		return p.removeFolders(x)
	case []any:
		for i := range x {
			x[i] = p.walk(x[i])
		}
	case map[string]any:
		for key, value := range x {
			if slices.Contains(keepNames, key) && !isRecord(value) {
				continue
			}
			x[key] = p.walk(value)
		}
	}
	return tree
}

// isRecord reports whether the value of a key op belongs to an overflow record, which has a file.
func isRecord(value any) bool {
	object, ok := value.(map[string]any)
	return ok && object["file"] != nil
}

// pathsOf returns the paths that a page would show.
func pathsOf(c *Comparison, d *data) (paths []string) {
	if c != nil {
		paths = append(paths, c.rows.paths...) // one per folder
		for _, a := range c.Args {
			_, value, _ := strings.Cut(a, "=")
			paths = append(paths, strings.Split(value, ",")...)
		}
	}
	if d.checked != nil {
		paths = append(paths, d.checked.Paths...)
		for i := range d.checked.Operators {
			paths = append(paths, d.checked.Operators[i].File)
		}
	}
	if d.Overflow != nil {
		for i := range d.Overflow.Groups {
			g := &d.Overflow.Groups[i]
			for _, f := range g.Files {
				paths = append(paths, f.File)
			}
			if g.First.Op != nil {
				paths = append(paths, g.First.Op.File)
			}
		}
		for _, p := range d.Overflow.Problems {
			paths = append(paths, p.File)
		}
	}
	if d.Determinism != nil {
		paths = append(paths, d.Determinism.Runs...)
	}
	if d.Perf != nil {
		paths = append(append(paths, d.Perf.Files...), d.Perf.Baseline...)
	}
	return paths
}

package lang

import (
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// sayers are functions that take what somebody reads, by package and name: the number of
// the argument.
type sayers map[[2]string]int

// add adds those of a file that have a parameter of one of the names.
func (s sayers) add(dir string, file *ast.File, names ...string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		n := 0
		for _, field := range f.Type.Params.List {
			for _, name := range field.Names {
				if slices.Contains(names, name.Name) && (name.Name != "format" || variadic(f)) {
					s[[2]string{dir, f.Name.Name}] = n
				}
				n++
			}
		}
	}
}

// variadic reports whether a function takes any number of arguments.
func variadic(f *ast.FuncDecl) bool {
	_, ok := f.Type.Params.List[len(f.Type.Params.List)-1].Type.(*ast.Ellipsis)
	return ok
}

// said is what a call says, with true if it must be in the table.
func (s sayers) said(dir string, call *ast.CallExpr) (text *string, must bool) {
	name := called(call.Fun)
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		x, _ := f.X.(*ast.Ident)
		switch {
		case x != nil && x.Name == "lang" && (name == "Errorf" || name == "Say"):
			return literal(call.Args[0]), true
		case x != nil && (x.Name == "fmt" && name == "Errorf" || x.Name == "errors" && name == "New"):
			return literal(call.Args[0]), false
		case x != nil && x.Name == "fmt":
			return nil, false
		}
	case *ast.Ident:
	default:
		return nil, false
	}
	if n, ok := s[[2]string{dir, name}]; ok && n < len(call.Args) {
		return literal(call.Args[n]), true
	}
	return nil, false
}

// words are what is left of a template without its verbs, flags and names.
func words(template string) string {
	return regexp.MustCompile(`^(attr|op|graph|[a-z_]+[.:] ?%[a-z](: %s)?)$|%[^a-zA-Z]*[a-zA-Z]|--?[a-z][a-z-]*|\$?[A-Z_]{3,}|"[^"]*"`).ReplaceAllString(template, "")
}

// TestMessages checks that every error, warning and hint has its Chinese in the table, with
// the same verbs, and that the table has no other.
func TestMessages(t *testing.T) {
	t.Parallel()
	others := []string{ // say nothing of their own to people
		"internal/lang", "internal/dumptest", "internal/ui",
		"internal/batch", "internal/guard", // of a test that ends a goroutine
		"internal/cluster", // writes YAML by formats
	}
	files := sources(t)
	known := sayers{}
	for name, file := range files {
		known.add(path.Dir(name), file, "format", "wanted", "problem")
	}
	table, literals := chinese(), make(map[string]bool)
	for name, file := range files {
		dir := strings.TrimPrefix(path.Dir(name), "../../")
		if dir == "internal/lang" {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if text := literal(e); text != nil {
					literals[*text] = true
				}
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || slices.Contains(others, dir) {
				return true
			}
			text, must := known.said(path.Dir(name), call)
			switch {
			case text == nil || !strings.ContainsFunc(words(*text), unicode.IsLetter):
			case !must:
				t.Errorf("%s: %q is to be an error of lang", name, *text)
			case table[*text] == "":
				t.Errorf("%s: no Chinese for %q", name, *text)
			}
			return true
		})
	}
	system := systemInChinese()
	for _, english := range slices.Sorted(maps.Keys(table)) {
		if system[english] == "" && !literals[english] {
			t.Errorf("nothing says %q", english)
		}
		if strings.ContainsFunc(words(english), unicode.IsLetter) && !strings.ContainsFunc(table[english], func(c rune) bool { return unicode.Is(unicode.Han, c) }) {
			t.Errorf("%q: in Chinese %q", english, table[english])
		}
		if got, want := verbs(table[english]), verbs(strings.ReplaceAll(english, "%w", "%v")); !maps.Equal(got, want) {
			t.Errorf("%q has the verbs %v, in Chinese %q: %v", english, want, table[english], got)
		}
	}
}

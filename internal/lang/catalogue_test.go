package lang

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"
)

// TestCatalogue: every text of the program has a line in zh.txt with the same verbs, and every
// line is a text of the program.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	program := readProgram(t)
	for _, english := range slices.Sorted(maps.Keys(program.texts)) {
		if _, ok := catalogue()[english]; !ok && hasWord(english) {
			t.Errorf("%s: internal/lang/zh.txt has no line for %q: the text, a tab, and the text in Chinese", program.texts[english], english)
		}
	}
	for english, chinese := range catalogue() {
		if hasWord(english) && !program.says(english) {
			t.Errorf("zh.txt: nothing says %q", english)
		}
		if got, want := verbs(chinese), verbs(strings.ReplaceAll(english, "%w", "%v")); !maps.Equal(got, want) {
			t.Errorf("zh.txt: %q has the verbs %v, in Chinese %q: %v", english, want, chinese, got)
		}
	}
	if all := strings.Split(strings.TrimSuffix(lines, "\n"), "\n"); !slices.IsSorted(all) || len(catalogue()) != len(all) {
		t.Error("zh.txt: the lines are not in order, or a text is there twice: LC_ALL=C sort -u -o zh.txt zh.txt")
	}
}

// notWords matches verbs, flags, quoted texts, and names that are the same in both languages.
var notWords = regexp.MustCompile(`^(attr|op|graph|[a-z_]+[.:] ?%[a-z](: %s)?)$|%[^a-zA-Z]*[a-zA-Z]|--?[a-z][a-z-]*|\$?[A-Z_]{3,}|"[^"]*"`)

// hasWord reports whether a text has an English word.
func hasWord(text string) bool {
	return strings.ContainsFunc(notWords.ReplaceAllString(withoutContext(text), ""), unicode.IsLetter)
}

// program has the texts in the source of the program.
type program struct {
	// texts are the texts for people, with their places.
	texts map[string]string
	// strings are all constant texts.
	strings map[string]bool
}

// says reports whether the program has a text of the catalogue.
func (p *program) says(english string) bool {
	if p.strings[english] || p.texts[english] != "" {
		return true
	}
	name, _, _ := strings.Cut(english, contextMark)
	if noun, ok := strings.CutPrefix(withoutContext(english), "%d "); ok && p.strings[noun] {
		return true
	}
	if name == "help" || name == "topic" { // tested in cmd/dumptool
		return true
	}
	for s := range p.strings { // a line of a list in the help of a command
		if strings.Contains(s, english) {
			return true
		}
	}
	return false
}

// textNames are the names of parameters and fields that are texts for people. The test also handles wanted and
// problem in cmd/dumptool, and the noun of CountText.
var textNames = []string{"en", "english", "usage", "summary"}

// readProgram collects the texts of the Go source, of report.html, of dump configurations and of system errors.
func readProgram(t *testing.T) *program {
	t.Helper()
	p := &program{map[string]string{}, map[string]bool{}}
	for _, pkg := range typeCheck(t) {
		p.goSource(t, pkg)
	}
	p.lines(t, "../report/page/js/words.en.js", `(?m)^  (\w+): "(.*)",?$`, func(m []string) {
		if _, own := catalogue()["page."+m[1]+contextMark+m[2]]; own {
			m[2] = "page." + m[1] + contextMark + m[2]
		}
		p.texts[m[2]] = "words.en.js"
		if got, want := places(Chinese(m[2])), places(m[2]); !slices.Equal(got, want) {
			t.Errorf("words.en.js: %q puts in %q, in Chinese %q", m[2], want, got)
		}
	})
	for _, name := range []string{"explain", "next"} {
		p.lines(t, "../dumpconf/texts/"+name+".txt", `(?m)^\t(.*)$`, func(m []string) { p.texts[m[1]] = name + ".txt" })
	}
	for n := range syscall.Errno(200) {
		p.strings[n.Error()] = true
	}
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, fs.ErrNotExist, fs.ErrExist, fs.ErrClosed, os.ErrDeadlineExceeded, context.Canceled, context.DeadlineExceeded} {
		p.strings[err.Error()] = true
	}
	p.strings[(&net.DNSError{Err: "no such host"}).Err] = true
	return p
}

// places lists the placeholders, such as {0}, in a text of the page.
func places(word string) []string {
	all := regexp.MustCompile(`\{\d\}`).FindAllString(word, -1)
	slices.Sort(all)
	return all
}

// lines calls add for each match of a pattern in a file.
func (p *program) lines(t *testing.T, name, pattern string, add func(match []string)) {
	t.Helper()
	text, err := os.ReadFile(name)
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %v, %d texts", name, err, len(found))
	}
	for _, m := range found {
		add(m)
	}
}

// checked is a type-checked package.
type checked struct {
	path  string
	files []*ast.File
	fset  *token.FileSet
	info  *types.Info
}

// typeCheck checks the packages of the program, without tests.
func typeCheck(t *testing.T) []checked {
	t.Helper()
	list := exec.Command("go", "list", "-trimpath", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", "./...")
	list.Dir, list.Stderr = "../..", os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	var ours []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var one listed
		if err := dec.Decode(&one); err != nil {
			t.Fatal(err)
		}
		exports[one.ImportPath] = one.Export
		if strings.HasPrefix(one.ImportPath, "dumptool/") {
			ours = append(ours, one)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var all []checked
	for _, p := range ours {
		c := checked{path: p.ImportPath, fset: fset, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			c.files = append(c.files, file)
		}
		conf := types.Config{Importer: imports, Sizes: types.SizesFor("gc", "amd64")}
		if _, err := conf.Check(p.ImportPath, fset, c.files, c.info); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// goSource collects the texts of a package.
func (p *program) goSource(t *testing.T, c checked) {
	t.Helper()
	silent := []string{ // packages without texts for people
		"dumptool/internal/dumptest", "dumptool/internal/ui", "dumptool/internal/lang",
		"dumptool/internal/batch", "dumptool/internal/guard", // of a test that ends a goroutine
		"dumptool/internal/cluster", // writes YAML with formats
	}
	for _, file := range c.files {
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if s, ok := c.text(e); ok {
					p.strings[s] = true
				}
			}
			if slices.Contains(silent, c.path) {
				return true
			}
			switch n := n.(type) {
			case *ast.CallExpr:
				p.call(t, c, n)
			case *ast.CompositeLit:
				p.composite(c, n)
			case *ast.AssignStmt:
				if sel, ok := n.Lhs[0].(*ast.SelectorExpr); ok && (sel.Sel.Name == "Short" || sel.Sel.Name == "usage") {
					p.add(c, n.Rhs[0], "")
				}
			}
			return true
		})
	}
}

// text returns the value of a constant text.
func (c *checked) text(e ast.Expr) (string, bool) {
	v := c.info.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// add adds a text. A noun is counted.
func (p *program) add(c checked, e ast.Expr, name string) {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 0 { // a usage with lists inserted
		if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "filled" {
			e = call.Args[0]
		}
	}
	text, ok := c.text(e)
	if !ok || text == "" {
		return
	}
	if strings.EqualFold(name, "noun") {
		if context, noun, ok := strings.Cut(text, contextMark); ok {
			text = context + contextMark + "%d " + noun
		} else {
			text = "%d " + text
		}
	}
	p.texts[text] = c.fset.Position(e.Pos()).String()
}

// call adds the texts among the arguments of a call, and checks the number of arguments of a template.
func (p *program) call(t *testing.T, c checked, call *ast.CallExpr) {
	t.Helper()
	sig, ok := c.info.TypeOf(call.Fun).(*types.Signature)
	if !ok {
		return
	}
	if text, ok := c.errorOfGo(call); ok && hasWord(text) {
		t.Errorf("%s: %q is to be an error of lang", c.fset.Position(call.Pos()), text)
	}
	for i := range min(sig.Params().Len(), len(call.Args)) {
		v := sig.Params().At(i)
		if v.Pkg() == nil || !strings.HasPrefix(v.Pkg().Path(), "dumptool/") {
			continue
		}
		isText := slices.Contains(textNames, v.Name())
		isTemplate := takesAny(sig) && i == sig.Params().Len()-2 && (isText || v.Name() == "format")
		isOfCommands := v.Pkg().Path() == "dumptool/cmd/dumptool" && (v.Name() == "wanted" || v.Name() == "problem")
		isNoun := v.Name() == "noun" && types.TypeString(sig.Results(), nil) == "(dumptool/internal/lang.Text)"
		if !isText && !isTemplate && !isOfCommands && !isNoun {
			continue
		}
		p.add(c, call.Args[i], v.Name())
		if text, ok := c.text(call.Args[i]); ok && isTemplate && !call.Ellipsis.IsValid() && len(call.Args) > i+1 && len(verbs(text)) != len(call.Args)-i-1 {
			t.Errorf("%s: %q has %d arguments", c.fset.Position(call.Pos()), text, len(call.Args)-i-1)
		}
	}
}

// takesAny reports whether the last parameter of a function is ...any.
func takesAny(sig *types.Signature) bool {
	if !sig.Variadic() {
		return false
	}
	list := sig.Params().At(sig.Params().Len() - 1).Type().(*types.Slice)
	return types.IsInterface(list.Elem())
}

// errorOfGo returns the text of an error of Go's standard library.
func (c *checked) errorOfGo(call *ast.CallExpr) (string, bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	f := c.info.Uses[sel.Sel]
	if f == nil || f.Pkg() == nil || !slices.Contains([]string{"fmt.Errorf", "errors.New"}, f.Pkg().Path()+"."+f.Name()) {
		return "", false
	}
	return c.text(call.Args[0])
}

// composite adds the texts among the fields of a struct.
func (p *program) composite(c checked, lit *ast.CompositeLit) {
	t := c.info.TypeOf(lit)
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		t = pointer.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	fields := map[string]ast.Expr{}
	for i, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			fields[kv.Key.(*ast.Ident).Name] = kv.Value
		} else {
			fields[s.Field(i).Name()] = e
		}
	}
	if hides(lit) {
		return
	}
	for name, e := range fields {
		isText := slices.Contains(textNames, name) || name == "Noun" || name == "Short" && strings.HasSuffix(t.String(), "cobra.Command")
		if isText || name == "EN" && fields["ZH"] == nil && strings.HasSuffix(t.String(), "lang.Text") {
			p.add(c, e, name)
		}
	}
}

// hides reports whether a flag is hidden: no help has its usage.
func hides(lit *ast.CompositeLit) bool {
	found := false
	for _, e := range lit.Elts {
		ast.Inspect(e, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && id.Name == "hiddenLevel"
			_, inner := n.(*ast.CompositeLit)
			return !inner
		})
	}
	return found
}

// verb matches a verb of package fmt; an argument index must be right before the letter.
var verb = regexp.MustCompile(`%([-+# 0]*\d*(?:\.\d+)?)(?:\[(\d+)\])?([a-zA-Z%])`)

// verbs maps the arguments of a template to their verbs.
func verbs(template string) map[int]string {
	all, next := map[int]string{}, 1
	for _, m := range verb.FindAllStringSubmatch(template, -1) {
		if m[3] == "%" {
			continue
		}
		if n, err := strconv.Atoi(m[2]); err == nil {
			next = n
		}
		all[next] = m[1] + m[3]
		next++
	}
	return all
}

func TestReadCatalogue(t *testing.T) {
	t.Parallel()
	got := readCatalogue("a\t甲\nb\\n%s\\t\\\\n\t乙\\n%s\nfirst¦a\t丙\n")
	want := map[string]string{"a": "甲", "b\n%s\t\\n": "乙\n%s", "first¦a": "丙"}
	if !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, x := range []fmt.Stringer{Text{EN: "first¦file"}, Say("first¦file")} {
		if x.String() != "file" {
			t.Errorf("%v: the context is shown: %s", x, x)
		}
	}
}

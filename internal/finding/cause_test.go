package finding_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/finding"
)

// TestCauses: every code has one row in the table of causes, with words in both
// languages.
func TestCauses(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "cause.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var constants []finding.Code
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Code" {
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				constants = append(constants, finding.Code(text))
			}
		}
		return true
	})
	form, chinese := regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`), regexp.MustCompile(`\p{Han}`)
	var listed []finding.Code
	for _, c := range finding.Causes() {
		listed = append(listed, c.Code)
		if !form.MatchString(string(c.Code)) || c.Words.String() == "" || chinese.MatchString(c.Words.String()) || !chinese.MatchString(c.Words.Chinese()) {
			t.Errorf("cause %q means %q, in Chinese %q", c.Code, c.Words.String(), c.Words.Chinese())
		}
	}
	for _, code := range constants {
		if !slices.Contains(listed, code) {
			t.Errorf("the code %s has no row in causes, of cause.go", code)
		}
	}
	if len(constants) < 25 || len(listed) != len(constants) {
		t.Errorf("%d codes have %d rows", len(constants), len(listed))
	}
}

// TestCodesInDocs: the glossary has the words of every code.
func TestCodesInDocs(t *testing.T) {
	for path, words := range map[string]func(finding.Cause) string{
		"../../docs/glossary.md":    func(c finding.Cause) string { return c.Words.String() },
		"../../docs/zh/glossary.md": func(c finding.Cause) string { return c.Words.Chinese() },
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range finding.Causes() {
			if row := fmt.Sprintf("\n| %s | %s |\n", c.Code, words(c)); !strings.Contains(string(text), row) {
				t.Errorf("%s lacks%s", path, row)
			}
		}
	}
}

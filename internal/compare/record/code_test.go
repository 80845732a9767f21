package record_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/dumptest"
)

// TestCauses ranges over the table of causes: every constant is in it once, with
// a meaning and the stages that give it.
func TestCauses(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "finding.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var constants []record.Code
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Code" {
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				constants = append(constants, record.Code(text))
			}
		}
		return true
	})
	form := regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)
	var listed []record.Code
	for _, c := range dumptest.Causes() {
		listed = append(listed, c.Code)
		if !form.MatchString(string(c.Code)) || c.Meaning == "" || len(c.Stages) == 0 {
			t.Errorf("cause %q means %q at the stages %v", c.Code, c.Meaning, c.Stages)
		}
	}
	slices.Sort(constants)
	slices.Sort(listed)
	if len(constants) < 25 || !slices.Equal(constants, listed) {
		t.Errorf("the table has the codes\n%v, the constants are\n%v", listed, constants)
	}
	if len(slices.Compact(listed)) != len(constants) {
		t.Error("a code stands twice")
	}
}

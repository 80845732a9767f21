package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parsedUnder parses the Go files below a folder, without tests.
func parsedUnder(t *testing.T, folder string) (files []*ast.File) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// unread returns the fields that flags in commands set and that no code in all reads. Fields are
// known by name.
func unread(commands, all []*ast.File) []string {
	set, read := map[string]bool{}, map[string]bool{}
	for _, file := range commands {
		ast.Inspect(file, func(n ast.Node) bool {
			row, ok := n.(*ast.CompositeLit)
			if !ok || len(row.Elts) < 5 {
				return true
			}
			if name, ok := row.Elts[0].(*ast.BasicLit); !ok || name.Kind != token.STRING {
				return true
			}
			ast.Inspect(row.Elts[1], func(n ast.Node) bool {
				if target := pointedAt(n); target != nil {
					set[target.Sel.Name] = true
				}
				return true
			})
			return true
		})
	}
	for _, file := range all {
		written := map[ast.Node]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			if target := pointedAt(n); target != nil {
				written[target] = true
			}
			if assign, ok := n.(*ast.AssignStmt); ok {
				for _, to := range assign.Lhs {
					written[to] = true
				}
			}
			if field, ok := n.(*ast.SelectorExpr); ok && !written[field] {
				read[field.Sel.Name] = true
			}
			return true
		})
	}
	maps.DeleteFunc(set, func(name string, _ bool) bool { return read[name] })
	return slices.Sorted(maps.Keys(set))
}

// pointedAt returns the field whose address a node takes, or nil.
func pointedAt(n ast.Node) *ast.SelectorExpr {
	address, ok := n.(*ast.UnaryExpr)
	if !ok || address.Op != token.AND {
		return nil
	}
	target, _ := address.X.(*ast.SelectorExpr)
	return target
}

// TestOptionsAreRead: something reads every option that a flag sets.
func TestOptionsAreRead(t *testing.T) {
	t.Parallel()
	commands := parsedUnder(t, ".")
	if names := unread(commands, slices.Concat(commands, parsedUnder(t, "../../internal"))); len(names) > 0 {
		t.Errorf("flags set %q, which nothing reads", names)
	}
	const source = `package main
var rows = []cmdFlag{{"a", yes(&o.used), "", "", more, 0}, {"b", yes(&o.forgotten), "", "", more, 0}}
func f() bool { o.forgotten = true; return o.used }`
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if names := unread([]*ast.File{file}, []*ast.File{file}); !slices.Equal(names, []string{"forgotten"}) {
		t.Errorf("got %q, want the option that nothing reads", names)
	}
}

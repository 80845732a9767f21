package guard

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var errTest = errors.New("error of the test")

// TestEnds: every end of work is reported, in the caller's goroutine and in another one.
func TestEnds(t *testing.T) {
	var traces []string
	Observe(func(p *Panic) { traces = append(traces, p.Trace()) })
	defer observer.Store(nil)
	panics := []struct {
		name string
		work func() error
		want string
	}{
		{"panic", func() error { panic("a value") }, "dumptool has a bug here: a value (--verbose shows where)"},
		{"panic with an error", func() error { panic(errTest) }, "dumptool has a bug here: error of the test (--verbose shows where)"},
		{"nil pointer", func() error { var p *Panic; return errors.New(p.Trace()) },
			"dumptool has a bug here: runtime error: invalid memory address or nil pointer dereference (--verbose shows where)"},
	}
	inGoroutine := func(work func() error) error {
		done := make(chan error)
		Go(work, func(err error) { done <- err })
		return <-done
	}
	for name, call := range map[string]func(func() error) error{"Do": Do, "Go": inGoroutine} {
		for _, tt := range panics {
			traces = nil
			err := call(tt.work)
			p, ok := errors.AsType[*Panic](err)
			if !ok || err.Error() != tt.want {
				t.Fatalf("%s, %s: %v, want %s", name, tt.name, err, tt.want)
			}
			if !strings.Contains(string(p.Stack), "guard_test.go") {
				t.Errorf("%s, %s: the stack does not show where it was:\n%s", name, tt.name, p.Stack)
			}
			if len(traces) != 1 || traces[0] != p.Trace() {
				t.Errorf("%s, %s: observed %q", name, tt.name, traces)
			}
		}
		if err := call(func() error { panic(errTest) }); !errors.Is(err, errTest) {
			t.Errorf("%s: %v does not wrap what it panicked with", name, err)
		}
		traces = nil
		if err := call(func() error { return errTest }); err != errTest { //nolint:errorlint // the same error
			t.Errorf("%s: %v, want the error of the work", name, err)
		}
		if err := call(func() error { return nil }); err != nil || traces != nil {
			t.Errorf("%s: %v, observed %q", name, err, traces)
		}
	}
	if err := inGoroutine(func() error { runtime.Goexit(); return nil }); !errors.Is(err, errGoexit) {
		t.Errorf("%v, want %v", err, errGoexit)
	}
}

// others lists the packages that may start goroutines without Go: they run no readers in them, or batch guards the
// work.
var others = []string{"batch", "bench", "cluster", "guard", "ui"}

// TestGoroutines checks that only Go starts goroutines: a panic in any other goroutine ends the
// program.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, dir := range others {
			if strings.HasPrefix(filepath.ToSlash(path), "../"+dir+"/") {
				return nil
			}
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if startsGoroutine(n) {
				t.Errorf("%s: a goroutine that guard.Go does not start", set.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files, %v", files, err)
	}
}

// startsGoroutine reports whether a node is a go statement or calls a method Go, such as the method of an errgroup.
func startsGoroutine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" {
			of, ok := f.X.(*ast.Ident)
			return !ok || of.Name != "guard"
		}
	}
	return false
}

package dumpdir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes files below root; names that end in / are folders.
func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if dir == path {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// named returns files with some content.
func named(names ...string) map[string]string {
	files := make(map[string]string)
	for _, name := range names {
		files[name] = "x"
	}
	return files
}

// open writes files to a folder and opens it.
func open(t testing.TB, files map[string]string) *Run {
	t.Helper()
	root := t.TempDir()
	write(t, root, files)
	return openAt(t, root, Options{})
}

func openAt(t testing.TB, root string, opt Options) *Run {
	t.Helper()
	r, err := Open(context.Background(), []string{root}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rounds lists the rounds of a run with their operators.
func rounds(r *Run) []string {
	var all []string
	for _, round := range r.Rounds {
		all = append(all, round.At.String()+": "+strings.Join(ops(round), " "))
	}
	return all
}

// ops lists the operators of a round with their tensors, and their executions if there are several.
func ops(r *Round) []string {
	var all []string
	for _, op := range r.Ops {
		text := op.Name
		if op.Execution > 0 {
			text += fmt.Sprintf("#%d", op.Execution)
		}
		var tensors []string
		for _, t := range op.Tensors {
			one := fmt.Sprintf("%.1s%d%s", t.Kind, t.Index, t.Slice)
			if t.IsWholeFile() {
				one = "*"
			}
			if t.Table {
				one += "t"
			}
			tensors = append(tensors, one)
		}
		all = append(all, text+"("+strings.Join(tensors, ",")+")")
	}
	return all
}

// problems lists the problems of a run.
func problems(r *Run) []string {
	var all []string
	for _, p := range r.Problems {
		path := p.Path
		if len(r.Paths) == 1 {
			path, _ = filepath.Rel(r.Paths[0], p.Path)
		}
		if p.Path == "" {
			path = ""
		}
		all = append(all, fmt.Sprintf("%s|%s|%s", p.Kind, filepath.ToSlash(path), p.At))
	}
	return all
}

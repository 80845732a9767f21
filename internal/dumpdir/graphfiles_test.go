package dumpdir

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/graph"
)

// TestGraphFiles: of texts that are alike one is read, others are read each, and nothing
// is kept of files that have been read.
func TestGraphFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var names []string
	for rank := range 8 {
		var b bytes.Buffer
		if err := dumptest.WriteGraph(&b, 50, rank); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		switch rank {
		case 5:
			text = strings.Replace(text, "Conv2D-op7)", "Conv2D-op8)", 1) // of the same size
		case 6:
			text = strings.Replace(text, "Conv2D-op7)", "Conv2D-op77)", 1)
		case 7:
			text = ""
		}
		name := filepath.Join(dir, fmt.Sprint(rank))
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	files := NewGraphFiles()
	for _, name := range names {
		files.Expect(name)
	}
	files.Expect(filepath.Join(dir, "nosuch"))
	graphs, errs := make([]*graph.IR, len(names)), make([]error, len(names))
	// The first file of a size is the one that those like it share: that is rank 0.
	graphs[0], errs[0] = files.Read(names[0], false)
	var reading sync.WaitGroup
	for i, name := range names[1:] {
		reading.Go(func() { graphs[i+1], errs[i+1] = files.Read(name, false) })
	}
	reading.Wait()
	distinct := make(map[*graph.IR]bool)
	for i, g := range graphs {
		distinct[g] = true
		if wantName := map[int]string{5: "Conv2D-op8", 6: "Conv2D-op77"}[i]; i < 7 && (errs[i] != nil || len(g.Nodes) != 50 || wantName != "" && !strings.HasSuffix(g.Nodes[7].Name, wantName)) {
			t.Errorf("rank %d: error %v", i, errs[i])
		}
	}
	if errs[7] == nil || len(distinct) != 4 {
		t.Errorf("error %v, %d graphs", errs[7], len(distinct))
	}
	for size, share := range files.files {
		if share.g != nil {
			t.Errorf("a graph of %d bytes is kept", size)
		}
	}
	if _, err := files.Read(filepath.Join(dir, "nosuch"), false); err == nil {
		t.Error("no error")
	}
}

package dumpdir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestScale: a run takes at most 1 KiB of memory per file.
func TestScale(t *testing.T) {
	const most = 1 << 10
	if perFile, _ := openLarge(t, 100); perFile > most {
		t.Errorf("%d B a file, want at most %d", perFile, most)
	}
}

// TestScaleOfFolders is TestScale with a folder for every two files.
func TestScaleOfFolders(t *testing.T) {
	const operators, files, most = 300, 4 * 300, 1 << 10
	root := t.TempDir()
	all := make(map[string]string)
	for op := range operators {
		dir := fmt.Sprintf("atb_dump_data/data/0_4711/0/%d_DecoderLayer/%d_LinearOperation/", op/10, op)
		for _, name := range []string{"before/intensor0.bin", "before/intensor1.bin", "after/outtensor0.bin", "after/outtensor1.bin"} {
			all[dir+name] = "x"
		}
	}
	write(t, root, all)
	perFile, r := measure(t, root, files)
	if perFile > most || len(r.Rounds) != 1 || len(r.Rounds[0].Ops) != operators {
		t.Errorf("%d B a file, want at most %d; %d rounds", perFile, most, len(r.Rounds))
	}
}

// BenchmarkOpen lists a tree of 100,000 files.
func BenchmarkOpen(b *testing.B) {
	perFile, root := openLarge(b, 5000)
	for b.Loop() {
		openAt(b, root, Options{})
	}
	b.ReportMetric(float64(perFile), "B/file")
}

// openLarge makes a run of 4 ranks and 5 steps, and returns its memory per file.
func openLarge(t testing.TB, operators int) (perFile int64, root string) {
	t.Helper()
	const ranks, steps = 4, 5
	root = t.TempDir()
	for rank := range ranks {
		for step := range steps {
			dir := filepath.Join(root, fmt.Sprintf("rank_%d/ResNet/0/%d", rank, step))
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			for op := range operators {
				name := fmt.Sprintf("Conv2D.Default_network-TrainOneStepCell_backbone_layer%d_Conv2D-op%d.%d.2.16246051598%05d.output.0.NC1HWC0.float16.npy", op%50, op, op, op)
				if err := os.WriteFile(filepath.Join(dir, name), []byte{1}, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	files := ranks * steps * operators
	perFile, r := measure(t, root, files)
	if len(r.Rounds) != ranks*steps || len(r.Rounds[0].Ops) != operators || len(r.Problems) > 0 {
		t.Errorf("%d rounds of %d operators, problems %v", len(r.Rounds), len(r.Rounds[0].Ops), r.Problems)
	}
	return perFile, root
}

// measure opens a folder and returns the memory of the run per file.
func measure(t testing.TB, root string, files int) (perFile int64, r *Run) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	r, err := Open(context.Background(), []string{root}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files: %v", files, time.Since(start))
	runtime.GC()
	runtime.ReadMemStats(&after)
	perFile = int64(after.HeapAlloc-before.HeapAlloc) / int64(files)
	t.Logf("%d B a file", perFile)
	return perFile, r
}

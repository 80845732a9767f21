//go:build linux && !race

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMemoryOfDumpJSON: a process takes at most 25 times the bytes of the dump.json files that it
// reads, 32 times if it keeps a row for each tensor, plus 80 MiB. The pages of the tests in this
// binary take 16 MiB more.
func TestMemoryOfDumpJSON(t *testing.T) {
	tree := t.TempDir()
	ref, npu := filepath.Join(tree, "gpu"), filepath.Join(tree, "npu")
	size := writeDumpJSON(t, ref, 0.5)
	if n := writeDumpJSON(t, npu, 0.25); n != size {
		t.Fatalf("%d and %d bytes", size, n)
	}
	for _, c := range []struct {
		files, factor int64
		args          []string
	}{
		{2, 32, []string{"compare", ref, npu, "-out", filepath.Join(tree, "report"), "--exit-zero"}},
		{1, 25, []string{"inspect", npu}},
		{1, 25, []string{"inspect", "--json", npu}},
		{1, 25, []string{"overflow", "scan", npu}},
	} {
		peak, bound := peakOf(t, c.args...), c.factor*c.files*size+96<<20
		t.Logf("%s: %d of %d bytes", c.args[0], peak, bound)
		if peak > bound {
			t.Errorf("%s of %d bytes took %d, want %d at most", c.args[0], c.files*size, peak, bound)
		}
	}
}

// writeDumpJSON writes the dump.json of a rank, of 8 MB, and returns its size.
func writeDumpJSON(t *testing.T, dir string, mean float64) int64 {
	t.Helper()
	dir = filepath.Join(dir, "step0", "rank0")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString(`{"task":"statistics","level":"L1","framework":"pytorch","data":{`)
	value := fmt.Sprintf(`{"type":"torch.Tensor","dtype":"torch.float32","shape":[2,16,128],"Max":3.1415926535897931,"Min":-3.1415926535897931,"Mean":%.16f,"Norm":201.06192982974676,"requires_grad":false}`, mean)
	for i := 0; text.Len() < 8e6; i++ {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `"Functional.matmul.%d.forward":{"input_args":[%s,%s,{"type":"int","value":1}],"input_kwargs":{},"output":[%s]}`, i, value, value, value)
	}
	text.WriteString("}}")
	if err := os.WriteFile(filepath.Join(dir, "dump.json"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return int64(text.Len())
}

// peakOf runs the command and returns its peak memory. rusage includes the memory of the parent
// process, so the kernel is asked during the run.
func peakOf(t *testing.T, args ...string) int64 {
	t.Helper()
	cmd := exec.Command("dumptool", args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var peak int64
	for {
		peak = max(peak, residentPeak(cmd.Process.Pid))
		select {
		case err := <-ended:
			if err != nil || peak == 0 {
				t.Fatalf("%s: %v, peak %d", args[0], err, peak)
			}
			return peak
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// residentPeak returns the peak memory of a process so far, 0 if it ended.
func residentPeak(pid int) int64 {
	status, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

package report

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWriteImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runtime := filepath.Join(dir, "times", "node_runtime.file")
	want := map[string]string{
		"check_skip.log":           "b\tBAD_HEX\timport: line 1; pieces left out: d/2\\n\n",
		"concate_skip.log":         "c\tDUPLICATE_PIECE\timport: piece 0 comes twice; pieces left out: d/3\n",
		"invalid_out_nodename.log": "d\tNOT_IN_MODEL\timport: the reference has no such tensor; pieces left out: d/4\nb\tNOT_IN_MODEL\timport: the reference has no such tensor\n",
		"dump_memory_nodename.log": "net/<a>\nnet/<a>\nb\nc\nd\n",
		"times/node_runtime.file":  "b,0\nnet/<a>,1\n",
		"md5.csv":                  "file,md5\nd/0,00\n",
	}
	for range 2 { // the second time over existing files
		kept, failed := WriteImport(NewFolder(dir), imported(), runtime)
		if kept || len(failed) > 0 {
			t.Fatalf("kept %v, failed %v", kept, failed)
		}
		for name, text := range want {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
				t.Errorf("%s: %q, %v, want %q", name, got, err, text)
			}
		}
	}
	names := filepath.Join(dir, "dump_memory_nodename.log")
	if err := os.WriteFile(names, []byte("of the device\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	kept, failed := WriteImport(NewFolder(dir), imported(), runtime, runtime)
	if !kept || len(failed) != 1 {
		t.Errorf("kept %v, failed %v", kept, failed)
	}
	if got, _ := os.ReadFile(names); string(got) != "of the device\n" {
		t.Errorf("the names of the device are now %q", got)
	}
}

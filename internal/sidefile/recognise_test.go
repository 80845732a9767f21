package sidefile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRecognise(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	graphs := filepath.Join("..", "graph", "testdata")
	for path, want := range map[string]Role{
		content("pickle", "\x80\x04}q\x00."):                                              ConsumersFile,
		content("pickle0", "(dp0\nS'a'\np1\n."):                                           ConsumersFile,
		content("map", "\ufeff\n{ \"a\\\"b\": [\"c\", \"d\"]}"):                           ConsumersFile,
		content("ends", `{"a": []}`):                                                      ConsumersFile,
		content("none", `{ }`):                                                            ConsumersFile,
		filepath.Join(graphs, "fused.json"):                                               FusionFile,
		filepath.Join(graphs, "fused.pbtxt"):                                              FusionFile,
		content("named", `{"name": "g", "graph": [{"op": []}]}`):                          FusionFile,
		content("attributes", `{"attr": [{"key": "a"}], "graph": []}`):                    FusionFile,
		filepath.Join("..", "..", "testdata", "graph", "ms_output_trace_code_graph_0.ir"): IRFile,
		content("one.pb", "\x0a\x00"):                                                     IRFile,
		dir:                                                                               IRFile,
		content("order.csv", "NodeExecutionOrder-[tag]\nDefault/net/conv1/Conv2D-op1\n"):  ExecutionFile,
		content("order", "Default/conv1-op1,1\n\"Default/fc, two-op2\",2\n"):              ExecutionFile,
		content("zeros", "\x00\x00"):                                                      0,
		content("empty", ""):                                                              0,
		filepath.Join(dir, "nowhere"):                                                     0,
	} {
		if got, err := Recognise(path); got != want || (err != nil) != (want == 0) {
			t.Errorf("%s: role %d, %v, want %d", path, got, err, want)
		}
	}
}

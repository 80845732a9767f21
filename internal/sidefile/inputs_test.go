package sidefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoadInputs(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		OpConfigName: "a,0.1,0.2\n", RuntimeName: "b,2\na,1\n", ConsumersName: `{"a":["b"]}`,
		"map.json": `{"a":"x"}`, "graph.json": `{"graph":[{"op":[{"name":"a"}]}]}`, "ops.txt": "# no\n\na\n re:b.* \n", "order.csv": "b\na\n",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	given := Files{
		OpConfig: at(OpConfigName), Runtime: at(RuntimeName), Consumers: at(ConsumersName),
		NameMap: "@" + at("map.json"), Fusion: at("graph.json"), Ops: at("ops.txt"), Execution: at("order.csv"),
	}
	in, err := given.Load()
	if err != nil || in.OpConfig == nil || in.NameMap == nil || in.Fusion == nil || in.Fusion.Source == "" || in.Runtime == nil || in.Execution == nil ||
		in.Consumers == nil || in.Consumers.Source == "" || strings.Join(in.Ops, ",") != "a,re:b.*" || len(in.Problems) > 0 {
		t.Errorf("%+v, %v", in, err)
	}
	searched := Files{Folder: dir, NameMap: `{"a":"x"}`}
	in, err = searched.Load()
	if err != nil || in.OpConfig == nil || in.Runtime == nil || in.Consumers == nil || in.NameMap == nil || in.Fusion != nil || in.Execution != nil {
		t.Errorf("%+v, %v", in, err)
	}
	none := Files{Folder: t.TempDir()}
	if in, err := none.Load(); err != nil || in.OpConfig != nil || in.Runtime != nil || in.Consumers != nil || len(in.Problems) > 0 {
		t.Errorf("%+v, %v", in, err)
	}
}

// TestLoadBroken: a file given by the user must be valid, except consumers; limits found in the
// folder must be valid too.
func TestLoadBroken(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"bad": "a,0.1\nb\n", "mode": "op_name,atol,mode\na,1,x\n"})
	bad, gone := filepath.Join(dir, "bad"), filepath.Join(dir, "gone")
	for what, test := range map[string]struct {
		files Files
		role  Role
		want  string
	}{
		"limits":       {Files{OpConfig: bad}, OpConfigFile, bad + ": line 2: "},
		"mode":         {Files{OpConfig: filepath.Join(dir, "mode")}, OpConfigFile, `line 2: unknown mode "x" of a`},
		"no limits":    {Files{OpConfig: gone}, OpConfigFile, gone + ": no such file"},
		"map":          {Files{NameMap: "@" + bad}, NameMapFile, bad + ": name map: line 1"},
		"map, no file": {Files{NameMap: "{"}, NameMapFile, "name map: line 1"},
		"graph":        {Files{Fusion: bad}, FusionFile, bad + ": fusion graph: line 1"},
		"no operators": {Files{Ops: gone}, OpsFile, gone + ": no such file"},
		"times":        {Files{Runtime: bad}, RuntimeFile, bad + `: runtime file: line 2 "b" has no number`},
		"no order":     {Files{Execution: gone}, ExecutionFile, gone + ": no such file"},
		"no consumers": {Files{Consumers: gone}, ConsumersFile, gone + ": no such file"},
		"a folder":     {Files{Fusion: dir}, FusionFile, dir + ": "},
	} {
		in, err := test.files.Load()
		var file *FileError
		if in != nil || !errors.As(err, &file) || file.Role != test.role || !file.Given || !strings.HasPrefix(err.Error(), test.want) && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %+v, %v, want %s", what, in, err, test.want)
		}
	}
	consumers := Files{Consumers: bad}
	if in, err := consumers.Load(); err != nil || len(in.Problems) != 1 || !in.Problems[0].Given || in.Consumers != nil {
		t.Errorf("%+v, %v", in, err)
	}
	writeFiles(t, dir, map[string]string{RuntimeName: "a,1\nb\n", ConsumersName: "x"})
	beside := Files{Folder: dir}
	in, err := beside.Load()
	if err != nil || len(in.Problems) != 2 || in.Problems[0].Given || in.Runtime != nil || errors.Is(in.Problems[0], fs.ErrNotExist) {
		t.Errorf("%+v, %v", in, err)
	}
	writeFiles(t, dir, map[string]string{OpConfigName: "a\n"})
	if in, err := beside.Load(); in != nil || err == nil {
		t.Errorf("%+v, %v", in, err)
	}
}

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

package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// findCase is a query of testdata/golden/mindspore/queries.json, with the compared keys of the
// results.
type findCase struct {
	ID, Tree, Query, Kind string
	Exit                  int
	Results               []map[string]any
}

// goldenMindSpore makes the trees of testdata/golden/mindspore: the files beside the dumps, and
// only the names of the dumps.
func goldenMindSpore(t *testing.T) string {
	t.Helper()
	from, to := filepath.Join("..", "..", "testdata", "golden", "mindspore"), t.TempDir()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if e.Name() != "dumps.txt" {
			writeTo(t, filepath.Join(to, rel), data)
			return nil
		}
		for name := range strings.FieldsSeq(string(data)) {
			writeTo(t, filepath.Join(to, filepath.Dir(rel), filepath.FromSlash(name)), []byte("x"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func readGolden(t *testing.T, file string, to any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFindGolden: find gives the answers of an independent program.
func TestFindGolden(t *testing.T) {
	t.Parallel()
	root := goldenMindSpore(t)
	var golden struct{ Cases []findCase }
	readGolden(t, filepath.Join(root, "queries.json"), &golden)
	if len(golden.Cases) != 351 {
		t.Fatalf("%d queries, want 351", len(golden.Cases))
	}
	for _, c := range golden.Cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			args := []string{"find", "--json", "--limit", "0", "-d", filepath.Join(root, c.Tree), c.Query}
			r := runArgs(t, append(args, "-j", "1")...)
			if r.code != c.Exit {
				t.Fatalf("%q: exit %d, want %d: %s", c.Query, r.code, c.Exit, r.err)
			}
			if again := runArgs(t, append(args, "-j", "4")...); again != r {
				t.Errorf("%q: -j changes the answer", c.Query)
			}
			var got struct {
				Kind    string
				Results []map[string]any
			}
			if err := json.Unmarshal([]byte(r.out), &got); err != nil {
				t.Fatal(err)
			}
			if got.Kind != c.Kind || len(got.Results) != len(c.Results) {
				t.Fatalf("%q: %d results by %s, want %d by %s", c.Query, len(got.Results), got.Kind, len(c.Results), c.Kind)
			}
			for i, want := range c.Results {
				if diff := cmp.Diff(want, keysOf(got.Results[i], want)); diff != "" {
					t.Errorf("%q: result %d:\n%s", c.Query, i, diff)
				}
			}
		})
	}
}

// keysOf reduces a result to the keys of another.
func keysOf(result, keys map[string]any) map[string]any {
	out := make(map[string]any)
	for k := range keys {
		if v, ok := result[k]; ok {
			out[k] = v
		}
	}
	return out
}

// TestFindEdges: every input has the producers found by an independent program.
func TestFindEdges(t *testing.T) {
	t.Parallel()
	root := goldenMindSpore(t)
	type edge struct {
		IR, Node string
		OpName   string `json:"op_name"`
		Inputs   any
	}
	var golden map[string][]edge
	readGolden(t, filepath.Join(root, "edges.json"), &golden)
	count := 0
	for tree, edges := range golden {
		for _, e := range edges {
			count++
			r := runArgs(t, "find", "--json", "--no-files", "--limit", "0", "-d", filepath.Join(root, tree), "--by", "op", e.OpName)
			var got struct {
				Results []struct {
					IR, Node string
					Inputs   []struct {
						Index int
						From  []any
					}
				}
			}
			if err := json.Unmarshal([]byte(r.out), &got); err != nil {
				t.Fatalf("%s: %v %s", e.OpName, err, r.err)
			}
			var inputs any
			for _, x := range got.Results {
				if x.IR != e.IR || x.Node != e.Node {
					continue
				}
				list := []any{}
				for _, in := range x.Inputs {
					if len(in.From) > 0 {
						list = append(list, []any{float64(in.Index), in.From})
					}
				}
				inputs = list
			}
			if diff := cmp.Diff(e.Inputs, inputs); diff != "" {
				t.Errorf("%s: %s of %s:\n%s", tree, e.OpName, e.IR, diff)
			}
		}
	}
	if count != 172 {
		t.Errorf("%d operators, want 172", count)
	}
}

// TestFindRoundTrip: the operators of a query lead to files, and each file back to its operator.
func TestFindRoundTrip(t *testing.T) {
	t.Parallel()
	root := goldenMindSpore(t)
	type answer struct {
		Results []struct {
			OpName string `json:"op_name"`
			Files  []string
		}
	}
	for _, tree := range []string{"v1_async", "v1_sync_host", "v13_sync", "v20_sync", "v24_sync", "pb_only"} {
		dir := filepath.Join(root, tree)
		var all answer
		r := runArgs(t, "find", "--json", "--limit", "0", "-d", dir, "Default")
		if err := json.Unmarshal([]byte(r.out), &all); err != nil || len(all.Results) < 10 {
			t.Fatalf("%s: %d operators, error %v %s", tree, len(all.Results), err, r.err)
		}
		for _, op := range all.Results {
			for _, file := range op.Files {
				var back answer
				r := runArgs(t, "find", "--json", "-d", dir, file)
				if err := json.Unmarshal([]byte(r.out), &back); err != nil || len(back.Results) != 1 || back.Results[0].OpName != op.OpName || !slices.Contains(back.Results[0].Files, file) {
					t.Errorf("%s: %s leads to %v, want %s", tree, file, back.Results, op.OpName)
				}
			}
		}
	}
}

// TestConfigCheckTrees: the requests of the configuration in a tree, and the missing results.
func TestConfigCheckTrees(t *testing.T) {
	t.Parallel()
	root := goldenMindSpore(t)
	for tree, want := range map[string]string{
		"v1_async":       "", // device 7 was not requested
		"v1_sync_host":   "MS071 device 1 requested, nothing dumped",
		"v1_sync_device": "MS071 device 1 requested, nothing dumped",
		"v13_sync":       "MS078 graph 1 was not executed, or its operators are in the folder of its root graph",
		"v20_sync": "MS070 iteration 6 requested, 4 dumped: the run ended before, or dataset_sink_mode\n" +
			"MS071 device 1 requested, nothing dumped",
		"v24_sync": "MS071 device 1 requested, nothing dumped",
	} {
		r := runArgs(t, "config", "check", "--json", filepath.Join(root, tree))
		exit := 0
		if strings.Contains(want, "requested") {
			exit = 1
		}
		if r.code != exit {
			t.Errorf("%s: exit %d, want %d: %s", tree, r.code, exit, r.err)
		}
		for line := range strings.Lines(r.out) {
			var got struct {
				Findings []struct{ Rule, Message string }
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, f := range got.Findings {
				found = append(found, f.Rule+" "+f.Message)
			}
			if diff := cmp.Diff(want, strings.Join(found, "\n")); diff != "" {
				t.Errorf("%s:\n%s", tree, diff)
			}
		}
	}
}

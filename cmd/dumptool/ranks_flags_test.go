package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
)

// goldenRanks is the folder of a golden run of many ranks, with run and ref.
func goldenRanks(t *testing.T, name string) string {
	t.Helper()
	archive, err := filepath.Abs(filepath.Join("../../testdata/golden/ranks", name, "trees.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return dumptest.Untar(t, archive)
}

// comparedRanks compares the golden run in a folder, and returns the document without the facts on
// its making.
func comparedRanks(t *testing.T, dir string, args ...string) (map[string]any, int) {
	t.Helper()
	out, code := runIn(t, dir, append([]string{"compare", "--cpu", "ref", "--npu", "run", "--format", "json"}, args...)...)
	var doc map[string]any
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	delete(doc, "args")
	delete(doc, "options")
	return doc, code
}

// TestRankFlags: flags about ranks that do not fit exit with 2.
func TestRankFlags(t *testing.T) {
	dir := goldenRanks(t, "tp2_clean")
	if err := os.WriteFile(filepath.Join(dir, "groups.txt"), []byte("a: b, 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	sides := []string{"compare", "--cpu", "ref", "--npu", "run"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(sides, "--parallel", "tp=4"), "--parallel: the axes make 4 ranks, the dump has 2, up to rank 1"},
		{[]string{"check", "run", "--parallel", "tp=4"}, "--parallel: the axes make 4 ranks, the dump has 2, up to rank 1"},
		{append(sides, "--groups", "groups.txt"), `--groups groups.txt: line 1, column 4: found "b", want different ranks such as 0,3,5`},
		{[]string{"check", "run", "--groups", "groups.txt"}, `--groups groups.txt: line 1, column 4: found "b", want different ranks such as 0,3,5`},
		{append(sides, "--groups", "none.txt"), "none.txt"},
		{append(sides, "--parallel", "tp=2", "--unshard", "off"), "remove --unshard off"},
		{append(sides, "--dims", "dims.yaml"), "--dims is gone: compare finds by value how tensors are divided over ranks: see ranks.maps in compare.json; --parallel names the axes of the ranks"},
		{append(sides, "--write-dims", "dims.yaml"), "--write-dims is gone: compare finds by value"},
	} {
		if _, stderr, code := runTold(t, dir, c.args...); code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d: %s, want %s", c.args, code, stderr, c.want)
		}
	}
	// Given by hand, the axes have names.
	out, _ := runIn(t, dir, append(sides, "--parallel", "tp=2")...)
	if want := "Ranks           2: 1 group of 2 (tp, stride 1), from --parallel; 2 steps\n"; !strings.Contains(string(out), want) {
		t.Errorf("no %s in\n%s", want, out)
	}
}

// TestMapsOfShards: shards keep the places of tensors in the reference, and their merge equals one
// run.
func TestMapsOfShards(t *testing.T) {
	dir := goldenRanks(t, "tp2_clean")
	whole, _ := comparedRanks(t, dir)
	for _, shard := range []string{"0/2", "1/2"} {
		if out, code := runIn(t, dir, "compare", "--cpu", "ref", "--npu", "run", "--shard", shard, "-out", "parts", "-q"); code != 0 {
			t.Fatalf("exit %d: %s", code, out)
		}
	}
	out, _ := runIn(t, dir, "merge", "parts", "--format", "json")
	var merged map[string]any
	if err := json.Unmarshal(out, &merged); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a, b := whole["ranks"].(map[string]any), merged["ranks"].(map[string]any)
	if len(a["maps"].([]any)) < 20 || !reflect.DeepEqual(a["maps"], b["maps"]) || !reflect.DeepEqual(a["located"], b["located"]) {
		t.Errorf("%v\n%v", a["maps"], b["maps"])
	}
}

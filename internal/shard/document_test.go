package shard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCheck: documents fit together if they are different shards of the same work. Options of
// reports may differ.
func TestCheck(t *testing.T) {
	t.Parallel()
	of := func(index, n int, change func(d *Document)) Document {
		d := Document{Path: filepath.Join("work", Spec{Index: index, Of: n}.Folder(), "x.json"),
			Origin: Origin{Tool: "dumptool v1.2.3", Shard: &Spec{Index: index, Of: n}, Listing: "aa", Options: []Option{{Name: "rtol", Value: "0.2", Of: OfRow}}}}
		if change != nil {
			change(&d)
		}
		return d
	}
	for name, c := range map[string]struct {
		second Document
		want   string
	}{
		"good":       {of(1, 4, nil), ""},
		"report":     {of(1, 4, func(d *Document) { d.Argv = []string{"--format=md"} }), ""},
		"patch":      {of(1, 4, func(d *Document) { d.Tool = "dumptool v1.9.0" }), ""},
		"option":     {of(1, 4, func(d *Document) { d.Options = []Option{{Name: "rtol", Value: "0.1", Of: OfRow}} }), "work/shard-00001-of-00004/x.json: made with --rtol 0.1, shard-00000-of-00004 with --rtol 0.2"},
		"no option":  {of(1, 4, func(d *Document) { d.Options = nil }), "made with no --rtol"},
		"more":       {of(1, 4, func(d *Document) { d.Options = append(d.Options, Option{Name: "rank", Value: "1", Of: OfRound}) }), "made with --rank 1"},
		"version":    {of(1, 4, func(d *Document) { d.Tool = "dumptool v2.0.0" }), "made by dumptool v2.0.0, shard-00000-of-00004 by dumptool v1.2.3"},
		"count":      {of(1, 5, nil), "is one of 5 shards"},
		"twice":      {of(0, 4, func(d *Document) { d.Path = "other" }), "other: is shard 0/4, and so is "},
		"listing":    {of(3, 4, func(d *Document) { d.Listing = "bb" }), "work: shards 0 and 3 saw different files (listing aa, bb): the folders changed between them; run them again"},
		"run":        {of(1, 4, func(d *Document) { d.RunID = "x" }), `belongs to the run "x"`},
		"whole":      {of(1, 4, func(d *Document) { d.Shard = nil }), "merge the shards first"},
		"impossible": {of(4, 4, nil), "shard 4/4: want 0 to 3"},
	} {
		err := Check([]Document{of(0, 4, nil), c.second})
		if got := errorText(err); c.want == "" && err != nil || !strings.Contains(got, filepath.FromSlash(c.want)) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// Documents made by hand may cover rounds chosen by hand.
	byHand := func(rank, rtol string) Document {
		return of(0, 0, func(d *Document) {
			d.Shard, d.Options = nil, []Option{{Name: "rank", Value: rank, Of: OfRound}, {Name: "rtol", Value: rtol, Of: OfRow}}
		})
	}
	if err := Check([]Document{byHand("0", "0.2"), byHand("1", "0.2")}); err != nil {
		t.Error(err)
	}
	if err := Check([]Document{byHand("0", "0.2"), byHand("1", "0.1")}); !strings.Contains(errorText(err), "made with --rtol 0.1") {
		t.Errorf("error %v, want one about --rtol", err)
	}
	if missing, n := Missing([]Document{of(1, 4, nil), of(3, 4, nil)}); n != 4 || !slices.Equal(missing, []int{0, 2}) {
		t.Errorf("missing %v of %d", missing, n)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestFind finds a document, a folder with one, and a folder of such folders, each once.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("node1/x.json", `{"rows":[1,[2]],"schema":"s/1","shard":{"index":2,"of":3},"options":[{"name":"a","value":"b","of":"row"}]}`)
	// An earlier document has options of reports and paths among the others.
	write("node2/x.json", `{"schema":"s/1","options":[{"name":"cpu","value":"a/b","path":true,"of":"row"},{"name":"format","value":"csv,md","values":["csv","md"],"of":"report"},{"name":"ir","value":"x","of":"row"},{"name":"rtol","value":"1","of":"row"}]}`)
	write("node2/below/x.json", `{}`)
	write("none/y.json", `{}`)
	docs, err := Find([]string{dir, "rank=7:" + filepath.Join(dir, "node2"), filepath.Join(dir, "node2", "x.json")}, "x.json")
	if err != nil || len(docs) != 2 || docs[0].Schema != "s/1" || *docs[0].Shard != (Spec{Index: 2, Of: 3}) || docs[0].Options[0].Value != "b" || docs[0].Options[0].Of != OfRow || docs[1].Shard != nil {
		t.Errorf("%+v, %v", docs, err)
	}
	docs, err = Find([]string{"rank=7:" + filepath.Join(dir, "node2")}, "x.json")
	if err != nil || len(docs) != 1 || docs[0].Rank != "7" || !slices.Equal(docs[0].Argv, []string{"--format=csv,md"}) || len(docs[0].Options) != 1 || docs[0].Options[0].Name != "rtol" {
		t.Errorf("%+v, %v", docs, err)
	}
	for _, text := range []string{"", "{", `{"schema":"s/1","rows":[`, `{"schema":"s/1"}x`, `{"schema":1}`, "[]", "{}"} {
		write("bad/x.json", text)
		if _, err := Find([]string{filepath.Join(dir, "bad")}, "x.json"); err == nil || !strings.Contains(err.Error(), filepath.Join("bad", "x.json")+": ") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, name := range []string{"old/part-00001-of-00002.jsonl", "old2/plan.jsonl"} {
		write(name, "")
		if _, err := Find([]string{filepath.Dir(filepath.Join(dir, name))}, "x.json"); err == nil || !strings.Contains(err.Error(), "made by an older version") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

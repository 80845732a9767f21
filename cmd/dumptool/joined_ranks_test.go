package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// cutReference splits the one rank of a reference into two context-parallel ranks: each has all
// weights, and half of the sequence.
func cutReference(t *testing.T, dir string) {
	t.Helper()
	steps, err := filepath.Glob(filepath.Join(dir, "ref", "step*"))
	if err != nil || len(steps) == 0 {
		t.Fatal(steps, err)
	}
	for _, step := range steps {
		whole := filepath.Join(step, "whole")
		if err := os.Rename(filepath.Join(step, "rank0"), whole); err != nil {
			t.Fatal(err)
		}
		for rank := range 2 {
			cutRank(t, whole, filepath.Join(step, fmt.Sprint("rank", rank)), int64(rank))
		}
		if err := os.RemoveAll(whole); err != nil {
			t.Fatal(err)
		}
	}
}

// cutRank writes one of the two ranks.
func cutRank(t *testing.T, whole, to string, half int64) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(to, "dump_tensor_data"), 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(whole, "dump.json"))
	if err != nil {
		t.Fatal(err)
	}
	text = tensorEntries.ReplaceAllFunc(text, func(entry []byte) []byte {
		name := string(tensorEntries.FindSubmatch(entry)[1])
		shape := cutArray(t, filepath.Join(whole, "dump_tensor_data", name), filepath.Join(to, "dump_tensor_data", name), half)
		list, err := json.Marshal(shape)
		if err != nil {
			t.Fatal(err)
		}
		return entryDigest.ReplaceAll(entryShape.ReplaceAll(entry, append([]byte(`"shape":`), list...)), nil)
	})
	if err := os.WriteFile(filepath.Join(to, "dump.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tensorEntries matches tensors in dump.json; entryShape and entryDigest match the fields that
// differ in a part.
var (
	tensorEntries = regexp.MustCompile(`\{[^{}]*"data_name":"([^"]+)"[^{}]*\}`)
	entryShape    = regexp.MustCompile(`"shape":\[[^]]*\]`)
	entryDigest   = regexp.MustCompile(`"md5":"[^"]*",`)
)

// cutArray writes half of an array along the sequence axis: the first axis of activations, the
// second of tokens. Weights stay whole. It returns the shape.
func cutArray(t *testing.T, from, to string, half int64) tensor.Shape {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	array, err := npy.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	shape := slices.Clone(array.Shape)
	data = data[array.Offset:]
	axis := -1
	switch name := filepath.Base(from); {
	case len(shape) > 2:
		axis = 0
	case strings.Contains(name, "word_embeddings") && strings.Contains(name, ".input."):
		axis = 1
	}
	if axis >= 0 {
		outer, n := int64(1), shape[axis]
		for _, d := range shape[:axis] {
			outer *= d
		}
		block := int64(len(data)) / outer / n * (n / 2)
		var some []byte
		for o := range outer {
			at := o*2*block + half*block
			some = append(some, data[at:at+block]...)
		}
		data, shape[axis] = some, n/2
	}
	head, err := npy.AppendHeader(nil, array.Host, shape)
	if err == nil {
		err = os.WriteFile(to, append(head, data...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return shape
}

// joinedReport is the part of a report about a reference of several ranks.
type joinedReport struct {
	ranksReport
	Rows []struct {
		Op, Status string
		Notes      []string
	}
}

// joined counts rows with a joined reference, and rows of the reference alone.
func (r *joinedReport) joined() (joined, alone int) {
	for _, row := range r.Rows {
		if row.Status == "UNMATCHED_REF" {
			alone++
		}
		if slices.ContainsFunc(row.Notes, func(n string) bool { return strings.HasPrefix(n, "joined from ") }) {
			joined++
		}
	}
	return joined, alone
}

// TestReferenceOfRanks: the golden runs have the same findings against their reference split into
// two context-parallel ranks as against one rank.
func TestReferenceOfRanks(t *testing.T) {
	for _, c := range goldenRuns(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := goldenRanks(t, c.name)
			cutReference(t, dir)
			args := []string{"compare", "--cpu", "ref", "--npu", "run", "--format", "json"}
			if c.name == "cp2_wrong_order" { // ranks of the same shapes with other chunks: only values tell
				args = append(args, "--parallel", "cp=2")
			}
			_, out := reportOf(t, dir, c.Expect.With, args...)
			var r joinedReport
			if err := json.Unmarshal(out, &r); err != nil {
				t.Fatal(err)
			}
			joined, alone := r.joined()
			missing := 0
			if c.name == "moe_ep2_expert_place" { // both tensors and the weight of two calls of two experts, in two steps of two ranks
				missing = 3 * 2 * 2 * 2 * 2
			}
			if l := r.Ranks.Located; l.Of == 0 || 10*l.Tensors < 8*l.Of || r.Summary.Mismatch > 0 || alone != missing || 2*joined < l.Tensors {
				t.Errorf("%+v, %d joined, %d of other shapes, %d alone", l, joined, r.Summary.Mismatch, alone)
			}
			if again, _ := runIn(t, dir, append(args, "-j", "1")...); string(again) != string(out) {
				t.Error("-j changes the report")
			}
		})
	}
}

// TestRanksAsReference: one rank against many, as for a run on one device against a run on several.
// Tensor, sequence and data parallel ranks are joined, sums are taken from the communications, and
// the layers of later stages continue the count.
func TestRanksAsReference(t *testing.T) {
	for _, c := range []struct{ name, step string }{
		{"tp2_clean", ""}, {"tp2dp2_mesh_clean", ""}, {"moe_ep2_a2a_swap", "1"},
		{"pp2tp2_recv_stale", "0"}, {"tp2_ag_stale", "0"}, {"tp2sp_ar_missing", "1"}, {"dp2_desync", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"compare", "--cpu", "run", "--npu", "ref", "--format", "json"}
			if c.step != "" {
				args = append(args, "--step", c.step)
			}
			out, code := runIn(t, goldenRanks(t, c.name), args...)
			var r joinedReport
			if err := json.Unmarshal(out, &r); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			joined, alone := r.joined()
			if l := r.Ranks.Located; code != 0 || l.Of == 0 || l.Tensors < l.Of || len(r.Ranks.Findings)+r.Summary.Mismatch+alone > 0 || joined == 0 {
				t.Errorf("exit %d: %s: %+v, %d joined, %d alone, %+v", code, r.Summary.Headline, l, joined, alone, r.Ranks.Findings)
			}
		})
	}
}

// TestShardsOfRanks: shards by steps, for any number of workers, merge to the rows, rounds and
// places in the reference of one run, with a reference of one rank or joined from several. Shards
// have no findings between ranks.
func TestShardsOfRanks(t *testing.T) {
	for _, joined := range []bool{false, true} {
		dir := goldenRanks(t, "tp2_link")
		if joined {
			cutReference(t, dir)
		}
		parsed := func(out []byte) (doc struct {
			Rows, Rounds []any
			Ranks        struct{ Maps, Located any }
		}) {
			if err := json.Unmarshal(out, &doc); err != nil || len(doc.Rows) < 100 || len(doc.Rounds) != 4 {
				t.Fatalf("%v: %s", err, out)
			}
			return doc
		}
		whole, _ := runIn(t, dir, "compare", "--cpu", "ref", "--npu", "run", "--format", "json")
		var merged [][]byte
		for _, workers := range []string{"1", "3"} {
			for _, shard := range []string{"0/2", "1/2"} {
				runIn(t, dir, "compare", "--cpu", "ref", "--npu", "run", "--unshard", "auto", "--shard", shard, "-j", workers, "-out", "parts"+workers, "-q")
			}
			out, code := runIn(t, dir, "merge", "parts"+workers, "--format", "json")
			if diff := cmp.Diff(parsed(whole), parsed(out)); code != 1 || diff != "" {
				t.Errorf("joined %v, -j %s: exit %d, other than one run: %s", joined, workers, code, diff)
			}
			merged = append(merged, bytes.ReplaceAll(out, []byte("parts"+workers), []byte("parts")))
		}
		if !bytes.Equal(merged[0], merged[1]) {
			t.Error("-j changes what is merged")
		}
	}
}

// TestSameRanks: sides with the same ranks and tensors are compared rank by rank.
func TestSameRanks(t *testing.T) {
	for _, name := range []string{"tp2_clean", "pp2tp2_recv_stale"} {
		dir := goldenRanks(t, name)
		rows := func(args ...string) (doc struct{ Rows, Rounds, Ranks any }) {
			out, code := runIn(t, dir, append([]string{"compare", "--cpu", "run", "--npu", "run", "--format", "json"}, args...)...)
			if err := json.Unmarshal(out, &doc); err != nil || code != 0 {
				t.Fatalf("exit %d: %v: %s", code, err, out)
			}
			return doc
		}
		if auto := rows(); auto.Ranks != nil || !reflect.DeepEqual(auto, rows("--unshard", "off")) {
			t.Errorf("%s: --unshard off differs", name)
		}
	}
}

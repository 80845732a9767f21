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

// comparedRanks compares the golden run in a folder, and returns the document but for what
// says how it was made.
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

// TestDimsRoundTrip: what --write-dims writes gives the same report by --dims, of healthy and of
// faulty runs, by one worker. The mesh that is found is that of the run, and its axes are named by
// what they cut.
func TestDimsRoundTrip(t *testing.T) {
	for name, lines := range map[string][]string{
		"tp2dp2_mesh_clean":    {"mesh: {order: tp-dp, tp: 2, dp: 2}\n", `linear_fc1\.ColumnParallelLinear\.forward\.0\.parameters\.weight$', dims: 'd0[tp:fused=16/16] d1'}`, `final_layernorm\.RMSNorm\.forward\.0\.input\.0$', dims: 'd0[tp] d1[dp] d2'}`, `linear_fc2\.Linear\.forward\.0\.output\.0$', dims: '... # tp:partial'}`},
		"pp2tp2_recv_stale":    {"mesh: {order: tp-pp, tp: 2, pp: 2}\n", "layers: {offset: {pp: [0, 1]}}\n", `linear_qkv\.ColumnParallelLinear\.forward\.0\.parameters\.weight$', dims: 'd0[tp:fused=16/8/8] d1'}`},
		"tp2sp_ar_missing":     {"mesh: {order: tp, tp: 2}\n"},
		"tp4_qkv_op_rows":      nil,
		"cp2_wrong_order":      nil,
		"moe_ep2_expert_place": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := goldenRanks(t, name)
			want, code := comparedRanks(t, dir, "--write-dims", "dims.yaml")
			got, again := comparedRanks(t, dir, "--dims", "dims.yaml", "--write-dims", "again.yaml", "-j", "1")
			if again != code || !reflect.DeepEqual(got, want) {
				t.Errorf("exit %d and %d; the reports differ", code, again)
			}
			first, err := os.ReadFile(filepath.Join(dir, "dims.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			second, err := os.ReadFile(filepath.Join(dir, "again.yaml"))
			if err != nil || string(first) != string(second) {
				t.Errorf("%v\n%s\n%s", err, first, second)
			}
			for _, line := range lines {
				if !strings.Contains(string(first), line) {
					t.Errorf("no line %s:\n%s", line, first)
				}
			}
		})
	}
}

// TestDimsContradict: a rule that the values contradict is a finding and not obeyed; one whose
// sizes do not tile ends with its place; what is left out is not judged.
func TestDimsContradict(t *testing.T) {
	dir := goldenRanks(t, "tp2_clean")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "dims.yaml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("ranks: {0: {tp: 1}, 1: {tp: 0}}\ntensors:\n- match: 'embeddings.*weight'\n  dims: 'v[tp] h'\n- {match: nothing, dims: skip}\n")
	doc, code := comparedRanks(t, dir, "--dims", "dims.yaml")
	between := doc["ranks"].(map[string]any)
	findings := between["findings"].([]any)
	if code != 1 || len(findings) != 2 { // a step each
		t.Fatalf("exit %d: %v", code, findings)
	}
	f := findings[0].(map[string]any)
	const said = "line 3 of the dims file says that Module.module.module.embedding.word_embeddings.VocabParallelEmbedding.forward.0.parameters.weight is 24-47 of axis 0; by its values it is 0-23 of axis 0"
	if f["kind"] != "DIMS_MISMATCH" || f["evidence"] != said || f["rank"] != 0.0 || !reflect.DeepEqual(f["members"], []any{0.0, 1.0}) || f["spread"] != nil || between["matrix"] != nil {
		t.Errorf("%v", f)
	}
	if counts := doc["summary"].(map[string]any); counts["fail"] != 0.0 {
		t.Errorf("the rule is obeyed: %v", counts)
	}
	if warnings, err := json.Marshal(doc["warnings"]); err != nil || !strings.Contains(string(warnings), `dims.yaml: line 5, column 3: \"nothing\" matches no tensor`) {
		t.Errorf("%v %s", err, warnings)
	}

	write("mesh: {tp: 2}\ntensors:\n- match: 'linear_fc2.*weight'\n  dims: 'o[tp] i'\n")
	_, stderr, code := runTold(t, dir, "compare", "--cpu", "ref", "--npu", "run", "--dims", "dims.yaml")
	if want := "--dims dims.yaml: line 4, column 12: Module.module.module.decoder.layers.0.mlp.linear_fc2.Linear.forward.0.parameters.weight of rank 0: the cut leaves 8 of 16 slices, the tensor has 16"; code != 2 || !strings.Contains(stderr, want) {
		t.Errorf("exit %d: %s", code, stderr)
	}

	write("tensors:\n- {match: core_attention, dims: skip}\n")
	doc, code = comparedRanks(t, dir, "--dims", "dims.yaml", "--report", "rows=full")
	for _, x := range doc["rows"].([]any) {
		row := x.(map[string]any)
		if op := row["op"].(string); strings.Contains(op, "core_attention") && row["status"] != "SKIP" {
			t.Errorf("exit %d: %s is %v", code, op, row["status"])
		}
	}
}

// TestRankFlags: what is said of ranks and does not fit ends with 2.
func TestRankFlags(t *testing.T) {
	dir := goldenRanks(t, "tp2_clean")
	for name, text := range map[string]string{"groups.txt": "a: b, 1\n", "dims.yaml": "mesh: {tp: 4}\n", "few.yaml": "ranks: {0: {tp: 0}}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sides := []string{"compare", "--cpu", "ref", "--npu", "run"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(sides, "--parallel", "tp=4"), "--parallel: the axes make 4 ranks, the dump has 2, the largest of which is 1"},
		{[]string{"check", "run", "--parallel", "tp=4"}, "--parallel: the axes make 4 ranks, the dump has 2, the largest of which is 1"},
		{append(sides, "--groups", "groups.txt"), `--groups groups.txt: line 1, column 4: found "b", want different ranks such as 0,3,5`},
		{[]string{"check", "run", "--groups", "groups.txt"}, `--groups groups.txt: line 1, column 4: found "b", want different ranks such as 0,3,5`},
		{append(sides, "--dims", "dims.yaml"), "--dims: the axes make 4 ranks, the dump has 2, the largest of which is 1"},
		{append(sides, "--dims", "dims.yaml", "--parallel", "tp=2"), "--parallel is another mesh than that of --dims dims.yaml"},
		{append(sides, "--dims", "few.yaml"), "--dims: ranks: found no rank 1, which the dump has"},
		{append(sides, "--dims", "dims.yaml", "--write-dims", "dims.yaml"), "--write-dims dims.yaml: that file is read"},
		{append(sides, "--write-dims", "x.yaml", "--unshard", "off"), "leave --unshard off out"},
		{append(sides, "--write-dims", "x.yaml", "--shard", "0/2", "-out", "out"), "--write-dims: shards see some steps only"},
		{append(sides, "--dims", "none.yaml"), "none.yaml"},
	} {
		if _, stderr, code := runTold(t, dir, c.args...); code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d: %s, want %s", c.args, code, stderr, c.want)
		}
	}
	// By hand the axes have names.
	out, _ := runIn(t, dir, append(sides, "--parallel", "tp=2")...)
	if want := "Ranks           2: 1 group of 2 (tp, stride 1), from --parallel; 2 steps\n"; !strings.Contains(string(out), want) {
		t.Errorf("no %s in\n%s", want, out)
	}
}

// TestMapsOfShards: shards keep where tensors lie, and their merge has what one run has.
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

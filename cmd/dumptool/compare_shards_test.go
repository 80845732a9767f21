package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/shard"
)

// drawnNumbers draws the elements of a reference and what an NPU made of them.
func drawnNumbers(t *rapid.T, others [][]string) (ref, npu []string) {
	n := rapid.SampledFrom([]int{1, 4, 33, 300}).Draw(t, "elements")
	numbers := func(f func(i int) float64) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = strconv.FormatFloat(f(i), 'g', -1, 32)
		}
		return all
	}
	seed := rapid.IntRange(1, 50).Draw(t, "seed")
	at := func(i int) float64 { return float64((i*7919+seed*104729)%2003-1000) / 37 }
	ref = numbers(at)
	switch kind := rapid.SampledFrom([]string{"same", "same", "noise", "nan", "both", "tail", "scale", "spike", "other", "const", "size", "inf"}).Draw(t, "kind"); kind {
	case "same":
		npu = ref
	case "noise":
		npu = numbers(func(i int) float64 { return at(i) * (1 + float64(i%5-2)/2048) })
	case "nan", "both", "spike", "inf":
		npu = slices.Clone(ref)
		npu[n/2] = map[string]string{"nan": "nan", "both": "nan", "spike": "77777", "inf": "inf"}[kind]
		if kind == "both" {
			ref[n/2] = "nan"
		}
	case "tail":
		npu = slices.Clone(ref)
		for i := n / 2; i < n; i++ {
			npu[i] = "0"
		}
	case "scale":
		npu = numbers(func(i int) float64 { return 1.5 * at(i) })
	case "const":
		npu = numbers(func(int) float64 { return 3 })
	case "size":
		npu = ref[:max(n-1, 1)]
	case "other": // the tensor of another operator
		if npu = ref; len(others) > 0 {
			npu = rapid.SampledFrom(others).Draw(t, "whose")
		}
	}
	return ref, npu
}

// comparedRuns draws a run of several ranks and a reference of it.
func comparedRuns(outer *testing.T, t *rapid.T, cpu, npu string) {
	outer.Helper()
	types := rapid.SampledFrom([]string{"Conv2D", "ReLU", "Add", "MatMul", "Softmax"})
	dtypes := rapid.SampledFrom([]string{"float32", "float32", "float16", "int32"})
	ranks := rapid.IntRange(1, 3).Draw(t, "ranks")
	ops := rapid.IntRange(1, 7).Draw(t, "ops")
	var others [][]string
	for rank := range ranks {
		for op := range ops {
			ref, got := drawnNumbers(t, others)
			others = append(others, got)
			dtype := dtypes.Draw(t, "dtype")
			if dtype == "int32" {
				whole := func(all []string) []string {
					all = slices.Clone(all)
					for i, x := range all {
						whole, _, _ := strings.Cut(x, ".")
						if all[i] = whole; strings.ContainsAny(whole, "naife") || whole == "-" {
							all[i] = "7"
						}
					}
					return all
				}
				ref, got = whole(ref), whole(got)
			}
			name := fmt.Sprintf("rank_%d/net/0/0/%s.op%d.%d.0.170000000000%04d.output.0.DefaultFormat.npy", rank, types.Draw(t, "type"), op, op, op)
			missing := rapid.IntRange(0, 11).Draw(t, "missing")
			if missing != 0 {
				writeNpy(outer, filepath.Join(cpu, name), "float32", strconv.Itoa(len(ref)), ref...)
			}
			switch missing {
			case 1:
			case 2:
				writeTo(outer, filepath.Join(npu, name), []byte("no array"))
			default:
				writeNpy(outer, filepath.Join(npu, name), dtype, strconv.Itoa(len(got)), got...)
			}
		}
	}
	writeNpy(outer, filepath.Join(cpu, "rank_0/net/0/0/Add.last.99.0.1700000000009999.output.0.DefaultFormat.npy"), "float32", "2", "1", "2")
	writeNpy(outer, filepath.Join(npu, "rank_0/net/0/0/Add.last.99.0.1700000000009999.output.0.DefaultFormat.npy"), "float32", "2", "1", "2")
}

// drawnOptions draws flags of compare that change what is found, and how it looks.
func drawnOptions(t *rapid.T) (all []string) {
	for _, option := range [][]string{
		{"--round", "last"}, {"--nan-policy", "hpaa"}, {"--nan-policy", "ignore"}, {"--profile", "dtype"}, {"--profile", "exact"},
		{"--diff-order", "worst"}, {"--diff-cnt", "2"}, {"--topn", "3"}, {"--verdict", "evidence"}, {"--verdict", "limits"}, {"--atol", "0.5"},
		{"--skip-keys", "op1"}, {"--ops", "re:op[0-3]"}, {"--max-elems", "3"}, {"--fail-on", "warn,fail"}, {"--extra-columns"}, {"--bom"},
		{"--rows", "bad"}, {"--rows", "all"}, {"--hpaa-version", "successor"}, {"--require-coverage", "all"}, {"--strict-dtype"}, {"--order", "name"}, {"--min-cos", "0.99"}, {"--exit-zero"},
		{"--force-compare"}, {"--rank", "0-1"}, {"--shard-by", "pair"}, {"--shard-by", "round"}, {"--max-error-ratio", "0.4"}, {"--tol-mode", "both-exceeded"},
	} {
		if rapid.IntRange(0, 6).Draw(t, option[0]) == 0 && !slices.Contains(all, option[0]) {
			all = append(all, option...)
		}
	}
	return all
}

// withoutShards are the options without those that one run has not.
func withoutShards(options []string) []string {
	if i := slices.Index(options, "--shard-by"); i >= 0 {
		return slices.Delete(slices.Clone(options), i, i+2)
	}
	return options
}

// TestCompareShards checks that any number of shards and a merge print and write what one
// run does, byte for byte, with a plan that was written before and without.
func TestCompareShards(t *testing.T) {
	t.Parallel()
	inFolders(t, func(rt *rapid.T, dir string) {
		in := func(name string) string { return filepath.Join(dir, name) }
		comparedRuns(t, rt, in("cpu"), in("npu"))
		n := rapid.IntRange(1, 9).Draw(rt, "n")
		options := drawnOptions(rt)
		args := append([]string{"compare", "--cpu", in("cpu"), "--npu", in("npu"), "--pictures", "0"}, options...)
		single := withoutShards(args)
		if rapid.IntRange(0, 2).Draw(rt, "baseline") == 0 {
			runArgs(t, "compare", "--cpu", in("cpu"), "--npu", in("npu"), "--update-baseline", "--baseline", in("known.json"))
			args, single = append(args, "--baseline", in("known.json")), append(single, "--baseline", in("known.json"))
		}
		formats := "text,csv,json,junit,md,html,msprobe"
		if rapid.Bool().Draw(rt, "divergence") {
			formats += ",msaccucmp"
		}
		want := runArgs(t, append(single, "--format", formats, "-out", in("one"))...)
		if want.code == 4 || want.code == 2 { // shards end in the same way
			if got := runArgs(t, append(args, "--shard", "0/1", "-out", in("parts"))...); want.code == 2 && got.code != 2 {
				rt.Fatalf("%v: %+v\nof one run: %+v", args, got, want)
			}
			return
		}
		merge := []string{"compare", "merge", in("parts"), "--format", formats}
		shards := append(args, "--format", formats, "-out", in("parts"))
		if rapid.Bool().Draw(rt, "planned") {
			plan := append(slices.Clone(args), "--format", formats)
			plan[0] = "plan"
			plan = append([]string{"compare"}, append(plan, "-out", in("plan.jsonl"))...)
			if rapid.Bool().Draw(rt, "divided") {
				plan = append(plan, "--shards", strconv.Itoa(n))
			}
			if r := runArgs(t, plan...); r.code != 0 {
				rt.Fatalf("plan: %+v", r)
			}
			merge = append(merge, "--plan", in("plan.jsonl"))
			shards = []string{"compare", "--plan", in("plan.jsonl"), "-out", in("parts")}
			if i := slices.Index(args, "--shard-by"); i >= 0 {
				shards = append(shards, args[i:i+2]...)
			}
		}
		shardsOf(t, rt, n, shards...)
		got := runArgs(t, append(merge, "-out", in("two"))...)
		want.err, got.err = last(strings.ReplaceAll(want.err, in("one"), "OUT")), last(strings.ReplaceAll(got.err, in("two"), "OUT"))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
			rt.Fatalf("%v: one run and %d shards differ:\n%s", args, n, diff)
		}
		if diff := cmp.Diff(treeOf(rt, in("one")), treeOf(rt, in("two"))); diff != "" {
			rt.Fatalf("%v: the reports of one run and of %d shards differ:\n%s", args, n, diff)
		}
		for _, looks := range [][]string{{"--lang", "zh"}, {"--format", "json"}, {"--format", "csv"}} {
			want, got := runArgs(t, append(slices.Clone(single), looks...)...), runArgs(t, append([]string{"compare", "merge", in("parts")}, looks...)...)
			want.err, got.err = last(want.err), last(got.err)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
				rt.Fatalf("%v %v: one run and %d shards differ:\n%s", args, looks, n, diff)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			rt.Fatal(err)
		}
	})
}

// last is how a run ended.
func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// sameReports compares the reports of one run with those that shards and a merge make of
// the same arguments.
func sameReports(t *testing.T, n int, formats string, args ...string) {
	t.Helper()
	dir := t.TempDir()
	one, two, parts := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "parts")
	args = append([]string{"compare", "--pictures", "0"}, args...)
	want := runArgs(t, append(args, "--format", formats, "-out", one)...)
	for i := range n {
		if r := runArgs(t, append(args, "--shard", fmt.Sprintf("%d/%d", i, n), "-out", parts)...); r.code != 0 {
			t.Fatalf("shard %d of %d: %+v", i, n, r)
		}
	}
	got := runArgs(t, "compare", "merge", parts, "--format", formats, "-out", two)
	want.err, got.err = last(strings.ReplaceAll(want.err, one, "OUT")), last(strings.ReplaceAll(got.err, two, "OUT"))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("%v: one run and %d shards differ:\n%s", args, n, diff)
	}
	if diff := cmp.Diff(filesOf(t, one), filesOf(t, two)); diff != "" {
		t.Errorf("%v: the reports of one run and of %d shards differ:\n%s", args, n, diff)
	}
}

// filesOf reads the files in a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// TestCompareShardsOfGolden does the same with networks whose graph is known, with runs of
// which there are statistics or digests only, and with HPAA's own files.
func TestCompareShardsOfGolden(t *testing.T) {
	t.Parallel()
	const all = "text,csv,json,junit,md,html"
	golden := filepath.Join("..", "..", "testdata", "golden")
	for _, name := range []string{"s1_strong", "s3_mild", "s12_strong"} {
		folder := filepath.Join(golden, "nets", name)
		sameReports(t, 4, all, "--cpu", filepath.Join(folder, "cpu"), "--npu", filepath.Join(folder, "npu"), "--consumer-map", filepath.Join(folder, "consumer.map"))
	}
	compared := filepath.Join(golden, "compare")
	sides := []string{"--cpu", filepath.Join(compared, "cpu"), "--npu", filepath.Join(compared, "npu")}
	sameReports(t, 5, all, sides...)
	sameReports(t, 3, all, append(sides, "--verdict", "evidence", "--nan-policy", "ignore", "--noise", filepath.Join(compared, "npu"))...)
	sameReports(t, 2, all, append(sides, "--standard", "cann-l2", "--third", filepath.Join(compared, "npu"))...)
	for _, kind := range []string{"statistics", "xor", "tensor"} {
		folder := filepath.Join(golden, "inputs", "msprobe", kind)
		sameReports(t, 3, all, filepath.Join(folder, "bench"), filepath.Join(folder, "npu"))
	}
	sameReports(t, 2, all, filepath.Join(golden, "inputs", "h5", "gpu.h5"), filepath.Join(golden, "inputs", "h5", "npu.h5"))
}

// TestKilledShard kills a shard at any time: its part is complete or absent, and when it
// has run again the merge is as if nothing had been.
func TestKilledShard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join("..", "..", "testdata", "golden", "nets", "s1_strong")
	args := []string{"compare", "--cpu", filepath.Join(folder, "cpu"), "--npu", filepath.Join(folder, "npu"), "--pictures", "0"}
	want := runArgs(t, append(args, "--format", "json")...)
	parts := filepath.Join(dir, "parts")
	for i := range 12 {
		cmd := exec.Command("dumptool", append(args, "--shard", fmt.Sprintf("%d/2", i%2), "-out", parts)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i*i) * 2 * time.Millisecond)
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if _, err := os.Stat(parts); err != nil {
			continue
		}
		l, err := shard.List([]string{parts}, shard.Head{})
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range l.Faults() {
			t.Errorf("killed after %d ms: %v", 2*i*i, fault)
		}
	}
	for i := range 2 {
		if r := runArgs(t, append(args, "--shard", fmt.Sprintf("%d/2", i), "-out", parts)...); r.code != 0 {
			t.Fatalf("shard %d: %+v", i, r)
		}
	}
	got := runArgs(t, "compare", "merge", parts, "--format", "json")
	want.err, got.err = last(want.err), last(got.err)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("one run and shards that were killed differ:\n%s", diff)
	}
}

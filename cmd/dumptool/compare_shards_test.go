package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
)

// comparedTree draws a reference, which ranks or steps may share, and a run of 1 to 12
// rounds with good and bad tensors, and some without a partner, that cannot be read, that
// are there twice, or with two partners.
func comparedTree(t *rapid.T, root string) {
	write := func(path string, data []byte, err error) {
		full := filepath.Join(root, filepath.FromSlash(path))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(full), 0o777)
		}
		if err == nil {
			err = os.WriteFile(full, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	dump := func(path string, values ...uint16) {
		var b strings.Builder
		err := dumptest.Write(&b, &dumptest.Content{Container: dumpfmt.BinaryV2, OpName: "op", Outputs: []dumptest.TensorContent{halves(values...)}})
		write(path, []byte(b.String()), err)
	}
	ops := []string{"Conv2D.conv1", "Relu.relu1", "Conv2D.conv2", "MatMul.fc"}[:rapid.IntRange(1, 4).Draw(t, "operators")]
	layout := rapid.SampledFrom([]string{"cpu/", "cpu/step%[1]d/", "cpu/step%[1]d/rank%[2]d/", "cpu/rank%[2]d/"}).Draw(t, "reference")
	kind := rapid.SampledFrom([]string{"good", "good", "good", "wrong", "wrong", "rounding", "inf", "cut", "none", "twice", "shape", "two"})
	const one, two, near, inf = 0x3c00, 0x4000, 0x3c01, 0x7c00
	for step := range rapid.IntRange(1, 4).Draw(t, "steps") {
		for rank := range rapid.IntRange(1, 3).Draw(t, "ranks") {
			ref := strings.SplitN(fmt.Sprintf(layout+"\x00", step, rank), "\x00", 2)[0]
			npu := fmt.Sprintf("npu/step%d/rank%d/", step, rank)
			for i, op := range ops {
				name := op[strings.Index(op, ".")+1:]
				if rapid.IntRange(0, 9).Draw(t, "in reference") > 0 {
					data, err := npyFile("float32", "4", "1", "2", "1", "2")
					write(ref+name+".npy", data, err)
				}
				file := fmt.Sprintf("%s%s.%d.1.%d", npu, op, i, 1700000000000000+100*i)
				switch kind.Draw(t, "kind") {
				case "good":
					dump(file, one, two, one, two)
				case "wrong":
					dump(file, one, two, two, two)
				case "rounding":
					dump(file, near, two, near, two)
				case "inf":
					dump(file, one, two, one, inf)
				case "cut":
					write(file, []byte("short"), nil)
				case "twice":
					dump(file, one, two, two, two)
					dump(file+"1", one, two, one, two)
				case "shape":
					dump(file, one, two)
				case "two":
					dump(file, one, two, one, two)
					dump(fmt.Sprintf("%sOther.%s.%d.1.1700000000000007", npu, name, i+10), two, two)
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "more") == 0 {
				dump(fmt.Sprintf("%sCast.extra.20.1.1700000000000009", npu), one)
			}
		}
	}
	for _, side := range []string{"cpu", "npu"} {
		if err := os.MkdirAll(filepath.Join(root, side), 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// drawn are some of the words, in their order.
func drawn(t *rapid.T, label string, words ...string) (some []string) {
	for _, w := range words {
		if rapid.Bool().Draw(t, label+" "+w) {
			some = append(some, w)
		}
	}
	return some
}

// TestCompareShards checks that any number of shards and a merge print and write what one
// run does, byte for byte.
func TestCompareShards(t *testing.T) {
	t.Parallel()
	inFolders(t, func(rt *rapid.T, dir string) {
		tree := filepath.Join(dir, "tree")
		comparedTree(rt, tree)
		n := rapid.IntRange(1, 5).Draw(rt, "n")
		args := []string{"compare", "--cpu", filepath.Join(tree, "cpu"), "--npu", filepath.Join(tree, "npu"), "--pictures", "0"}
		args = append(args, drawn(rt, "flag", "--verdict=limits", "--rank=0-1", "--step=0", "--ops=conv1,nosuch", "--fail-on=fail,unmatched-ref", "--exit-zero", "--require-coverage=90%",
			"--rows=bad", "--topn=1", "--diff-order=worst", "--round=last", "--transpose=conv1=0,nosuch=0")...)
		reports := drawn(rt, "format", "json", "csv", "junit", "md", "html", "text", "msaccucmp")
		if len(reports) > 0 {
			args = append(args, "--format", strings.Join(reports, ","))
		}
		one, two, parts := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "parts")
		want := runArgs(t, slices.Concat(args, []string{"-out", one})...)
		if want.code == exitNothing && len(treeOf(rt, one)) == 0 { // of the listing: each shard says so
			if r := runArgs(t, slices.Concat(args, []string{"-out", parts, "--shard", "0/2"})...); r != want {
				rt.Fatalf("%v: one run and a shard end differently:\n%+v\n%+v", args, want, r)
			}
			return
		}
		shardsOf(t, rt, n, slices.Concat(args, []string{"-out", parts})...)
		merge := rapid.SampledFrom([][]string{{"merge"}, {"compare", "merge"}}).Draw(rt, "merge")
		got := runArgs(t, slices.Concat(merge, []string{parts, "-out", two})...)
		want.err, got.err = lastLine(strings.ReplaceAll(want.err, one, two)), lastLine(got.err)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
			rt.Fatalf("%v: one run and %d shards differ:\n%s", args, n, diff)
		}
		if diff := cmp.Diff(treeOf(rt, one), treeOf(rt, two)); diff != "" {
			rt.Fatalf("%v: the reports of one run and of %d shards differ:\n%s", args, n, diff)
		}
	})
}

// lastLine is how a command ended.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

// generatedTree draws a tree of dumps, overflow records, statistics and other files. Names have any
// bytes if requested; JSON needs UTF-8.
func generatedTree(t *rapid.T, root string, anyBytes bool) {
	write := func(path string, data []byte) {
		full := filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	dump := func(path string, c *dumptest.Content) {
		c.Container = dumpfmt.BinaryV2
		var b bytes.Buffer
		if err := dumptest.Write(&b, c); err != nil {
			t.Fatal(err)
		}
		write(path, b.Bytes())
	}
	const one, inf, nan, most = 0x3c00, 0x7c00, 0x7e00, 0x7bff
	value := rapid.SampledFrom([]uint16{one, one, one, inf, nan, most})
	kind := rapid.SampledFrom([]string{"op", "op", "op", "op", "record", "record above", "record unnamed", "record as operator", "unnamed", "cut", "csv", "npy", "bytes", "text", "string"})
	names := rapid.SampledFrom([]string{"conv", "fc", "relu", "add", "very_" + strings.Repeat("long", 55)})
	for i := range rapid.IntRange(0, 20).Draw(t, "files") {
		at := rapid.IntRange(0, 2).Draw(t, "rank")
		dir := fmt.Sprintf("20260101000000/%d/net/1/%d/", at, rapid.IntRange(0, 1).Draw(t, "step"))
		task, name := i, names.Draw(t, "name")
		file := fmt.Sprintf("%sAdd.%s.%d.1.%d", dir, name, task, 1700000000000000+rapid.IntRange(0, 9).Draw(t, "time"))
		switch drawn := kind.Draw(t, "kind"); drawn {
		case "op":
			dump(file, &dumptest.Content{OpName: "net/" + name, Inputs: []dumptest.TensorContent{halves(value.Draw(t, "in"))},
				Outputs: []dumptest.TensorContent{halves(value.Draw(t, "out"), one)}})
		case "string": // elements that are no numbers
			one := halves(one)
			one.StoredDType = int32(tensor.String)
			dump(file, &dumptest.Content{OpName: "net/" + name, Outputs: []dumptest.TensorContent{one, halves(value.Draw(t, "out"))}})
		case "unnamed":
			dump(dir+"odd"+strconv.Itoa(i), &dumptest.Content{OpName: "net/" + name, Outputs: []dumptest.TensorContent{halves(value.Draw(t, "out"))}})
		case "record", "record above", "record unnamed", "record as operator":
			r := &opdebug.Record{Generation: opdebug.OldLayout, Size: opdebug.BufferSize, Areas: []opdebug.Area{
				{Unit: opdebug.DHA, Status: []uint64{0}}, {Unit: opdebug.L2, Status: []uint64{0}},
				{Unit: opdebug.AICore, TaskID: uint64(rapid.IntRange(0, 12).Draw(t, "task")), StreamID: 1, Status: []uint64{rapid.Uint64Range(0, 0xff).Draw(t, "status")}},
			}}
			payload := dumptest.EncodeRecord(r)
			path := fmt.Sprintf("%sOpdebug.Node_OpDebug.%d.1.%d", dir, task, 1700000000000005)
			switch drawn {
			case "record above": // of the steps, and of the ranks
				path = fmt.Sprintf("%sOpdebug.Node_OpDebug.%d.1.%d", rapid.SampledFrom([]string{"20260101000000/1/", "20260101000000/", ""}).Draw(t, "above"), task, 1700000000000005)
			case "record unnamed":
				path = dir + "odd" + strconv.Itoa(i)
			case "record as operator":
				path = file
			}
			dump(path, &dumptest.Content{OpName: "Node_OpDebug", Outputs: []dumptest.TensorContent{{
				Payload: dumptest.Bytes(payload), StoredDType: int32(tensor.Uint8), StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{uint64(len(payload))}}}})
		case "cut":
			write(file, []byte("short"))
		case "csv":
			write(fmt.Sprintf("rank_%d/Net/0/0/statistic.csv", at), []byte("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Negative Zero Count,Positive Zero Count,NaN Count,Negative Inf Count,Positive Inf Count,Zero Count\n"+
				"Add,Default/"+name+",0,0,1700000000000000,output,0,4,float16,\"(2,)\",inf,-1.5,0,0,0,0,1,0\nAdd,Default/b,1,0,1700000000000001,output,0,4,float16,\"(2,)\",1,-1.5,0,0,0,0,0,0\n"))
		case "npy":
			npy := "\x93NUMPY\x01\x00\x36\x00{'descr': '<f2', 'fortran_order': False, 'shape': (1,),}"
			npy = npy[:10] + npy[10:] + strings.Repeat(" ", max(0, 0x36-len(npy)+10-1)) + "\n"
			write(fmt.Sprintf("arrays/%s.%d.npy", name, task), binary.LittleEndian.AppendUint16([]byte(npy), value.Draw(t, "element")))
		case "bytes": // a name that is no UTF-8
			file, name := "Add.\xff\xfe", "a\xffb"
			if !anyBytes {
				file, name = "Add.<\u202e>&", "a\u2028b"
			}
			dump(fmt.Sprintf("%s%s.%d.1.1700000000000003", dir, file, task), &dumptest.Content{OpName: name, Outputs: []dumptest.TensorContent{halves(value.Draw(t, "out"))}})
		case "text":
			write(dir+"notes"+strconv.Itoa(i)+".txt", []byte("no dump"))
		}
	}
	if err := os.MkdirAll(root, 0o777); err != nil {
		t.Fatal(err)
	}
}

// treeOf reads all files below a folder.
func treeOf(t *rapid.T, dir string) map[string]string {
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}

// shardsOf runs a command line as n shards, in any order, some of them twice.
func shardsOf(outer *testing.T, t *rapid.T, n int, args ...string) {
	outer.Helper()
	order := rapid.Permutation(slices.Repeat(numbersTo(n), rapid.IntRange(1, 2).Draw(t, "times"))).Draw(t, "order")
	for k, i := range order {
		line := append(args, "--shard", fmt.Sprintf("%d/%d", i, n))
		if slices.Contains(order[:k], i) && rapid.Bool().Draw(t, "resume") {
			line = append(line, "--resume")
		}
		if r := runArgs(outer, line...); r.code != 0 || r.out != "" {
			t.Fatalf("shard %d of %d: %+v", i, n, r)
		}
	}
}

// numbersTo are the numbers from 0 to n-1.
func numbersTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// inFolders is rapid.Check with a separate, not yet existing folder for each case.
func inFolders(t *testing.T, check func(rt *rapid.T, dir string)) {
	t.Helper()
	base, run := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		check(rt, filepath.Join(base, strconv.Itoa(run)))
	})
}

// TestOverflowShards: any number of shards and a merge print and write the same bytes as one run.
func TestOverflowShards(t *testing.T) {
	t.Parallel()
	inFolders(t, func(rt *rapid.T, dir string) {
		tree := filepath.Join(dir, "tree")
		generatedTree(rt, tree, false)
		command := rapid.SampledFrom([]string{"scan", "analyze"}).Draw(rt, "command")
		args := []string{"overflow", command, tree}
		if rapid.Bool().Draw(rt, "all") {
			args = append(args, "--all")
		}
		if command == "analyze" && rapid.Bool().Draw(rt, "most") {
			args = append(args, "-n", "1")
		}
		n, one, two, parts := rapid.IntRange(1, 9).Draw(rt, "n"), filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "parts")
		shardsOf(t, rt, n, append(args, "-out", parts)...)
		merge := rapid.SampledFrom([][]string{{"merge"}, {"overflow", command, "merge"}}).Draw(rt, "merge")
		single, merged := args, slices.Concat(merge, []string{parts})
		switch rapid.SampledFrom([]string{"text", "zh", "json", "files", "files"}).Draw(rt, "form") {
		case "zh":
			single, merged = append(single, "--lang", "zh"), append(merged, "--lang", "zh")
		case "json":
			single, merged = append(single, "--format", "json"), append(merged, "--format", "json")
		case "files":
			const all = "text,json,csv,md,html"
			single, merged = append(single, "-out", one, "--format", all), append(merged, "-out", two, "--format", all)
		}
		want, got := runArgs(t, single...), runArgs(t, merged...)
		want.err, got.err = strings.ReplaceAll(want.err, one, "OUT"), strings.ReplaceAll(got.err, two, "OUT")
		if warned := strings.LastIndex(want.err, "warning: "); warned >= 0 { // warnings about the tree come from the shards
			_, want.err, _ = strings.Cut(want.err[warned:], "\n")
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
			rt.Fatalf("%v: one run and %d shards differ:\n%s", merged, n, diff)
		}
		if diff := cmp.Diff(treeOf(rt, one), treeOf(rt, two)); diff != "" {
			rt.Fatalf("overflow %s: the reports of one run and of %d shards differ:\n%s", command, n, diff)
		}
	})
}

// TestConvertShards: any number of shards and a merge write the same bytes as one run.
func TestConvertShards(t *testing.T) {
	t.Parallel()
	inFolders(t, func(rt *rapid.T, dir string) {
		tree, one, two := filepath.Join(dir, "tree"), filepath.Join(dir, "one"), filepath.Join(dir, "two")
		generatedTree(rt, tree, true)
		n := rapid.IntRange(1, 5).Draw(rt, "n")
		args := []string{"convert", "-d", tree, "-t", rapid.SampledFrom([]string{"npy", "bin", "msnpy", "txt", "safetensors"}).Draw(rt, "type"), "-j", "1"}
		if rapid.Bool().Draw(rt, "format") {
			args = append(args, "-f", "NCHW")
		}
		want := runArgs(t, append(args, "-out", one)...)
		shardsOf(t, rt, n, append(args, "-out", two)...)
		got := runArgs(t, slices.Concat(rapid.SampledFrom([][]string{{"merge"}, {"convert", "merge"}}).Draw(rt, "merge"), []string{two})...)
		if want.code != got.code || got.code != 3 && lastLine(strings.ReplaceAll(want.err, one, two)) != lastLine(got.err) {
			rt.Fatalf("%v: one run and %d shards end differently:\n%+v\n%+v", args, n, want, got)
		}
		if diff := cmp.Diff(treeOf(rt, one), treeOf(rt, two)); diff != "" {
			rt.Fatalf("%v: the files of one run and of %d shards differ:\n%s", args, n, diff)
		}
	})
}

// comparedTree draws a reference, which ranks or steps may share, and a run of 1 to 12 rounds with
// good, bad, unreadable and doubled tensors, and tensors without or with two partners.
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
	oddFiles(t, write, dump)
	for _, side := range []string{"cpu", "npu"} {
		if err := os.MkdirAll(filepath.Join(root, side), 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// oddFiles draws files whose listing does not show whether they hold tensors, and rounds without
// tensors.
func oddFiles(t *rapid.T, write func(path string, data []byte, err error), dump func(path string, values ...uint16)) {
	const one = 0x3c00
	record := dumptest.EncodeRecord(&opdebug.Record{Generation: opdebug.NewLayout, Size: opdebug.BufferSize})
	var isRecord strings.Builder
	err := dumptest.Write(&isRecord, &dumptest.Content{Container: dumpfmt.BinaryV2, OpName: "op", Outputs: []dumptest.TensorContent{{
		Payload: dumptest.Bytes(record), StoredDType: int32(tensor.Uint8), StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{uint64(len(record))}}}})
	older, olderErr := npyFile("float32", "4", "1", "2", "1", "1")
	const dumped = "Conv2D.conv1.0.1.17000000000000"
	for _, odd := range []struct {
		name  string
		write func(at string)
	}{
		{"text", func(at string) { write(at+"README.txt", []byte("no numbers"), nil) }},
		{"numbers", func(at string) { write(at+"numbers.txt", []byte("1 2 3"), nil) }},
		{"unnamed", func(at string) { dump(at+"odd", one) }},
		{"no dump", func(at string) { write(at+"other", []byte("no dump"), nil) }},
		{"short", func(at string) { write(at+"short.pt", []byte("P"), nil) }},
		{"record", func(at string) { write(at+"Add.add.7.1.1700000000000003", []byte(isRecord.String()), err) }},
		{"empty npz", func(at string) { write(at+"none.npz", []byte("PK\x05\x06"+strings.Repeat("\x00", 18)), nil) }},
		{"input", func(at string) { write(at+dumped+"05.input.0.npy", older, olderErr) }},
		{"older", func(at string) {
			write(at+dumped+"05.output.0.npy", older, olderErr)
			write(at+dumped+"06.output.0.npy", older, olderErr)
		}},
	} {
		for _, at := range []string{"cpu/", "npu/", "npu/loose/", "cpu/step1/", "npu/step1/rank1/", "cpu/step1/rank9/", "npu/step9/rank9/"} {
			if rapid.IntRange(0, 9).Draw(t, odd.name+" in "+at) == 9 {
				odd.write(at)
			}
		}
	}
}

// drawn draws some of the words, in order.
func drawn(t *rapid.T, label string, words ...string) (some []string) {
	for _, w := range words {
		if rapid.Bool().Draw(t, label+" "+w) {
			some = append(some, w)
		}
	}
	return some
}

// TestCompareShards: any number of shards and a merge print and write the same bytes as one run.
func TestCompareShards(t *testing.T) {
	t.Parallel()
	inFolders(t, func(rt *rapid.T, dir string) {
		tree := filepath.Join(dir, "tree")
		comparedTree(rt, tree)
		n := rapid.IntRange(1, 9).Draw(rt, "n")
		args := []string{"compare", "--cpu", filepath.Join(tree, "cpu"), "--npu", filepath.Join(tree, "npu"), "--pictures", "0"}
		args = append(args, drawn(rt, "flag", "--verdict=limits", "--rank=0-1", "--step=0", "--ops=conv1,nosuch", "--fail-on=fail,unmatched-ref", "--exit-zero", "--require-coverage=90%",
			"--inputs", "--rows=bad", "--topn=1", "--diff-order=worst", "--round=last", "--transpose=conv1=0,nosuch=0")...)
		reports := drawn(rt, "format", "json", "csv", "junit", "md", "html", "text", "msaccucmp", "hpaa", "sarif", "msprobe")
		if len(reports) > 0 {
			args = append(args, "--format", strings.Join(reports, ","))
		}
		one, two, parts := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "parts")
		want := runArgs(t, slices.Concat(args, []string{"-out", one})...)
		if want.code == exitNothing && len(treeOf(rt, one)) == 0 { // each shard reports an empty listing
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

// lastLine is the command's final message.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

package overflow

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
	"dumptool/internal/statusreg"
)

// aboutFile formats the content of a file in a line.
func aboutFile(f *RecordFile) string {
	switch {
	case f.IsCopy:
		return "copy"
	case f.NotRecord:
		return "left: " + f.Reason.String()
	}
	var all []string
	for i := range f.Records {
		r := &f.Records[i]
		text := fmt.Sprintf("%s.%d @%d", f.BaseName(), r.Output, r.Timestamp)
		yes, known := r.HasOverflow()
		switch {
		case r.Err != nil:
			text += " failed"
		case r.Rescued != nil:
			text += fmt.Sprintf(" rescued, task %d, overflowed %v %v", r.Rescued.TaskID, yes, known)
		default:
			text += fmt.Sprintf(" task %d, overflowed %v %v", r.Record.Areas[len(r.Record.Areas)-1].TaskID, yes, known)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// misreadJSON is the JSON of a record of the new layout that was decoded with the old layout: AIV, stream 396, task
// 65, with lost status.
const misreadJSON = `{"DHA Atomic Add": {"model_id": 1515870810, "stream_id": 4294967297, "task_id": 377957122048, "task_type": 365, ` +
	`"pc_start": "0x18c", "para_base": "0x41", "status": 0}, "L2 Atomic Add": {"model_id": 0, "stream_id": 0, "task_id": 0, ` +
	`"task_type": 0, "pc_start": "0x0", "para_base": "0x0", "status": 0}, "AI Core": {"model_id": 0, "stream_id": 0, "task_id": 0, ` +
	`"task_type": 0, "pc_start": "0x0", "para_base": "0x0", "kernel_code": "0x0", "block_idx": 0, "status": 0}}`

func extendedJSON(t *testing.T, r *opdebug.Record) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"file": "x", "record": json.RawMessage(r.AppendJSON(nil))})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRecordReader(t *testing.T) {
	tr := newTree(t)
	tr.record("0/Opdebug.Node_OpDebug.7.3.1700000000000001", oldRecord(7, 3, 0x20))
	tr.file("0/Opdebug.Node_OpDebug.7.3.1700000000000001.output.0.json", []byte("stale"))
	tr.file("out/Opdebug.Node_OpDebug.7.3.1700000000000001.output.0.json", []byte("stale"))
	tr.file("1/Opdebug.Node_OpDebug.8.3.1700000000000002.output.2.json", oldRecord(8, 3, 0).AppendJSON(nil))
	tr.file("1/Opdebug.Node_OpDebug.9.3.1700000000000003.output.0.json", extendedJSON(t, newLayoutRecord(0, 9, 3, 0, 0, 0x20)))
	tr.file("1/Opdebug.Node_OpDebug.9.3.1700000000000004.output.0.json", []byte(misreadJSON))
	tr.file("1/Opdebug.Node_OpDebug.9.3.1700000000000005.output.0.json", []byte(`{`))
	tr.file("1/x.json", []byte(`{`))
	tr.file("1/raw.bin", dumptest.EncodeRecord(oldRecord(7, 3, 0x20)))
	tr.op("2/Add.a.7.3.1700000000000000", "net/a", one, inf)
	tr.dump("2/hash", recordDump("Node_OpDebug", dumptest.EncodeRecord(newLayoutRecord(1, 5, 3, 0, 0, 0, 0, 0, 4))))
	tr.file("2/mapping.csv", []byte("hash,../../evil\n"))
	read := func(args ...string) map[string]string {
		run, err := dumpdir.Open(t.Context(), args, dumpdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		reader := newRecordReader(run)
		got := map[string]string{}
		for _, f := range run.Files {
			name, err := filepath.Rel(tr.root, f.Path())
			if err != nil {
				t.Fatal(err)
			}
			got[filepath.ToSlash(name)] = aboutFile(reader.readFile(f))
		}
		return got
	}

	got := read(tr.root)
	want := map[string]string{
		"0/Opdebug.Node_OpDebug.7.3.1700000000000001":                 "Opdebug.Node_OpDebug.7.3.1700000000000001.0 @1700000000000001 task 7, overflowed true true",
		"0/Opdebug.Node_OpDebug.7.3.1700000000000001.output.0.json":   "copy",
		"out/Opdebug.Node_OpDebug.7.3.1700000000000001.output.0.json": "copy",
		"1/Opdebug.Node_OpDebug.8.3.1700000000000002.output.2.json":   "Opdebug.Node_OpDebug.8.3.1700000000000002.2 @1700000000000002 task 8, overflowed false true",
		"1/Opdebug.Node_OpDebug.9.3.1700000000000003.output.0.json":   "Opdebug.Node_OpDebug.9.3.1700000000000003.0 @1700000000000003 task 9, overflowed true true",
		"1/Opdebug.Node_OpDebug.9.3.1700000000000004.output.0.json":   "Opdebug.Node_OpDebug.9.3.1700000000000004.0 @1700000000000004 rescued, task 65, overflowed false false",
		"1/Opdebug.Node_OpDebug.9.3.1700000000000005.output.0.json":   "Opdebug.Node_OpDebug.9.3.1700000000000005.0 @1700000000000005 failed",
		"1/x.json":                     "left: opdebug: json at 0x1: unexpected end of JSON input",
		"1/raw.bin":                    "left: the name is not the name of a dump",
		"2/Add.a.7.3.1700000000000000": `left: the dump of operator "net/a", no overflow record`,
		"2/hash":                       "hash.0 @0 task 5, overflowed true true",
	}
	delete(got, "2/mapping.csv") // the listing decides about it
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in a folder (-want +got):\n%s", diff)
	}

	// The reader tries harder with named files.
	got = read(filepath.Join(tr.root, "1", "raw.bin"), filepath.Join(tr.root, "1", "x.json"))
	want = map[string]string{"1/raw.bin": "raw.bin.0 @0 task 7, overflowed true true", "1/x.json": "x.json.0 @0 failed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("named (-want +got):\n%s", diff)
	}
}

// TestAnalyzeJSON: Analyze reads the JSON of records like recordReader.
func TestAnalyzeJSON(t *testing.T) {
	tr := newTree(t)
	tr.file("Opdebug.Node_OpDebug.9.3.1700000000000003.output.0.json", extendedJSON(t, newLayoutRecord(0, 9, 3, 0, 0, 0x20)))
	tr.file("Opdebug.Node_OpDebug.9.3.1700000000000004.output.0.json", []byte(misreadJSON))
	tr.file("Opdebug.Node_OpDebug.9.3.1700000000000005.output.0.json", make([]byte, maxRecord+1))
	r := tr.analyze(Options{})
	if len(r.Records) != 2 || r.Records[0].TaskID != 9 || r.Records[1].TaskID != 65 {
		t.Fatalf("got %+v", r)
	}
	if w := r.Records[1].Warnings; len(w) == 0 || !strings.Contains(w[0].String(), "was read with the old layout") {
		t.Errorf("warnings %q of a misread record", w)
	}
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Error, "want at most 1048576") {
		t.Errorf("problems %v", r.Problems)
	}
}

func TestUnitRegister(t *testing.T) {
	want := map[opdebug.Unit]statusreg.Register{
		opdebug.DHA: statusreg.DHA, opdebug.L2: statusreg.L2, opdebug.AICore: statusreg.AICore, opdebug.AIC: statusreg.AICore,
		opdebug.AIV: statusreg.AICore, opdebug.AICPU: statusreg.AICPU, opdebug.SDMA: statusreg.SDMA, opdebug.SDMA + 1: statusreg.None,
	}
	for unit, register := range want {
		if got := UnitRegister(unit); got != register {
			t.Errorf("%v: %v, want %v", unit, got, register)
		}
	}
}

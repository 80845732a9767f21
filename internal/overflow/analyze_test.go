package overflow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

// none stands for an id that does not apply.
const none = opdebug.NoID

// TestTree has all known difficulties in one tree: two devices and steps, contexts 0 and 1 of one task, a renamed
// file, the spelling of the documentation, a name without stream, a zero status, a record of four words, a truncated
// file, equal names in different folders, and task ids that agree in 16 bits only.
func TestTree(t *testing.T) {
	tr := newTree(t)
	const step0 = "20260101000000/0/net/11/0/"
	const step1 = "20260101000000/0/net/11/1/"
	const other = "20260101000001/1/net/11/0/"

	// Step 0 of device 0: contexts 0 and 1 of one FFTS+ task; the dump of the other context is nearer in time.
	tr.op(step0+"Add.a0.7.3.1700000000000010.4.0.0.0", "net/a0", one, inf)
	tr.op(step0+"Add.a1.7.3.1700000000000011.4.1.0.0", "net/a1", inf, inf)
	tr.record(step0+"Opdebug.Node_OpDebug.7.3.1700000000000012.4.0.0.0", newLayoutRecord(0, 7, 3, 0, 0, 0x20))
	tr.record(step0+"Opdebug.Node_OpDebug.7.3.1700000000000013.4.1.0.0", newLayoutRecord(0, 7, 3, 1, 0, 0x20))
	// The same ids twice: the later dump before the record is right.
	tr.op(step0+"Mul.early.8.3.1700000000000020", "net/early", one, one)
	tr.op(step0+"Mul.late.8.3.1700000000000030", "net/late", one, most)
	tr.op(step0+"Mul.after.8.3.1700000000000050", "net/after", one, one)
	tr.record(step0+"OpDebug.Node_Opdebug.8.3.1700000000000040", oldRecord(8, 3, 0x100))
	// Renamed because its name was too long; found by mapping.csv.
	tr.op(step0+"Conv2D.conv.9.3.1700000000000060", "net/conv", one, nan)
	tr.record(step0+"1234567890", oldRecord(9, 3, 0x20))
	tr.file(step0+"mapping.csv", []byte("1234567890,Opdebug.Node_OpDebug.9.3.1700000000000061\n"))
	// Step 1: a file with the same name as a file of step 0 belongs to this step.
	tr.op(step1+"Mul.late.8.3.1700000000000030", "net/late step 1", inf, inf)
	tr.record(step1+"OpDebug.Node_Opdebug.8.3.1700000000000040", oldRecord(8, 3, 0x10))
	// Names without stream, and a record with a zero status.
	tr.op(step1+"Cast.cast.59.1700000000000070", "net/cast", one, inf)
	tr.record(step1+"Opdebug.Node_OpDebug.59.1700000000000071", oldRecord(59, 563, 0x100))
	zero := tr.record(step1+"Opdebug.Node_OpDebug.60.1.1700000000000072", oldRecord(60, 1, 0))
	// Device 1: task ids that agree in 16 bits, a record of four words with one nonzero word, and a record of four
	// zeros; the tensors are good.
	tr.op(other+"MatMul.mm.4.2.1700000000000005", "net/mm", one, one)
	tr.record(other+"Opdebug.Node_OpDebug.4.2.1700000000000006", newLayoutRecord(1, 65536+4, 2, none, none, 0, 0, 0x400, 0))
	zeros := tr.record(other+"Opdebug.Node_OpDebug.5.2.1700000000000007", newLayoutRecord(1, 5, 2, none, none, 0, 0, 0, 0))
	cut := tr.file(other+"Opdebug.Node_OpDebug.6.2.1700000000000008", []byte("\x20\x00\x00\x00\x00\x00\x00\x00\x0a\x032.0"))
	// No dump at all, and a dump that matches the record by time only.
	tr.record("20260101000002/2/net/11/0/Opdebug.Node_OpDebug.1.1.1700000000000001", oldRecord(1, 1, 0x20))
	tr.op("20260101000003/3/net/11/0/Sub.sub.90.9.1700000000000001", "net/sub", one, inf)
	tr.record("20260101000003/3/net/11/0/Opdebug.Node_OpDebug.1.1.1700000000000002", oldRecord(1, 1, 0x20))
	tr.file(step0+"statistic.csv", []byte("a,b\n"))

	r := tr.analyze(Options{})
	var got []string
	for i := range r.Records {
		got = append(got, summary(&r.Records[i]))
	}
	want := []string{
		"rank 0 step 0: net/a0, payload ids, produced here",
		"rank 0 step 0: net/a1, payload ids, came in",
		"rank 0 step 0: net/late, payload ids, produced here",
		"rank 0 step 0: net/conv, payload ids, produced here",
		"rank 0 step 1: net/late step 1, payload ids, came in",
		"rank 0 step 1: net/cast, payload ids mod 2^16, produced here",
		"rank 1 step 0: net/mm, payload ids mod 2^16, process overflow",
		"rank 2 step 0: -, -, cannot tell",
		"rank 3 step 0: net/sub, nearest timestamp, produced here",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"0": 0, "1": 6, "2": 7, "3": 8}, r.First); diff != "" {
		t.Errorf("first of each device: %s", diff)
	}
	problems := map[string]bool{}
	for _, p := range r.Problems {
		problems[p.File] = p.Empty // no file: other ranks have step 1
	}
	if diff := cmp.Diff(map[string]bool{zero: true, zeros: true, cut: false, "": false}, problems); diff != "" {
		t.Errorf("problems: %s", diff)
	}
	if r.Unread() != 1 || r.Total != len(want) {
		t.Errorf("%d unreadable, %d in total", r.Unread(), r.Total)
	}

	// The first records only, with any number of workers.
	few := tr.analyze(Options{MaxRecords: 1, Workers: 7})
	got = nil
	for i := range few.Records {
		got = append(got, summary(&few.Records[i]))
	}
	if diff := cmp.Diff([]string{want[0], want[6], want[7], want[8]}, got); diff != "" {
		t.Error(diff)
	}
}

// TestSplitFolders: MindSpore separates the records of PyNative runs from the dumps.
func TestSplitFolders(t *testing.T) {
	tr := newTree(t)
	tr.op("rank_3/net/0/5/Add.a.7.3.1700000000000010", "net/a", one, inf)
	tr.op("rank_3/net/0/6/Add.b.7.3.1700000000000010", "net/b", one, inf)
	tr.record("rank_3/debug_files/5/Opdebug.Node_OpDebug.7.3.1700000000000012", oldRecord(7, 3, 0x20))
	r := tr.analyze(Options{})
	if len(r.Records) != 1 || summary(&r.Records[0]) != "rank 3 step 5: net/a, payload ids, other folder, produced here" {
		t.Errorf("%+v", r.Records)
	}
}

// TestFileNameIds: a record whose payload ids match nothing is matched by the ids in its name.
func TestFileNameIds(t *testing.T) {
	tr := newTree(t)
	tr.op("0/Add.a.7.3.1700000000000010", "net/a", one, inf)
	tr.op("0/Add.b.8.3.1700000000000011", "net/b", one, inf)
	tr.record("0/Opdebug.Node_OpDebug.7.3.1700000000000012", oldRecord(1000, 99, 0x20))
	r := tr.analyze(Options{})
	if len(r.Records) != 1 || r.Records[0].Op.Name != "net/a" || r.Records[0].Op.MatchedBy != ByFileName {
		t.Errorf("%+v", r.Records)
	}
}

// TestArraysAndJSON: MindSpore in npy mode writes arrays and decoded records only; beside the device's own files both
// are ignored.
func TestArraysAndJSON(t *testing.T) {
	tr := newTree(t)
	const dir = "rank_0/net/0/1/"
	array := func(name string, codes ...uint16) {
		header := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }"
		header += strings.Repeat(" ", 127-len(header)) + "\n"
		data := []byte(header)
		for _, c := range codes {
			data = append(data, byte(c), byte(c>>8))
		}
		tr.file(dir+name, data)
	}
	array("Add.a.7.3.1700000000000010.input.0.DefaultFormat.npy", one, one)
	array("Add.a.7.3.1700000000000010.output.0.DefaultFormat.float16.npy", one, inf)
	record := oldRecord(7, 3, 0x20)
	tr.file(dir+"Opdebug.Node_OpDebug.7.3.1700000000000012.output.0.json", record.AppendJSON(nil))
	// Made from the dump beside it.
	tr.op(dir+"Mul.m.8.3.1700000000000020", "net/m", one, one)
	array("Mul.m.8.3.1700000000000020.output.0.npy", one, inf)
	tr.record(dir+"Opdebug.Node_OpDebug.8.3.1700000000000021", oldRecord(8, 3, 0x20))
	tr.file(dir+"Opdebug.Node_OpDebug.8.3.1700000000000021.output.0.json", oldRecord(8, 3, 0x20).AppendJSON(nil))
	r := tr.analyze(Options{})
	var got []string
	for i := range r.Records {
		got = append(got, summary(&r.Records[i]))
	}
	want := []string{"rank 0 step 1: a, payload ids, produced here", "rank 0 step 1: net/m, payload ids, process overflow"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if tensors := r.Records[0].Tensors; len(tensors) != 2 || tensors[1].Kind != tensor.Output || !tensors[1].Bad {
		t.Errorf("tensors %+v", tensors)
	}
}

// TestUnits: AI Core comes before atomic adds, whose overflows are consequences.
func TestUnits(t *testing.T) {
	tr := newTree(t)
	record := oldRecord(7, 3, 0x20)
	record.Areas[0] = opdebug.Area{Unit: opdebug.DHA, TaskID: 1, StreamID: 1, Status: []uint64{0x900}}
	tr.record("0/Opdebug.Node_OpDebug.7.3.1700000000000012", record)
	atomic := oldRecord(0, 0, 0)
	atomic.Areas[1] = opdebug.Area{Unit: opdebug.L2, TaskID: 1, StreamID: 1, Status: []uint64{0x10000}}
	tr.record("0/Opdebug.Node_OpDebug.8.3.1700000000000013", atomic)
	invalid := newLayoutRecord(0, 1, 1, none, none, 0x20)
	invalid.Header.Valid = 0
	tr.record("0/Opdebug.Node_OpDebug.9.3.1700000000000014", invalid)
	tr.dump("0/Opdebug.Node_OpDebug.9.3.1700000000000015", recordDump("Node_OpDebug", make([]byte, 100)))
	r := tr.analyze(Options{})
	if len(r.Records) != 2 || r.Records[0].Unit != opdebug.AICore || r.Records[1].Unit != opdebug.L2 {
		t.Fatalf("%+v", r.Records)
	}
	if len(r.Problems) != 2 || r.Unread() != 1 {
		t.Errorf("problems %+v", r.Problems)
	}
	if text := r.Records[1].DecodeStatus()[0].Entries; len(text) != 1 || !text[0].Numeric {
		t.Errorf("status %+v", text)
	}
}

func TestCancelled(t *testing.T) {
	tr := newTree(t)
	tr.op("0/Add.a.7.3.1700000000000010", "net/a", one, inf)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run := tr.run()
	if r, err := Analyze(ctx, run, Options{}); !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("%v, error %v", r, err)
	}
	if r, err := Scan(ctx, run, Options{}); !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("%v, error %v", r, err)
	}
}

// TestBrokenOperator: a broken dump is still matched with its record, not the neighbouring dump.
func TestBrokenOperator(t *testing.T) {
	tr := newTree(t)
	tr.op("0/Add.near.6.3.1700000000000011", "net/near", one, inf)
	full := tr.op("0/Add.a.7.3.1700000000000010", "net/a", one, inf)
	data, err := os.ReadFile(full)
	if err != nil {
		t.Fatal(err)
	}
	tr.file("0/Add.a.7.3.1700000000000010", data[:len(data)-1])
	tr.record("0/Opdebug.Node_OpDebug.7.3.1700000000000012", oldRecord(7, 3, 0x20))
	r := tr.analyze(Options{})
	if len(r.Records) != 1 || summary(&r.Records[0]) != "rank  step : net/a, payload ids, cannot tell" || r.Unread() != 1 {
		t.Errorf("%+v, problems %v", r.Records, r.Problems)
	}
}

// TestGuess: a guess is a verdict only if the tensors confirm it.
func TestGuess(t *testing.T) {
	tr := newTree(t)
	tr.op("0/Add.a.1.1.1700000000000010", "net/a", one, one)
	tr.record("0/Opdebug.Node_OpDebug.7.3.1700000000000012", oldRecord(7, 3, 0x20))
	r := tr.analyze(Options{})
	if len(r.Records) != 1 || summary(&r.Records[0]) != "rank  step : net/a, nearest timestamp, cannot tell" {
		t.Errorf("%+v", r.Records)
	}
}

// TestTransferFault: SDMA reports faults of transfers in the same word as
// overflows of reductions.
func TestTransferFault(t *testing.T) {
	for status, records := range map[uint64]int{8: 0, 11: 1, 12: 1, 13: 0, 15: 0, 99: 1} {
		tr := newTree(t)
		record := &opdebug.Record{Generation: opdebug.NewLayout, Header: opdebug.Header{Magic: opdebug.Magic, Valid: 1, AccType: 3, DataLen: 80}, Areas: []opdebug.Area{
			{Unit: opdebug.SDMA, ContextID: none, ThreadID: none, Status: []uint64{status}}}}
		tr.record("0/Opdebug.Node_OpDebug.7.3.1700000000000012", record)
		if r := tr.analyze(Options{}); len(r.Records) != records || len(r.Problems) != 1-records {
			t.Errorf("status %d: %d records, problems %v", status, len(r.Records), r.Problems)
		}
	}
}

// TestDerivedElsewhere: files converted from files of the tree add nothing, wherever they are.
func TestDerivedElsewhere(t *testing.T) {
	tr := newTree(t)
	tr.op("0/Add.a.7.3.1700000000000010", "net/a", one, inf)
	tr.record("0/Opdebug.Node_OpDebug.7.3.1700000000000012", oldRecord(7, 3, 0x20))
	tr.file("out/0/Opdebug.Node_OpDebug.7.3.1700000000000012.output.0.json", oldRecord(7, 3, 0x20).AppendJSON(nil))
	tr.file("out/0/Add.a.7.3.1700000000000010.output.0.npy", []byte("cut"))
	if r := tr.analyze(Options{}); len(r.Records) != 1 || len(r.Problems) != 0 {
		t.Errorf("%d records, problems %v", len(r.Records), r.Problems)
	}
	if r := tr.scan(Options{}); len(r.Rows) != 1 || len(r.Problems) != 0 {
		t.Errorf("%d rows, problems %v", len(r.Rows), r.Problems)
	}
}

// TestThreadIds: the record of a thread matches a dump without thread ids if no dump has the right ones, but never a
// dump of another thread.
func TestThreadIds(t *testing.T) {
	tr := newTree(t)
	tr.op("0/Add.plain.7.3.1700000000000010", "net/plain", one, inf)
	tr.op("0/Add.other.7.3.1700000000000011.4.2.0.0", "net/other", one, inf)
	tr.record("0/Opdebug.Node_OpDebug.7.3.1700000000000012.4.0.0.0", newLayoutRecord(0, 7, 3, 0, 0, 0x20))
	r := tr.analyze(Options{})
	if len(r.Records) != 1 || r.Records[0].Op == nil || r.Records[0].Op.Name != "net/plain" {
		t.Errorf("%+v", r.Records)
	}
}

// TestManyRecords: the number of records is unlimited, and records are ordered by time, not by name.
func TestManyRecords(t *testing.T) {
	tr := newTree(t)
	const n = 300
	for i := range n {
		tr.record(fmt.Sprintf("%d/Opdebug.Node_OpDebug.7.3.%d", i%3, 1700000000000000-i), oldRecord(7, 3, 0x20))
	}
	r := tr.analyze(Options{})
	if len(r.Records) != n {
		t.Fatalf("%d records, want %d", len(r.Records), n)
	}
	for i := range r.Records[1:] {
		if r.Records[i].Timestamp >= r.Records[i+1].Timestamp {
			t.Fatalf("record %d is not in order", i)
		}
	}
	if few := tr.analyze(Options{MaxRecords: 7}); len(few.Records) != 7 || few.Total != n {
		t.Errorf("%d of %d records, want 7 of %d", len(few.Records), few.Total, n)
	}
}

// TestElsewhereIsNotTaken: ids repeat in every run, model and device, so a dump of another run, model or device is no
// match even if all ids agree.
func TestElsewhereIsNotTaken(t *testing.T) {
	tests := []struct{ name, dump, record string }{
		{"run", "20240101000000/0/m/1/0/", "20240102000000/0/m/1/0/"},
		{"model", "20240101000000/0/m/1/0/", "20240101000000/0/m/2/0/"},
		{"device", "20240101000000/0/m/1/0/", "20240101000000/1/m/1/0/"},
		{"unknown folders", "cardA/", "cardB/"},
		{"rank above the devices", "rank_7/out/20240101000000/0/m/1/0/", "rank_7/out/20240101000000/1/m/1/0/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newTree(t)
			tr.op(tt.dump+"Add.a.5.3.1700000000000010", "net/a", one, inf)
			tr.record(tt.record+"Opdebug.Node_OpDebug.5.3.1700000000000012", oldRecord(5, 3, 0x20))
			r := tr.analyze(Options{})
			if len(r.Records) != 1 || r.Records[0].Op != nil {
				t.Errorf("%s", summary(&r.Records[0]))
			}
		})
	}
}

// TestOtherThread: a dump of another thread is not matched by the ids in a file name or by time.
func TestOtherThread(t *testing.T) {
	tr := newTree(t)
	tr.op("0/Add.a.5.3.1700000000000010.4.1.0.0", "net/a", one, inf)
	tr.record("0/Opdebug.Node_OpDebug.5.3.1700000000000012", newLayoutRecord(0, 5, 3, 2, 0, 0x20))
	if r := tr.analyze(Options{}); len(r.Records) != 1 || r.Records[0].Op != nil {
		t.Errorf("%+v", r.Records)
	}
}

// TestByContent finds a record without a telling name or header.
func TestByContent(t *testing.T) {
	tr := newTree(t)
	payload := dumptest.EncodeRecord(newLayoutRecord(0, 5, 3, none, none, 0x20))
	tr.dump("0/Foo.bar.9.9.1700000000000012", recordDump("foo", payload))
	tr.op("0/Add.a.5.3.1700000000000010", "net/a", one, inf)
	if r := tr.analyze(Options{}); len(r.Records) != 1 || r.Records[0].Op == nil || r.Records[0].Op.Name != "net/a" {
		t.Errorf("%+v", r.Records)
	}
}

// TestOtherUnits: a record of atomic adds beside AI Core is reported.
func TestOtherUnits(t *testing.T) {
	tr := newTree(t)
	record := oldRecord(7, 3, 0x20)
	record.Areas[0] = opdebug.Area{Unit: opdebug.DHA, Status: []uint64{0x900}}
	tr.record("0/Opdebug.Node_OpDebug.7.3.1700000000000012", record)
	r := tr.analyze(Options{})
	if len(r.Records) != 1 || !strings.Contains(fmt.Sprint(r.Records[0].Warnings), "DHA Atomic Add overflowed too: status 0x900") {
		t.Errorf("%+v", r.Records)
	}
}

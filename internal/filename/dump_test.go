package filename

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var dumpNames = []struct {
	base string
	want Dump
}{
	{"Add.Default_Add-op0.52.16.1624605159829059", Dump{OpType: "Add", OpName: "Default_Add-op0", TaskID: 52, StreamID: 16, HasStream: true, Timestamp: 1624605159829059}},
	{"Foo.nostream.55.1624605159829062", Dump{OpType: "Foo", OpName: "nostream", TaskID: 55, Timestamp: 1624605159829062}},
	{"Pooling.pool1.1147.1589195081588018", Dump{OpType: "Pooling", OpName: "pool1", TaskID: 1147, Timestamp: 1589195081588018}},
	{"Opdebug.Node_OpDebug.0.3.1673383728094391.4.1.0.0", Dump{OpType: "Opdebug", OpName: "Node_OpDebug", StreamID: 3, HasStream: true, Timestamp: 1673383728094391,
		TaskType: 4, ContextID: 1, HasThread: true, HasDevice: true}},
	{"Conv2D.c_lxslice0.7.5.1673383728094391.4.12.3", Dump{OpType: "Conv2D", OpName: "c_lxslice0", TaskID: 7, StreamID: 5, HasStream: true, Timestamp: 1673383728094391,
		TaskType: 4, ContextID: 12, ThreadID: 3, HasThread: true}},
	{"Add.x.9.1673383728094391.4.12.3.1", Dump{OpType: "Add", OpName: "x", TaskID: 9, Timestamp: 1673383728094391, TaskType: 4, ContextID: 12, ThreadID: 3, HasThread: true, DeviceID: 1, HasDevice: true}},
	{"Parameter.net.conv.weight.65535.0.1673383728094391", Dump{OpType: "Parameter", OpName: "net.conv.weight", TaskID: 65535, HasStream: true, Timestamp: 1673383728094391}},
	{"Add.op.5.3.16.1673383728094391", Dump{OpType: "Add", OpName: "op.5", TaskID: 3, StreamID: 16, HasStream: true, Timestamp: 1673383728094391}},
	{"Add.5.16.1673383728094391", Dump{OpType: "Add", OpName: "5", TaskID: 16, Timestamp: 1673383728094391}},
	{"卷积.网络 层.5.16.1673383728094391", Dump{OpType: "卷积", OpName: "网络 层", TaskID: 5, StreamID: 16, HasStream: true, Timestamp: 1673383728094391}},
	{"Add.\xff\xfe.5.16.1673383728094391", Dump{OpType: "Add", OpName: "\xff\xfe", TaskID: 5, StreamID: 16, HasStream: true, Timestamp: 1673383728094391}},
	{"Add.x.4294967295.4294967295.1673383728094391.4.4294967295.0.0", Dump{OpType: "Add", OpName: "x", TaskID: 4294967295, StreamID: 4294967295, HasStream: true,
		Timestamp: 1673383728094391, TaskType: 4, ContextID: 4294967295, HasThread: true, HasDevice: true}},
	{"Add.x.1.4294967295.1673383728094391.4.5.6", Dump{OpType: "Add", OpName: "x", TaskID: 1, StreamID: 4294967295, HasStream: true,
		Timestamp: 1673383728094391, TaskType: 4, ContextID: 5, ThreadID: 6, HasThread: true}},
	{"exception_info.16.52.20240131120000123", Dump{OpType: "exception_info", TaskID: 52, StreamID: 16, HasStream: true, Timestamp: 20240131120000123}},
	{"exception_info.16.52.1.24.1673383728094391", Dump{OpType: "exception_info", TaskID: 52, StreamID: 16, HasStream: true, CoreType: 1, CoreID: 24, HasCore: true, Timestamp: 1673383728094391}},
	{"exception_info.kernel.52.16.1673383728094391", Dump{OpType: "exception_info", OpName: "kernel", TaskID: 52, StreamID: 16, HasStream: true, Timestamp: 1673383728094391}},
}

// dumpName parses the name of a dump.
func dumpName(base string) (Dump, bool) {
	n := Parse(base)
	if !n.IsDump() {
		return Dump{}, false
	}
	return n.Dump, true
}

func TestDumps(t *testing.T) {
	for _, test := range dumpNames {
		got, ok := dumpName(test.base)
		if diff := cmp.Diff(test.want, got); diff != "" || !ok {
			t.Errorf("%s: ok %v\n%s", test.base, ok, diff)
		}
		if s := got.String(); s != test.base {
			t.Errorf("%s prints as %s", test.base, s)
		}
	}
	golden, err := os.ReadDir(filepath.Join("..", "dumpfmt", "testdata", "dumps"))
	if err != nil || len(golden) == 0 {
		t.Fatal("no dumps in testdata", err)
	}
	for _, file := range golden {
		if got, ok := dumpName(file.Name()); !ok || got.String() != file.Name() {
			t.Errorf("%s: %+v, %v", file.Name(), got, ok)
		}
	}
}

var noDumps = []string{
	"", ".", "...", "Add", "1624605159829059", "Add.1624605159829059", "Add.x.1624605159829059", "Add.x.5.16", "Add.x.5.16.162460515",
	"Add.x.5.16.1624605159829059.npy", "Add.x.5.16.1624605159829059.output.0.npy", "Add.x.5.16.1624605159829059.output.0.json",
	"Add.x.5.16.1624605159829059.csv", "mapping.csv", "statistic.csv", "Opdebug.Node_OpDebug.59.1624605159829059.output.0.json",
	"Add.x.5.16.1624605159829059.", "Add.x.5.16.1624605159829059.4", "Add.x.5.16.1624605159829059.4.1", "Add.x.5.16.1624605159829059.4.1.2.3.4",
	"Add..5.16.1624605159829059", ".x.5.16.1624605159829059", "a/Add.x.5.16.1624605159829059", "Add.x.5.16.1624605159829059\x00",
	"Add.x.05.01624605159829059", "Add.x.5.16.99999999999999999999999", "Add.x.+5.+1624605159829059", "Add.x.-5.16.-1624605159829059",
	"exception_info.52.1673383728094391", "exception_info.1.2.3.1673383728094391", "6271896340817235609",
}

func TestNoDumps(t *testing.T) {
	for _, base := range noDumps {
		if got, ok := dumpName(base); ok || got != (Dump{}) {
			t.Errorf("%q: %+v, %v", base, got, ok)
		}
	}
}

// TestDumpRoundTrip makes names in all forms of the writers.
func TestDumpRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawDump(t)
		got, ok := dumpName(n.String())
		if diff := cmp.Diff(n, got); diff != "" || !ok {
			t.Errorf("%s: ok %v\n%s", n, ok, diff)
		}
	})
}

func drawDump(t *rapid.T) Dump {
	id := rapid.Uint64Range(0, 1<<32-1)
	n := Dump{
		OpType:    rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_-]{0,9}|算子`).Draw(t, "op type"),
		OpName:    rapid.StringMatching(`[A-Za-z_.][A-Za-z0-9_.-]{0,30}[A-Za-z_-]|é`).Draw(t, "op name"),
		TaskID:    id.Draw(t, "task"),
		StreamID:  id.Draw(t, "stream"),
		HasStream: true,
		Timestamp: rapid.Uint64Range(1e15, 1e16-1).Draw(t, "time"),
	}
	if rapid.Bool().Draw(t, "exception") {
		n.OpType, n.OpName = "exception_info", ""
	} else if n.HasStream = rapid.Bool().Draw(t, "has stream"); !n.HasStream {
		n.StreamID = 0
	}
	if n.HasThread = rapid.Bool().Draw(t, "has thread"); n.HasThread {
		n.TaskType, n.ContextID, n.ThreadID = 4, id.Draw(t, "context"), id.Draw(t, "thread")
		if n.HasDevice = rapid.Bool().Draw(t, "has device"); n.HasDevice {
			n.DeviceID = id.Draw(t, "device")
		}
	}
	return n
}

package overflow

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
)

func TestScan(t *testing.T) {
	tr := newTree(t)
	const dir = "20260101000000/0/net/11/"
	tr.op(dir+"0/Add.good.1.1.1700000000000001", "net/good", one, one)
	tr.op(dir+"0/Add.second.3.1.1700000000000003", "net/second", inf, inf)
	tr.op(dir+"0/Add.first.2.1.1700000000000002", "net/first", one, most)
	tr.op(dir+"1/Add.earlier.1.1.1600000000000000", "net/next step", one, nan)
	tr.op("20260101000000/1/net/11/0/Add.x.1.1.1700000000000009", "net/x", one, inf)
	tr.record(dir+"0/Opdebug.Node_OpDebug.1.1.1700000000000002", oldRecord(1, 1, 0x20))
	tr.file(dir+"0/Sub.cut.1.1.1700000000000004", []byte("short"))
	tr.file(dir+"0/notes.txt", []byte("no dump"))
	for _, workers := range []int{1, 5} {
		r := tr.scan(Options{Workers: workers})
		var got []string
		for i := range r.Rows {
			row := &r.Rows[i]
			got = append(got, fmt.Sprintf("%s %s %s first=%v %s", row.Rank, row.Step, row.OpName, row.First, row.Verdict))
		}
		want := []string{
			"0 0 net/first first=true produced here", "0 0 net/second first=false came in",
			"0 1 net/next step first=false produced here", "1 0 net/x first=true produced here",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if r.Files != 5 || r.Tensors != 10 || r.BadFiles != 4 || countUnread(r.Problems) != 1 || len(r.Problems) != 2 {
			t.Errorf("%d files, %d tensors, %d bad, problems %v", r.Files, r.Tensors, r.BadFiles, r.Problems)
		}
	}
	if all := tr.scan(Options{All: true}); len(all.Rows) != 5 || all.Rows[0].OpName != "net/good" {
		t.Errorf("%+v", all.Rows)
	}
}

// TestJudge has a case for each verdict.
func TestJudge(t *testing.T) {
	clean, bad := &tensor.Stats{Count: 1}, &tensor.Stats{Count: 1, NaN: 1}
	of := func(kind tensor.Kind, c *tensor.Stats) Tensor {
		if c == nil {
			return tensorOf(kind, tensor.Float16, nil, errors.New("unreadable"))
		}
		return tensorOf(kind, tensor.Float16, c, nil)
	}
	const in, out = tensor.Input, tensor.Output
	tests := []struct {
		name    string
		tensors []Tensor
		want    Verdict
	}{
		{"nothing", nil, CannotTell},
		{"clean in, bad out", []Tensor{of(in, clean), of(out, bad)}, ProducedHere},
		{"bad in, bad out", []Tensor{of(in, clean), of(in, bad), of(out, bad)}, CameIn},
		{"bad in, clean out", []Tensor{of(in, bad), of(out, clean)}, CameIn},
		{"all clean", []Tensor{of(in, clean), of(out, clean)}, ProcessOverflow},
		{"no inputs", []Tensor{of(out, bad)}, CannotTell},
		{"no inputs, clean", []Tensor{of(out, clean)}, CannotTell},
		{"unreadable input", []Tensor{of(in, nil), of(out, bad)}, CannotTell},
		{"unreadable, yet a bad input", []Tensor{of(in, nil), of(in, bad), of(out, bad)}, CameIn},
	}
	for _, tt := range tests {
		if got, why := judge(tt.tensors); got != tt.want || why.String() == "" || why.Chinese() == "" {
			t.Errorf("%s: %s (%v), want %s", tt.name, got, why, tt.want)
		}
	}
}

// tensorOf returns a tensor with statistics, or with an error.
func tensorOf(kind tensor.Kind, d tensor.DType, stats *tensor.Stats, err error) Tensor {
	t := newTensor(kind, 0, d, tensor.ND, tensor.Shape{1}, nil)
	if stats != nil {
		t.setStats(stats, d, t.Shape)
	} else {
		t.fail(err)
	}
	return t
}

// TestOrdinaryValues: constants that look like traces of a conversion, and tensors that cannot overflow, are not bad.
func TestOrdinaryValues(t *testing.T) {
	traces, bad := &tensor.Stats{Count: 1, HalfTraces: 1}, &tensor.Stats{Count: 1, PosInf: 1}
	text := tensorOf(tensor.Input, tensor.String, nil, &tensor.UnsupportedType{DType: tensor.String})
	unknown := tensorOf(tensor.Input, 99, nil, &tensor.UnsupportedType{DType: 99})
	in, out := tensorOf(tensor.Input, tensor.Float32, traces, nil), tensorOf(tensor.Output, tensor.Float32, bad, nil)
	if got, _ := judge([]Tensor{in, text, out}); got != ProducedHere || in.Bad || !text.IsNotNumeric() {
		t.Errorf("%s", got)
	}
	if got, _ := judge([]Tensor{in, unknown, out}); got != CannotTell || unknown.IsNotNumeric() {
		t.Errorf("%s", got)
	}
	broken := tensorOf(tensor.Output, tensor.Float16, nil, errors.New("cut"))
	if got, _ := judge([]Tensor{in, out, broken}); got != ProducedHere {
		t.Errorf("%s", got)
	}
}

// TestScanKeepsOtherDevices: an array is ignored beside its own dump only, not beside a dump of that name on another
// device.
func TestScanKeepsOtherDevices(t *testing.T) {
	tr := newTree(t)
	const name = "Add.x.5.3.1700000000000010"
	tr.op("20240101000000/0/m/1/0/"+name, "net/x", one, one)
	header := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }"
	header += strings.Repeat(" ", 127-len(header)) + "\n"
	tr.file("20240101000000/1/m/1/0/"+name+".output.0.npy", []byte(header+"\x00\x7c"))
	for _, tail := range []string{"", ".ND", ".NC1HWC0.float16", ".0.NC1HWC0.float16", ".1.float16.ND"} {
		tr.file("20240101000000/0/m/1/0/"+name+".output.0"+tail+".npy", []byte(header+"\x00\x7c"))
	}
	if r := tr.scan(Options{}); r.Files != 2 || r.BadFiles != 1 || r.Rows[0].Rank != "1" {
		t.Errorf("%+v", r)
	}
}

// TestScanOrder: the tensors of a synchronous dump are in the order of the folders, not of names, and the tensors of
// an operator form a row.
func TestScanOrder(t *testing.T) {
	tr := newTree(t)
	const dir = "rank_0/net/0/1/"
	tr.file("rank_0/execution_order/ms_execution_order_graph_0.csv", []byte("Default/b/Cast-op2\nDefault/a/Add-op1\n"))
	tr.file(dir+"Default--a--Add-op1_output_0_shape_2_Float16_DefaultFormat.bin", []byte{0, 0x3c, 0, 0x7c})
	tr.file(dir+"Default--a--Add-op1_input_0_shape_2_Float16_DefaultFormat.bin", []byte{0, 0x3c, 0, 0x3c})
	tr.file(dir+"Default--b--Cast-op2_output_0_shape_2_Float16_DefaultFormat.bin", []byte{0, 0x3c, 0, 0x7e})
	r := tr.scan(Options{})
	var got []string
	for i := range r.Rows {
		row := &r.Rows[i]
		got = append(got, fmt.Sprintf("%s %s %d %s first=%v", row.OpName, filepath.Base(row.File), len(row.Tensors), row.Verdict, row.First))
	}
	want := []string{
		"Default/b/Cast-op2 Default--b--Cast-op2_output_0_shape_2_Float16_DefaultFormat.bin 1 cannot tell first=true",
		"Default/a/Add-op1 Default--a--Add-op1_*.bin 2 produced here first=false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(r.Orders) != 1 || r.Orders[0].By != dumpdir.ByExecution || r.Orders[0].NumKnown != 2 || r.Files != 3 || r.BadFiles != 2 {
		t.Errorf("%+v", r)
	}
}

// TestUnknownOrder: without a known order no row is the first, unless it is the only bad row.
func TestUnknownOrder(t *testing.T) {
	tr := newTree(t)
	header := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }"
	header += strings.Repeat(" ", 127-len(header)) + "\n"
	tr.file("a.npy", []byte(header+"\x00\x7c"))
	tr.file("b.npy", []byte(header+"\x00\x3c"))
	if r := tr.scan(Options{}); len(r.Rows) != 1 || !r.Rows[0].First {
		t.Errorf("%+v", r.Rows)
	}
	tr.file("b.npy", []byte(header+"\x00\x7c"))
	if r := tr.scan(Options{}); len(r.Rows) != 2 || r.Rows[0].First || r.Rows[1].First || r.Orders[0].By != dumpdir.ByName {
		t.Errorf("%+v", r.Rows)
	}
}

// TestGraphsInTime: the operators of several graphs of a step are ordered by time together.
func TestGraphsInTime(t *testing.T) {
	tr := newTree(t)
	tr.op("20260101000000/0/net/1/0/Add.late.1.1.1700000000000009", "net/late", one, inf)
	tr.op("20260101000000/0/net/2/0/Add.early.1.1.1700000000000001", "net/early", one, inf)
	if r := tr.scan(Options{}); len(r.Rows) != 2 || r.Rows[0].OpName != "net/early" || !r.Rows[0].First || r.Rows[1].First {
		t.Errorf("%+v", r.Rows)
	}
}

// TestSelection: rounds and operators are selected, records by their operators.
func TestSelection(t *testing.T) {
	tr := newTree(t)
	for rank := range 3 {
		dir := fmt.Sprintf("20260101000000/%d/net/11/0/", rank)
		tr.op(dir+"Add.a.7.3.1700000000000010", "net/a", one, inf)
		tr.op(dir+"Mul.m.8.3.1700000000000020", "net/m", inf, inf)
		tr.record(dir+"Opdebug.Node_OpDebug.7.3.1700000000000012", oldRecord(7, 3, 0x20))
		tr.record(dir+"Opdebug.Node_OpDebug.8.3.1700000000000022", oldRecord(8, 3, 0x20))
	}
	ranks, err := dumpdir.ParseNumbers("1-2")
	if err != nil {
		t.Fatal(err)
	}
	ops, err := dumpdir.NewNameSet([]string{"net/m"})
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Select: dumpdir.Selection{dumpdir.ByRank: ranks}, Ops: ops}
	var got []string
	for _, r := range tr.analyze(opt).Records {
		got = append(got, summary(&r))
	}
	want := []string{"rank 1 step 0: net/m, payload ids, came in", "rank 2 step 0: net/m, payload ids, came in"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r := tr.scan(opt); len(r.Rows) != 2 || r.Files != 2 || r.Rows[0].Rank != "1" || r.Rows[1].OpName != "net/m" {
		t.Errorf("%+v", r)
	}
}

// TestTensorsWithoutData: for tensors that ATB saved without elements, the table of statistics is used, if there is
// one; they are no error.
func TestTensorsWithoutData(t *testing.T) {
	tr := newTree(t)
	const dir = "atb_dump_data/data/0_1/0/"
	empty := []byte("$Version=1.0\ndtype=1\nformat=2\ndims=2\n$End=1\n")
	tr.file(dir+"0_Add/after/outtensor0.bin", empty)
	tr.file(dir+"1_Mul/after/outtensor0.bin", empty)
	if r := tr.scan(Options{All: true}); len(r.Rows) != 2 || len(r.Problems) != 0 || r.BadFiles != 0 || r.Rows[0].Tensors[0].Error == "" {
		t.Errorf("%+v", r)
	}
	tr.file(dir+"statistic.csv", []byte("Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,Tensor Path\n"+
		"0_1,0,Mul,Mul,1,Output,0,float16,ND,2,inf,1,inf,inf,x\n0_1,0,Add,Add,0,Output,0,float16,ND,2,1,1,1,1,x\n"))
	r := tr.scan(Options{})
	if len(r.Rows) != 1 || r.Rows[0].OpName != "1_Mul" || !r.Rows[0].IsFromStatistics() || r.Tables != 2 || len(r.Problems) != 0 || !r.Rows[0].First {
		t.Errorf("%+v", r)
	}
}

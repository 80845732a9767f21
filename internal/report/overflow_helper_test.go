package report

import (
	"errors"
	"io"
	"testing"

	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/overflow"
	"dumptool/internal/statusreg"
	"dumptool/internal/tensor"
)

// number returns a number that may be missing.
func number(x float64) *float64 { return &x }

// rendered returns what a renderer writes.
func rendered(t *testing.T, render func(io.Writer) error) string {
	t.Helper()
	var b writer
	if err := render(&b); err != nil {
		t.Fatal(err)
	}
	full := b.text
	for n := range 2 {
		if err := render(&writer{room: n + 1, limited: true}); !errors.Is(err, errFull) && full != "" {
			t.Errorf("a full disk after %d bytes gives the error %v", n+1, err)
		}
	}
	return full
}

// writer collects text, or fails after some bytes.
type writer struct {
	text    string
	room    int
	limited bool
}

var errFull = errors.New("no space left")

func (w *writer) Write(p []byte) (int, error) {
	if w.limited && len(p) > w.room {
		return w.room, errFull
	}
	w.text += string(p)
	w.room -= len(p)
	return len(p), nil
}

// addRecord is the record of section 5.3 of the overflow notes, with the dump
// of its operator.
func addRecord() overflow.Record {
	area := opdebug.Area{Unit: opdebug.AICore, ModelID: 514, StreamID: 563, TaskID: 57, PCStart: 0x1008005b0000, BlockIdx: 1, Status: []uint64{32}}
	r := recordWith(opdebug.OldLayout, area)
	r.File, r.Timestamp = "d/Opdebug.Node_OpDebug.57.563.1732082705016774", 1732082705016774
	r.At.Rank, r.At.Step, r.At.Model = "0", "3", "net"
	r.Op = &overflow.Operator{Type: "Add", Name: "Default/Add-op0", FileName: "Add.Default_Add-op0.57.563.1732082705016000",
		File: "d/Add.Default_Add-op0.57.563.1732082705016000", MatchedBy: overflow.ByPayload}
	r.Tensors = []overflow.Tensor{infinite(tensor.Input), infinite(tensor.Output)}
	r.Verdict, r.Why = overflow.CameIn, lang.Text{EN: "an input is bad already", ZH: "有输入已异常"}
	r.Advice = []lang.Text{{EN: "go upstream", ZH: "向上游查找"}}
	return r
}

// lostRecord has no dump, but four status words.
func lostRecord() overflow.Record {
	area := opdebug.Area{Unit: opdebug.AIC, ModelID: 1, StreamID: 3, TaskID: 7, ContextID: 0, ThreadID: 1, CoreID: 2, BlockID: 15,
		Status: []uint64{0, 32, 0, 256}}
	r := recordWith(opdebug.NewLayout, area)
	r.File, r.Timestamp = "d/Opdebug.Node_OpDebug.7.1732082705016999", 1732082705016999
	r.At.Rank = "1"
	r.Verdict, r.Why = overflow.CannotTell, lang.Text{EN: "no dump of the operator was found", ZH: "未找到该算子的 dump"}
	r.Warnings = []string{"data_len is odd"}
	return r
}

// recordWith makes a record of one area.
func recordWith(generation opdebug.Generation, area opdebug.Area) overflow.Record {
	record := &opdebug.Record{Generation: generation, Areas: []opdebug.Area{area}, Header: opdebug.Header{Valid: 1}}
	if len(area.Status) == 4 {
		record.Header.Version = 1
	}
	r := overflow.Record{Record: record, Area: &record.Areas[0]}
	for _, word := range area.Status {
		r.Status = append(r.Status, statusreg.Decode(statusreg.AICore, statusreg.Value{word}))
	}
	return r
}

// infinite is a tensor of three float16 elements: 1, 2 and +Inf.
func infinite(kind tensor.Kind) overflow.Tensor {
	return overflow.Tensor{Kind: kind, DType: tensor.Float16, Format: tensor.ND, Shape: tensor.Shape{3}, Original: tensor.Shape{3},
		Stats: &tensor.Stats{Count: 3, PosInf: 1, Min: number(1), Max: number(2), Mean: number(1.5),
			FirstNonFinite: &tensor.Element{Index: 2, Value: inf}}}
}

// twoRecords is a report of two devices, with problems.
func twoRecords() *overflow.Report {
	return &overflow.Report{Records: []overflow.Record{addRecord(), lostRecord()}, First: map[string]int{"0": 0, "1": 1}, Total: 3, Files: 5, Dumps: 1,
		Problems: []overflow.Problem{
			{File: "d/zero", Err: errors.New("no overflow recorded: every status is 0"), Empty: true},
			{File: "d/cut", Err: errors.New("2048 bytes at 0x50, found 10")},
		}}
}

// scanned is a report with a bad file and a good one.
func scanned() *overflow.ScanReport {
	bad := overflow.Scanned{File: "d/Add.a.57.563.1732082705016000", Timestamp: 1732082705016000, OpType: "Add", OpName: "a",
		Tensors: []overflow.Tensor{infinite(tensor.Output), {Kind: tensor.Output, Index: 1, Format: tensor.ND, Err: errors.New("too short")}},
		Verdict: overflow.CannotTell, First: true}
	bad.At.Rank, bad.At.Step = "0", "3"
	bad.Files = []string{bad.File}
	good := overflow.Scanned{File: "x.npy", Files: []string{"x.npy"}, Tensors: []overflow.Tensor{{Kind: tensor.Output, DType: tensor.Int32, Format: tensor.ND,
		Shape: tensor.Shape{}, Stats: &tensor.Stats{Count: 1, Saturated: 1, Min: number(7), Max: number(7), Mean: number(7),
			FirstAtLimit: &tensor.Element{}}}}}
	return &overflow.ScanReport{Rows: []overflow.Scanned{bad, good}, Files: 2, Tensors: 3, BadFiles: 1,
		Problems: []overflow.Problem{{File: bad.File, Err: errors.New("output 1: too short")}}}
}

// overwritten is a report of two watched operators.
func overwritten() *overflow.WatchReport {
	change := overflow.Change{Op: "net/conv\x1b1", OpType: "Conv2D", After: "net/add", First: true, Timestamp: 1732082705016000, File: "d/b", BeforeFile: "d/a",
		Kind: tensor.Output, DType: tensor.Float16, Shape: tensor.Shape{2, 4}, FirstByte: 1, Bytes: 3, Size: 16, Elements: 3, Of: 8,
		Ranges: [][2]int64{{0, 1}, {7, 7}}, NumRanges: 3, Was: "1", Is: "nan"}
	change.At.Rank, change.At.Graph = "0", "5"
	return &overflow.WatchReport{Rows: []overflow.Change{change}, Watched: 2, Changed: 1, Dumps: 5, Early: 1,
		Problems: []overflow.Problem{{File: "d/c", Err: errors.New("too short")}}}
}

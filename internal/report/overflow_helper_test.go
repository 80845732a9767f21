package report

import (
	"errors"
	"io"
	"math"
	"testing"

	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/overflow"
	"dumptool/internal/tensor"
)

var inf = math.Inf(1)

// number returns an optional number.
func number(x float64) *float64 { return &x }

// rendered returns the output of a renderer.
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

// counted returns a number that a table may lack.
func counted[N any](n N) *N { return &n }

// addRecord is the record of section 5.3 of the overflow notes, with the dump of its operator.
func addRecord() overflow.Record {
	return overflow.Record{
		Occurrence: overflow.Occurrence{File: "d/Opdebug.Node_OpDebug.57.563.1732082705016774", Timestamp: 1732082705016774, Device: "0", Rank: "0", Step: "3", Model: "net",
			Tensors: []overflow.Tensor{infinite(tensor.Input), infinite(tensor.Output)}, ReasonZH: "有输入已含 NaN、Inf 或达到类型上限的值"},
		Time: overflow.FormatTime(1732082705016774),
		Unit: opdebug.AICore, ModelID: 514, StreamID: 563, TaskID: 57, PCStart: "0x1008005b0000", Block: counted(uint64(1)), Status: []uint64{32},
		Causes: []overflow.Cause{{Mask: "0x20", Both: overflowed.Both()}},
		Units:  []opdebug.Area{{Unit: opdebug.AICore, StreamID: 563, TaskID: 57, Status: []uint64{32}}},
		Op: &overflow.Operator{Type: "Add", Name: "Default/Add-op0", FileName: "Add.Default_Add-op0.57.563.1732082705016000",
			File: "d/Add.Default_Add-op0.57.563.1732082705016000", MatchedBy: overflow.ByPayload},
		Verdict: overflow.CameIn, Reason: "an input already has NaN, Inf or limit values",
		Advice: []lang.Text{{EN: "go upstream", ZH: "向上游查找"}},
	}
}

var overflowed = lang.Text{EN: "floating-point computation overflowed", ZH: "浮点计算有溢出"}

// lostRecord has no dump, but four status words.
func lostRecord() overflow.Record {
	return overflow.Record{
		Occurrence: overflow.Occurrence{File: "d/Opdebug.Node_OpDebug.7.1732082705016999", Timestamp: 1732082705016999, Device: "1", Rank: "1", Tensors: []overflow.Tensor{}, ReasonZH: "未找到该算子的 dump"},
		Time:       overflow.FormatTime(1732082705016999),
		Unit:       opdebug.AIC, ModelID: 1, StreamID: 3, TaskID: 7, ContextID: counted(uint64(0)), ThreadID: counted(uint64(1)),
		CoreID: counted(uint64(2)), Block: counted(uint64(15)), PCStart: "0x0", Status: []uint64{0, 32, 0, 256},
		Causes: []overflow.Cause{{Mask: "0x20", Both: overflowed.Both(), Word: counted(1)},
			{Mask: "0x100", Both: lang.Both{EN: "conversion from FP32 or INT32 to FP16 overflowed", ZH: "FP32 转 FP16 或 32 位有符号整数转 FP16 溢出"}, Word: counted(3)}},
		Units:    []opdebug.Area{{Unit: opdebug.AIC, StreamID: 3, TaskID: 7, Status: []uint64{0, 32, 0, 256}}},
		Verdict:  overflow.CannotTell,
		Reason:   "no dump of the operator was found",
		Advice:   []lang.Text{},
		Warnings: []lang.Sentence{lang.Plain("data_len is odd")},
	}
}

// infinite is a tensor of three float16 elements: 1, 2 and +Inf.
func infinite(kind tensor.Kind) overflow.Tensor {
	return overflow.Tensor{Kind: kind, DType: "float16", Format: "ND", Shape: tensor.Shape{3}, Original: tensor.Shape{3}, Bad: true,
		Stats: &overflow.Stats{Count: counted(int64(3)), NaN: counted(int64(0)), PosInf: counted(int64(1)), NegInf: counted(int64(0)), Saturated: counted(int64(0)),
			Extremes: tensor.Extremes[float64]{Min: number(1), Max: number(2), Mean: number(1.5)}, FirstBad: &overflow.Element{Index: 2, Coord: []int64{2}, Value: tensor.Number(inf)}}}
}

// twoRecords is a report of two devices, with problems.
func twoRecords() *overflow.Report {
	return &overflow.Report{Schema: overflow.Schema, Records: []overflow.Record{addRecord(), lostRecord()}, First: map[string]int{"0": 0, "1": 1}, Total: 3, Dumps: 1, Inputs: overflow.Inputs{Listed: 5},
		Problems: []overflow.Problem{
			{File: "d/zero", Fault: overflow.Fault{Error: "no overflow recorded: every status is 0"}, Empty: true},
			{File: "d/cut", Fault: overflow.Fault{Error: "2048 bytes at 0x50, found 10"}},
		}}
}

// scanned is a report with a bad file and a good one.
func scanned() *overflow.ScanReport {
	bad := overflow.ScanRow{Occurrence: overflow.Occurrence{File: "d/Add.a.57.563.1732082705016000", Timestamp: 1732082705016000, Device: "0", Rank: "0", Step: "3",
		Tensors: []overflow.Tensor{infinite(tensor.Output), {Kind: tensor.Output, Index: 1, DType: "undefined", Format: "ND", Shape: tensor.Shape{}, Original: tensor.Shape{}, Fault: overflow.Fault{Error: "too short"}}}},
		OpType: "Add", OpName: "a", Verdict: overflow.CannotTell, First: true}
	good := overflow.ScanRow{Occurrence: overflow.Occurrence{File: "x.npy", Tensors: []overflow.Tensor{{Kind: tensor.Output, DType: "int32", Format: "ND", Original: tensor.Shape{},
		Shape: tensor.Shape{}, Stats: &overflow.Stats{Count: counted(int64(1)), NaN: counted(int64(0)), PosInf: counted(int64(0)), NegInf: counted(int64(0)),
			Saturated: counted(int64(1)), Extremes: tensor.Extremes[float64]{Min: number(7), Max: number(7), Mean: number(7)}}}}}}
	return &overflow.ScanReport{Schema: overflow.ScanSchema, Rows: []overflow.ScanRow{bad, good}, ScanCounts: overflow.ScanCounts{Files: 2, Tensors: 3, BadFiles: 1}, Orders: []overflow.OrderSource{},
		Problems: []overflow.Problem{{File: bad.File, Fault: overflow.Fault{Error: "output 1: too short"}}}}
}

// overwritten is a report of two watched operators.
func overwritten() *overflow.WatchReport {
	change := overflow.Change{Rank: "0", Graph: "5", Op: "net/conv\x1b1", OpType: "Conv2D", After: "net/add", First: true, Timestamp: 1732082705016000, File: "d/b", BeforeFile: "d/a",
		Kind: tensor.Output, DType: tensor.Float16, Shape: tensor.Shape{2, 4}, FirstByte: 1, Bytes: 3, Size: 16, Elements: 3, Total: 8,
		Ranges: [][2]int64{{0, 1}, {7, 7}}, NumRanges: 3, OldValue: "1", NewValue: "nan"}
	return &overflow.WatchReport{Schema: overflow.WatchSchema, Rows: []overflow.Change{change}, Watched: 2, Changed: 1, Dumps: 5, Early: 1,
		Problems: []overflow.Problem{{File: "d/c", Fault: overflow.Fault{Error: "too short"}}}}
}

package dumpdir

import (
	"math"
	"strings"
	"testing"

	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func readAll(t *testing.T, text string) ([]statisticRow, error) {
	t.Helper()
	var rows []statisticRow
	err := readStatistics(strings.NewReader(text), func(s *statisticRow) {
		if s.Line < 2 {
			t.Errorf("a row in line %d, want one behind the titles", s.Line)
		}
		row := *s
		row.Line = 0
		rows = append(rows, row)
	})
	return rows, err
}

func numbersOf(values map[Statistic]float64) Numbers {
	var n Numbers
	for what, v := range values {
		n.Set(what, v)
	}
	return n
}

// TestStatisticText: names of statistics parse back, other names are errors.
func TestStatisticText(t *testing.T) {
	for s := range statistics {
		var got Statistic
		if text, _ := s.MarshalText(); got.UnmarshalText(text) != nil || got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
	if err := new(Statistic).UnmarshalText([]byte("median")); err == nil {
		t.Error("no error")
	}
}

// TestStatistics reads tables in the form of each version of each producer.
func TestStatistics(t *testing.T) {
	nan := math.NaN()
	for text, want := range map[string]statisticRow{
		// MindSpore, from 2.3 on, with the comma that ends its rows.
		"\ufeffOp Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Nan Count,L2Norm Value,MD5,\nReLU,a/ReLU-op1,65535,0,17,input,2,24,bfloat16,\"(2, 3)\",nan,4,5.5,abc,\n": {
			opType: "ReLU", opName: "a/ReLU-op1", Moment: Moment{Task: 65535, HasTask: true, Timestamp: 17}, kind: tensor.Input, index: 2,
			Statistics: Statistics{DType: tensor.BFloat16, Shape: tensor.Shape{2, 3}, Size: 24, Digest: "abc", Values: numbersOf(map[Statistic]float64{Max: nan, NaNs: 4, Norm: 5.5})},
		},
		// MindSpore, an empty tensor.
		"op type,op name,task id,stream id,timestamp,io,slot,data size,data type,shape,max value,min value\r\nA,b,,,null,output,0,0,float32,(),null,null\r\n": {
			opType: "A", opName: "b", kind: tensor.Output, Statistics: Statistics{DType: tensor.Float32, Shape: tensor.Shape{}},
		},
		// CANN.
		"Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count\nOutput,1,96,DT_FLOAT16,NC1HWC0,2x3x8,1,-1,0.5,48,0,1,2\n": {
			kind: tensor.Output, index: 1, Statistics: Statistics{DType: tensor.Float16, Format: "NC1HWC0", Shape: tensor.Shape{2, 3, 8}, Size: 96,
				Values: numbersOf(map[Statistic]float64{Max: 1, Min: -1, Mean: 0.5, Count: 48, NaNs: 0, NegativeInfs: 1, PositiveInfs: 2})},
		},
		"Input/Output,Index,Data Size,Data Type,Format,Shape,Count,l2norm\nInput,0,NA,NA,ND,-,NA,NA\n": {
			kind: tensor.Input, Statistics: Statistics{Format: "ND", Shape: tensor.Shape{}},
		},
		// ATB.
		"Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,Tensor Path\n2_4711,3,A/B,T,0_1,outtensor,4,float16,nd,\"2,3\",inf,-inf,0,1e400,N/A\n": {
			opType: "T", opName: "A/B", opID: "0_1", kind: tensor.Output, index: 4,
			Statistics: Statistics{DType: tensor.Float16, Format: "nd", Shape: tensor.Shape{2, 3}, Values: numbersOf(map[Statistic]float64{Max: math.Inf(1), Min: math.Inf(-1), Mean: 0, Norm: math.Inf(1)})},
		},
	} {
		rows, err := readAll(t, text)
		if err != nil || len(rows) != 1 {
			t.Errorf("%q: %d rows, %v", text, len(rows), err)
			continue
		}
		if diff := cmp.Diff(want, rows[0], cmp.AllowUnexported(statisticRow{}, Numbers{}), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
}

// TestBadStatistics: rows before a bad one are kept.
func TestBadStatistics(t *testing.T) {
	const head = "Op Name,IO,Slot,Timestamp,Shape\na,input,0,1,(2)\n"
	for text, want := range map[string]string{
		"":                         "statistics: the table is empty",
		"Op Name,Slot\na,0\n":      `0 columns "IO" or "Input/Output"`,
		"IO,Input/Output\n":        `2 columns "IO" or "Input/Output"`,
		head + "b,sideways,0,1,()": `line 3: column "IO" has "sideways", want input or output`,
		head + "b,input,-1,1,()":   `line 3: column "Slot" has "-1", want the number`,
		head + "b,input,0,x,()":    `column "Timestamp" has "x", want a whole number`,
		head + "b,input,0,1,99999999999999999999": `column "Shape" has "99999999999999999999", want dimensions`,
		head + "b\n": "line 3: neither input nor output",
	} {
		rows, err := readAll(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if strings.HasPrefix(text, head) && len(rows) != 1 {
			t.Errorf("%q: %d rows, want that before the bad one", text, len(rows))
		}
	}
}

// TestStatisticsInOneFile: titles may be repeated after rows, in another order, and rows may end
// with a comma. Impossible numbers are dropped and reported.
func TestStatisticsInOneFile(t *testing.T) {
	rows, err := readAll(t, "Op Name,IO,Slot,Max Value,Min Value,L2Norm Value,\na,output,0,1,2,3,\nb,output,0,2,1,3\n"+
		"Op Name,Min Value,Max Value,Slot,IO\nc,4,5,1,input\nd,4,5,1,sideways\ne,4,5,2,output,\n")
	want := []statisticRow{
		{opName: "a", kind: tensor.Output, Statistics: Statistics{Values: numbersOf(map[Statistic]float64{Norm: 3})}},
		{opName: "b", kind: tensor.Output, Statistics: Statistics{Values: numbersOf(map[Statistic]float64{Max: 2, Min: 1, Norm: 3})}},
		{opName: "c", kind: tensor.Input, index: 1, Statistics: Statistics{Values: numbersOf(map[Statistic]float64{Max: 5, Min: 4})}},
		{opName: "e", kind: tensor.Output, index: 2, Statistics: Statistics{Values: numbersOf(map[Statistic]float64{Max: 5, Min: 4})}},
	}
	if len(rows) > 0 {
		rows[0].Values.values[Max], rows[0].Values.values[Min] = 0, 0 // impossible numbers, dropped
	}
	if diff := cmp.Diff(want, rows, cmp.AllowUnexported(statisticRow{}, Numbers{})); diff != "" {
		t.Error(diff)
	}
	const first = "statistics: line 2: max 1 is below min 2, want numbers of a tensor; rows that do not fit: 1 more, line 6"
	if err == nil || err.Error() != first {
		t.Errorf("error %v, want %s", err, first)
	}
}

// TestCountOf reads numbers of elements, and impossible numbers.
func TestCountOf(t *testing.T) {
	for _, tt := range []struct{ value, want float64 }{{0, 0}, {7, 7}, {1 << 40, 1 << 40}, {-5, 0}, {1e300, 0}, {math.NaN(), 0}, {math.Inf(1), 0}} {
		var s Statistics
		if s.CountOf(NaNs) != nil {
			t.Fatal("a table without the number has one")
		}
		s.Values.Set(NaNs, tt.value)
		if n := s.CountOf(NaNs); n == nil || *n != int64(tt.want) {
			t.Errorf("%v is %v, want %v", tt.value, n, tt.want)
		}
	}
}

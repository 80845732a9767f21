package report

import (
	"io"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/overflow"
)

// headroomOfThree is a run of a norm that overflows inside, a product that fits and a norm without inputs.
func headroomOfThree() *overflow.HeadroomReport {
	at := dumpdir.Coordinates{Rank: "0", Step: "1"}
	r := &overflow.HeadroomReport{Schema: overflow.HeadroomSchema, Type: "float16", Limit: 65504, Clean: true, First: new(int),
		Headline: lang.Say("HEADROOM %s: %d of %s overflow, %d within 1 bit", "float16", 1, lang.CountText(3, "operator"), 0),
		Counts:   map[overflow.HeadroomStatus]int{overflow.Overflows: 1, overflow.Fits: 1, overflow.HeadroomUnknown: 1},
		Rows: []overflow.Headroom{
			{Status: overflow.Overflows, OpType: "RmsNorm", OpName: "Module.layers.7.norm.RmsNorm.forward.0", Script: "net.py:3", Modules: []string{"Module.layers.7.Block.forward.0"}, At: at, File: "d/a.pt", Order: 1,
				Margins: []overflow.Margin{{Where: "sum_of_squares", Log2: 21, Bits: -5, IsPart: true}, {Where: "output", Log2: 2, Bits: 14}}},
			{Status: overflow.Fits, OpType: "MatMul", OpName: "mm\x1b", At: at, File: "d/b.pt", Order: 2, HasMask: true,
				Margins: []overflow.Margin{{Where: "input", Index: 1, Log2: 4, Bits: 12}, {Where: "products", Log2: 17, Bits: -1, IsBound: true}}},
			{Status: overflow.HeadroomUnknown, OpType: "RmsNorm", OpName: "n2", At: at, File: "d/c.pt", Order: 3, Margins: []overflow.Margin{}, Reason: "inputs were not dumped", ReasonZH: "未 dump 输入", IsWide: true},
		},
		Problems: []overflow.Problem{{File: "d/x", Fault: overflow.Fault{Error: "too short"}}},
		Rounds:   []overflow.ScanRound{{Coordinates: at}, {Coordinates: dumpdir.Coordinates{Rank: "0", Step: "2"}}}}
	r.HeadlineZH = r.Headline.Text().Chinese()
	return r
}

// TestWriteHeadroom: the text has the operators that overflow, with all every one and the reason of the unknown ones.
func TestWriteHeadroom(t *testing.T) {
	t.Parallel()
	r := headroomOfThree()
	const want = `HEADROOM float16: 1 of 3 operators overflow, 0 within 1 bit

STATUS     OPERATOR                 MARGIN                                                  RANK  STEP
OVERFLOWS  layers.7.norm (RmsNorm)  sum of squares 5.0 bits above, inside; its output fits  0     1

Could not be read:
  d/x: too short
`
	if got := rendered(t, func(w io.Writer) error { return Text{}.WriteHeadroom(w, r) }); got != want {
		t.Errorf("got\n%s", got)
	}
	r.All, r.Rounds = true, r.Rounds[:1]
	const wantAll = `STATUS     OPERATOR                 MARGIN                                                  REASON
OVERFLOWS  layers.7.norm (RmsNorm)  sum of squares 5.0 bits above, inside; its output fits
OK         mm\x1b (MatMul)          input 1 12.0 bits below
UNKNOWN    n2 (RmsNorm)             -                                                       inputs were not dumped
`
	if got := rendered(t, func(w io.Writer) error { return Text{}.WriteHeadroom(w, r) }); got != "HEADROOM float16: 1 of 3 operators overflow, 0 within 1 bit\n\n"+wantAll+"\nCould not be read:\n  d/x: too short\n" {
		t.Errorf("got\n%s", got)
	}
}

package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"dumptool/internal/compare/determinism"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// drifted has three runs: one tensor is equal, one differs at one place, one has another shape, and
// one cannot be read.
func drifted() *determinism.Report {
	row := func(op string, distinct int, drifts ...determinism.Drift) determinism.Row {
		return determinism.Row{Op: op, Kind: "output", Status: record.Pass, Distinct: distinct, Drifts: drifts}
	}
	d := &determinism.Report{Schema: determinism.Schema, Runs: []string{"r1", "=r2", "r3"}, OrderSource: lang.Plain("natural order of names"), Missing: []lang.Sentence{lang.Plain("z: not in r3")}, LeftOut: []lang.Sentence{lang.Plain("r1/old: an earlier execution")},
		Rows: []determinism.Row{
			row("same", 1, determinism.Drift{File: new("a"), CRC: new(determinism.CRC(10))}, determinism.Drift{File: new("b"), CRC: new(determinism.CRC(10))}, determinism.Drift{File: new("c"), CRC: new(determinism.CRC(10))}),
			row("drift", 3, determinism.Drift{File: new("a"), CRC: new(determinism.CRC(1))},
				determinism.Drift{File: new("b"), CRC: new(determinism.CRC(2)), Compared: true, Differ: 1, Bits: 1, First: new(int64(3)), MaxAbs: known(0.5), MaxULP: known(7)},
				determinism.Drift{File: new("c"), CRC: new(determinism.CRC(3)), Compared: true, Differ: 1, Bits: 1, First: new(int64(3)), MaxAbs: known(2.5), MaxULP: known(9)}),
			row("shape", 3, determinism.Drift{File: new("a"), CRC: new(determinism.CRC(1))}, determinism.Drift{File: new("b"), CRC: new(determinism.CRC(5)), Compared: true, Bits: 2, MaxAbs: known(0), Why: lang.Plain("equal in value")},
				determinism.Drift{File: new("c"), CRC: new(determinism.CRC(4)), Why: lang.Plain("shape (2,)")}),
			row("torn", 0, determinism.Drift{File: new("a")}, determinism.Drift{File: new("b")}, determinism.Drift{File: new("c")}),
		}}
	d.Rows[1].Places, d.Rows[1].Status, d.Rows[1].Round = determinism.SamePlaces, record.Fail, "1"
	d.Rows[2].Status, d.Rows[2].Execution = record.Fail, 2
	d.Rows[1].Cause, d.Rows[1].Why = determinism.Fault, lang.Say("equal inputs, but the result is right in %s only", "r1")
	d.Rows[2].Cause, d.Rows[2].Why = determinism.Unknown, lang.Say("its inputs were not dumped")
	d.Rows[3].Status, d.Rows[3].Err = record.Error, lang.AsFailure(errFull)
	d.Warnings = []lang.Sentence{}
	for i := range d.Rows {
		for k := range d.Rows[i].Drifts {
			d.Rows[i].Drifts[k].Run = d.Runs[k]
		}
	}
	d.Conclude()
	return d
}

func TestWriteDeterminism(t *testing.T) {
	t.Parallel()
	text := rendered(t, func(w io.Writer) error { return Text{}.WriteDeterminism(w, drifted()) })
	const want = `DIFFERENT: 2 of 4 tensors differ between 3 runs; 1 not in all runs; 1 left out; drift@1 is a FAULT

First           drift@1
                3 contents in 3 runs, always at the same elements: suspect a race on a part of the tensor
Order           natural order of names

TENSOR             CONTENTS  DIFFER  FIRST  MAX_ABS  CAUSE    NOTE
drift@1                   3       1      3      2.5  FAULT    equal inputs, but the result is right in r1 only; places: same
shape execution 2         3       0      -        0  UNKNOWN  its inputs were not dumped

Why             shape execution 2 in =r2: equal in value
                shape execution 2 in r3: shape (2,)

Left out        r1/old: an earlier execution
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestPlacesText: a hint contradicts no cause, and a race on a part of a tensor does not change all of it.
func TestPlacesText(t *testing.T) {
	t.Parallel()
	const race, order = "always at the same elements", "at changing elements"
	for _, c := range []struct {
		places   determinism.Places
		cause    determinism.Cause
		elements int64
		want     string
	}{
		{determinism.SamePlaces, determinism.Unknown, 2, race},
		{determinism.SamePlaces, determinism.Unknown, 1, ""},
		{determinism.SamePlaces, determinism.SumOrder, 2, ""},
		{determinism.SamePlaces, determinism.Random, 2, ""},
		{determinism.Scattered, determinism.Unknown, 2, order},
		{determinism.Scattered, determinism.Fault, 2, ""},
		{determinism.UnknownPlaces, determinism.Unknown, 2, ""},
	} {
		d := drifted()
		r := &d.Rows[1]
		r.Places, r.Cause, r.Drifts[2].Elements = c.places, c.cause, c.elements
		text := rendered(t, func(w io.Writer) error { return Text{}.WriteDeterminism(w, d) })
		for _, hint := range []string{race, order} {
			if strings.Contains(text, hint) != (hint == c.want) {
				t.Errorf("%+v: %s", c, text)
			}
		}
	}
}

// TestExplainedText: line 1 names the order of sums as the only cause only if it is.
func TestExplainedText(t *testing.T) {
	t.Parallel()
	for cause, want := range map[determinism.Cause]string{
		determinism.RoundingStep: "; all explained by the order of sums (worst 9 ulp)\n",
		determinism.Inherited:    "; all explained by the order of sums (worst 9 ulp)\n",
		determinism.Random:       "; no FAULT\n",
		determinism.Input:        "; no FAULT\n",
		determinism.Unknown:      "; 1 unexplained\n",
	} {
		d := drifted()
		d.Recomputed, d.Missing, d.LeftOut = true, nil, nil
		d.Rows[1].Cause, d.Rows[2].Cause = determinism.SumOrder, cause
		d.Conclude()
		if text := rendered(t, func(w io.Writer) error { return Text{}.WriteDeterminism(w, d) }); !strings.Contains(text, want) {
			t.Errorf("%s: %s", cause, text)
		}
	}
}

func TestWriteDeterminismSame(t *testing.T) {
	t.Parallel()
	same, torn := drifted().Rows[0], drifted().Rows[3]
	whole := drifted()
	whole.Missing, whole.LeftOut = nil, nil
	for want, rows := range map[string][]determinism.Row{
		"SAME: 1 tensor that could be read is equal, bit for bit, in 3 runs; 1 tensor could not be read\n": {same, torn},
		"SAME: the only tensor is equal, bit for bit, in 3 runs\n":                                         {same},
		"SAME: all 2 tensors are equal, bit for bit, in 3 runs\n":                                          {same, same},
		"NOTHING COMPARED: 1 tensor could not be read\n":                                                   {torn},
	} {
		d := *whole
		d.Rows = rows
		d.Conclude()
		if text := rendered(t, func(w io.Writer) error { return Text{}.WriteDeterminism(w, &d) }); text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
	const leftOut = "\nLeft out        r1/old: an earlier execution\n"
	for want, rows := range map[string][]determinism.Row{
		"SAME: 1 tensor that could be read is equal, bit for bit, in 3 runs; 1 tensor could not be read; 1 not in all runs; 1 left out\n": {same, torn},
		"SAME: the only tensor that was compared is equal, bit for bit, in 3 runs; 1 not in all runs; 1 left out\n":                       {same},
		"SAME: the 2 tensors that were compared are equal, bit for bit, in 3 runs; 1 not in all runs; 1 left out\n":                       {same, same},
	} {
		d := drifted()
		d.Rows = rows
		d.Conclude()
		if text := rendered(t, func(w io.Writer) error { return Text{}.WriteDeterminism(w, d) }); text != want+leftOut {
			t.Errorf("got %q, want %q", text, want+leftOut)
		}
	}
}

// TestWriteDeterminismMany: a long list is cut.
func TestWriteDeterminismMany(t *testing.T) {
	t.Parallel()
	d := drifted()
	one := d.Rows[1]
	for i := range 30 {
		one.Op = fmt.Sprintf("op%d", i)
		d.Rows = append(d.Rows, one)
		d.LeftOut = append(d.LeftOut, lang.Plain(fmt.Sprintf("old%d: an earlier execution", i)))
	}
	d.Conclude()
	text := rendered(t, func(w io.Writer) error { return Text{}.WriteDeterminism(w, d) })
	if !strings.Contains(text, "\nand 12 more\n\nWhy ") || !strings.HasSuffix(text, " old8: an earlier execution\n                and 21 more\n") || !strings.Contains(text, "\nop17@1 ") || strings.Contains(text, "\nop18@1 ") {
		t.Errorf("got\n%s", text)
	}
}

func TestWriteDeterminismCSV(t *testing.T) {
	t.Parallel()
	text := rendered(t, func(w io.Writer) error { return WriteDeterminismCSV(w, drifted()) })
	const want = `tensor,status,distinct,places,cause,run,crc32c,differ,first,max_abs,max_ulp,why
same,PASS,1,,,r1,0000000a,0,NA,NA,NA,
same,PASS,1,,,'=r2,0000000a,0,NA,NA,NA,
same,PASS,1,,,r3,0000000a,0,NA,NA,NA,
drift@1,FAIL,3,same,FAULT,r1,00000001,0,NA,NA,NA,
drift@1,FAIL,3,same,FAULT,'=r2,00000002,1,3,0.5,7,
drift@1,FAIL,3,same,FAULT,r3,00000003,1,3,2.5,9,
shape execution 2,FAIL,3,,UNKNOWN,r1,00000001,0,NA,NA,NA,
shape execution 2,FAIL,3,,UNKNOWN,'=r2,00000005,0,NA,0,NA,equal in value
shape execution 2,FAIL,3,,UNKNOWN,r3,00000004,0,NA,NA,NA,"shape (2,)"
torn,ERROR,0,,,r1,NA,0,NA,NA,NA,
torn,ERROR,0,,,'=r2,NA,0,NA,NA,NA,
torn,ERROR,0,,,r3,NA,0,NA,NA,NA,
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestWriteDeterminismJSON(t *testing.T) {
	t.Parallel()
	text := rendered(t, func(w io.Writer) error { return writeJSON(w, drifted()) })
	var doc struct {
		Schema                     string
		Tensors, Differing, Unread int
		First                      *string
		Missing, Warnings          []string
		LeftOut                    []string `json:"left_out"`
		Rows                       []struct {
			Op, Places, Error string
			Execution         int
			Runs              []struct {
				Run, Why string
				File     *string
				CRC      *string `json:"crc32c"`
				First    *int64
				Bits     int64    `json:"differ_bits"`
				MaxAbs   *float64 `json:"max_abs"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "dumptool/determinism/1" || doc.Tensors != 4 || doc.Differing != 2 || doc.Unread != 1 || len(doc.Missing) != 1 || len(doc.LeftOut) != 1 ||
		doc.Warnings == nil || doc.First == nil || !strings.HasPrefix(*doc.First, "drift") {
		t.Errorf("got %+v", doc)
	}
	drift, shape, torn := doc.Rows[1], doc.Rows[2], doc.Rows[3]
	if drift.Places != "same" || *drift.Runs[2].CRC != "00000003" || *drift.Runs[2].First != 3 || *drift.Runs[2].MaxAbs != 2.5 || drift.Runs[0].First != nil {
		t.Errorf("got %+v", drift)
	}
	if shape.Execution != 2 || shape.Runs[1].Why != "equal in value" || shape.Runs[1].Bits != 2 || drift.Runs[1].Bits != 1 || shape.Runs[2].Why != "shape (2,)" || shape.Runs[2].MaxAbs != nil {
		t.Errorf("got %+v", shape)
	}
	if torn.Error != errFull.Error() || torn.Runs[0].CRC != nil || torn.Runs[0].File == nil {
		t.Errorf("got %+v", torn)
	}
}

func TestWorstDriftWithoutElements(t *testing.T) {
	t.Parallel()
	r := determinism.Row{Drifts: []determinism.Drift{{}, {Compared: true, MaxAbs: metrics.Metric{}}, {Why: lang.Plain("another shape")}}}
	if got := worstDrift(&r); got.differ != "0" || got.first != "-" || got.maxAbs != "-" {
		t.Errorf("got %+v", got)
	}
	r.Drifts = []determinism.Drift{{}, {Why: lang.Plain("another shape")}}
	if got := worstDrift(&r); got.differ != "-" || got.first != "-" || got.maxAbs != "-" {
		t.Errorf("not compared: got %+v", got)
	}
}

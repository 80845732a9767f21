package report

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
)

// judged returns a judgement with a row of every kind.
func judged() *conclude.Judgement {
	bounds := record.Limits{Atol: 1, Rtol: 0, AtolSource: "flag", RtolSource: "flag"}
	row := func(op string, output int, was, is record.Status, errors *int64) conclude.JudgedRow {
		return conclude.JudgedRow{Op: op, Kind: "output", Output: output, OldStatus: was, Status: is, Limits: bounds, Total: 8, Errors: errors}
	}
	rows := []conclude.JudgedRow{
		row("same", 0, record.Pass, record.Pass, new(int64)),
		row("better", 1, record.Fail, record.Pass, new(int64)),
		row("bad", 0, record.Fail, record.Fail, new(int64(3))),
		row("=open", 0, record.Fail, limits.Undecided, nil),
	}
	rows[2].Round = "7"
	rows[2].Reasons = []finding.Finding{{Code: finding.BeyondLimits, Confidence: finding.High, Evidence: lang.Plain("cosine 0.5")}}
	return &conclude.Judgement{Compared: 4, Rows: rows, Counts: map[record.Status]int{record.Pass: 2, record.Fail: 1, limits.Undecided: 1}}
}

func TestWriteJudgement(t *testing.T) {
	t.Parallel()
	text := rendered(t, func(w io.Writer) error { return Text{}.WriteJudgement(w, judged()) })
	const want = `2 of 4 compared tensors pass, 1 fail, 1 are undecided
UNDECIDED: compare.json does not hold enough to decide; run compare again with these limits

TENSOR    WAS   NOW        ERRORS  OF
better:1  FAIL  PASS            0   8
bad@7     FAIL  FAIL            3   8
=open     FAIL  UNDECIDED           8
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestWriteJudgementAlone: a judgement without changes has no table.
func TestWriteJudgementAlone(t *testing.T) {
	t.Parallel()
	j := judged()
	j.Rows = j.Rows[:1]
	j.Counts = map[record.Status]int{record.Pass: 1}
	if text := rendered(t, func(w io.Writer) error { return Text{}.WriteJudgement(w, j) }); strings.Count(text, "\n") != 1 {
		t.Errorf("got %q", text)
	}
}

func TestWriteJudgementCSV(t *testing.T) {
	t.Parallel()
	text := rendered(t, func(w io.Writer) error { return WriteJudgementCSV(w, judged()) })
	const want = `op_name,was,status,atol,rtol,errors,total
same,PASS,PASS,1,0,0,8
better:1,FAIL,PASS,1,0,0,8
bad@7,FAIL,FAIL,1,0,3,8
'=open,FAIL,UNDECIDED,1,0,,8
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestWriteJudgementJSON(t *testing.T) {
	t.Parallel()
	text := rendered(t, func(w io.Writer) error { return WriteJudgementJSON(w, judged()) })
	var doc struct {
		Schema  string
		Summary map[string]int
		Rows    []struct {
			Op, Round, Was, Status, Source string
			Output                         int
			Atol, Rtol                     float64
			Total                          int64
			Errors                         *int64
			Reasons                        []struct{ Code, Evidence string }
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "dumptool/judge/2" || doc.Summary["UNDECIDED"] != 1 || len(doc.Rows) != 4 {
		t.Fatalf("got %+v", doc)
	}
	last, bad := doc.Rows[3], doc.Rows[2]
	if last.Op != "=open" || last.Was != "FAIL" || last.Status != "UNDECIDED" || last.Errors != nil || last.Total != 8 ||
		last.Atol != 1 || last.Rtol != 0 || last.Reasons == nil {
		t.Errorf("got %+v", last)
	}
	if bad.Round != "7" || bad.Errors == nil || *bad.Errors != 3 || len(bad.Reasons) != 1 || bad.Reasons[0].Evidence != "cosine 0.5" || doc.Rows[1].Output != 1 {
		t.Errorf("got %+v", bad)
	}
}

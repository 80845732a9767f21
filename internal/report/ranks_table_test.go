package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"dumptool/internal/check"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
)

// betweenRanks has a finding with a script line, and a weak one that names two ranks.
func betweenRanks() *ranks.Report {
	return &ranks.Report{
		Mesh: []ranks.Axis{{Size: 4, Stride: 1, Count: 2}}, Groups: []ranks.Group{{Ranks: []int{0, 1, 2, 3}, Source: ranks.FromDump}}, World: 8, Steps: 2,
		Events: ranks.EventCount{Checked: 9, Wrong: 1, Skipped: 2, Reasons: []ranks.Reason{{Text: "rank 3 not there", ZH: "rank 3 不在其中", Count: 2}}},
		Findings: []*ranks.Finding{
			{Step: "1", Rank: 5, Op: "Distributed.all_reduce.14.forward", Kind: ranks.MissingRank, Class: ranks.CommClass, Confidence: finding.High, Alt: []int{}, Members: []int{4, 5, 6, 7},
				Evidence: lang.Plain("61 % of the elements leave the bound"), Module: "layers.6.mlp", Script: "pretrain_gpt.py:210", Spread: &ranks.Spread{Ranks: []int{4, 5, 12}, Steps: []string{"1", "2"}, Tensors: 212}},
			{Step: "2", Rank: 0, Op: "Module.a=b", Kind: ranks.Replica, Class: ranks.ParameterClass, Confidence: finding.Low, Alt: []int{4}, Members: []int{0, 4}, Evidence: lang.Plain("one element differs")},
		},
		Notes:  []*ranks.Note{},
		Matrix: &ranks.Matrix{Step: "1", Layers: []int{0, 1, 6}, Rows: []ranks.MatrixRow{{Ranks: []int{0, 1, 2, 3}, Cells: "..."}, {Ranks: []int{4, 5, 6, 7}, Cells: ".xc"}}},
	}
}

// TestRanksCSV: one line per finding, ordered by cause.
func TestRanksCSV(t *testing.T) {
	var b bytes.Buffer
	if err := WriteRanksCSV(&b, betweenRanks()); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"step", "rank", "kind", "class", "confidence", "op", "module", "members", "alt", "evidence", "spread_ranks", "spread_steps", "spread_tensors", "script"},
		{"1", "5", "MISSING_RANK", "comm", "high", "Distributed.all_reduce.14.forward", "layers.6.mlp", "4-7", "", "61 % of the elements leave the bound", "4-5,12", "1 2", "212", "pretrain_gpt.py:210"},
		{"2", "0", "REPLICA", "parameter", "low", "Module.a=b", "", "0,4", "4", "one element differs", "", "", "0", ""},
	}
	for i, line := range lines {
		if strings.Join(line, "|") != strings.Join(want[i], "|") {
			t.Errorf("%q, want %q", line, want[i])
		}
	}
}

// TestRanksReports: all reports of check and of compare that list findings include findings between
// ranks.
func TestRanksReports(t *testing.T) {
	document, err := json.Marshal(betweenRanks())
	if err != nil {
		t.Fatal(err)
	}
	checked := &check.Report{Ranks: betweenRanks()}
	compared := made(everything())
	compared.Ranks = document
	const said = "WRONG: rank 5 is left out of a sum: Distributed.all_reduce.14.forward (layers.6.mlp), step 1: 61 % of the elements leave the bound"
	for format, want := range map[string][]string{
		"junit": {`<testcase classname="ranks" name="step 1 rank 5: Distributed.all_reduce.14.forward" time="0">`, `<failure message="` + said + `" type="MISSING_RANK"></failure>`, `<skipped message="SUSPECT: one of ranks 0,4 has weights that differ from their replicas on other ranks: Module.a=b, step 2: one element differs"></skipped>`},
		"sarif": {`"ruleId": "MISSING_RANK"`, `"uri": "pretrain_gpt.py"`, `"startLine": 210`},
		"md":    {"- **First wrong**: Distributed.all_reduce.14.forward, step 1, ranks 4-7     pretrain_gpt.py:210\n", "```text\nRANKS           0 1 6   step 1 by layer: . clean  x origin  c communication  # spread\n0-3             . . .\n4-7             . x c\n```\n"},
		"html":  {`"said":[{"en":"WRONG: rank 5 is left out of a sum`, `"cells":".xc"`},
	} {
		for of, write := range map[string]func(b *bytes.Buffer) error{
			"check":   func(b *bytes.Buffer) error { return Write(b, format, checked, Options{}) },
			"compare": func(b *bytes.Buffer) error { return Write(b, format, compared, Options{}) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			for _, text := range want {
				if !strings.Contains(b.String(), text) {
					t.Errorf("%s of %s has no\n%s in\n%.3000s", format, of, text, b.String())
				}
			}
		}
	}
}

package finding

import (
	"encoding/json"
	"testing"

	"dumptool/internal/lang"
)

// TestFindings: the evidence is read in both languages, and written twice only if they differ.
func TestFindings(t *testing.T) {
	texts := []lang.Text{{EN: "rms error 1, 100 % of it", ZH: "误差均方根 1，其 100 %"}, {EN: "fusion ids", ZH: "fusion ids"}, {}}
	var all List
	for _, x := range texts {
		all = append(all, Finding{Code: CalcError, Confidence: High, Evidence: lang.Say("%s", x)})
	}
	written, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"code":"CALC_ERROR","confidence":"high","evidence":"rms error 1, 100 % of it","facts":{},"evidence_zh":"误差均方根 1，其 100 %"},` +
		`{"code":"CALC_ERROR","confidence":"high","evidence":"fusion ids","facts":{}},` +
		`{"code":"CALC_ERROR","confidence":"high","evidence":"","facts":{}}]`
	if string(written) != want {
		t.Errorf("%s, want %s", written, want)
	}
	var read List
	if err := json.Unmarshal(written, &read); err != nil {
		t.Fatal(err)
	}
	for i, f := range read {
		if got := f.Evidence.Text(); got != texts[i] {
			t.Errorf("%q is read as %q", texts[i], got)
		}
	}
}

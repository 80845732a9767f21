package diagnose

import (
	"fmt"
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
)

// TestSelfBehind: an operator that is right for its own inputs does not clear the operators between it and the last
// dump; the error may be in its inputs.
func TestSelfBehind(t *testing.T) {
	for between, want := range map[string]record.Status{"": record.Pass, "h": record.Warn} {
		rows := inOrder(measured("z", "Conv2D", 0.01), missing("h"), measured("b", "MatMul", 0.09))
		rows[2].Self = &record.RecomputedOutput{Status: "ok"}
		flow := map[string][]string{"z": {"b"}}
		if between != "" {
			flow = map[string][]string{"z": {between}, between: {"b"}}
		}
		if got := judgedBy(rows, Network{Graph: fromConsumers(flow), IsOrdered: true}).named("b"); got.Status != want {
			t.Errorf("behind %q: %s by %v, want %s", between, got.Status, got.Reasons, want)
		}
	}
}

// TestSelf: recomputation confirms an origin, clears one, or finds one.
func TestSelf(t *testing.T) {
	wrong := &record.RecomputedOutput{Status: "wrong", Bad: 3, Elements: 128, Why: []finding.Finding{{Code: finding.InnerOverflow, Confidence: finding.Medium, Evidence: lang.Plain("3 elements")}}}
	right, wide := &record.RecomputedOutput{Status: "ok"}, &record.RecomputedOutput{Status: "low", Width: 100}
	narrow, misfit := &record.RecomputedOutput{Status: "low", Width: 3}, &record.RecomputedOutput{Status: "misfit"}
	bothRight := &record.RecomputedOutput{Status: "ok", BothRight: true}
	const small = 0x1p-9 // more than rounding, but within the limits
	for _, tt := range []struct {
		name        string
		a, b, z     float64 // z feeds a, a feeds b
		self        *record.RecomputedOutput
		unordered   bool
		origins     string
		status      record.Status // status of b; of a in a round without an order
		code        finding.Code
		confidence  finding.Confidence
		notAnOrigin bool
	}{
		{"an origin that is wrong", rounding, faulty, rounding, wrong, false, "b", record.Fail, finding.InnerOverflow, finding.High, false},
		{"an origin that is right", rounding, faulty, rounding, right, false, "b", record.Fail, finding.ReferenceDiffers, finding.High, false},
		{"one that is right within a bound", rounding, faulty, rounding, narrow, false, "b", record.Fail, finding.ReferenceDiffers, finding.Medium, false},
		{"one that may be", rounding, faulty, rounding, wide, false, "b", record.Fail, "", "", false},
		{"one that no attributes explain", rounding, faulty, rounding, misfit, false, "b", record.Fail, "", "", false},
		{"an origin that is right, of other inputs", small, faulty, small, right, false, "b", record.Fail, finding.ReferenceDiffers, finding.High, false},
		{"one that is right on both sides, of other inputs", small, faulty, small, bothRight, false, "", record.Warn, finding.Amplified, "", true},
		{"one that is right on both sides, of equal inputs", 0, faulty, 0, bothRight, false, "b", record.Fail, finding.ReferenceDiffers, finding.High, false},
		{"a second origin that is right", 0.2, 0.9, 0.2, right, false, "z", record.Fail, finding.LayerInputBad, "", true},
		{"a damaged one that is wrong", 0.2, 0.2, 0.2, wrong, false, "z b", record.Fail, finding.InnerOverflow, finding.High, false},
		{"one that agrees and is wrong", rounding, rounding, rounding, wrong, false, "", record.Warn, finding.SelfWrong, finding.Medium, true},
		{"one within the limits that is wrong", rounding, small, rounding, wrong, false, "b", record.Fail, finding.InnerOverflow, finding.High, false},
		{"what may be amplified, and is wrong", 0.12, rounding, rounding, wrong, true, "a", record.Fail, finding.InnerOverflow, finding.High, false},
		{"what may be amplified, and no attributes explain", 0.12, rounding, rounding, misfit, true, "a", record.Fail, "", "", false},
		{"what may be amplified, and is right", 0.12, rounding, rounding, right, true, "", record.Rounding, finding.Accumulated, "", true},
	} {
		rows := inOrder(measured("a", "Relu", tt.a), measured("b", "Add", tt.b), measured("z", "Conv2D", tt.z))
		known, of := Network{Graph: fromConsumers(map[string][]string{"z": {"a"}, "a": {"b"}}), IsOrdered: true}, "b"
		if tt.unordered {
			known, of = Network{}, "a"
		}
		for i := range rows {
			if rows[i].Op == of {
				rows[i].Self = tt.self
			}
		}
		j := judgedBy(rows, known)
		row := j.named(of)
		if got := j.names(j.Origins()); got != tt.origins || row.Status != tt.status || row.IsOrigin() == tt.notAnOrigin {
			t.Errorf("%s: origins %q, %s is %s; want %q and %s", tt.name, got, of, row.Status, tt.origins, tt.status)
		}
		if tt.code != "" && (row.FirstCode() != tt.code || tt.confidence != "" && row.Reasons[0].Confidence != tt.confidence) {
			t.Errorf("%s: %s is so by %v, want %s (%s)", tt.name, of, row.Reasons, tt.code, tt.confidence)
		}
	}
}

// TestNotFinite: NaN that an operator computes correctly from inputs that differ by rounding is no fault. If the
// inputs are equal, or an argument differs, the two sides compute different functions.
func TestNotFinite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		input    float64 // its error
		status   string  // by recomputation
		argument *record.Argument
		want     record.Status
		code     finding.Code
	}{
		{"right, of other inputs", rounding, "ok", nil, record.Warn, finding.Pole},
		{"right, of equal inputs", 0, "ok", nil, record.Fail, finding.ReferenceDiffers},
		{"right, of another argument", rounding, "ok", &record.Argument{Name: "eps", Ref: "1e-05", NPU: "0"}, record.Fail, finding.ArgumentsDiffer},
		{"not computed again", rounding, "undecided", nil, record.Fail, ""},
	} {
		b := bad("b")
		b.OpType, b.Noise = "Acos", measured("b", "Acos", rounding).Noise
		b.Noise.NonFinite, b.Self, b.Argument = 3, &record.RecomputedOutput{Status: tt.status}, tt.argument
		row := judgedBy(inOrder(measured("a", "Relu", tt.input), b), Network{Graph: fromConsumers(map[string][]string{"a": {"b"}}), IsOrdered: true}).named("b")
		if row.Status != tt.want || row.FirstCode() != tt.code {
			t.Errorf("%s: %s by %v, want %s by %s", tt.name, row.Status, row.Reasons, tt.want, tt.code)
		}
	}
}

// TestUsualError: tensors that were carried over have a usual error, by their name. NaN is never usual.
func TestUsualError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		rms  float64
		nan  int64
		want string
	}{
		{"three times the median", 0.06, 0, ""},
		{"NaN in place of all numbers", 0, 128, "add_3"},
	} {
		rows := []testRow{measured("z", "Conv2D", rounding)}
		for k := range 6 {
			r := measured(fmt.Sprint("add_", k), "Add", 0.02)
			if k == 3 {
				r = bad(r.Op)
				r.OpType, r.Noise = "Add", measured("", "Add", tt.rms).Noise
				r.Noise.NonFinite = tt.nan
			}
			r.Kind = "input"
			rows = append(rows, r)
		}
		j := judgedBy(inOrder(rows...), Network{IsOrdered: true})
		if got := j.names(j.Origins()); got != tt.want {
			t.Errorf("%s: origins %q, want %q; %v", tt.name, got, tt.want, j.rows[4].Reasons)
		}
	}
}

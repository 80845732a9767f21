package record

import (
	"math"
	"reflect"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// TestAppendValue compares texts with those of package json.
func TestAppendValue(t *testing.T) {
	type inner struct {
		Text  string   `json:"text"`
		None  []string `json:"none"`
		Empty []int    `json:"empty"`
		Out   []int    `json:"out,omitempty"`
		Zero  struct {
			X int `json:"x"`
		} `json:"zero,omitempty"`
	}
	number, word := 5, "word"
	for _, x := range []any{
		&number, &word, new(bool), new(*int), &[]*int{&number, nil}, &inner{Text: "a.b-c", Empty: []int{}},
		&[]float64{0, math.Copysign(0, -1), 1, -1.5, 1e-6, 9.99e-7, 1e-9, 1.25e-10, 1e20, 1e21, -1e300, 5e-324, 1.0 / 3},
		&Evidence{Class: "move", FedBy: []int{1, 2}, RMS: jsonpos.Float(math.Inf(1)), Power: metrics.NumberOf(0.25)},
		&noise.Noise{Shape: tensor.Shape{2, 3}, RefRMS: 1e-7, Rows: noise.Groups{Count: 2, RMS: noise.Column{1, 0.5}}, Grid: &noise.NumberGrid{}},
		&Unevenness{Axis: 1, Peak: jsonpos.Float(math.NaN())}, &tensor.Shape{}, &limitsJSON{Source: "profile"}, &digests{1, 2, 3, 4},
		&[]string{"\"", "a\\", "<&>", "\x00\x1f\x7f", "\xff", "\ufffd", "\u2028 \u2029", "张量", "𝄞", "\u202e"}, &[]byte{1}, new([]byte), &[]any{1, "x", nil},
		new(map[string]int), &struct{ X int }{}, &elementJSON{location: location{3, []int64{1}}, Abs: metrics.NumberOf(1)}, new(optional), &[][2]int64{{1, 2}},
		new(finding.Facts{}.Int("a", 1).Flag("\"", true)), &finding.List{{Code: finding.CalcError, Evidence: lang.Sayf("one", "一")}}, new(finding.List), new(dtypeName), new(index),
		&struct {
			A int32   `json:"a,omitempty"`
			B float64 `json:"b,omitzero"`
		}{},
	} {
		got, err := appendValue(nil, reflect.ValueOf(x))
		want, wantErr := appendMarshalled(nil, x)
		if err != nil || wantErr != nil || string(got) != string(want) {
			t.Errorf("%T: %s, %v, want %s, %v", x, got, err, want, wantErr)
		}
	}
	for _, x := range []any{&[]float64{math.NaN()}, &[]any{1, math.Inf(1)}, &struct{ X []float64 }{[]float64{math.NaN()}}} {
		if got, err := appendValue(nil, reflect.ValueOf(x)); err == nil {
			t.Errorf("%T: %s, want an error", x, got)
		}
	}
}

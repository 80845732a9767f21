package record

import (
	"math"
	"reflect"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
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
		&Evidence{Class: "move", FedBy: []int{1, 2}, RMS: metrics.Float(math.Inf(1)), Power: NumberOf(0.25)},
		&noise.Noise{Shape: tensor.Shape{2, 3}, RefRMS: 1e-7, Rows: noise.Groups{Count: 2, RMS: noise.Column{1, 0.5}}, Grid: &noise.NumberGrid{}},
		&Unevenness{Axis: 1, Peak: metrics.Float(math.NaN())}, &tensor.Shape{}, &limitsJSON{Source: "profile"}, &digests{1, 2, 3, 4},
	} {
		got, ok := appendValue(nil, reflect.ValueOf(x))
		want, err := marshal(x, "")
		if err != nil || !ok || string(got) != string(want) {
			t.Errorf("%T: %s, %v, want %s, %v", x, got, ok, want, err)
		}
	}
	for _, x := range []any{
		&[]float64{math.NaN()}, &[]string{"\"", "a"}, &[]byte{1}, &[]any{1}, new(map[string]int), &struct{ X int }{}, &elementJSON{},
		new(optional),
	} {
		if got, ok := appendValue(nil, reflect.ValueOf(x)); ok {
			t.Errorf("%T: %s is not left to package json", x, got)
		}
	}
}

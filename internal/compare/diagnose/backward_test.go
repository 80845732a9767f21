package diagnose

import (
	"slices"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// shaped gives a row a shape.
func shaped(row testRow, shape ...int64) testRow {
	row.Shape = shape
	return row
}

// TestForwards: a backward call belongs to the forward call with its number if the shapes fit, else to the only
// forward call whose outputs have the shapes of its gradients.
func TestForwards(t *testing.T) {
	const f0, f1, b0 = "Module.fc.Linear.forward.0", "Module.fc.Linear.forward.1", "Module.fc.Linear.backward.0"
	call := func(op string, kind tensor.Kind, shape ...int64) testRow {
		return shaped(asInput(measured(op, "", rounding), kind), shape...)
	}
	other := call(f1, tensor.Output, 4, 2)
	other.Round = "1"
	for _, tt := range []struct {
		name string
		rows []testRow // the last one is an input of the backward call
		want string
	}{
		{"of its number", []testRow{call(f0, tensor.Output, 4, 2), call(f1, tensor.Output, 4, 2), call(b0, tensor.Input, 4, 2)}, f0},
		{"of the shapes", []testRow{call(f0, tensor.Output, 3, 2), call(f1, tensor.Output, 4, 2), call(b0, tensor.Input, 4, 2)}, f1},
		{"of no shapes", []testRow{call(f0, tensor.Output, 3, 2), call(f1, tensor.Output, 3, 2), call(b0, tensor.Input, 4, 2)}, ""},
		{"of two", []testRow{call(f1, tensor.Output, 4, 2), call("Module.fc.Linear.forward.2", tensor.Output, 4, 2), call(b0, tensor.Input, 4, 2)}, ""},
		{"of another round", []testRow{other, call(b0, tensor.Input, 4, 2)}, ""},
		{"of another module", []testRow{call("Module.other.Linear.forward.0", tensor.Output, 4, 2), call(b0, tensor.Input, 4, 2)}, ""},
	} {
		n := newNetwork(inOrder(tt.rows...), Network{IsOrdered: true})
		got := ""
		if f := n.rows[len(tt.rows)-1].operator.forward; f != nil {
			got = f.name
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestBackward: a backward call reads what its forward call saved, so that damage of the forward call is no second
// origin.
func TestBackward(t *testing.T) {
	const forward, backward = "Functional.gelu.0.forward", "Functional.gelu.0.backward"
	for _, tt := range []struct {
		name     string
		out, in  float64 // errors of the forward output and of the incoming gradient
		gradient float64 // error of the outgoing gradient
		origins  string
	}{
		{"healthy", rounding, rounding, rounding, ""},
		{"a damaged forward call", faulty, rounding, faulty, forward},
		{"a damaged backward call", rounding, rounding, faulty, backward},
		{"a damaged gradient", rounding, faulty, faulty, backward}, // the row of the input
	} {
		rows := inOrder(
			asInput(measured(forward, "", rounding), tensor.Input), measured(forward, "", tt.out),
			unlike(asInput(measured(backward, "", tt.in), tensor.Input)), measured(backward, "", tt.gradient))
		j := judgedBy(rows, Network{IsOrdered: true})
		if got := j.names(j.Origins()); got != tt.origins {
			t.Errorf("%s: origins %q, want %q", tt.name, got, tt.origins)
		}
		last := &j.rows[3]
		if fed := tt.origins == forward || tt.in == faulty; fed != finding.Has(last.Reasons, finding.LayerInputBad) {
			t.Errorf("%s: %s by %v, fed %t", tt.name, last.Status, last.Reasons, fed)
		}
	}
}

// TestOneOperator: several wrong outputs of one operator are one origin.
func TestOneOperator(t *testing.T) {
	second := measured("a", "Foo", faulty)
	second.Output = 1
	rows := inOrder(asInput(measured("a", "Foo", rounding), tensor.Input), measured("a", "Foo", faulty), second)
	j := judgedBy(rows, Network{IsOrdered: true})
	if origins := j.Origins(); len(origins) != 1 || origins[0] != 1 || j.rows[2].Status != record.Fail {
		t.Errorf("origins %v, the second output is %s", origins, j.rows[2].Status)
	}
}

// sumOf turns a row into sums of 8 gradients of size 1, with the given size and error.
func sumOf(row testRow, ref, rms float64) testRow {
	n := row.Noise
	n.Shape, n.Elements, n.Count = tensor.Shape{1, 16}, 16, 16
	n.RefRMS, n.RefStd, n.RefMax, n.RMS, n.Max, n.Rounding = ref, ref, 3*ref, rms, 3*rms, ref*0x1p-12
	n.P90, n.Residual, n.MaxRelative, n.MaxAbsolute, n.View = 1.6*rms, rms, rms/ref, rms, rms/ref
	groups := func(count int) noise.Groups {
		column := func(x float64) []float32 { return slices.Repeat([]float32{float32(x)}, count) }
		return noise.Groups{
			Count: int64(count), Size: 16 / int64(count), Fold: 1, RefRMS: column(ref), RefStd: column(ref), RefMax: column(3 * ref), RMS: column(rms),
			Mean: column(0), Max: column(3 * rms), Rounding: column(ref * 0x1p-12), Relative: column(rms / ref), Inverse: column(1),
		}
	}
	n.Rows, n.Channels = groups(1), groups(16)
	return row
}

// TestSumsOfGradients: a bias gradient whose exact value is 0 consists of rounding, 4 * 2^-10 * sqrt(8) = 0.011 for
// gradients of size 1, and is no origin however wrong it is. A larger bias gradient may be an origin.
func TestSumsOfGradients(t *testing.T) {
	const forward, backward = "Functional.foo.0.forward", "Functional.foo.0.backward"
	for ref, want := range map[float64]string{0.01: "", 1: backward} {
		rows := inOrder(
			asInput(measured(forward, "", rounding), tensor.Input), measured(forward, "", rounding),
			asInput(measured(backward, "", rounding), tensor.Input), sumOf(measured(backward, "", faulty), ref, 100*ref))
		if got := judgedBy(rows, Network{IsOrdered: true}); got.names(got.Origins()) != want {
			t.Errorf("sums of %g: origins %q, want %q", ref, got.names(got.Origins()), want)
		}
	}
}

// TestGradientsOfParameters: the gradient of a parameter is a copy of an output of the backward call, and
// no origin of its own.
func TestGradientsOfParameters(t *testing.T) {
	const backward, gradient = "Module.fc.Linear.backward.0", "Module.fc.Linear.parameters_grad"
	made := holding(measured(backward, "", faulty), 4, 5)
	other := holding(measured("Functional.relu.0.backward", "", rounding), 6, 7)
	for name, rows := range map[string][]testRow{
		"the last one":   {other, made, holding(asInput(measured(gradient, "", faulty), tensor.Gradient), 4, 5)},
		"an earlier one": {made, other, holding(asInput(measured(gradient, "", faulty), tensor.Gradient), 4, 5)},
	} {
		for _, ordered := range []bool{true, false} {
			j := judgedBy(inOrder(rows...), Network{IsOrdered: ordered})
			got := j.named(gradient)
			if origins := j.names(j.Origins()); origins != backward {
				t.Errorf("%s, ordered %t: origins %q, want %q", name, ordered, origins, backward)
			}
			if p := j.dataFlow.rows[2].producer; p == nil || p.source.Op != backward || !finding.Has(got.Reasons, finding.LayerInputBad) {
				t.Errorf("%s, ordered %t: no copy, %s by %v", name, ordered, got.Status, got.Reasons)
			}
		}
	}
}

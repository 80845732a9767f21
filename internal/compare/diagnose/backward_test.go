package diagnose

import (
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// shaped gives a row a shape.
func shaped(row testRow, shape ...int64) testRow {
	row.Shape = shape
	return row
}

// TestForwards: a backward call belongs to the forward call of its number if the shapes fit, else to
// the only one whose outputs have the shapes of its gradients.
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
		n := newNetwork(inOrder(tt.rows...), Network{Ordered: true})
		got := ""
		if f := n.rows[len(tt.rows)-1].operator.forward; f != nil {
			got = f.name
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestBackward: a backward call reads what its forward call has saved, so that the damage of the
// forward call is no second origin.
func TestBackward(t *testing.T) {
	const forward, backward = "Functional.gelu.0.forward", "Functional.gelu.0.backward"
	for _, tt := range []struct {
		name     string
		out, in  float64 // of the forward call, of the gradient that enters
		gradient float64 // that leaves
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
		j := judgedBy(rows, Network{Ordered: true})
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
	j := judgedBy(rows, Network{Ordered: true})
	if origins := j.Origins(); len(origins) != 1 || origins[0] != 1 || j.rows[2].Status != record.Fail {
		t.Errorf("origins %v, the second output is %s", origins, j.rows[2].Status)
	}
}

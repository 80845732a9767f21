package recompute

import (
	"strings"

	"dumptool/internal/optype"
)

// Type is a row of the table of types, for people.
type Type struct {
	// Names are those of CANN and MindSpore, Inputs the inputs in their order.
	Names  []string
	Inputs string
	// Formula is what it computes, Class how its output is judged.
	Formula, Class string
	// Attributes are what it depends on, each with what is done where nobody says it.
	Attributes []string
}

// Types returns the table of types, or the rows with one of some names.
func Types(names ...string) (all []Type) {
	for _, row := range optype.FormulaRows() {
		f := formulaOf(row.Name)
		if f == nil || len(names) > 0 && !row.Has(names...) {
			continue
		}
		t := Type{Names: row.Types, Inputs: row.Inputs, Formula: f.name, Class: f.class.String()}
		if t.Inputs == "" {
			t.Inputs = f.inputs
		}
		for _, a := range f.attrs {
			how := "fitted to the elements"
			switch {
			case a.choices == nil:
				how = "only where it is known"
			case a.fixed:
				how = "default"
			case a.closed:
				how = "all that fit are tried"
			}
			t.Attributes = append(t.Attributes, strings.Join(a.names, ", ")+": "+how)
		}
		all = append(all, t)
	}
	return all
}

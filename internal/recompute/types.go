package recompute

import (
	"strings"

	"dumptool/internal/lang"
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
	Attributes []lang.Sentence
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
			how := lang.Text{EN: "fitted to the elements", ZH: "由元素拟合"}
			switch {
			case a.choices == nil:
				how = lang.Text{EN: "only where it is known", ZH: "仅在已知时"}
			case a.fixed:
				how = lang.Text{EN: "default", ZH: "默认值"}
			case a.closed:
				how = lang.Text{EN: "all that fit are tried", ZH: "逐一尝试所有可能的值"}
			}
			t.Attributes = append(t.Attributes, lang.Sayf("%s: %s", "%s：%s", strings.Join(a.names, ", "), how))
		}
		all = append(all, t)
	}
	return all
}

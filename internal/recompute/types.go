package recompute

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

// Type is a row of the table of types, for people.
type Type struct {
	// Names are those that Of has: CANN, whose names MindSpore has for its operators too, or
	// functions and modules of a framework. Inputs are the inputs in their order, or the
	// arguments.
	Names      []string
	Of, Inputs string
	// Formula is what it computes, Class how its output is judged.
	Formula, Class string
	// Attributes are what it depends on, each with what is done where nobody says it.
	Attributes []lang.Sentence
}

// Types returns the table of types, or the rows with one of some names.
func Types(names ...string) (all []Type) {
	add := func(formula string, t Type) {
		has := func(name string) bool {
			return slices.ContainsFunc(t.Names, func(own string) bool { return strings.EqualFold(own, name) || strings.HasSuffix(own, "."+name) })
		}
		f := formulaOf(formula)
		if f == nil || len(names) > 0 && !slices.ContainsFunc(names, has) {
			return
		}
		t.Formula, t.Class, t.Inputs = f.name, f.class.String(), cmp.Or(t.Inputs, f.inputs)
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
	for _, row := range optype.FormulaRows() {
		add(row.Name, Type{Names: row.Types, Of: "CANN", Inputs: row.Inputs})
	}
	for _, row := range optype.CallRows() {
		add(row.Formula, Type{Names: row.Names, Of: row.Of, Inputs: row.Signature()})
	}
	return all
}

package check

import (
	"maps"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
)

// AttributeError is the error of --attr with an unknown operator, type or attribute.
type AttributeError struct{ error }

// checkUserAttributes returns an error if --attr names an operator or type that the run does not have, or an
// attribute that the formula does not have.
func (c *checker) checkUserAttributes(run *dumpdir.Run) error {
	if len(c.opt.Attributes) == 0 {
		return nil
	}
	ops, types := map[string][]string{}, map[string][]string{} // attribute names by operator and by type; nil accepts any attribute
	for _, round := range run.Rounds {
		for _, op := range round.Ops {
			op = withCall(op)
			var attributes []string
			if op.Call != nil && op.Call.API != "" {
				_, rows := recompute.CallsOf(op.Call.API, round.Header.Framework)
				for _, row := range rows {
					attributes = append(attributes, recompute.AttributeNames(row.Formula)...)
				}
			} else {
				attributes = recompute.AttributeNames(recompute.FormulaOf(op.Type).Name)
			}
			for _, name := range op.Names() {
				ops[name] = attributes
			}
			types[typeOf(op)] = append(types[typeOf(op)], attributes...)
		}
	}
	for _, listed := range recompute.List() {
		for _, name := range listed.Names {
			if _, ok := types[name]; !ok {
				types[name] = nil
			}
		}
	}
	for _, g := range c.opt.Attributes {
		if err := g.validate(ops, types); err != nil {
			return &AttributeError{err}
		}
	}
	return nil
}

// validate looks up the operator or type of an attribute, and the name of the attribute.
func (g *UserAttribute) validate(ops, types map[string][]string) error {
	all, name := ops, g.Op
	if g.Type != "" {
		all, name = types, g.Type
	}
	attributes, ok := all[name]
	near := lang.Nearest(name, slices.Collect(maps.Keys(all)))
	switch {
	case ok && (len(attributes) == 0 || slices.Contains(attributes, g.Name)):
		return nil
	case ok:
		if near = lang.Nearest(g.Name, attributes); near == "" {
			return lang.Errorf("%s has no attribute %s: dumptool check --types lists them", name, g.Name)
		}
		return lang.Errorf("%s has no attribute %s, did you mean %s?", name, g.Name, near)
	case near == "":
		return lang.Errorf("there is no operator or type %s", name)
	}
	return lang.Errorf("there is no operator or type %s, did you mean %s?", name, near)
}

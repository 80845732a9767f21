package perf

// Operator is an operator with what was found out about it.
type Operator struct {
	*Row
	// Name is the name of the reference if a map has one, Occurrence the number, from 1,
	// among the operators of that name, At the place in the tables, from 0.
	Name       string
	Occurrence int
	At         int
	Derived
	Verdict
	// Advice is what can be done about it beside the class, in the order of the codes.
	Advice []Advice
	// Rank is the place in the order of the report, from 1. Share is the share of the
	// total, Cumulative that of the operators up to this one; nil without a total.
	Rank              int
	Share, Cumulative *float64
	// Cores is how it ran on the cores, Runs how often; nil where that is not known.
	Cores *Cores
	Runs  *Runs
	// Before is the operator of the baseline, nil for none. Status is empty without a
	// baseline.
	Before *Row
	Status Status
}

// at is the operator by its name and number.
func (o *Operator) at() occurrence { return occurrence{o.Name, o.Occurrence} }

// WasBefore is a counter of the baseline, unknown without one.
func (o *Operator) WasBefore(c Column) Count {
	if o.Before == nil {
		return Count{}
	}
	return o.Before.Get(c)
}

// Growth is by how many cycles mcu_cycle grew since the baseline, which may be negative.
func (o *Operator) Growth() Count {
	before, after := o.WasBefore(MCU), o.Get(MCU)
	return Count{after.N - before.N, before.Known && after.Known}
}

// Codes are those of the findings.
func (o *Operator) Codes() []string {
	var all []string
	for _, a := range o.Advice {
		all = append(all, string(a.Code))
	}
	return all
}

// Worse are the findings beside the baseline: those that need a row of it.
func (o *Operator) Worse() []Code {
	var all []Code
	for _, a := range o.Advice {
		if o.Before != nil && a.Code != Imbalance {
			all = append(all, a.Code)
		}
	}
	return all
}

package trace

// FindParameters finds the parameters of calls in a step whose dump has none. CANN and calls of functions have
// weights among the inputs: inputs after the first, with several numbers that are no indices, which no call of the
// rank wrote. They stay inputs of their calls.
func (s *Step) FindParameters(d *Digests) {
	for c := range s.AllCalls() {
		if len(c.Params) > 0 {
			return
		}
	}
	for _, calls := range s.Calls {
		sizes := make(map[int64]bool)
		for _, c := range calls {
			for _, t := range c.possibleParameters() {
				sizes[t.Elements()] = true
			}
		}
		written := make(map[string]bool)
		for _, c := range calls {
			for _, t := range c.Out {
				if sizes[t.Elements()] {
					written[d.Mark(t)] = true
				}
			}
		}
		for _, c := range calls {
			for _, t := range c.possibleParameters() {
				if mark := d.Mark(t); mark != "" && !written[mark] {
					c.Params = append(c.Params, t)
				}
			}
		}
	}
}

// possibleParameters returns the inputs of an operator that may be parameters.
func (c *Call) possibleParameters() (all []*Tensor) {
	if c.Comm != nil || len(c.In) == 0 {
		return nil
	}
	for _, t := range c.In[1:] {
		if t.Elements() > 1 && !t.IsInteger() {
			all = append(all, t)
		}
	}
	return all
}

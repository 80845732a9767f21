package trace

// Stages are the stages of a pipeline that ranks are in: how many others sent to each
// other before them. Without sends all are in one.
func (s *Step) Stages() map[int]int {
	from := make(map[int]int)
	for c := range s.AllCalls() {
		for _, m := range c.Comm.Each() {
			if _, known := from[c.Rank]; !known && m.API.Pattern == Receive && m.Root >= 0 && m.Root != c.Rank {
				from[c.Rank] = m.Root
			}
		}
	}
	stages := make(map[int]int, len(s.Calls))
	for rank := range s.Calls {
		depth := 0
		for at, ok := from[rank]; ok && depth <= len(s.Calls); at, ok = from[at] {
			depth++
		}
		if depth <= len(s.Calls) { // else they send in a circle
			stages[rank] = depth
		}
	}
	return stages
}

// IsSooner reports whether a call is of a layer before that of another one, of the same stage.
func (c *Call) IsSooner(other *Call) bool {
	stages := c.Step.Stages()
	return c.Layer >= 0 && c.Layer < other.Layer && stages[c.Rank] == stages[other.Rank]
}

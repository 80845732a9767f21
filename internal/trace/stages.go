package trace

// Stages returns the pipeline stage of each rank: the number of ranks that pass data on before it. Without sends all
// ranks have stage 0; ranks that send in a circle have none.
func (s *Step) Stages() map[int]int {
	from := make(map[int]int)
	for c := range s.AllCalls() {
		for _, m := range c.Comm.Transfers() {
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
		if depth <= len(s.Calls) { // otherwise they send in a circle
			stages[rank] = depth
		}
	}
	return stages
}

// IsSooner reports whether the layer of a call is before the layer of another call of the same
// stage.
func (c *Call) IsSooner(other *Call) bool {
	stages := c.Step.Stages()
	return c.Layer >= 0 && c.Layer < other.Layer && stages[c.Rank] == stages[other.Rank]
}

package ranks

// stages are the stages of a pipeline that ranks are in: how many others sent to each
// other before them. Without sends all are in one.
func (s *Step) stages() map[int]int {
	from := make(map[int]int)
	note := func(rank int, m *Comm) {
		if m.api.pattern == receive && m.Root >= 0 && m.Root != rank {
			if _, known := from[rank]; !known {
				from[rank] = m.Root
			}
		}
	}
	for rank, calls := range s.Calls {
		for _, c := range calls {
			if c.Comm == nil {
				continue
			}
			note(rank, c.Comm)
			for _, part := range c.Comm.parts {
				note(rank, part)
			}
		}
	}
	stages := make(map[int]int, len(s.Calls))
	for rank := range s.Calls {
		depth, at := 0, rank
		for depth <= len(s.Calls) {
			next, ok := from[at]
			if !ok {
				break
			}
			at = next
			depth++
		}
		stages[rank] = depth
		if depth > len(s.Calls) { // they send in a circle
			stages[rank] = 0
		}
	}
	return stages
}

package diagnose

// walk returns the operators so that each comes after those that it reads, in
// execution order where nothing else decides. One of a cycle comes before what it
// reads; it is in looped.
func (n *network) walk() (order []*operator, looped map[*operator]bool) {
	const (
		entered = iota + 1
		done
	)
	state := make(map[*operator]int, len(n.operators))
	looped = map[*operator]bool{}
	type frame struct {
		*operator
		next int // of its sources
	}
	for _, first := range n.operators {
		stack := []frame{{first, 0}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			o := top.operator
			if top.next == 0 {
				if state[o] != 0 {
					stack = stack[:len(stack)-1]
					continue
				}
				state[o] = entered
			}
			rows := o.sources.rows
			if o.sources.inferred {
				rows = nil // what is before in the order is no source
			}
			if top.next < len(rows) {
				source := rows[top.next].operator
				top.next++
				switch {
				case source == o || state[source] == entered:
					looped[o] = looped[o] || source != o
				case state[source] == 0:
					stack = append(stack, frame{source, 0})
				}
				continue
			}
			state[o] = done
			order = append(order, o)
			stack = stack[:len(stack)-1]
		}
	}
	return order, looped
}

package diagnose

import "iter"

// walkState is how far the walk has come with an operator.
type walkState uint8

// The states of the walk; that of an operator that was not reached is 0.
const (
	entered walkState = iota + 1
	done
)

// walk goes through the operators so that each comes after those that it reads, in
// execution order where nothing else decides. One of a cycle comes before what it
// reads; it is looped.
func (n *network) walk() iter.Seq[*operator] {
	type frame struct {
		*operator
		next int // of its sources
	}
	return func(yield func(*operator) bool) {
		var stack []frame
		for _, o := range n.operators {
			stack = append(stack[:0], frame{o, 0})
			for len(stack) > 0 {
				top := &stack[len(stack)-1]
				o := top.operator
				if top.next == 0 {
					if o.state != 0 {
						stack = stack[:len(stack)-1]
						continue
					}
					o.state = entered
				}
				rows := o.sources
				if o.inferred {
					rows = nil // what is before in the order is no source
				}
				if top.next < len(rows) {
					source := rows[top.next].operator
					top.next++
					switch {
					case source == o || source.state == entered:
						o.looped = o.looped || source != o
					case source.state == 0:
						stack = append(stack, frame{source, 0})
					}
					continue
				}
				o.state = done
				if stack = stack[:len(stack)-1]; !yield(o) {
					return
				}
			}
		}
	}
}

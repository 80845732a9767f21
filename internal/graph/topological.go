package graph

import "container/heap"

// Topological returns the names of the operators so that every one comes after
// those that feed it; where that leaves a choice, in their execution order. In a
// cycle the execution order decides.
func (g *Graph) Topological() []string {
	order := g.Order()
	place := make(map[string]int, len(order))
	for i, name := range order {
		place[name] = i
	}
	consumers := make([][]int, len(order))
	waiting := make([]int, len(order)) // for how many producers
	for i := range g.Ops {
		to := place[g.Ops[i].Name]
		for _, p := range g.Ops[i].Inputs {
			if from, ok := place[p.Op]; ok && from != to {
				consumers[from] = append(consumers[from], to)
				waiting[to]++
			}
		}
	}
	var ready places
	for i, n := range waiting {
		if n == 0 {
			ready = append(ready, i) // sorted, so a heap
		}
	}
	names := make([]string, 0, len(order))
	done := make([]bool, len(order))
	next := 0 // everything before it is done
	for len(names) < len(order) {
		if len(ready) == 0 { // a cycle: its first operator goes on
			for done[next] {
				next++
			}
			ready = append(ready, next)
		}
		i := heap.Pop(&ready).(int)
		if done[i] {
			continue
		}
		done[i] = true
		names = append(names, order[i])
		for _, to := range consumers[i] {
			if waiting[to]--; waiting[to] == 0 && !done[to] {
				heap.Push(&ready, to)
			}
		}
	}
	return names
}

// Place returns the place in the topological order of the operator with the first of
// names that the graph has, exact or as in file names. The graph must not change any
// more.
func (g *Graph) Place(names ...string) (int, bool) {
	g.placed.Do(func() {
		for i, name := range g.Topological() {
			g.places.Add(name, i)
		}
	})
	return g.places.Find(names...)
}

// places are a heap of places in the execution order.
type places []int

func (p places) Len() int           { return len(p) }
func (p places) Less(i, j int) bool { return p[i] < p[j] }
func (p places) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *places) Push(x any)        { *p = append(*p, x.(int)) }

// Pop removes the last element.
func (p *places) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	*p = (*p)[:last]
	return x
}

// Package graph reads data flow files: the graph of the NPU's compiler, which also maps operators
// to results of the user's model, the graphs that MindSpore saves, and consumer maps. Compiler
// graphs and consumer maps become a Graph, graphs of MindSpore an IR.
package graph

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"io"
	"slices"
	"sync"

	"dumptool/internal/filename"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/pickle"
	"dumptool/internal/tensor"
)

// Graph lists operators and the data flow between them.
type Graph struct {
	// Source describes the file for messages; empty unless the caller of the reader sets it.
	Source string
	Ops    []Op
	// Warnings lists oddities that leave the graph usable.
	Warnings []lang.Sentence

	index filename.Index
	// places maps names of operators to indexes in the topological order, built once.
	placesOnce sync.Once
	places     filename.Index
}

// Op is an operator of a graph. Fields that its file lacks are zero.
type Op struct {
	Name, Type string
	// ID is the position in the execution order of its section.
	ID    int64
	HasID bool
	// Section is the index of its graph, for files with several graphs.
	Section int
	// Inputs lists the producers of the inputs, without control edges; Op is empty for an unconnected input.
	Inputs  []Producer
	Outputs []Origin
	// Attributes is nil unless ReadFusionAttributes read the graph.
	Attributes map[string]Attribute
}

// Origin is a result of the user's model: output Output of operator Op.
type Origin struct {
	Op     string // empty if the graph has no name
	Output int
	Format string // empty if the graph has no format
	Shape  tensor.Shape
}

// Producer is an output that another operator reads.
type Producer struct {
	Op     string
	Output int // -1 if unknown
}

// add adds an operator unless the graph has one of that name, and returns the operator with that
// name.
func (g *Graph) add(op Op) (at *Op, added bool) {
	i, added := g.index.Add(op.Name, len(g.Ops))
	if added {
		g.Ops = append(g.Ops, op)
	}
	return &g.Ops[i], added
}

// addEdge adds an output of from to the inputs of op.
func (g *Graph) addEdge(from, op string) {
	g.add(Op{Name: from})
	to, _ := g.add(Op{Name: op})
	to.Inputs = append(to.Inputs, Producer{from, -1})
}

// Find returns the operator with the first known name of names, exact or as written in file names;
// nil if the graph has none.
func (g *Graph) Find(names ...string) *Op {
	if i, ok := g.index.Find(names...); ok {
		return &g.Ops[i]
	}
	return nil
}

// Producers returns the connected inputs, in input order if the file has an order. An operator
// without producers reads the inputs of the network.
func (op *Op) Producers() []Producer {
	return slices.DeleteFunc(slices.Clone(op.Inputs), func(p Producer) bool { return p.Op == "" })
}

// Origin returns the result of the model that an output of an NPU operator corresponds to. names are names of the
// operator, exact or as written in file names.
func (g *Graph) Origin(output int, names ...string) (Origin, bool) {
	op := g.Find(names...)
	if op == nil || output < 0 || output >= len(op.Outputs) || op.Outputs[output].Op == "" {
		return Origin{}, false
	}
	return op.Outputs[output], true
}

// InputOrigin returns the result of the model that an input of an NPU operator corresponds to: the
// origin of its producer. It skips Cast and TransData without an origin.
func (g *Graph) InputOrigin(input int, names ...string) (Origin, bool) {
	op := g.Find(names...)
	// The bound ends the walk in a cycle of Casts.
	for range g.Ops {
		if op == nil || input < 0 || input >= len(op.Inputs) {
			return Origin{}, false
		}
		from := op.Inputs[input]
		if origin, ok := g.Origin(from.Output, from.Op); ok {
			return origin, true
		}
		op, input = g.Find(from.Op), 0
		if op == nil || op.Type != "Cast" && op.Type != "TransData" {
			return Origin{}, false
		}
	}
	return Origin{}, false
}

// Order returns the names of the operators in execution order: by section, id and position in the
// file. Operators without an id come last in their section.
func (g *Graph) Order() []string {
	sorted := make([]*Op, len(g.Ops))
	for i := range g.Ops {
		sorted[i] = &g.Ops[i]
	}
	slices.SortStableFunc(sorted, func(a, b *Op) int {
		if a.HasID != b.HasID && a.Section == b.Section {
			if a.HasID {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Section, b.Section), cmp.Compare(a.ID, b.ID))
	})
	names := make([]string, len(sorted))
	for i, op := range sorted {
		names[i] = op.Name
	}
	return names
}

// New returns a graph of operators. The first operator with a name wins.
func New(ops []Op) *Graph {
	g := new(Graph)
	for i := range ops {
		g.add(ops[i])
	}
	return g
}

// Topological returns the names of the operators, producers before consumers. Ties, and cycles,
// follow the execution order.
func (g *Graph) Topological() []string {
	order := g.Order()
	place := make(map[string]int, len(order))
	for i, name := range order {
		place[name] = i
	}
	consumers := make([][]int, len(order))
	waiting := make([]int, len(order)) // number of producers not yet emitted
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
	next := 0 // first operator of the order that may be waiting
	for len(names) < len(order) {
		if len(ready) == 0 { // a cycle: continue with its first operator
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

// TopologicalIndex returns the topological index of the operator with the first known name of names, exact or as written in file
// names. The graph must not change after the first call.
func (g *Graph) TopologicalIndex(names ...string) (int, bool) {
	g.placesOnce.Do(func() {
		for i, name := range g.Topological() {
			g.places.Add(name, i)
		}
	})
	return g.places.Find(names...)
}

// places is a heap of indexes in the execution order.
type places []int

func (p places) Len() int           { return len(p) }
func (p places) Less(i, j int) bool { return p[i] < p[j] }
func (p places) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *places) Push(x any)        { *p = append(*p, x.(int)) }

// Pop removes the last element, for container/heap.
func (p *places) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	*p = (*p)[:last]
	return x
}

// maxConsumers is the largest accepted consumer map, in bytes.
const maxConsumers = 64 << 20

// ReadConsumers reads a map from every operator to the consumers of its outputs, such as
// consumer_map_dict.file of the HPAA tools: a Python pickle of a dict of lists, or the same as a
// JSON object.
func ReadConsumers(r io.Reader) (*Graph, error) {
	const bom = "\ufeff"
	in := bufio.NewReader(r)
	if head, _ := in.Peek(len(bom)); string(head) == bom {
		_, _ = in.Discard(len(bom)) // already peeked
	}
	head, _ := in.Peek(in.Size() / 2)
	read := readPickled
	if head = bytes.TrimLeft(head, " \t\r\n"); len(head) > 0 && head[0] == '{' {
		read = readJSON
	}
	g := new(Graph)
	if err := read(g, in); err != nil {
		return nil, lang.Errorf("consumer map: %w", err)
	}
	return g, nil
}

func readJSON(g *Graph, in io.Reader) error {
	r := jsonpos.NewReader(in, maxConsumers)
	err := r.Object(func(op string) error {
		g.add(Op{Name: op})
		return r.Array(func(int) error {
			child, err := r.Value()
			if err != nil {
				return err
			}
			if child.Kind != jsonpos.String {
				return r.Mismatch(child, "the name of an operator")
			}
			g.addEdge(op, child.Text)
			return nil
		})
	})
	if err != nil {
		return err
	}
	return r.End()
}

func readPickled(g *Graph, in io.Reader) error {
	v, size, err := pickle.Read(in, maxConsumers)
	if err != nil {
		return err
	}
	dict, ok := v.(*pickle.Dict)
	if !ok {
		return lang.Errorf("found a pickled %s, wanted a dict of lists of names", pickle.TypeName(v))
	}
	// A pickle may share one list among all nodes and so encode far more edges than it has bytes;
	// no writer of this map does.
	edges := 0
	for _, item := range dict.Items {
		op, ok := item.Key.(string)
		children, ok2 := item.Value.(*pickle.Sequence)
		if !ok || !ok2 {
			return lang.Errorf("node %v: found a %s, wanted a name with a list of names", item.Key, pickle.TypeName(item.Value))
		}
		g.add(Op{Name: op})
		if edges += len(children.Items); edges > size {
			return lang.Errorf("found more than %d edges in %d bytes, wanted fewer", size, size)
		}
		for _, c := range children.Items {
			child, ok := c.(string)
			if !ok {
				return lang.Errorf("node %q: found a child that is a %s, wanted a name", op, pickle.TypeName(c))
			}
			g.addEdge(op, child)
		}
	}
	return nil
}

// Package graph reads files that say which operators there are and who feeds
// whom: the graph of the NPU's compiler, which also says what result of the
// user's model an operator stands for, and maps of consumers. All become one
// Graph.
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

// Graph is operators and the data that flows between them.
type Graph struct {
	// Source names the file and what it is, for messages; empty unless who reads it says so.
	Source string
	Ops    []Op
	// Warnings are oddities that do not keep the graph from being used.
	Warnings []lang.Sentence

	index filename.Index
	// places finds operators by their names in the topological order, once placed.
	placed sync.Once
	places filename.Index
}

// Op is an operator of a graph. What its file does not say has the zero value.
type Op struct {
	Name, Type string
	// ID is the place in the execution order of its section.
	ID    int64
	HasID bool
	// Section is the index of the graph in a file with several.
	Section int
	// Inputs are the producers of the inputs; Op is empty for an input that is
	// not connected. Control edges are left out.
	Inputs  []Producer
	Outputs []Origin
	// Attributes are those that ReadFusionAttributes keeps.
	Attributes map[string]Attribute
}

// Origin is a result of the user's model.
type Origin struct {
	Op     string // empty when the graph names none
	Output int
	Format string // empty when the graph names none
	Shape  tensor.Shape
}

// Producer is an output that another operator consumes.
type Producer struct {
	Op     string
	Output int // -1 when unknown
}

// add adds an operator, unless there is one of that name; it returns the one of
// that name.
func (g *Graph) add(op Op) (at *Op, added bool) {
	i, added := g.index.Add(op.Name, len(g.Ops))
	if added {
		g.Ops = append(g.Ops, op)
	}
	return &g.Ops[i], added
}

// connect adds to the inputs of op an output of from.
func (g *Graph) connect(from, op string) {
	g.add(Op{Name: from})
	to, _ := g.add(Op{Name: op})
	to.Inputs = append(to.Inputs, Producer{from, -1})
}

// Find returns the operator with the first of names that the graph has, exact or
// as in file names; nil if it has none of them.
func (g *Graph) Find(names ...string) *Op {
	if i, ok := g.index.Find(names...); ok {
		return &g.Ops[i]
	}
	return nil
}

// Producers returns what feeds an operator, in the order of the inputs where
// that is known. An operator without producers reads what is fed to the network.
func (op *Op) Producers() []Producer {
	return slices.DeleteFunc(slices.Clone(op.Inputs), func(p Producer) bool { return p.Op == "" })
}

// Origin returns the result of the model that an output of an operator of the
// NPU stands for; names are the operator's, exact or as in file names.
func (g *Graph) Origin(output int, names ...string) (Origin, bool) {
	op := g.Find(names...)
	if op == nil || output < 0 || output >= len(op.Outputs) || op.Outputs[output].Op == "" {
		return Origin{}, false
	}
	return op.Outputs[output], true
}

// InputOrigin returns the result of the model that an input of an operator of
// the NPU stands for: that of its producer. Operators that only change the
// element type or the layout are looked through when they have no origin.
func (g *Graph) InputOrigin(input int, names ...string) (Origin, bool) {
	op := g.Find(names...)
	// A cycle of such operators ends the walk.
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

// Order returns the names of the operators in execution order: by section, id,
// and place in the file. Operators without id come last in their section.
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

// New returns a graph of operators. Of several with one name the first counts.
func New(ops []Op) *Graph {
	g := new(Graph)
	for i := range ops {
		g.add(ops[i])
	}
	return g
}

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

// maxConsumers is how large a consumer map may be, in bytes.
const maxConsumers = 64 << 20

// ReadConsumers reads a map from every operator to those that consume its
// outputs, such as the HPAA tools' consumer_map_dict.file: a Python pickle of a
// dict of lists, or the same as a JSON object.
func ReadConsumers(r io.Reader) (*Graph, error) {
	const bom = "\ufeff"
	in := bufio.NewReader(r)
	if head, _ := in.Peek(len(bom)); string(head) == bom {
		_, _ = in.Discard(len(bom)) // which Peek has read
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
			g.connect(op, child.Text)
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
	// A pickle may share a list among all nodes and stand for far more edges
	// than it has bytes; no writer of this map does.
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
			g.connect(op, child)
		}
	}
	return nil
}

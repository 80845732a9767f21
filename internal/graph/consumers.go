package graph

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"dumptool/internal/jsonpos"
	"dumptool/internal/pickle"
)

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
		return nil, fmt.Errorf("consumer map: %w", err)
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
		return fmt.Errorf("found a pickled %s, wanted a dict of lists of names", pickle.TypeName(v))
	}
	// A pickle may share a list among all nodes and stand for far more edges
	// than it has bytes; no writer of this map does.
	edges := 0
	for _, item := range dict.Items {
		op, ok := item.Key.(string)
		children, ok2 := item.Value.(*pickle.Sequence)
		if !ok || !ok2 {
			return fmt.Errorf("node %v: found a %s, wanted a name with a list of names", item.Key, pickle.TypeName(item.Value))
		}
		g.add(Op{Name: op})
		if edges += len(children.Items); edges > size {
			return fmt.Errorf("found more than %d edges in %d bytes, wanted fewer", size, size)
		}
		for _, c := range children.Items {
			child, ok := c.(string)
			if !ok {
				return fmt.Errorf("node %q: found a child that is a %s, wanted a name", op, pickle.TypeName(c))
			}
			g.connect(op, child)
		}
	}
	return nil
}

package pairing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"dumptool/internal/pickle"
)

// Graph tells which operators made the inputs of an operator.
type Graph struct {
	index     nameIndex
	producers [][]Producer
}

// know notes that the graph has op.
func (g *Graph) know(op string) int {
	i, added := g.index.add(op, len(g.producers))
	if added {
		g.producers = append(g.producers, nil)
	}
	return i
}

// add notes that p makes an input of op.
func (g *Graph) add(op string, p Producer) {
	i := g.know(op)
	g.producers[i] = append(g.producers[i], p)
}

// Find returns the producers of the operator with the first of names that the
// graph has, exact or as in file names. They are in the order of the inputs
// where that is known. ok is false if the graph has no such operator; one
// without producers reads what is fed to the network.
func (g *Graph) Find(names ...string) (producers []Producer, ok bool) {
	i, ok := g.index.find(names...)
	if !ok {
		return nil, false
	}
	return g.producers[i], true
}

// Len returns the number of operators.
func (g *Graph) Len() int { return len(g.producers) }

// maxConsumers is how large a consumer map may be, in bytes.
const maxConsumers = 64 << 20

// pickleStart is the first byte of a pickle of protocol 2 or later.
const pickleStart = 0x80

// ReadConsumers reads a map from every operator to those that consume its
// outputs, such as the HPAA tools' consumer_map_dict.file: a Python pickle of a
// dict of lists, or the same as a JSON object.
func ReadConsumers(r io.Reader) (*Graph, error) {
	data, err := readSmall(r, maxConsumers)
	if err != nil {
		return nil, fmt.Errorf("consumer map: %w", err)
	}
	g := new(Graph)
	if text := bytes.TrimLeft(data, "\ufeff \t\r\n"); len(text) > 0 && text[0] == '{' {
		err = g.fromJSON(text)
	} else {
		err = g.fromPickle(data)
	}
	if err != nil {
		return nil, fmt.Errorf("consumer map: %w", err)
	}
	return g, nil
}

// readSmall reads all of r, up to limit bytes.
func readSmall(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("the file is larger than %d MiB", limit>>20)
	}
	return data, err
}

func (g *Graph) fromJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	p := &fusionReader{dec: dec}
	if err := p.open("document", '{'); err != nil {
		return err
	}
	for dec.More() {
		op, err := dec.Token()
		if err != nil {
			return p.wrong("document", err)
		}
		var children []string
		if err := dec.Decode(&children); err != nil {
			return p.wrong(fmt.Sprintf("node %q", op), err)
		}
		g.know(fmt.Sprint(op))
		for _, child := range children {
			g.add(child, Producer{fmt.Sprint(op), -1})
		}
	}
	if err := p.close("document"); err != nil {
		return err
	}
	return p.end()
}

func (g *Graph) fromPickle(data []byte) error {
	v, err := pickle.Read(bytes.NewReader(data))
	if err != nil {
		return err
	}
	dict, ok := v.(*pickle.Dict)
	if !ok {
		return fmt.Errorf("a pickled %T, want a dict of lists of names", v)
	}
	// A pickle may share a list among all nodes and stand for far more edges
	// than it has bytes; no writer of this map does.
	edges := 0
	for _, item := range dict.Items {
		op, ok := item.Key.(string)
		children, ok2 := item.Value.(*pickle.Sequence)
		if !ok || !ok2 {
			return fmt.Errorf("node %v has a %T, want a name with a list of names", item.Key, item.Value)
		}
		g.know(op)
		if edges += len(children.Items); edges > len(data) {
			return fmt.Errorf("more than %d edges in %d bytes", len(data), len(data))
		}
		for _, c := range children.Items {
			child, ok := c.(string)
			if !ok {
				return fmt.Errorf("node %q has a child that is a %T, want a name", op, c)
			}
			g.add(child, Producer{op, -1})
		}
	}
	return nil
}

package find

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
)

// A tree without graphs of MindSpore has its operators all the same: in the names and
// headers of the dumps, and in what msprobe says about calls. They stand for the graph.

// bareRoots makes a root of the operators of every rank, graph and model of a tree. With
// headers the names in the headers count too, and those that the operators had in the
// user's model.
func (t *tree) bareRoots(ctx context.Context, opt *Options, headers bool) error {
	if headers {
		if err := t.run.ReadHeaders(ctx, dumpdir.HeaderOptions{Workers: opt.Workers}); err != nil {
			return err
		}
	}
	t.roots = nil
	roots := make(map[dumpdir.Coordinates]*root)
	var keys []dumpdir.Coordinates
	for _, round := range t.run.Rounds {
		if !opt.Rounds.Wants(round.At) {
			continue
		}
		at := round.At
		at.Step, at.Folder = "", ""
		r := roots[at]
		if r == nil {
			r = &root{name: at.String(), orders: make(map[int]string), bare: &bareGraph{index: make(map[string]int)}}
			if n, err := strconv.Atoi(at.Rank); err == nil {
				r.rank = &n
			}
			r.bare.id = -1
			if n, err := strconv.ParseUint(at.Graph, 10, 31); err == nil {
				r.bare.id = int(n)
			}
			roots[at] = r
			keys = append(keys, at)
		}
		for _, op := range round.Ops {
			r.bare.add(op)
		}
	}
	slices.SortFunc(keys, dumpdir.Coordinates.Compare)
	for _, at := range keys {
		t.roots = append(t.roots, roots[at])
	}
	return nil
}

// bareGraph collects the operators of a root.
type bareGraph struct {
	id    int
	made  []graph.Made
	ops   [][]*dumpdir.Op
	index map[string]int
}

// add adds an execution of an operator, under its names: the one in the header first,
// and those that it had in the model.
func (b *bareGraph) add(op *dumpdir.Op) {
	names := op.Names()
	for _, o := range op.Origins {
		names = append(names, o.Op)
	}
	slices.Sort(names[1:])
	for k, name := range slices.Compact(names) {
		if name == "" || k > 0 && name == names[0] {
			continue
		}
		key := op.Type + "\x00" + name
		i, known := b.index[key]
		if !known {
			i = len(b.made)
			b.index[key] = i
			made := graph.Made{Name: name, Type: op.Type}
			if op.Call != nil {
				made.Stack = locations(op.Call.Stack)
			}
			b.made, b.ops = append(b.made, made), append(b.ops, nil)
		}
		b.ops[i] = append(b.ops[i], op)
	}
}

// callLine is a line of a stack as msprobe has it.
var callLine = regexp.MustCompile(`(?s)^File (.+), line (\d+), in [^,]*,?\s*(.*)$`)

func locations(lines []string) []graph.Location {
	var all []graph.Location
	for _, line := range lines {
		m := callLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if n, ok := number(m[2]); ok {
			library := strings.Contains(m[1], "/site-packages/") || strings.Contains(m[1], "/dist-packages/")
			all = append(all, graph.Location{Path: m[1], Line: n, Code: m[3], Library: library})
		}
	}
	return all
}

// dumps are the files of a node.
func (g *loaded) dumps(node int) *dumps {
	d := &dumps{}
	for _, op := range g.ops[node] {
		for i := range op.Tensors {
			t := &op.Tensors[i]
			if !slices.Contains(d.files, t.File) && !t.Table {
				d.files = append(d.files, t.File)
			}
			if t.Statistics != nil && t.Statistics.File != nil {
				d.rows = append(d.rows, Row{t.Kind, t.Index, t.Statistics})
			}
		}
	}
	return d
}

// bareFiles finds the operators of files.
func bareFiles(targets []target, graphs []*loaded) []hit {
	var hits []hit
	for _, g := range graphs {
		for i, ops := range g.ops {
			if id := targetOf(targets, ops); id != nil {
				hits = append(hits, hit{thing: thing{g, i, -1}, match: MatchFile, file: id})
			}
		}
	}
	return hits
}

// targetOf returns the target that is a file of operators, nil for none.
func targetOf(targets []target, ops []*dumpdir.Op) *fileID {
	for _, t := range targets {
		for _, op := range ops {
			for i := range op.Tensors {
				if x := &op.Tensors[i]; x.File == t.file {
					id := fileID{op: op.Name, opType: op.Type}
					if !x.Whole() {
						id.FileTensor = FileTensor{new(string(x.Kind)), &x.Index}
					}
					return &id
				}
			}
		}
	}
	return nil
}

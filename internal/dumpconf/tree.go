package dumpconf

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
)

// Tree is what lies in the dump that a configuration has made.
type Tree struct {
	// Steps are the iterations with dumps, and Ranks the ranks or devices, in their
	// natural order. RanksKnown is set where other ranks would be seen.
	Steps, Ranks []string
	RanksKnown   bool
	// Ran are the iterations that were executed, of all graphs, in their natural order;
	// empty where MindSpore did not write them.
	Ran []string
	// Order are the full names of the operators that ran, of all graphs, each once; empty
	// where MindSpore did not write it.
	Order []string
	// Known are the full names of the operators of the graphs, or else Order.
	Known []string
	// Graphs are the numbers of the graphs that were saved, Dumped those of folders with
	// dumps.
	Graphs, Dumped []string
	// Mapped is set where a mapping.csv holds the names that are too long for a file.
	Mapped bool

	names map[string]bool // of dumped operators, normalised
	lasts map[string]bool // their types and names, where those are last segments
}

// TreeFile is a configuration that lies in the tree that it has made.
type TreeFile struct {
	Path string
	Tree *Tree
}

// The folders of a dump that hold its configuration, and the name that it has there.
const (
	oldMetadata  = ".metadata"
	rankMetadata = ".dump_metadata"
	settingsName = "data_dump.json"
)

// OpenTree finds the configurations in a dump of MindSpore, and what lies there. bad are
// side files that could not be read; the rest counts.
func OpenTree(ctx context.Context, dir string) (all []TreeFile, bad []error, err error) {
	run, err := dumpdir.Open(ctx, []string{dir}, dumpdir.Options{NoRaw: true})
	if err != nil {
		return nil, nil, err
	}
	for _, f := range run.Files {
		base := path.Base(f.Folder.Dir)
		if f.Name != settingsName || base != oldMetadata && base != rankMetadata || f.Err != nil {
			continue
		}
		t := &Tree{RanksKnown: base == oldMetadata || path.Dir(f.Folder.Dir) != "."}
		rank := f.Folder.At.Rank
		t.addRounds(run, rank)
		bad = append(bad, t.addSides(run, rank)...)
		all = append(all, TreeFile{f.Path(), t})
	}
	return all, bad, ctx.Err()
}

// addRounds takes what was dumped by a rank; an empty one stands for all.
func (t *Tree) addRounds(run *dumpdir.Run, rank string) {
	t.names, t.lasts = make(map[string]bool), make(map[string]bool)
	steps, ranks, graphs := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, round := range run.Rounds {
		ranks[round.At.Rank] = true
		if rank != "" && round.At.Rank != rank {
			continue
		}
		steps[round.At.Step], graphs[round.At.Graph] = true, true
		for _, op := range round.Ops {
			norm := filename.Normalise(op.Name)
			t.names[norm] = true
			t.lasts[strings.ToLower(op.Type)+"\x00"+norm] = true
		}
	}
	t.Steps, t.Ranks, t.Dumped = values(steps), values(ranks), values(graphs)
}

// values returns those of a set in natural order, without the one for not known.
func values(set map[string]bool) []string {
	delete(set, "")
	return slices.SortedFunc(maps.Keys(set), lang.CompareNatural)
}

// addSides reads the execution orders and graphs of a rank.
func (t *Tree) addSides(run *dumpdir.Run, rank string) (bad []error) {
	order, graphs, numbers, ran := make(map[string]bool), make(map[string]bool), make(map[string]bool), make(map[string]bool)
	folders := make(map[*dumpdir.Folder][]*dumpdir.File) // with graphs
	side := func(f *dumpdir.File, read func(io.Reader) error) {
		if err := readSide(f, read); err != nil {
			bad = append(bad, err)
		}
	}
	for _, f := range run.Files {
		t.Mapped = t.Mapped || path.Base(f.Path()) == "mapping.csv"
		if at := f.Folder.At.Rank; f.Err != nil || rank != "" && at != "" && at != rank {
			continue
		}
		if strings.HasPrefix(f.Name, "ms_execution_order_graph_") && path.Base(f.Folder.Dir) == "execution_order" {
			side(f, func(in io.Reader) error {
				o, err := sidefile.ReadExecutionOrder(in, f.Name)
				if o != nil {
					t.Order = appendNew(t.Order, order, o.Names...)
				}
				return err
			})
		}
		if strings.HasPrefix(f.Name, sidefile.GlobalOrder) {
			side(f, func(in io.Reader) error {
				iterations, err := sidefile.ReadIterations(in)
				if iterations != nil {
					for _, n := range iterations.Numbers {
						ran[strconv.FormatUint(n, 10)] = true
					}
				}
				return err
			})
		}
		if _, ok := graph.ParseSaved(f.Name); ok {
			folders[f.Folder] = append(folders[f.Folder], f)
		}
	}
	for _, folder := range slices.SortedFunc(maps.Keys(folders), func(a, b *dumpdir.Folder) int { return strings.Compare(a.Dir, b.Dir) }) {
		for _, f := range lastStage(folders[folder]) {
			saved, _ := graph.ParseSaved(f.Name)
			if saved.Graph >= 0 {
				numbers[strconv.Itoa(saved.Graph)] = true
			}
			side(f, func(in io.Reader) error {
				read := graph.ReadIR
				if saved.Proto {
					read = func(in io.Reader) (*graph.IR, error) { return graph.ReadIRProto(in, f.Size) }
				}
				g, err := read(in)
				if g == nil {
					return err
				}
				for i := range g.Nodes {
					if name := g.Nodes[i].OpName(); strings.Contains(name, "/") {
						t.Known = appendNew(t.Known, graphs, strings.Clone(name))
					}
				}
				return err
			})
		}
	}
	t.Graphs, t.Ran = values(numbers), values(ran)
	if len(t.Known) == 0 {
		t.Known = t.Order
	}
	return bad
}

// lastStage leaves the files with graphs that count.
func lastStage(files []*dumpdir.File) []*dumpdir.File {
	saved := make([]graph.Saved, len(files))
	for i, f := range files {
		saved[i], _ = graph.ParseSaved(f.Name)
	}
	var last []*dumpdir.File
	for _, i := range graph.LastStage(saved) {
		last = append(last, files[i])
	}
	return last
}

// readSide opens a file of a tree and reads it; the error names it.
func readSide(f *dumpdir.File, read func(io.Reader) error) error {
	return safefile.Read(f.Path(), func(in safefile.Input) error {
		if err := read(in); err != nil {
			return fmt.Errorf("%s: %w", f.Path(), err)
		}
		return nil
	})
}

func appendNew(list []string, seen map[string]bool, names ...string) []string {
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}

// has reports whether an operator has a dump, by its full name, or as releases up to 2.2
// name files, by its type and the last segment.
func (t *Tree) has(name string) bool {
	last := lastSegment(name)
	return t.names[filename.Normalise(name)] || t.lasts[strings.ToLower(typeOf(last))+"\x00"+filename.Normalise(last)]
}

func lastSegment(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// typeOf returns the type of an operator, which the last segment of its name begins
// with.
func typeOf(last string) string {
	opType, _, _ := strings.Cut(last, "-op")
	return opType
}

// undumped returns those of the operators that have no dump.
func (t *Tree) undumped(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), t.has)
}

// expected are the operators that would be dumped: nodes that run nothing stand in the
// graphs, and not in the order.
func (t *Tree) expected() []string {
	if len(t.Order) > 0 {
		return t.Order
	}
	return t.Known
}

package inspect

import (
	"io"
	"path"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/graph"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/misfit"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
)

// Side summarises a file without tensors beside the dumps.
type Side struct {
	// What describes the kind of file.
	What lang.Text
	// Counts lists counts of the contents.
	Counts []Count
}

// Count is a number of things.
type Count struct {
	Noun string
	N    int
}

// Text returns the count with the noun.
func (c Count) Text() lang.Text { return lang.CountText(c.N, c.Noun) }

// sideKind is a kind of file beside the dumps; a new kind needs a row in sideKinds.
type sideKind struct {
	container jsonpos.NullableText
	what      lang.Text
	matches   func(name string) bool
	read      func(in io.Reader, size int64) ([]Count, misfit.List, error)
}

// sideKinds is checked in this order. A protobuf with a name that MindSpore does not use may be a
// dump; see looseProto.
var sideKinds = [...]sideKind{
	{"graph_pb", lang.Text{EN: "graph of MindSpore, protobuf"}, isSaved(true), readGraphProto},
	{"graph_ir", lang.Text{EN: "graph of MindSpore, text"}, isSaved(false), readGraph},
	{"execution_order", lang.Text{EN: "execution order of MindSpore"}, between("ms_execution_order_graph_", ".csv"), readExecution},
	{"global_execution_order", lang.Text{EN: "iterations of a graph of MindSpore"}, between(sidefile.GlobalOrder, ".csv"), readIterations},
	{"mapping", lang.Text{EN: "mapping of file names"}, func(name string) bool { return name == dumpdir.MappingName }, readMapping},
}

func isSaved(proto bool) func(string) bool {
	return func(name string) bool {
		s, ok := graph.ParseSaved(name)
		return ok && s.Proto == proto
	}
}

func between(begin, end string) func(string) bool {
	return func(name string) bool { return strings.HasPrefix(name, begin) && strings.HasSuffix(name, end) }
}

// summariseUnreadable summarises a file without tensors, or its readable part. It returns false for files of other
// kinds.
func (w *worker) summariseUnreadable(f *File, kind int) bool {
	if kind < 0 || !f.Entry.IsGiven() {
		return false
	}
	k := &sideKinds[kind]
	in, err := safefile.Open(f.Entry.Path())
	if err != nil {
		f.Err = lang.AsFailure(err)
		return true
	}
	defer in.Close()
	f.Container = k.container
	counts, misfits, err := k.read(in, f.Entry.Size)
	f.Side, f.Counts, f.Err, f.Partial = &Side{k.what, counts}, make(map[string]int), lang.AsFailure(err), err != nil
	for _, c := range counts {
		f.Counts[strings.ReplaceAll(c.Noun, " ", "_")+"s"] = c.N
	}
	f.countMisfits(&misfits, w.opt.Misfits)
	return true
}

// looseProto summarises a protobuf graph that no tensor reader accepts. It returns false for other
// files.
func (w *worker) looseProto(f *File) bool {
	if path.Ext(f.Entry.Name) != ".pb" {
		return false
	}
	found := newFile(f.Entry, nil)
	found.At = dumpdir.Coordinates{}
	if !w.summariseUnreadable(found, 0) || found.Partial {
		return false
	}
	*f = *found
	return true
}

// sideOf returns the index of the kind that matches a file name, -1 for none.
func sideOf(name string) int {
	return slices.IndexFunc(sideKinds[:], func(k sideKind) bool { return k.matches(name) })
}

// countMisfits counts the misfits of the file, and lists them if listed is set.
func (f *File) countMisfits(all *misfit.List, listed bool) {
	f.MisfitCount = all.Count
	for i := range all.First {
		if m := &all.First[i]; listed {
			one := Misfit{Found: m.Found, Wanted: lang.Say(m.Wanted)}
			if m.Line != 0 {
				one.Line = &m.Line
			}
			if m.Offset >= 0 {
				one.Offset = &m.Offset
			}
			f.Misfits = append(f.Misfits, one)
		}
	}
}

func readGraph(in io.Reader, _ int64) ([]Count, misfit.List, error) {
	g, err := graph.ReadIR(in)
	return countGraph(g), g.Misfits, err
}

func readGraphProto(in io.Reader, size int64) ([]Count, misfit.List, error) {
	g, err := graph.ReadIRProto(in, size)
	return countGraph(g), g.Misfits, err
}

func countGraph(g *graph.IR) []Count {
	named, scripted := 0, 0
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.OpName() != "" {
			named++
		}
		if len(g.Frames(n)) > 0 {
			scripted++
		}
	}
	return []Count{
		{"subgraph", len(g.Subgraphs)}, {"parameter", len(g.Params)}, {"node", len(g.Nodes)},
		{"full name", named}, {"call stack", scripted},
	}
}

func readExecution(in io.Reader, _ int64) ([]Count, misfit.List, error) {
	order, err := sidefile.ReadExecutionOrder(in, "")
	if err != nil {
		return nil, misfit.List{}, err
	}
	return []Count{{"operator", len(order.Names)}}, order.Misfits, nil
}

func readIterations(in io.Reader, _ int64) ([]Count, misfit.List, error) {
	all, err := sidefile.ReadIterations(in)
	if err != nil {
		return nil, misfit.List{}, err
	}
	return []Count{{"iteration", len(all.Numbers)}}, all.Misfits, nil
}

func readMapping(in io.Reader, _ int64) ([]Count, misfit.List, error) {
	m, err := dumpfmt.ReadMapping(in)
	if err != nil {
		return nil, misfit.List{}, err
	}
	var misfits misfit.List
	for _, bad := range m.Bad {
		misfits.Add(bad.Line, -1, []byte(bad.Found), "stored,original, but it "+bad.Problem.String())
	}
	return []Count{{"file name", len(m.Stored())}}, misfits, nil
}

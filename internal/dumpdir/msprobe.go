package dumpdir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/optype"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Folders of msprobe, after its source:
//
//	step{step}/rank{rank}|proc{pid}/dump.json, stack.json, construct.json
//	step{step}/rank{rank}|proc{pid}/dump_tensor_data/{api}.{input|output}.{index}.pt
//
// dump.json has the calls in execution order as the keys of its data, each with its
// tensors and with what else went in and came out.
var msprobeProducer = producer{name: MSProbe, locate: locateMSProbe, identify: identifyMSProbe, finish: finishMSProbe}

// dumpJSONs are the names of the list of operators.
var dumpJSONs = []string{msprobe.DumpName, msprobe.DebugName}

func locateMSProbe(p folderPath, f *Folder) (place, bool) {
	holds := f
	if path.Base(f.Dir) == msprobe.TensorFolder && f.parent != nil {
		holds, p = f.parent, p[:max(len(p)-1, 0)]
	}
	if dumpJSON(holds) == nil {
		return place{}, false
	}
	return locateAny(p), true
}

// dumpJSON returns the list of operators of a folder, nil if it has none.
func dumpJSON(f *Folder) *File {
	for _, file := range f.files {
		if slices.Contains(dumpJSONs, file.Name) {
			return file
		}
	}
	return nil
}

// Call is the call of a function or module as msprobe has it, or where the graph of
// MindSpore says that an operator comes from: then there is the Script alone.
type Call struct {
	msprobe.Entry
	// Script is the line of the user's script behind the call, as FILE:LINE; empty
	// when unknown. Stack are all lines.
	Script string
	Stack  []string
	// Modules are the modules around the call, the outermost first.
	Modules []string
}

// msprobeKinds are what stands between an operator and the place of a tensor.
var msprobeKinds = []struct {
	word string
	kind tensor.Kind
}{{".input", tensor.Input}, {".output", tensor.Output}, {".parameters", tensor.Parameter}, {".parameters_grad", tensor.Gradient}}

// identifyMSProbe reads names such as Functional.relu.0.forward.input.0.pt.
func identifyMSProbe(f *File) identity {
	if path.Base(f.Folder.Dir) != msprobe.TensorFolder || tensorfile.ContainerOf(f.Name) == nil && !strings.HasSuffix(f.Name, ".pt") {
		return identifyByName(f)
	}
	return cutMSProbe(strings.TrimSuffix(f.Name, path.Ext(f.Name)))
}

// cutMSProbe takes the name of a tensor apart: the operator, its entry in dump.json;
// the kind; the first number behind it; and what is left, such as the name of a
// parameter or the place in a nested value.
func cutMSProbe(stem string) identity {
	id := identity{role: Tensors, op: stem, kind: tensor.Output}
	at := -1
	for _, k := range msprobeKinds {
		i := strings.LastIndex(stem, k.word)
		if i <= 0 || i <= at {
			continue
		}
		rest, ok := strings.CutPrefix(stem[i+len(k.word):], ".")
		if !ok && rest != "" {
			continue
		}
		at = i
		id.op, id.kind = stem[:i], k.kind
		if k.kind == tensor.Gradient { // the entry is that of the gradients
			id.op = stem[:i+len(k.word)]
		}
		digits, after, _ := strings.Cut(rest, ".")
		n, err := strconv.ParseUint(digits, 10, 31)
		switch {
		case err != nil:
			id.index, id.slice = 0, rest
		case k.kind == tensor.Gradient:
			id.op, id.index, id.slice = id.op+"."+digits, 0, after
		default:
			id.index, id.slice = int(n), after
		}
	}
	return id
}

func finishMSProbe(r *reader, folders []*Folder) {
	for _, f := range folders {
		if file := dumpJSON(f); file != nil {
			d := &msprobeFolder{reader: r, folder: f, file: file, at: r.coordinatesOf(f, "")}
			d.read()
		}
	}
}

// msprobeFolder is the folder of a rank.
type msprobeFolder struct {
	*reader
	folder *Folder
	file   *File // dump.json
	at     *Coordinates
	calls  []*Call
	// tensors are the files of dump_tensor_data by their names, claimed those that
	// dump.json names.
	tensors map[string]*File
	claimed map[*File]bool
}

// read makes operators of the calls. A file that is refused leaves those that the
// names of the tensors have.
func (d *msprobeFolder) read() {
	var header msprobe.Header
	err := readSide(d.file.Path(), func(in io.Reader) (err error) {
		header, err = msprobe.Read(in, func(e *msprobe.Entry) { d.calls = append(d.calls, &Call{Entry: *e}) })
		return err
	})
	if err != nil {
		d.file.Err = fmt.Errorf("%s: %w", d.file.Name, err)
		if !errors.As(err, new(*msprobe.CutError)) {
			return
		}
	}
	if d.folder.given() { // the tensors lie beside it
		d.run.Single = false
	}
	d.readSides()
	d.findTensors()
	d.file.Role = Side
	names, tensors := make([]string, len(d.calls)), 0
	for _, c := range d.calls {
		tensors += len(c.Leaves)
	}
	d.entries = slices.Grow(d.entries, tensors)
	for i, c := range d.calls {
		names[i] = c.API
		for k := range c.Leaves {
			if l := &c.Leaves[k]; l.Tensor != nil {
				e := d.entry(header.Task, c, l)
				e.statistics.Spot = spotOf(c, i, k)
				if e.role == Table {
					d.file.Role = Table
				}
				d.entries = append(d.entries, e)
			}
		}
	}
	d.entries = slices.DeleteFunc(d.entries, func(e entry) bool { return e.call == nil && d.claimed[e.file] })
	d.msprobes = append(d.msprobes, msprobeDump{d.at, header, d.calls})
	if len(names) > 0 {
		fits := func(of *Folder) bool { return of == d.folder || of.parent == d.folder }
		d.addOrder(ByDumpJSON, sidefile.NewOrder(d.relative(d.file), names), fits)
	}
}

// readSides reads the stacks and modules of the calls, where there are any.
func (d *msprobeFolder) readSides() {
	stacks, parents := map[string]*msprobe.Stack{}, msprobe.Parents{}
	d.side(msprobe.StackName, func(in io.Reader) (err error) {
		stacks, err = msprobe.ReadStack(in)
		return err
	})
	d.side(msprobe.ConstructName, func(in io.Reader) (err error) {
		parents, err = msprobe.ReadConstruct(in)
		return err
	})
	for _, c := range d.calls {
		if s := stacks[c.API]; s != nil {
			c.Script, c.Stack = s.Script, s.Lines
		}
		c.Modules = parents.Modules(c.API)
	}
}

// side reads a file beside dump.json.
func (d *msprobeFolder) side(name string, read func(io.Reader) error) {
	where := store.Join(store.Dir(d.file.Path()), name)
	if info, err := store.Stat(where); err != nil || !info.Mode().IsRegular() {
		return
	}
	if err := readSide(where, read); err != nil {
		d.run.problem(BadSide, where, *d.at, err)
	}
}

// findTensors lists the files of dump_tensor_data.
func (d *msprobeFolder) findTensors() {
	d.tensors, d.claimed = make(map[string]*File), make(map[*File]bool)
	for _, f := range d.run.folders {
		if f.parent != d.folder || path.Base(f.Dir) != msprobe.TensorFolder {
			continue
		}
		for _, file := range f.files {
			d.tensors[file.Name] = file
		}
	}
}

// entry is a tensor of a call: its file where there is one, else what dump.json says
// of it.
func (d *msprobeFolder) entry(task string, c *Call, l *msprobe.Leaf) entry {
	e := entry{call: c, leaf: l, at: d.at, file: d.file, statistics: statisticsOf(l.Tensor)}
	first, slice, _ := strings.Cut(l.Path, ".")
	if _, err := strconv.ParseUint(first, 10, 31); err != nil {
		slice = l.Path
	}
	e.identity = identity{role: Table, op: c.API, kind: l.Kind, index: l.Index, slice: slice}
	if task == msprobe.TensorTask || l.Tensor.DataName != "" {
		if file := d.tensorFile(l); file != nil {
			e.role, e.file = Tensors, file
			d.claimed[file] = true
		}
	}
	return e
}

// tensorFile is the file of a tensor, nil for one without. One that is missing, or is
// none in the folder, has an error.
func (d *msprobeFolder) tensorFile(l *msprobe.Leaf) *File {
	name := l.Tensor.DataName
	if name == "" {
		return nil
	}
	if name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		bad := &File{Folder: d.folder, Name: l.Name, Role: Tensors, path: d.file.Path(), Err: fmt.Errorf("%s: data_name %.100q is not a file name", l.Name, name)}
		d.run.Files = append(d.run.Files, bad)
		return bad
	}
	if file := d.tensors[name]; file != nil {
		return file
	}
	where := store.Join(store.Dir(d.file.Path()), msprobe.TensorFolder, name)
	file := &File{Folder: d.folder, Name: name, Role: Tensors, path: where}
	info, err := store.Stat(where)
	if err == nil {
		_, err = store.Within(store.Dir(d.file.Path()), where)
	}
	switch {
	case !d.folder.given() || errors.Is(err, os.ErrNotExist):
		file.Err = fmt.Errorf("%s: the file of %s is missing: %w", d.file.Name, l.Name, os.ErrNotExist)
	case err != nil:
		file.Err = err
	default:
		file.Size = info.Size()
	}
	d.run.Files = append(d.run.Files, file)
	d.tensors[name] = file
	return file
}

// spotOf is where a call, which is at a place in the run, has a tensor.
func spotOf(c *Call, at, leaf int) Spot {
	l, typ := &c.Leaves[leaf], optype.OfCall(c.API)
	s := Spot{Tensor: strings.TrimPrefix(l.Name, c.API+"."), Call: at, Leaf: leaf, RequiresGrad: l.Tensor.RequiresGrad != nil && *l.Tensor.RequiresGrad}
	switch {
	case l.Kind == tensor.Input && typ.Buffer != optype.NoInput:
		inputs, beta := 0, 1.0
		for i := range c.Leaves {
			other := &c.Leaves[i]
			switch {
			case other.Tensor != nil && other.Kind == tensor.Input:
				inputs++
			case path.Ext("."+other.Path) == ".beta":
				beta = other.NumberOr(beta)
			}
		}
		s.Unread = typ.Buffer.Ignores(l.Index, inputs, beta)
	case l.Kind == tensor.Output && typ.Form == optype.Square:
		s.Exponent = 2
		for i := range c.Leaves {
			if other := &c.Leaves[i]; other.Tensor == nil && other.Kind == tensor.Input {
				s.Exponent = other.NumberOr(s.Exponent)
			}
		}
	}
	return s
}

// statisticsOf are the statistics of a tensor as other tables have them.
func statisticsOf(t *msprobe.Tensor) *Statistics {
	s := &Statistics{DType: t.ElementType(), Shape: t.Shape, Digest: t.Digest}
	for _, n := range []struct {
		what   Statistic
		number msprobe.Number
	}{{Max, t.Max}, {Min, t.Min}, {Mean, t.Mean}, {Norm, t.Norm}} {
		if n.number.Kind == jsonpos.Number || n.number.Kind == jsonpos.Bool {
			s.Values.Set(n.what, n.number.Value)
		}
	}
	return s
}

// msprobeDump is what dump.json has of a round.
type msprobeDump struct {
	at     *Coordinates
	header msprobe.Header
	calls  []*Call
}

// attachCalls gives a round the calls of the dump.json that is for it.
func (r *reader) attachCalls(round *Round) {
	for i := range r.msprobes {
		if d := &r.msprobes[i]; *d.at == round.At {
			round.Calls, round.Header = append(round.Calls, d.calls...), d.header
			if len(round.Calls) > len(d.calls) {
				continue // two processes with one rank and step
			}
			round.side.dumpFlow = flowOfCalls(d.calls)
		}
	}
}

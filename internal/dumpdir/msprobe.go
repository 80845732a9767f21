package dumpdir

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/graph"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
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
// The keys of data in dump.json are the calls in execution order, each with its tensors and other
// values. ptdbg_ascend, the tool before msprobe, wrote a line for each tensor:
//
//	step{step}/rank{rank}/dump.pkl, dump/{api}_{input|output}.{index}.npy
var msprobeProducer = producer{name: MSProbe, locate: locateMSProbe, identify: identifyMSProbe, finish: finishMSProbe}

// dumpJSONs are the names of the list of operators.
var dumpJSONs = []string{msprobe.DumpName, msprobe.DebugName}

func locateMSProbe(p folderPath, f *Folder) (pathMeaning, bool) {
	if holds := f.parent; holds != nil && dumpJSON(holds) != nil && path.Base(f.Dir) == tensorFolder(dumpJSON(holds).Name) {
		return locateAny(p[:max(len(p)-1, 0)]), true
	}
	return locateAny(p), dumpJSON(f) != nil
}

// tensorFolder is the name of the folder with the tensors of a list of calls.
func tensorFolder(list string) string {
	if stem, ok := strings.CutSuffix(list, msprobe.LinesExt); ok {
		return stem
	}
	return msprobe.TensorFolder
}

// dumpJSON returns the list of operators of a folder: dump.json, or the first file of another name
// with such content; nil for none.
func dumpJSON(f *Folder) *File {
	if !f.isListSearched {
		f.isListSearched = true
		for _, file := range f.files {
			if slices.Contains(dumpJSONs, file.Name) {
				f.list = file
				return file
			}
		}
		looked := 0
		for _, file := range f.files {
			if path.Ext(file.Name) == ".json" || isLines(file) || file.IsGiven() {
				looked++
			}
			if looked > maxLists {
				break
			}
			if isDumpJSON(file) {
				f.list = file
				break
			}
		}
	}
	return f.list
}

// maxLists is the number of files that dumpJSON looks into.
const maxLists = 64

// isLines reports whether a file has the name of a list of ptdbg_ascend, or of a pickle.
func isLines(f *File) bool { return path.Ext(f.Name) == msprobe.LinesExt }

// isDumpJSON reports whether a file has the content of a dump.json, or of a list of ptdbg_ascend.
func isDumpJSON(f *File) bool {
	if f.Err != nil || path.Ext(f.Name) != ".json" && !isLines(f) && !f.IsGiven() || slices.Contains([]string{msprobe.StackName, msprobe.ConstructName}, f.Name) {
		return false
	}
	head, err := readHead(f.Path(), msprobe.HeadBytes)
	return err == nil && (msprobe.IsDump(head) || isLines(f) && msprobe.HasLines(head))
}

// findOtherLists returns further files of a folder with the content of a dump.json, unless the list of
// the folder is a dump.json by name.
func findOtherLists(f *Folder) (names []string) {
	if slices.Contains(dumpJSONs, f.list.Name) {
		return nil
	}
	for _, file := range f.files {
		if file != f.list && isDumpJSON(file) {
			names = append(names, file.Name)
		}
	}
	return names
}

// Call is the call of a function or module in dump.json. For an operator of MindSpore it has the
// Script only, from the graph.
type Call struct {
	msprobe.Entry
	// NamesOnly: only file names describe the call; its arguments other than tensors are unknown.
	NamesOnly bool
	// Script is the line of the user's script behind the call, as FILE:LINE; empty
	// when unknown. Stack are all lines.
	Script string
	Stack  []string
	// Modules are the modules around the call, the outermost first.
	Modules []string
}

// msprobeKinds are the words between an operator and the place of a tensor.
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

// cutMSProbe splits the name of a tensor: the operator, which is its entry in dump.json; the kind;
// the index, which is the first number after it; and the rest, such as the name of a parameter or
// the place in a nested value.
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
		if k.kind == tensor.Gradient { // the entry has the word in its name
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
	claimed := make(map[*File]bool)
	for _, f := range folders {
		if file := dumpJSON(f); file != nil {
			d := &msprobeFolder{reader: r, folder: f, file: file, at: r.coordinatesOf(f, "", ""), claimed: claimed}
			d.addEntries()
			if others := findOtherLists(f); len(others) > 0 {
				r.run.addProblem(OtherLists, file.Path(), *d.at, lang.Errorf("other lists of calls are in the same folder: %s; give one of the files as the path", lang.FirstNames(others)))
			}
		}
	}
	r.entries = slices.DeleteFunc(r.entries, func(e *entry) bool { return e.call == nil && claimed[e.file] })
}

// msprobeFolder reads the folder of a rank.
type msprobeFolder struct {
	*reader
	folder *Folder
	file   *File // dump.json
	at     *Coordinates
	calls  []*Call
	// tensors are the files of dump_tensor_data by name. claimed are the files named in a
	// dump.json, in this folder or in another.
	tensors map[string]*File
	claimed map[*File]bool
	// named counts the tensors with a file name, missing the tensors whose file is missing and
	// replaced by statistics.
	named, missing int
	// impossible are impossible values in dump.json.
	impossible TableError
}

// readCalls reads dump.json.
func (d *msprobeFolder) readCalls(in io.Reader) (header msprobe.Header, err error) {
	at := make(map[string]int) // of the calls
	return msprobe.Read(in, func(e *msprobe.Entry) {
		i, again := at[e.API]
		if !again {
			at[e.API] = len(d.calls)
			d.calls = append(d.calls, &Call{Entry: *e})
			return
		}
		d.impossible.addAt(lang.Plain(e.API), 0, lang.Say("a second entry of this name"), lang.Say("want one: the last one counts, as in Python"))
		d.calls[i] = &Call{Entry: *e}
	})
}

// readLines reads the list of ptdbg_ascend. It names files also where only statistics were dumped.
func (d *msprobeFolder) readLines(in io.Reader) (msprobe.Header, error) {
	lines, err := msprobe.ReadLines(in, d.impossible.add)
	if err != nil {
		err = &msprobe.CutError{Entries: len(lines.Entries), Err: err}
	}
	header := msprobe.Header{Task: msprobe.TensorTask, Level: "L1", Framework: "pytorch"}
	if _, missing := store.Stat(store.Join(store.Dir(d.file.Path()), tensorFolder(d.file.Name))); missing != nil {
		header.Task = msprobe.StatisticsTask
	}
	for _, e := range lines.Entries {
		for i := range e.Leaves {
			if t := e.Leaves[i].Tensor; t != nil && header.Task == msprobe.StatisticsTask {
				t.DataName = ""
			}
		}
		c := &Call{Entry: *e}
		if s := lines.Stacks[e.API]; s != nil {
			c.Script, c.Stack = s.Script, s.Lines
		}
		d.calls = append(d.calls, c)
	}
	return header, err
}

// addEntries makes an entry for each tensor of the calls. If dump.json is unreadable, the entries from
// file names stay.
func (d *msprobeFolder) addEntries() {
	d.findTensors()
	var header msprobe.Header
	err := readSide(d.file.Path(), func(in io.Reader) (err error) {
		if isLines(d.file) {
			header, err = d.readLines(in)
		} else {
			header, err = d.readCalls(in)
		}
		return err
	})
	if err != nil {
		d.file.Err = lang.Errorf("%s: %w", d.file.Name, err)
		if !errors.As(err, new(*msprobe.CutError)) {
			return
		}
	}
	if d.folder.isGiven() { // the tensors are in files beside it
		d.run.Single = false
	}
	d.readSides()
	d.file.Role = Side
	names, tensors := make([]string, len(d.calls)), 0
	for _, c := range d.calls {
		tensors += len(c.Leaves)
	}
	entries := make([]entry, 0, tensors) // in one piece: a run has hundreds of thousands
	for i, c := range d.calls {
		names[i] = c.API
		for k := range c.Leaves {
			l := &c.Leaves[k]
			if l.Value != nil && !l.Value.Odd.IsZero() {
				d.impossible.addAt(lang.Plain(l.Name), 0, l.Value.Odd, lang.Say("left out"))
			}
			if l.Tensor != nil {
				e := d.newEntry(header.Task, c, l)
				e.statistics.Spot = positionOf(c, i, k)
				if e.role == Table {
					d.file.Role = Table
				}
				entries = append(entries, e)
				d.entries = append(d.entries, &entries[len(entries)-1])
			}
		}
	}
	if d.missing > 0 {
		d.run.addProblem(NoElements, d.file.Path(), *d.at, lang.Errorf("the files of %d of %d tensors are missing: their statistics are used", d.missing, d.named))
	}
	if err := d.impossible.nilIfEmpty(); err != nil {
		d.run.addProblem(BadSide, d.file.Path(), *d.at, err)
	}
	d.msprobes = append(d.msprobes, msprobeDump{d.at, d.file, header, d.calls})
	if len(names) > 0 {
		fits := func(of *Folder) bool { return of == d.folder || of.parent == d.folder }
		d.orders = append(d.orders, sideOrder{ByDumpJSON, sidefile.NewOrder(d.file.Name, names), fits})
	}
}

// readSides reads the stacks and modules of the calls, if there are any.
func (d *msprobeFolder) readSides() {
	stacks, parents := map[string]*msprobe.Stack{}, msprobe.Parents{}
	d.readSideFile(msprobe.SideName(d.file.Name, msprobe.StackName), func(in io.Reader) (err error) {
		stacks, err = msprobe.ReadStack(in)
		return err
	})
	d.readSideFile(msprobe.SideName(d.file.Name, msprobe.ConstructName), func(in io.Reader) (err error) {
		parents, err = msprobe.ReadConstruct(in)
		return err
	})
	around, first := 0, "" // calls inside themselves
	for _, c := range d.calls {
		if s := stacks[c.API]; s != nil {
			c.Script, c.Stack = s.Script, s.Lines
		}
		c.Modules = parents.Modules(c.API)
		if i := slices.Index(c.Modules, c.API); i >= 0 {
			c.Modules = c.Modules[i+1:]
			around++
			first = cmp.Or(first, c.API)
		}
	}
	if around > 0 {
		d.run.addProblem(BadSide, store.Join(store.Dir(d.file.Path()), msprobe.ConstructName), *d.at, lang.Errorf("%s is listed as its own module (%s)", first, lang.CountText(around, "call")))
	}
}

// readSideFile reads a file beside dump.json.
func (d *msprobeFolder) readSideFile(name string, read func(io.Reader) error) {
	where := store.Join(store.Dir(d.file.Path()), name)
	if info, err := store.Stat(where); err != nil || !info.Mode().IsRegular() {
		return
	}
	if err := readSide(where, read); err != nil {
		d.run.addProblem(BadSide, where, *d.at, err)
	}
}

// findTensors lists the files of dump_tensor_data.
func (d *msprobeFolder) findTensors() {
	d.tensors = make(map[string]*File)
	for _, f := range d.run.folders {
		if f.parent != d.folder || path.Base(f.Dir) != tensorFolder(d.file.Name) {
			continue
		}
		for _, file := range f.files {
			d.tensors[file.Name] = file
		}
	}
}

// newEntry is the entry of a tensor of a call: its file if there is one, else its statistics.
func (d *msprobeFolder) newEntry(task string, c *Call, l *msprobe.Leaf) entry {
	s, odd := statisticsOf(l.Tensor)
	if !odd.IsZero() {
		d.impossible.addAt(lang.Plain(l.Name), 0, odd, lang.Say("left out"))
	}
	e := entry{call: c, leaf: l, at: d.at, file: d.file, statistics: s}
	first, slice, _ := strings.Cut(l.Path, ".")
	if _, err := strconv.ParseUint(first, 10, 31); err != nil {
		slice = l.Path
	}
	e.identity = identity{role: Table, op: c.API, kind: l.Kind, index: l.Index, slice: slice}
	if task == msprobe.TensorTask || l.Tensor.DataName != "" {
		if file := d.findTensorFile(l, e.statistics); file != nil {
			e.role, e.file = Tensors, file
			d.claimed[file] = true
		}
	}
	return e
}

// findTensorFile is the file of a tensor, nil for a tensor without a file. A missing file is nil if
// the statistics can replace it; otherwise, or if the name leads out of the folder, the file has
// an error.
func (d *msprobeFolder) findTensorFile(l *msprobe.Leaf, known *Statistics) *File {
	name := l.Tensor.DataName
	if name == "" {
		return nil
	}
	d.named++
	if name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		bad := &File{Folder: d.folder, Name: l.Name, Role: Tensors, path: d.file.Path(), Err: lang.Errorf("%s: data_name %.100q is not a file name", l.Name, name)}
		d.run.Files = append(d.run.Files, bad)
		return bad
	}
	if file := d.tensors[name]; file != nil {
		return file
	}
	where := store.Join(store.Dir(d.file.Path()), tensorFolder(d.file.Name), name)
	file := &File{Folder: d.folder, Name: name, Role: Tensors, path: where}
	err := os.ErrNotExist
	if d.folder.isGiven() { // the files beside it are not listed
		var info fs.FileInfo
		if info, err = store.Stat(where); err == nil {
			file.Size = info.Size()
			_, err = store.ResolveWithin(store.Dir(d.file.Path()), where)
		}
	}
	switch {
	case errors.Is(err, os.ErrNotExist) && known.CanReplaceElements():
		d.missing++
		return nil
	case errors.Is(err, os.ErrNotExist):
		file.Err = lang.Errorf("%s: the file of %s is missing: %w", d.file.Name, l.Name, os.ErrNotExist)
	case err != nil:
		file.Err = err
	}
	d.run.Files = append(d.run.Files, file)
	d.tensors[name] = file
	return file
}

// positionOf returns the position of a leaf of a call; at is the index of the call in the run.
func positionOf(c *Call, at, leaf int) MSProbePosition {
	l, typ := &c.Leaves[leaf], recompute.TypeOfCall(c.API)
	s := MSProbePosition{Tensor: strings.TrimPrefix(l.Name, c.API+"."), Call: at, Leaf: leaf, RequiresGrad: l.Tensor.RequiresGrad != nil && *l.Tensor.RequiresGrad}
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
	case l.Kind == tensor.Output && typ.NoiseWay() == optype.NoiseGarbage:
		s.Unwritten = true
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

// statisticsOf converts the statistics of a tensor. odd describes an impossible value, which was
// dropped; empty for none.
func statisticsOf(t *msprobe.Tensor) (s *Statistics, odd lang.Sentence) {
	s, odd = &Statistics{DType: t.ElementType(), Shape: t.Shape, Digest: t.Digest}, t.Odd
	if t.DType == "" {
		odd = cmp.Or(odd, lang.Say("no dtype"))
	}
	finite := cmp.Or(t.Finite, new(msprobe.Extremes))
	for _, n := range []struct {
		what   Statistic
		number *msprobe.Number
	}{{Max, &t.Max}, {Min, &t.Min}, {Mean, &t.Mean}, {Norm, &t.Norm}, {FiniteMax, &finite.Max}, {FiniteMin, &finite.Min}} {
		switch kind := n.number.Kind; {
		case kind == jsonpos.Number, kind == jsonpos.Bool && (s.DType == tensor.Bool || s.DType == tensor.Undefined):
			v := n.number.Value
			if n.what == Norm && s.Shape != nil && len(s.Shape) == 0 { // msprobe writes the element of a scalar
				v = math.Abs(v)
			}
			s.Values.Set(n.what, v)
		case kind == jsonpos.Bool:
			odd = cmp.Or(odd, lang.Say("%s of %s is a boolean", n.what, s.DType))
		case kind == jsonpos.String:
			odd = cmp.Or(odd, lang.Say("%s is %.40q, no number", n.what, n.number.Text))
		}
	}
	if s.Digest != "" && !digest().MatchString(s.Digest) {
		odd = cmp.Or(odd, lang.Say("md5 %.80q is no digest", s.Digest))
		s.Digest = ""
	}
	return s, cmp.Or(odd, s.dropImpossible())
}

// digest is the form of a digest: CRC-32, a checksum of 64 bits, MD5, SHA-1 or SHA-256.
var digest = lang.Pattern(`^([0-9a-fA-F]{8}|0x[0-9a-fA-F]{16}|[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$`)

// msprobeDump is the content of a dump.json.
type msprobeDump struct {
	at     *Coordinates
	file   *File
	header msprobe.Header
	calls  []*Call
}

// attachCalls gives a round the calls of its dump.json.
func (r *reader) attachCalls(round *Round) {
	for i := range r.msprobes {
		if d := &r.msprobes[i]; *d.at == round.At {
			round.Calls, round.Header = append(round.Calls, d.calls...), d.header
			if len(round.Calls) > len(d.calls) {
				continue // a second process with the same rank and step
			}
			if round.sideSources.dumpFlow = flowOfCalls(d.calls); round.sideSources.dumpFlow != nil {
				round.sideSources.dumpFlow.Source = equalTensorsSource + d.file.Name
			}
		}
	}
}

// equalTensorsSource is the source of a data flow from a list of calls, before the name of the file.
const equalTensorsSource = "equal tensors of "

// flowOfCalls infers the data flow between calls: the producer of an input is the last earlier
// call with an equal output, by digest, or by type, shape and statistics. A module is a producer
// only if no function has the output. Calls with inputs but without a known producer are left
// out.
func flowOfCalls(calls []*Call) *graph.Graph {
	made := make(map[contentKey]graph.Producer, len(calls))
	byModule := make(map[contentKey]graph.Producer)
	var ops []graph.Op
	found := false
	for _, c := range calls {
		op := graph.Op{Name: c.API}
		tensors := 0
		for i := range c.Leaves {
			l := &c.Leaves[i]
			if l.Tensor == nil || !l.Kind.IsInput() {
				continue
			}
			tensors++
			m := contentKeyOf(l.Tensor)
			from, ok := made[m]
			if !ok {
				from, ok = byModule[m]
			}
			if ok {
				op.Inputs = append(op.Inputs, from)
				found = true
			}
		}
		if tensors == 0 || len(op.Inputs) > 0 {
			ops = append(ops, op)
		}
		to := made
		if msprobe.IsModule(c.API) {
			to = byModule
		}
		for i := range c.Leaves {
			l := &c.Leaves[i]
			if l.Tensor == nil || l.Kind.IsInput() {
				continue
			}
			if m := contentKeyOf(l.Tensor); m != (contentKey{}) {
				to[m] = graph.Producer{Op: c.API, Output: l.Index}
			}
		}
	}
	if !found {
		return nil
	}
	return graph.New(ops)
}

// contentKey identifies the elements of a tensor: by digest, else by type, shape and statistics.
type contentKey struct {
	digest, dtype string
	shape         uint64 // a hash
	statistics    [4]uint64
}

// contentKeyOf returns the key of a tensor, the zero value if too little is known. Tensors with
// norm 0 have no key: many tensors are all zero.
func contentKeyOf(t *msprobe.Tensor) contentKey {
	const prime = 1099511628211 // of FNV-1a
	m := contentKey{shape: 14695981039346656037}
	for _, d := range t.Shape {
		m.shape = (m.shape ^ uint64(d)) * prime
	}
	if t.Digest != "" {
		m.digest = t.Digest
		return m
	}
	if n := &t.Norm; n.Kind != jsonpos.Number || n.Value == 0 || math.IsInf(n.Value, 0) || math.IsNaN(n.Value) || t.Mean.Kind != jsonpos.Number {
		return contentKey{}
	}
	m.dtype = t.DType
	for i, n := range []*msprobe.Number{&t.Max, &t.Min, &t.Mean, &t.Norm} {
		m.statistics[i] = math.Float64bits(n.Value)
	}
	return m
}

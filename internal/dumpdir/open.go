package dumpdir

import (
	"cmp"
	"context"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lists"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Open lists the files at the paths, usually one path, as a run. Unreadable files and folders are
// problems of the run or errors of its files. Open itself fails only if ctx ends or a source of
// the order that the user asked for is missing.
func Open(ctx context.Context, paths []string, opt Options) (*Run, error) {
	r := &reader{run: &Run{Paths: paths}, at: make(map[folderDevice]*Coordinates), attributes: opt.Attributes}
	if err := r.run.listPaths(ctx, opt); err != nil {
		return nil, err
	}
	r.setCoordinates()
	r.setRoles(opt.NoRaw)
	r.readSideFiles()
	r.groupRounds()
	switch {
	case !opt.Graphs || opt.IR == NoIR:
	case opt.IR != "":
		r.attachUserGraphs(opt.IR)
	default:
		r.attachGraphs()
	}
	r.run.findCoordinates()
	r.run.findProblems()
	return r.run, r.run.SortOperators(opt.Sources)
}

// reader makes a run of listed files.
type reader struct {
	run     *Run
	entries []*entry
	orders  []sideOrder
	// msprobes are the contents of the dump.json files of msprobe.
	msprobes []msprobeDump
	// software is software in files of MindSpore, by the rank of their folder.
	software []rankSoftware
	at       map[folderDevice]*Coordinates
	// attributes keeps the attributes of operators in graphs.
	attributes bool
}

type folderDevice struct {
	folder       *Folder
	device, step string
}

// entry is a tensor, or a file with several, before it is in a round.
type entry struct {
	identity
	file       *File
	at         *Coordinates // coordinates of the folder, shared
	statistics *Statistics
	execution  int
	// call and leaf are the call and the tensor in dump.json, nil for none.
	call *Call
	leaf *msprobe.Leaf
}

// sideOrder is an order in the run, and a predicate for its folders.
type sideOrder struct {
	by    OrderSource
	order *sidefile.Order
	fits  func(*Folder) bool
}

// rootFolders is the number of last folders of a given path that may have coordinates of its
// round.
const rootFolders = 8

// setCoordinates sets producer and coordinates of each folder, from its path below the given path. If no
// folder has a coordinate, it tries again with the last folders of the given path.
func (r *reader) setCoordinates() {
	known := false
	for _, f := range r.run.folders {
		r.locateFolder(f, parsePath(f.Dir))
		known = known || f.At.IsKnown()
	}
	if known {
		return
	}
	for _, f := range r.run.folders {
		if p, ok := absolutePath(f); ok {
			r.locateFolder(f, p)
		}
	}
}

// absolutePath returns the end of the absolute path of a folder. Folders above the dump have no
// meaning, whatever their names: a dump may lie in a checkout named rank49. A plain number above a
// start time is a step only below the given path.
func absolutePath(f *Folder) (folderPath, bool) {
	abs, err := store.Abs(f.Path)
	if err != nil {
		return nil, false
	}
	written := store.Clean(f.Path)
	if f.isGiven() {
		abs, written = store.Dir(abs), store.Dir(written)
	}
	if archive, name, ok := store.SplitArchive(abs); ok { // an archive is named after the packed folder
		abs = store.Join(strings.TrimSuffix(archive, archiveExt(archive)), name)
	}
	p := parsePath(filepath.ToSlash(abs))
	given := max(0, len(p)-1-len(parsePath(f.Dir)))
	for i := range p[:p.dumpRoot(given, len(p)-countNames(written))] {
		p[i].Kind = filename.OtherFolder
	}
	p, given = p[max(0, given+1-rootFolders):], min(given, rootFolders-1)
	for i := range p[:min(given+1, len(p))] {
		if p[i].Kind == filename.NumberFolder && p.at(i+1).Kind == filename.TimeFolder {
			p[i].Kind = filename.OtherFolder
		}
	}
	return p, true
}

// countNames counts the folder names in a path as the user wrote it: 2 in ../a/b, 0 in . and all
// folders of an absolute path.
func countNames(written string) int {
	return lists.Count(parsePath(filepath.ToSlash(written)), func(folder filename.Folder) bool { return folder.Name != "." && folder.Name != ".." })
}

// dumpRoot returns the index of the outermost folder of the dump. From folder number given it goes
// up while the parent has a meaning, such as a rank, or is a model name between a graph and a rank,
// but not above the folders that the user wrote.
func (p folderPath) dumpRoot(given, written int) int {
	hasMeaning := func(i int) bool {
		return p.at(i).Kind != filename.OtherFolder || atbOp().MatchString(p.at(i).Name)
	}
	root := given
	for root > max(0, written) && (hasMeaning(root-1) || p.at(root).Kind == filename.NumberFolder && hasMeaning(root-2)) {
		root--
	}
	return min(root, len(p))
}

// archiveExt is the extension of an archive, such as .tar.gz.
func archiveExt(name string) string {
	ext := path.Ext(name)
	if inner := path.Ext(strings.TrimSuffix(name, ext)); inner == ".tar" {
		return inner + ext
	}
	return ext
}

func (r *reader) locateFolder(f *Folder, p folderPath) {
	for i := range producers {
		if at, ok := producers[i].locate(p, f); ok {
			f.producer, f.Producer, f.At, f.start, f.op, f.isSideFolder = &producers[i], producers[i].name, at.at, at.start, at.op, at.isSideFolder
			return
		}
	}
}

// setRoles sets the role of every file. With noRaw, raw files hold no tensors.
func (r *reader) setRoles(noRaw bool) {
	converted := false
	r.entries = slices.Grow(r.entries, len(r.run.Files)) // usually all are tensors
	for _, f := range r.run.Files {
		id := f.Folder.contentOf(f)
		switch {
		case id.mayBeNamed && tensorfile.IsNamed(f.Path()):
			id.raw, id.kind = false, ""
		case id.raw && noRaw:
			id = identity{}
		}
		f.Role = id.role
		converted = converted || id.source != "" || safetensorsOrigin(f.Name) != ""
		at := r.coordinatesOf(f.Folder, id.device, id.step)
		switch id.role {
		case Overflow:
			r.run.Records = append(r.run.Records, Record{f, *at})
		case Tensors, Table:
			r.entries = append(r.entries, &entry{identity: id, file: f, at: at})
		}
	}
	if !converted {
		return
	}
	originals := make(map[string][]*Folder) // folders of unconverted files, by name
	for _, e := range r.entries {
		if e.role == Tensors && e.source == "" {
			originals[e.file.Name] = append(originals[e.file.Name], e.file.Folder)
		}
	}
	for _, o := range r.run.Records {
		if filename.Parse(o.File.Name).Source == "" {
			originals[o.File.Name] = append(originals[o.File.Name], o.File.Folder)
		}
	}
	isMade := func(f *File, source string) bool {
		source = cmp.Or(source, safetensorsOrigin(f.Name))
		if source != "" && isProduct(f.Folder, originals[source]) {
			f.Role = Product
		}
		return f.Role == Product
	}
	r.entries = slices.DeleteFunc(r.entries, func(e *entry) bool { return isMade(e.file, e.source) })
	r.run.Records = slices.DeleteFunc(r.run.Records, func(o Record) bool { return isMade(o.File, filename.Parse(o.File.Name).Source) })
}

// safetensorsOrigin returns the name of the dump from which a safetensors file was converted; empty
// for other files.
func safetensorsOrigin(name string) string {
	if source, ok := strings.CutSuffix(name, ".safetensors"); ok {
		return source
	}
	return ""
}

// contentOf identifies the content of a file by its name and folder.
func (f *Folder) contentOf(file *File) identity {
	switch {
	case f.isSideFolder:
		return identity{role: Side}
	case f.producer.identify != nil:
		return f.producer.identify(file)
	}
	return identifyByName(file)
}

// coordinatesOf returns the coordinates of tensors in a folder. device and step are in the file
// name, empty for none; they are the rank and the step of a folder without one.
func (r *reader) coordinatesOf(f *Folder, device, step string) *Coordinates {
	if f.At.Rank != "" {
		device = ""
	}
	if f.At.Step != "" {
		step = ""
	}
	k := folderDevice{f, device, step}
	if at := r.at[k]; at != nil {
		return at
	}
	at := f.At
	at.Rank, at.Step = cmp.Or(at.Rank, device), cmp.Or(at.Step, step)
	r.at[k] = &at
	return &at
}

// isProduct reports whether a file in f was converted from a file of the same name in one of
// others: in f itself, in a folder of the same round, or, if f is a folder of outputs without
// coordinates, in any folder.
func isProduct(f *Folder, others []*Folder) bool {
	return slices.ContainsFunc(others, func(o *Folder) bool {
		a, b := f.At.withoutFolder(), o.At.withoutFolder()
		return f == o || a == Coordinates{} || a == b
	})
}

// readSideFiles lets every producer read its side files.
func (r *reader) readSideFiles() {
	for _, p := range producers {
		folders := lists.Filter(r.run.folders, func(f *Folder) bool { return f.Producer == p.name })
		if len(folders) == 0 {
			continue
		}
		if slices.ContainsFunc(folders, func(f *Folder) bool { return len(f.files) > 0 }) {
			r.run.Producers = append(r.run.Producers, p.name)
		}
		if p.finish != nil {
			p.finish(r, folders)
		}
	}
}

// relativePath returns the path of a file in messages.
func (r *reader) relativePath(f *File) string { return path.Join(f.Folder.Dir, f.Name) }

// readOrder reads an order in the run. It uses the readable part of a cut file.
func (r *reader) readOrder(file *File, by OrderSource, read func(io.Reader, string) (*sidefile.Order, error), fits func(*Folder) bool) {
	var order *sidefile.Order
	err := readSide(file.Path(), func(in io.Reader) (err error) {
		order, err = read(in, r.relativePath(file))
		return err
	})
	if err != nil {
		r.run.addProblem(BadSide, file.Path(), file.Folder.At, err)
	}
	if order != nil {
		r.orders = append(r.orders, sideOrder{by, order, fits})
	}
}

// readTable reads a table of statistics. identify returns the operator of a row.
func (r *reader) readTable(file *File, identify func(*statisticRow) identity) {
	file.Role = Table
	err := readSide(file.Path(), func(in io.Reader) error {
		return readStatistics(in, func(s *statisticRow) {
			id := identify(s)
			id.role, id.kind, id.index = Table, s.kind, s.index
			statistics := s.Statistics
			statistics.File = file
			r.entries = append(r.entries, &entry{identity: id, file: file, at: r.coordinatesOf(file.Folder, "", ""), statistics: &statistics})
		})
	})
	if err != nil {
		r.run.addProblem(BadSide, file.Path(), file.Folder.At, err)
	}
}

// groupRounds sorts the entries into rounds.
func (r *reader) groupRounds() {
	r.shortenFolders()
	rounds := make(map[Coordinates]*roundBuilder)
	builders := make(map[*Coordinates]*roundBuilder)
	for _, e := range r.entries {
		b := builders[e.at]
		if b == nil {
			if b = rounds[*e.at]; b == nil {
				b = &roundBuilder{at: *e.at, byName: make(map[opKey]*opBuilder)}
				rounds[*e.at] = b
			}
			builders[e.at] = b
		}
		b.add(e)
	}
	r.entries = nil
	for _, b := range rounds {
		r.run.Rounds = append(r.run.Rounds, b.finish(r))
	}
	slices.SortFunc(r.run.Rounds, func(a, b *Round) int { return a.At.Compare(b.At) })
}

// roundBuilder makes the operators of a round.
type roundBuilder struct {
	at      Coordinates
	folders []*Folder
	ops     []*opBuilder
	// byName has operators by their names. fileNames has the first fileNamed of them by their
	// normalised names.
	byName, fileNames map[opKey]*opBuilder
	fileNamed         int
}

type opKey struct{ name, opType string }

// opBuilder has the entries of all executions of an operator, under the name of the first entry.
type opBuilder struct {
	name, opType string
	entries      []*entry
}

func (b *roundBuilder) add(e *entry) {
	if f := e.file.Folder; len(b.folders) == 0 || b.folders[len(b.folders)-1] != f {
		b.folders = append(b.folders, f)
	}
	op := b.byName[opKey{e.op, e.opType}]
	if op == nil && e.statistics != nil { // names in tables have slashes, file names do not
		op = b.findByFileName(e)
	}
	if op == nil {
		op = &opBuilder{name: e.op, opType: e.opType}
		b.byName[opKey{e.op, e.opType}] = op
		b.ops = append(b.ops, op)
	}
	op.entries = append(op.entries, e)
}

// findByFileName returns the last operator whose normalised name is the name of an entry, nil for none.
func (b *roundBuilder) findByFileName(e *entry) *opBuilder {
	if b.fileNames == nil {
		b.fileNames = make(map[opKey]*opBuilder, len(b.ops))
	}
	for _, op := range b.ops[b.fileNamed:] {
		b.fileNames[opKey{filename.Normalise(op.name), op.opType}] = op
	}
	b.fileNamed = len(b.ops)
	return b.fileNames[opKey{filename.Normalise(e.op), e.opType}]
}

func (b *roundBuilder) finish(r *reader) *Round {
	round := &Round{At: b.at, folders: b.folders}
	for _, op := range b.ops {
		round.Ops = append(round.Ops, op.splitExecutions()...)
	}
	r.attachOrders(round)
	r.attachCalls(round)
	r.attachSoftware(round)
	return round
}

// slot is the place of a tensor in an operator.
type slot struct {
	kind  tensor.Kind
	index int
	slice string
	table bool
}

func (e *entry) slot() slot { return slot{e.kind, e.index, e.slice, e.role == Table} }

func (e *entry) tensor() Tensor {
	return Tensor{Kind: e.kind, Index: e.index, Slice: e.slice, File: e.file, Statistics: e.statistics, Leaf: e.leaf, Table: e.role == Table}
}

// splitExecutions splits the tensors of an operator: the k-th file of each tensor, by time, belongs to
// the k-th execution, files without a time to the first. Statistics of a table go to the tensor
// if its file exists.
func (b *opBuilder) splitExecutions() []*Op {
	entries := b.entries
	slices.SortStableFunc(entries, func(x, y *entry) int {
		return cmp.Or(cmp.Compare(x.Timestamp, y.Timestamp), cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Task, y.Task))
	})
	var ops []*Op
	seen := make(map[slot]int)
	tables := make([]*entry, 0)
	add := func(e *entry, k int) *Op {
		for len(ops) <= k {
			op := &Op{Name: b.name, Type: b.opType, Moment: e.Moment, Call: e.call}
			op.Timestamp = 0
			ops = append(ops, op)
		}
		if op := ops[k]; op.Timestamp == 0 {
			op.Timestamp = e.Timestamp
		}
		return ops[k]
	}
	for _, e := range entries {
		s := e.slot()
		k := seen[s]
		if e.Timestamp > 0 || e.Seq > 0 {
			seen[s]++
		}
		if s.table && e.kind != "" && e.leaf == nil { // entries of dump.json have their statistics already
			tables = append(tables, e)
			e.execution = k
			continue
		}
		op := add(e, k)
		op.Tensors = append(op.Tensors, e.tensor())
	}
	for _, e := range tables {
		op := add(e, e.execution)
		if i := slices.IndexFunc(op.Tensors, func(t Tensor) bool { return t.Kind == e.kind && t.Index == e.index && !t.Table }); i >= 0 {
			op.Tensors[i].Statistics = e.statistics
			continue
		}
		op.Tensors = append(op.Tensors, e.tensor())
	}
	for k, op := range ops {
		if len(ops) > 1 {
			op.Execution = k + 1
		}
		slices.SortStableFunc(op.Tensors, func(x, y Tensor) int {
			return cmp.Or(strings.Compare(string(x.Kind), string(y.Kind)), cmp.Compare(x.Index, y.Index), strings.Compare(x.Slice, y.Slice))
		})
		if cap(op.Tensors) > len(op.Tensors) {
			op.Tensors = slices.Clone(op.Tensors) // drops the spare capacity
		}
	}
	return ops
}

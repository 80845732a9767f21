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
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Open lists what is at the paths, usually one, as a run. What cannot be read is a
// problem of the run or the error of a file; the error is that of ctx, or of a
// source that was asked for and is missing.
func Open(ctx context.Context, paths []string, opt Options) (*Run, error) {
	r := &reader{run: &Run{Paths: paths}, at: make(map[folderDevice]*Coordinates), attributes: opt.Attributes}
	if err := r.run.walk(ctx, opt); err != nil {
		return nil, err
	}
	r.locate()
	r.identify(opt.NoRaw)
	r.finish()
	r.group()
	switch {
	case !opt.Graphs || opt.IR == NoIR:
	case opt.IR != "":
		r.attachGiven(opt.IR)
	default:
		r.attachGraphs()
	}
	r.run.findKnown()
	r.run.findProblems()
	return r.run, r.run.Arrange(opt.Sources)
}

// reader makes a run of listed files.
type reader struct {
	run     *Run
	entries []entry
	orders  []sideOrder
	// msprobes are what the dump.json files of msprobe have.
	msprobes []msprobeDump
	// software is what files of MindSpore say, by the rank of their folder.
	software []rankSoftware
	at       map[folderDevice]*Coordinates
	// attributes are kept of the operators in graphs.
	attributes bool
}

type folderDevice struct {
	folder *Folder
	device string
}

// entry is a tensor, or a file of several, before it belongs to a round.
type entry struct {
	identity
	file       *File
	at         *Coordinates // of its folder, shared
	statistics *Statistics
	execution  int
	// call and leaf are those of dump.json, nil for a tensor that it does not have.
	call *Call
	leaf *msprobe.Leaf
}

// sideOrder is an order that lies in the run, and the folders that it is for.
type sideOrder struct {
	by    OrderBy
	order *sidefile.Order
	fits  func(*Folder) bool
}

// rootFolders is how many of the last folders of a given path may say which round
// it is, where no folder below it does.
const rootFolders = 8

// locate finds out who wrote each folder and what its path stands for: the path
// below the one that was given, and only where none of the folders says any
// coordinate, the last folders of that one too.
func (r *reader) locate() {
	known := false
	for _, f := range r.run.folders {
		r.locateFolder(f, parsePath(f.Dir))
		known = known || f.At.Known()
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

// absolutePath is the end of the whole path of a folder. A plain number above a
// start time is a step only below the path that was given.
func absolutePath(f *Folder) (folderPath, bool) {
	abs, err := store.Abs(f.Path)
	if err != nil {
		return nil, false
	}
	if f.given() {
		abs = store.Dir(abs)
	}
	if archive, name, ok := store.InArchive(abs); ok { // it is called as the folder that was packed
		abs = store.Join(strings.TrimSuffix(archive, archiveExt(archive)), name)
	}
	p := parsePath(filepath.ToSlash(abs))
	below := len(parsePath(f.Dir))
	p = p[max(0, len(p)-below-rootFolders):]
	for i := range p[:len(p)-below] {
		if p[i].Kind == filename.NumberFolder && p.at(i+1).Kind == filename.TimeFolder {
			p[i].Kind = filename.OtherFolder
		}
	}
	return p, true
}

// archiveExt is the ending of the name of an archive.
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
			f.producer, f.Producer, f.At, f.start, f.op, f.side = &producers[i], producers[i].name, at.at, at.start, at.op, at.side
			return
		}
	}
}

// identify finds out what every file is for. Raw files may hold no tensors.
func (r *reader) identify(noRaw bool) {
	converted := false
	r.entries = slices.Grow(r.entries, len(r.run.Files)) // most often all of them are tensors
	for _, f := range r.run.Files {
		id := f.Folder.identify(f)
		switch {
		case id.mayBeNamed && tensorfile.IsNamed(f.Path()):
			id.raw, id.kind = false, ""
		case id.raw && noRaw:
			id = identity{}
		}
		f.Role = id.role
		converted = converted || id.source != "" || sourceOfAll(f.Name) != ""
		at := r.coordinatesOf(f.Folder, id.device)
		switch id.role {
		case Overflow:
			r.run.Records = append(r.run.Records, Record{f, *at})
		case Tensors, Table:
			r.entries = append(r.entries, entry{identity: id, file: f, at: at})
		}
	}
	if !converted {
		return
	}
	originals := make(map[string][]*Folder) // of which others may be converted
	for i := range r.entries {
		if e := &r.entries[i]; e.role == Tensors && e.source == "" {
			originals[e.file.Name] = append(originals[e.file.Name], e.file.Folder)
		}
	}
	for _, o := range r.run.Records {
		if filename.Parse(o.File.Name).Source == "" {
			originals[o.File.Name] = append(originals[o.File.Name], o.File.Folder)
		}
	}
	isMade := func(f *File, source string) bool {
		source = cmp.Or(source, sourceOfAll(f.Name))
		if source != "" && isProduct(f.Folder, originals[source]) {
			f.Role = Product
		}
		return f.Role == Product
	}
	r.entries = slices.DeleteFunc(r.entries, func(e entry) bool { return isMade(e.file, e.source) })
	r.run.Records = slices.DeleteFunc(r.run.Records, func(o Record) bool { return isMade(o.File, filename.Parse(o.File.Name).Source) })
}

// sourceOfAll is the file whose tensors are all in the one with a name, which convert
// has made of it; empty for a name of another kind.
func sourceOfAll(name string) string {
	source, ok := strings.CutSuffix(name, ".safetensors")
	if !ok {
		return ""
	}
	return source
}

// identify says what a file of the folder holds.
func (f *Folder) identify(file *File) identity {
	switch {
	case f.side:
		return identity{role: Side}
	case f.producer.identify != nil:
		return f.producer.identify(file)
	}
	return identifyByName(file)
}

// coordinatesOf returns the coordinates of the tensors in a folder of which the
// names have a device, or not.
func (r *reader) coordinatesOf(f *Folder, device string) *Coordinates {
	if f.At.Rank != "" {
		device = ""
	}
	k := folderDevice{f, device}
	if at := r.at[k]; at != nil {
		return at
	}
	at := f.At
	at.Rank = cmp.Or(at.Rank, device)
	r.at[k] = &at
	return &at
}

// isProduct reports whether a file in a folder was made from a file of the same
// name in one of others: it lies beside it, in a folder of the same round, or in
// one of outputs, which says no round.
func isProduct(f *Folder, others []*Folder) bool {
	return slices.ContainsFunc(others, func(o *Folder) bool {
		a, b := f.At.withoutFolder(), o.At.withoutFolder()
		return f == o || a == Coordinates{} || a == b
	})
}

// finish lets every producer read its side files.
func (r *reader) finish() {
	for _, p := range producers {
		var folders []*Folder
		for _, f := range r.run.folders {
			if f.Producer == p.name {
				folders = append(folders, f)
			}
		}
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

// relative names a file in messages.
func (r *reader) relative(f *File) string { return path.Join(f.Folder.Dir, f.Name) }

// readOrder reads an order in the run. Of one that is cut, what there is counts.
func (r *reader) readOrder(file *File, by OrderBy, read func(io.Reader, string) (*sidefile.Order, error), fits func(*Folder) bool) {
	var order *sidefile.Order
	err := readSide(file.Path(), func(in io.Reader) (err error) {
		order, err = read(in, r.relative(file))
		return err
	})
	if err != nil {
		r.run.problem(BadSide, file.Path(), file.Folder.At, err)
	}
	if order != nil {
		r.addOrder(by, order, fits)
	}
}

func (r *reader) addOrder(by OrderBy, order *sidefile.Order, fits func(*Folder) bool) {
	r.orders = append(r.orders, sideOrder{by, order, fits})
}

// readTable reads a table of statistics; identify says which operator a row is of.
func (r *reader) readTable(file *File, identify func(*statisticRow) identity) {
	file.Role = Table
	err := readSide(file.Path(), func(in io.Reader) error {
		return readStatistics(in, func(s *statisticRow) {
			id := identify(s)
			id.role, id.kind, id.index = Table, s.kind, s.index
			statistics := s.Statistics
			statistics.File = file
			r.entries = append(r.entries, entry{identity: id, file: file, at: r.coordinatesOf(file.Folder, ""), statistics: &statistics})
		})
	})
	if err != nil {
		r.run.problem(BadSide, file.Path(), file.Folder.At, err)
	}
}

// group makes rounds of the entries.
func (r *reader) group() {
	r.shortenFolders()
	rounds := make(map[Coordinates]*roundBuilder)
	of := make(map[*Coordinates]*roundBuilder)
	for i := range r.entries {
		e := &r.entries[i]
		b := of[e.at]
		if b == nil {
			if b = rounds[*e.at]; b == nil {
				b = &roundBuilder{at: *e.at, byName: make(map[opKey]*opBuilder)}
				rounds[*e.at] = b
			}
			of[e.at] = b
		}
		b.add(e)
	}
	r.entries = nil
	for _, b := range rounds {
		r.run.Rounds = append(r.run.Rounds, b.finish(r))
	}
	slices.SortFunc(r.run.Rounds, func(a, b *Round) int { return a.At.Compare(b.At) })
}

// shortenFolders leaves of the folders that no coordinate stands for only what
// distinguishes rounds: nothing, unless the same tensor lies in several of them.
func (r *reader) shortenFolders() {
	folders := make(map[Coordinates][]string) // by the other coordinates
	seen := make(map[*Coordinates]bool)
	for i := range r.entries {
		if at := r.entries[i].at; !seen[at] {
			seen[at] = true
			rest := at.withoutFolder()
			folders[rest] = append(folders[rest], at.Folder)
		}
	}
	common := make(map[Coordinates]int)
	for at := range r.repeated(folders) {
		common[at] = commonFolders(folders[at])
	}
	for at := range seen {
		folder := at.Folder
		at.Folder = ""
		if n, ok := common[*at]; ok {
			at.Folder = cutFolders(folder, n)
		}
	}
}

// repeated returns the rounds of which several folders hold the same tensor.
func (r *reader) repeated(folders map[Coordinates][]string) map[Coordinates]bool {
	type key struct {
		at         Coordinates
		op, opType string
		slot
	}
	repeated := make(map[Coordinates]bool)
	several := make(map[*Coordinates]bool)
	for _, at := range r.at {
		several[at] = len(folders[at.withoutFolder()]) > 1
	}
	seen := make(map[key]string)
	for i := range r.entries {
		e := &r.entries[i]
		if !several[e.at] {
			continue
		}
		rest := e.at.withoutFolder()
		k := key{rest, e.op, e.opType, e.slot()}
		if other, ok := seen[k]; ok && other != e.at.Folder {
			repeated[rest] = true
		}
		seen[k] = e.at.Folder
	}
	return repeated
}

// commonFolders returns how many folders all paths begin with.
func commonFolders(paths []string) int {
	common := strings.Split(paths[0], "/")
	for _, p := range paths[1:] {
		parts := strings.Split(p, "/")
		n := 0
		for n < min(len(common), len(parts)) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	return len(common)
}

func cutFolders(p string, n int) string {
	for range n {
		_, p, _ = strings.Cut(p, "/")
	}
	return p
}

// roundBuilder makes the operators of a round.
type roundBuilder struct {
	at      Coordinates
	folders []*Folder
	ops     []*opBuilder
	// byName finds operators by their names, fileNames the first fileNamed of them by those
	// as file names have them.
	byName, fileNames map[opKey]*opBuilder
	fileNamed         int
}

type opKey struct{ name, opType string }

// opBuilder is all executions of an operator, under the name that its first entry
// has.
type opBuilder struct {
	name, opType string
	entries      []*entry
}

func (b *roundBuilder) add(e *entry) {
	if f := e.file.Folder; len(b.folders) == 0 || b.folders[len(b.folders)-1] != f {
		b.folders = append(b.folders, f)
	}
	op := b.byName[opKey{e.op, e.opType}]
	if op == nil && e.statistics != nil { // tables have the slashes of a name that the names of files lack
		op = b.byFileName(e)
	}
	if op == nil {
		op = &opBuilder{name: e.op, opType: e.opType}
		b.byName[opKey{e.op, e.opType}] = op
		b.ops = append(b.ops, op)
	}
	op.entries = append(op.entries, e)
}

// byFileName is the last operator whose name is that of an entry in the names of files; nil
// for none.
func (b *roundBuilder) byFileName(e *entry) *opBuilder {
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
		round.Ops = append(round.Ops, op.executions()...)
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

// executions splits the tensors of an operator: the k-th of each, by time, is that
// of the k-th execution; all without a time belong to the first. What a table says
// about a tensor that is there goes with it.
func (b *opBuilder) executions() []*Op {
	entries := b.entries
	slices.SortStableFunc(entries, func(x, y *entry) int {
		return cmp.Or(cmp.Compare(x.timestamp, y.timestamp), cmp.Compare(x.task, y.task))
	})
	var ops []*Op
	seen := make(map[slot]int)
	tables := make([]*entry, 0)
	add := func(e *entry, k int) *Op {
		for len(ops) <= k {
			ops = append(ops, &Op{Name: b.name, Type: b.opType, Task: e.task, HasTask: e.hasTask, ids: e.ids, Call: e.call})
		}
		if op := ops[k]; op.Timestamp == 0 {
			op.Timestamp = e.timestamp // that of the first
		}
		return ops[k]
	}
	for _, e := range entries {
		s := e.slot()
		k := seen[s]
		if e.timestamp > 0 {
			seen[s]++
		}
		if s.table && e.kind != "" && e.leaf == nil { // what dump.json says of a tensor goes with it already
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
			op.Tensors = slices.Clone(op.Tensors) // which takes no more room than they need
		}
	}
	return ops
}

package dumpdir

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

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
				b = &roundBuilder{at: *e.at, byName: make(map[opKey]*opBuilder), byFileName: make(map[opKey]*opBuilder)}
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
	// byName finds operators by their names, byFileName by those as file names have
	// them.
	byName, byFileName map[opKey]*opBuilder
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
		op = b.byFileName[opKey{filename.Normalise(e.op), e.opType}]
	}
	if op == nil {
		op = &opBuilder{name: e.op, opType: e.opType}
		b.byName[opKey{e.op, e.opType}] = op
		b.byFileName[opKey{filename.Normalise(e.op), e.opType}] = op
		b.ops = append(b.ops, op)
	}
	op.entries = append(op.entries, e)
}

func (b *roundBuilder) finish(r *reader) *Round {
	round := &Round{At: b.at, folders: b.folders}
	for _, op := range b.ops {
		round.Ops = append(round.Ops, op.executions()...)
	}
	r.attachOrders(round)
	r.attachCalls(round)
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
	seen := make(map[slot]int, len(entries))
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
		op.Tensors = slices.Clone(op.Tensors) // which takes no more room than they need
	}
	return ops
}

// Package hpaa builds tensors from the pieces that HPAA's driver leaves in dump_data: it decodes
// the pieces, joins the pieces of each output and writes one .npy file per output, with the logs
// that HPAA's script writes.
//
// The format of the pieces is not public and is not guessed. The user describes it, by a file with
// a line for each piece or by a template of their names (Piece, Pattern).
//
// An array is bit for bit the concatenation of the described pieces, and every piece ends up in
// exactly one place: an array, a line of a log, or the list of others. Memory is bounded by workers
// and blocks, not by file sizes.
package hpaa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// Options selects the pieces to join, and how. The zero value of every field but Out is usable.
type Options struct {
	// Out is the folder of the arrays; it is created with the first array.
	Out string
	// Encoding, Skip, DType and Shapes are defaults for pieces whose description lacks them. Shapes
	// is keyed by node; the empty key is for all other nodes.
	Encoding Encoding
	Skip     int64
	DType    tensor.DType
	Shapes   map[string]tensor.Shape
	// Reference supplies missing types and shapes, nil for none.
	Reference *Reference
	// Axis is the default axis to join on, -1 for the first axis whose length is not 1.
	Axis int
	// Filter renames nodes as in the reference and skips some; nil for none.
	Filter *dumpdir.NodeFilter
	// Names lists node names of another run of the network; pieces get the spelling used there.
	Names  []string
	Rounds Rounds
	// Sums requests the digests of all files.
	Sums bool
	// Workers is the number of nodes joined concurrently; 0 means one per CPU.
	Workers int
	Observe func(batch.Event)
}

// Rounds selects the rounds of an output to join; the zero value selects the last.
type Rounds struct {
	All, First bool
	Number     *int64
}

// Schema is the schema of a Result document.
const Schema = "dumptool/import/1"

// Result is the result of an import, and its document.
type Result struct {
	Schema string `json:"schema"`
	// Rows lists the outputs, ordered by their first piece found.
	Rows []*Row `json:"tensors"`
	// Others lists files and pieces that are no part of an output, in the order found.
	Others []UnusedFile `json:"others"`
	// Misfits counts the Others whose names do not fit the pattern.
	Misfits int `json:"-"`
	// Read lists the node name of every piece, in the order found.
	Read []string `json:"-"`
	// Unknown lists the nodes missing in the reference, each once.
	Unknown []string `json:"-"`
	// Order lists the nodes with a known time, by time.
	Order []string `json:"-"`
	// Sums lists the digests of the files, if requested.
	Sums []Sum `json:"-"`
	// Warnings lists warnings about the pieces as a whole.
	Warnings []lang.Sentence `json:"warnings,omitempty"`
}

// Row is an output of a node.
type Row struct {
	// Node is the name of the node, as in the reference if a map has it.
	Node string `json:"name"`
	// Output is the number of the output, Round the run of the network.
	Output int   `json:"output"`
	Round  int64 `json:"round"`
	// Label names the output as comparison reports do.
	Label string `json:"-"`
	// Pieces lists the files of the output, in the order found.
	Pieces []*Piece `json:"pieces"`
	// Path is the array's path. Original is the preferred file name if it was too long or already
	// in use, else empty.
	Path, Original string `json:"-"`
	// Array describes the written array; nil after an error.
	*Array
	// Cropped is the number of elements cut off the axis.
	Cropped int64 `json:"cropped,omitempty"`
	// Notes lists oddities of the pieces, and the source of the shape.
	Notes []string `json:"notes,omitempty"`
	// PieceError is the reason why there is no array; nil if there is one.
	*PieceError
}

// fail replaces the array by an error.
func (r *Row) fail(err *PieceError) { r.Array, r.PieceError = nil, err }

// Array describes a written array.
type Array struct {
	// File is the path of the array.
	File string `json:"path"`
	// DType is the element type of the pieces, Shape the shape of the array.
	DType tensor.DType `json:"dtype"`
	Shape tensor.Shape `json:"shape"`
	// Axis is the axis on which the pieces were joined, nil for one piece.
	Axis *int `json:"axis,omitempty"`
}

// UnusedFile is a file, or a piece, that is no part of an output.
type UnusedFile struct {
	// File is the file, Why the reason why it was left out.
	File string        `json:"other"`
	Why  lang.Sentence `json:"why"`
}

// Sum is the digest of a file.
type Sum struct{ File, MD5 string }

// Import joins pieces and writes the arrays. Failures of an output are errors of its row and do not
// stop the import; the returned error is an error of ctx or of the arrays' folder.
func Import(ctx context.Context, found *SearchResult, opt Options) (*Result, error) {
	r := &Result{Schema: Schema, Rows: []*Row{}, Others: append([]UnusedFile{}, found.Others...), Misfits: found.Misfits}
	pieces := r.rename(found.Pieces, &opt)
	pieces = r.dropUnwanted(pieces, &opt)
	groups := groupPieces(pieces)
	units := r.planUnits(groups, &opt)
	w := &worker{opt: &opt, inputs: map[string]bool{}, bufferPool: sync.Pool{New: func() any { return newBuffers(blockBytes) }}}
	for _, p := range found.Pieces {
		w.inputs[resolveFolder(p.Path)] = true
	}
	if err := w.joinUnits(ctx, units); err != nil {
		return r, err
	}
	r.setOrder()
	err := errors.Join(w.addMapping(r.Rows), r.setSums(ctx, found.Pieces, &opt))
	return r, err
}

// rename gives pieces the names of the other run and of the reference, and collects the names as
// they were read.
func (r *Result) rename(pieces []*Piece, opt *Options) []namedPiece {
	var other filename.Index
	for i, name := range opt.Names {
		other.Add(name, i)
	}
	all := make([]namedPiece, len(pieces))
	renamedNodes, inReference, notInReference := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, p := range pieces {
		name := p.Node
		if len(opt.Names) > 0 {
			if k, ok := other.Find(name); ok {
				name = opt.Names[k]
				inReference[name] = true
			} else {
				notInReference[name] = true
			}
		}
		r.Read = append(r.Read, name)
		renamedNodes[filename.Normalise(name)] = true
		all[i] = namedPiece{p, opt.Filter.Rename(name)}
	}
	r.warnNames(opt, renamedNodes, inReference, notInReference)
	return all
}

// warnNames warns of names of a map or of another run without a piece.
func (r *Result) warnNames(opt *Options, renamedNodes, inReference, notInReference map[string]bool) {
	if opt.Filter != nil && opt.Filter.Map != nil {
		for _, e := range opt.Filter.Map.Entries {
			if !renamedNodes[filename.Normalise(e.NPU)] {
				r.warn("--map-node-dict: no piece belongs to %q", e.NPU)
			}
		}
	}
	numRemaining := 0
	for _, name := range opt.Names {
		if !inReference[name] {
			inReference[name] = true
			numRemaining++
		}
	}
	if numRemaining > 0 {
		r.warn("--nodename-log: no piece for %d of the names in the file", numRemaining)
	}
	if len(notInReference) > 0 {
		r.warn("--nodename-log: the file lacks %s", lang.FirstNames(slices.SortedFunc(maps.Keys(notInReference), lang.CompareNatural)))
	}
}

func (r *Result) warn(en string, args ...any) {
	r.Warnings = append(r.Warnings, lang.Say(en, args...))
}

// namedPiece is a piece with the name of its node in the result.
type namedPiece struct {
	*Piece
	name string
}

// outputKey identifies an output of a node.
type outputKey struct {
	name   string
	output int
}

// dropUnwanted leaves out unwanted nodes and rounds.
func (r *Result) dropUnwanted(pieces []namedPiece, opt *Options) []namedPiece {
	names := func(yield func(string) bool) {
		for _, p := range pieces {
			if !yield(p.name) {
				return
			}
		}
	}
	for _, text := range opt.Filter.Unmatched(names) {
		r.warn("--exclude-node-list: no node matches %s", text)
	}
	pieces = slices.DeleteFunc(pieces, func(p namedPiece) bool {
		switch opt.Filter.Skip(p.name) {
		case dumpdir.NodeSkipKey:
			r.addOther(p, "skipped by --skip-keys")
		case dumpdir.NodeExcluded:
			r.addOther(p, "skipped by --exclude-node-list")
		default:
			return false
		}
		return true
	})
	if opt.Rounds.All {
		return pieces
	}
	roundOfOutput := map[outputKey]int64{}
	for _, p := range pieces {
		key := outputKey{p.name, p.Output}
		round, ok := roundOfOutput[key]
		switch {
		case opt.Rounds.Number != nil:
			round = *opt.Rounds.Number
		case !ok:
			round = p.Round
		case opt.Rounds.First:
			round = min(round, p.Round)
		default:
			round = max(round, p.Round)
		}
		roundOfOutput[key] = round
	}
	return slices.DeleteFunc(pieces, func(p namedPiece) bool {
		other := p.Round != roundOfOutput[outputKey{p.name, p.Output}]
		if other {
			r.addOther(p, "round %d is not chosen", p.Round)
		}
		return other
	})
}

// addOther adds a piece to the others.
func (r *Result) addOther(p namedPiece, en string, args ...any) {
	r.Others = append(r.Others, UnusedFile{p.File, lang.Say(en, args...)})
}

// group holds the pieces of an output in one round, and its row.
type group struct {
	row    *Row
	bad    []*PieceError // errors of opening, one per piece, or nil
	pieces []*openPiece  // pieces that could be opened
	join   *joinPlan
}

// workUnit is the work of one worker: the outputs of a node. They are written together; if a piece
// of one is broken, none is written.
type workUnit struct {
	groups []*group
	first  int // index of the first group
}

// groupPieces groups the pieces by output and round, ordered by their first piece found.
func groupPieces(pieces []namedPiece) []*group {
	type key struct {
		outputKey
		round int64
	}
	known := map[key]*group{}
	var groups []*group
	for _, p := range pieces {
		k := key{outputKey{p.name, p.Output}, p.Round}
		g := known[k]
		if g == nil {
			g = &group{row: &Row{Node: p.name, Output: p.Output, Round: p.Round}}
			known[k] = g
			groups = append(groups, g)
		}
		g.row.Pieces = append(g.row.Pieces, p.Piece)
	}
	return groups
}

// planUnits sets the names of all rows and makes one work unit per node.
func (r *Result) planUnits(groups []*group, opt *Options) []workUnit {
	type key struct {
		name  string
		round int64
	}
	outputs, units := map[string]map[int]bool{}, map[key]*workUnit{}
	var all []workUnit
	for _, g := range groups {
		r.Rows = append(r.Rows, g.row)
		if outputs[g.row.Node] == nil {
			outputs[g.row.Node] = map[int]bool{}
			if opt.Reference != nil {
				if _, ok := opt.Reference.find(g.row.Node); !ok {
					r.Unknown = append(r.Unknown, g.row.Node)
				}
			}
		}
		outputs[g.row.Node][g.row.Output] = true
	}
	for i, g := range groups {
		k := key{name: g.row.Node}
		if opt.Rounds.All {
			k.round = g.row.Round
		}
		if units[k] == nil {
			units[k] = &workUnit{first: i}
		}
		units[k].groups = append(units[k].groups, g)
	}
	for _, u := range units {
		slices.SortFunc(u.groups, func(a, b *group) int { return cmp.Compare(a.row.Output, b.row.Output) })
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b workUnit) int { return a.first - b.first })
	nameRows(r.Rows, opt, func(node string) bool { return len(outputs[node]) > 1 })
	return all
}

// nameRows sets the labels and files of rows. several reports whether a node has several outputs.
func nameRows(rows []*Row, opt *Options, hasSeveral func(node string) bool) {
	used := map[string]bool{}
	for _, row := range rows {
		row.Label = row.Node
		suffix := ""
		if row.Output > 0 {
			row.Label += fmt.Sprintf(":%d", row.Output)
		}
		if opt.Rounds.All {
			row.Label += fmt.Sprintf("@%d", row.Round)
			suffix = fmt.Sprintf(".round%d", row.Round)
		}
		if hasSeveral(row.Node) {
			suffix += fmt.Sprintf("_%d", row.Output)
		}
		name := filename.Safe(strings.NewReplacer("/", "_", ":", "_").Replace(row.Node) + suffix + ".npy")
		if used[name] || len(name) >= filename.MaxBytes {
			row.Original = row.Node + suffix + ".npy"
			name = filename.Short(row.Original)
		}
		used[name] = true
		row.Path = store.Join(opt.Out, name)
	}
}

// setOrder orders the nodes by their times.
func (r *Result) setOrder() {
	type timedFile struct {
		name string
		at   sidefile.Moment
	}
	var nodes []timedFile
	place := map[string]int{}
	for _, row := range r.Rows {
		for _, p := range row.Pieces {
			if p.Time == nil {
				continue
			}
			i, ok := place[row.Node]
			switch {
			case !ok:
				place[row.Node] = len(nodes)
				nodes = append(nodes, timedFile{row.Node, *p.Time})
			case p.Time.Compare(nodes[i].at) < 0:
				nodes[i].at = *p.Time
			}
		}
	}
	slices.SortStableFunc(nodes, func(a, b timedFile) int { return a.at.Compare(b.at) })
	for _, n := range nodes {
		r.Order = append(r.Order, n.name)
	}
}

// Messages returns messages on an import: one for each output without an array, and one on files
// that are no pieces.
func (r *Result) Messages() []batch.Message {
	all := lists.Map(r.Warnings, func(w lang.Sentence) batch.Message { return batch.Warnf("%s", w) })
	var unknown []string
	for _, o := range r.Others {
		all = append(all, batch.Debug("not imported", "file", o.File, "why", o.Why.String()))
		unknown = append(unknown, o.File)
	}
	switch {
	case r.Misfits > 0:
		all = append(all, batch.Warnf("%s with names that do not fit the pattern: %s",
			lang.CountText(r.Misfits, "file"), lang.FirstNames(unknown[:r.Misfits])))
	case len(unknown) > 0:
		all = append(all, batch.Infof("%s left out: %s", lang.CountText(len(unknown), "file"), lang.FirstNames(unknown)))
	}
	for _, row := range r.Rows {
		for _, note := range row.Notes {
			all = append(all, batch.Debug(note, "output", row.Label))
		}
		if row.PieceError == nil {
			continue
		}
		all = append(all, batch.Errorf("%s: %s: %s", row.Label, string(row.Code), row.PieceError))
		if exists(row.Path) {
			all = append(all, batch.Warnf("%s is from an earlier run and was not written again", row.Path))
		}
	}
	return all
}

// Outcome returns the outcome of an import to the folder out. With ignoreOthers, files with other
// names do not count.
func (r *Result) Outcome(out string, ignoreOthers bool) batch.Outcome {
	written, failed, pieces := 0, 0, 0
	for _, row := range r.Rows {
		if row.PieceError != nil {
			failed++
			continue
		}
		written++
		pieces += len(row.Pieces)
	}
	o := batch.Outcome{}
	switch {
	case len(r.Rows) == 0 && len(r.Read) > 0:
		return batch.Outcomef(batch.Nothing, "no piece was selected (%s; --skip-keys, --exclude-node-list, --round)",
			lang.CountText(len(r.Read), "piece"))
	case len(r.Rows) == 0 && r.Misfits > 0:
		return batch.Outcomef(batch.Nothing, "no piece found: no name of %s fits the pattern", lang.CountText(r.Misfits, "file"))
	case len(r.Rows) == 0:
		return batch.Outcomef(batch.Nothing, "no piece found")
	case failed > 0:
		o = batch.Outcomef(batch.Incomplete, "%d of %d tensors could not be imported", failed, len(r.Rows))
	case r.Misfits > 0 && !ignoreOthers:
		o = batch.Outcomef(batch.Incomplete, "%s with other names (--ignore-others leaves them out)", lang.CountText(r.Misfits, "file"))
	}
	if written > 0 {
		o.Messages = append(o.Messages, batch.Infof("hpaa¦%s written to %s from %s",
			lang.CountText(written, "tensor"), out, lang.CountText(pieces, "piece")))
	}
	return o
}

// IncompletePieces returns the pieces whose shape or element type is missing in their description,
// their header, the options and the reference.
func (o *Options) IncompletePieces(found *SearchResult) []string {
	var files []string
	for _, p := range found.Pieces {
		encoding := p.Encoding
		if encoding == "" {
			encoding = o.Encoding
		}
		header := encoding == Npy || (encoding == "" || encoding == Auto) && strings.EqualFold(path.Ext(p.File), ".npy")
		if !header && o.Reference == nil && (p.Shape == nil && o.shapeOf(o.Filter.Rename(p.Node), p.Node) == nil || p.DType == 0 && o.DType == 0) {
			files = append(files, p.File)
		}
	}
	return files
}

package plan

import (
	"cmp"
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/align"
	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Tensor is a tensor of one side.
type Tensor struct {
	align.Ref
	ID int // index in Side.Tensors
	// Dump: the tensor is in a dump file.
	Dump bool
	Size int64 // of the file, in bytes
	// Statistics come from a table, nil without a table. Table: there are only statistics, no elements.
	Statistics *dumpdir.Statistics
	Table      bool
	// Leaf is the tensor's entry in msprobe's dump.json, nil for other producers.
	Leaf *msprobe.Leaf
	// Recorded is its entry in a torch.utils.dumper recording, nil for other producers.
	Recorded *pair.RecorderPosition
	// Err is the error that makes the file unreadable; the tensor then stands for output 0 of the file.
	Err error

	nameType tensor.DType // type in the name of the file
}

// declaredType returns the element type in msprobe's dump.json, or else in the file name. Tools store bfloat16 as
// float32 arrays.
func (t *Tensor) declaredType() tensor.DType {
	if t.Leaf != nil && t.Leaf.Tensor != nil {
		return t.Leaf.Tensor.ElementType()
	}
	return t.nameType
}

// Side is the run at one path: its selected rounds and their
// tensors.
type Side struct {
	Path    string // as messages show it, with the stem
	Tensors []*Tensor
	// Alone: the path is a single file.
	Alone bool
	// FromTables: there are only statistics, no readable elements.
	FromTables bool
	Warnings   []lang.Sentence

	isSingle   bool   // the path names a single tensor
	otherFiles int    // files that are neither dumps nor arrays
	stem       string // of the file names, empty for all files
	run        *dumpdir.Run
	rounds     []*dumpdir.Round // the selected rounds
	dumps      map[*dumpdir.Round]record.Dumps
	chosen     dumpdir.Selection
	// ownRounds are the rounds whose tensors are read, nil for all rounds.
	ownRounds map[*dumpdir.Round]bool
	// Numbers of operators: all, those known to be dumps, and those known to be arrays.
	operators, dumped, arrays int
	// round, op and named are the round, the operator and the names for pairing of each tensor, by its ID.
	round        []*dumpdir.Round
	op           []*dumpdir.Op
	pairingNames []pair.Tensor
	block        []Tensor // the memory of the tensors
	// entries has the entries of the tensors in the run, nil after forget.
	entries []*dumpdir.Tensor
	// files opens the tensors of multi-tensor files.
	files  *tensorfile.Pool
	tables int // number of operators with statistics, if FromTables
	// unread are unreadable files that belong to no operator.
	unread []dumpdir.Problem
}

// OpenSide opens the run at a path and selects rounds.
func OpenSide(ctx context.Context, opt *Options, path string, chosen dumpdir.Selection) (*Side, error) {
	s, err := listSide(ctx, opt, path, chosen, dumpdir.Stem{})
	if err == nil {
		err = s.readHeaders(ctx, opt)
	}
	if err != nil {
		return nil, err
	}
	s.dropListing()
	return s, nil
}

// dropListing drops the listing of the run, which is no longer needed after the tensors are listed.
func (s *Side) dropListing() {
	s.run.Forget()
	s.entries = nil
}

// listSide lists the run at a path, limited to file names with a stem, and determines its rounds.
func listSide(ctx context.Context, opt *Options, path string, chosen dumpdir.Selection, stem dumpdir.Stem) (*Side, error) {
	nested := opt.pathInside(path)
	run, err := dumpdir.Open(ctx, []string{path}, dumpdir.Options{Skip: opt.Skip, Other: nested, Stem: stem, Sources: opt.orderSources(), Graphs: true, IR: opt.IR})
	if err == nil {
		err = run.FixRounds(ctx, opt.headerOptions(nil))
	}
	if err != nil {
		return nil, err
	}
	if stem.Own != "" {
		path += ": " + stem.Own
	}
	s := &Side{Path: path, stem: stem.Own, Alone: run.Single, Warnings: run.Warnings, run: run, chosen: chosen, rounds: run.Select(chosen), files: new(tensorfile.Pool)}
	s.isSingle = s.Alone && !run.Files[0].Only.IsZero()
	if nested != "" {
		s.Warnings = append(s.Warnings, lang.Say("%s lies inside %s: it is ignored there", nested, path))
	}
	return s, nil
}

// serveAllRanks makes a reference of one rank the partner of the chosen ranks of the NPU, whatever its own rank is.
func (s *Side) serveAllRanks() {
	other := func(r *dumpdir.Round) bool { return r.At.Rank != s.run.Rounds[0].At.Rank }
	if len(s.rounds) == 0 && !slices.ContainsFunc(s.run.Rounds, other) {
		s.chosen[dumpdir.ByRank] = dumpdir.Choice{}
		s.rounds = s.run.Select(s.chosen)
	}
}

// headerOptions returns the options for reading the headers of some rounds.
func (o *Options) headerOptions(rounds map[*dumpdir.Round]bool) dumpdir.HeaderOptions {
	return dumpdir.HeaderOptions{Version: o.Version, Workers: o.Workers, Rounds: rounds}
}

// isOwn reports whether the tensors of a round are read.
func (s *Side) isOwn(round *dumpdir.Round) bool { return s.ownRounds == nil || s.ownRounds[round] }

// readHeaders reads the headers of the own rounds, and lists their tensors.
func (s *Side) readHeaders(ctx context.Context, opt *Options) error {
	run := s.run
	if err := run.ReadHeaders(ctx, opt.headerOptions(s.ownRounds)); err != nil {
		return err
	}
	s.rounds = run.Select(s.chosen)
	s.dumps = dumpsOf(slices.DeleteFunc(slices.Clone(s.rounds), func(r *dumpdir.Round) bool { return !s.isOwn(r) }))
	elements, tables, tensors, own := 0, 0, 0, 0
	for _, round := range s.rounds {
		for _, op := range round.Ops {
			has := func(table bool) bool {
				return slices.ContainsFunc(op.Tensors, func(t dumpdir.Tensor) bool {
					return t.Table == table && t.File.Err == nil && (!t.IsWholeFile() || !s.isOwn(round))
				})
			}
			s.countOperator(op)
			if s.isOwn(round) {
				own += len(op.Tensors)
			}
			switch tensors += len(op.Tensors); {
			case has(false):
				elements++
			case has(true):
				tables++
			}
		}
	}
	s.FromTables = elements == 0 && tables > 0
	leave := opt.needElements() && !s.FromTables
	s.reserveTensors(own)
	for _, round := range s.rounds {
		for _, op := range round.Ops {
			if s.isOwn(round) {
				s.addTensors(round, op, leave)
			}
		}
	}
	s.addProblems()
	found := tensors + len(s.unread)
	var others []batch.Message
	if found+len(run.Rounds) == 0 {
		others = run.OtherFiles()
	}
	if found > 0 {
		s.otherFiles = run.CountOtherFiles()
	}
	switch {
	case s.FromTables:
		s.tables = tables
	case leave && tables > 0:
		warning := lang.Say("%s: %s have only statistics, which are not compared", s.Path, lang.CountText(tables, "operator"))
		if tables == 1 {
			warning = lang.Say("%s: 1 operator has only statistics, which are not compared", s.Path)
		}
		s.Warnings = append(s.Warnings, warning)
	case found > 0:
	case len(run.Rounds) > 0:
		return Nothingf("none of the %s in %s was selected, the first is %s", lang.CountText(len(run.Rounds), "round"), s.Path, run.Rounds[0].At)
	default:
		none := Nothingf("neither dumps nor arrays in %s", s.Path)
		if s.stem != "" {
			none = Nothingf("no dump or array in %s has a name that begins or ends with %s (--stems)", run.Paths[0], s.stem)
		}
		none.Others = others
		return none
	}
	return nil
}

// countOperator counts an operator as dump or array, by file name and header.
func (s *Side) countOperator(op *dumpdir.Op) {
	s.operators++
	if len(op.Tensors) == 0 {
		return
	}
	switch name := op.Tensors[0].File.Name; {
	case op.Header != "":
		s.dumped++
	case strings.EqualFold(filepath.Ext(name), ".npy"):
		s.arrays++
	default:
		if parsed := filename.Parse(name); parsed.IsDump() {
			s.dumped++
		}
	}
}

// reserveTensors allocates memory for n tensors.
func (s *Side) reserveTensors(n int) {
	s.Tensors, s.pairingNames = make([]*Tensor, 0, n), make([]pair.Tensor, 0, n)
	s.block = make([]Tensor, n)
	s.round, s.op, s.entries = make([]*dumpdir.Round, 0, n), make([]*dumpdir.Op, 0, n), make([]*dumpdir.Tensor, 0, n)
}

// pathInside returns the path of the other side if it is a folder inside path, else
// "".
func (o *Options) pathInside(path string) string {
	other := o.NPU
	if path != o.Ref {
		other = o.Ref
	}
	var real [2]string
	for i, p := range []string{path, other} {
		root, err := store.Mount(p)
		if err == nil {
			root, err = store.Abs(root)
		}
		if err == nil {
			real[i], err = store.Real(root)
		}
		if err != nil {
			return ""
		}
	}
	if below, err := store.Rel(real[0], real[1]); err != nil || below == "." || !filepath.IsLocal(below) {
		return ""
	}
	return other
}

// warnOfSwap warns if the sides look swapped: the reference has device dumps and the NPU side
// host arrays, or the recorded devices say so.
func warnOfSwap(ref, npu *Side) []lang.Sentence {
	most := func(n, of int) bool { return float64(n) >= minSideShare*float64(max(1, of)) }
	mostAre := func(s *Side, is func(*Tensor) bool) bool {
		return most(lists.Count(s.Tensors, is), len(s.Tensors))
	}
	onNPU := func(t *Tensor) bool { return t.Recorded != nil && t.Recorded.Device == npuDevice }
	elsewhere := func(t *Tensor) bool {
		return t.Recorded != nil && t.Recorded.Device != npuDevice && t.Recorded.Device != ""
	}
	onlyArrays := len(npu.run.Producers) == 1 && npu.run.Producers[0] == dumpdir.Arrays
	if most(ref.dumped, ref.operators) && most(npu.arrays, npu.operators) && onlyArrays || mostAre(ref, onNPU) && mostAre(npu, elsewhere) {
		return []lang.Sentence{lang.Say("the sides look swapped: %s holds dumps of a device, %s arrays of a host (--cpu is the reference)", ref.Path, npu.Path)}
	}
	return nil
}

// minSideShare is the share (0 to 1) of the operators or tensors from which on they characterise a side.
const minSideShare = 0.9

// ChoiceWarnings warns of coordinates in the selection of rounds that do not exist on any side.
func ChoiceWarnings(sides ...*Side) []lang.Sentence {
	all := make([]dumpdir.RunSelection, len(sides))
	for i, s := range sides {
		all[i] = dumpdir.RunSelection{Run: s.run, By: s.chosen}
	}
	return dumpdir.ChoiceWarnings(all...)
}

// orderSources returns the side files with the order of operators and the data flow.
func (o *Options) orderSources() dumpdir.Sources {
	f := &o.SideFiles
	return dumpdir.Sources{Runtime: f.Runtime, Execution: f.Execution, Fusion: f.Fusion, Consumers: f.Consumers}
}

// isNamed reports whether the tensors have names inside their file.
func (s *Side) isNamed() bool {
	return slices.ContainsFunc(s.Tensors, func(t *Tensor) bool { return t.Member != "" })
}

// addTensors adds the tensors of an operator; with leave it omits tensors with only statistics.
func (s *Side) addTensors(round *dumpdir.Round, op *dumpdir.Op, leave bool) {
	var of *dumpdir.File
	var info *filename.Info // parsed name of the file of
	for i := range op.Tensors {
		t := &op.Tensors[i]
		if t.Table && leave || t.IsWholeFile() && t.File.Err == nil {
			continue
		}
		if info == nil || t.File != of {
			parsed := filename.Parse(t.File.Name)
			of, info = t.File, &parsed
		}
		named, isDump := namedTensor(op, t, info)
		one := &s.block[len(s.Tensors)]
		*one = Tensor{
			Ref: align.Ref{Path: t.File.Path(), Name: t.File.Name, Kind: cmp.Or(t.Kind, tensor.Output), Index: t.Index, Member: t.Member, Files: s.files, Single: t.Member == "" && t.File.Err == nil && t.File.Only.IsZero() && isOnlyTensor(op, t)},
			ID:  len(s.Tensors), Dump: op.Header != "" || isDump, Size: t.File.Size, Err: t.File.Err, Leaf: t.Leaf,
			Statistics: t.Statistics, Table: t.Table, nameType: info.DType,
		}
		if c := tensorfile.ContainerOf(t.File.Name); c != nil && c.Single && t.Member == "" {
			one.Single, one.Raw = true, c.Headless
		}
		if op := t.Operator; op != nil {
			one.Recorded = &pair.RecorderPosition{Op: op.Name, Seq: op.Seq, Kind: op.Kind, Param: t.Path[3:], Device: t.Device}
		}
		switch {
		case t.Table && t.Leaf != nil:
			one.Single, one.Member = false, t.Leaf.Name
		case t.Table && t.Statistics.Line > 0:
			one.Single, one.Member = false, "line "+strconv.Itoa(t.Statistics.Line)
		}
		named.ID = one.ID
		s.Tensors, s.pairingNames = append(s.Tensors, one), append(s.pairingNames, named)
		s.round, s.op, s.entries = append(s.round, round), append(s.op, op), append(s.entries, t)
	}
}

// warnOfDevice warns if torch.utils.dumper did not record the NPU side on an NPU.
func (s *Side) warnOfDevice() {
	device := ""
	for _, t := range s.Tensors {
		switch {
		case t.Recorded == nil || t.Recorded.Device == "":
		case t.Recorded.Device == npuDevice:
			return
		default:
			device = t.Recorded.Device
		}
	}
	if device != "" {
		s.Warnings = append(s.Warnings, lang.Say("%s was recorded on %s, not on an NPU", s.Path, device))
	}
}

// npuDevice is the name of the NPU in torch.utils.dumper.
const npuDevice = "npu"

// mayRecompute reports whether operators may be recomputed: whether some tensor may be an input of
// an operator.
func (s *Side) mayRecompute() bool {
	return slices.ContainsFunc(s.Tensors, func(t *Tensor) bool {
		return !t.Table && (t.Kind != tensor.Output || t.Leaf != nil || t.Recorded != nil)
	})
}

// names yields the names of each tensor that a name map may contain: the names of its operator, and of msprobe's
// values, modules and functions.
func (s *Side) names() iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for i := range s.pairingNames {
			names := s.pairingNames[i].Names()
			if l := s.Tensors[i].Leaf; l != nil {
				names = append(slices.Clip(names), l.Name, pair.CallName(s.op[i].Name))
			}
			if !yield(names) {
				return
			}
		}
	}
}

// isOnlyTensor reports whether a tensor is the only tensor of its file.
func isOnlyTensor(op *dumpdir.Op, t *dumpdir.Tensor) bool {
	n := 0
	for i := range op.Tensors {
		if op.Tensors[i].File == t.File {
			n++
		}
	}
	return n == 1
}

// addProblems turns the problems of the run into warnings, except unreadable files: the file of
// an operator gets a row if its round is compared.
func (s *Side) addProblems() {
	ofOps := make(map[string]bool)
	for _, round := range s.run.Rounds {
		for _, op := range round.Ops {
			for i := range op.Tensors {
				if f := op.Tensors[i].File; f.Err != nil {
					ofOps[f.Path()] = true
				}
			}
		}
	}
	for _, p := range s.run.Problems {
		switch p.Kind {
		case dumpdir.Cut:
		case dumpdir.Unreadable:
			if !ofOps[p.Path] {
				s.unread = append(s.unread, p)
			}
		default:
			if p.Path == "" {
				p.Path = s.Path
			}
			s.Warnings = append(s.Warnings, lang.Error(&p))
		}
	}
}

// CheckTensors returns an error if the side has only statistics, for uses that need tensors.
func (s *Side) CheckTensors() error {
	if !s.FromTables {
		return nil
	}
	return Nothingf("%s holds statistics of %s, no tensors", s.Path, lang.CountText(s.tables, "operator"))
}

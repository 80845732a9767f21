package plan

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/align"
	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Tensor is one tensor of a side.
type Tensor struct {
	align.Ref
	ID int // its index among those of the side
	// Dump is set for tensors of dumps.
	Dump bool
	Size int64 // of the file
	// Statistics are those of a table, nil for none. Table is set where there is
	// nothing else: no elements.
	Statistics *dumpdir.Statistics
	Table      bool
	// Leaf is the tensor as msprobe has it, nil for others.
	Leaf *msprobe.Leaf
	// Recorded is where torch.utils.dumper has it, nil for others.
	Recorded *pair.Recorded
	// Err says why the file cannot be read; the tensor stands for its output 0.
	Err error

	nameType tensor.DType // that the name of the file says
}

// saidType is the type that the name of the file says, or dump.json of msprobe does: tools
// keep bfloat16 as arrays of float32.
func (t *Tensor) saidType() tensor.DType {
	if t.Leaf != nil && t.Leaf.Tensor != nil {
		return t.Leaf.Tensor.ElementType()
	}
	return t.nameType
}

// Side is what was found at the path of one side: the rounds of a run that were
// chosen, with their tensors.
type Side struct {
	Path    string
	Tensors []*Tensor
	// Alone is set when the path is a single file.
	Alone bool
	// FromTables is set where there are statistics only, no elements that can be read.
	FromTables bool
	Warnings   []lang.Sentence

	one    bool // whether the path names the one tensor
	others int  // files that are neither dumps nor arrays
	run    *dumpdir.Run
	rounds []*dumpdir.Round // those that were chosen
	dumps  map[*dumpdir.Round]record.Dumps
	chosen dumpdir.Selection
	// own are the rounds whose tensors are read, nil for all.
	own map[*dumpdir.Round]bool
	// operators counts them, dumped and arrays those that are known to be such.
	operators, dumped, arrays int
	// of is the round of a tensor, op its operator and named what pairing knows of
	// it, under its index.
	of    []*dumpdir.Round
	op    []*dumpdir.Op
	named []pair.Tensor
	// from is where the run lists a tensor, until what it lists is dropped.
	from []*dumpdir.Tensor
	// files opens the tensors of files with several.
	files  *tensorfile.Pool
	tables int // the operators of which there are statistics, of a side from tables
	// unread are what cannot be read and belongs to no operator.
	unread []dumpdir.Problem
}

// OpenSide opens the run at a path, and chooses rounds of it.
func OpenSide(ctx context.Context, opt *Options, path string, chosen dumpdir.Selection) (*Side, error) {
	s, err := listSide(ctx, opt, path, chosen)
	if err == nil {
		err = s.read(ctx, opt)
	}
	if err != nil {
		return nil, err
	}
	s.forget()
	return s, nil
}

// forget drops what the run lists: the tensors have what is compared.
func (s *Side) forget() {
	s.run.Forget()
	s.from = nil
}

// listSide lists the run at a path, and finds out which rounds there are.
func listSide(ctx context.Context, opt *Options, path string, chosen dumpdir.Selection) (*Side, error) {
	nested := opt.nested(path)
	run, err := dumpdir.Open(ctx, []string{path}, dumpdir.Options{Skip: opt.Skip, Other: nested, Sources: opt.sources(), Graphs: true, IR: opt.IR})
	if err == nil {
		err = run.Settle(ctx, opt.headers(nil))
	}
	if err != nil {
		return nil, err
	}
	s := &Side{Path: path, Alone: run.Single, Warnings: run.Warnings, run: run, chosen: chosen, rounds: run.Select(chosen), files: new(tensorfile.Pool)}
	s.one = s.Alone && !run.Files[0].Only.IsZero()
	if nested != "" {
		s.Warnings = append(s.Warnings, lang.Sayf("%s lies in %s: it is left out there", "%s 位于 %s 之内：在其中不计入", nested, path))
	}
	return s, nil
}

// headers say how those of some rounds are read.
func (o *Options) headers(rounds map[*dumpdir.Round]bool) dumpdir.HeaderOptions {
	return dumpdir.HeaderOptions{Version: o.Version, Workers: o.Workers, Rounds: rounds}
}

// isOwn reports whether the tensors of a round are read.
func (s *Side) isOwn(round *dumpdir.Round) bool { return s.own == nil || s.own[round] }

// read reads the headers of the rounds, or of those that are kept, and lists their tensors.
func (s *Side) read(ctx context.Context, opt *Options) error {
	run := s.run
	if err := run.ReadHeaders(ctx, opt.headers(s.own)); err != nil {
		return err
	}
	s.rounds = run.Select(s.chosen)
	s.dumps = dumpsOf(slices.DeleteFunc(slices.Clone(s.rounds), func(r *dumpdir.Round) bool { return !s.isOwn(r) }))
	elements, tables, tensors, own := 0, 0, 0, 0
	for _, round := range s.rounds {
		for _, op := range round.Ops {
			has := func(table bool) bool {
				return slices.ContainsFunc(op.Tensors, func(t dumpdir.Tensor) bool {
					return t.Table == table && t.File.Err == nil && (!t.Whole() || !s.isOwn(round))
				})
			}
			s.count(op)
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
	s.reserve(own)
	for _, round := range s.rounds {
		for _, op := range round.Ops {
			if s.isOwn(round) {
				s.add(round, op, leave)
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
		s.others = run.Others()
	}
	switch {
	case s.FromTables:
		s.tables = tables
	case leave && tables > 0:
		have := " have"
		if tables == 1 {
			have = " has"
		}
		s.Warnings = append(s.Warnings, lang.Sayf("%s: %s only statistics, which are not compared", "%s：%s，不参与比对", s.Path,
			lang.Text{EN: lang.Count(tables, "operator") + have, ZH: fmt.Sprintf("%d 个算子只有统计量", tables)}))
	case found > 0:
	case len(run.Rounds) > 0:
		return Nothingf("of the %s in %s none was chosen, the first is %s", "%[2]s 中的 %[1]s都未选中，第一个是 %[3]s", lang.CountText(len(run.Rounds), "round", "个轮次"), s.Path, run.Rounds[0].At)
	default:
		none := Nothingf("neither dumps nor arrays in %s", "%s 中没有 dump 和数组", s.Path)
		none.Others = others
		return none
	}
	return nil
}

// count counts an operator by what its name and header say that it is.
func (s *Side) count(op *dumpdir.Op) {
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

// reserve makes room for tensors.
func (s *Side) reserve(n int) {
	s.Tensors, s.named = make([]*Tensor, 0, n), make([]pair.Tensor, 0, n)
	s.of, s.op, s.from = make([]*dumpdir.Round, 0, n), make([]*dumpdir.Op, 0, n), make([]*dumpdir.Tensor, 0, n)
}

// nested is the other side where it is a folder that lies inside of one; empty where it
// does not.
func (o *Options) nested(path string) string {
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

// warnOfSwap warns of sides that look swapped: dumps of a device are the reference, and
// arrays of the host what the NPU made; or the recorded devices say so.
func warnOfSwap(ref, npu *Side) []lang.Sentence {
	most := func(n, of int) bool { return float64(n) >= mostOfASide*float64(max(1, of)) }
	mostAre := func(s *Side, is func(*Tensor) bool) bool {
		n := 0
		for _, t := range s.Tensors {
			if is(t) {
				n++
			}
		}
		return most(n, len(s.Tensors))
	}
	onNPU := func(t *Tensor) bool { return t.Recorded != nil && t.Recorded.Device == npuDevice }
	elsewhere := func(t *Tensor) bool {
		return t.Recorded != nil && t.Recorded.Device != npuDevice && t.Recorded.Device != ""
	}
	onlyArrays := len(npu.run.Producers) == 1 && npu.run.Producers[0] == dumpdir.Arrays
	if most(ref.dumped, ref.operators) && most(npu.arrays, npu.operators) && onlyArrays || mostAre(ref, onNPU) && mostAre(npu, elsewhere) {
		return []lang.Sentence{lang.Sayf("the sides look swapped: %s holds dumps of a device, %s arrays of a host (--cpu is the reference)",
			"两侧疑似互换：%s 为设备 dump，%s 为主机数组(--cpu 为标杆)", ref.Path, npu.Path)}
	}
	return nil
}

// mostOfASide is the share of its operators or tensors that says what a side is.
const mostOfASide = 0.9

// ChoiceWarnings warn of the coordinates that rounds of the sides are chosen by and
// neither knows.
func ChoiceWarnings(sides ...*Side) []lang.Sentence {
	all := make([]dumpdir.Chosen, len(sides))
	for i, s := range sides {
		all[i] = dumpdir.Chosen{Run: s.run, By: s.chosen}
	}
	return dumpdir.ChoiceWarnings(all...)
}

// sources are the side files that order operators and say who feeds whom.
func (o *Options) sources() dumpdir.Sources {
	f := &o.SideFiles
	return dumpdir.Sources{Runtime: f.Runtime, Execution: f.Execution, Fusion: f.Fusion, Consumers: f.Consumers}
}

// isNamed reports whether the tensors have names of their own in their file.
func (s *Side) isNamed() bool {
	return slices.ContainsFunc(s.Tensors, func(t *Tensor) bool { return t.Member != "" })
}

// add adds the tensors of an operator, or leaves those out that are statistics only.
func (s *Side) add(round *dumpdir.Round, op *dumpdir.Op, leave bool) {
	var of *dumpdir.File
	var info *filename.Info // of it
	for i := range op.Tensors {
		t := &op.Tensors[i]
		if t.Table && leave || t.Whole() && t.File.Err == nil {
			continue
		}
		if info == nil || t.File != of {
			parsed := filename.Parse(t.File.Name)
			of, info = t.File, &parsed
		}
		named, isDump := namedTensor(op, t, info)
		one := &Tensor{
			Ref: align.Ref{Path: t.File.Path(), Name: t.File.Name, Kind: cmp.Or(t.Kind, tensor.Output), Index: t.Index, Member: t.Member, Files: s.files, Single: t.Member == "" && t.File.Err == nil && t.File.Only.IsZero() && isAlone(op, t)},
			ID:  len(s.Tensors), Dump: op.Header != "" || isDump, Size: t.File.Size, Err: t.File.Err, Leaf: t.Leaf,
			Statistics: t.Statistics, Table: t.Table, nameType: info.DType,
		}
		if c := tensorfile.ContainerOf(t.File.Name); c != nil && c.Lone && t.Member == "" {
			one.Single, one.Raw = true, c.Headless
		}
		if op := t.Operator; op != nil {
			one.Recorded = &pair.Recorded{Op: op.Name, Seq: op.Seq, Kind: op.Kind, Param: t.Path[3:], Device: t.Device}
		}
		if t.Table && t.Leaf != nil {
			one.Single, one.Member = false, t.Leaf.Name
		}
		named.ID = one.ID
		s.Tensors, s.named = append(s.Tensors, one), append(s.named, named)
		s.of, s.op, s.from = append(s.of, round), append(s.op, op), append(s.from, t)
	}
}

// warnOfDevice warns of a side of the NPU that torch.utils.dumper recorded elsewhere.
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
		s.Warnings = append(s.Warnings, lang.Sayf("%s was recorded on %s, not on an NPU", "%s 是在 %s 上记录的，不是 NPU", s.Path, device))
	}
}

// npuDevice is what torch.utils.dumper calls the NPU.
const npuDevice = "npu"

// mayCompute reports whether operators may be computed again: whether some tensor may be what
// one of them read.
func (s *Side) mayCompute() bool {
	return slices.ContainsFunc(s.Tensors, func(t *Tensor) bool {
		return !t.Table && (t.Kind != tensor.Output || t.Leaf != nil || t.Recorded != nil)
	})
}

// names are the names that the tensors go by, as a name map may have them: those of
// their operators, and of msprobe's values, modules and functions.
func (s *Side) names() iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for i := range s.named {
			names := s.named[i].Names()
			if l := s.Tensors[i].Leaf; l != nil {
				names = append(slices.Clip(names), l.Name, pair.CallName(s.op[i].Name))
			}
			if !yield(names) {
				return
			}
		}
	}
}

// isAlone reports whether the file of a tensor has no other one.
func isAlone(op *dumpdir.Op, t *dumpdir.Tensor) bool {
	n := 0
	for i := range op.Tensors {
		if op.Tensors[i].File == t.File {
			n++
		}
	}
	return n == 1
}

// addProblems makes what is wrong with the run warnings, but what cannot be read:
// that of an operator has a row where its round is compared.
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

// NoTensors is the error of a side that has statistics only, where those are of no use;
// nil for others.
func (s *Side) NoTensors() error {
	if !s.FromTables {
		return nil
	}
	return Nothingf("%s holds statistics of %s, no tensors", "%s 只有 %s的统计量，没有张量", s.Path, lang.CountText(s.tables, "operator", "个算子"))
}

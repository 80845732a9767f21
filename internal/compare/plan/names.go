package plan

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// namedTensor returns the names of a tensor for pairing. info is the parsed name of its file. hasDump reports whether
// the file has the name of a dump.
func namedTensor(op *dumpdir.Op, t *dumpdir.Tensor, info *filename.Info) (named pair.Tensor, hasDump bool) {
	n := pair.NewTensor(info)
	if n.FileOp != op.Name && !filename.IsShortened(n.Stem) { // the name comes from a folder
		n = pair.Tensor{Timestamp: n.Timestamp}
	}
	n.FileOp, n.OpType, n.Op = op.Name, op.Type, op.Header
	if t.Operator != nil {
		n.Path = t.Path
	}
	n.Kind, n.Index, n.Slice = cmp.Or(t.Kind, n.Kind, tensor.Output), t.Index, t.Slice
	n.Timestamp = cmp.Or(n.Timestamp, op.Timestamp)
	if i := slices.IndexFunc(op.Origins, func(o dumpdir.Origin) bool { return o.Index == t.Index }); i >= 0 {
		n.Origin = &op.Origins[i]
	}
	return n, info.IsDump()
}

// shapes returns the shapes in the file of a tensor, nil if unknown.
func (p *Planner) shapes(id int, npu bool) []tensor.Shape {
	side := p.ref
	if npu {
		side = p.npu
	}
	it := side.Tensors[id]
	switch {
	case it.Leaf != nil && it.Leaf.Tensor != nil:
		return []tensor.Shape{it.Leaf.Tensor.Shape}
	case it.Table && it.Statistics != nil:
		return []tensor.Shape{it.Statistics.Shape}
	case it.Err != nil || it.Raw:
		return nil
	}
	t, err := it.Open(p.options.Version, tensorfile.RawHint{})
	if err != nil {
		return nil // comparing the tensor reports the error
	}
	defer t.Close()
	var known []tensor.Shape
	for _, s := range []tensor.Shape{t.Shape, t.OriginalShape} {
		if len(s) > 0 { // a scalar has no shape that a name could contain
			known = append(known, s)
		}
	}
	if len(known) == 0 && !it.Dump {
		known = append(known, tensor.Shape{})
	}
	return known
}

// makeNamesUnique makes the names of rows unique. Several NPU tensors may correspond to one tensor
// of the model. Their rows get NPUOp even if it equals the model's name, and as much detail as
// needed: NAME, NAME:output:1, TYPE.NAME:output:1:THREAD, or the file.
func (p *Planner) makeNamesUnique() {
	// Rows that differ without NPUOp stay different for every value of NPUOp.
	alike := make(map[record.RowKey]int, len(p.Pairs))
	for i := range p.Pairs {
		alike[p.Pairs[i].Row.RowKey()]++
	}
	var shared []*Pair
	for i := range p.Pairs {
		if x := &p.Pairs[i]; alike[x.Row.RowKey()] > 1 {
			shared = append(shared, x)
		}
	}
	texts := []func(*Pair) string{
		func(x *Pair) string { return p.npu.pairingNames[x.NPU.ID].Name() },
		func(x *Pair) string { return p.npuTensorName(x) },
		func(x *Pair) string {
			t := &p.npu.pairingNames[x.NPU.ID]
			return strings.TrimSuffix(t.OpType+"."+p.npuTensorName(x)+":"+t.Slice, ":")
		},
		func(x *Pair) string { return path.Base(x.Row.NPUFile) },
	}
	for i := range texts {
		rows := map[record.RowKey][]*Pair{}
		for _, x := range shared {
			at := x.Row.RowKey()
			if i > 0 { // most reports do not show NPUOp
				at.NPUOp = x.Row.NPUOp
			}
			rows[at] = append(rows[at], x)
		}
		for _, same := range rows {
			for _, x := range same {
				if len(same) > 1 && x.NPU != nil {
					x.Row.NPUOp = texts[i](x)
				}
			}
		}
	}
}

// npuTensorName returns the name, kind and index of the NPU tensor.
func (p *Planner) npuTensorName(x *Pair) string {
	t := &p.npu.pairingNames[x.NPU.ID]
	return t.Name() + ":" + string(t.Kind) + ":" + strconv.Itoa(t.Index)
}

// nameCalls sets the pairing keys of tensors in a pair of msprobe rounds: partners have the
// same key.
func (p *Planner) nameCalls(round *Round, refs, npus []pair.Tensor, opt *pair.Options) {
	by := pair.CallOptions{Map: p.options.SideFiles.NameMap, Places: !p.options.Pair.NamesOnly, Fuzzy: p.options.Pair.Fuzzy}
	calls := pair.NewCalls(round.pair.Ref, round.pair.NPU, by)
	round.calls, opt.Calls = calls, calls
	if calls == nil {
		return
	}
	name := func(s *Side, tensors []pair.Tensor, npu bool) {
		for i := range tensors {
			t := &tensors[i]
			if l := s.Tensors[t.ID].Leaf; l != nil {
				t.Call = calls.Key(s.op[t.ID].Name, l, npu)
				class, _ := calls.ClassesAtPlace(s.op[t.ID].Name, npu)
				t.AtPlace = class != ""
			}
		}
	}
	name(p.ref, refs, false)
	name(p.npu, npus, true)
}

// callOf returns the script line and the modules of an operator's call.
func callOf(op *dumpdir.Op) (script string, modules []string) {
	if op.Call == nil {
		return "", nil
	}
	return op.Script(), op.Call.Modules
}

// OperatorsByModule returns, for each module among the rows, the operators that run inside it.
func OperatorsByModule(rows []record.Row) map[string][]string {
	if !slices.ContainsFunc(rows, func(row record.Row) bool { return row.Modules != nil }) {
		return nil
	}
	names := make(map[string]string) // from names of modules to names of rows
	for i := range rows {
		row := &rows[i]
		names[cmp.Or(row.NPUOp, row.Op)], names[row.Op] = row.Op, row.Op
	}
	inside := make(map[string][]string)
	last := ""
	for i := range rows {
		row := &rows[i]
		if row.Op == last {
			continue
		}
		last = row.Op
		for _, module := range row.Modules {
			if name, ok := names[module]; ok && name != row.Op {
				inside[name] = append(inside[name], row.Op)
			}
		}
	}
	return inside
}

// pairValues pairs the values of all NPU calls with values of the reference, in the order of the calls, and sets
// Row.Argument where arguments differ. Its list is as large as the runs: without Options.Calls only arguments are
// paired and no list is kept.
func (p *Planner) pairValues() {
	type leafAt struct {
		round *Round
		leaf  *msprobe.Leaf
	}
	type callAt struct {
		round *Round
		api   string
	}
	wanted := func(l *msprobe.Leaf) bool { return p.options.Calls || l.Value != nil }
	rows := make(map[leafAt]int)
	for i := range p.Pairs {
		if x := &p.Pairs[i]; x.NPU != nil && x.NPU.Leaf != nil && wanted(x.NPU.Leaf) {
			rows[leafAt{x.Round, x.NPU.Leaf}] = i
		}
	}
	differing := make(map[callAt]*record.Argument)
	for _, round := range p.rounds {
		ref, npu, calls := round.pair.Ref, round.pair.NPU, round.calls
		if calls == nil {
			continue
		}
		type key struct {
			name string
			kind tensor.Kind
		}
		refs := make(map[key]*msprobe.Leaf)
		for _, c := range ref.Calls {
			for i := range c.Leaves {
				if l := &c.Leaves[i]; wanted(l) {
					refs[key{calls.Key(c.API, l, false), l.Kind}] = l
				}
			}
		}
		for _, c := range npu.Calls {
			of := record.CallPair{At: round.RoundCoordinates, API: c.API, Stack: c.Stack}
			for i := range c.Leaves {
				l := &c.Leaves[i]
				if !wanted(l) {
					continue
				}
				row, ok := rows[leafAt{round, l}]
				if !ok {
					row = -1
				}
				of.Values = append(of.Values, record.ValuePair{NPU: l, Ref: refs[key{calls.Key(c.API, l, true), l.Kind}], Row: row})
			}
			if first := round.countDiffering(&of); first != nil {
				differing[callAt{round, c.API}] = first
			}
			if p.options.Calls {
				p.calls = append(p.calls, of)
			}
		}
	}
	if len(differing) == 0 {
		return
	}
	for i := range p.Pairs {
		if x := &p.Pairs[i]; x.NPU != nil && x.NPU.Leaf != nil {
			x.Row.Argument = differing[callAt{x.Round, p.npu.op[x.NPU.ID].Name}]
		}
	}
}

// countDiffering counts the non-tensor arguments that differ, and modules of classes that compute different
// functions. It returns the first difference, nil if there is none.
func (r *Round) countDiffering(c *record.CallPair) (first *record.Argument) {
	add := func(name string, a record.Argument) {
		if first == nil {
			first = &a
		}
		if r.Pairing.Differ++; r.Pairing.Differ == 1 {
			r.Pairing.FirstDiffer = lang.Say("%s is %.100s, the reference has %.100s", name, a.NPU, a.Ref)
		}
	}
	if own, other := r.calls.ClassesAtPlace(c.API, true); recompute.AreDifferentModules(own, other) {
		add(c.API, record.Argument{Name: "class", Ref: other, NPU: own})
	}
	for _, v := range c.Values {
		if v.Ref == nil || v.NPU.Value == nil || v.Ref.Value == nil || v.NPU.Kind == tensor.Output || sameArgument(v.NPU, v.Ref) {
			continue
		}
		add(v.NPU.Name, record.Argument{Name: v.NPU.Path, Ref: v.Ref.Value.Text, NPU: v.NPU.Value.Text})
	}
	return first
}

// placements are the arguments that say where or how a result is stored and do not change its values.
var placements = []string{"device", "dtype", "memory_format", "layout", "inplace", "pin_memory", "non_blocking"}

// maskValue is the number below which a fill value stands for minus infinity.
const maskValue = -9000

// sameArgument reports whether two arguments are equivalent: equal texts, numbers that differ by less than a
// millionth, two fill values of masks, or placements of the result.
func sameArgument(a, b *msprobe.Leaf) bool {
	if a.Value.Text == b.Value.Text || slices.Contains(placements, a.Path) || slices.ContainsFunc(placements, func(p string) bool { return strings.HasSuffix(a.Value.Type, p) }) {
		return true
	}
	x, y := a.NumberOr(math.NaN()), b.NumberOr(math.NaN())
	return math.Abs(x-y) <= 1e-6*max(math.Abs(x), math.Abs(y)) || x < maskValue && y < maskValue
}

// nameRecorded sets the pairing keys of tensors recorded by torch.utils.dumper, if both sides
// have such files: partners have the same key.
func (p *Planner) nameRecorded(refs, npus []pair.Tensor, opt *pair.Options) {
	ref, refAt := p.ref.recorderTensors(refs)
	npu, npuAt := p.npu.recorderTensors(npus)
	if opt.Recorded = len(ref) > 0 && len(npu) > 0; !opt.Recorded {
		return
	}
	for i, at := range refAt {
		refs[at].Recorded = "ref " + strconv.Itoa(i)
	}
	for i, partner := range pair.MatchRecorded(ref, npu, opt.Map) {
		t := &npus[npuAt[i]]
		if t.Recorded = "npu " + strconv.Itoa(i); partner >= 0 {
			t.Recorded = "ref " + strconv.Itoa(partner)
		}
	}
}

// recorderTensors returns the tensors recorded by torch.utils.dumper, and their indexes in
// tensors.
func (s *Side) recorderTensors(tensors []pair.Tensor) (all []pair.RecorderPosition, at []int) {
	for i := range tensors {
		if r := s.Tensors[tensors[i].ID].Recorded; r != nil {
			all, at = append(all, *r), append(at, i)
		}
	}
	return all, at
}

// laterExecution is a tensor that replaces earlier executions on its side.
type laterExecution struct {
	id  int
	npu bool
}

// Executions returns the earlier executions of a tensor, oldest first, then the tensor itself;
// nil if that side of the pair has none.
func (p *Planner) Executions(x *Pair, npu bool) []*Tensor {
	last, side := x.Ref, p.ref
	if npu {
		last, side = x.NPU, p.npu
	}
	if last == nil {
		return nil
	}
	all := lists.Map(p.olderBy[laterExecution{last.ID, npu}], func(id int) *Tensor { return side.Tensors[id] })
	slices.SortStableFunc(all, func(a, b *Tensor) int { return cmp.Compare(p.timestamp(a, npu), p.timestamp(b, npu)) })
	return append(all, last)
}

// timestamp returns the timestamp in the name or the file of a tensor, 0 if neither has one.
func (p *Planner) timestamp(t *Tensor, npu bool) uint64 {
	if npu {
		return p.npu.pairingNames[t.ID].Timestamp
	}
	return p.ref.pairingNames[t.ID].Timestamp
}

// HaveSameTime reports whether two executions have the same timestamp.
func (p *Planner) HaveSameTime(executions []*Tensor, npu bool) bool {
	for i := 1; i < len(executions); i++ {
		if p.timestamp(executions[i], npu) == p.timestamp(executions[i-1], npu) {
			return true
		}
	}
	return false
}

package check

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// Unwritten is memory with rows that no operator wrote. Rows are counted over all axes except the last.
type Unwritten struct {
	// Op is the operator that returned the memory, in the round At. Rows are the unwritten rows, of Of rows.
	Op   string              `json:"op"`
	At   dumpdir.Coordinates `json:"at"`
	Rows []Range             `json:"rows"`
	Of   int64               `json:"of"`
	// Reaches is the first operator that mixes unwritten rows with written rows, and ReachedRows are the rows of its
	// output that depend on unwritten rows, of ReachedOf rows; absent if there is none.
	Reaches     string  `json:"reaches,omitempty"`
	ReachedRows []Range `json:"reached_rows,omitempty"`
	ReachedOf   int64   `json:"reached_of,omitempty"`
	// Text is the finding in words, TextZH in Chinese.
	Text   lang.Sentence `json:"text"`
	TextZH string        `json:"text_zh"`

	reachedJob int // index of the job
}

const (
	// maxFollowed limits the elements of a followed tensor, maxKept the bytes that are kept of a round.
	maxFollowed, maxKept = 1 << 24, 1 << 28
	// groupedProduct is the formula of a product with a matrix for each group of rows.
	groupedProduct = "GroupedMatmul"
	// minDistinct is the number of different elements from which equal rows are no coincidence.
	minDistinct = 16
)

// unwrittenTracker follows unwritten elements through the operators of a round.
type unwrittenTracker struct {
	*checker
	memories []*memory
	// masks are the unwritten elements of tensors by their content, nil for none.
	masks map[uint64]*unwrittenMask
	// rows are the contents of rows of written tensors.
	rows map[uint64]bool
	// sizes are the sizes in bytes of the tensors that may have unwritten elements; others are not read.
	sizes     map[int]bool
	jobIndex  int // index of the job
	bytesLeft int // bytes that may still be kept; below 0 the round is not followed further
}

// memory is an output with elements that may be unwritten. content are its bytes when the operator returned it, nil
// if the operator wrote the other elements of the output itself. now are the bytes after later copies into views.
// isWritten: an operator wrote the memory in place.
type memory struct {
	*Unwritten
	content   []byte
	now       []byte
	tensor    *recompute.Tensor
	isWritten bool
}

// unwrittenMask marks the elements of a tensor that are unwritten, or depend on unwritten elements.
type unwrittenMask struct {
	memory *memory
	marked []bool
	// otherValues are the elements that the tensor would have if the memory held other numbers, nil for any.
	otherValues []float64
}

// loadedTensor is a tensor with its content.
type loadedTensor struct {
	*recompute.Tensor
	content []byte
}

var contentSeed = maphash.MakeSeed()

func contentHash(data []byte) uint64 { return maphash.Bytes(contentSeed, data) }

func returnsMemory(op *dumpdir.Op) bool {
	t := recompute.TypeOfOperator(op.Type, op.Names()[0])
	return t.NoiseWay() == optype.NoiseGarbage
}

// hasLengths reports whether an operator may leave rows behind the lengths of sequences or groups unwritten. Dumps of
// CANN do not name the inputs: there the formula decides.
func hasLengths(op *dumpdir.Op) bool {
	if op.Call != nil {
		return hasArgument(op, "actual_seq") || hasArgument(op, "group_list")
	}
	formula := recompute.FormulaOf(op.Type).Name
	return formula == "Attention" || formula == groupedProduct
}

// roundsWithMemory returns the rounds with operators that leave memory unwritten, by the names of the operators: a
// resumed scan does not read the headers of other rounds again.
func roundsWithMemory(run *dumpdir.Run) map[*dumpdir.Round]bool {
	all := map[*dumpdir.Round]bool{}
	for _, round := range run.Rounds {
		if slices.ContainsFunc(round.Ops, func(op *dumpdir.Op) bool { return returnsMemory(op) || hasLengths(op) }) {
			all[round] = true
		}
	}
	return all
}

// hasArgument reports whether a call has an argument with a name that starts with a prefix.
func hasArgument(op *dumpdir.Op, prefix string) bool {
	return op.Call != nil && slices.ContainsFunc(op.Call.Leaves, func(l msprobe.Leaf) bool { return l.Kind == tensor.Input && strings.HasPrefix(l.Path, prefix) })
}

// isInPlace reports whether an operator writes into an input: a method whose name ends in _, or a call with out=.
func isInPlace(op *dumpdir.Op) bool {
	return strings.HasSuffix(typeOf(op), "_") || hasArgument(op, "out")
}

// FindUnwritten looks for memory that no operator wrote in the chosen rounds of a run. Problems are bugs of the program;
// files that cannot be read are left out.
func FindUnwritten(ctx context.Context, run *dumpdir.Run, opt Options) (all []Unwritten, problems []Problem, err error) {
	opt.onlyUnwritten = true
	r, err := Run(ctx, run, opt)
	if r == nil {
		return nil, nil, err
	}
	return r.Unwritten, slices.DeleteFunc(r.Problems, func(p Problem) bool { return p.Kind != "" }), err
}

// findUnwritten follows unwritten memory through the rounds of the jobs.
func (c *checker) findUnwritten(ctx context.Context, jobs []job) error {
	for first := 0; first < len(jobs); {
		round, end := jobs[first].round, first
		for end < len(jobs) && jobs[end].round == round {
			end++
		}
		f := &unwrittenTracker{checker: c, masks: map[uint64]*unwrittenMask{}, rows: map[uint64]bool{}, sizes: map[int]bool{}, bytesLeft: maxKept}
		for _, j := range jobs[first:end] {
			if round.Order.IsKnown() && returnsMemory(j.op) {
				f.withOperator(j, func(x *execution) error {
					_, out := f.tensors(x)
					for _, h := range out {
						f.sizes[sizeOf(h.Tensor)] = true
					}
					return nil
				})
			}
		}
		for i, j := range jobs[first:end] {
			f.jobIndex = first + i
			if ctx.Err() == nil && f.bytesLeft >= 0 && round.Order.IsKnown() && (len(f.sizes) > 0 || hasLengths(j.op)) && !isBackward(j.op) {
				f.withOperator(j, func(x *execution) error { return f.followOperator(ctx, x) })
			}
		}
		for _, m := range f.memories {
			if len(m.Rows) > 0 {
				f.reportUnwritten(m.Unwritten)
			}
		}
		first = end
	}
	return ctx.Err()
}

// withOperator opens an operator for do. Files that cannot be read were reported when the operator was judged; a bug
// of the program is a problem.
func (f *unwrittenTracker) withOperator(j job, do func(*execution) error) {
	x := &execution{checker: f.checker, job: j, outcome: &outcome{row: Operator{Op: j.op.Names()[0], Type: typeOf(j.op)}}}
	defer x.close()
	err := guard.Do(func() error { return do(x) })
	isReported := len(f.Operators) > 0 && f.Operators[f.jobIndex].Status == recompute.Crashed
	if crash, ok := errors.AsType[*guard.Panic](err); ok && !isReported {
		f.Problems = append(f.Problems, Problem{File: j.op.Tensors[0].File.Path(), Err: lang.Say("%s: %v", x.row.Op, crash.Text())})
	}
}

// tensors returns the inputs and outputs of floating-point numbers.
func (f *unwrittenTracker) tensors(x *execution) (in, out []loadedTensor) {
	for i := range x.op.Tensors {
		t := &x.op.Tensors[i]
		if t.Table || t.IsWholeFile() || t.File.Err != nil {
			continue
		}
		one, err := x.openTensor(t, false)
		if err != nil || one.Source == nil || one.Stored.Host().Integer() || one.Stored.Host().Complex() || one.Shape.Elements() == 0 || one.Shape.Elements() > maxFollowed {
			continue
		}
		switch t.Kind {
		case tensor.Input:
			in = append(in, f.loadTracked(one))
		case tensor.Output:
			out = append(out, f.loadTracked(one))
		}
	}
	return in, out
}

func sizeOf(t *recompute.Tensor) int { return t.Stored.UnitSize() * int(t.Shape.Elements()) }

// rowBytes returns the bytes along the last axis of a tensor, or of the whole tensor if a row is too short to be
// identified.
func rowBytes(t *recompute.Tensor) int {
	const least = 16
	n := len(t.Shape)
	if n < 2 || t.Stored.UnitSize()*int(t.Shape[n-1]) < least {
		return sizeOf(t)
	}
	return t.Stored.UnitSize() * int(t.Shape[n-1])
}

// loadTracked reads a tensor that may have unwritten elements; content is nil for others.
func (f *unwrittenTracker) loadTracked(t *recompute.Tensor) loadedTensor {
	if t == nil || t.Source == nil || !f.sizes[sizeOf(t)] {
		return loadedTensor{t, nil}
	}
	return readTensor(t)
}

func readTensor(t *recompute.Tensor) loadedTensor {
	content := make([]byte, sizeOf(t))
	if t.Source.ReadElements(content, 0) != nil {
		content = nil
	}
	return loadedTensor{t, content}
}

// followOperator follows unwritten elements through an operator.
func (f *unwrittenTracker) followOperator(ctx context.Context, x *execution) error {
	in, out := f.tensors(x)
	if returnsMemory(x.op) {
		for _, h := range out {
			f.addMemory(x, h)
		}
		return nil
	}
	marks := map[uint64]*unwrittenMask{} // by the content of inputs
	var given *memory
	for _, h := range in {
		if s := f.unwrittenElements(h, nil, isInPlace(x.op)); s != nil {
			marks[contentHash(h.content)], given = s, s.memory
		}
	}
	if given == nil && typeOf(x.op) == "copy_" && len(in) > 0 && len(out) > 0 {
		f.copyToView(readTensor(in[0].Tensor).content, readTensor(out[0].Tensor).content)
	}
	if given == nil && !hasLengths(x.op) {
		for _, h := range out {
			f.noteRows(h)
		}
		return nil
	}
	bind := x.bindDump
	if x.op.Call != nil && x.op.Call.API != "" {
		bind = x.bindCall
	}
	op, v, err := x.bindAndJudge(ctx, bind)
	switch {
	case err != nil || op == nil || v.Status != recompute.OK && v.Status != recompute.Low:
		for _, h := range out {
			if given != nil {
				f.unwrittenElements(h, given, false)
			}
		}
		return err
	case given != nil:
		t, err := newPerturbation(f, op, v.Attributes, marks)
		if err == nil {
			err = f.propagate(ctx, x, t, given)
		}
		if err != nil || !hasLengths(x.op) {
			return err
		}
	}
	return f.recordUnwrittenTail(ctx, x, op, v.Attributes)
}

// addMemory notes an output with elements that may be unwritten.
func (f *unwrittenTracker) addMemory(x *execution, h loadedTensor) *memory {
	f.bytesLeft -= len(h.content)
	m := &memory{Unwritten: &Unwritten{Op: x.row.Op, At: x.round.At}, content: h.content, now: h.content, tensor: h.Tensor}
	f.memories = append(f.memories, m)
	return m
}

// unwrittenElements returns the unwritten elements of a tensor, nil for none. For an output, given is the memory that
// its operator has as an input, nil for none. inPlace: the operator writes into an input.
func (f *unwrittenTracker) unwrittenElements(h loadedTensor, given *memory, inPlace bool) *unwrittenMask {
	isMemory := false
	for _, m := range f.memories {
		if h.content == nil || !bytes.Equal(m.content, h.content) || m.tensor.Stored != h.Stored {
			continue
		}
		if isMemory = true; inPlace && !m.isWritten {
			m.isWritten = true
			return &unwrittenMask{memory: m, marked: slices.Repeat([]bool{true}, int(h.Shape.Elements()))}
		}
	}
	if h.content == nil || isMemory {
		return nil
	}
	s, isKnown := f.masks[contentHash(h.content)]
	if !isKnown {
		s = f.staleRows(h, given)
		f.recordUnwritten(h, s, true)
	}
	if s == nil || s.memory.Reaches != "" {
		return nil
	}
	return s
}

// copyToView notes the bytes of a memory after an operator has copied into a view of it.
func (f *unwrittenTracker) copyToView(before, after []byte) {
	for _, m := range f.memories {
		if at := bytes.Index(m.now, before); at >= 0 && len(before) == len(after) && len(after) > 0 && len(after) < len(m.now) {
			m.now = slices.Concat(m.now[:at], after, m.now[at+len(after):])
			h := loadedTensor{m.tensor, m.now}
			f.bytesLeft -= len(m.now)
			f.recordUnwritten(h, f.staleRows(h, m), true)
			return
		}
	}
}

// recordUnwritten records the unwritten elements of a tensor, nil for none. isThere: the tensor lies in the memory; its
// unwritten rows then replace the rows recorded before, because operators have written more of the memory since.
func (f *unwrittenTracker) recordUnwritten(h loadedTensor, s *unwrittenMask, isThere bool) {
	if f.masks[contentHash(h.content)] = s; s == nil {
		f.noteRows(h)
		return
	}
	f.bytesLeft -= len(s.marked) + 8*len(s.otherValues)
	if m := s.memory; len(m.Rows) == 0 || isThere && len(m.content) == len(h.content) {
		m.Rows, m.Of = markedRows(s.marked, h.Shape)
	}
}

// noteRows notes the rows of a written tensor.
func (f *unwrittenTracker) noteRows(h loadedTensor) {
	const kept = 32 // bytes of an entry
	for row := range slices.Chunk(h.content, rowBytes(h.Tensor)) {
		f.rows[contentHash(row)] = true
		f.bytesLeft -= kept
	}
}

// staleRows returns the rows of a tensor that still have the content of a memory, nil for none. Zeros do not count, nor
// few different elements without a fill pattern. Unless the operator has the memory as an input, rows of earlier tensors
// and first rows alone do not count either: a kernel that was not dumped may have written the same rows again.
func (f *unwrittenTracker) staleRows(h loadedTensor, given *memory) *unwrittenMask {
	for _, m := range f.memories {
		if h.content == nil || len(m.content) != len(h.content) || m.tensor.Stored != h.Stored || m.Reaches != "" || given != nil && given != m {
			continue
		}
		width, unit := min(rowBytes(h.Tensor), rowBytes(m.tensor)), h.Stored.UnitSize()
		s := &unwrittenMask{memory: m, marked: make([]bool, h.Shape.Elements())}
		distinct, isFilled := map[string]bool{}, false
		for at := 0; at+width <= len(h.content); at += width {
			row := h.content[at : at+width]
			if !bytes.Equal(row, m.content[at:at+width]) || bytes.Count(row, []byte{0}) == width {
				continue
			}
			isFill := isPattern(row, h.Stored)
			if !isFill && given == nil && f.rows[contentHash(row)] {
				continue
			}
			isFilled = isFilled || isFill
			for k := at; k < at+width; k += unit {
				s.marked[k/unit], distinct[string(h.content[k:k+unit])] = true, true
			}
		}
		written := slices.Index(s.marked, false)
		isFirst := s.marked[0] && given == nil && !isFilled && (written < 0 || !slices.Contains(s.marked[written:], true))
		if written >= 0 && slices.Contains(s.marked, true) && !isFirst && (isFilled || len(distinct) >= minDistinct) {
			return s
		}
	}
	return nil
}

// isPattern reports whether a row is filled with one byte, or with one NaN, as debugging allocators do.
func isPattern(row []byte, typ tensor.DType) bool {
	unit := typ.UnitSize()
	if len(row) < 8 || !bytes.Equal(row[unit:], row[:len(row)-unit]) {
		return false
	}
	var v [1]float64
	if decoder, err := tensor.NewDecoder(typ); err == nil {
		host := make([]byte, typ.Host().Size())
		decoder.Decode(host, row[:unit])
		tensor.Float64s(v[:], host, typ.Host())
	}
	return bytes.Count(row, row[:1]) == len(row) || v[0] != v[0]
}

// reportUnwritten adds a finding: to the row of the operator that it reaches, or as a note.
func (c *checker) reportUnwritten(u *Unwritten) {
	rows := rowsText(u.Rows, u.Of)
	if u.Text = lang.Say("%s of %s were never written; no written row was found to depend on them", rows, u.Op); u.Reaches != "" {
		u.Text = lang.Say("%s of %s were never written; they reach %s at %s", rows, u.Op, rowsText(u.ReachedRows, u.ReachedOf), u.Reaches)
	}
	u.TextZH = u.Text.Text().Chinese()
	c.Unwritten = append(c.Unwritten, *u)
	if u.Reaches != "" && len(c.Operators) > 0 {
		o := &c.Operators[u.reachedJob]
		o.Status, o.Reason, o.Extent, o.Confidence = recompute.Wrong, recompute.ByUnwritten, "", finding.High
		o.setEvidenceText(u.Text, lang.Sentence{})
	}
}

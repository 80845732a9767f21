package check

import (
	"bytes"
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// Unwritten is memory with rows that no operator wrote. Rows lie along the first axis if they are unwritten as a whole,
// else they are counted over all axes except the last.
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

	source, reached int // indexes of the jobs
}

const (
	// maxFollowed limits the elements of a tensor whose unwritten elements are followed.
	maxFollowed = 1 << 24
	// fewestDistinct is the number of different elements from which equal rows are no coincidence.
	fewestDistinct = 16
)

// follower follows unwritten elements through the operators of a round.
type follower struct {
	*checker
	memories []*memory
	// known are the unwritten elements of tensors by their content, nil for none.
	known map[uint64]*stale
	// rows are the contents of rows of written tensors.
	rows map[uint64]bool
	// sizes are the sizes in bytes of the tensors that may have unwritten elements; others are not read.
	sizes map[int]bool
	place int // index of the job
}

// memory is an output with elements that may be unwritten. content is what it held when it was returned, nil if other
// elements of the output were written at once.
type memory struct {
	*Unwritten
	content []byte
	shape   tensor.Shape
	typ     tensor.DType
	used    bool // an operator was given it
}

// stale marks the elements of a tensor that are unwritten, or depend on unwritten elements.
type stale struct {
	of *memory
	on []bool
	// other are the elements that the tensor would have if the memory held other numbers, nil for any.
	other []float64
}

// held is a tensor with its content.
type held struct {
	*recompute.Tensor
	content []byte
	values  []float64
}

var contentSeed = maphash.MakeSeed()

func contentOf(data []byte) uint64 { return maphash.Bytes(contentSeed, data) }

func returnsMemory(op *dumpdir.Op) bool {
	t := recompute.TypeOfOperator(op.Type, op.Names()[0])
	return t.NoiseWay() == optype.NoiseGarbage
}

// hasLengths reports whether a call of attention may leave rows behind its sequences unwritten.
func hasLengths(op *dumpdir.Op) bool { return strings.Contains(strings.ToLower(typeOf(op)), "attention") }

// FindUnwritten looks for memory that no operator wrote in the chosen rounds of a run.
func FindUnwritten(ctx context.Context, run *dumpdir.Run, opt Options) ([]Unwritten, error) {
	opt.unwritten = true
	r, err := Run(ctx, run, opt)
	if r == nil {
		return nil, err
	}
	return r.Unwritten, err
}

// findUnwritten follows unwritten memory through the rounds of the jobs.
func (c *checker) findUnwritten(ctx context.Context, jobs []job) error {
	for first := 0; first < len(jobs); {
		round, end := jobs[first].round, first
		for end < len(jobs) && jobs[end].round == round {
			end++
		}
		f := &follower{checker: c, known: map[uint64]*stale{}, rows: map[uint64]bool{}, sizes: map[int]bool{}}
		some := jobs[first:end]
		for _, j := range some {
			if round.Order.IsKnown() && (returnsMemory(j.op) || hasLengths(j.op)) {
				f.noteSizes(j)
			}
		}
		for i, j := range some {
			if f.place = first + i; len(f.sizes) > 0 && ctx.Err() == nil {
				x := f.execution(j)
				_ = guard.Do(func() error { return f.step(ctx, x) }) // what cannot be read was reported when the operator was judged
				x.close()
			}
		}
		for _, m := range f.memories {
			if len(m.Rows) > 0 {
				f.report(m.Unwritten)
			}
		}
		first = end
	}
	return ctx.Err()
}

func (f *follower) execution(j job) *execution {
	return &execution{checker: f.checker, job: j, outcome: &outcome{row: Operator{Op: j.op.Names()[0], Type: typeOf(j.op), Attributes: map[string]recompute.Attribute{}}}}
}

// noteSizes notes the sizes of the outputs of an operator.
func (f *follower) noteSizes(j job) {
	x := f.execution(j)
	defer x.close()
	for i := range j.op.Tensors {
		if one := x.follow(&j.op.Tensors[i]); one != nil && j.op.Tensors[i].Kind == tensor.Output {
			f.sizes[sizeOf(one)] = true
		}
	}
}

// follow opens a tensor of floating-point numbers; nil if it has none, or too many.
func (x *execution) follow(t *dumpdir.Tensor) *recompute.Tensor {
	if t.Table || t.Whole() || t.File.Err != nil || t.Kind != tensor.Input && t.Kind != tensor.Output {
		return nil
	}
	one, err := x.tensor(t, false)
	if err != nil || one.Source == nil || one.Stored.Host().Integer() || one.Stored.Host().Complex() || one.Shape.Elements() == 0 || one.Shape.Elements() > maxFollowed {
		return nil
	}
	return one
}

func sizeOf(t *recompute.Tensor) int { return t.Stored.UnitSize() * int(t.Shape.Elements()) }

// rowBytes returns the bytes of a row.
func rowBytes(shape tensor.Shape, typ tensor.DType) int {
	if len(shape) < 2 {
		return typ.UnitSize()
	}
	return typ.UnitSize() * int(shape[len(shape)-1])
}

// load reads a tensor that may have unwritten elements; content is nil for others.
func (f *follower) load(t *recompute.Tensor) held {
	h := held{Tensor: t}
	if t == nil || t.Source == nil || !f.sizes[sizeOf(t)] {
		return h
	}
	content := make([]byte, sizeOf(t))
	if err := t.Source.ReadElements(content, 0); err != nil {
		return h
	}
	if values, err := t.Values(); err == nil {
		h.content, h.values = content, values
	}
	return h
}

// step follows unwritten elements through an operator.
func (f *follower) step(ctx context.Context, x *execution) error {
	var out []held
	var given *memory // with unwritten elements, to the operator
	for i := range x.op.Tensors {
		t := &x.op.Tensors[i]
		one := x.follow(t)
		if one == nil {
			continue
		}
		h := f.load(one)
		if t.Kind == tensor.Output {
			out = append(out, h)
		} else if s := f.find(x, h, nil); s != nil {
			given = s.of
		}
	}
	if returnsMemory(x.op) {
		for _, h := range out {
			if h.content != nil {
				f.add(x, h)
			}
		}
		return nil
	}
	if given == nil && !hasLengths(x.op) && !slices.ContainsFunc(out, func(h held) bool { return f.rest(h, nil) != nil }) {
		for _, h := range out {
			f.noteRows(h)
		}
		return nil
	}
	if isBackward(x.op) {
		return nil
	}
	bind := x.bind
	if x.op.Call != nil && x.op.Call.API != "" {
		bind = x.bindCall
	}
	op, v, err := x.verdict(ctx, bind)
	if err == nil && op != nil && (v.Status == recompute.OK || v.Status == recompute.Low) {
		return f.spread(ctx, x, op, v.Attributes)
	}
	for _, h := range out {
		if given != nil {
			f.find(x, h, given)
		}
	}
	return err
}

// add notes an output whose elements may be unwritten.
func (f *follower) add(x *execution, h held) *memory {
	m := &memory{Unwritten: &Unwritten{Op: x.row.Op, At: x.round.At, source: f.place}, content: h.content, shape: h.Shape, typ: h.Stored}
	f.memories = append(f.memories, m)
	return m
}

// find returns the unwritten elements of a tensor, nil for none. given is the memory that the operator behind an output
// was given, nil for none.
func (f *follower) find(x *execution, h held, given *memory) *stale {
	if h.content == nil {
		return nil
	}
	key := contentOf(h.content)
	if s := x.wrote[key]; s != nil {
		return s
	}
	for _, m := range f.ordered() {
		if x.isInPlace() && m.Reaches == "" && bytes.Equal(m.content, h.content) && m.typ == h.Stored {
			m.used = true
			x.wrote = map[uint64]*stale{key: {of: m, on: slices.Repeat([]bool{true}, len(h.values))}}
			return x.wrote[key]
		}
	}
	s, isKnown := f.known[key]
	if !isKnown {
		s = f.rest(h, given)
		f.know(h, s, true)
	}
	if s == nil || s.of.Reaches != "" {
		return nil
	}
	return s
}

// isInPlace reports whether the operator writes into an input: a method whose name ends in _, or a call with out=.
func (x *execution) isInPlace() bool {
	return strings.HasSuffix(typeOf(x.op), "_") || slices.ContainsFunc(x.op.Tensors, func(t dumpdir.Tensor) bool { return t.Kind == tensor.Input && t.Leaf != nil && t.Leaf.Path == "out" })
}

// ordered returns the memories, unused ones first.
func (f *follower) ordered() []*memory {
	all := slices.Clone(f.memories)
	slices.SortStableFunc(all, func(a, b *memory) int {
		switch {
		case a.used == b.used:
			return 0
		case a.used:
			return 1
		}
		return -1
	})
	return all
}

// know notes the unwritten elements of a tensor, nil for none. isThere: the tensor lies in the memory; whenever that has
// been written further, fewer of its rows are unwritten.
func (f *follower) know(h held, s *stale, isThere bool) {
	f.known[contentOf(h.content)] = s
	if s == nil {
		if !slices.ContainsFunc(f.memories, func(m *memory) bool { return bytes.Equal(m.content, h.content) }) {
			f.noteRows(h)
		}
		return
	}
	m := s.of
	m.used = true
	if len(m.Rows) == 0 || isThere && len(m.content) == len(h.content) {
		m.Rows, m.Of = rangesOf(s.on, h.Shape)
	}
}

// noteRows notes the rows of a written tensor.
func (f *follower) noteRows(h held) {
	width := rowBytes(h.Shape, h.Stored)
	for at := 0; at < len(h.content); at += width {
		f.rows[contentOf(h.content[at:at+width])] = true
	}
}

// rest returns the rows of a tensor that still have the content of a memory, nil for none. Zeros are no evidence, and
// neither are few different elements without a fill pattern. Unless the memory was given to the operator, neither are
// rows of earlier tensors, and first rows alone: a kernel that was not dumped may write there what it wrote before.
func (f *follower) rest(h held, given *memory) *stale {
	if h.content == nil {
		return nil
	}
	for _, m := range f.ordered() {
		if len(m.content) != len(h.content) || m.typ != h.Stored || m.Reaches != "" {
			continue
		}
		width, unit := min(rowBytes(h.Shape, h.Stored), rowBytes(m.shape, m.typ)), h.Stored.UnitSize()
		s := &stale{of: m, on: make([]bool, len(h.values))}
		distinct, isFilled := map[string]bool{}, false
		for at := 0; at+width <= len(h.content); at += width {
			row := h.content[at : at+width]
			isFill := isPattern(row, h.values[at/unit])
			if !bytes.Equal(row, m.content[at:at+width]) || !slices.ContainsFunc(row, func(b byte) bool { return b != 0 }) || given != m && !isFill && f.rows[contentOf(row)] {
				continue
			}
			isFilled = isFilled || isFill
			for k := at; k < at+width; k += unit {
				s.on[k/unit], distinct[string(h.content[k:k+unit])] = true, true
			}
		}
		isFirst := s.on[0] && given != m && !isFilled && !slices.Contains(s.on[slices.Index(append(s.on, false), false):], true)
		if slices.Contains(s.on, true) && slices.Contains(s.on, false) && !isFirst && (isFilled || len(distinct) >= fewestDistinct) {
			return s
		}
	}
	return nil
}

// isPattern reports whether a row is filled with one byte, or with NaN, as debugging allocators do. first is its first
// element.
func isPattern(row []byte, first float64) bool {
	return len(row) >= 8 && (bytes.Count(row, row[:1]) == len(row) || first != first && bytes.Equal(row[:len(row)/2], row[len(row)/2:]))
}

// report adds a finding: to the row of the operator that it reaches, or as a note.
func (c *checker) report(u *Unwritten) {
	rows := rowsOf(u.Rows, u.Of)
	if u.Text = lang.Say("%s of %s were never written; no written row was seen to depend on them", rows, u.Op); u.Reaches != "" {
		u.Text = lang.Say("%s of %s were never written; they reach %s at %s", rows, u.Op, rowsOf(u.ReachedRows, u.ReachedOf), u.Reaches)
	}
	u.TextZH = u.Text.Text().Chinese()
	c.Unwritten = append(c.Unwritten, *u)
	if u.Reaches != "" && u.reached < len(c.Operators) {
		o := &c.Operators[u.reached]
		o.Status, o.Reason, o.Extent, o.Confidence = recompute.Wrong, string(recompute.ByUnwritten), "", recompute.High
		o.set(u.Text, lang.Sentence{})
	}
}

package overflow

import (
	"context"
	"errors"
	"sync"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/statusreg"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Tensor is one tensor of an operator and what it holds.
type Tensor struct {
	Kind     tensorfile.Kind
	Index    int
	DType    tensor.DType
	Format   tensor.Format
	Shape    tensor.Shape // as stored
	Original tensor.Shape
	Size     int64
	// Census is nil when the tensor could not be read; Err tells why.
	Census *Census
	Err    error
}

// Bad reports whether the tensor holds what an overflow leaves behind: NaN,
// infinities, or values at the limit of a floating-point type. What conversions
// from float16 may leave in float32 (65504, 65536) is often an ordinary constant,
// such as a loss scale, and proves nothing by itself.
func (t *Tensor) Bad() bool {
	return t.Census != nil && (t.Census.Hard() || t.Census.Saturated > 0 && !t.Census.WeakLimits)
}

// NotNumeric reports whether elements of the tensor's type cannot overflow, such
// as strings: not to read them is no loss.
func (t *Tensor) NotNumeric() bool {
	var unsupported *tensor.UnsupportedType
	_, named := tensor.ParseDType(t.DType.String())
	return errors.As(t.Err, &unsupported) && named
}

// Verdict says where the bad values of an operator come from.
type Verdict string

// The verdicts.
const (
	ProducedHere    Verdict = "produced here"
	CameIn          Verdict = "came in"
	ProcessOverflow Verdict = "process overflow"
	CannotTell      Verdict = "cannot tell"
)

// Reasons for which nothing can be told before any tensor is looked at.
var (
	whyNoDump = statusreg.Text{EN: "no dump of the operator was found", ZH: "未找到该算子的 dump"}
	whyBroken = statusreg.Text{EN: "the operator's dump cannot be read", ZH: "该算子的 dump 无法读取"}
	whyGuess  = statusreg.Text{EN: "the operator is a guess, and its tensors do not confirm it", ZH: "算子仅为推测，其张量不能证实"}
)

// judge compares the inputs of an operator with its outputs. Bad inputs come
// from upstream; clean inputs and bad outputs make the operator the culprit;
// when nothing is bad, only an intermediate value overflowed. Without the
// inputs, or with tensors that cannot be read, nothing is certain.
func judge(tensors []Tensor) (v Verdict, why statusreg.Text) {
	var inputs, outputs, badIn, badOut, unread, unreadOut int
	for i := range tensors {
		t := &tensors[i]
		if t.Err != nil && !t.NotNumeric() && t.Kind == tensorfile.Input {
			unread++
		}
		if t.Err != nil && !t.NotNumeric() && t.Kind == tensorfile.Output {
			unreadOut++
		}
		bad := 0
		if t.Bad() {
			bad = 1
		}
		if t.Kind == tensorfile.Input {
			inputs++
			badIn += bad
		} else {
			outputs++
			badOut += bad
		}
	}
	switch {
	case inputs+outputs == 0:
		return CannotTell, statusreg.Text{EN: "there are no tensors to look at", ZH: "没有可检查的张量"}
	case badIn > 0:
		return CameIn, statusreg.Text{EN: "an input is bad already", ZH: "有输入已异常"}
	case unread > 0:
		return CannotTell, statusreg.Text{EN: "not every input could be read", ZH: "部分输入无法读取"}
	case inputs == 0 && badOut > 0:
		return CannotTell, statusreg.Text{EN: "the inputs were not dumped", ZH: "没有 dump 输入"}
	case badOut > 0:
		return ProducedHere, statusreg.Text{EN: "the inputs are clean, an output is not", ZH: "输入正常，输出异常"}
	case inputs == 0 || outputs == 0 || unreadOut > 0:
		return CannotTell, statusreg.Text{EN: "not everything was dumped or could be read, and what there is looks clean", ZH: "输入输出未全部 dump 或无法读取，已有部分正常"}
	}
	return ProcessOverflow, statusreg.Text{EN: "neither inputs nor outputs are bad: an intermediate value overflowed", ZH: "输入输出均正常，计算过程中的中间值溢出"}
}

// blockElements is how many elements a census takes at a time.
const blockElements = 128 << 10

// reader is the memory that reading tensors takes, kept for the next one.
type reader struct{ block []byte }

var readers = sync.Pool{New: func() any { return new(reader) }}

// readTensors takes the census of every tensor of a file.
func readTensors(ctx context.Context, path string) ([]Tensor, error) {
	f, err := tensorfile.Open(path, dumpfmt.Options{})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := readers.Get().(*reader)
	defer readers.Put(r)
	var all []Tensor
	for i := range f.Tensors {
		src := &f.Tensors[i]
		t := Tensor{Kind: src.Kind, Index: src.Index, DType: src.DType, Format: src.Format, Shape: src.Shape,
			Original: src.OriginalShape, Size: src.Size}
		t.Census, t.Err = r.census(ctx, src)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		all = append(all, t)
	}
	return all, nil
}

// census reads a tensor once, in blocks.
func (r *reader) census(ctx context.Context, t *tensorfile.Tensor) (*Census, error) {
	shape, err := t.Stored()
	if err != nil {
		return nil, err
	}
	c, err := newCounter(t.DType)
	if err != nil {
		return nil, err
	}
	n, _ := shape.Count()
	unit := int64(t.DType.UnitSize())
	src := t.Elements()
	if need := min(n, blockElements) * unit; int64(cap(r.block)) < need {
		r.block = make([]byte, need)
	}
	for first := int64(0); first < n; first += blockElements {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		block := r.block[:min(blockElements, n-first)*unit]
		if err := src.ReadElements(block, first); err != nil {
			return nil, err
		}
		c.add(block)
	}
	result := c.census()
	return &result, nil
}

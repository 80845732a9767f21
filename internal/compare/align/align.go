// Package align brings the two tensors of a pair into one order of axes and one
// shape: it opens both files, once, and returns views of their elements that can
// be compared one by one, or says why there are none.
package align

import (
	"sync"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Options say what may be done to tensors whose shapes differ.
type Options struct {
	// Force compares tensors of one size flat.
	Force bool
	// CropPadding compares the common part when the NPU tensor is longer on one
	// axis; the rest has to be zero.
	CropPadding bool
	// AutoLayout says when the axes of an NPU tensor are permuted to the reference's shape.
	AutoLayout AutoLayout
	// Transpose permutes the axes of the NPU tensors of an operator.
	Transpose map[string][]int
	// RefFormat is the axis order of the reference, nil when the tensors say it;
	// OriginalFormat that of the original shapes in dumps.
	RefFormat, OriginalFormat *tensor.Format
	// NPUFormat is the layout of the arrays and raw files of the NPU whose names
	// have none, nil for elements in host order.
	NPUFormat *tensor.Format
	// MaxElements compares only so many leading elements, 0 for all.
	MaxElements int64
	// StrictDType makes different element types a mismatch.
	StrictDType bool
	// RefDType and NPUDType are the types of raw files whose names have none;
	// Undefined for the type of the other side.
	RefDType, NPUDType tensor.DType
}

// Aligner aligns pairs.
type Aligner struct {
	Options
	// Version is the dump container, 0 for what the file says.
	Version int

	notes sync.Map // of lang.Sentence, by their English
}

// share makes equal notes of pairs one: a run keeps those of all.
func (g *Aligner) share(notes []lang.Sentence) {
	for i, note := range notes {
		if kept, ok := g.notes.LoadOrStore(note.String(), note); ok {
			notes[i] = kept.(lang.Sentence)
		}
	}
}

// Pair is what is aligned.
type Pair struct {
	Op       string
	Ref, NPU *Ref
	// Format is the axis order that the reference is known to have, nil when it
	// is not known.
	Format *tensor.Format
	// Whole says that all elements will be read.
	Whole bool
	// Part is that of the reference with which the NPU tensor is compared, nil for all of it.
	Part *record.Part
}

// Alignment is a pair whose files are open and that can be compared, or is known
// not to be comparable.
type Alignment struct {
	Ref, NPU View
	// Shape is what is compared: equal on both sides, or flat.
	Shape tensor.Shape
	Notes []lang.Sentence
	// Warnings are what is odd about the files, each with its file.
	Warnings []lang.Sentence
	// Forced is set when the shapes differ all the same, Partial when not all
	// elements are compared.
	Forced, Partial bool
	// Status is set for a pair that cannot be compared; Reasons say why.
	Status  record.Status
	Reasons []finding.Finding

	// cropped is set when padding was cut off, which has to be zero.
	cropped bool
	// orders are the orders of axes of the NPU tensor that fit, if there are
	// several: the one in use first. orderNotes of the Notes, from orderNote on,
	// are about them.
	orders                []order
	orderNote, orderNotes int
}

// The sides as errors name them.
const (
	reference = "reference"
	NPUSide   = "NPU"
)

// Close closes both files.
func (a *Alignment) Close() {
	for _, v := range []*View{&a.Ref, &a.NPU} {
		if v.tensor != nil {
			v.tensor.Close()
		}
	}
}

// Prefetch says that the tensors will be read soon.
func (a *Alignment) Prefetch() {
	for _, v := range []*View{&a.Ref, &a.NPU} {
		if data := v.tensor.Data; data != nil {
			store.Prefetch(data, 0, data.Size())
		}
	}
}

// Align opens both sides of a pair, finds a common order of axes and applies the
// shape policy. The alignment is open until it is closed, unless there is an
// error.
func (g *Aligner) Align(p Pair) (*Alignment, error) {
	a := &Alignment{}
	if err := g.align(a, p); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

func (g *Aligner) align(a *Alignment, p Pair) error {
	if err := g.open(a, p); err != nil {
		return err
	}
	format := p.Format
	if g.RefFormat != nil {
		format = g.RefFormat
	}
	format, err := g.hostReference(a, format)
	if err != nil {
		return &SideError{reference, safefile.WithPath(p.Ref.Path, err)}
	}
	if p.Ref.Joined != nil {
		a.note(lang.Sayf("joined from %d ranks of the reference", "由标杆的 %d 个 rank 拼接而成", len(p.Ref.Joined.Pieces)))
	}
	if p.Part != nil {
		if err := a.take(p.Part); err != nil {
			return &SideError{reference, safefile.WithPath(p.Ref.Path, err)}
		}
	}
	if err := g.matchNPU(a, format); err != nil {
		return &SideError{NPUSide, safefile.WithPath(p.NPU.Path, err)}
	}
	if err := g.transpose(p.Op, a); err != nil {
		return &SideError{NPUSide, safefile.WithPath(p.NPU.Path, err)}
	}
	g.shapes(a, p)
	g.share(a.Notes)
	if a.Status != "" {
		return nil
	}
	differ := func(evidence lang.Sentence) {
		a.Status = record.DTypeMismatch
		a.Reasons = append(a.Reasons, finding.Finding{Code: finding.DTypeDiffers, Confidence: finding.High, Evidence: evidence})
	}
	ref, npu := a.Ref.tensor.recorded(), a.NPU.tensor.recorded()
	switch {
	case a.Ref.DType != a.NPU.DType && g.StrictDType:
		differ(lang.Sayf("reference is %s, NPU is %s (--strict-dtype)", "标杆为 %s，NPU 为 %s(--strict-dtype)", a.Ref.DType, a.NPU.DType))
	case !sameRecorded(ref, npu):
		differ(lang.Sayf("recorded as %s in the reference and as %s on the NPU", "标杆记录为 %s，NPU 记录为 %s", ref, npu))
	}
	return nil
}

// recorded is the type that torch.utils.dumper recorded for a tensor, empty for other
// tensors.
func (t *Tensor) recorded() string {
	if t.Operator == nil || t.Details == nil {
		return ""
	}
	return t.Details.TorchDType
}

// sameRecorded reports whether tensors of two recorded types are comparable: they are
// equal, or integers or floating-point numbers of the usual types.
func sameRecorded(a, b string) bool {
	groups := map[string]string{"Int": "integer", "Long": "integer", "Float": "float", "Half": "float"}
	return a == "" || b == "" || a == b || groups[a] != "" && groups[a] == groups[b]
}

// open opens both sides. A raw file is opened last: the other side says what it
// holds.
func (g *Aligner) open(a *Alignment, p Pair) error {
	refs, views := [...]*Ref{p.Ref, p.NPU}, [...]*View{&a.Ref, &a.NPU}
	names := [...]string{reference, NPUSide}
	types := [...]tensor.DType{g.RefDType, g.NPUDType}
	hasType := func(i int) bool { return types[i] != tensor.Undefined || refs[i].hasType() }
	order := [...]int{0, 1}
	if p.Ref.Raw && (!p.NPU.Raw || !hasType(0) && hasType(1)) {
		order = [...]int{1, 0}
	}
	for n, i := range order {
		var hint tensorfile.RawHint
		if refs[i].Raw {
			if n == 1 {
				hint = hintOf(views[order[0]].tensor)
			}
			if types[i] != tensor.Undefined {
				hint.DType = types[i]
			}
		}
		if i == 1 {
			hint.Layout = g.NPUFormat
		}
		t, err := refs[i].openElements(g.Version, hint, p.Whole)
		if err != nil {
			return &SideError{names[i], safefile.WithPath(refs[i].Path, withTypes(refs[i], hint, dtypeFlags[i], err))}
		}
		if i == 1 && g.NPUFormat != nil && !t.fromDump() && t.Format == tensor.ND {
			t.Format, t.hasFormat = *g.NPUFormat, true
		}
		*views[i] = View{DType: t.DType, Shape: t.Stored, tensor: t}
	}
	for i, v := range views {
		a.Warnings = append(a.Warnings, v.tensor.warnings(refs[i])...)
	}
	for i, v := range views {
		if _, err := tensor.NewDecoder(v.DType); err != nil {
			return &SideError{names[i], safefile.WithPath(refs[i].Path, err)}
		}
	}
	return nil
}

// Request is what the metrics need to know about the pair.
func (a *Alignment) Request(l metrics.Limits) metrics.Request {
	return metrics.Request{Shape: a.Shape, RefDType: a.Ref.DType, NPUDType: a.NPU.DType, Limits: l}
}

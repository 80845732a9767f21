// Package align brings the two tensors of a pair into one axis order and one shape. It opens both files once and
// returns views whose elements can be compared one by one, or the reason why they cannot. It compares nothing. Start
// at Aligner.Align.
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

// Options are the rules for formats, types and shapes that differ.
type Options struct {
	// Force compares tensors with the same number of elements flat, whatever their shapes.
	Force bool
	// CropPadding compares the common part if the NPU tensor is longer on one axis. The rest
	// must be zero.
	CropPadding bool
	// AutoLayout says when to permute the axes of an NPU tensor to the shape of the reference.
	AutoLayout AutoLayout
	// Transpose is the permutation of axes of the NPU tensors, by operator.
	Transpose map[string][]int
	// RefFormat is the axis order of the reference, OriginalFormat the axis order of the
	// original shapes in dumps; nil for the order that the files name.
	RefFormat, OriginalFormat *tensor.Format
	// NPUFormat is the layout of NPU arrays and raw files without a layout in their names, nil
	// for host order.
	NPUFormat *tensor.Format
	// Rows compares the common part of an axis whose lengths differ.
	Rows bool
	// MaxElements limits a comparison to leading elements, 0 for no limit.
	MaxElements int64
	// StrictDType makes different element types a mismatch.
	StrictDType bool
	// RefDType and NPUDType are the types of raw files without a type in their names;
	// Undefined for the type of the other side.
	RefDType, NPUDType tensor.DType
}

// Aligner aligns pairs.
type Aligner struct {
	Options
	// Version is the version of the dump container, 0 to read it from the file.
	Version int

	notes sync.Map // of lang.Sentence, by their English text
}

// intern interns notes: a run keeps the notes of all pairs, and most are equal.
func (g *Aligner) intern(notes []lang.Sentence) {
	for i, note := range notes {
		if kept, ok := g.notes.LoadOrStore(note.String(), note); ok {
			notes[i] = kept.(lang.Sentence)
		}
	}
}

// Pair is two tensors to align.
type Pair struct {
	Op       string
	Ref, NPU *Ref
	// Format is the axis order of the reference, nil if unknown.
	Format *tensor.Format
	// Whole: all elements will be read.
	Whole bool
	// Trailing: if the lengths of an axis differ, the last positions are compared.
	Trailing bool
	// Part is the part of the reference that the NPU tensor holds, nil for the whole tensor.
	Part *record.Part
	// Tokens are the rows that both sides have, nil if all rows are compared.
	Tokens *Tokens
}

// Alignment is a pair with open files, ready for comparison unless Status is set.
type Alignment struct {
	Ref, NPU View
	// Shape is the compared shape: the common shape, or flat.
	Shape tensor.Shape
	Notes []lang.Sentence
	// Warnings are oddities of the files; each names its file.
	Warnings []lang.Sentence
	// Forced: the shapes still differ. Partial: not all elements are compared.
	Forced, Partial bool
	// Status is set for a pair that cannot be compared. Reasons say why.
	Status  record.Status
	Reasons []finding.Finding

	// Common is the common part of an axis if only this part is compared, else nil.
	Common *record.CommonPart
	// Kept, unless nil, has a value for each element of Shape: readers return zeros for both sides at a false value.
	Kept []bool
	// isCropped: padding was cut off; see CheckPadding.
	isCropped bool
	// fittingOrders are the axis orders of the NPU tensor that fit, the order in use first; empty if only one fits.
	// Notes[orderNote:][:orderNotes] describe these orders.
	fittingOrders         []order
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

// Prefetch begins to read remote files of the tensors.
func (a *Alignment) Prefetch() {
	for _, v := range []*View{&a.Ref, &a.NPU} {
		if data := v.tensor.Data; data != nil {
			store.Prefetch(data, 0, data.Size())
		}
	}
}

// Align opens both sides of a pair, finds a common order of axes and applies the options to
// shapes that differ. The caller closes the alignment.
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
	format, err := g.convertReference(a, format)
	if err != nil {
		return &SideError{reference, safefile.WithPath(p.Ref.Path, err)}
	}
	if p.Ref.Joined != nil {
		a.note(lang.Say("joined from %d ranks of the reference", len(p.Ref.Joined.Pieces)))
	}
	if p.Part != nil {
		if err := a.restrict(p.Part); err != nil {
			return &SideError{reference, safefile.WithPath(p.Ref.Path, err)}
		}
	}
	if err := g.matchNPU(a, format); err != nil {
		return &SideError{NPUSide, safefile.WithPath(p.NPU.Path, err)}
	}
	if err := g.transpose(p.Op, a); err != nil {
		return &SideError{NPUSide, safefile.WithPath(p.NPU.Path, err)}
	}
	g.reconcileShapes(a, p)
	g.intern(a.Notes)
	if a.Status != "" {
		return nil
	}
	differ := func(evidence lang.Sentence) {
		a.Status = record.DTypeMismatch
		a.Reasons = append(a.Reasons, finding.Finding{Code: finding.DTypeDiffers, Confidence: finding.High, Evidence: evidence})
	}
	ref, npu := a.Ref.tensor.recordedType(), a.NPU.tensor.recordedType()
	switch {
	case a.Ref.DType != a.NPU.DType && g.StrictDType:
		differ(lang.Say("reference is %s, NPU is %s (--strict-dtype)", a.Ref.DType, a.NPU.DType))
	case !areComparableTypes(ref, npu):
		differ(lang.Say("recorded as %s in the reference and as %s on the NPU", ref, npu))
	}
	return nil
}

// recordedType returns the type that torch.utils.dumper recorded for a tensor, empty for other tensors.
func (t *Tensor) recordedType() string {
	if t.Operator == nil {
		return ""
	}
	return t.Details.TorchDType
}

// areComparableTypes reports whether tensors of two recorded types are comparable: equal types, or two
// of the usual integers, or two of the usual floating-point types.
func areComparableTypes(a, b string) bool {
	groups := map[string]string{"Int": "integer", "Long": "integer", "Float": "float", "Half": "float"}
	return a == "" || b == "" || a == b || groups[a] != "" && groups[a] == groups[b]
}

// open opens both sides, a raw file last, since its type and shape come from the other side.
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
			return &SideError{names[i], safefile.WithPath(refs[i].Path, addFittingTypes(refs[i], hint, dtypeFlags[i], err))}
		}
		if i == 1 && g.NPUFormat != nil && !t.isFromDump() && t.Format == tensor.ND {
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

// Request returns the input of the metrics without the elements.
func (a *Alignment) Request(l metrics.Limits) metrics.Request {
	return metrics.Request{Shape: a.Shape, RefDType: a.Ref.DType, NPUDType: a.NPU.DType, Limits: l}
}

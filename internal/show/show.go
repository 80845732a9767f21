// Package show reads a window of the elements of a tensor, in the layout of the host, with the
// elements of a reference beside them if there is one.
package show

import (
	"cmp"
	"context"
	"math"
	"slices"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Options selects what to show.
type Options struct {
	// Tensor is the tensor's name in reports: FILE, FILE:output:1, or FILE:NAME in a file with
	// named tensors. Reference is the name of the reference, empty for none.
	Tensor, Reference string
	// At is the element to show, nil for the worst element, or without a reference the first.
	At []int64
	// Window is the largest number of rows and columns.
	Window [2]int64
	// Target is the layout, nil for the original layout on the host; Raw keeps the device layout.
	Target *tensor.Format
	Raw    bool
	// Limits are the limits beyond which elements are marked.
	Limits metrics.Limits
}

// Schema is the schema of a Window document.
const Schema = "dumptool/show/1"

// Window is a part of a tensor, and its document.
type Window struct {
	Schema string `json:"schema"`
	// Tensor and Reference are the shown tensors; Reference is omitted without a reference.
	Tensor    Side  `json:"tensor"`
	Reference *Side `json:"reference,omitempty"`
	// Shape is the shape in the shown layout, Format the order of the axes.
	Shape  tensor.Shape  `json:"shape"`
	Format tensor.Format `json:"format"`
	// Notes lists the conversions that brought both tensors into one order.
	Notes []lang.Sentence `json:"notes,omitempty"`
	// At is the requested element, else the worst or the first element.
	At []int64 `json:"at"`
	// Atol and Rtol are the limits beyond which elements are marked.
	Atol jsonpos.Float `json:"atol"`
	Rtol jsonpos.Float `json:"rtol"`
	// First holds the coordinates of the first element, Columns the length of a row. A tensor of one
	// axis is shown in rows of that length.
	First   []int64 `json:"first"`
	Columns int64   `json:"columns"`
	// Rows lists the rows, beginning at First.
	Rows []Row `json:"rows"`
}

// Side is one of the tensors.
type Side struct {
	// File is the file, Name the tensor in it.
	File string `json:"file"`
	Name string `json:"name"`
	// DType is the type of the elements.
	DType tensor.DType `json:"dtype"`
	// StoredFormat and StoredShape are the layout and the shape as stored.
	StoredFormat tensor.Format `json:"stored_format"`
	StoredShape  tensor.Shape  `json:"stored_shape"`

	// Kind and Index are the place of a tensor without a name, for texts in other languages; Kind is empty for others.
	Kind  tensor.Kind `json:"-"`
	Index int         `json:"-"`
}

// Row is a row of elements.
type Row struct {
	// Index is the index of the row on its axis; for a tensor of one axis the index of its first
	// element.
	Index int64 `json:"index"`
	// Values lists the elements, Reference the elements of the reference.
	Values    []metrics.Value `json:"values"`
	Reference []metrics.Value `json:"reference,omitempty"`
	// Marks marks elements: limit beyond the limits, class if one is NaN or infinite and the other
	// is not, empty for others.
	Marks []Mark `json:"marks,omitempty"`
}

// Mark is the fault of an element.
type Mark string

// The marks.
const (
	Beyond     Mark = "limit"
	OtherClass Mark = "class"
)

// PlaceError reports an element that the tensor does not have.
type PlaceError struct {
	At    []int64
	Shape tensor.Shape
}

// Error names the place and the shape.
func (e *PlaceError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *PlaceError) Text() lang.Text {
	return lang.Say("there is no element %v in the shape %v", tensor.Shape(e.At), e.Shape).Text()
}

// shownTensors is a pair of tensors, or one, in the shown order.
type shownTensors struct {
	shape    tensor.Shape
	ref, npu metrics.Reader
	types    [2]tensor.DType // of the reference, of the tensor
}

// Read reads a window.
func Read(ctx context.Context, opt Options) (*Window, error) {
	w := &Window{Schema: Schema, Atol: jsonpos.Float(opt.Limits.Atol), Rtol: jsonpos.Float(opt.Limits.Rtol)}
	of, err := resolveName(opt.Tensor, &w.Tensor)
	if err != nil {
		return nil, err
	}
	if opt.Reference == "" {
		return w, w.readSingle(ctx, &opt, of)
	}
	w.Reference = new(Side)
	ref, err := resolveName(opt.Reference, w.Reference)
	if err != nil {
		return nil, err
	}
	return w, w.readPair(ctx, &opt, ref, of)
}

// readSingle reads a window of one tensor.
func (w *Window) readSingle(ctx context.Context, opt *Options, of *align.Ref) error {
	f, err := tensorfile.Open(of.Path, tensorfile.Options{Name: of.Name, Raw: &tensorfile.RawHint{}})
	if err != nil {
		return safefile.WithPath(of.Path, err)
	}
	defer f.Close()
	t, err := tensorOf(f, of)
	if err != nil {
		return safefile.WithPath(of.Path, err)
	}
	w.Notes = append(w.Notes, slices.Concat(f.Warnings, t.Warnings)...)
	v := shownTensors{shape: w.Tensor.StoredShape, npu: t.Elements(), types: [2]tensor.DType{1: t.DType}}
	w.Format = t.Format
	plan, err := hostPlan(t, v.shape, opt)
	if err != nil {
		return safefile.WithPath(of.Path, err)
	}
	if plan != nil {
		w.Notes = append(w.Notes, plan.Warnings...)
		v.shape, w.Format = plan.Shape, plan.Format
		if v.npu, err = plan.Reader(t.Elements(), t.DType.UnitSize(), new(layout.Buffers)); err != nil {
			return safefile.WithPath(of.Path, err)
		}
	}
	return w.read(ctx, opt, &v)
}

// hostPlan returns the conversion to the shown layout, nil for the stored layout.
func hostPlan(t *tensorfile.Tensor, stored tensor.Shape, opt *Options) (*layout.Plan, error) {
	targets := []tensor.Format{tensor.NCHW, tensor.ND}
	switch {
	case opt.Raw || opt.Target == nil && layout.IsHost(t.Format):
		return nil, nil
	case opt.Target != nil:
		targets = []tensor.Format{*opt.Target}
	case t.OriginalFormat != nil && layout.IsHost(*t.OriginalFormat):
		targets = slices.Insert(targets, 0, *t.OriginalFormat)
	}
	var first error
	for _, target := range targets {
		plan, err := layout.NewPlan(layout.Request{
			DType: t.DType, Source: t.Format, Shape: stored, C0: t.C0, Groups: t.Groups,
			Original: t.OriginalShape, OriginalFormat: t.OriginalFormat, Target: target,
		})
		if err == nil {
			return plan, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// readPair reads a window of a tensor beside its reference, in the order of the reference.
func (w *Window) readPair(ctx context.Context, opt *Options, ref, of *align.Ref) error {
	a, err := (&align.Aligner{Options: align.Options{AutoLayout: align.LayoutByValues}}).Align(align.Pair{Ref: ref, NPU: of})
	if err != nil {
		return err
	}
	defer a.Close()
	w.Notes = append(w.Notes, slices.Concat(a.Notes, a.Warnings)...)
	if a.Status != "" {
		return lang.Errorf("%s and %s cannot be compared: %s", opt.Reference, opt.Tensor, a.Reasons[0].Evidence)
	}
	r, err := a.Readers(new(align.Buffers))
	if err != nil {
		return err
	}
	defer r.Close()
	w.Format = tensor.ND
	if layout.IsHost(w.Reference.StoredFormat) {
		w.Format = w.Reference.StoredFormat
	}
	return w.read(ctx, opt, &shownTensors{shape: a.Shape, ref: r.Ref, npu: r.NPU, types: [2]tensor.DType{a.Ref.DType, a.NPU.DType}})
}

// read fills the window from a view.
func (w *Window) read(ctx context.Context, opt *Options, v *shownTensors) (err error) {
	w.Shape = v.shape
	if w.Shape == nil {
		w.Shape = tensor.Shape{}
	}
	total, ok := v.shape.Count()
	if !ok {
		return lang.Errorf("shape %v has too many elements", v.shape)
	}
	if w.At, err = v.selectedElement(ctx, opt, total); err != nil || total == 0 {
		w.First, w.Rows = []int64{}, []Row{}
		return err
	}
	grid := gridOf(v.shape, w.At, opt.Window)
	w.First, w.Columns = grid.first, grid.width
	for i := range grid.height {
		at := grid.start + i*grid.stride
		n := min(grid.width, total-at)
		if n <= 0 {
			break
		}
		row := Row{Index: grid.rowIndex(i)}
		if row.Values, err = readValues(v.npu, v.types[1], at, n); err != nil {
			return err
		}
		if v.ref != nil {
			if row.Reference, err = readValues(v.ref, v.types[0], at, n); err != nil {
				return err
			}
			row.compareRow(opt.Limits)
		}
		w.Rows = append(w.Rows, row)
	}
	return nil
}

func readValues(from metrics.Reader, dtype tensor.DType, first, n int64) ([]metrics.Value, error) {
	buf := make([]byte, n*int64(dtype.UnitSize()))
	if err := from.ReadElements(buf, first); err != nil {
		return nil, err
	}
	return metrics.ReadValues(dtype, buf)
}

// compareRow compares a row with its reference.
func (r *Row) compareRow(limits metrics.Limits) {
	r.Marks = make([]Mark, len(r.Values))
	for i, v := range r.Values {
		r.Marks[i], _ = judge(complex(v.Real, v.Imag), complex(r.Reference[i].Real, r.Reference[i].Imag), limits)
	}
}

// judge returns the fault of an element relative to the reference, and its size: the share of the
// limit, +Inf for another class.
func judge(n, r complex128, limits metrics.Limits) (Mark, float64) {
	for _, part := range [2][2]float64{{real(n), real(r)}, {imag(n), imag(r)}} {
		if metrics.ClassOf(part[0]) != metrics.ClassOf(part[1]) {
			return OtherClass, math.Inf(1)
		}
	}
	if n == r || math.IsNaN(real(n)) || math.IsNaN(imag(n)) || math.IsInf(real(n), 0) || math.IsInf(imag(n), 0) { // equal, or the same class
		return "", 0
	}
	d, size := largestPart(n-r), largestPart(r)
	share := d / (limits.Atol + float64(limits.Rtol*size))
	if limits.Passes(d, size) {
		return "", min(share, 1)
	}
	return Beyond, share
}

func largestPart(z complex128) float64 {
	if imag(z) == 0 {
		return math.Abs(real(z))
	}
	re, im := real(z), imag(z)
	return math.Sqrt(float64(re*re) + float64(im*im))
}

// selectedElement returns the element to show.
func (v *shownTensors) selectedElement(ctx context.Context, opt *Options, total int64) ([]int64, error) {
	switch {
	case opt.At != nil:
		if len(opt.At) != len(v.shape) {
			return nil, &PlaceError{opt.At, v.shape}
		}
		for i, x := range opt.At {
			if x < 0 || x >= v.shape[i] {
				return nil, &PlaceError{opt.At, v.shape}
			}
		}
		return opt.At, nil
	case v.ref == nil || total == 0:
		return make([]int64, len(v.shape)), nil
	}
	worst, err := v.worstOffset(ctx, opt.Limits, total)
	if err != nil {
		return nil, err
	}
	return v.shape.Coordinates(worst), nil
}

// worstOffset returns the offset of the worst element: of another class, or furthest beyond the limits;
// the first of equals.
func (v *shownTensors) worstOffset(ctx context.Context, limits metrics.Limits, total int64) (int64, error) {
	at, most := int64(0), -1.0
	sides := [2]metrics.Reader{v.ref, v.npu}
	var decoders [2]tensor.Decoder
	var stored, host [2][]byte
	var values [2][]complex128
	for i := range sides {
		var err error
		if decoders[i], err = tensor.NewDecoder(v.types[i]); err != nil {
			return 0, err
		}
		stored[i] = make([]byte, metrics.ReadElements*decoders[i].UnitSize())
		host[i] = make([]byte, metrics.ReadElements*decoders[i].Host().Size())
		values[i] = make([]complex128, metrics.ReadElements)
	}
	for first := int64(0); first < total; first += metrics.ReadElements {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n := int(min(metrics.ReadElements, total-first))
		for i, from := range sides {
			d := decoders[i]
			in, out := stored[i][:n*d.UnitSize()], host[i][:n*d.Host().Size()]
			if err := from.ReadElements(in, first); err != nil {
				return 0, err
			}
			d.Decode(out, in)
			complexValues(values[i][:n], out, d.Host())
		}
		for k := range n {
			if _, share := judge(values[1][k], values[0][k], limits); share > most {
				at, most = first+int64(k), share
			}
		}
	}
	return at, nil
}

// complexValues reads elements of any type.
func complexValues(dst []complex128, src []byte, h tensor.Host) {
	if h.Complex() {
		tensor.Complex128s(dst, src, h)
		return
	}
	var part [256]float64
	for i := 0; i < len(dst); i += len(part) {
		n := min(len(part), len(dst)-i)
		tensor.Float64s(part[:n], src[i*h.Size():(i+n)*h.Size()], h)
		for k, x := range part[:n] {
			dst[i+k] = complex(x, 0)
		}
	}
}

// grid describes the rows of a window.
type grid struct {
	first                        []int64 // coordinates of the first element
	start, stride, height, width int64   // offsets of the rows, and their size
	row                          int64   // index of the first row
	flat                         bool    // a tensor of one axis, or none
}

// gridOf places a window around an element: on the last two axes, or on the only axis.
func gridOf(shape tensor.Shape, at []int64, window [2]int64) grid {
	n := len(shape)
	if n < 2 {
		size, place := int64(1), int64(0)
		if n == 1 {
			size, place = shape[0], at[0]
		}
		width := min(window[1], size)
		rows := (size + width - 1) / width
		row, height := centredRange(place/width, rows, window[0])
		return grid{first: tensor.Shape{row * width}[:n], start: row * width, stride: width, height: height, width: width, row: row, flat: true}
	}
	g := grid{first: slices.Clone(at), stride: shape[n-1]}
	g.row, g.height = centredRange(at[n-2], shape[n-2], window[0])
	column, width := centredRange(at[n-1], shape[n-1], window[1])
	g.first[n-2], g.first[n-1], g.width = g.row, column, width
	strides := shape.Strides()
	for i, x := range g.first {
		g.start += x * strides[i]
	}
	return g
}

// centredRange returns the range of at most most indexes below size that is centred on place.
func centredRange(place, size, most int64) (first, count int64) {
	count = min(size, most)
	return min(max(0, place-count/2), size-count), count
}

func (g *grid) rowIndex(i int64) int64 {
	if g.flat {
		return g.start + i*g.stride
	}
	return g.row + i
}

// resolveName resolves the name of a tensor to its file and the tensor in it.
func resolveName(name string, side *Side) (*align.Ref, error) {
	path, of, err := tensorfile.Split(name)
	if err != nil {
		return nil, safefile.WithPath(name, err)
	}
	r := &align.Ref{Path: path, Name: store.Base(path), Kind: of.Kind, Index: of.Index, Member: of.Name, Files: new(tensorfile.Pool)}
	if c := tensorfile.ContainerOf(r.Name); c != nil && c.Single && of.Name == "" {
		r.Single, r.Raw = true, c.Headless
	}
	f, err := tensorfile.Open(path, tensorfile.Options{Name: r.Name, Raw: &tensorfile.RawHint{}})
	if err != nil {
		return nil, safefile.WithPath(path, err)
	}
	defer f.Close()
	if of.IsZero() {
		if err := chooseTensor(r, f); err != nil {
			return nil, safefile.WithPath(path, err)
		}
	}
	t, err := tensorOf(f, r)
	if err != nil {
		return nil, safefile.WithPath(path, err)
	}
	stored, err := t.StoredShape()
	if err != nil {
		return nil, safefile.WithPath(path, err)
	}
	*side = Side{File: path, Name: t.String(), DType: t.DType, StoredFormat: t.Format, StoredShape: stored}
	if t.Name == "" {
		side.Kind, side.Index = t.Kind, t.Index
	}
	return r, nil
}

// chooseTensor selects the tensor if none is named: the only tensor, or the first output of an operator,
// else its first input.
func chooseTensor(r *align.Ref, f *tensorfile.File) error {
	switch {
	case len(f.Tensors) == 0:
		return lang.Errorf("no tensor in it")
	case !f.IsUnnamed():
		if len(f.Tensors) > 1 {
			var names []string
			for i := range f.Tensors {
				names = append(names, f.Tensors[i].Name)
			}
			return lang.Errorf("the file has %d tensors: choose one by a colon and its name, such as %s:%s", len(names), r.Path, names[0])
		}
		r.Member = f.Tensors[0].Name
		return nil
	}
	i := max(0, slices.IndexFunc(f.Tensors, func(t tensorfile.Tensor) bool { return t.Kind == tensor.Output }))
	r.Kind, r.Index = f.Tensors[i].Kind, f.Tensors[i].Index
	return nil
}

// tensorOf returns the tensor of a file that r names.
func tensorOf(f *tensorfile.File, r *align.Ref) (*tensorfile.Tensor, error) {
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if r.Member != "" && t.Name == r.Member || r.Member == "" && t.Kind == r.Kind && t.Index == r.Index {
			return t, t.Err
		}
	}
	if r.Member != "" {
		var names []string
		for i := range f.Tensors {
			names = append(names, f.Tensors[i].String())
		}
		return nil, lang.Errorf("the file has no tensor %q, only %s", r.Member, lang.FirstNames(names))
	}
	return nil, lang.Errorf("there is no %s %d among its %s", r.Kind, r.Index, lang.Count(len(f.Tensors), "tensor"))
}

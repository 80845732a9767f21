package hpaa

import (
	"context"
	"io"
	"slices"
	"sync"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/format"
	"dumptool/internal/format/npy"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// headBytes is the length of a file's head from which its encoding is detected.
const headBytes = 4 << 10

// hints are properties of a piece from other sources than its description.
type hints struct {
	encoding Encoding
	skip     int64
	dtype    tensor.DType
	shape    tensor.Shape
	// model is the shape of the whole output in the reference file modelPath; isPart:
	// shape is a part of it.
	model     tensor.Shape
	modelPath string
	isPart    bool
	// notInReference: there is a reference, but it lacks the output. err says why the reference's tensor
	// is unusable.
	notInReference bool
	err            error
}

// describePiece opens the file of a piece and completes its description: from the header of an array, else
// from the hints.
func describePiece(p *Piece, h hints) (*openPiece, *PieceError) {
	file, err := safefile.Open(p.Path)
	if err != nil {
		return nil, readError(err)
	}
	defer file.Close()
	info, err := store.Stat(p.Path)
	if err == nil && info.IsDir() {
		err = lang.Errorf("%s is a folder, want a file", p.Path)
	}
	if err != nil {
		return nil, readError(err)
	}
	s := &openPiece{Piece: p, encoding: p.Encoding, skip: p.Skip, dtype: p.DType, shape: p.Shape, model: p.ModelShape, size: file.Size()}
	if s.encoding == "" {
		s.encoding = h.encoding
	}
	if s.skip < 0 {
		s.skip = max(0, h.skip)
	}
	if s.skip > s.size {
		return nil, &PieceError{SizeMismatch, lang.Say("found %d bytes, want a header of %d bytes to skip", s.size, s.skip)}
	}
	head := make([]byte, min(headBytes, s.size-s.skip))
	if err := format.ReadFull(file, head, s.skip); err != nil {
		return nil, readError(err)
	}
	if s.encoding == Npy || s.encoding == Auto && len(head) >= len(npy.Magic) && string(head[:len(npy.Magic)]) == npy.Magic {
		if bad := s.readHeader(file); bad != nil {
			return nil, bad
		}
	}
	return s, s.addHints(h, head)
}

// readHeader takes type and shape from the header of an array.
func (s *openPiece) readHeader(file io.ReaderAt) *PieceError {
	s.encoding = Npy
	array, err := npy.Open(io.NewSectionReader(file, s.skip, s.size-s.skip), s.size-s.skip)
	if err != nil {
		return readError(err)
	}
	shape := array.Shape
	if shape == nil {
		shape = tensor.Shape{}
	}
	if s.dtype == tensor.Undefined {
		s.dtype = array.DType()
	}
	if s.shape == nil {
		s.shape = shape
	}
	if !s.shape.Equal(shape) || s.dtype.UnitSize() != array.Host.Size() || s.dtype.IsPacked() {
		return &PieceError{SizeMismatch, lang.Say("found an array %v of %s, want %v of %s", shape, array.DType(), s.shape, s.dtype)}
	}
	return nil
}

// addHints sets missing properties from the hints, and the encoding from the head of the file.
func (s *openPiece) addHints(h hints, head []byte) *PieceError {
	if s.dtype == tensor.Undefined {
		s.dtype = h.dtype
	}
	if s.shape == nil {
		s.shape = h.shape
		if h.isPart {
			s.shapeFile = h.modelPath
		}
	}
	if s.model == nil {
		s.model = h.model
	}
	if bad := s.missingProperty(h); bad != nil {
		return bad
	}
	want, ok := s.dtype.Bytes(s.shape.Elements())
	if !ok {
		return &PieceError{SizeMismatch, lang.Say("%v of %s has too many elements", s.shape, s.dtype)}
	}
	s.wantBytes = want
	if s.encoding == Auto {
		if bad := s.detectEncoding(head); bad != nil {
			return bad
		}
	}
	if found := s.size - s.skip; s.encoding == Bin && found != want {
		return sizeError(found, s.dtype, s.shape, want)
	}
	return nil
}

// missingProperty returns an error if the type or shape of a piece is unknown.
func (s *openPiece) missingProperty(h hints) *PieceError {
	what := ""
	switch {
	case s.shape == nil:
		what = "shape"
	case s.dtype == tensor.Undefined:
		what = "element type"
	default:
		return nil
	}
	switch {
	case h.err != nil:
		return readError(h.err)
	case h.notInReference:
		return &PieceError{NotInModel, lang.Say("the reference has no such tensor, so the %s is unknown", lang.Say(what))}
	}
	return &PieceError{ReadError, lang.Say("the %s is unknown", lang.Say(what))}
}

// detectEncoding detects the encoding: Bin if the file has the size of the elements, else the only text
// form that fits the head.
func (s *openPiece) detectEncoding(head []byte) *PieceError {
	if s.size-s.skip == s.wantBytes {
		s.encoding = Bin
		return nil
	}
	whole := int64(len(head)) == s.size-s.skip
	digits, prefixed, ok := detectNumbers(head, whole)
	switch {
	case !ok:
		return &PieceError{SizeMismatch, lang.Say("found %d bytes that are no hex text, want %d for %v of %s", s.size-s.skip, s.wantBytes, s.shape, s.dtype)}
	case prefixed && digits == 2:
		s.encoding = Hex0x
	case prefixed && digits == 4:
		s.encoding = Words16
	case prefixed && digits == 8:
		s.encoding = Words32
	case prefixed && digits == 16:
		s.encoding = Words64
	case !prefixed && digits != 4 && digits != 8 && digits != 16:
		s.encoding = Hex
	case prefixed:
		return &PieceError{ReadError, lang.Say("the encoding is ambiguous: numbers with 0x have 2, 4, 8 or 16 digits each")}
	default:
		return &PieceError{ReadError, lang.Say("the encoding is ambiguous: %d digits in a row are %s or a number of words%d; give the encoding", digits, Hex, 4*digits)}
	}
	return nil
}

// detectNumbers returns the form of the numbers in the head of a text: their common number of digits, 0
// if they differ, and whether all have 0x. A truncated last number does not count.
func detectNumbers(head []byte, whole bool) (digits int, prefixed, ok bool) {
	if len(head) >= len(utf8Mark) && string(head[:len(utf8Mark)]) == utf8Mark {
		head = head[len(utf8Mark):]
	}
	numbers, prefixes := 0, 0
	for len(head) > 0 {
		if separators[head[0]] {
			head = head[1:]
			continue
		}
		has0x := len(head) >= 2 && head[0] == '0' && head[1]|0x20 == 'x'
		if has0x {
			head = head[2:]
		}
		n := 0
		for n < len(head) && isDigit(head[n]) {
			n++
		}
		if n < len(head) && !separators[head[n]] {
			return 0, false, false
		}
		if n == len(head) && !whole && numbers > 0 {
			break
		}
		head = head[n:]
		if numbers == 0 {
			digits = n
		} else if digits != n {
			digits = 0
		}
		if numbers++; has0x {
			prefixes++
		}
	}
	return digits, prefixes > 0 && prefixes == numbers, numbers > 0 && (prefixes == 0 || prefixes == numbers)
}

// Reference is a run of the same network whose tensors have the shapes of the outputs.
type Reference struct {
	index   filename.Index
	outputs []map[int]*modelTensor // by number, one map per indexed name
}

// modelTensor is an output of the reference, opened on first use.
type modelTensor struct {
	file   *dumpdir.File
	member string
	once   sync.Once
	dtype  tensor.DType
	shape  tensor.Shape
	err    error
}

// OpenReference lists the tensors at a path.
func OpenReference(ctx context.Context, path string) (*Reference, error) {
	run, err := dumpdir.Open(ctx, []string{path}, dumpdir.Options{NoRaw: true})
	if err == nil {
		err = run.ReadHeaders(ctx, dumpdir.HeaderOptions{})
	}
	if err != nil {
		return nil, err
	}
	r := new(Reference)
	for _, round := range run.Rounds {
		for _, op := range round.Ops {
			r.add(op)
		}
	}
	return r, nil
}

// add adds the outputs of an operator; the first operator with a name wins.
func (r *Reference) add(op *dumpdir.Op) {
	for _, name := range op.Names() {
		if _, added := r.index.Add(name, len(r.outputs)); !added {
			continue
		}
		outputs := map[int]*modelTensor{}
		for i := range op.Tensors {
			t := &op.Tensors[i]
			if t.Kind == tensor.Output && outputs[t.Index] == nil && !t.Table {
				outputs[t.Index] = &modelTensor{file: t.File, member: t.Member}
			}
		}
		r.outputs = append(r.outputs, outputs)
	}
}

// find returns the outputs of a node by number; ok is false if the reference lacks the node.
func (r *Reference) find(node string) (outputs map[int]*modelTensor, ok bool) {
	i, ok := r.index.Find(node)
	if !ok {
		return nil, false
	}
	return r.outputs[i], true
}

// describe returns the type and shape.
func (t *modelTensor) describe() (tensor.DType, tensor.Shape, error) {
	t.once.Do(func() { t.err = t.open() })
	return t.dtype, t.shape, t.err
}

func (t *modelTensor) open() error {
	f, err := tensorfile.Open(t.file.Path(), tensorfile.Options{Name: t.file.Name})
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range f.Tensors {
		if found := &f.Tensors[i]; found.Name == t.member {
			t.dtype = found.DType
			t.shape, err = found.StoredShape()
			return err
		}
	}
	return lang.Errorf("no tensor %q in it", t.member)
}

// hintsOf returns the properties of a piece of a group from other sources than its description.
func (w *worker) hintsOf(g *group, p *Piece) hints {
	h := hints{encoding: w.opt.Encoding, skip: w.opt.Skip, dtype: w.opt.DType, shape: w.opt.shapeOf(g.row.Node, p.Node)}
	if h.encoding == "" {
		h.encoding = Auto
	}
	if w.opt.Reference == nil {
		return h
	}
	outputs, _ := w.opt.Reference.find(g.row.Node)
	model := outputs[g.row.Output]
	if model == nil {
		h.notInReference = true
		return h
	}
	dtype, shape, err := model.describe()
	if err != nil {
		h.err = lang.Errorf("%s: %w", model.file.Path(), err)
		return h
	}
	h.model = shape
	h.modelPath = model.file.Path()
	if h.dtype == tensor.Undefined {
		h.dtype = dtype
	}
	if h.shape == nil {
		h.shape, h.isPart = w.opt.partShape(g, p, shape), true
	}
	return h
}

// partShape returns the shape of a piece if the pieces split the model's shape evenly on their axis.
// The last piece may be padded.
func (o *Options) partShape(g *group, p *Piece, model tensor.Shape) tensor.Shape {
	axis := o.Axis
	if p.Axis != nil {
		axis = *p.Axis
	}
	n := int64(1)
	for _, other := range g.row.Pieces {
		n = max(n, int64(other.Number)+1)
	}
	part := slices.Clone(model)
	if axis = chooseAxis(axis, model); axis < len(part) {
		part[axis] = part[axis]/n + min(1, part[axis]%n)
	}
	return part
}

// shapeOf returns the shape from the options for a node, by any of its names.
func (o *Options) shapeOf(names ...string) tensor.Shape {
	for _, name := range names {
		if s, ok := o.Shapes[name]; ok && name != "" {
			return s
		}
	}
	for key, s := range o.Shapes {
		for _, name := range names {
			if key != "" && filename.SameNormalised(key, name) {
				return s
			}
		}
	}
	return o.Shapes[""]
}

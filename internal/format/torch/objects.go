package torch

import (
	"slices"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/pickle"
	"dumptool/internal/tensor"
)

// storage is a part of the elements that tensors share.
type storage struct {
	elementType
	key    string
	device string
	count  int64 // elements of the whole
	// first and length are the part, in elements.
	first, length int64
}

// object is a tensor of the pickle.
type object struct {
	storage *storage
	elementType
	offset            int64
	shape             tensor.Shape
	strides           []int64
	negate, conjugate bool
	format.Details    // without Strides and Offset
	err               error
}

// constant is another object of the pickle, by its type and its text.
type constant struct{ kind, text string }

// arguments are those of a call, taken one by one.
type arguments struct {
	rest  []any
	wrong bool // one was missing, or of another type
}

// next returns the next argument.
func (a *arguments) next() (v any) {
	if len(a.rest) == 0 {
		a.wrong = true
		return nil
	}
	v, a.rest = a.rest[0], a.rest[1:]
	return v
}

// take returns the next argument, which is a T.
func take[T any](a *arguments) T {
	v, ok := a.next().(T)
	a.wrong = a.wrong || !ok
	return v
}

// dict returns the next argument, a dict or None.
func (a *arguments) dict() *pickle.Dict {
	if len(a.rest) > 0 && a.rest[0] == nil {
		a.next()
		return nil
	}
	return take[*pickle.Dict](a)
}

// maxRank is how many axes a tensor has at most.
const maxRank = 32

// ints returns the next argument, a tuple of integers, cut where it is longer than
// the axes of a tensor by more than one.
func (a *arguments) ints() []int64 {
	s := take[*pickle.Sequence](a)
	if a.wrong {
		return nil
	}
	list := make([]int64, 0, min(len(s.Items), maxRank+1))
	for _, v := range s.Items[:cap(list)] {
		n, ok := v.(int64)
		a.wrong = a.wrong || !ok
		list = append(list, n)
	}
	return list
}

// storage makes what a persistent id stands for: a tuple of the text storage, class,
// key, device, count, and in the form before version 1.6 None or a tuple of key, offset
// and length of a part.
func (u *unpickler) storage(id any) (any, error) {
	tuple, ok := id.(*pickle.Sequence)
	if !ok {
		return nil, broken("found a persistent id that is a %s, want a tuple", pickle.TypeName(id))
	}
	args := &arguments{rest: tuple.Items}
	what, class := take[string](args), take[*pickle.Name](args)
	s := &storage{key: take[string](args), device: take[string](args), count: take[int64](args)}
	s.length = s.count
	if len(args.rest) > 0 {
		if view := args.next(); view != nil {
			part, _ := view.(*pickle.Sequence)
			if part == nil || len(part.Items) != 3 {
				return nil, broken("found a part of a storage that is a %s, want a tuple of 3", pickle.TypeName(view))
			}
			in := &arguments{rest: part.Items[1:]}
			s.first, s.length = take[int64](in), take[int64](in)
			args.wrong = args.wrong || in.wrong
		}
	}
	if args.wrong || len(args.rest) > 0 || what != "storage" {
		return nil, broken("found a persistent id with other parts than PyTorch gives it")
	}
	if s.elementType, ok = storageOf(class.String()); !ok {
		return nil, broken("found a storage of class %s", class)
	}
	u.kinds[s.key] = s.elementType
	return s, nil
}

// rebuild makes a tensor of storage, offset, size and strides; with grad also of
// requires_grad and hooks, and of what more takes.
func rebuild(grad bool, more func(*object, *arguments)) call {
	return func(a *arguments) any {
		t := place(a)
		if grad {
			t.requireGrad(a)
		}
		if more != nil {
			more(t, a)
		}
		return t
	}
}

// place takes the first four arguments of a tensor.
func place(a *arguments) *object {
	t := &object{storage: take[*storage](a), offset: take[int64](a)}
	t.shape, t.strides = a.ints(), a.ints()
	if !a.wrong {
		t.elementType, t.Device = t.storage.elementType, t.storage.device
	}
	return t
}

// requireGrad takes requires_grad and the hooks of gradients.
func (t *object) requireGrad(a *arguments) {
	grad := take[bool](a)
	t.RequiresGrad = &grad
	a.dict()
}

// metadata takes a dict that, where there is one, has lazy operations; torch_npu also
// puts the number of the device format in it.
func metadata(t *object, a *arguments) {
	if len(a.rest) == 0 {
		return
	}
	d := a.dict()
	if d == nil {
		return
	}
	for _, item := range d.Items {
		if item.Value == true {
			t.conjugate = t.conjugate || item.Key == "conj"
			t.negate = t.negate || item.Key == "neg"
		}
	}
}

// dtypeAndMetadata takes the type that the bytes of the storage have in the tensor.
func dtypeAndMetadata(t *object, a *arguments) {
	name := take[*pickle.Name](a)
	if a.wrong {
		return
	}
	var ok bool
	if t.elementType, ok = elementTypeOf(name.String()); !ok {
		a.wrong = true
	}
	metadata(t, a)
}

// npuFormat takes the format that the tensor had on the device; in the file it is in
// host order all the same.
func npuFormat(t *object, a *arguments) {
	switch v := a.next().(type) {
	case int64:
		t.Attrs = append(t.Attrs, format.Attr{Name: "npu_format", Value: v})
	case bool:
	case deviceFormat:
		t.Attrs = append(t.Attrs, format.Attr{Name: "npu_format", Value: int64(v)})
	default:
		a.wrong = true
	}
}

// deviceFormat is a torch_npu.npu.Format.
type deviceFormat int64

func formatNumber(a *arguments) any { return deviceFormat(take[int64](a)) }

// rebuildQuantised makes a tensor of stored integers. How they stand for numbers is a
// tuple of a scheme with one scale and zero point, or with tensors of them.
func rebuildQuantised(a *arguments) any {
	t := place(a)
	tuple := take[*pickle.Sequence](a)
	t.requireGrad(a)
	if a.wrong {
		return nil
	}
	q := &arguments{rest: tuple.Items}
	scheme := take[*pickle.Name](q)
	if a.wrong = q.wrong || !slices.Contains(qschemes, scheme.String()); a.wrong {
		return nil
	}
	t.Attrs = append(t.Attrs, format.Attr{Name: "qscheme", Value: scheme.String()})
	if strings.HasPrefix(scheme.Attr, "per_channel") {
		q.next()
		q.next()
		t.Attrs = append(t.Attrs, format.Attr{Name: "axis", Value: take[int64](q)})
	} else {
		t.Quant = &format.Quant{Scale: tensor.Number(take[float64](q)), ZeroPoint: take[int64](q)}
	}
	a.wrong = q.wrong || len(q.rest) > 0
	return t
}

// parameter makes a tensor of another one, requires_grad, hooks and, of 4 arguments,
// state.
func parameter(n int) call {
	return func(a *arguments) any {
		t := a.copied()
		t.requireGrad(a)
		if n == 4 {
			a.next()
		}
		return t
	}
}

// copied returns a copy of the tensor that is the next argument.
func (a *arguments) copied() *object {
	t := take[*object](a)
	if a.wrong {
		return new(object)
	}
	c := *t
	return &c
}

// fromHost makes a tensor of another one, type, device and requires_grad.
func fromHost(a *arguments) any {
	t := a.copied()
	a.next()
	switch v := a.next().(type) {
	case string:
		t.Device = v
	case *constant:
		t.Device = v.text
	default:
		a.wrong = true
	}
	grad := take[bool](a)
	t.RequiresGrad = &grad
	return t
}

// fromType makes what a function makes of arguments: a call is one of function, class,
// arguments and state.
func fromType(a *arguments) any {
	function, class := take[*pickle.Name](a), take[*pickle.Name](a)
	args := take[*pickle.Sequence](a)
	a.next()
	if a.wrong || !slices.Contains(tensorClasses, class.String()) {
		a.wrong = true
		return nil
	}
	in := &arguments{rest: args.Items}
	c := calls[function.String()] // never rebuildFromType again
	if c == nil {
		a.wrong = true
		return nil
	}
	v := c(in)
	a.wrong = in.wrong || len(in.rest) > 0
	return v
}

// notRead makes a tensor that is listed with an error.
func notRead(why string) call {
	return func(a *arguments) any {
		a.rest = nil
		return &object{err: unsupported("%s", why)}
	}
}

// size makes a torch.Size.
func size(a *arguments) any {
	s := take[*pickle.Sequence](a)
	if a.wrong {
		return nil
	}
	return &constant{"torch.Size", "torch.Size(" + repr(&pickle.Sequence{Kind: pickle.List, Items: s.Items}) + ")"}
}

// device makes a torch.device of a type, and an index where there is one.
func device(a *arguments) any {
	text := take[string](a)
	if len(a.rest) > 0 {
		text += ":" + repr(take[int64](a))
	}
	return &constant{"torch.device", shorten(text)}
}

// asText makes a constant of a text.
func asText(kind string) call {
	return func(a *arguments) any { return &constant{kind, shorten(take[string](a))} }
}

// asRepr makes a constant of all arguments.
func asRepr(kind string) call {
	return func(a *arguments) any {
		text := kind + repr(&pickle.Sequence{Kind: pickle.Tuple, Items: a.rest})
		a.rest = nil
		return &constant{kind, text}
	}
}

// complexNumber makes a complex of two floats.
func complexNumber(a *arguments) any {
	re, im := strings.TrimSuffix(repr(take[float64](a)), ".0"), strings.TrimSuffix(repr(take[float64](a)), ".0")
	if !strings.HasPrefix(im, "-") {
		im = "+" + im
	}
	return &constant{"complex", "(" + re + im + "j)"}
}

// counter returns the dict that a Counter is made of.
func counter(a *arguments) any { return take[*pickle.Dict](a) }

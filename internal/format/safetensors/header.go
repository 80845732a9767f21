package safetensors

import (
	"io"
	"strconv"

	"dumptool/internal/format"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

// The keys of a header.
const (
	keyMetadata = "__metadata__"
	keyDType    = "dtype"
	keyShape    = "shape"
	keyOffsets  = "data_offsets"
)

// entry is what a header says of a tensor.
type entry struct {
	name       string
	dtype      string
	shape      tensor.Shape
	begin, end int64 // offsets behind the header
}

// header is what a header says.
type header struct {
	tensors  []entry
	metadata []format.Value
	seen     map[string]bool
}

// maxText is how many characters of a value of the metadata are kept.
const maxText = 1000

// parseHeader reads a header of at most some tensors: an object that begins with the
// first byte, and blanks.
func parseHeader(in *io.SectionReader, most int) (*header, error) {
	var first [1]byte
	if n, err := in.ReadAt(first[:], 0); n == 1 && first[0] != '{' {
		return nil, broken("found %q at its first byte, want a JSON object", first[0])
	} else if n == 0 && in.Size() > 0 {
		return nil, err
	}
	h := &header{seen: map[string]bool{}}
	r := jsonpos.NewReader(in, in.Size())
	err := r.Object(func(key string) error {
		if h.seen[key] {
			return broken("the key %q comes twice", shorten(key))
		}
		h.seen[key] = true
		if key == keyMetadata {
			return h.texts(r)
		}
		if len(h.tensors) == most {
			return unsupported("more than %d tensors are not supported", most)
		}
		e := entry{name: key}
		if err := e.read(r); err != nil {
			return err
		}
		h.tensors = append(h.tensors, e)
		return nil
	})
	if err == nil {
		err = r.End()
	}
	return h, err
}

// texts reads the object with texts about the file.
func (h *header) texts(r *jsonpos.Reader) error {
	seen := map[string]bool{}
	return r.Object(func(key string) error {
		if seen[key] {
			return broken("the key %q of %s comes twice", shorten(key), keyMetadata)
		}
		seen[key] = true
		if r.Kind() != jsonpos.String {
			return r.Unexpected("a text")
		}
		_, text, err := r.Scalar()
		h.metadata = append(h.metadata, format.Value{Name: keyMetadata + "." + key, Type: "text", Text: jsonpos.Shorten(text, maxText)})
		return err
	})
}

// read reads the object about a tensor. Keys that the format does not have are
// passed over.
func (e *entry) read(r *jsonpos.Reader) error {
	seen := map[string]bool{}
	err := r.Object(func(key string) error {
		if seen[key] {
			return broken("%q: the key %q comes twice", shorten(e.name), shorten(key))
		}
		seen[key] = true
		switch key {
		case keyDType:
			return e.readDType(r)
		case keyShape:
			return e.readShape(r)
		case keyOffsets:
			return e.readOffsets(r)
		}
		return r.Skip()
	})
	if err != nil {
		return err
	}
	for _, key := range []string{keyDType, keyShape, keyOffsets} {
		if !seen[key] {
			return broken("%q: no key %s", shorten(e.name), key)
		}
	}
	return e.checkSize()
}

func (e *entry) readDType(r *jsonpos.Reader) (err error) {
	if r.Kind() != jsonpos.String {
		return r.Unexpected("a name of an element type")
	}
	_, e.dtype, err = r.Scalar()
	return err
}

func (e *entry) readShape(r *jsonpos.Reader) error {
	e.shape = tensor.Shape{}
	return r.Array(func(int) error {
		if len(e.shape) == maxRank {
			return unsupported("%q: more than %d dimensions are not supported", shorten(e.name), maxRank)
		}
		n, err := e.whole(r)
		e.shape = append(e.shape, n)
		return err
	})
}

func (e *entry) readOffsets(r *jsonpos.Reader) error {
	var offsets []int64
	err := r.Array(func(i int) error {
		if i == 2 {
			return r.Unexpected("two offsets")
		}
		n, err := e.whole(r)
		offsets = append(offsets, n)
		return err
	})
	switch {
	case err != nil:
		return err
	case len(offsets) < 2:
		return broken("%q: %d data_offsets, want 2", shorten(e.name), len(offsets))
	}
	e.begin, e.end = offsets[0], offsets[1]
	return nil
}

// whole reads a number from 0 to 2^63-1.
func (e *entry) whole(r *jsonpos.Reader) (int64, error) {
	if r.Kind() != jsonpos.Number {
		return 0, r.Unexpected("a whole number")
	}
	_, text, err := r.Scalar()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || text[0] == '-' {
		return 0, broken("%q: found %s, want a whole number from 0 to 2^63-1", shorten(e.name), shorten(text))
	}
	return n, nil
}

// checkSize compares the bytes of a tensor with its shape. Those of an element type
// that is not known may be any.
func (e *entry) checkSize() error {
	if e.begin > e.end {
		return broken("%q: data_offsets [%d, %d]: the size is negative", shorten(e.name), e.begin, e.end)
	}
	dtype, ok := dtypes[e.dtype]
	if !ok {
		return nil
	}
	count, ok := e.shape.Count()
	need, fits := dtype.Bytes(count)
	switch {
	case !ok || !fits:
		return broken("%q: the size of %s%v has more than 63 bits", shorten(e.name), e.dtype, e.shape)
	case need != e.end-e.begin:
		return broken("%q: data_offsets [%d, %d] have %d bytes, the size of %s%v is %d", shorten(e.name),
			e.begin, e.end, e.end-e.begin, e.dtype, e.shape, need)
	}
	return nil
}

// shorten is a text from a header as messages have it.
func shorten(s string) string { return jsonpos.Shorten(s, 60) }

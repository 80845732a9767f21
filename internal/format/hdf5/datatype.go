package hdf5

import (
	"slices"

	"dumptool/internal/tensor"
)

// elementType is the stored form of elements.
type elementType struct {
	dtype tensor.DType // Undefined if the elements are not numbers
	size  int          // bytes of an element
	// bigEndian: the most significant byte is stored first.
	bigEndian bool
	// signed: the elements are signed integers.
	signed bool
	class  int
	// notNumbers: the elements are texts, records or opaque bytes.
	notNumbers bool
	// problem is the reason why the elements cannot be elements of a tensor.
	problem error
}

// Classes of datatypes.
const (
	classInteger  = 0
	classFloat    = 1
	classText     = 3
	classOpaque   = 5
	classCompound = 6
	classEnum     = 8
	classVariable = 9
	classComplex  = 11
)

// className names a class.
func className(class int) string {
	names := [...]string{"integer", "float", "time", "string", "bit field", "opaque", "compound", "reference", "enum",
		"variable length", "array", "complex"}
	if class < len(names) {
		return names[class]
	}
	return "unknown"
}

// floatLayout is the position of the fields in the bits of a float.
type floatLayout struct {
	size, offset, precision, sign                      int
	exponentAt, exponentBits, mantissaAt, mantissaBits int
	bias                                               int
}

// floats are the IEEE 754 formats and bfloat16.
var floats = map[floatLayout]tensor.DType{
	{2, 0, 16, 15, 10, 5, 0, 10, 15}:    tensor.Float16,
	{2, 0, 16, 15, 7, 8, 0, 7, 127}:     tensor.BFloat16,
	{4, 0, 32, 31, 23, 8, 0, 23, 127}:   tensor.Float32,
	{8, 0, 64, 63, 52, 11, 0, 52, 1023}: tensor.Float64,
}

// integers are the integer types by size and sign.
var integers = map[int][2]tensor.DType{
	1: {tensor.Uint8, tensor.Int8}, 2: {tensor.Uint16, tensor.Int16},
	4: {tensor.Uint32, tensor.Int32}, 8: {tensor.Uint64, tensor.Int64},
}

// maxNesting bounds the nesting of types: an enum of complex numbers is not supported.
const maxNesting = 4

// readDatatype parses a datatype. Types that are not numbers have a problem; the error is for an
// invalid encoding.
func (c *cursor) readDatatype() (elementType, error) { return c.readNestedType(0) }

func (c *cursor) readNestedType(depth int) (elementType, error) {
	head := c.u8()
	class, version := head&15, head>>4
	flags, size := int(c.uint(3)), c.size(4)
	t := elementType{class: class, size: int(size)}
	if size < 1 || size > 1<<31-1 {
		c.fail(formatError(c.offset(), "datatype of %d bytes", size))
	}
	if depth > maxNesting {
		c.fail(formatError(c.offset(), "datatype in more than %d others", maxNesting))
	}
	if c.err != nil {
		return t, c.err
	}
	switch class {
	case classInteger:
		c.readInteger(&t, flags)
	case classFloat:
		c.readFloat(&t, flags)
	case classCompound:
		c.readCompound(&t, flags&0xffff, version, depth)
	case classEnum:
		c.readEnum(&t, flags&0xffff, version, depth)
	case classComplex:
		if part, err := c.readNestedType(depth + 1); err == nil {
			t.setComplex(&part)
		}
	}
	if t.dtype == tensor.Undefined && t.problem == nil {
		const text = 1 // the kind of a variable length type
		t.notNumbers = slices.Contains([]int{classText, classOpaque, classCompound}, class) || class == classVariable && flags&15 == text
		t.problem = unsupported("datatype of class %d (%s) is not supported", class, className(class))
	}
	return t, c.err
}

func (c *cursor) readInteger(t *elementType, flags int) {
	offset, precision := c.u16(), c.u16()
	types, ok := integers[t.size]
	if !ok || offset != 0 || precision != 8*t.size {
		t.problem = unsupported("datatype of integers with %d bits in %d bytes is not supported", precision, t.size)
		return
	}
	t.signed = flags&8 != 0
	t.dtype = types[0]
	if t.signed {
		t.dtype = types[1]
	}
	t.bigEndian = flags&1 != 0
}

func (c *cursor) readFloat(t *elementType, flags int) {
	l := floatLayout{size: t.size, sign: flags >> 8 & 255}
	l.offset, l.precision = c.u16(), c.u16()
	l.exponentAt, l.exponentBits, l.mantissaAt, l.mantissaBits = c.u8(), c.u8(), c.u8(), c.u8()
	l.bias = c.u32()
	const vax = 1 << 6
	dtype, ok := floats[l]
	if !ok || flags&vax != 0 {
		t.problem = unsupported("datatype of floats with %d bits of exponent and %d of mantissa in %d bytes is not supported",
			l.exponentBits, l.mantissaBits, t.size)
		return
	}
	t.dtype = dtype
	t.bigEndian = flags&1 != 0
}

// setComplex sets the complex type with two parts of this type, if there is one.
func (t *elementType) setComplex(part *elementType) {
	switch {
	case t.size != 2*part.size:
		return
	case part.dtype == tensor.Float32:
		t.dtype = tensor.Complex64
	case part.dtype == tensor.Float64:
		t.dtype = tensor.Complex128
	}
	t.bigEndian = part.bigEndian
}

// readCompound parses the members of a compound type. Only complex numbers, a real and an imaginary
// part, are supported.
func (c *cursor) readCompound(t *elementType, members, version, depth int) {
	if members != 2 {
		return
	}
	var parts [2]elementType
	var offsets [2]int64
	for i := range parts {
		name := c.text()
		offsetSize := byteSize(int64(t.size))
		if version < 3 {
			c.pad(len(name) + 1)
			offsetSize = 4
		}
		offsets[i] = c.size(offsetSize)
		if version == 1 {
			c.skip(28) // array dimensions
		}
		var err error
		if parts[i], err = c.readNestedType(depth + 1); err != nil {
			return
		}
	}
	same := parts[0].dtype == parts[1].dtype && parts[0].bigEndian == parts[1].bigEndian
	if same && offsets[0] == 0 && offsets[1] == int64(parts[0].size) {
		t.setComplex(&parts[0])
	}
}

// readEnum parses an enumeration: bool if its names are FALSE and TRUE, else its integers.
func (c *cursor) readEnum(t *elementType, members, version, depth int) {
	base, err := c.readNestedType(depth + 1)
	if err != nil || base.dtype == tensor.Undefined || base.size != t.size {
		return
	}
	*t = base
	t.class = classEnum
	if members != 2 || t.size != 1 {
		return
	}
	var names [2]string
	for i := range names {
		names[i] = c.text()
		if version < 3 {
			c.pad(len(names[i]) + 1)
		}
	}
	values := string(c.nextBytes(2))
	if names == [2]string{"FALSE", "TRUE"} && values == "\x00\x01" || names == [2]string{"TRUE", "FALSE"} && values == "\x01\x00" {
		t.dtype, t.signed = tensor.Bool, false
	}
}

// readDataspace parses the extent of a dataset or an attribute.
func (c *cursor) readDataspace() (*dataspace, error) {
	at, version, rank, flags := c.offset(), c.u8(), c.u8(), c.u8()
	s := &dataspace{shape: tensor.Shape{}}
	switch version {
	case 1:
		c.skip(5)
	case 2:
		s.null = c.u8() == 2
	default:
		c.fail(formatError(at, "dataspace version %d, want 1 or 2", version))
	}
	if rank > maxRank {
		c.fail(formatError(at, "dataspace of rank %d, want at most %d", rank, maxRank))
	}
	if c.err != nil {
		return nil, c.err
	}
	for range rank {
		s.shape = append(s.shape, c.length())
	}
	s.max = s.shape
	if flags&1 != 0 {
		s.max = nil
		for range rank {
			s.max = append(s.max, c.readLimit())
		}
	}
	return s, c.err
}

// readLimit parses the maximum of a dimension, unlimited for none.
func (c *cursor) readLimit() int64 {
	at := c.offset()
	switch v := c.uint(c.f.lengthSize); {
	case v == allOnes(c.f.lengthSize):
		return unlimited
	case v > 1<<63-1:
		c.fail(formatError(at, "dataspace: dimension %d", v))
		return 0
	default:
		return int64(v)
	}
}

// dataspace is the extent of a dataset or an attribute.
type dataspace struct {
	shape tensor.Shape
	max   tensor.Shape // maximum dimensions; may be unlimited
	null  bool         // without elements, which differs from an empty shape
}

const (
	unlimited = -1
	maxRank   = 32
)

// bytes returns the bytes of all elements of a type.
func (s *dataspace) bytes(t *elementType) (int64, error) {
	if s.null {
		return 0, unsupported("dataspace is null: there are no elements")
	}
	n, ok := s.shape.Count()
	if ok {
		n, ok = multiply(n, int64(t.size))
	}
	if !ok {
		return 0, formatError(-1, "data of shape %v with %d bytes an element has more than 63 bits", s.shape, t.size)
	}
	return n, nil
}

package overflow

import "dumptool/internal/tensor"

// counter takes the census of a tensor whose elements arrive block by block.
// The same elements give the same census, to the last bit, however they are cut
// into blocks.
type counter struct {
	unit int // bytes of an element
	part censusPart
	got  Census
}

// censusPart counts the elements of one kind of types.
type censusPart interface {
	// add counts the elements of a block. c.Count is the index of the first.
	add(c *Census, block []byte)
	// finish completes the census after the last block.
	finish(c *Census)
}

// newCounter returns a counter of elements of the type, or a
// *tensor.UnsupportedType error if the type has none.
func newCounter(d tensor.DType) (*counter, error) {
	dec, err := tensor.NewDecoder(d)
	if err != nil {
		return nil, err
	}
	c := &counter{unit: dec.UnitSize()}
	switch d {
	case tensor.Float16:
		c.part = newHalfCounter(halfFormat{frac: 10, bias: 15, max: 0x7bff, value: tensor.Float16To64})
	case tensor.BFloat16:
		c.part = newHalfCounter(halfFormat{frac: 7, bias: 127, max: 0x7f7f, value: bfloat16})
	case tensor.Float32:
		c.part = newFloat32Counter()
	case tensor.Float64:
		c.part = newFloat64Counter()
	case tensor.Complex32, tensor.Complex64, tensor.Complex128:
		c.part = newComplexCounter(dec)
	default:
		c.got.WeakLimits = weakLimits(d)
		if c.unit == 1 {
			c.part = newCodeCounter(dec)
		} else {
			c.part = newIntCounter(d)
		}
	}
	return c, nil
}

// limitless reports whether elements of the type are no numbers.
func limitless(d tensor.DType) bool {
	return d == tensor.Undefined || d == tensor.Bool || d == tensor.Uint1 || d == tensor.Resource
}

// weakLimits is Census.WeakLimits of a type that is an integer or takes a byte
// or less.
func weakLimits(d tensor.DType) bool {
	switch d {
	case tensor.HiFloat8, tensor.Float8E5M2, tensor.Float8E4M3FN, tensor.Float8E8M0:
		return false
	}
	return !limitless(d)
}

// add counts the next elements: bytes as they are stored, but packed elements
// unpacked to a byte each. It panics if the block does not hold whole elements.
func (c *counter) add(block []byte) {
	if len(block)%c.unit != 0 {
		panic("overflow: a block ends within an element")
	}
	c.part.add(&c.got, block)
	c.got.Count += int64(len(block) / c.unit)
}

// census returns the census of all elements. It ends the count: the counter
// must not be used again.
func (c *counter) census() Census {
	c.part.finish(&c.got)
	return c.got
}

package overflow

// Census is what a tensor holds, as far as overflow is concerned. An element
// that is not finite is counted in one of NaN, PosInf and NegInf; a complex
// element counts once: as NaN if a part is, otherwise as +Inf if a part is,
// otherwise as -Inf if a part is.
type Census struct {
	Count, NaN, PosInf, NegInf int64
	// Saturated counts finite elements at the limits of the type: the largest
	// magnitude of a floating-point type, both bounds of a signed integer, the
	// upper bound of an unsigned one (zero is where most of its elements are).
	// Types whose elements are no numbers have no limits: bool, uint1,
	// undefined bytes and resource handles.
	Saturated int64
	// HalfTraces counts float32 values of magnitude 65504, 65536 or 98304: what
	// conversions on the device make of the largest, of an infinite and of a NaN
	// float16. Common clip values such as 65500 are not counted.
	HalfTraces int64
	// Min, Max and Mean are those of the finite elements, nil when there are
	// none and for complex types. A zero is never negative. Min and Max of
	// 64-bit integers are rounded to float64. Mean is the exact mean rounded
	// once, except for float64 elements, where it is that of tensor.Stats.
	Min, Max, Mean *float64
	// FirstHard is the first element that is not finite, FirstSuspect the first
	// one counted in Saturated or HalfTraces; nil when there is none.
	FirstHard, FirstSuspect *Spot
	// WeakLimits says that Saturated proves little, because ordinary elements
	// lie at the limits of the type: integers, and floating-point types of six
	// bits and fewer, whose scale is chosen so that they do.
	WeakLimits bool
}

// Spot is an element of a tensor.
type Spot struct {
	Index int64   // in the order of storage
	Value float64 // of a complex element that of the part which stands out
}

// Hard reports whether the tensor proves an overflow: NaN or infinity.
func (c *Census) Hard() bool { return c.NaN+c.PosInf+c.NegInf > 0 }

// Suspicious reports whether the tensor holds values that saturating arithmetic
// and conversions leave behind.
func (c *Census) Suspicious() bool {
	return c.HalfTraces > 0 || c.Saturated > 0 && !c.WeakLimits
}

// Weak reports whether the tensor holds limits of its type that prove little.
func (c *Census) Weak() bool { return c.Saturated > 0 && c.WeakLimits }

// First returns the first hard evidence, or else the first suspicious element,
// or nil.
func (c *Census) First() *Spot {
	if c.FirstHard != nil {
		return c.FirstHard
	}
	return c.FirstSuspect
}

// finite is the number of finite elements.
func (c *Census) finite() int64 { return c.Count - c.NaN - c.PosInf - c.NegInf }

// setRange sets Min and Max to values that may be negative zeros.
func (c *Census) setRange(low, high float64) {
	low, high = low+0, high+0
	c.Min, c.Max = &low, &high
}

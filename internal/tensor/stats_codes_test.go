package tensor

// specialCodes lists the classes of codes of every type with elements. Complex types have the codes
// of their parts.
var specialCodes = map[DType]struct {
	nan, posInf, negInf, limits, halfTraces, ordinary []uint64
}{
	Float16: {
		nan: []uint64{0x7c01, 0x7e00, 0x7fff, 0xfc01, 0xfe00, 0xffff}, posInf: []uint64{0x7c00}, negInf: []uint64{0xfc00},
		limits:   []uint64{0x7bff, 0xfbff},                                                               // 65504
		ordinary: []uint64{0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x7bfe, 0xfbfe, 0x7a40, 0x78b0, 0x3c00}, // 0x7a40: 51200
	},
	BFloat16: {
		nan: []uint64{0x7f81, 0x7fc0, 0x7fff, 0xff81, 0xffff}, posInf: []uint64{0x7f80}, negInf: []uint64{0xff80},
		limits:   []uint64{0x7f7f, 0xff7f}, // 3.3895e38
		ordinary: []uint64{0, 0x8000, 1, 0x807f, 0x0080, 0x7f7e, 0xff7e, 0x3f80},
	},
	Float32: {
		nan: []uint64{0x7f800001, 0x7fc00000, 0x7fffffff, 0xff800001, 0xffffffff}, posInf: []uint64{0x7f800000}, negInf: []uint64{0xff800000},
		limits:     []uint64{0x7f7fffff, 0xff7fffff},                                                 // 3.4028e38
		halfTraces: []uint64{0x477fe000, 0xc77fe000, 0x47800000, 0xc7800000, 0x47c00000, 0xc7c00000}, // 65504, 65536, 98304
		ordinary:   []uint64{0, 1 << 31, 1, 1<<31 | 1, 0x7f7ffffe, 0xff7ffffe, 0x477fdfff, 0x477fe001, 0x47800001, 0x3f800000},
	},
	Float64: {
		nan: []uint64{0x7ff0000000000001, 0x7ff8 << 48, 0xfff8 << 48}, posInf: []uint64{0x7ff0 << 48}, negInf: []uint64{0xfff0 << 48},
		limits:   []uint64{0x7fefffffffffffff, 0xffefffffffffffff},
		ordinary: []uint64{0, 1 << 63, 1, 0x7feffffffffffffe, 0x40effc0000000000, 0x3ff << 52}, // 65504 among them
	},
	Float8E4M3FN: {
		nan: []uint64{0x7f, 0xff}, limits: []uint64{0x7e, 0xfe}, ordinary: []uint64{0, 0x80, 0x7d, 0xfd}, // 448
	},
	Float8E5M2: {
		nan: []uint64{0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff}, posInf: []uint64{0x7c}, negInf: []uint64{0xfc},
		limits: []uint64{0x7b, 0xfb}, ordinary: []uint64{0, 0x80, 0x7a, 0xfa}, // 57344
	},
	HiFloat8: {
		nan: []uint64{0x80}, posInf: []uint64{0x6f}, negInf: []uint64{0xef},
		limits: []uint64{0x6e, 0xee}, ordinary: []uint64{0, 0x6d, 0xed, 0x7f, 0xff}, // 32768
	},
	Float8E8M0: {nan: []uint64{0xff}, limits: []uint64{0xfe}, ordinary: []uint64{0, 0xfd, 0x7f}}, // 2^127
	Float6E3M2: {limits: []uint64{0x1f, 0x3f}, ordinary: []uint64{0, 0x20, 0x1e, 0x3e}},
	Float6E2M3: {limits: []uint64{0x1f, 0x3f}, ordinary: []uint64{0, 0x20, 0x1e, 0x3e}},
	Float4E2M1: {limits: []uint64{0x7, 0xf}, ordinary: []uint64{0, 0x8, 0x6, 0xe}},
	Float4E1M2: {limits: []uint64{0x7, 0xf}, ordinary: []uint64{0, 0x8, 0x6, 0xe}},
	Int2:       {limits: []uint64{1, 2}, ordinary: []uint64{0, 3}},
	Uint2:      {limits: []uint64{3}, ordinary: []uint64{0, 1, 2}},
	Int4:       {limits: []uint64{7, 8}, ordinary: []uint64{0, 6, 9, 15}},
	Int8:       {limits: []uint64{0x7f, 0x80}, ordinary: []uint64{0, 0x7e, 0x81, 0xff}},
	QInt8:      {limits: []uint64{0x7f, 0x80}, ordinary: []uint64{0, 0x7e, 0x81, 0xff}},
	Uint8:      {limits: []uint64{0xff}, ordinary: []uint64{0, 0x7f, 0x80, 0xfe}},
	QUint8:     {limits: []uint64{0xff}, ordinary: []uint64{0, 0x7f, 0x80, 0xfe}},
	Int16:      {limits: []uint64{0x7fff, 0x8000}, ordinary: []uint64{0, 0x7ffe, 0x8001, 0xffff}},
	QInt16:     {limits: []uint64{0x7fff, 0x8000}, ordinary: []uint64{0, 0x7ffe, 0x8001, 0xffff}},
	Uint16:     {limits: []uint64{0xffff}, ordinary: []uint64{0, 0x7fff, 0x8000, 0xfffe}},
	QUint16:    {limits: []uint64{0xffff}, ordinary: []uint64{0, 0x7fff, 0x8000, 0xfffe}},
	Int32:      {limits: []uint64{1<<31 - 1, 1 << 31}, ordinary: []uint64{0, 1<<31 - 2, 1<<31 + 1, 1<<32 - 1, 65504}},
	QInt32:     {limits: []uint64{1<<31 - 1, 1 << 31}, ordinary: []uint64{0, 1<<31 - 2, 1<<31 + 1, 1<<32 - 1}},
	Uint32:     {limits: []uint64{1<<32 - 1}, ordinary: []uint64{0, 1<<31 - 1, 1 << 31, 1<<32 - 2}},
	Int64:      {limits: []uint64{1<<63 - 1, 1 << 63}, ordinary: []uint64{0, 1<<63 - 2, 1<<63 + 1, 1<<64 - 1}},
	Uint64:     {limits: []uint64{1<<64 - 1}, ordinary: []uint64{0, 1<<63 - 1, 1 << 63, 1<<64 - 2}},
	Undefined:  {ordinary: []uint64{0, 0x7f, 0x80, 0xff}},
	Bool:       {ordinary: []uint64{0, 1, 2, 0xff}},
	Uint1:      {ordinary: []uint64{0, 1}},
	Resource:   {ordinary: []uint64{0, 1<<63 - 1, 1 << 63, 1<<64 - 1}},
	Complex32:  {nan: []uint64{0x7e00}, posInf: []uint64{0x7c00}, negInf: []uint64{0xfc00}, limits: []uint64{0x7bff, 0xfbff}, ordinary: []uint64{0, 0x7bfe}},
	Complex64: {
		nan: []uint64{0x7fc00000}, posInf: []uint64{0x7f800000}, negInf: []uint64{0xff800000}, limits: []uint64{0x7f7fffff, 0xff7fffff},
		halfTraces: []uint64{0x477fe000, 0xc7800000, 0x47c00000}, ordinary: []uint64{0, 0x7f7ffffe, 0x477fe001},
	},
	Complex128: {
		nan: []uint64{0x7ff8 << 48}, posInf: []uint64{0x7ff0 << 48}, negInf: []uint64{0xfff0 << 48},
		limits: []uint64{0x7fefffffffffffff, 0xffefffffffffffff}, ordinary: []uint64{0, 0x40effc0000000000},
	},
}

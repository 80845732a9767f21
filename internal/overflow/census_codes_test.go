package overflow

import "dumptool/internal/tensor"

// censusCodes lists, for every type with elements, which codes are what. Complex
// types have codes of their parts.
var censusCodes = map[tensor.DType]struct {
	nan, posInf, negInf, limits, traces, ordinary []uint64
	weak                                          bool
}{
	tensor.Float16: {
		nan: []uint64{0x7c01, 0x7e00, 0x7fff, 0xfc01, 0xfe00, 0xffff}, posInf: []uint64{0x7c00}, negInf: []uint64{0xfc00},
		limits:   []uint64{0x7bff, 0xfbff},                                                               // 65504
		ordinary: []uint64{0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x7bfe, 0xfbfe, 0x7a40, 0x78b0, 0x3c00}, // 0x7a40: 51200
	},
	tensor.BFloat16: {
		nan: []uint64{0x7f81, 0x7fc0, 0x7fff, 0xff81, 0xffff}, posInf: []uint64{0x7f80}, negInf: []uint64{0xff80},
		limits:   []uint64{0x7f7f, 0xff7f}, // 3.3895e38
		ordinary: []uint64{0, 0x8000, 1, 0x807f, 0x0080, 0x7f7e, 0xff7e, 0x3f80},
	},
	tensor.Float32: {
		nan: []uint64{0x7f800001, 0x7fc00000, 0x7fffffff, 0xff800001, 0xffffffff}, posInf: []uint64{0x7f800000}, negInf: []uint64{0xff800000},
		limits:   []uint64{0x7f7fffff, 0xff7fffff},                                                 // 3.4028e38
		traces:   []uint64{0x477fe000, 0xc77fe000, 0x47800000, 0xc7800000, 0x47c00000, 0xc7c00000}, // 65504, 65536, 98304
		ordinary: []uint64{0, 1 << 31, 1, 1<<31 | 1, 0x7f7ffffe, 0xff7ffffe, 0x477fdfff, 0x477fe001, 0x47800001, 0x3f800000},
	},
	tensor.Float64: {
		nan: []uint64{0x7ff0000000000001, 0x7ff8 << 48, 0xfff8 << 48}, posInf: []uint64{0x7ff0 << 48}, negInf: []uint64{0xfff0 << 48},
		limits:   []uint64{0x7fefffffffffffff, 0xffefffffffffffff},
		ordinary: []uint64{0, 1 << 63, 1, 0x7feffffffffffffe, 0x40effc0000000000, 0x3ff << 52}, // 65504 among them
	},
	tensor.Float8E4M3FN: {
		nan: []uint64{0x7f, 0xff}, limits: []uint64{0x7e, 0xfe}, ordinary: []uint64{0, 0x80, 0x7d, 0xfd}, // 448
	},
	tensor.Float8E5M2: {
		nan: []uint64{0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff}, posInf: []uint64{0x7c}, negInf: []uint64{0xfc},
		limits: []uint64{0x7b, 0xfb}, ordinary: []uint64{0, 0x80, 0x7a, 0xfa}, // 57344
	},
	tensor.HiFloat8: {
		nan: []uint64{0x80}, posInf: []uint64{0x6f}, negInf: []uint64{0xef},
		limits: []uint64{0x6e, 0xee}, ordinary: []uint64{0, 0x6d, 0xed, 0x7f, 0xff}, // 32768
	},
	tensor.Float8E8M0: {nan: []uint64{0xff}, limits: []uint64{0xfe}, ordinary: []uint64{0, 0xfd, 0x7f}}, // 2^127
	tensor.Float6E3M2: {limits: []uint64{0x1f, 0x3f}, ordinary: []uint64{0, 0x20, 0x1e, 0x3e}, weak: true},
	tensor.Float6E2M3: {limits: []uint64{0x1f, 0x3f}, ordinary: []uint64{0, 0x20, 0x1e, 0x3e}, weak: true},
	tensor.Float4E2M1: {limits: []uint64{0x7, 0xf}, ordinary: []uint64{0, 0x8, 0x6, 0xe}, weak: true},
	tensor.Float4E1M2: {limits: []uint64{0x7, 0xf}, ordinary: []uint64{0, 0x8, 0x6, 0xe}, weak: true},
	tensor.Int2:       {limits: []uint64{1, 2}, ordinary: []uint64{0, 3}, weak: true},
	tensor.Uint2:      {limits: []uint64{3}, ordinary: []uint64{0, 1, 2}, weak: true},
	tensor.Int4:       {limits: []uint64{7, 8}, ordinary: []uint64{0, 6, 9, 15}, weak: true},
	tensor.Int8:       {limits: []uint64{0x7f, 0x80}, ordinary: []uint64{0, 0x7e, 0x81, 0xff}, weak: true},
	tensor.QInt8:      {limits: []uint64{0x7f, 0x80}, ordinary: []uint64{0, 0x7e, 0x81, 0xff}, weak: true},
	tensor.Uint8:      {limits: []uint64{0xff}, ordinary: []uint64{0, 0x7f, 0x80, 0xfe}, weak: true},
	tensor.QUint8:     {limits: []uint64{0xff}, ordinary: []uint64{0, 0x7f, 0x80, 0xfe}, weak: true},
	tensor.Int16:      {limits: []uint64{0x7fff, 0x8000}, ordinary: []uint64{0, 0x7ffe, 0x8001, 0xffff}, weak: true},
	tensor.QInt16:     {limits: []uint64{0x7fff, 0x8000}, ordinary: []uint64{0, 0x7ffe, 0x8001, 0xffff}, weak: true},
	tensor.Uint16:     {limits: []uint64{0xffff}, ordinary: []uint64{0, 0x7fff, 0x8000, 0xfffe}, weak: true},
	tensor.QUint16:    {limits: []uint64{0xffff}, ordinary: []uint64{0, 0x7fff, 0x8000, 0xfffe}, weak: true},
	tensor.Int32:      {limits: []uint64{1<<31 - 1, 1 << 31}, ordinary: []uint64{0, 1<<31 - 2, 1<<31 + 1, 1<<32 - 1, 65504}, weak: true},
	tensor.QInt32:     {limits: []uint64{1<<31 - 1, 1 << 31}, ordinary: []uint64{0, 1<<31 - 2, 1<<31 + 1, 1<<32 - 1}, weak: true},
	tensor.Uint32:     {limits: []uint64{1<<32 - 1}, ordinary: []uint64{0, 1<<31 - 1, 1 << 31, 1<<32 - 2}, weak: true},
	tensor.Int64:      {limits: []uint64{1<<63 - 1, 1 << 63}, ordinary: []uint64{0, 1<<63 - 2, 1<<63 + 1, 1<<64 - 1}, weak: true},
	tensor.Uint64:     {limits: []uint64{1<<64 - 1}, ordinary: []uint64{0, 1<<63 - 1, 1 << 63, 1<<64 - 2}, weak: true},
	tensor.Undefined:  {ordinary: []uint64{0, 0x7f, 0x80, 0xff}},
	tensor.Bool:       {ordinary: []uint64{0, 1, 2, 0xff}},
	tensor.Uint1:      {ordinary: []uint64{0, 1}},
	tensor.Resource:   {ordinary: []uint64{0, 1<<63 - 1, 1 << 63, 1<<64 - 1}},
	tensor.Complex32:  {nan: []uint64{0x7e00}, posInf: []uint64{0x7c00}, negInf: []uint64{0xfc00}, limits: []uint64{0x7bff, 0xfbff}, ordinary: []uint64{0, 0x7bfe}},
	tensor.Complex64: {
		nan: []uint64{0x7fc00000}, posInf: []uint64{0x7f800000}, negInf: []uint64{0xff800000}, limits: []uint64{0x7f7fffff, 0xff7fffff},
		traces: []uint64{0x477fe000, 0xc7800000, 0x47c00000}, ordinary: []uint64{0, 0x7f7ffffe, 0x477fe001},
	},
	tensor.Complex128: {
		nan: []uint64{0x7ff8 << 48}, posInf: []uint64{0x7ff0 << 48}, negInf: []uint64{0xfff0 << 48},
		limits: []uint64{0x7fefffffffffffff, 0xffefffffffffffff}, ordinary: []uint64{0, 0x40effc0000000000},
	},
}

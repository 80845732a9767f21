package metrics

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"dumptool/internal/tensor"
)

// randomElement stores an element of random bits, or a small number.
func randomElement(random *rand.Rand, dst []byte, d tensor.DType) []byte {
	size := d.UnitSize()
	if size == 1 || random.IntN(3) == 0 {
		for range size {
			dst = append(dst, byte(random.Uint32()))
		}
		return dst
	}
	x := float64(random.IntN(9)-4) * math.Ldexp(1, random.IntN(4))
	switch d.Host() {
	case tensor.HostFloat16:
		return append(dst, byte(random.IntN(4)), byte(0x3c+random.IntN(4)|random.IntN(2)<<7))
	case tensor.HostFloat32:
		if size == 2 {
			return binary.LittleEndian.AppendUint16(dst, uint16(math.Float32bits(float32(x))>>16))
		}
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(x+random.NormFloat64()*1e-3)))
	case tensor.HostFloat64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	case tensor.HostComplex64:
		if size == 4 {
			return append(dst, byte(random.IntN(4)), 0x3c, byte(random.IntN(4)), 0xbc)
		}
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(x)))
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(random.IntN(5))))
	case tensor.HostComplex128:
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(random.IntN(5))))
	}
	return append(dst, binary.LittleEndian.AppendUint64(nil, uint64(int64(x)))[:size]...)
}

func decodable() (types []tensor.DType) {
	for d := range tensor.DType(64) {
		if d.Host() != tensor.HostNone {
			types = append(types, d)
		}
	}
	return types
}

// TestTypes compares results and pictures with the slow references for all pairs of types; in
// short mode only for pairs of equal types and of each type with float32.
func TestTypes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, npuType := range decodable() {
		for _, refType := range decodable() {
			if testing.Short() && refType != npuType && refType != tensor.Float32 && npuType != tensor.Float32 {
				continue
			}
			t.Run(refType.String()+"-"+npuType.String(), func(t *testing.T) {
				req := Request{
					Shape: tensor.Shape{3, 29}, RefDType: refType, NPUDType: npuType,
					Limits: Limits{Atol: 0.25, Rtol: 0.5, Mode: Mode(random.IntN(3))},
				}
				ref, npu := memory{nil, refType.UnitSize()}, memory{nil, npuType.UnitSize()}
				for range 87 {
					ref.data = randomElement(random, ref.data, refType)
					if refType == npuType && random.IntN(2) == 0 {
						npu.data = append(npu.data, ref.data[len(ref.data)-ref.size:]...)
						npu.data[len(npu.data)-npu.size] ^= byte(random.IntN(3))
						continue
					}
					npu.data = randomElement(random, npu.data, npuType)
				}
				pictures, got := picturesOf(t, req, BinLimits{1, 1 + random.IntN(40)}, ref, npu)
				checkPictures(t, checkSlowly(t, req, ref, npu, got), pictures, got)
			})
		}
	}
}

// hardFloat returns a value that is numerically hard: at an end of the range of float64,
// subnormal, next to another value or to a limit, or arbitrary.
func hardFloat(random *rand.Rand) float64 {
	round := []float64{0.1, 0.25, 0.375, 0.5, 0.75, 1.5, 1e-308, 5e-324, 1e-200, 1e-162, 1e154, 1e200, 1e308, 1 << 53, 1 << 62, 1 << 63}
	ends := []int{-1074, -1022, -512, -400, -149, -126, 53, 64, 128, 400, 512, 1024}
	x := math.NaN()
	switch random.IntN(12) {
	case 0:
		x = math.Float64frombits(random.Uint64() >> random.IntN(64))
	case 1:
		x = math.Float64frombits(uint64(random.IntN(5)))
	case 2:
		x = math.MaxFloat64 / float64(1+random.IntN(4))
	case 3:
		x = math.Ldexp(1+float64(random.IntN(3))*0x1p-52, random.IntN(2098)-1074)
	case 4:
		x = float64(random.IntN(9))
	case 5:
		x = 1 + float64(random.IntN(5))*0x1p-52
	case 6:
		x = round[random.IntN(len(round))]
	case 7:
		x = math.Ldexp(random.NormFloat64(), random.IntN(40)-20)
	case 8:
		x = math.Ldexp(random.Float64(), ends[random.IntN(len(ends))])
	case 9:
		x = 1e15 + float64(random.IntN(3))
	case 10:
		x = math.Inf(1)
	}
	return x * float64(2*random.IntN(2)-1)
}

// hardElement returns an element of a type that is numerically hard.
func hardElement(random *rand.Rand, d tensor.DType) []byte {
	size := d.UnitSize()
	part := func() []byte {
		switch {
		case size == 1 || random.IntN(6) == 0:
			return binary.LittleEndian.AppendUint64(nil, random.Uint64())
		case d == tensor.Float64 || d == tensor.Complex128:
			return binary.LittleEndian.AppendUint64(nil, math.Float64bits(hardFloat(random)))
		case d == tensor.BFloat16:
			return binary.LittleEndian.AppendUint16(nil, uint16(math.Float32bits(float32(hardFloat(random)))>>16))
		case d == tensor.Float32 || d == tensor.Complex64:
			return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(hardFloat(random))))
		}
		x := random.Uint64() >> random.IntN(64)
		if random.IntN(2) == 0 { // at a border
			x = 1<<random.IntN(64) + uint64(random.Int64N(2<<random.IntN(30))) - 2
		}
		return binary.LittleEndian.AppendUint64(nil, x)
	}
	return append(part(), part()...)[:size]
}

// TestHardPairs compares pairs of tensors of all types, whose elements and limits are
// numerically hard, with the slow references.
func TestHardPairs(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 12))
	types := append(decodable(), tensor.Float64, tensor.Float64, tensor.Float64, tensor.Complex128, tensor.Complex128, tensor.Complex128)
	for range 500 {
		req := Request{RefDType: types[random.IntN(len(types))], Limits: Limits{0.25, 0.5, Mode(random.IntN(3))}, Top: 3, List: 3, Points: 3}
		req.NPUDType = req.RefDType
		if random.IntN(2) == 0 {
			req.NPUDType = types[random.IntN(len(types))]
		}
		req = narrowed(t, req)
		if l := (Limits{math.Abs(hardFloat(random)), math.Abs(hardFloat(random)), req.Limits.Mode}); random.IntN(2) == 0 && l.check() == nil {
			req.Limits = l
		}
		ref, npu := memory{nil, req.RefDType.UnitSize()}, memory{nil, req.NPUDType.UnitSize()}
		count := 1 + random.IntN(1+random.IntN(60))
		for range count {
			r := hardElement(random, req.RefDType)
			if random.IntN(3) == 0 && len(ref.data) > 0 {
				r = ref.data[:ref.size]
			}
			n := hardElement(random, req.NPUDType)
			if req.NPUDType == req.RefDType && random.IntN(3) > 0 {
				n = bytes.Clone(r)
				n[0] ^= byte(random.IntN(4)) >> random.IntN(3)
			}
			ref.data, npu.data = append(ref.data, r...), append(npu.data, n...)
		}
		req.Shape = tensor.Shape{int64(count)}
		got, err := Compare(t.Context(), req, ref, npu)
		if err != nil {
			t.Fatal(err)
		}
		if checkSlowly(t, req, ref, npu, got); t.Failed() {
			t.Fatalf("%s %v %x, %s %x", req.RefDType, req.Limits, ref.data, req.NPUDType, npu.data)
		}
	}
}

// narrowed replaces a 64-bit integer type beside a non-integer type by int32. Such integers may
// be off by one ulp, which matters for values that tie; TestTypes has such pairs without
// ties.
func narrowed(t *testing.T, req Request) Request {
	t.Helper()
	n, errN := newNumber(req.NPUDType)
	r, errR := newNumber(req.RefDType)
	if errN != nil || errR != nil {
		t.Fatal(errN, errR)
	}
	if n.is64Bit() && !r.integer {
		req.NPUDType = tensor.Int32
	}
	if r.is64Bit() && !n.integer {
		req.RefDType = tensor.Int32
	}
	return req
}

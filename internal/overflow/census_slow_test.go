package overflow

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"dumptool/internal/tensor"
)

// slowCensus is Census by definition, one element after the other.
func slowCensus(t testing.TB, d tensor.DType, block []byte) (c Census) {
	t.Helper()
	c.WeakLimits = censusCodes[d].weak
	dec, err := tensor.NewDecoder(d)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[uint64]bool{}
	for _, code := range censusCodes[d].limits {
		limits[code] = true
	}
	sum, unit, part := new(big.Rat), dec.UnitSize(), partSize(d)
	for i := 0; i*unit < len(block); i++ {
		c.Count++
		var values []float64
		var atLimit, trace bool
		for k := i * unit; k < (i+1)*unit; k += part {
			value := slowValue(dec, block[k:k+part])
			values = append(values, value)
			atLimit = atLimit || limits[slowCode(d, block[k:k+part])]
			x := math.Abs(value)
			trace = trace || (d == tensor.Float32 || d == tensor.Complex64) && (x == 65504 || x == 65536 || x == 98304)
		}
		count, spot := &c.NaN, &c.FirstHard
		switch {
		case hasValue(values, math.NaN()):
		case hasValue(values, math.Inf(1)):
			count = &c.PosInf
		case hasValue(values, math.Inf(-1)):
			count = &c.NegInf
		default:
			if len(values) == 1 {
				sum.Add(sum, slowExact(d, block[i*unit:(i+1)*unit], values[0]))
				c.Min, c.Max = slowBounds(c.Min, c.Max, values[0])
			}
			switch {
			case atLimit:
				count, spot = &c.Saturated, &c.FirstSuspect
			case trace:
				count, spot = &c.HalfTraces, &c.FirstSuspect
			default:
				continue
			}
		}
		if *count++; *spot == nil {
			*spot = &Spot{Index: int64(i), Value: values[0]}
			if len(values) > 1 {
				(*spot).Value = 0 // which part it is, TestCensusComplex says
			}
		}
	}
	if c.Min == nil {
		return c
	}
	mean, _ := sum.Quo(sum, new(big.Rat).SetInt64(c.finite())).Float64()
	c.Mean = &mean
	return c
}

func hasValue(values []float64, x float64) bool {
	for _, v := range values {
		if v == x || v != v && x != x {
			return true
		}
	}
	return false
}

func slowBounds(low, high *float64, x float64) (*float64, *float64) {
	if x == 0 {
		x = 0
	}
	if low == nil {
		return &x, &x
	}
	l, h := math.Min(*low, x), math.Max(*high, x)
	return &l, &h
}

// slowCode returns the code of an element or part without the bits that its type
// does not have.
func slowCode(d tensor.DType, part []byte) uint64 {
	var word [8]byte
	copy(word[:], part)
	code := binary.LittleEndian.Uint64(word[:])
	switch {
	case d == tensor.Float6E2M3 || d == tensor.Float6E3M2:
		code &= 0x3f
	case d.Bits() < 8:
		code &= 1<<d.Bits() - 1
	}
	return code
}

// slowValue decodes an element, or a part of a complex one.
func slowValue(dec tensor.Decoder, part []byte) float64 {
	host := dec.Host()
	if host.Complex() {
		parts := map[tensor.DType]tensor.DType{
			tensor.Complex32: tensor.Float16, tensor.Complex64: tensor.Float32, tensor.Complex128: tensor.Float64,
		}
		dec, _ = tensor.NewDecoder(parts[dec.DType()])
		host = dec.Host()
	}
	decoded, value := make([]byte, host.Size()), []float64{0}
	dec.Decode(decoded, part)
	tensor.Float64s(value, decoded, host)
	return value[0]
}

// slowExact returns the exact value of an element whose nearest float64 is x.
func slowExact(d tensor.DType, element []byte, x float64) *big.Rat {
	switch d {
	case tensor.Int64, tensor.Resource:
		return new(big.Rat).SetInt64(int64(binary.LittleEndian.Uint64(element)))
	case tensor.Uint64:
		return new(big.Rat).SetUint64(binary.LittleEndian.Uint64(element))
	}
	return new(big.Rat).SetFloat64(x)
}

// Package tensor is the vocabulary of all other packages: element types, formats (axis orders and
// device layouts), shapes, and the decoding of stored elements into host elements. It does no I/O.
package tensor

import (
	"fmt"
	"strings"

	"dumptool/internal/lang"
)

// DType is the element type of a tensor in a dump. The values are the numbers of the data_type
// field of toolkit.dumpdata.DumpData; numbers without a name are legal and survive unchanged.
type DType int32

// The element types of a dump, with the numbers that the device writes.
const (
	Undefined    DType = 0
	Float32      DType = 1
	Float16      DType = 2
	Int8         DType = 3
	Uint8        DType = 4
	Int16        DType = 5
	Uint16       DType = 6
	Int32        DType = 7
	Int64        DType = 8
	Uint32       DType = 9
	Uint64       DType = 10
	Bool         DType = 11
	Float64      DType = 12
	String       DType = 13
	DualSubInt8  DType = 14
	DualSubUint8 DType = 15
	Complex64    DType = 16
	Complex128   DType = 17
	QInt8        DType = 18
	QInt16       DType = 19
	QInt32       DType = 20
	QUint8       DType = 21
	QUint16      DType = 22
	Resource     DType = 23
	StringRef    DType = 24
	Dual         DType = 25
	Variant      DType = 26
	BFloat16     DType = 27
	Int4         DType = 28
	Uint1        DType = 29
	Int2         DType = 30
	Uint2        DType = 31
	Complex32    DType = 32
	HiFloat8     DType = 33
	Float8E5M2   DType = 34
	Float8E4M3FN DType = 35
	Float8E8M0   DType = 36
	Float6E3M2   DType = 37
	Float6E2M3   DType = 38
	Float4E2M1   DType = 39
	Float4E1M2   DType = 40
)

// dtypeInfo is one row of the element type table.
type dtypeInfo struct {
	name string
	bits int  // stored bits per element; 0: the type has no fixed-size elements
	host Host // type of a decoded element
}

// dtypes is indexed by DType. A row without bits is a type without host elements.
var dtypes = [...]dtypeInfo{
	Undefined:    {"undefined", 8, HostInt8},
	Float32:      {"float32", 32, HostFloat32},
	Float16:      {"float16", 16, HostFloat16},
	Int8:         {"int8", 8, HostInt8},
	Uint8:        {"uint8", 8, HostUint8},
	Int16:        {"int16", 16, HostInt16},
	Uint16:       {"uint16", 16, HostUint16},
	Int32:        {"int32", 32, HostInt32},
	Int64:        {"int64", 64, HostInt64},
	Uint32:       {"uint32", 32, HostUint32},
	Uint64:       {"uint64", 64, HostUint64},
	Bool:         {"bool", 8, HostBool},
	Float64:      {"float64", 64, HostFloat64},
	String:       {"string", 0, HostNone},
	DualSubInt8:  {"dual_sub_int8", 0, HostNone},
	DualSubUint8: {"dual_sub_uint8", 0, HostNone},
	Complex64:    {"complex64", 64, HostComplex64},
	Complex128:   {"complex128", 128, HostComplex128},
	QInt8:        {"qint8", 8, HostInt8},
	QInt16:       {"qint16", 16, HostInt16},
	QInt32:       {"qint32", 32, HostInt32},
	QUint8:       {"quint8", 8, HostUint8},
	QUint16:      {"quint16", 16, HostUint16},
	Resource:     {"resource", 64, HostInt64},
	StringRef:    {"string_ref", 0, HostNone},
	Dual:         {"dual", 0, HostNone},
	Variant:      {"variant", 0, HostNone},
	BFloat16:     {"bfloat16", 16, HostFloat32},
	Int4:         {"int4", 4, HostInt8},
	Uint1:        {"uint1", 1, HostUint8},
	Int2:         {"int2", 2, HostInt8},
	Uint2:        {"uint2", 2, HostUint8},
	Complex32:    {"complex32", 32, HostComplex64},
	HiFloat8:     {"hifloat8", 8, HostFloat32},
	Float8E5M2:   {"float8_e5m2", 8, HostFloat32},
	Float8E4M3FN: {"float8_e4m3fn", 8, HostFloat32},
	Float8E8M0:   {"float8_e8m0", 8, HostFloat32},
	Float6E3M2:   {"float6_e3m2", 8, HostFloat32}, // six bits, stored one per byte
	Float6E2M3:   {"float6_e2m3", 8, HostFloat32},
	Float4E2M1:   {"float4_e2m1", 4, HostFloat32},
	Float4E1M2:   {"float4_e1m2", 4, HostFloat32},
}

func (d DType) info() dtypeInfo {
	if d < 0 || int(d) >= len(dtypes) {
		return dtypeInfo{}
	}
	return dtypes[d]
}

// String returns the name of the type, or dtype(N) for a number without one.
func (d DType) String() string {
	if name := d.info().name; name != "" {
		return name
	}
	return fmt.Sprintf("dtype(%d)", int32(d))
}

// MarshalText implements encoding.TextMarshaler: the name.
func (d DType) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler: the name.
func (d *DType) UnmarshalText(text []byte) error {
	of, ok := ParseDType(string(text))
	if !ok {
		return lang.Errorf("no element type is called %.40q", text)
	}
	*d = of
	return nil
}

// ParseDType returns the type of a name in any letter case.
func ParseDType(name string) (DType, bool) {
	for i, row := range dtypes {
		if strings.EqualFold(row.name, name) {
			return DType(i), true
		}
	}
	return 0, false
}

// Bits returns the bits of one element in a dump: 1 to 128, or 0 if elements of the type have no
// fixed size or the type is unknown.
func (d DType) Bits() int { return d.info().bits }

// Bytes returns the bytes of count elements in a dump; sub-byte elements are packed and the last
// byte may be partly used. ok is false if the type has no fixed-size elements, count is negative or
// the product overflows.
func (d DType) Bytes(count int64) (n int64, ok bool) {
	bits := int64(d.Bits())
	if bits == 0 || count < 0 {
		return 0, false
	}
	if bits < 8 {
		per := 8 / bits
		return count/per + min(1, count%per), true
	}
	size := bits / 8
	if count > maxInt64/size {
		return 0, false
	}
	return count * size, true
}

// Elements returns the number of whole elements in size bytes.
func (d DType) Elements(size int64) (n int64, ok bool) {
	bits := int64(d.Bits())
	switch {
	case bits == 0 || size < 0:
		return 0, false
	case bits >= 8:
		return size / (bits / 8), true
	case size > maxInt64/(8/bits):
		return 0, false
	}
	return size * (8 / bits), true
}

// UnitSize returns the bytes of one element by itself: the stored size, or 1 for an unpacked
// sub-byte element. 0 if the type has no elements.
func (d DType) UnitSize() int { return (d.Bits() + 7) / 8 }

// Host returns the type of decoded elements, HostNone if there is none.
func (d DType) Host() Host { return d.info().host }

const maxInt64 = 1<<63 - 1

// Host is an element type of host arrays: a numpy type. Host elements are little-endian on every
// machine.
type Host uint8

// The host element types. HostNone is the zero value and holds nothing.
const (
	HostNone Host = iota
	HostBool
	HostInt8
	HostInt16
	HostInt32
	HostInt64
	HostUint8
	HostUint16
	HostUint32
	HostUint64
	HostFloat16
	HostFloat32
	HostFloat64
	HostComplex64
	HostComplex128
)

// hostInfo is one row of the host element type table.
type hostInfo struct {
	name  string // numpy's dtype name
	descr string // numpy's type string, as numpy.save writes it
	size  int    // bytes
}

var hosts = [...]hostInfo{
	HostNone:       {"none", "", 0},
	HostBool:       {"bool", "|b1", 1},
	HostInt8:       {"int8", "|i1", 1},
	HostInt16:      {"int16", "<i2", 2},
	HostInt32:      {"int32", "<i4", 4},
	HostInt64:      {"int64", "<i8", 8},
	HostUint8:      {"uint8", "|u1", 1},
	HostUint16:     {"uint16", "<u2", 2},
	HostUint32:     {"uint32", "<u4", 4},
	HostUint64:     {"uint64", "<u8", 8},
	HostFloat16:    {"float16", "<f2", 2},
	HostFloat32:    {"float32", "<f4", 4},
	HostFloat64:    {"float64", "<f8", 8},
	HostComplex64:  {"complex64", "<c8", 8},
	HostComplex128: {"complex128", "<c16", 16},
}

func (h Host) info() hostInfo {
	if int(h) >= len(hosts) {
		return hostInfo{}
	}
	return hosts[h]
}

// String returns numpy's name of the type, such as float16.
func (h Host) String() string { return h.info().name }

// Descr returns numpy's type string, such as <f2, as numpy.save writes it.
func (h Host) Descr() string { return h.info().descr }

// Size returns the size of one element in bytes, 0 for HostNone.
func (h Host) Size() int { return h.info().size }

// Hosts lists the host element types without HostNone.
func Hosts() []Host {
	all := make([]Host, 0, len(hosts)-1)
	for h := HostNone + 1; int(h) < len(hosts); h++ {
		all = append(all, h)
	}
	return all
}

// DType returns the dump element type with the same bytes as h.
func (h Host) DType() DType {
	if h == HostNone {
		return Undefined
	}
	d, _ := ParseDType(h.String())
	return d
}

package tensor

import (
	"math"
	"strings"
	"testing"
)

// dtypeRows is the element type table of the dump format, written out apart
// from the implementation. bits is the size of one element in a file.
var dtypeRows = []struct {
	number DType
	name   string
	bits   int
	host   string
}{
	{0, "undefined", 8, "int8"},
	{1, "float32", 32, "float32"},
	{2, "float16", 16, "float16"},
	{3, "int8", 8, "int8"},
	{4, "uint8", 8, "uint8"},
	{5, "int16", 16, "int16"},
	{6, "uint16", 16, "uint16"},
	{7, "int32", 32, "int32"},
	{8, "int64", 64, "int64"},
	{9, "uint32", 32, "uint32"},
	{10, "uint64", 64, "uint64"},
	{11, "bool", 8, "bool"},
	{12, "float64", 64, "float64"},
	{13, "string", 0, "none"},
	{14, "dual_sub_int8", 0, "none"},
	{15, "dual_sub_uint8", 0, "none"},
	{16, "complex64", 64, "complex64"},
	{17, "complex128", 128, "complex128"},
	{18, "qint8", 8, "int8"},
	{19, "qint16", 16, "int16"},
	{20, "qint32", 32, "int32"},
	{21, "quint8", 8, "uint8"},
	{22, "quint16", 16, "uint16"},
	{23, "resource", 64, "int64"},
	{24, "string_ref", 0, "none"},
	{25, "dual", 0, "none"},
	{26, "variant", 0, "none"},
	{27, "bfloat16", 16, "float32"},
	{28, "int4", 4, "int8"},
	{29, "uint1", 1, "uint8"},
	{30, "int2", 2, "int8"},
	{31, "uint2", 2, "uint8"},
	{32, "complex32", 32, "complex64"},
	{33, "hifloat8", 8, "float32"},
	{34, "float8_e5m2", 8, "float32"},
	{35, "float8_e4m3fn", 8, "float32"},
	{36, "float8_e8m0", 8, "float32"},
	{37, "float6_e3m2", 8, "float32"}, // six bits, one element a byte
	{38, "float6_e2m3", 8, "float32"},
	{39, "float4_e2m1", 4, "float32"},
	{40, "float4_e1m2", 4, "float32"},
}

func TestDTypeTable(t *testing.T) {
	if n := len(dtypes); n != len(dtypeRows) {
		t.Errorf("%d types, want %d", n, len(dtypeRows))
	}
	for i, row := range dtypeRows {
		d := DType(i)
		if d != row.number || d.String() != row.name || d.Bits() != row.bits || d.Host().String() != row.host {
			t.Errorf("type %d is %s, %d bits, host %s; want %+v", d, d, d.Bits(), d.Host(), row)
		}
		if got, ok := ParseDType(strings.ToUpper(row.name)); !ok || got != row.number {
			t.Errorf("ParseDType(%q) = %d, %v", strings.ToUpper(row.name), got, ok)
		}
		if want := row.bits > 0 && row.bits < 8; d.IsPacked() != want {
			t.Errorf("%s: Packed() = %v", d, !want)
		}
		if want := (row.bits + 7) / 8; d.UnitSize() != want {
			t.Errorf("%s: UnitSize() = %d, want %d", d, d.UnitSize(), want)
		}
	}
}

func TestUnknownDType(t *testing.T) {
	for d, name := range map[DType]string{
		99: "dtype(99)", 41: "dtype(41)", -1: "dtype(-1)",
		math.MaxInt32: "dtype(2147483647)", math.MinInt32: "dtype(-2147483648)",
	} {
		if d.String() != name {
			t.Errorf("String() = %q, want %q", d.String(), name)
		}
		if d.Bits() != 0 || d.UnitSize() != 0 || d.Host() != HostNone || d.IsPacked() {
			t.Errorf("%s has elements", d)
		}
		if n, ok := d.Bytes(1); ok {
			t.Errorf("%s: Bytes(1) = %d", d, n)
		}
		if n, ok := d.Elements(8); ok {
			t.Errorf("%s: Elements(8) = %d", d, n)
		}
	}
	for _, name := range []string{"", "float", "dtype(99)", "float32 "} {
		if d, ok := ParseDType(name); ok {
			t.Errorf("ParseDType(%q) = %s", name, d)
		}
	}
}

func TestDTypeSizes(t *testing.T) {
	const huge = math.MaxInt64
	for _, c := range []struct {
		d               DType
		count, bytes    int64
		ok              bool
		elementsOfBytes int64
	}{
		{Float16, 0, 0, true, 0},
		{Float16, 3, 6, true, 3},
		{Complex128, 2, 32, true, 2},
		{Uint1, 1, 1, true, 8},
		{Uint1, 8, 1, true, 8},
		{Uint1, 9, 2, true, 16},
		{Int2, 5, 2, true, 8},
		{Int4, 7, 4, true, 8},
		{Float6E2M3, 7, 7, true, 7},
		{Int8, huge, huge, true, huge},
		{Float32, huge / 4, huge - 3, true, huge / 4},
		{Float32, huge/4 + 1, 0, false, 0},
		{Int8, -1, 0, false, 0},
		{String, 1, 0, false, 0},
	} {
		n, ok := c.d.Bytes(c.count)
		if n != c.bytes || ok != c.ok {
			t.Errorf("%s: Bytes(%d) = %d, %v; want %d, %v", c.d, c.count, n, ok, c.bytes, c.ok)
		}
		if !c.ok {
			continue
		}
		if n, ok := c.d.Elements(c.bytes); n != c.elementsOfBytes || !ok {
			t.Errorf("%s: Elements(%d) = %d, %v; want %d", c.d, c.bytes, n, ok, c.elementsOfBytes)
		}
	}
	if n, _ := Int32.Elements(11); n != 2 {
		t.Errorf("11 bytes hold %d int32", n)
	}
	if n, ok := Uint1.Bytes(huge); n != huge/8+1 || !ok {
		t.Errorf("Bytes of %d uint1 = %d, %v", int64(huge), n, ok)
	}
	for _, size := range []int64{-1, huge / 2} {
		if n, ok := Uint1.Elements(size); ok {
			t.Errorf("uint1: Elements(%d) = %d", size, n)
		}
	}
}

func TestHostTable(t *testing.T) {
	rows := []struct {
		name, descr string
		size        int
		stored      DType
	}{
		{"bool", "|b1", 1, 11},
		{"int8", "|i1", 1, 3},
		{"int16", "<i2", 2, 5},
		{"int32", "<i4", 4, 7},
		{"int64", "<i8", 8, 8},
		{"uint8", "|u1", 1, 4},
		{"uint16", "<u2", 2, 6},
		{"uint32", "<u4", 4, 9},
		{"uint64", "<u8", 8, 10},
		{"float16", "<f2", 2, 2},
		{"float32", "<f4", 4, 1},
		{"float64", "<f8", 8, 12},
		{"complex64", "<c8", 8, 16},
		{"complex128", "<c16", 16, 17},
	}
	hosts := Hosts()
	if len(hosts) != len(rows) {
		t.Fatalf("%d host types, want %d", len(hosts), len(rows))
	}
	for i, row := range rows {
		h := hosts[i]
		if h.String() != row.name || h.Descr() != row.descr || h.Size() != row.size || h.DType() != row.stored {
			t.Errorf("host %d is %s %s, %d bytes, %s; want %+v", h, h, h.Descr(), h.Size(), h.DType(), row)
		}
		if want := strings.HasPrefix(row.name, "complex"); h.Complex() != want {
			t.Errorf("%s: Complex() = %v", h, !want)
		}
	}
	if h := Host(200); h.String() != "" || h.Size() != 0 || h.Descr() != "" {
		t.Errorf("an unknown host type is %q, %d bytes", h, h.Size())
	}
	if HostNone.Size() != 0 || HostNone.DType() != Undefined {
		t.Error("HostNone has elements")
	}
}

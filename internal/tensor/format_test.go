package tensor

import (
	"slices"
	"strings"
	"testing"
)

// formatRows is the format enumeration, written out apart from the
// implementation: the names of 0 to 54 in order.
const formatRows = `NCHW NHWC ND NC1HWC0 FRACTAL_Z NC1C0HWPAD NHWC1C0 FSR_NCHW FRACTAL_DECONV C1HWNC0
FRACTAL_DECONV_TRANSPOSE FRACTAL_DECONV_SP_STRIDE_TRANS NC1HWC0_C04 FRACTAL_Z_C04 CHWN
FRACTAL_DECONV_SP_STRIDE8_TRANS HWCN NC1KHKWHWC0 BN_WEIGHT FILTER_HWCK HASHTABLE_LOOKUP_LOOKUPS
HASHTABLE_LOOKUP_KEYS HASHTABLE_LOOKUP_VALUE HASHTABLE_LOOKUP_OUTPUT HASHTABLE_LOOKUP_HITS C1HWNCoC0
MD NDHWC FRACTAL_ZZ FRACTAL_NZ NCDHW DHWCN NDC1HWC0 FRACTAL_Z_3D CN NC DHWNC FRACTAL_Z_3D_TRANSPOSE
FRACTAL_ZN_LSTM FRACTAL_Z_G RESERVED ALL NULL ND_RNN_BIAS FRACTAL_ZN_RNN NYUV NYUV_A NCL FRACTAL_Z_WINO
C1HWC0 FRACTAL_NZ_C0_16 FRACTAL_NZ_C0_32 FRACTAL_NZ_C0_2 FRACTAL_NZ_C0_4 FRACTAL_NZ_C0_8`

func TestFormatTable(t *testing.T) {
	names := strings.Fields(formatRows)
	if len(names) != 55 {
		t.Fatalf("%d names in the test's own table", len(names))
	}
	for i, name := range names {
		if got := Format(i).String(); got != name {
			t.Errorf("format %d is %s, want %s", i, got, name)
		}
		for _, spelling := range []string{name, strings.ToLower(name)} {
			if f, ok := ParseFormat(spelling); !ok || f != Format(i) {
				t.Errorf("ParseFormat(%q) = %d, %v; want %d", spelling, f, ok, i)
			}
		}
	}
	if got, want := FormatNames(), append(names, "MAX"); !slices.Equal(got, want) {
		t.Errorf("FormatNames() = %v", got)
	}
	if FormatMax != 255 || FormatMax.String() != "MAX" {
		t.Errorf("format %d is %s, want MAX", FormatMax, FormatMax)
	}
}

func TestFormatSpellings(t *testing.T) {
	for name, want := range map[string]Format{
		"DECONV_SP_STRIDE8_TRANS": 15,
		"LOOKUP_LOOKUPS":          20,
		"LOOKUP_KEYS":             21,
		"LOOKUP_VALUE":            22,
		"lookup_output":           23,
		"LOOKUP_HITS":             24,
		"YUV":                     45,
		"yuv_a":                   46,
	} {
		if f, ok := ParseFormat(name); !ok || f != want {
			t.Errorf("ParseFormat(%q) = %s, %v; want %s", name, f, ok, want)
		}
	}
	for _, name := range []string{"", "NCWH", "format(99)", "FRACTAL"} {
		if f, ok := ParseFormat(name); ok {
			t.Errorf("ParseFormat(%q) = %s", name, f)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	for f, want := range map[Format]string{55: "format(55)", 254: "format(254)", -1: "format(-1)", 256: "format(256)"} {
		if f.String() != want {
			t.Errorf("String() = %q, want %q", f, want)
		}
	}
}

func TestFormatWord(t *testing.T) {
	for _, c := range []struct {
		word       FormatWord
		format     Format
		groups, c0 int64
	}{
		{0, NCHW, 0, 0},
		{29, FractalNZ, 0, 0},
		{83886083, NC1HWC0, 0, 16},
		{3<<24 | 12, NC1HWC0C04, 0, 4},
		{4<<24 | 4, FractalZ, 0, 8},
		{6<<24 | 3, NC1HWC0, 0, 32},
		{9<<24 | 3, NC1HWC0, 0, 256},
		{1<<24 | 3, NC1HWC0, 0, 1},
		{10<<24 | 3, NC1HWC0, 0, 0}, // codes without a meaning
		{15<<24 | 3, NC1HWC0, 0, 0},
		{8<<8 | 4, FractalZ, 8, 0},
		{5<<24 | 0xffff<<8 | 33, FractalZ3D, 65535, 16},
		{0xf0000000 | 5<<24 | 3, NC1HWC0, 0, 16}, // reserved bits
		{0xff, FormatMax, 0, 0},
	} {
		if c.word.Format() != c.format || c.word.Groups() != c.groups || c.word.C0() != c.c0 {
			t.Errorf("word %#x is %s, groups %d, C0 %d; want %s, %d, %d", uint32(c.word),
				c.word.Format(), c.word.Groups(), c.word.C0(), c.format, c.groups, c.c0)
		}
	}
}

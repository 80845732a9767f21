package tensor

import (
	"fmt"
	"strings"
)

// Format names the axis order or device layout of a tensor. The values are the
// numbers of the format field of a dump (primary format, the low byte of the
// packed word).
type Format int32

// The formats, with the numbers that the device writes.
const (
	NCHW                       Format = 0
	NHWC                       Format = 1
	ND                         Format = 2
	NC1HWC0                    Format = 3
	FractalZ                   Format = 4
	NC1C0HWPad                 Format = 5
	NHWC1C0                    Format = 6
	FSRNCHW                    Format = 7
	FractalDeconv              Format = 8
	C1HWNC0                    Format = 9
	FractalDeconvTranspose     Format = 10
	FractalDeconvSPStrideTrans Format = 11
	NC1HWC0C04                 Format = 12
	FractalZC04                Format = 13
	CHWN                       Format = 14
	FractalDeconvSPStride8     Format = 15
	HWCN                       Format = 16
	NC1KHKWHWC0                Format = 17
	BNWeight                   Format = 18
	FilterHWCK                 Format = 19
	HashtableLookupLookups     Format = 20
	HashtableLookupKeys        Format = 21
	HashtableLookupValue       Format = 22
	HashtableLookupOutput      Format = 23
	HashtableLookupHits        Format = 24
	C1HWNCoC0                  Format = 25
	MD                         Format = 26
	NDHWC                      Format = 27
	FractalZZ                  Format = 28
	FractalNZ                  Format = 29
	NCDHW                      Format = 30
	DHWCN                      Format = 31
	NDC1HWC0                   Format = 32
	FractalZ3D                 Format = 33
	CN                         Format = 34
	NC                         Format = 35
	DHWNC                      Format = 36
	FractalZ3DTranspose        Format = 37
	FractalZNLSTM              Format = 38
	FractalZG                  Format = 39
	Reserved                   Format = 40
	All                        Format = 41
	Null                       Format = 42
	NDRNNBias                  Format = 43
	FractalZNRNN               Format = 44
	NYUV                       Format = 45
	NYUVA                      Format = 46
	NCL                        Format = 47
	FractalZWino               Format = 48
	C1HWC0                     Format = 49
	FractalNZC016              Format = 50
	FractalNZC032              Format = 51
	FractalNZC02               Format = 52
	FractalNZC04               Format = 53
	FractalNZC08               Format = 54
	FormatMax                  Format = 255
)

// formatNames is the table of format names, as the Ascend headers spell them.
var formatNames = map[Format]string{
	NCHW: "NCHW", NHWC: "NHWC", ND: "ND", NC1HWC0: "NC1HWC0", FractalZ: "FRACTAL_Z",
	NC1C0HWPad: "NC1C0HWPAD", NHWC1C0: "NHWC1C0", FSRNCHW: "FSR_NCHW",
	FractalDeconv: "FRACTAL_DECONV", C1HWNC0: "C1HWNC0",
	FractalDeconvTranspose:     "FRACTAL_DECONV_TRANSPOSE",
	FractalDeconvSPStrideTrans: "FRACTAL_DECONV_SP_STRIDE_TRANS",
	NC1HWC0C04:                 "NC1HWC0_C04", FractalZC04: "FRACTAL_Z_C04", CHWN: "CHWN",
	FractalDeconvSPStride8: "FRACTAL_DECONV_SP_STRIDE8_TRANS", HWCN: "HWCN",
	NC1KHKWHWC0: "NC1KHKWHWC0", BNWeight: "BN_WEIGHT", FilterHWCK: "FILTER_HWCK",
	HashtableLookupLookups: "HASHTABLE_LOOKUP_LOOKUPS", HashtableLookupKeys: "HASHTABLE_LOOKUP_KEYS",
	HashtableLookupValue: "HASHTABLE_LOOKUP_VALUE", HashtableLookupOutput: "HASHTABLE_LOOKUP_OUTPUT",
	HashtableLookupHits: "HASHTABLE_LOOKUP_HITS", C1HWNCoC0: "C1HWNCoC0", MD: "MD", NDHWC: "NDHWC",
	FractalZZ: "FRACTAL_ZZ", FractalNZ: "FRACTAL_NZ", NCDHW: "NCDHW", DHWCN: "DHWCN",
	NDC1HWC0: "NDC1HWC0", FractalZ3D: "FRACTAL_Z_3D", CN: "CN", NC: "NC", DHWNC: "DHWNC",
	FractalZ3DTranspose: "FRACTAL_Z_3D_TRANSPOSE", FractalZNLSTM: "FRACTAL_ZN_LSTM",
	FractalZG: "FRACTAL_Z_G", Reserved: "RESERVED", All: "ALL", Null: "NULL",
	NDRNNBias: "ND_RNN_BIAS", FractalZNRNN: "FRACTAL_ZN_RNN", NYUV: "NYUV", NYUVA: "NYUV_A",
	NCL: "NCL", FractalZWino: "FRACTAL_Z_WINO", C1HWC0: "C1HWC0",
	FractalNZC016: "FRACTAL_NZ_C0_16", FractalNZC032: "FRACTAL_NZ_C0_32",
	FractalNZC02: "FRACTAL_NZ_C0_2", FractalNZC04: "FRACTAL_NZ_C0_4", FractalNZC08: "FRACTAL_NZ_C0_8",
	FormatMax: "MAX",
}

// formatAliases are spellings that other tools use for a format.
var formatAliases = map[string]Format{
	"DECONV_SP_STRIDE8_TRANS": FractalDeconvSPStride8,
	"LOOKUP_LOOKUPS":          HashtableLookupLookups,
	"LOOKUP_KEYS":             HashtableLookupKeys,
	"LOOKUP_VALUE":            HashtableLookupValue,
	"LOOKUP_OUTPUT":           HashtableLookupOutput,
	"LOOKUP_HITS":             HashtableLookupHits,
	"YUV":                     NYUV,
	"YUV_A":                   NYUVA,
	"FRACZ":                   FractalZ,
}

// String returns the name of the format, or format(N) for a number without one.
func (f Format) String() string {
	if name, ok := formatNames[f]; ok {
		return name
	}
	return fmt.Sprintf("format(%d)", int32(f))
}

// MarshalText implements encoding.TextMarshaler: the name.
func (f Format) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// ParseFormat returns the format of a name or an alias, in any letter case.
func ParseFormat(name string) (Format, bool) {
	for f, n := range formatNames {
		if strings.EqualFold(n, name) {
			return f, true
		}
	}
	f, ok := formatAliases[strings.ToUpper(name)]
	return f, ok
}

// FormatNames lists the names of all formats, in the order of their numbers.
func FormatNames() []string {
	var names []string
	for f := Format(0); f <= FormatMax; f++ {
		if name, ok := formatNames[f]; ok {
			names = append(names, name)
		}
	}
	return names
}

// FormatWord is the 32-bit format field of a dump. Bits 0 to 7 hold the primary
// format, bits 8 to 23 the sub-format (groups), bits 24 to 27 a code k for
// C0 = 2^(k-1), 0 for none. Ordinary dumps write the primary format only;
// exception dumps write the whole word.
type FormatWord uint32

// Format returns the primary format.
func (w FormatWord) Format() Format { return Format(w & 0xff) }

// Groups returns the sub-format, 0 for none.
func (w FormatWord) Groups() int64 { return int64(w >> 8 & 0xffff) }

// C0 returns the channel block size, 0 for none or for an undefined code (the largest is 9, for
// 256).
func (w FormatWord) C0() int64 {
	k := w >> 24 & 0xf
	if k == 0 || k > 9 {
		return 0
	}
	return 1 << (k - 1)
}

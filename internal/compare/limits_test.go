package compare

import (
	"math"
	"testing"

	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// TestProfiles checks every pair of types with the tables of torch.testing.assert_close and of the 8-bit types, and
// with HPAA's defaults.
func TestProfiles(t *testing.T) {
	// From the most precise type to the least.
	table := []struct {
		dtype      tensor.DType
		rtol, atol float64
		torch      bool
	}{
		{tensor.Float64, 1e-7, 1e-7, true},
		{tensor.Complex128, 1e-7, 1e-7, true},
		{tensor.Float32, 1.3e-6, 1e-5, true},
		{tensor.Complex64, 1.3e-6, 1e-5, true},
		{tensor.Float16, 1e-3, 1e-5, true},
		{tensor.Complex32, 1e-3, 1e-5, true},
		{tensor.BFloat16, 1.6e-2, 1e-5, true},
		{tensor.Float8E4M3FN, 0.125, 0.001953125, false},
		{tensor.Float8E5M2, 0.25, 0.0000152587890625, false},
	}
	exact := []tensor.DType{tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Uint16, tensor.Int32, tensor.Uint32, tensor.Int64,
		tensor.Uint64, tensor.Bool, tensor.Int4, tensor.QInt8}
	check := func(p limits.Profile, a, b tensor.DType, rtol, atol float64) {
		t.Helper()
		for _, pair := range [][2]tensor.DType{{a, b}, {b, a}} {
			l := (&limits.Tolerances{Profile: p}).Limits(pair[0], pair[1], nil, nil)
			source := "profile " + string(p)
			if want := (record.Limits{Atol: atol, Rtol: rtol, AtolSource: source, RtolSource: source}); l != want {
				t.Errorf("%s %s/%s: %+v, want %+v", p, pair[0], pair[1], l, want)
			}
		}
	}
	torch := func(i int) (rtol, atol float64) {
		if table[i].torch {
			return table[i].rtol, table[i].atol
		}
		return 0, 0
	}
	for i, a := range table {
		for k := range table[:i+1] {
			b := table[k]
			check(limits.ProfileDType, a.dtype, b.dtype, a.rtol, a.atol)
			ar, aa := torch(i)
			br, ba := torch(k)
			check(limits.ProfileTorch, a.dtype, b.dtype, max(ar, br), max(aa, ba))
			check(limits.ProfileHPAA, a.dtype, b.dtype, 0.2, 0.005)
			check(limits.ProfileExact, a.dtype, b.dtype, 0, 0)
		}
		for _, d := range exact {
			check(limits.ProfileDType, a.dtype, d, a.rtol, a.atol)
			check(limits.ProfileHPAA, a.dtype, d, 0.2, 0.005)
		}
	}
	for _, a := range exact {
		for _, b := range exact {
			check(limits.ProfileDType, a, b, 0, 0)
			check(limits.ProfileTorch, a, b, 0, 0)
			check(limits.ProfileExact, a, b, 0, 0)
			check(limits.ProfileHPAA, a, b, 0.2, 0.005)
		}
	}
}

func TestLimitPrecedence(t *testing.T) {
	const half, whole = tensor.Float16, tensor.Int8
	tests := []struct {
		name         string
		opt          limits.Tolerances
		ref, npu     tensor.DType
		cAtol, cRtol *float64
		want         record.Limits
	}{
		{"profile", limits.Tolerances{Profile: limits.ProfileHPAA}, half, half, nil, nil, record.Limits{Atol: 0.005, Rtol: 0.2, AtolSource: "profile hpaa", RtolSource: "profile hpaa"}},
		{"command line atol", limits.Tolerances{Profile: limits.ProfileHPAA, Atol: ptr(1.0)}, half, half, nil, nil, record.Limits{Atol: 1, Rtol: 0.2, AtolSource: "command line", RtolSource: "profile hpaa"}},
		{"command line zero", limits.Tolerances{Profile: limits.ProfileHPAA, Rtol: ptr(0.0)}, half, half, nil, nil, record.Limits{Atol: 0.005, Rtol: 0, AtolSource: "profile hpaa", RtolSource: "command line"}},
		{"config rtol", limits.Tolerances{Profile: limits.ProfileHPAA, Atol: ptr(1.0), Rtol: ptr(2.0)}, half, half, nil, ptr(3.0), record.Limits{Atol: 1, Rtol: 3, AtolSource: "command line", RtolSource: "op_config"}},
		{"config both", limits.Tolerances{Profile: limits.ProfileHPAA, Atol: ptr(1.0), Rtol: ptr(2.0)}, half, half, ptr(0.0), ptr(3.0), record.Limits{Atol: 0, Rtol: 3, AtolSource: "op_config", RtolSource: "op_config"}},
		{"int-tol", limits.Tolerances{Profile: limits.ProfileHPAA, IntTol: ptr(1.0)}, whole, tensor.Int32, nil, nil, record.Limits{Atol: 1, Rtol: 0, AtolSource: "int-tol", RtolSource: "int-tol"}},
		{"int-tol, a float", limits.Tolerances{Profile: limits.ProfileHPAA, IntTol: ptr(1.0)}, whole, half, nil, nil, record.Limits{Atol: 0.005, Rtol: 0.2, AtolSource: "profile hpaa", RtolSource: "profile hpaa"}},
		{"int-tol, command line", limits.Tolerances{Profile: limits.ProfileHPAA, IntTol: ptr(1.0), Atol: ptr(4.0)}, whole, whole, nil, nil, record.Limits{Atol: 4, Rtol: 0, AtolSource: "command line", RtolSource: "int-tol"}},
		{"int-tol, config", limits.Tolerances{Profile: limits.ProfileHPAA, IntTol: ptr(1.0)}, whole, whole, ptr(5.0), nil, record.Limits{Atol: 5, Rtol: 0, AtolSource: "op_config", RtolSource: "int-tol"}},
		{"accum", limits.Tolerances{Profile: limits.ProfileDType, Accum: 64}, half, half, nil, nil, record.Limits{Atol: 1e-5, Rtol: 1e-3 * math.Sqrt(64), AtolSource: "profile dtype", RtolSource: "profile dtype x sqrt(64)"}},
		{"accum of one", limits.Tolerances{Profile: limits.ProfileDType, Accum: 1}, half, half, nil, nil, record.Limits{Atol: 1e-5, Rtol: 1e-3, AtolSource: "profile dtype", RtolSource: "profile dtype"}},
		{"accum, exact", limits.Tolerances{Profile: limits.ProfileExact, Accum: 64}, half, half, nil, nil, record.Limits{Atol: 0, Rtol: 0, AtolSource: "profile exact", RtolSource: "profile exact"}},
		{"accum, command line", limits.Tolerances{Profile: limits.ProfileDType, Accum: 64, Rtol: ptr(0.5)}, half, half, nil, nil, record.Limits{Atol: 1e-5, Rtol: 0.5, AtolSource: "profile dtype", RtolSource: "command line"}},
	}
	for _, tt := range tests {
		if got := tt.opt.Limits(tt.ref, tt.npu, tt.cAtol, tt.cRtol); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if got, want := (record.Limits{Atol: 0.005, Rtol: 0.2}).String(), "atol=0.005,rtol=0.2"; got != want {
		t.Errorf("String is %q, want %q", got, want)
	}
}

//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// EIGHT adds up the float16 of a register and bounds their codes in the order of their
// values.
#define EIGHT(x, V) \
	SIGN_H8(x, 20)              \
	VAND V31.B16, V20.B16, V20.B16 \
	VEOR V.B16, V20.B16, V20.B16 \
	FCVTL_S4(x, 21)             \
	FCVTL2_S4(x, 22)            \
	SMIN_H8(20, x-16, x-16)     \
	SMAX_H8(20, x-14, x-14)     \
	FCVTL_D2(21, 24)            \
	FCVTL2_D2(21, 25)           \
	FCVTL_D2(22, 26)            \
	FCVTL2_D2(22, 27)           \
	FADD_D4(24, 4, 4)           \
	FADD_D4(26, 6, 6)

// halvesVector adds up count float16, a multiple of 16, and bounds their codes in the
// order of their values. 33 instructions for 16.
//
// func halvesVector(src *byte, count int, out *halfLanes)
TEXT ·halvesVector(SB), NOSPLIT, $0-24
	MOVD src+0(FP), R0
	MOVD count+8(FP), R1
	MOVD out+16(FP), R2
	MOVD $0x7fff, R3
	VDUP R3, V31.H8
	VMOV V31.B16, V0.B16        // the lowest
	VMOV V31.B16, V1.B16
	MOVD $0x8000, R3
	VDUP R3, V2.H8              // the highest
	VDUP R3, V3.H8
	VEOR V4.B16, V4.B16, V4.B16 // the sums
	VEOR V5.B16, V5.B16, V5.B16
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V7.B16, V7.B16, V7.B16
	PCALIGN $16
halvesNext:
	VLD1.P 32(R0), [V16.H8, V17.H8]
	EIGHT(16, V16)
	EIGHT(17, V17)
	SUBS $16, R1
	BNE halvesNext
	FADD_D4(6, 4, 4)
	VST1.P [V0.H8, V1.H8, V2.H8, V3.H8], 64(R2)
	VST1 [V4.D2, V5.D2], (R2)
	RET

// floatsVector adds count float32, a multiple of 4, to four sums by turns, and bounds
// their codes in the order of their values. 26 instructions for four.
//
// func floatsVector(src *byte, count int, out *floatLanes)
TEXT ·floatsVector(SB), NOSPLIT, $0-24
	MOVD src+0(FP), R0
	MOVD count+8(FP), R1
	MOVD out+16(FP), R2
	MOVD $0x7fffffff, R3
	VDUP R3, V31.S4
	MOVD R2, R3
	VLD1.P 32(R3), [V0.S4, V1.S4] // the lowest, the highest
	VLD1 (R3), [V2.D2, V3.D2, V4.D2, V5.D2] // the sums, and what rounding took from them
	PCALIGN $16
floatsNext:
	VLD1.P 16(R0), [V16.S4]
	SIGN_S4(16, 17)
	VAND V31.B16, V17.B16, V17.B16
	VEOR V16.B16, V17.B16, V17.B16
	SMIN_S4(17, 0, 0)
	SMAX_S4(17, 1, 1)
	FCVTL_D2(16, 18)            // x
	FCVTL2_D2(16, 19)
	FADD_D4(18, 2, 20)          // sum
	FSUB_D4(2, 20, 22)          // part = sum - value
	FSUB_D4(22, 20, 24)
	FSUB_D4(22, 18, 18)         // x - part
	FSUB_D4(24, 2, 24)          // value - (sum - part)
	FADD_D4(18, 24, 24)
	FADD_D4(24, 4, 4)
	VMOV V20.B16, V2.B16
	VMOV V21.B16, V3.B16
	SUBS $4, R1
	BNE floatsNext
	VST1.P [V0.S4, V1.S4], 32(R2)
	VST1 [V2.D2, V3.D2, V4.D2, V5.D2], (R2)
	RET

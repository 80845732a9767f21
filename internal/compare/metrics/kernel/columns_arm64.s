//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// columnsVector adds as many rows to as many quads; stride is that of rows in bytes.
// 40 instructions for four pairs.
//
// func columnsVector(q *Quad, n, r *float64, quads, rows, stride int, floor float64)
TEXT ·columnsVector(SB), NOSPLIT, $0-56
	MOVD q+0(FP), R0
	MOVD n+8(FP), R1
	MOVD r+16(FP), R2
	MOVD quads+24(FP), R3
	MOVD rows+32(FP), R4
	MOVD stride+40(FP), R5
	FMOVD floor+48(FP), F18
	VDUP V18.D[0], V18.D2
	MOVD $0x7ff0000000000000, R6
	VDUP R6, V19.D2             // bits of exponents
columnsQuad:
	VLD1.P 32(R0), [V16.D2, V17.D2] // Shift
	MOVD R0, R6
	VLD1.P 64(R6), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1.P 64(R6), [V4.D2, V5.D2, V6.D2, V7.D2]
	VLD1.P 64(R6), [V8.D2, V9.D2, V10.D2, V11.D2]
	VLD1 (R6), [V12.D2, V13.D2, V14.D2, V15.D2]
	MOVD R1, R7
	MOVD R2, R8
	MOVD R4, R9
	PCALIGN $16
columnsRow:
	VLD1.P (R7)(R5), [V20.D2, V21.D2]
	VLD1.P (R8)(R5), [V22.D2, V23.D2]
	FSUB_D4(22, 20, 20)         // d
	FADD_D4(20, 4, 4)
	FMUL_D4(20, 20, 24)
	FMUL_D4(20, 22, 26)
	FADD_D4(24, 6, 6)
	FADD_D4(26, 8, 8)
	FABS_D4(20, 20)
	FABS_D4(22, 24)
	AND_ALL(19, 22, 26)
	FMAXNM_D4(20, 12, 12)
	FMAXNM_D4(24, 14, 14)
	FMAXNM_ALL(18, 26, 26)      // powers of two
	FSUB_D4(16, 22, 22)         // r-Shift
	FMUL_D4(26, 26, 26)
	FADD_D4(22, 0, 0)
	FMUL_D4(22, 22, 22)
	FADD_D4(26, 10, 10)
	FADD_D4(22, 2, 2)
	SUBS $1, R9
	BNE columnsRow
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R0)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R0)
	VST1.P [V8.D2, V9.D2, V10.D2, V11.D2], 64(R0)
	VST1.P [V12.D2, V13.D2, V14.D2, V15.D2], 64(R0)
	ADD $32, R0                 // Counts
	ADD $32, R1
	ADD $32, R2
	SUBS $1, R3
	BNE columnsQuad
	RET

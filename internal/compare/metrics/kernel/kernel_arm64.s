//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Every function works on groups of four float64; count is a multiple of four and
// not 0. Lane k of a sum holds elements k, k+4, k+8 and so on: lanes 0 and 1
// are in one register, 2 and 3 in the next. How many instructions a loop has is said
// for each group.

// ZERO_D4 clears four lanes.
#define ZERO_D4(d) EOR_D4(d, d, d)

#define LOAD(from, a, b) VLD1.P 32(from), [a.D2, b.D2]
#define STORE(a, b, to) VST1.P [a.D2, b.D2], 32(to)

// 24 instructions.
//
// func sidesVector(n, r *float64, count int, n0, r0 float64, out *[20]float64)
TEXT ·sidesVector(SB), NOSPLIT, $0-48
	MOVD n+0(FP), R0
	MOVD r+8(FP), R1
	MOVD count+16(FP), R2
	FMOVD n0+24(FP), F30
	FMOVD r0+32(FP), F31
	VDUP V30.D[0], V30.D2
	VDUP V31.D[0], V31.D2
	MOVD out+40(FP), R3
	ZERO_D4(0)                  // n-n0
	ZERO_D4(2)                  // r-r0
	ZERO_D4(4)                  // the square of n-n0
	ZERO_D4(6)                  // the square of r-r0
	ZERO_D4(8)                  // their product
	PCALIGN $16
sides:
	LOAD(R0, V10, V11)
	LOAD(R1, V12, V13)
	FSUB_ALL(30, 10, 10)
	FSUB_ALL(31, 12, 12)
	FADD_D4(10, 0, 0)
	FADD_D4(12, 2, 2)
	FMUL_D4(10, 10, 14)
	FMUL_D4(12, 12, 16)
	FMUL_D4(10, 12, 18)
	FADD_D4(14, 4, 4)
	FADD_D4(16, 6, 6)
	FADD_D4(18, 8, 8)
	SUBS $4, R2
	BNE sides
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R3)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R3)
	VST1 [V8.D2, V9.D2], (R3)
	RET

// 24 instructions.
//
// func differencesVector(n, r, d, abs *float64, count int, d0 float64, out *[12]float64, negative *[4]int64)
TEXT ·differencesVector(SB), NOSPLIT, $0-64
	MOVD n+0(FP), R0
	MOVD r+8(FP), R1
	MOVD d+16(FP), R4
	MOVD abs+24(FP), R5
	MOVD count+32(FP), R2
	FMOVD d0+40(FP), F31
	VDUP V31.D[0], V31.D2
	MOVD out+48(FP), R3
	MOVD negative+56(FP), R6
	ZERO_D4(0)                  // d-d0
	ZERO_D4(2)                  // its square
	ZERO_D4(4)                  // |d|
	ZERO_D4(6)                  // negative ones
	PCALIGN $16
differences:
	LOAD(R0, V10, V11)
	LOAD(R1, V12, V13)
	FSUB_D4(12, 10, 10)
	FABS_D4(10, 12)
	STORE(V10, V11, R4)
	STORE(V12, V13, R5)
	FCMLTZ_D4(10, 14)
	SUB_D4(14, 6, 6)
	FSUB_ALL(31, 10, 10)
	FADD_D4(12, 4, 4)
	FADD_D4(10, 0, 0)
	FMUL_D4(10, 10, 10)
	FADD_D4(10, 2, 2)
	SUBS $4, R2
	BNE differences
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R3)
	VST1 [V4.D2, V5.D2], (R3)
	VST1 [V6.D2, V7.D2], (R6)
	RET

// 30 instructions.
//
// func smallVector(n, r *float64, count int, nNormal, rNormal float64, out *[20]int64)
TEXT ·smallVector(SB), NOSPLIT, $0-48
	MOVD n+0(FP), R0
	MOVD r+8(FP), R1
	MOVD count+16(FP), R2
	MOVD nNormal+24(FP), R4
	MOVD rNormal+32(FP), R5
	VDUP R4, V30.D2
	VDUP R4, V31.D2
	VDUP R5, V28.D2
	VDUP R5, V29.D2
	MOVD out+40(FP), R3
	ZERO_D4(0)                  // n is 0
	ZERO_D4(2)                  // n is below
	ZERO_D4(4)                  // r is 0
	ZERO_D4(6)                  // r is below
	ZERO_D4(8)                  // n is below, r is not below that
	PCALIGN $16
small:
	LOAD(R0, V10, V11)
	LOAD(R1, V12, V13)
	FABS_D4(10, 10)
	FABS_D4(12, 12)
	FCMEQZ_D4(10, 14)
	SUB_D4(14, 0, 0)
	FCMGT_D4(10, 30, 14)
	SUB_D4(14, 2, 2)
	FCMGT_D4(12, 30, 16)
	BIC_D4(16, 14, 14)
	SUB_D4(14, 8, 8)
	FCMEQZ_D4(12, 14)
	SUB_D4(14, 4, 4)
	FCMGT_D4(12, 28, 14)
	SUB_D4(14, 6, 6)
	SUBS $4, R2
	BNE small
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R3)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R3)
	VST1 [V8.D2, V9.D2], (R3)
	RET

// addPairsVector adds count values of a and b to first and second, and to the lanes of
// out. 22 instructions for four of each.
//
// func addPairsVector(first, second, a, b *float64, count int, out *[8]float64)
TEXT ·addPairsVector(SB), NOSPLIT, $0-48
	MOVD first+0(FP), R0
	MOVD second+8(FP), R1
	MOVD a+16(FP), R2
	MOVD b+24(FP), R3
	MOVD count+32(FP), R4
	MOVD out+40(FP), R5
	MOVD R0, R6                 // loads do not wait for stores
	MOVD R1, R7
	ZERO_D4(0)
	ZERO_D4(2)
	PCALIGN $16
addPairsNext:
	VLD1.P 32(R2), [V4.D2, V5.D2]
	VLD1.P 32(R3), [V6.D2, V7.D2]
	VLD1.P 32(R6), [V16.D2, V17.D2]
	VLD1.P 32(R7), [V18.D2, V19.D2]
	FADD_D4(4, 0, 0)
	FADD_D4(6, 2, 2)
	FADD_D4(4, 16, 16)
	FADD_D4(6, 18, 18)
	VST1.P [V16.D2, V17.D2], 32(R0)
	VST1.P [V18.D2, V19.D2], 32(R1)
	SUBS $4, R4
	BNE addPairsNext
	VST1 [V0.D2, V1.D2, V2.D2, V3.D2], (R5)
	RET

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

// 44 instructions.
//
// func subtractVector(n, r, d, abs *float64, count int, n0, r0, d0 float64, out *subtractLanes)
TEXT ·subtractVector(SB), NOSPLIT, $0-72
	MOVD n+0(FP), R0
	MOVD r+8(FP), R1
	MOVD d+16(FP), R4
	MOVD abs+24(FP), R5
	MOVD count+32(FP), R2
	FMOVD n0+40(FP), F29
	FMOVD r0+48(FP), F30
	FMOVD d0+56(FP), F31
	VDUP V29.D[0], V29.D2
	VDUP V30.D[0], V30.D2
	VDUP V31.D[0], V31.D2
	MOVD out+64(FP), R3
	ZERO_D4(0)                  // n-n0
	ZERO_D4(2)                  // r-r0
	ZERO_D4(4)                  // the square of n-n0
	ZERO_D4(6)                  // the square of r-r0
	ZERO_D4(8)                  // their product
	ZERO_D4(10)                 // d-d0
	ZERO_D4(12)                 // its square
	ZERO_D4(14)                 // |d|
	ZERO_D4(16)                 // negative ones
	PCALIGN $16
subtractNext:
	LOAD(R0, V18, V19)
	LOAD(R1, V20, V21)
	FSUB_D4(20, 18, 22)
	FABS_D4(22, 24)
	STORE(V22, V23, R4)
	STORE(V24, V25, R5)
	FCMLTZ_D4(22, 26)
	SUB_D4(26, 16, 16)
	FSUB_ALL(31, 22, 22)
	FADD_D4(24, 14, 14)
	FADD_D4(22, 10, 10)
	FMUL_D4(22, 22, 22)
	FADD_D4(22, 12, 12)
	FSUB_ALL(29, 18, 18)
	FSUB_ALL(30, 20, 20)
	FADD_D4(18, 0, 0)
	FADD_D4(20, 2, 2)
	FMUL_D4(18, 20, 22)
	FMUL_D4(18, 18, 18)
	FMUL_D4(20, 20, 20)
	FADD_D4(22, 8, 8)
	FADD_D4(18, 4, 4)
	FADD_D4(20, 6, 6)
	SUBS $4, R2
	BNE subtractNext
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R3)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R3)
	VST1.P [V8.D2, V9.D2, V10.D2, V11.D2], 64(R3)
	VST1.P [V12.D2, V13.D2, V14.D2, V15.D2], 64(R3)
	VST1 [V16.D2, V17.D2], (R3)
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

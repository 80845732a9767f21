//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Every function works on groups of four float64; count is a multiple of four and
// not 0. Lane k of a sum holds elements k, k+4, k+8 and so on: lanes 0 and 1
// are in one register, 2 and 3 in the next. How many instructions a loop has is said
// for each group.

// ZERO_D4 clears four lanes.
#define ZERO_D4(d) EOR_D4(d, d, d)

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

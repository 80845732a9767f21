//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// GATHER moves the next two fields of four groups to their lanes.
#define GATHER \
	FMOVQ.P 16(R1), F0          \
	FMOVQ.P 16(R2), F1          \
	FMOVQ.P 16(R3), F2          \
	FMOVQ.P 16(R4), F3          \
	VZIP1 V1.D2, V0.D2, V4.D2   \
	VZIP1 V3.D2, V2.D2, V5.D2   \
	VZIP2 V1.D2, V0.D2, V6.D2   \
	VZIP2 V3.D2, V2.D2, V7.D2   \
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R0)

// gatherVector puts the sums of four groups in the lanes of q. 51 instructions in all.
//
// func gatherVector(q *Quad, groups *[4]GroupSums)
TEXT ·gatherVector(SB), NOSPLIT, $0-16
	MOVD q+0(FP), R0
	MOVD groups+8(FP), R1
	ADD $80, R1, R2
	ADD $160, R1, R3
	ADD $240, R1, R4
	GATHER
	GATHER
	GATHER
	GATHER
	GATHER
	RET

// ADD_SQUARE adds the squares of a number, times the weight in V30, to a sum.
#define ADD_SQUARE(number, sum) \
	FLDPQ number(R2), (F0, F1)  \
	FLDPQ sum(R0), (F2, F3)     \
	FMUL_D4(0, 0, 0)            \
	FMUL_ALL(30, 0, 0)          \
	FADD_D4(2, 0, 0)            \
	FSTPQ (F0, F1), sum(R0)

// TAKE_LARGER makes what is at to the larger one of both.
#define TAKE_LARGER(at, from, to) \
	FLDPQ at(from), (F0, F1)    \
	FLDPQ to(R0), (F2, F3)      \
	FMAXNM_D4(2, 0, 0)          \
	FSTPQ (F0, F1), to(R0)

// ADD_TOTAL adds two registers to a total.
#define ADD_TOTAL(m, a, b, to) \
	FLDPQ to(R1), (F2, F3)      \
	FADD_D4(2, m, m)            \
	FSTPQ (a, b), to(R1)

// foldVector adds four groups. 104 instructions in all.
//
// func foldVector(f *Fold, t *Totals, n *Numbers, q *Quad, weight float64)
TEXT ·foldVector(SB), NOSPLIT, $0-40
	MOVD f+0(FP), R0
	MOVD t+8(FP), R1
	MOVD n+16(FP), R2
	MOVD q+24(FP), R3
	FMOVD weight+32(FP), F30
	VDUP V30.D[0], V30.D2
	ADD_SQUARE(64, 0)           // RefRMS
	ADD_SQUARE(32, 32)          // RefStd
	ADD_SQUARE(96, 64)          // RMS
	ADD_SQUARE(160, 96)         // Rounding
	FLDPQ 128(R2), (F4, F5)     // Mean
	FLDPQ 128(R0), (F2, F3)
	FMUL_ALL(30, 4, 0)
	FADD_D4(2, 0, 0)
	FSTPQ (F0, F1), 128(R0)
	TAKE_LARGER(192, R2, 160)   // Relative
	TAKE_LARGER(224, R2, 192)   // Inverse
	TAKE_LARGER(256, R3, 224)   // MaxR
	TAKE_LARGER(224, R3, 256)   // MaxD
	FLDPQ 288(R3), (F0, F1)
	FLDPQ (R2), (F6, F7)
	FMUL_D4(6, 0, 0)
	ADD_TOTAL(0, F0, F1, 0)     // counts by means
	FLDPQ 96(R3), (F0, F1)
	FMUL_D4(0, 4, 4)
	ADD_TOTAL(0, F0, F1, 32)
	FLDPQ 160(R3), (F0, F1)
	ADD_TOTAL(0, F0, F1, 64)
	FLDPQ 128(R3), (F0, F1)
	ADD_TOTAL(0, F0, F1, 96)
	FLDPQ 288(R2), (F0, F1)
	ADD_TOTAL(0, F0, F1, 128)
	ADD_TOTAL(4, F4, F5, 160)
	RET

// mergeVector merges each of count sums with the group at its place, each of which has
// pairs. 37 instructions for one.
//
// func mergeVector(groups *GroupSums, places *int32, sums *GroupSums, count int)
TEXT ·mergeVector(SB), NOSPLIT, $0-32
	MOVD groups+0(FP), R0
	MOVD places+8(FP), R1
	MOVD sums+16(FP), R2
	MOVD count+24(FP), R3
mergeNext:
	MOVW.P 4(R1), R4
	ADD R4<<2, R4, R4
	ADD R4<<4, R0, R4           // a group has 80 bytes
	FLDPD (R2), (F0, F1)        // Shift, R
	FLDPD 16(R2), (F2, F3)      // RR, D
	FMOVD 72(R2), F4
	FLDPD (R4), (F5, F6)
	FMOVD 16(R4), F7
	FMOVD 72(R4), F8
	FSUBD F5, F0, F0            // how far the values that r is counted from are apart
	FMULD F0, F4, F5            // by the count
	FADDD F5, F1, F9
	FADDD F6, F9, F9
	FMOVD F9, 8(R4)
	FADDD F1, F1, F1
	FADDD F5, F1, F1
	FMULD F0, F1, F1
	FADDD F2, F1, F1
	FADDD F7, F1, F1
	FMOVD F1, 16(R4)
	FADDD F8, F4, F4
	FMOVQ 24(R2), F16
	FMOVQ 40(R2), F17
	FMOVQ 24(R4), F18
	FMOVQ 40(R4), F19
	FADD_D4(18, 16, 16)
	FMOVQ F16, 24(R4)
	FMOVQ F17, 40(R4)
	FMOVQ 56(R2), F16
	FMOVQ 56(R4), F18
	FMAXNM_D2(18, 16, 16)
	FMOVQ F16, 56(R4)
	FMOVD F4, 72(R4)
	ADD $80, R2
	SUBS $1, R3
	BNE mergeNext
	RET

//go:build !purego

#include "textflag.h"

// GATHER moves two fields of four groups to their lanes.
#define GATHER(at) \
	VMOVUPD at(SI), X0 \
	VINSERTF128 $1, (160+at)(SI), Y0, Y0 \
	VMOVUPD (80+at)(SI), X1 \
	VINSERTF128 $1, (240+at)(SI), Y1, Y1 \
	VUNPCKLPD Y1, Y0, Y2 \
	VUNPCKHPD Y1, Y0, Y3 \
	VMOVUPD Y2, (4*at)(DI) \
	VMOVUPD Y3, (4*at+32)(DI)

// gatherVector puts the sums of four groups in the lanes of q.
//
// func gatherVector(q *Quad, groups *[4]GroupSums)
TEXT ·gatherVector(SB), NOSPLIT, $0-16
	MOVQ q+0(FP), DI
	MOVQ groups+8(FP), SI
	GATHER(0)
	GATHER(16)
	GATHER(32)
	GATHER(48)
	GATHER(64)
	VZEROUPPER
	RET

// ADD_SQUARE adds the squares of a number, times the weight in Y15, to a sum.
#define ADD_SQUARE(number, sum) \
	VMOVUPD number(DX), Y0 \
	VMULPD Y0, Y0, Y0 \
	VMULPD Y15, Y0, Y0 \
	VADDPD sum(DI), Y0, Y0 \
	VMOVUPD Y0, sum(DI)

// TAKE_LARGER makes what is at to the larger one of both.
#define TAKE_LARGER(at, from, to) \
	VMOVUPD at(from), Y0 \
	VMAXPD to(DI), Y0, Y0 \
	VMOVUPD Y0, to(DI)

// ADD_TOTAL adds Y0 to a total.
#define ADD_TOTAL(to) \
	VADDPD to(BX), Y0, Y0 \
	VMOVUPD Y0, to(BX)

// foldVector adds four groups.
//
// func foldVector(f *Fold, t *Totals, n *Numbers, q *Quad, weight float64)
TEXT ·foldVector(SB), NOSPLIT, $0-40
	MOVQ f+0(FP), DI
	MOVQ t+8(FP), BX
	MOVQ n+16(FP), DX
	MOVQ q+24(FP), SI
	VBROADCASTSD weight+32(FP), Y15
	ADD_SQUARE(64, 0)           // RefRMS
	ADD_SQUARE(32, 32)          // RefStd
	ADD_SQUARE(96, 64)          // RMS
	ADD_SQUARE(160, 96)         // Rounding
	VMOVUPD 128(DX), Y1         // Mean
	VMULPD Y15, Y1, Y0
	VADDPD 128(DI), Y0, Y0
	VMOVUPD Y0, 128(DI)
	TAKE_LARGER(192, DX, 160)   // Relative
	TAKE_LARGER(224, DX, 192)   // Inverse
	TAKE_LARGER(256, SI, 224)   // MaxR
	TAKE_LARGER(224, SI, 256)   // MaxD
	VMOVUPD 288(SI), Y0
	VMULPD (DX), Y0, Y0
	ADD_TOTAL(0)                // counts by means
	VMOVUPD 96(SI), Y2
	VMULPD Y2, Y1, Y1
	VADDPD 32(BX), Y2, Y2
	VMOVUPD Y2, 32(BX)
	VMOVUPD 160(SI), Y0
	ADD_TOTAL(64)
	VMOVUPD 128(SI), Y0
	ADD_TOTAL(96)
	VMOVUPD 288(DX), Y0
	ADD_TOTAL(128)
	VADDPD 160(BX), Y1, Y1
	VMOVUPD Y1, 160(BX)
	VZEROUPPER
	RET

// mergeVector merges each of count sums with the group at its place, each of which has
// pairs.
//
// func mergeVector(groups *GroupSums, places *int32, sums *GroupSums, count int)
TEXT ·mergeVector(SB), NOSPLIT, $0-32
	MOVQ groups+0(FP), BX
	MOVQ places+8(FP), R8
	MOVQ sums+16(FP), SI
	MOVQ count+24(FP), CX
mergeNext:
	MOVLQSX (R8), DI
	LEAQ (DI)(DI*4), DI
	SHLQ $4, DI
	ADDQ BX, DI                 // a group has 80 bytes
	VMOVSD (SI), X0
	VSUBSD (DI), X0, X0         // how far the values that r is counted from are apart
	VMOVSD 8(SI), X1
	VMULSD 72(SI), X0, X2       // by the count
	VADDSD X2, X1, X3
	VADDSD 8(DI), X3, X3
	VMOVSD X3, 8(DI)
	VADDSD X1, X1, X1
	VADDSD X2, X1, X1
	VMULSD X0, X1, X1
	VADDSD 16(SI), X1, X1
	VADDSD 16(DI), X1, X1
	VMOVSD X1, 16(DI)
	VMOVUPD 24(SI), Y4
	VADDPD 24(DI), Y4, Y4
	VMOVUPD Y4, 24(DI)
	VMOVUPD 56(SI), X5
	VMAXPD 56(DI), X5, X5
	VMOVUPD X5, 56(DI)
	VMOVSD 72(SI), X6
	VADDSD 72(DI), X6, X6
	VMOVSD X6, 72(DI)
	ADDQ $4, R8
	ADDQ $80, SI
	DECQ CX
	JNE mergeNext
	VZEROUPPER
	RET

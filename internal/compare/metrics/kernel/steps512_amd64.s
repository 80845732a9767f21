//go:build !purego

#include "textflag.h"

// ADD_STEPS adds the squares of the steps from r in Y2 and d = n-r in Y3 to the next ones,
// those of four pairs further in Y4 and Y5, by a bit for each.
#define ADD_STEPS \
	VALIGNQ $1, Y2, Y4, Y6 \
	VALIGNQ $1, Y3, Y5, Y7 \
	KMOVB (R8), K1 \
	VSUBPD.Z Y2, Y6, K1, Y6 \
	VSUBPD.Z Y3, Y7, K1, Y7 \
	VMULPD Y6, Y6, Y6 \
	VMULPD Y7, Y7, Y7 \
	VADDPD Y7, Y0, Y0 \
	VADDPD Y6, Y1, Y1

// keptSteps512 adds the squares of the differences of count pairs, a multiple of four above
// 0, from the next ones. A byte of keep has the bits of four pairs.
//
// func keptSteps512(n, r *float64, keep *uint8, count int, out *[8]float64)
TEXT ·keptSteps512(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ keep+16(FP), R8
	MOVQ count+24(FP), CX
	MOVQ out+32(FP), DX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VMOVUPD (DI), Y2
	VMOVUPD (SI), Y3
	VSUBPD Y2, Y3, Y3
	MOVQ $4, AX
	JMP keptSteps512Check
	PCALIGN $64
keptSteps512Next:
	VMOVUPD (DI)(AX*8), Y4
	VMOVUPD (SI)(AX*8), Y5
	VSUBPD Y4, Y5, Y5
	ADD_STEPS
	VMOVAPD Y4, Y2
	VMOVAPD Y5, Y3
	INCQ R8
	ADDQ $4, AX
keptSteps512Check:
	CMPQ AX, CX
	JLT keptSteps512Next
	VBROADCASTSD (DI)(AX*8), Y4
	VBROADCASTSD (SI)(AX*8), Y5
	VSUBPD Y4, Y5, Y5
	ADD_STEPS
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VZEROUPPER
	RET

//go:build !purego

#include "textflag.h"

// stepsVector adds the squares of the differences of count pairs from the next ones.
//
// func stepsVector(n, r *float64, count int, out *[8]float64)
TEXT ·stepsVector(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ count+16(FP), CX
	MOVQ out+24(FP), DX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	XORQ AX, AX
	PCALIGN $64
stepsNext:
	VMOVUPD (DI)(AX*8), Y2
	VMOVUPD (SI)(AX*8), Y3
	VMOVUPD 8(DI)(AX*8), Y4
	VMOVUPD 8(SI)(AX*8), Y5
	VSUBPD Y2, Y3, Y3
	VSUBPD Y4, Y5, Y5
	VSUBPD Y2, Y4, Y4
	VSUBPD Y3, Y5, Y5
	VMULPD Y4, Y4, Y4
	VMULPD Y5, Y5, Y5
	VADDPD Y5, Y0, Y0
	VADDPD Y4, Y1, Y1
	ADDQ $4, AX
	CMPQ AX, CX
	JLT stepsNext
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VZEROUPPER
	RET

// keptStepsVector adds the squares of the differences of count pairs from the next ones, by
// the bits that keep has.
//
// func keptStepsVector(n, r *float64, keep *uint64, count int, out *[8]float64)
TEXT ·keptStepsVector(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ keep+16(FP), R8
	MOVQ count+24(FP), CX
	MOVQ out+32(FP), DX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	XORQ AX, AX
	PCALIGN $64
keptNext:
	VMOVUPD (DI)(AX*8), Y2
	VMOVUPD (SI)(AX*8), Y3
	VMOVUPD 8(DI)(AX*8), Y4
	VMOVUPD 8(SI)(AX*8), Y5
	VMOVUPD (R8)(AX*8), Y6
	VSUBPD Y2, Y3, Y3
	VSUBPD Y4, Y5, Y5
	VSUBPD Y2, Y4, Y4
	VSUBPD Y3, Y5, Y5
	VANDPD Y6, Y4, Y4
	VANDPD Y6, Y5, Y5
	VMULPD Y4, Y4, Y4
	VMULPD Y5, Y5, Y5
	VADDPD Y5, Y0, Y0
	VADDPD Y4, Y1, Y1
	ADDQ $4, AX
	CMPQ AX, CX
	JLT keptNext
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VZEROUPPER
	RET

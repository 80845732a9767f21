//go:build !purego

#include "textflag.h"

// Every function works on groups of four float64; count is a multiple of four and not
// 0. Lane k of a sum holds elements k, k+4, k+8 and so on.
// Loops start at cache lines, so that their speed does not depend on where the
// linker puts them.

// addPairsVector adds count values of a and b, a multiple of four above 0, to first and
// second, and to the lanes of out.
//
// func addPairsVector(first, second, a, b *float64, count int, out *[8]float64)
TEXT ·addPairsVector(SB), NOSPLIT, $0-48
	MOVQ first+0(FP), R8
	MOVQ second+8(FP), R9
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DI
	MOVQ count+32(FP), CX
	MOVQ out+40(FP), DX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	XORQ AX, AX
	PCALIGN $64
addPairsNext:
	VMOVUPD (SI)(AX*8), Y2
	VMOVUPD (DI)(AX*8), Y3
	VADDPD Y2, Y0, Y0
	VADDPD Y3, Y1, Y1
	VADDPD (R8)(AX*8), Y2, Y2
	VADDPD (R9)(AX*8), Y3, Y3
	VMOVUPD Y2, (R8)(AX*8)
	VMOVUPD Y3, (R9)(AX*8)
	ADDQ $4, AX
	CMPQ AX, CX
	JLT addPairsNext
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VZEROUPPER
	RET

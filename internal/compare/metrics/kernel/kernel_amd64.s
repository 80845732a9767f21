//go:build !purego

#include "textflag.h"

// Every function works on groups of four float64; count is a multiple of four and not
// 0. Lane k of a sum holds elements k, k+4, k+8 and so on.
// Loops start at cache lines, so that their speed does not depend on where the
// linker puts them.

DATA magnitudes<>+0(SB)/8, $0x7fffffffffffffff
GLOBL magnitudes<>(SB), RODATA|NOPTR, $8

// func subtractVector(n, r, d, abs *float64, count int, n0, r0, d0 float64, out *subtractLanes)
TEXT ·subtractVector(SB), NOSPLIT, $0-72
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ d+16(FP), R8
	MOVQ abs+24(FP), R9
	MOVQ count+32(FP), CX
	VBROADCASTSD n0+40(FP), Y12
	VBROADCASTSD r0+48(FP), Y13
	VBROADCASTSD d0+56(FP), Y14
	VBROADCASTSD magnitudes<>(SB), Y15
	MOVQ out+64(FP), DX
	VXORPD Y0, Y0, Y0           // n-n0
	VXORPD Y1, Y1, Y1           // r-r0
	VXORPD Y2, Y2, Y2           // the square of n-n0
	VXORPD Y3, Y3, Y3           // the square of r-r0
	VXORPD Y4, Y4, Y4           // their product
	VXORPD Y5, Y5, Y5           // d-d0
	VXORPD Y6, Y6, Y6           // its square
	VXORPD Y7, Y7, Y7           // |d|
	VXORPD Y8, Y8, Y8           // negative ones
	XORQ AX, AX
	PCALIGN $64
subtractNext:
	VMOVUPD (SI)(AX*8), Y9
	VSUBPD (DI)(AX*8), Y9, Y10
	VMOVUPD Y10, (R8)(AX*8)
	VANDPD Y15, Y10, Y11
	VMOVUPD Y11, (R9)(AX*8)
	VADDPD Y11, Y7, Y7
	VXORPD Y11, Y11, Y11
	VCMPPD $1, Y11, Y10, Y11
	VPSUBQ Y11, Y8, Y8
	VSUBPD Y14, Y10, Y10
	VADDPD Y10, Y5, Y5
	VMULPD Y10, Y10, Y10
	VADDPD Y10, Y6, Y6
	VMOVUPD (DI)(AX*8), Y10
	VSUBPD Y12, Y9, Y9
	VSUBPD Y13, Y10, Y10
	VADDPD Y9, Y0, Y0
	VADDPD Y10, Y1, Y1
	VMULPD Y9, Y10, Y11
	VADDPD Y11, Y4, Y4
	VMULPD Y9, Y9, Y9
	VADDPD Y9, Y2, Y2
	VMULPD Y10, Y10, Y10
	VADDPD Y10, Y3, Y3
	ADDQ $4, AX
	CMPQ AX, CX
	JLT subtractNext
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVUPD Y3, 96(DX)
	VMOVUPD Y4, 128(DX)
	VMOVUPD Y5, 160(DX)
	VMOVUPD Y6, 192(DX)
	VMOVUPD Y7, 224(DX)
	VMOVDQU Y8, 256(DX)
	VZEROUPPER
	RET

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

//go:build !purego

#include "textflag.h"

// Every function works on groups of four float64; count is a multiple of four and not
// 0. Lane k of a sum holds elements k, k+4, k+8 and so on.
// Loops start at cache lines, so that their speed does not depend on where the
// linker puts them.

DATA magnitudes<>+0(SB)/8, $0x7fffffffffffffff
GLOBL magnitudes<>(SB), RODATA|NOPTR, $8

// func sidesVector(n, r *float64, count int, n0, r0 float64, out *[20]float64)
TEXT ·sidesVector(SB), NOSPLIT, $0-48
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ count+16(FP), CX
	VBROADCASTSD n0+24(FP), Y13
	VBROADCASTSD r0+32(FP), Y14
	MOVQ out+40(FP), DX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	XORQ AX, AX
	JMP sidesCheck
	PCALIGN $64
sides:
	VMOVUPD (SI)(AX*8), Y5
	VMOVUPD (DI)(AX*8), Y6
	VSUBPD Y13, Y5, Y5
	VSUBPD Y14, Y6, Y6
	VADDPD Y5, Y0, Y0
	VADDPD Y6, Y1, Y1
	VMULPD Y5, Y5, Y7
	VMULPD Y6, Y6, Y8
	VMULPD Y5, Y6, Y9
	VADDPD Y7, Y2, Y2
	VADDPD Y8, Y3, Y3
	VADDPD Y9, Y4, Y4
	ADDQ $4, AX
sidesCheck:
	CMPQ AX, CX
	JLT sides
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVUPD Y3, 96(DX)
	VMOVUPD Y4, 128(DX)
	VZEROUPPER
	RET

// func differencesVector(n, r, d, abs *float64, count int, d0 float64, out *[12]float64, negative *[4]int64)
TEXT ·differencesVector(SB), NOSPLIT, $0-64
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ d+16(FP), R8
	MOVQ abs+24(FP), R9
	MOVQ count+32(FP), CX
	VBROADCASTSD d0+40(FP), Y13
	MOVQ out+48(FP), DX
	MOVQ negative+56(FP), R10
	VBROADCASTSD magnitudes<>(SB), Y14
	VXORPD Y12, Y12, Y12
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	XORQ AX, AX
	JMP differencesCheck
	PCALIGN $64
differences:
	VMOVUPD (SI)(AX*8), Y5
	VSUBPD (DI)(AX*8), Y5, Y5
	VMOVUPD Y5, (R8)(AX*8)
	VANDPD Y14, Y5, Y6
	VMOVUPD Y6, (R9)(AX*8)
	VCMPPD $1, Y12, Y5, Y7
	VPSUBQ Y7, Y3, Y3
	VSUBPD Y13, Y5, Y5
	VADDPD Y6, Y2, Y2
	VADDPD Y5, Y0, Y0
	VMULPD Y5, Y5, Y5
	VADDPD Y5, Y1, Y1
	ADDQ $4, AX
differencesCheck:
	CMPQ AX, CX
	JLT differences
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVDQU Y3, (R10)
	VZEROUPPER
	RET

// func smallVector(n, r *float64, count int, nNormal, rNormal float64, out *[20]int64)
TEXT ·smallVector(SB), NOSPLIT, $0-48
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ count+16(FP), CX
	VBROADCASTSD nNormal+24(FP), Y13
	VBROADCASTSD rNormal+32(FP), Y12
	MOVQ out+40(FP), DX
	VBROADCASTSD magnitudes<>(SB), Y14
	VXORPD Y11, Y11, Y11
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	XORQ AX, AX
	JMP smallCheck
	PCALIGN $64
small:
	VANDPD (SI)(AX*8), Y14, Y5
	VANDPD (DI)(AX*8), Y14, Y6
	VCMPPD $0, Y11, Y5, Y7
	VPSUBQ Y7, Y0, Y0
	VCMPPD $1, Y13, Y5, Y7
	VPSUBQ Y7, Y1, Y1
	VCMPPD $13, Y13, Y6, Y8
	VANDPD Y7, Y8, Y8
	VPSUBQ Y8, Y4, Y4
	VCMPPD $0, Y11, Y6, Y7
	VPSUBQ Y7, Y2, Y2
	VCMPPD $1, Y12, Y6, Y7
	VPSUBQ Y7, Y3, Y3
	ADDQ $4, AX
smallCheck:
	CMPQ AX, CX
	JLT small
	VMOVDQU Y0, (DX)
	VMOVDQU Y1, 32(DX)
	VMOVDQU Y2, 64(DX)
	VMOVDQU Y3, 96(DX)
	VMOVDQU Y4, 128(DX)
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

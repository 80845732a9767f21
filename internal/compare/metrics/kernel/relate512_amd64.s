//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "relatives512_amd64.h"

// relate512 sets abs and rel of count pairs, a multiple of eight above 0, makes and counts
// their marks as relatives512 does, and adds up both sides and the differences.
//
// func relate512(rel, abs, n, r *float64, count int, d0 float64, marks *uint64, absCounts, relCounts *uint32, out *relateLanes)
TEXT ·relate512(SB), NOSPLIT, $0-80
	MOVQ rel+0(FP), R9
	MOVQ abs+8(FP), BX
	MOVQ n+16(FP), SI
	MOVQ r+24(FP), DI
	MOVQ count+32(FP), CX
	MOVQ marks+48(FP), R8
	MOVQ absCounts+56(FP), R12
	MOVQ relCounts+64(FP), R13
	RATIOS_START
	VPXORQ Z17, Z17, Z17
	VPXORQ Z23, Z23, Z23        // n-n0
	VPXORQ Z24, Z24, Z24        // r-r0
	VPXORQ Z25, Z25, Z25        // their squares
	VPXORQ Z26, Z26, Z26
	VPXORQ Z27, Z27, Z27        // their product
	VPXORQ Z28, Z28, Z28        // d-d0
	VPXORQ Z29, Z29, Z29        // its square
	VPXORQ Z30, Z30, Z30        // |d|
	VPXORQ Z31, Z31, Z31        // how many d are below 0
	XORQ R14, R14
	XORQ AX, AX
	JMP relateLoad
	PCALIGN $64
relateNext:
	MARK(relateRow)
	CMPQ AX, $64
	JLT relateLoad
	COUNT_EIGHT
relateLoad:
	VMOVUPD (SI)(AX*8), Z10
	VMOVUPD (DI)(AX*8), Z11
	VSUBPD Z11, Z10, Z12
	VPANDQ.BCST MAGNITUDES, Z11, Z20
	VPANDQ.BCST MAGNITUDES, Z12, Z21
	VMOVUPD Z21, (BX)(AX*8)
	DIVIDE
	VCMPPD $1, Z17, Z12, K6
	VPADDQ Z18, Z31, K6, Z31
	VEXTRACTF64X4 $1, Z21, Y14
	VADDPD Y21, Y30, Y30
	VSUBPD.BCST d0+40(FP), Z12, Z12
	VEXTRACTF64X4 $1, Z12, Y13
	VADDPD Y14, Y30, Y30
	VADDPD Y12, Y28, Y28
	VMULPD Y12, Y12, Y12
	VADDPD Y13, Y28, Y28
	VMULPD Y13, Y13, Y13
	VADDPD Y12, Y29, Y29
	VADDPD Y13, Y29, Y29
	VMOVUPD 32(SI)(AX*8), Y13
	VMOVUPD 32(DI)(AX*8), Y14
	VSUBPD.BCST (SI), Y10, Y10
	VSUBPD.BCST (SI), Y13, Y13
	VSUBPD.BCST (DI), Y11, Y11
	VSUBPD.BCST (DI), Y14, Y14
	VADDPD Y10, Y23, Y23
	VADDPD Y11, Y24, Y24
	VMULPD Y10, Y10, Y12
	VMULPD Y11, Y10, Y10
	VMULPD Y11, Y11, Y11
	VADDPD Y12, Y25, Y25
	VADDPD Y10, Y27, Y27
	VADDPD Y11, Y26, Y26
	VADDPD Y13, Y23, Y23
	VADDPD Y14, Y24, Y24
	VMULPD Y13, Y13, Y12
	VMULPD Y14, Y13, Y13
	VMULPD Y14, Y14, Y14
	VADDPD Y12, Y25, Y25
	VADDPD Y13, Y27, Y27
	VADDPD Y14, Y26, Y26
	ADDQ $8, AX
	CMPQ AX, CX
	JLT relateNext
	MARK(relateLastRow)
relateCount:
	COUNT_EIGHT
	CMPQ R14, CX
	JLT relateCount
	MOVQ out+72(FP), DX
	RATIOS_END
	VMOVUPD Y23, 288(DX)
	VMOVUPD Y24, 320(DX)
	VMOVUPD Y25, 352(DX)
	VMOVUPD Y26, 384(DX)
	VMOVUPD Y27, 416(DX)
	VMOVUPD Y28, 448(DX)
	VMOVUPD Y29, 480(DX)
	VMOVUPD Y30, 512(DX)
	VEXTRACTI64X4 $1, Z31, Y13
	VPADDQ Y13, Y31, Y31
	VMOVDQU64 Y31, 544(DX)
	VZEROUPPER
	RET

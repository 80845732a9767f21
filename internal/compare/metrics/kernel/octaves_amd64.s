//go:build !purego

#include "textflag.h"

// octavesAVX2 adds pairs to the octaves of their references.
//
// func octavesAVX2(octaves *Octave, n, r *float64, count int, out *octaveLanes)
TEXT ·octavesAVX2(SB), NOSPLIT, $0-40
	MOVQ octaves+0(FP), BX
	MOVQ n+8(FP), SI
	MOVQ r+16(FP), DI
	MOVQ count+24(FP), CX
	MOVQ out+32(FP), DX
	VPCMPEQQ Y13, Y13, Y13      // -1
	VPSRLQ $53, Y13, Y14        // exponents
	VPSRLQ $54, Y13, Y15
	VPSLLQ $52, Y15, Y15        // 1
	VXORPD Y12, Y12, Y12
	VXORPD Y0, Y0, Y0           // d*r of positive r
	VXORPD Y1, Y1, Y1           // bits of n
	VMOVDQU 64(DX), Y2          // lowest exponent less 1
	VMOVDQU 96(DX), Y3          // highest exponent
	XORQ AX, AX
	PCALIGN $64
octavesNext:
	VMOVUPD (SI)(AX*8), Y8
	VMOVUPD (DI)(AX*8), Y9
	VPSRLQ $52, Y9, Y10
	VPSLLQ $7, Y10, Y11
	VMOVDQU Y11, 128(DX)        // places of the octaves
	VORPD Y8, Y1, Y1
	VSUBPD Y9, Y8, Y8           // d
	VPAND Y14, Y10, Y10
	VPMAXUD Y10, Y3, Y3
	VPADDQ Y13, Y10, Y10
	VPMINUD Y10, Y2, Y2
	VMULPD Y8, Y8, Y4           // dd
	VMULPD Y9, Y9, Y5           // rr
	VCMPPD $1, Y9, Y12, Y6
	VMULPD Y8, Y9, Y7
	VANDPD Y6, Y7, Y7
	VADDPD Y7, Y0, Y0
	VUNPCKLPD Y4, Y15, Y6
	VUNPCKHPD Y4, Y15, Y4
	VUNPCKLPD Y8, Y5, Y7
	VUNPCKHPD Y8, Y5, Y5
	VINSERTF128 $1, X7, Y6, Y8
	VINSERTF128 $1, X5, Y4, Y9
	VPERM2F128 $0x31, Y7, Y6, Y6
	VPERM2F128 $0x31, Y5, Y4, Y4
	MOVQ 128(DX), R8
	MOVQ 136(DX), R9
	MOVQ 144(DX), R10
	MOVQ 152(DX), R11
	VADDPD (BX)(R8*1), Y8, Y8
	VMOVUPD Y8, (BX)(R8*1)
	VADDPD 32(BX)(R9*1), Y9, Y9
	VMOVUPD Y9, 32(BX)(R9*1)
	VADDPD 64(BX)(R10*1), Y6, Y6
	VMOVUPD Y6, 64(BX)(R10*1)
	VADDPD 96(BX)(R11*1), Y4, Y4
	VMOVUPD Y4, 96(BX)(R11*1)
	ADDQ $4, AX
	CMPQ AX, CX
	JLT octavesNext
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVDQU Y2, 64(DX)
	VMOVDQU Y3, 96(DX)
	VZEROUPPER
	RET

// stepsAVX2 adds the squares of the differences of count pairs from the next ones.
//
// func stepsAVX2(n, r *float64, keep *uint64, count int, out *[8]float64)
TEXT ·stepsAVX2(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ keep+16(FP), R8
	MOVQ count+24(FP), CX
	MOVQ out+32(FP), DX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	XORQ AX, AX
	PCALIGN $64
stepsNext:
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
	JLT stepsNext
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VZEROUPPER
	RET

//go:build !purego

#include "textflag.h"

DATA magnitude16<>+0(SB)/4, $0x7fff7fff
GLOBL magnitude16<>(SB), RODATA|NOPTR, $4

DATA magnitude32<>+0(SB)/4, $0x7fffffff
GLOBL magnitude32<>(SB), RODATA|NOPTR, $4

DATA lowest16<>+0(SB)/4, $0x80008000
GLOBL lowest16<>(SB), RODATA|NOPTR, $4

// halvesVector adds up count float16, a multiple of 16, and bounds their codes in the
// order of their values.
//
// func halvesVector(src *byte, count int, out *halfLanes)
TEXT ·halvesVector(SB), NOSPLIT, $0-24
	MOVQ src+0(FP), SI
	MOVQ count+8(FP), CX
	MOVQ out+16(FP), DX
	VPBROADCASTD magnitude16<>(SB), Y15
	VPBROADCASTD lowest16<>(SB), Y1 // the highest
	VMOVDQA Y15, Y0                 // the lowest
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	LEAQ (SI)(CX*2), CX
	PCALIGN $64
halvesNext:
	VMOVDQU (SI), Y6
	VPSRAW $15, Y6, Y7
	VPAND Y15, Y7, Y7
	VPXOR Y6, Y7, Y7
	VPMINSW Y7, Y0, Y0
	VPMAXSW Y7, Y1, Y1
	VCVTPH2PS (SI), Y8
	VCVTPH2PS 16(SI), Y9
	VCVTPS2PD X8, Y10
	VCVTPS2PD X9, Y11
	VEXTRACTF128 $1, Y8, X8
	VEXTRACTF128 $1, Y9, X9
	VCVTPS2PD X8, Y8
	VCVTPS2PD X9, Y9
	VADDPD Y10, Y2, Y2
	VADDPD Y11, Y3, Y3
	VADDPD Y8, Y4, Y4
	VADDPD Y9, Y5, Y5
	ADDQ $32, SI
	CMPQ SI, CX
	JLT halvesNext
	VADDPD Y3, Y2, Y2
	VADDPD Y5, Y4, Y4
	VADDPD Y4, Y2, Y2
	VMOVDQU Y0, (DX)
	VMOVDQU Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VZEROUPPER
	RET

// floatsVector adds count float32, a multiple of 4, to four sums by turns, and bounds
// their codes in the order of their values.
//
// func floatsVector(src *byte, count int, out *floatLanes)
TEXT ·floatsVector(SB), NOSPLIT, $0-24
	MOVQ src+0(FP), SI
	MOVQ count+8(FP), CX
	MOVQ out+16(FP), DX
	VPBROADCASTD magnitude32<>(SB), X15
	VMOVDQU (DX), X0                // the lowest
	VMOVDQU 16(DX), X1              // the highest
	VMOVUPD 32(DX), Y2              // the sums
	VMOVUPD 64(DX), Y3              // what rounding took from them
	LEAQ (SI)(CX*4), CX
	PCALIGN $64
floatsNext:
	VMOVDQU (SI), X6
	VPSRAD $31, X6, X7
	VPAND X15, X7, X7
	VPXOR X6, X7, X7
	VPMINSD X7, X0, X0
	VPMAXSD X7, X1, X1
	VCVTPS2PD X6, Y6                // x
	VADDPD Y6, Y2, Y4               // sum
	VSUBPD Y2, Y4, Y5               // part = sum - value
	VSUBPD Y5, Y4, Y7
	VSUBPD Y7, Y2, Y7               // value - (sum - part)
	VSUBPD Y5, Y6, Y6               // x - part
	VADDPD Y6, Y7, Y7
	VADDPD Y7, Y3, Y3
	VMOVAPD Y4, Y2
	ADDQ $16, SI
	CMPQ SI, CX
	JLT floatsNext
	VMOVDQU X0, (DX)
	VMOVDQU X1, 16(DX)
	VMOVUPD Y2, 32(DX)
	VMOVUPD Y3, 64(DX)
	VZEROUPPER
	RET

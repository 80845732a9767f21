//go:build !purego

#include "textflag.h"

DATA flagMagnitude<>+0(SB)/8, $0x7fffffffffffffff
GLOBL flagMagnitude<>(SB), RODATA|NOPTR, $8

// The bytes of four flags by the bits of a number.
DATA flagBytes<>+0(SB)/4, $0x0
DATA flagBytes<>+4(SB)/4, $0xff
DATA flagBytes<>+8(SB)/4, $0xff00
DATA flagBytes<>+12(SB)/4, $0xffff
DATA flagBytes<>+16(SB)/4, $0xff0000
DATA flagBytes<>+20(SB)/4, $0xff00ff
DATA flagBytes<>+24(SB)/4, $0xffff00
DATA flagBytes<>+28(SB)/4, $0xffffff
DATA flagBytes<>+32(SB)/4, $0xff000000
DATA flagBytes<>+36(SB)/4, $0xff0000ff
DATA flagBytes<>+40(SB)/4, $0xff00ff00
DATA flagBytes<>+44(SB)/4, $0xff00ffff
DATA flagBytes<>+48(SB)/4, $0xffff0000
DATA flagBytes<>+52(SB)/4, $0xffff00ff
DATA flagBytes<>+56(SB)/4, $0xffffff00
DATA flagBytes<>+60(SB)/4, $0xffffffff
GLOBL flagBytes<>(SB), RODATA|NOPTR, $64

// func flaggedVector(values *float64, flags *uint8, count int, flag uint64, out *flagLanes)
TEXT ·flaggedVector(SB), NOSPLIT, $0-40
	MOVQ values+0(FP), DI
	MOVQ flags+8(FP), SI
	MOVQ count+16(FP), CX
	VPBROADCASTQ flag+24(FP), Y15
	MOVQ out+32(FP), DX
	VPXOR Y14, Y14, Y14
	VXORPD Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	XORQ AX, AX
	PCALIGN $64
flaggedNext:
	VPMOVZXBQ (SI)(AX*1), Y3
	VPAND Y15, Y3, Y3
	VPCMPEQQ Y14, Y3, Y3        // without the flag
	VMOVUPD (DI)(AX*8), Y4
	VANDNPD Y4, Y3, Y4
	VADDPD Y4, Y0, Y0
	VPCMPGTQ Y1, Y4, Y5
	VBLENDVPD Y5, Y4, Y1, Y1
	VPADDQ Y3, Y2, Y2
	ADDQ $4, AX
	CMPQ AX, CX
	JLT flaggedNext
	VMOVUPD Y0, (DX)
	VMOVDQU Y1, 32(DX)
	VMOVDQU Y2, 64(DX)
	VZEROUPPER
	RET

// func markVector(flags *uint8, abs, r *float64, count int, atol, rtol float64, flag uint64) (marked uint64)
TEXT ·markVector(SB), NOSPLIT, $0-64
	MOVQ flags+0(FP), DX
	MOVQ abs+8(FP), SI
	MOVQ r+16(FP), DI
	MOVQ count+24(FP), CX
	VBROADCASTSD atol+32(FP), Y13
	VBROADCASTSD rtol+40(FP), Y12
	MOVQ flag+48(FP), R8
	VBROADCASTSD flagMagnitude<>(SB), Y14
	LEAQ flagBytes<>(SB), R9
	XORQ R11, R11
	XORQ AX, AX
	PCALIGN $64
markNext:
	VANDPD (DI)(AX*8), Y14, Y1
	VMULPD Y12, Y1, Y1
	VADDPD Y13, Y1, Y1
	VMOVUPD (SI)(AX*8), Y2
	VCMPPD $14, Y1, Y2, Y2      // above
	VMOVMSKPD Y2, R10
	MOVL (R9)(R10*4), R10
	ANDL R8, R10
	ORL R10, (DX)(AX*1)
	ORL R10, R11
	ADDQ $4, AX
	CMPQ AX, CX
	JLT markNext
	MOVQ R11, marked+56(FP)
	VZEROUPPER
	RET

// func countVector(counts *int64, flags *uint8, count int, flag uint64) (not int64)
TEXT ·countVector(SB), NOSPLIT, $0-40
	MOVQ counts+0(FP), DI
	MOVQ flags+8(FP), SI
	MOVQ count+16(FP), CX
	VPBROADCASTQ flag+24(FP), Y15
	VPXOR Y14, Y14, Y14
	VPCMPEQQ Y13, Y13, Y13
	VPXOR Y0, Y0, Y0
	XORQ AX, AX
	PCALIGN $64
countNext:
	VPMOVZXBQ (SI)(AX*1), Y3
	VPAND Y15, Y3, Y3
	VPCMPEQQ Y14, Y3, Y3        // without the flag
	VPADDQ Y3, Y0, Y0
	VMOVDQU (DI)(AX*8), Y4
	VPSUBQ Y13, Y4, Y4
	VPADDQ Y3, Y4, Y4
	VMOVDQU Y4, (DI)(AX*8)
	ADDQ $4, AX
	CMPQ AX, CX
	JLT countNext
	VEXTRACTI128 $1, Y0, X1
	VPADDQ X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPADDQ X1, X0, X0
	VMOVQ X0, AX
	MOVQ AX, not+32(FP)
	VZEROUPPER
	RET

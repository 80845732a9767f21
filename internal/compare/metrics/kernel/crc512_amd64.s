//go:build !purego

#include "textflag.h"

// x^(2048+63) and x^(2048-1) modulo the polynomial of CRC-32C, the highest bit of a
// quadword that of x^0: what the halves of sixteen bytes are multiplied by to move them
// 256 bytes further, less the power that the product of two such numbers is off by.
DATA crcPowers<>+0(SB)/8, $0xe9a5d8be00000000
DATA crcPowers<>+8(SB)/8, $0x1426a81500000000
GLOBL crcPowers<>(SB), RODATA|NOPTR, $16

// FOLD moves a vector 256 bytes further, to what is there.
#define FOLD(z, at) \
	VPCLMULQDQ $0x00, Z10, z, Z4 \
	VPCLMULQDQ $0x11, Z10, z, z \
	VPTERNLOGQ $0x96, at(SI), Z4, z

// fold512 sets rest to 256 bytes that have the remainder of count times as many, of
// which there are at least 256, after a register of the CRC.
//
// func fold512(rest *[256]byte, src *byte, count int, register uint32)
TEXT ·fold512(SB), NOSPLIT, $0-28
	MOVQ rest+0(FP), DX
	MOVQ src+8(FP), SI
	MOVQ count+16(FP), CX
	MOVL register+24(FP), AX
	VBROADCASTI32X4 crcPowers<>(SB), Z10
	VMOVD AX, X9
	VPXORQ (SI), Z9, Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	JMP foldCheck
	PCALIGN $64
foldNext:
	FOLD(Z0, 0)
	FOLD(Z1, 64)
	FOLD(Z2, 128)
	FOLD(Z3, 192)
foldCheck:
	ADDQ $256, SI
	DECQ CX
	JNE foldNext
	VMOVDQU64 Z0, (DX)
	VMOVDQU64 Z1, 64(DX)
	VMOVDQU64 Z2, 128(DX)
	VMOVDQU64 Z3, 192(DX)
	VZEROUPPER
	RET

//go:build !purego

#include "textflag.h"

// The constants, as many of each as a vector has.
DATA pairMagnitude16<>+0(SB)/8, $0x7fff7fff7fff7fff
DATA pairMagnitude16<>+8(SB)/8, $0x7fff7fff7fff7fff
GLOBL pairMagnitude16<>(SB), RODATA|NOPTR, $16

DATA pairMagnitude32<>+0(SB)/8, $0x7fffffff7fffffff
DATA pairMagnitude32<>+8(SB)/8, $0x7fffffff7fffffff
DATA pairMagnitude32<>+16(SB)/8, $0x7fffffff7fffffff
DATA pairMagnitude32<>+24(SB)/8, $0x7fffffff7fffffff
GLOBL pairMagnitude32<>(SB), RODATA|NOPTR, $32

DATA pairOnes<>+0(SB)/8, $0x0001000100010001
DATA pairOnes<>+8(SB)/8, $0x0001000100010001
DATA pairOnes<>+16(SB)/8, $0x0001000100010001
DATA pairOnes<>+24(SB)/8, $0x0001000100010001
GLOBL pairOnes<>(SB), RODATA|NOPTR, $32

DATA pairMinus<>+0(SB)/8, $-1
DATA pairMinus<>+8(SB)/8, $-1
DATA pairMinus<>+16(SB)/8, $-1
DATA pairMinus<>+24(SB)/8, $-1
GLOBL pairMinus<>(SB), RODATA|NOPTR, $32

DATA pairLower<>+0(SB)/8, $0xffffffff
DATA pairLower<>+8(SB)/8, $0xffffffff
DATA pairLower<>+16(SB)/8, $0xffffffff
DATA pairLower<>+24(SB)/8, $0xffffffff
GLOBL pairLower<>(SB), RODATA|NOPTR, $32

// pairsVector decodes count pairs of float16 and float32, a multiple of eight, and
// bounds and codes them, and adds up the codes and their squares.
//
// func pairsVector(n, r *float64, nStored, rStored *byte, count int, out *pairLanes)
TEXT ·pairsVector(SB), NOSPLIT, $0-48
	MOVQ n+0(FP), R8
	MOVQ r+8(FP), R9
	MOVQ nStored+16(FP), SI
	MOVQ rStored+24(FP), DI
	MOVQ count+32(FP), CX
	MOVQ out+40(FP), DX
	VPXOR Y0, Y0, Y0            // squares of the codes, of n in the lower half
	VPXOR Y1, Y1, Y1            // sums of them
	VPXOR X2, X2, X2            // largest distance
	VPXOR Y3, Y3, Y3            // sums of distances
	VMOVDQU (DX), X4            // n: lowest, highest, least magnitude
	VMOVDQU 16(DX), X5
	VMOVDQU 32(DX), X6
	VMOVDQU 64(DX), Y7          // r
	VMOVDQU 96(DX), Y8
	VMOVDQU 128(DX), Y9
	VMOVDQU 256(DX), Y15        // least magnitude of r above 0, less 1: zero comes last
	XORQ AX, AX
	PCALIGN $64
pairsNext:
	VMOVDQU (SI)(AX*2), X10
	VCVTPH2PS X10, Y11
	VCVTPS2PD X11, Y12
	VEXTRACTF128 $1, Y11, X11
	VCVTPS2PD X11, Y14
	VMOVUPD Y12, (R8)(AX*8)
	VMOVUPD Y14, 32(R8)(AX*8)
	VMOVUPS (DI)(AX*4), Y11
	VCVTPS2PD (DI)(AX*4), Y12
	VCVTPS2PD 16(DI)(AX*4), Y14
	VMOVUPD Y12, (R9)(AX*8)
	VMOVUPD Y14, 32(R9)(AX*8)
	VCVTPS2PH $0, Y11, X13      // to nearest, ties to even
	VPSRAD $31, Y11, Y12
	VPAND pairMagnitude32<>(SB), Y11, Y11
	VPMINUD Y11, Y9, Y9
	VPADDD pairMinus<>(SB), Y11, Y14
	VPMINUD Y14, Y15, Y15
	VPXOR Y12, Y11, Y11
	VPMINSD Y11, Y7, Y7
	VPMAXSD Y11, Y8, Y8
	VPSRAW $15, X10, X11
	VPAND pairMagnitude16<>(SB), X10, X10
	VPMINUW X10, X6, X6
	VPXOR X11, X10, X10
	VPMINSW X10, X4, X4
	VPMAXSW X10, X5, X5
	VPSUBW X11, X10, X10        // codes of n
	VPSRAW $15, X13, X11
	VPAND pairMagnitude16<>(SB), X13, X13
	VPXOR X11, X13, X13
	VPSUBW X11, X13, X13        // codes of r
	VPMAXSW X10, X13, X11
	VPMINSW X10, X13, X12
	VPSUBW X12, X11, X11
	VPMAXUW X11, X2, X2
	VPMOVZXWD X11, Y11
	VPADDD Y11, Y3, Y3
	VINSERTI128 $1, X13, Y10, Y10
	VPMADDWD pairOnes<>(SB), Y10, Y11
	VPADDD Y11, Y1, Y1
	VPMADDWD Y10, Y10, Y10      // two squares, less than 2^31
	VPAND pairLower<>(SB), Y10, Y11
	VPADDQ Y11, Y0, Y0
	VPSRLQ $32, Y10, Y10
	VPADDQ Y10, Y0, Y0
	ADDQ $8, AX
	CMPQ AX, CX
	JLT pairsNext
	VMOVDQU X4, (DX)
	VMOVDQU X5, 16(DX)
	VMOVDQU X6, 32(DX)
	VMOVDQU X2, 48(DX)
	VMOVDQU Y7, 64(DX)
	VMOVDQU Y8, 96(DX)
	VMOVDQU Y9, 128(DX)
	VMOVDQU Y0, 160(DX)
	VMOVDQU Y1, 192(DX)
	VMOVDQU Y3, 224(DX)
	VMOVDQU Y15, 256(DX)
	VZEROUPPER
	RET

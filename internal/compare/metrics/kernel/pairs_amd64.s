//go:build !purego

#include "go_asm.h"
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

// FOLD sets a number of pairSums to what an operation makes of eight numbers.
#define FOLD(op, y, x, number) \
	VEXTRACTI128 $1, y, X10 \
	op X10, x, x \
	VPSHUFD $0x4e, x, X10 \
	op X10, x, x \
	VPSHUFD $0xb1, x, X10 \
	op X10, x, x \
	VMOVD x, number(DX)

// FOLD16 sets a number to the least of eight of 16 bits that have no sign.
#define FOLD16(x, number) \
	VPHMINPOSUW x, x \
	VPEXTRW $0, x, number(DX)

// pairsVector decodes count pairs of float16 and float32, a multiple of eight, and
// bounds and codes them, and adds up the codes and their squares.
//
// func pairsVector(n, r *float64, nStored, rStored *byte, count int, out *pairSums)
TEXT ·pairsVector(SB), NOSPLIT, $0-48
	MOVQ n+0(FP), R8
	MOVQ r+8(FP), R9
	MOVQ nStored+16(FP), SI
	MOVQ rStored+24(FP), DI
	MOVQ count+32(FP), CX
	MOVQ out+40(FP), DX
	VPXOR Y0, Y0, Y0            // squares of the codes, of n in the lower half, those in
	VPXOR Y14, Y14, Y14         // upper halves times 2^32, and those alone
	VPXOR Y1, Y1, Y1            // sums of them
	VPXOR X2, X2, X2            // largest distance
	VPXOR Y3, Y3, Y3            // sums of distances
	VPCMPEQD Y9, Y9, Y9         // r: least magnitude
	VMOVDQU Y9, Y15             // least magnitude above 0, less 1: zero comes last
	VPSRLD $1, Y9, Y7           // lowest, highest
	VPSLLD $31, Y9, Y8
	VMOVDQU X9, X6              // n
	VPSRLW $1, X9, X4
	VPSLLW $15, X9, X5
	XORQ AX, AX
	PCALIGN $64
pairsNext:
	VMOVDQU (SI)(AX*2), X10
	VCVTPH2PS X10, Y11
	VCVTPS2PD X11, Y12
	VEXTRACTF128 $1, Y11, X11
	VCVTPS2PD X11, Y13
	VMOVUPD Y12, (R8)(AX*8)
	VMOVUPD Y13, 32(R8)(AX*8)
	VMOVUPS (DI)(AX*4), Y11
	VCVTPS2PD (DI)(AX*4), Y12
	VCVTPS2PD 16(DI)(AX*4), Y13
	VMOVUPD Y12, (R9)(AX*8)
	VMOVUPD Y13, 32(R9)(AX*8)
	VCVTPS2PH $0, Y11, X13      // to nearest, ties to even
	VPAND pairMagnitude32<>(SB), Y11, Y12
	VPMINUD Y12, Y9, Y9
	VPSIGND Y11, Y12, Y11       // codes of r in float32
	VPADDD pairMinus<>(SB), Y12, Y12
	VPMINUD Y12, Y15, Y15
	VPMINSD Y11, Y7, Y7
	VPMAXSD Y11, Y8, Y8
	VPAND pairMagnitude16<>(SB), X10, X11
	VPMINUW X11, X6, X6
	VPSIGNW X10, X11, X10       // codes of n
	VPMINSW X10, X4, X4
	VPMAXSW X10, X5, X5
	VPAND pairMagnitude16<>(SB), X13, X11
	VPSIGNW X13, X11, X13       // codes of r in float16
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
	VPADDQ Y10, Y0, Y0
	VPSRLQ $32, Y10, Y10
	VPADDQ Y10, Y14, Y14
	ADDQ $8, AX
	CMPQ AX, CX
	JLT pairsNext
	VPSLLQ $32, Y14, Y10
	VPSUBQ Y10, Y0, Y0
	VPADDQ Y14, Y0, Y0
	VMOVDQU Y0, pairSums_squares(DX)
	VMOVDQU Y1, pairSums_codes(DX)
	FOLD(VPMINSD, Y7, X7, pairSums_rLow)
	FOLD(VPMAXSD, Y8, X8, pairSums_rHigh)
	FOLD(VPMINUD, Y9, X9, pairSums_rLeast)
	FOLD(VPMINUD, Y15, X15, pairSums_rNotZero)
	FOLD(VPADDD, Y3, X3, pairSums_sum)
	VPCMPEQD X10, X10, X10
	VPXOR X10, X2, X2           // the largest becomes the least
	VPSRLW $1, X10, X11
	VPXOR X11, X5, X5
	VPSLLW $15, X10, X11
	VPXOR X11, X4, X4           // signs come first
	FOLD16(X4, pairSums_nLow)
	FOLD16(X5, pairSums_nHigh)
	FOLD16(X6, pairSums_nLeast)
	FOLD16(X2, pairSums_apart)
	VZEROUPPER
	RET

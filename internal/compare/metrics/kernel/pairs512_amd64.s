//go:build !purego

#include "textflag.h"

// The constants; those of hashes are the ones of Hash.
DATA widePairs<>+0(SB)/8, $0x7fffffff7fffffff // magnitudes
DATA widePairs<>+8(SB)/8, $0x7fff7fff7fff7fff
DATA widePairs<>+16(SB)/8, $0x9e3779b99e3779b9 // the lower half of the key
DATA widePairs<>+24(SB)/8, $0x00000000b8659fd9
DATA widePairs<>+32(SB)/8, $0x6adc1de1e4f8812d // what the upper half of a code that is not negative gives
DATA widePairs<>+40(SB)/8, $0x0130c2f45f25feed // how much more that of others does
DATA widePairs<>+48(SB)/8, $0x0000000080000000
DATA widePairs<>+56(SB)/8, $0x8000000000000000
GLOBL widePairs<>(SB), RODATA|NOPTR, $64

// HASH_WIDE adds the hashes of sixteen codes to a sum. The upper half of a code has its
// sign only, so that there are two products of it.
#define HASH_WIDE(codes, sum) \
	VPMOVSXWD codes, Z11 \
	VPTESTMQ Z22, Z11, K1 \
	VPTESTMQ Z23, Z11, K2 \
	VPXORD Z18, Z11, Z11 \
	VPSRLQ $32, Z11, Z12 \
	VPMULUDQ Z19, Z11, Z11 \
	VPMULUDQ Z19, Z12, Z12 \
	VPADDQ Z20, Z11, Z11 \
	VPADDQ Z20, Z12, Z12 \
	VPADDQ Z21, Z11, K1, Z11 \
	VPADDQ Z21, Z12, K2, Z12 \
	VPSRLQ $29, Z11, Z14 \
	VPXORQ Z14, Z11, Z11 \
	VPADDQ Z11, sum, sum \
	VPSRLQ $29, Z12, Z14 \
	VPXORQ Z14, Z12, Z12 \
	VPADDQ Z12, sum, sum

// FOLD_WORDS stores what an operation makes of sixteen words.
#define FOLD_WORDS(op, y, x, to) \
	VEXTRACTI128 $1, y, X13 \
	op X13, x, x \
	VPSHUFD $0x4e, x, X13 \
	op X13, x, x \
	VPSHUFD $0xb1, x, X13 \
	op X13, x, x \
	VPSRLD $16, x, X13 \
	op X13, x, x \
	VPEXTRW $0, x, to(DX)

// FOLD_DOUBLES stores what an operation makes of sixteen doublewords.
#define FOLD_DOUBLES(op, z, y, x, to) \
	VEXTRACTI64X4 $1, z, Y13 \
	op Y13, y, y \
	VEXTRACTI128 $1, y, X13 \
	op X13, x, x \
	VPSHUFD $0x4e, x, X13 \
	op X13, x, x \
	VPSHUFD $0xb1, x, X13 \
	op X13, x, x \
	VMOVD x, to(DX)

// FOLD_SUM stores the sum of eight quadwords.
#define FOLD_SUM(z, y, x, to) \
	VEXTRACTI64X4 $1, z, Y13 \
	VPADDQ Y13, y, y \
	VEXTRACTI128 $1, y, X13 \
	VPADDQ X13, x, x \
	VPSHUFD $0x4e, x, X13 \
	VPADDQ X13, x, x \
	VMOVQ x, to(DX)

// pairs512 decodes count pairs of float16 and float32, a multiple of sixteen above 0,
// and bounds, codes and hashes them. Sixteen pairs are alike if all references round to
// the bits of the elements beside them, as they do where an operator is right: one hash
// is that of both sides then. It counts zeros of those.
//
// func pairs512(n, r *float64, nStored, rStored *byte, count int, out *pairTotals)
TEXT ·pairs512(SB), NOSPLIT, $0-48
	MOVQ n+0(FP), R8
	MOVQ r+8(FP), R9
	MOVQ nStored+16(FP), SI
	MOVQ rStored+24(FP), DI
	MOVQ count+32(FP), CX
	MOVQ out+40(FP), DX
	VPBROADCASTQ widePairs<>+0(SB), Z16
	VPBROADCASTQ widePairs<>+8(SB), Y15
	VPBROADCASTQ widePairs<>+16(SB), Z18
	VPBROADCASTQ widePairs<>+24(SB), Z19
	VPBROADCASTQ widePairs<>+32(SB), Z20
	VPBROADCASTQ widePairs<>+40(SB), Z21
	VPBROADCASTQ widePairs<>+48(SB), Z22
	VPBROADCASTQ widePairs<>+56(SB), Z23
	VPXORQ Z0, Z0, Z0           // hashes of n
	VPXORQ Z1, Z1, Z1           // of r
	VPXORQ Z24, Z24, Z24        // of pairs that are alike
	VPXOR Y2, Y2, Y2            // largest distance
	VPXORQ Z3, Z3, Z3           // sums of distances
	VMOVDQA Y15, Y4             // n: lowest, highest, least magnitude
	VPCMPEQD Y6, Y6, Y6
	VPXOR Y15, Y6, Y5
	VMOVDQA64 Z16, Z7           // r
	VPTERNLOGQ $0xff, Z9, Z9, Z9
	VPXORQ Z16, Z9, Z8
	VPTERNLOGQ $0xff, Z28, Z28, Z28 // r: least magnitude above 0
	VPSRLD $31, Z28, Z27        // 1
	VPSRLW $15, Y28, Y29
	VPSLLW $10, Y29, Y29        // the code of the least normal number
	XORL R10, R10               // zeros of n
	XORL R11, R11               // with those that are not normal
	XORL R12, R12               // zeros of r
	XORL R13, R13               // groups that are not alike
	XORQ AX, AX
	PCALIGN $64
pairs512Next:
	VMOVDQU (SI)(AX*2), Y10
	VMOVDQA64 Y10, Y25
	VMOVUPS (DI)(AX*4), Z17
	VCVTPH2PS Y10, Z11
	VCVTPS2PD Y11, Z12
	VEXTRACTF32X8 $1, Z11, Y11
	VCVTPS2PD Y11, Z14
	VMOVUPD Z12, (R8)(AX*8)
	VMOVUPD Z14, 64(R8)(AX*8)
	VCVTPS2PD (DI)(AX*4), Z12
	VCVTPS2PD 32(DI)(AX*4), Z14
	VMOVUPD Z12, (R9)(AX*8)
	VMOVUPD Z14, 64(R9)(AX*8)
	VCVTPS2PH $0, Z17, Y13      // to nearest, ties to even
	VPSRAD $31, Z17, Z12
	VPANDD Z16, Z17, Z26
	VPXORD Z12, Z26, Z17
	VPMINUD Z26, Z9, Z9
	VPSUBD Z27, Z26, Z12        // zeros come after all others
	VPMINUD Z12, Z28, Z28
	VPMINSD Z17, Z7, Z7
	VPMAXSD Z17, Z8, Z8
	VPSRAW $15, Y10, Y11
	VPAND Y15, Y10, Y14
	VPMINUW Y14, Y6, Y6
	VPXOR Y11, Y14, Y10
	VPMINSW Y10, Y4, Y4
	VPMAXSW Y10, Y5, Y5
	VPSUBW Y11, Y10, Y10        // codes of n
	VPXORQ Y25, Y13, Y11
	VPTEST Y11, Y11
	JNE pairs512Apart
	VPTESTNMW Y14, Y14, K3
	VPCMPUW $1, Y29, Y14, K4
	VPTESTNMD Z26, Z26, K5
	KMOVW K3, BX
	POPCNTL BX, BX
	ADDL BX, R10
	KMOVW K4, BX
	POPCNTL BX, BX
	ADDL BX, R11
	KMOVW K5, BX
	POPCNTL BX, BX
	ADDL BX, R12
	HASH_WIDE(Y10, Z24)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT pairs512Next
	JMP pairs512End
pairs512Apart:
	INCL R13
	VPSRAW $15, Y13, Y11
	VPAND Y15, Y13, Y13
	VPXOR Y11, Y13, Y13
	VPSUBW Y11, Y13, Y13        // codes of r
	VPMAXSW Y10, Y13, Y11
	VPMINSW Y10, Y13, Y12
	VPSUBW Y12, Y11, Y11
	VPMAXUW Y11, Y2, Y2
	VPMOVZXWD Y11, Z11
	VPADDD Z11, Z3, Z3
	HASH_WIDE(Y10, Z0)
	HASH_WIDE(Y13, Z1)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT pairs512Next
pairs512End:
	FOLD_WORDS(VPMINSW, Y4, X4, 0)
	FOLD_WORDS(VPMAXSW, Y5, X5, 2)
	FOLD_WORDS(VPMINUW, Y6, X6, 4)
	FOLD_WORDS(VPMAXUW, Y2, X2, 6)
	FOLD_DOUBLES(VPMINSD, Z7, Y7, X7, 8)
	FOLD_DOUBLES(VPMAXSD, Z8, Y8, X8, 12)
	FOLD_DOUBLES(VPMINUD, Z9, Y9, X9, 16)
	FOLD_DOUBLES(VPADDD, Z3, Y3, X3, 20)
	VPADDQ Z24, Z0, Z0
	VPADDQ Z24, Z1, Z1
	FOLD_SUM(Z0, Y0, X0, 24)
	FOLD_SUM(Z1, Y1, X1, 32)
	VEXTRACTI64X4 $1, Z28, Y1
	VMOVDQA64 Y28, Y0
	VPMINUD Y0, Y1, Y0
	VEXTRACTI128 $1, Y0, X1
	VPMINUD X1, X0, X0
	VPSHUFD $0x4e, X0, X1
	VPMINUD X1, X0, X0
	VPSHUFD $0xb1, X0, X1
	VPMINUD X1, X0, X0
	VMOVD X0, BX
	INCL BX
	MOVL BX, 40(DX)
	MOVL R10, 44(DX)
	MOVL R11, 48(DX)
	MOVL R12, 52(DX)
	MOVL R13, 56(DX)
	VZEROUPPER
	RET

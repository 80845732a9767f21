// What relatives512 and relate512 share: the constants, which are those of
// relatives_amd64.s, and what is made of |r| in Z20, |d| in Z21 and their quotient in
// Z22. Z0 to Z8 hold what ratioLanes does; Z9, Z18 and Z19 are constants.

#define MAGNITUDES relativesOnes<>+0(SB)
#define BEFORE_GROUPS relativesOnes<>+8(SB)
#define OTHERS relativesOnes<>+16(SB)
#define ROW relativesOnes<>+24(SB)
#define ABOVE_BIN relativesOnes<>+32(SB)
#define LOWER_HALF relativesOnes<>+40(SB)
#define THOUSANDTH relativesOnes<>+48(SB)
#define FIVE_THOUSANDTHS relativesOnes<>+56(SB)

DATA relativesOnes<>+0(SB)/8, $0x7fffffffffffffff // magnitudes
DATA relativesOnes<>+8(SB)/8, $0xc410000000000000 // an octave less firstGroup
DATA relativesOnes<>+16(SB)/8, $0x000000000006ffff // the row of others, with what is below it
DATA relativesOnes<>+24(SB)/8, $0x0000000000010000 // a row
DATA relativesOnes<>+32(SB)/8, $0xffffffffffff0000
DATA relativesOnes<>+40(SB)/8, $0x00000000ffffffff
DATA relativesOnes<>+48(SB)/8, $0x3f50624dd2f1a9fc // 1/1000
DATA relativesOnes<>+56(SB)/8, $0x3f747ae147ae147b // 5/1000
DATA relativesOnes<>+64(SB)/8, $0x0000000000000001
DATA relativesOnes<>+72(SB)/8, $0x0000fffcfffffffc // the bits of a mark that are not those of its lane
DATA relativesOnes<>+80(SB)/8, $0x0000000400060004 // what numbers of ratioLanes.lowest start from
GLOBL relativesOnes<>(SB), RODATA|NOPTR, $88

// The lane of a pair, in both halves of its mark.
DATA relativesLanes<>+0(SB)/8, $0
DATA relativesLanes<>+8(SB)/8, $0x100000001
DATA relativesLanes<>+16(SB)/8, $0x200000002
DATA relativesLanes<>+24(SB)/8, $0x300000003
DATA relativesLanes<>+32(SB)/8, $0
DATA relativesLanes<>+40(SB)/8, $0x100000001
DATA relativesLanes<>+48(SB)/8, $0x200000002
DATA relativesLanes<>+56(SB)/8, $0x300000003
GLOBL relativesLanes<>(SB), RODATA|NOPTR, $64

#define RATIOS_START \
	VPBROADCASTQ relativesOnes<>+64(SB), Z18 \
	VPBROADCASTQ relativesOnes<>+72(SB), Z19 \
	VPBROADCASTQ relativesOnes<>+80(SB), Z9 \
	VPXORQ Z0, Z0, Z0           \ // sum of |d|/|r|
	VPXORQ Z1, Z1, Z1           \ // sum of |r|
	VPXORQ Z2, Z2, Z2           \ // largest |d|/|r|
	VPXORQ Z3, Z3, Z3           \ // largest |d|
	VPXORQ Z4, Z4, Z4           \ // zeros
	VPXORQ Z5, Z5, Z5           \ // undefined
	VPBROADCASTQ THOUSANDTH, Z6 \
	VPBROADCASTQ FIVE_THOUSANDTHS, Z7 \
	XORQ R15, R15               \ // below 1/1000, and from bit 32 on below 5/1000
	VPTERNLOGQ $0xff, Z8, Z8, Z8  // lowest indexes

// DIVIDE sets Z22 to the quotients, 0 where |r| is, and rel too.
#define DIVIDE \
	VPTESTMQ Z20, Z20, K2 \
	VDIVPD.Z Z20, Z21, K2, Z22 \
	VMOVUPD Z22, (R9)(AX*8)

// MARK adds up and bounds the eight pairs before AX, and sets their marks: those of the
// last markRing pairs are kept. What concerns references of 0 is jumped over where there
// is none.
#define MARK(notZero) \
	VPTESTNMQ Z20, Z20, K1      \ // |r| is zero
	VEXTRACTF64X4 $1, Z22, Y13 \
	VEXTRACTF64X4 $1, Z20, Y14 \
	VADDPD Y22, Y0, Y0 \
	VADDPD Y20, Y1, Y1 \
	VADDPD Y13, Y0, Y0 \
	VADDPD Y14, Y1, Y1 \
	VMAXPD Z22, Z2, Z2 \
	VMAXPD Z21, Z3, Z3 \
	VPADDQ.BCST BEFORE_GROUPS, Z20, Z15 \
	VPSRLQ $40, Z15, Z15        \ // row of |r| from bit 16 on
	VPMINUQ.BCST OTHERS, Z15, Z15 \
	KORTESTB K1, K1 \
	JEQ notZero \
	VPTESTMQ Z21, Z21, K1, K3   \ // and |d| is not
	VPADDQ Z18, Z4, K1, Z4 \
	VPADDQ Z18, Z5, K3, Z5 \
	VPADDQ.BCST ROW, Z15, K1, Z15 \ // zeros are in the row after others
notZero: \
	VPSRLQ $47, Z21, Z16        \ // bin of |d| from bit 2 on
	VPTERNLOGQ.BCST $0xe4, ABOVE_BIN, Z16, Z15 \
	VPSRLQ $15, Z22, Z14        \ // bin of |d|/|r| from bit 34 on
	VPTERNLOGQ.BCST $0xe4, LOWER_HALF, Z14, Z15 \
	VPTERNLOGQ $0xea, relativesLanes<>(SB), Z19, Z15 \
	LEAQ -8(AX), R10 \
	ANDL $(const_markRing-1), R10 \
	VMOVDQU64 Z15, (R8)(R10*8) \
	VPSUBW Z9, Z15, Z15 \
	VPMINUW Z15, Z8, Z8 \
	VCMPPD $1, Z6, Z22, K4 \
	VCMPPD $1, Z7, Z22, K5 \
	KMOVB K4, R10 \
	KMOVB K5, R11 \
	POPCNTL R10, R10 \
	POPCNTL R11, R11 \
	SHLQ $32, R11 \
	ADDQ R10, R15 \
	ADDQ R11, R15

// COUNT counts a pair whose mark was made some iterations before, so that it need not
// wait for the vector units.
#define COUNT(offset) \
	MOVQ (offset)(DX), R10 \
	MOVL R10, R11 \
	SHRQ $32, R10 \
	INCL (R12)(R11*4) \
	INCL (R13)(R10*4)

// COUNT_EIGHT counts the pairs from R14 on.
#define COUNT_EIGHT \
	MOVL R14, DX \
	ANDL $(const_markRing-1), DX \
	LEAQ (R8)(DX*8), DX \
	COUNT(0) \
	COUNT(8) \
	COUNT(16) \
	COUNT(24) \
	COUNT(32) \
	COUNT(40) \
	COUNT(48) \
	COUNT(56) \
	ADDQ $8, R14

// RATIOS_END stores the lanes.
#define RATIOS_END \
	VEXTRACTF64X4 $1, Z2, Y13 \
	VMAXPD Y13, Y2, Y2 \
	VEXTRACTF64X4 $1, Z3, Y13 \
	VMAXPD Y13, Y3, Y3 \
	VEXTRACTI64X4 $1, Z4, Y13 \
	VPADDQ Y13, Y4, Y4 \
	VEXTRACTI64X4 $1, Z5, Y13 \
	VPADDQ Y13, Y5, Y5 \
	VMOVQ R15, X13 \
	VPMOVZXDQ X13, X6 \
	VPSRLDQ $8, X6, X7 \
	VMOVQ X6, X6 \
	VEXTRACTI64X4 $1, Z8, Y13 \
	VPMINUW Y13, Y8, Y8 \
	VMOVUPD Y0, (DX) \
	VMOVUPD Y1, 32(DX) \
	VMOVUPD Y2, 64(DX) \
	VMOVUPD Y3, 96(DX) \
	VMOVDQU Y4, 128(DX) \
	VMOVDQU Y5, 160(DX) \
	VMOVDQU Y6, 192(DX) \
	VMOVDQU Y7, 224(DX) \
	VMOVDQU Y8, 256(DX)

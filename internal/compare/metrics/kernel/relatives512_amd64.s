//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The constants are those of relatives_amd64.s.
DATA relativesOnes<>+0(SB)/8, $0x7fffffffffffffff // magnitudes
DATA relativesOnes<>+8(SB)/8, $0x0000000000000001
DATA relativesOnes<>+16(SB)/8, $0xc410000000000000 // an octave less firstGroup
DATA relativesOnes<>+24(SB)/8, $0x000000000006ffff // the row of others, with what is below it
DATA relativesOnes<>+32(SB)/8, $0x0000000000010000 // a row
DATA relativesOnes<>+40(SB)/8, $0xffffffffffff0000
DATA relativesOnes<>+48(SB)/8, $0x00000000ffffffff
DATA relativesOnes<>+56(SB)/8, $0x3f50624dd2f1a9fc // 1/1000
DATA relativesOnes<>+64(SB)/8, $0x3f747ae147ae147b // 5/1000
DATA relativesOnes<>+72(SB)/8, $0x0000fffcfffffffc // the bits of a mark that are not those of its lane
DATA relativesOnes<>+80(SB)/8, $0x0000000400060004 // what numbers of ratioLanes.lowest start from
GLOBL relativesOnes<>(SB), RODATA|NOPTR, $88

// The lane of a pair, in both halves of its mark.
DATA relativesLanes<>+0(SB)/8, $0
DATA relativesLanes<>+8(SB)/8, $0x100000001
DATA relativesLanes<>+16(SB)/8, $0x200000002
DATA relativesLanes<>+24(SB)/8, $0x300000003
GLOBL relativesLanes<>(SB), RODATA|NOPTR, $32

// DIVIDE sets Z10 to |r|, Z11 to |d| and Z12 to their quotient, 0 where |r| is.
#define DIVIDE \
	VPANDQ (DI)(AX*8), Z23, Z10 \
	VMOVUPD (SI)(AX*8), Z11 \
	VPTESTMQ Z10, Z10, K2 \
	VDIVPD.Z Z10, Z11, K2, Z12 \
	VMOVUPD Z12, (R9)(AX*8)

// MARK adds up and bounds what DIVIDE has made, and sets the marks of the pairs, which
// are the eight before AX.
#define MARK \
	VPTESTNMQ Z20, Z20, K1      \ // |r| is zero
	VPTESTMQ Z21, Z21, K1, K3   \ // and |d| is not
	VPADDQ Z24, Z4, K1, Z4 \
	VPADDQ Z24, Z5, K3, Z5 \
	VEXTRACTF64X4 $1, Z22, Y13 \
	VEXTRACTF64X4 $1, Z20, Y14 \
	VADDPD Y22, Y0, Y0 \
	VADDPD Y20, Y1, Y1 \
	VADDPD Y13, Y0, Y0 \
	VADDPD Y14, Y1, Y1 \
	VMAXPD Z22, Z2, Z2 \
	VMAXPD Z21, Z3, Z3 \
	VPADDQ Z25, Z20, Z15 \
	VPSRLQ $40, Z15, Z15        \ // row of |r| from bit 16 on
	VPMINUD Z26, Z15, Z15 \
	VPADDQ Z27, Z15, K1, Z15    \ // zeros are in the row after others
	VPSRLQ $47, Z21, Z16        \ // bin of |d| from bit 2 on
	VPTERNLOGQ $0xe4, Z28, Z16, Z15 \
	VPSRLQ $15, Z22, Z17        \ // bin of |d|/|r| from bit 34 on
	VPTERNLOGQ $0xe4, Z29, Z17, Z15 \
	VPTERNLOGQ $0xea, Z18, Z19, Z15 \
	VMOVDQU64 Z15, -64(R8)(AX*8) \
	VPSUBW Z9, Z15, Z15 \
	VPMINUW Z15, Z8, Z8 \
	VCMPPD $1, Z30, Z22, K4 \
	VPADDQ Z24, Z6, K4, Z6 \
	VCMPPD $1, Z31, Z22, K5 \
	VPADDQ Z24, Z7, K5, Z7

// COUNT counts a pair whose mark was made some iterations before, so that it need not
// wait for the vector units.
#define COUNT(offset) \
	MOVL (offset)(R14), R10 \
	MOVL (offset+4)(R14), R11 \
	INCL (R12)(R10*4) \
	INCL (R13)(R11*4)

#define COUNT_EIGHT \
	COUNT(0) \
	COUNT(8) \
	COUNT(16) \
	COUNT(24) \
	COUNT(32) \
	COUNT(40) \
	COUNT(48) \
	COUNT(56) \
	ADDQ $64, R14

// relatives512 divides, adds up and bounds count pairs, a multiple of eight above 0, and
// makes their marks, while it counts those whose marks are made. A group of eight is
// divided while the one before it is marked: no instruction waits for a quotient in the
// queues of the processor, which would keep the others from being counted.
//
// func relatives512(rel, abs, r *float64, count int, marks *uint64, absCounts, relCounts *uint32, out *ratioLanes)
TEXT ·relatives512(SB), NOSPLIT, $0-64
	MOVQ rel+0(FP), R9
	MOVQ abs+8(FP), SI
	MOVQ r+16(FP), DI
	MOVQ count+24(FP), CX
	MOVQ marks+32(FP), R8
	MOVQ absCounts+40(FP), R12
	MOVQ relCounts+48(FP), R13
	MOVQ out+56(FP), DX
	VPBROADCASTQ relativesOnes<>+0(SB), Z23
	VPBROADCASTQ relativesOnes<>+8(SB), Z24
	VPBROADCASTQ relativesOnes<>+16(SB), Z25
	VPBROADCASTQ relativesOnes<>+24(SB), Z26
	VPBROADCASTQ relativesOnes<>+32(SB), Z27
	VPBROADCASTQ relativesOnes<>+40(SB), Z28
	VPBROADCASTQ relativesOnes<>+48(SB), Z29
	VPBROADCASTQ relativesOnes<>+56(SB), Z30
	VPBROADCASTQ relativesOnes<>+64(SB), Z31
	VPBROADCASTQ relativesOnes<>+72(SB), Z19
	VPBROADCASTQ relativesOnes<>+80(SB), Z9
	VBROADCASTI64X4 relativesLanes<>(SB), Z18
	VPXORQ Z0, Z0, Z0           // sum of |d|/|r|
	VPXORQ Z1, Z1, Z1           // sum of |r|
	VPXORQ Z2, Z2, Z2           // largest |d|/|r|
	VPXORQ Z3, Z3, Z3           // largest |d|
	VPXORQ Z4, Z4, Z4           // zeros
	VPXORQ Z5, Z5, Z5           // undefined
	VPXORQ Z6, Z6, Z6           // below 1/1000
	VPXORQ Z7, Z7, Z7           // below 5/1000
	VPTERNLOGQ $0xff, Z8, Z8, Z8 // lowest indexes
	MOVQ R8, R14
	XORQ AX, AX
	DIVIDE
	JMP relatives512Check
	PCALIGN $64
relatives512Next:
	DIVIDE
	MARK
	CMPQ AX, $64
	JLT relatives512Check
	COUNT_EIGHT
relatives512Check:
	VMOVAPD Z10, Z20
	VMOVAPD Z11, Z21
	VMOVAPD Z12, Z22
	ADDQ $8, AX
	CMPQ AX, CX
	JLT relatives512Next
	MARK
	LEAQ (R8)(CX*8), R8
relatives512Count:
	COUNT_EIGHT
	CMPQ R14, R8
	JLT relatives512Count
	VEXTRACTF64X4 $1, Z2, Y13
	VMAXPD Y13, Y2, Y2
	VEXTRACTF64X4 $1, Z3, Y13
	VMAXPD Y13, Y3, Y3
	VEXTRACTI64X4 $1, Z4, Y13
	VPADDQ Y13, Y4, Y4
	VEXTRACTI64X4 $1, Z5, Y13
	VPADDQ Y13, Y5, Y5
	VEXTRACTI64X4 $1, Z6, Y13
	VPADDQ Y13, Y6, Y6
	VEXTRACTI64X4 $1, Z7, Y13
	VPADDQ Y13, Y7, Y7
	VEXTRACTI64X4 $1, Z8, Y13
	VPMINUW Y13, Y8, Y8
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVUPD Y3, 96(DX)
	VMOVDQU Y4, 128(DX)
	VMOVDQU Y5, 160(DX)
	VMOVDQU Y6, 192(DX)
	VMOVDQU Y7, 224(DX)
	VMOVDQU Y8, 256(DX)
	VZEROUPPER
	RET

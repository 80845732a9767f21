//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The constants, four of each; those of marks are the ones of marks.go.
DATA magnitude4<>+0(SB)/8, $0x7fffffffffffffff
DATA magnitude4<>+8(SB)/8, $0x7fffffffffffffff
DATA magnitude4<>+16(SB)/8, $0x7fffffffffffffff
DATA magnitude4<>+24(SB)/8, $0x7fffffffffffffff
GLOBL magnitude4<>(SB), RODATA|NOPTR, $32

DATA thousandth4<>+0(SB)/8, $0x3f50624dd2f1a9fc
DATA thousandth4<>+8(SB)/8, $0x3f50624dd2f1a9fc
DATA thousandth4<>+16(SB)/8, $0x3f50624dd2f1a9fc
DATA thousandth4<>+24(SB)/8, $0x3f50624dd2f1a9fc
GLOBL thousandth4<>(SB), RODATA|NOPTR, $32

DATA fiveThousandths4<>+0(SB)/8, $0x3f747ae147ae147b
DATA fiveThousandths4<>+8(SB)/8, $0x3f747ae147ae147b
DATA fiveThousandths4<>+16(SB)/8, $0x3f747ae147ae147b
DATA fiveThousandths4<>+24(SB)/8, $0x3f747ae147ae147b
GLOBL fiveThousandths4<>(SB), RODATA|NOPTR, $32

DATA octave4<>+0(SB)/8, $0x0010000000000000
DATA octave4<>+8(SB)/8, $0x0010000000000000
DATA octave4<>+16(SB)/8, $0x0010000000000000
DATA octave4<>+24(SB)/8, $0x0010000000000000
GLOBL octave4<>(SB), RODATA|NOPTR, $32

DATA firstGroup4<>+0(SB)/8, $60
DATA firstGroup4<>+8(SB)/8, $60
DATA firstGroup4<>+16(SB)/8, $60
DATA firstGroup4<>+24(SB)/8, $60
GLOBL firstGroup4<>(SB), RODATA|NOPTR, $32

DATA lastRow4<>+0(SB)/8, $6
DATA lastRow4<>+8(SB)/8, $6
DATA lastRow4<>+16(SB)/8, $6
DATA lastRow4<>+24(SB)/8, $6
GLOBL lastRow4<>(SB), RODATA|NOPTR, $32

DATA one4<>+0(SB)/8, $1
DATA one4<>+8(SB)/8, $1
DATA one4<>+16(SB)/8, $1
DATA one4<>+24(SB)/8, $1
GLOBL one4<>(SB), RODATA|NOPTR, $32

// The indexes that there are, and the first ones beyond slot 0.
DATA indexes4<>+0(SB)/8, $0x0000ffff0007ffff
DATA indexes4<>+8(SB)/8, $0x0000ffff0007ffff
DATA indexes4<>+16(SB)/8, $0x0000ffff0007ffff
DATA indexes4<>+24(SB)/8, $0x0000ffff0007ffff
GLOBL indexes4<>(SB), RODATA|NOPTR, $32

DATA firstIndexes4<>+0(SB)/8, $0x0000000400000020
DATA firstIndexes4<>+8(SB)/8, $0x0000000400000020
DATA firstIndexes4<>+16(SB)/8, $0x0000000400000020
DATA firstIndexes4<>+24(SB)/8, $0x0000000400000020
GLOBL firstIndexes4<>(SB), RODATA|NOPTR, $32

// The lane of a pair, in both halves of its mark.
DATA ways<>+0(SB)/8, $0
DATA ways<>+8(SB)/8, $0x100000001
DATA ways<>+16(SB)/8, $0x200000002
DATA ways<>+24(SB)/8, $0x300000003
GLOBL ways<>(SB), RODATA|NOPTR, $32

// COUNT counts a pair whose mark was made countLag pairs before, so that it need
// not wait for the vector units. What is at an offset of 8 is the next pair.
#define COUNT(offset) \
	MOVQ (offset-8*const_countLag)(R8)(AX*8), R11 \
	MOVL R11, R10 \
	SHRQ $32, R11 \
	INCL (R12)(R10*4) \
	INCL (R13)(R11*4)

// relativesAVX2 divides, adds up and bounds, and makes the marks of pairs, all in
// the vector units, while the others count the pairs, all but the last countLag.
//
// func relativesAVX2(rel, abs, r *float64, count int, marks *uint64, absCounts, relCounts *uint32, out *ratioLanes)
TEXT ·relativesAVX2(SB), NOSPLIT, $0-64
	MOVQ rel+0(FP), R9
	MOVQ abs+8(FP), SI
	MOVQ r+16(FP), DI
	MOVQ count+24(FP), CX
	MOVQ marks+32(FP), R8
	MOVQ absCounts+40(FP), R12
	MOVQ relCounts+48(FP), R13
	MOVQ out+56(FP), DX
	VXORPD Y15, Y15, Y15
	VXORPD Y0, Y0, Y0           // sum of |d|/|r|
	VXORPD Y1, Y1, Y1           // sum of |r|
	VXORPD Y2, Y2, Y2           // largest |d|/|r|
	VXORPD Y3, Y3, Y3           // largest |d|
	VXORPD Y4, Y4, Y4           // zeros
	VXORPD Y5, Y5, Y5           // undefined
	VXORPD Y6, Y6, Y6           // below 1/1000
	VXORPD Y7, Y7, Y7           // below 5/1000
	VPCMPEQQ Y8, Y8, Y8         // lowest indexes
	VPXOR Y9, Y9, Y9            // highest rows
	XORQ AX, AX
	JMP relativesCheck
relatives:
	VMOVUPD (DI)(AX*8), Y10
	VANDPD magnitude4<>(SB), Y10, Y10
	VMOVUPD (SI)(AX*8), Y11
	VDIVPD Y10, Y11, Y12
	VPCMPEQQ Y15, Y10, Y13      // |r| is zero
	VPANDN Y12, Y13, Y12
	VMOVUPD Y12, (R9)(AX*8)
	VADDPD Y12, Y0, Y0
	VADDPD Y10, Y1, Y1
	VMAXPD Y12, Y2, Y2
	VMAXPD Y11, Y3, Y3
	VPSUBQ Y13, Y4, Y4
	VPCMPGTQ Y15, Y11, Y14
	VPAND Y13, Y14, Y14
	VPSUBQ Y14, Y5, Y5
	VPADDQ octave4<>(SB), Y10, Y10
	VPSRLQ $56, Y10, Y10        // group of |r|
	VPSUBD firstGroup4<>(SB), Y10, Y10
	VPMINUD lastRow4<>(SB), Y10, Y10
	VPADDD one4<>(SB), Y10, Y10
	VPANDN Y10, Y13, Y10        // row
	VPMAXUD Y10, Y9, Y9
	VPSLLQ $2, Y10, Y10
	VPOR ways<>(SB), Y10, Y10
	VPSRLQ $49, Y11, Y11        // slot of |d|
	VPSLLQ $5, Y11, Y11
	VPSRLQ $49, Y12, Y14        // slot of |d|/|r|
	VPSLLQ $34, Y14, Y14
	VPOR Y11, Y10, Y10
	VPOR Y14, Y10, Y10
	VPAND indexes4<>(SB), Y10, Y10
	VMOVDQU Y10, (R8)(AX*8)
	VPSUBD firstIndexes4<>(SB), Y10, Y10
	VPMINUD Y10, Y8, Y8
	VCMPPD $1, thousandth4<>(SB), Y12, Y13
	VPSUBQ Y13, Y6, Y6
	VCMPPD $1, fiveThousandths4<>(SB), Y12, Y13
	VPSUBQ Y13, Y7, Y7
	CMPQ AX, $const_countLag
	JLT relativesNext
	COUNT(0)
	COUNT(8)
	COUNT(16)
	COUNT(24)
relativesNext:
	ADDQ $4, AX
relativesCheck:
	CMPQ AX, CX
	JLT relatives
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVUPD Y3, 96(DX)
	VMOVDQU Y4, 128(DX)
	VMOVDQU Y5, 160(DX)
	VMOVDQU Y6, 192(DX)
	VMOVDQU Y7, 224(DX)
	VMOVDQU Y8, 256(DX)
	VMOVDQU Y9, 288(DX)
	VZEROUPPER
	RET

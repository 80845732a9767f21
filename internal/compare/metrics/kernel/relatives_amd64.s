//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// countLag is the number of pairs that have marks before they are counted.
#define countLag 16

// The constants, four of each; those of marks are the ones of marks.go.
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

// The bits of a mark that are not those of its lane.
DATA indexes4<>+0(SB)/8, $0x0000fffc0000fffc
DATA indexes4<>+8(SB)/8, $0x0000fffc0000fffc
DATA indexes4<>+16(SB)/8, $0x0000fffc0000fffc
DATA indexes4<>+24(SB)/8, $0x0000fffc0000fffc
GLOBL indexes4<>(SB), RODATA|NOPTR, $32

// What numbers of ratioLanes.lowest start from.
DATA lowest4<>+0(SB)/8, $0x0000000400000004
DATA lowest4<>+8(SB)/8, $0x0000000400000004
DATA lowest4<>+16(SB)/8, $0x0000000400000004
DATA lowest4<>+24(SB)/8, $0x0000000400000004
GLOBL lowest4<>(SB), RODATA|NOPTR, $32

// The lane of a pair, in both halves of its mark.
DATA lanes4<>+0(SB)/8, $0
DATA lanes4<>+8(SB)/8, $0x100000001
DATA lanes4<>+16(SB)/8, $0x200000002
DATA lanes4<>+24(SB)/8, $0x300000003
GLOBL lanes4<>(SB), RODATA|NOPTR, $32

// The four bytes of a mask of four bits.
DATA bytesOf<>+0(SB)/8, $0x000000ff00000000
DATA bytesOf<>+8(SB)/8, $0x0000ffff0000ff00
DATA bytesOf<>+16(SB)/8, $0x00ff00ff00ff0000
DATA bytesOf<>+24(SB)/8, $0x00ffffff00ffff00
DATA bytesOf<>+32(SB)/8, $0xff0000ffff000000
DATA bytesOf<>+40(SB)/8, $0xff00ffffff00ff00
DATA bytesOf<>+48(SB)/8, $0xffff00ffffff0000
DATA bytesOf<>+56(SB)/8, $0xffffffffffffff00
GLOBL bytesOf<>(SB), RODATA|NOPTR, $64

// COUNT counts |d| of a pair whose mark was made countLag pairs before, so that it need not
// wait for the vector units. What is at an offset of 8 is the next pair.
#define COUNT(offset) \
	MOVL (offset-8*countLag)(R8)(AX*8), R10 \
	INCL (R12)(R10*4)

// COUNT_QUOTIENT is COUNT of |d|/|r|.
#define COUNT_QUOTIENT(offset) \
	MOVL (offset+4-8*countLag)(R8)(AX*8), R11 \
	INCL (R13)(R11*4)

// relativesVector subtracts, divides, adds up and bounds, and makes the marks of pairs, all in
// the vector units, while the others count the pairs: their |d|/|r| only where relCounts is
// not nil.
//
// func relativesVector(rel, abs, n, s, r *float64, count int, marks *uint64, absCounts, relCounts *uint32, w *Wanted, out *ratioLanes)
TEXT ·relativesVector(SB), NOSPLIT, $192-88
	MOVQ rel+0(FP), R9
	MOVQ abs+8(FP), SI
	MOVQ n+16(FP), BX
	MOVQ s+24(FP), R14
	MOVQ r+32(FP), DI
	MOVQ count+40(FP), CX
	MOVQ marks+48(FP), R8
	MOVQ absCounts+56(FP), R12
	MOVQ relCounts+64(FP), R13
	MOVQ w+72(FP), R11
	MOVQ RelativeOptions_Flags(R11), DX
	LEAQ limits-160(SP), R15    // on the stack, where no line of the cache ends
	ANDQ $-32, R15
	VBROADCASTSD RelativeOptions_Atol(R11), Y9
	VMOVUPD Y9, (R15)
	VBROADCASTSD RelativeOptions_Rtol(R11), Y9
	VMOVUPD Y9, 32(R15)
	VBROADCASTSD RelativeOptions_FlagAtol(R11), Y9
	VMOVUPD Y9, 64(R15)
	VBROADCASTSD RelativeOptions_FlagRtol(R11), Y9
	VMOVUPD Y9, 96(R15)
	VXORPD Y9, Y9, Y9           // beyond the limits
	VXORPD Y15, Y15, Y15
	VMOVUPD Y15, 128(R15)       // sum of |d| with a flag
	VXORPD Y0, Y0, Y0           // sum of |d|/|r|
	VXORPD Y1, Y1, Y1           // sum of |r|
	VXORPD Y2, Y2, Y2           // largest |d|/|r|
	VXORPD Y3, Y3, Y3           // largest |d|
	VXORPD Y4, Y4, Y4           // zeros, below 1/1000, undefined, below 5/1000, 16 bits each
	VXORPD Y5, Y5, Y5           // sum of |d|
	VXORPD Y7, Y7, Y7           // negative d
	VPCMPEQQ Y8, Y8, Y8         // lowest indexes
	VPSRLQ $1, Y8, Y6           // magnitudes
	XORQ AX, AX
	JMP relativesCheck
	PCALIGN $64
relatives:
	VMOVUPD (BX)(AX*8), Y11
	VSUBPD (R14)(AX*8), Y11, Y11
	VANDPD (DI)(AX*8), Y6, Y10
	VCMPPD $1, Y15, Y11, Y13
	VPSUBQ Y13, Y7, Y7
	VANDPD Y6, Y11, Y11
	VMOVUPD Y11, (SI)(AX*8)
	VADDPD Y11, Y5, Y5
	VDIVPD Y10, Y11, Y12
	VMULPD 32(R15), Y10, Y14
	VADDPD (R15), Y14, Y14
	VCMPPD $6, Y14, Y11, Y14    // not at most the limit
	VORPD Y14, Y9, Y9
	TESTQ DX, DX
	JEQ relativesUnflagged
	VMULPD 96(R15), Y10, Y14
	VADDPD 64(R15), Y14, Y14
	VCMPPD $6, Y14, Y11, Y14
	VMOVMSKPD Y14, R10
	VANDPD Y11, Y14, Y14
	VADDPD 128(R15), Y14, Y14
	VMOVUPD Y14, 128(R15)
	LEAQ bytesOf<>(SB), R11
	MOVL (R11)(R10*4), R10
	MOVQ w+72(FP), R11
	ANDL RelativeOptions_each(R11), R10
	MOVL R10, (DX)(AX*1)
relativesUnflagged:
	VPCMPEQQ Y15, Y10, Y13      // |r| is zero
	VPANDN Y12, Y13, Y12
	VMOVUPD Y12, (R9)(AX*8)
	VADDPD Y12, Y0, Y0
	VADDPD Y10, Y1, Y1
	VMAXPD Y12, Y2, Y2
	VMAXPD Y11, Y3, Y3
	VPCMPGTQ Y15, Y11, Y14
	VPAND Y13, Y14, Y14
	VPBLENDD $0xaa, Y14, Y13, Y13 // zeros and undefined
	VPSRLQ $47, Y11, Y10        // bin of |d| from bit 2 on
	TESTQ R13, R13
	JEQ relativesMarked
	VPSRLQ $15, Y12, Y14        // bin of |d|/|r| from bit 34 on
	VPBLENDD $0xaa, Y14, Y10, Y10
relativesMarked:
	VPAND indexes4<>(SB), Y10, Y10
	VPOR lanes4<>(SB), Y10, Y10
	VMOVDQU Y10, (R8)(AX*8)
	VPSUBW lowest4<>(SB), Y10, Y10
	VPMINUW Y10, Y8, Y8
	VCMPPD $1, fiveThousandths4<>(SB), Y12, Y14
	VCMPPD $1, thousandth4<>(SB), Y12, Y12
	VPBLENDD $0xaa, Y14, Y12, Y12
	VPBLENDW $0xaa, Y12, Y13, Y13
	VPSUBW Y13, Y4, Y4
relativesCount:
	CMPQ AX, $countLag
	JLT relativesNext
	COUNT(0)
	COUNT(8)
	COUNT(16)
	COUNT(24)
	TESTQ R13, R13
	JEQ relativesNext
	COUNT_QUOTIENT(0)
	COUNT_QUOTIENT(8)
	COUNT_QUOTIENT(16)
	COUNT_QUOTIENT(24)
relativesNext:
	ADDQ $4, AX
relativesCheck:
	CMPQ AX, CX
	JLT relatives
	LEAQ countLag(CX), R14 // the last marks
	CMPQ AX, R14
	JLT relativesCount
	MOVQ out+80(FP), DX
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVUPD Y3, 96(DX)
	VMOVUPD Y5, 128(DX)
	VPSLLQ $48, Y4, Y10
	VPSRLQ $48, Y10, Y10
	VMOVDQU Y10, 160(DX)
	VPSLLQ $16, Y4, Y10
	VPSRLQ $48, Y10, Y10
	VMOVDQU Y10, 192(DX)
	VPSLLQ $32, Y4, Y10
	VPSRLQ $48, Y10, Y10
	VMOVDQU Y10, 224(DX)
	VPSRLQ $48, Y4, Y4
	VMOVDQU Y4, 256(DX)
	VMOVDQU Y7, 288(DX)
	VMOVDQU Y8, 320(DX)
	VMOVMSKPD Y9, AX
	MOVQ AX, 352(DX)
	VMOVUPD 128(R15), Y0
	VMOVUPD Y0, 360(DX)
	VZEROUPPER
	RET

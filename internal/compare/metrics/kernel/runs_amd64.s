//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// What keeps the first lanes of four: those from 4-k on keep k lanes.
DATA keepLanes<>+0(SB)/8, $-1
DATA keepLanes<>+8(SB)/8, $-1
DATA keepLanes<>+16(SB)/8, $-1
DATA keepLanes<>+24(SB)/8, $-1
DATA keepLanes<>+32(SB)/8, $0
DATA keepLanes<>+40(SB)/8, $0
DATA keepLanes<>+48(SB)/8, $0
DATA keepLanes<>+56(SB)/8, $0
GLOBL keepLanes<>(SB), RODATA|NOPTR, $64

// The constants, four of each.
DATA runMagnitude<>+0(SB)/8, $0x7fffffffffffffff
DATA runMagnitude<>+8(SB)/8, $0x7fffffffffffffff
DATA runMagnitude<>+16(SB)/8, $0x7fffffffffffffff
DATA runMagnitude<>+24(SB)/8, $0x7fffffffffffffff
GLOBL runMagnitude<>(SB), RODATA|NOPTR, $32

DATA runExponent<>+0(SB)/8, $0x7ff0000000000000
DATA runExponent<>+8(SB)/8, $0x7ff0000000000000
DATA runExponent<>+16(SB)/8, $0x7ff0000000000000
DATA runExponent<>+24(SB)/8, $0x7ff0000000000000
GLOBL runExponent<>(SB), RODATA|NOPTR, $32

DATA runOne<>+0(SB)/8, $0x3ff0000000000000
DATA runOne<>+8(SB)/8, $0x3ff0000000000000
DATA runOne<>+16(SB)/8, $0x3ff0000000000000
DATA runOne<>+24(SB)/8, $0x3ff0000000000000
GLOBL runOne<>(SB), RODATA|NOPTR, $32

// ADD_PRODUCTS adds n in Y10 and r in Y11 to the sums of d and d*r, which it leaves in Y10
// and Y12.
#define ADD_PRODUCTS \
	VORPD Y10, Y9, Y9 \
	VSUBPD Y11, Y10, Y10 \
	VADDPD Y10, Y2, Y2 \
	VMULPD Y10, Y11, Y12 \
	VADDPD Y12, Y4, Y4

// ADD_POSITIVE adds the products in Y12 that have a positive r.
#define ADD_POSITIVE \
	VXORPD Y13, Y13, Y13 \
	VBLENDVPD Y11, Y13, Y12, Y12 \
	VADDPD Y12, Y8, Y8

// ADD_PAIRS adds d in Y10 and r in Y11 to the other sums, but those of r alone, whose powers
// of two it leaves in Y14. dd is in Y12 then, rr in Y13.
#define ADD_PAIRS \
	VMULPD Y10, Y10, Y12 \
	VADDPD Y12, Y3, Y3 \
	VANDPD runMagnitude<>(SB), Y10, Y13 \
	VMAXPD Y13, Y6, Y6 \
	VANDPD runMagnitude<>(SB), Y11, Y13 \
	VMAXPD Y13, Y7, Y7 \
	VANDPD runExponent<>(SB), Y11, Y14 \
	VMAXPD 32(R15), Y14, Y14 \
	VMULPD Y11, Y11, Y13 \
	VSUBPD (R15), Y11, Y11

// ADD_REFERENCES adds r-Shift in Y11 and the powers in Y14.
#define ADD_REFERENCES \
	VMULPD Y14, Y14, Y14 \
	VADDPD Y14, Y5, Y5 \
	VADDPD Y11, Y0, Y0 \
	VMULPD Y11, Y11, Y11 \
	VADDPD Y11, Y1, Y1

// ADD_OCTAVES adds the numbers of pairs in Y14, dd, rr and d to the octaves.
#define ADD_OCTAVES \
	VUNPCKLPD Y12, Y14, Y15 \
	VUNPCKHPD Y12, Y14, Y14 \
	VUNPCKLPD Y10, Y13, Y11 \
	VUNPCKHPD Y10, Y13, Y13 \
	VINSERTF128 $1, X11, Y15, Y10 \
	VINSERTF128 $1, X13, Y14, Y12 \
	VPERM2F128 $0x31, Y11, Y15, Y15 \
	VPERM2F128 $0x31, Y13, Y14, Y14 \
	VADDPD (BX)(R8*8), Y10, Y10 \
	VMOVUPD Y10, (BX)(R8*8) \
	VADDPD 32(BX)(R9*8), Y12, Y12 \
	VMOVUPD Y12, 32(BX)(R9*8) \
	VADDPD 64(BX)(R10*8), Y15, Y15 \
	VMOVUPD Y15, 64(BX)(R10*8) \
	VADDPD 96(BX)(R11*8), Y14, Y14 \
	VMOVUPD Y14, 96(BX)(R11*8)

// groupsVector adds up the pairs of each of count runs, of which there is at least one,
// and adds them to the octaves of their references, unless octaves is nil. If columns is
// not nil it adds count pairs, each a stride after the one before, to each of four columns.
//
// func groupsVector(octaves *[octaveCount][4]Octave, n, r *float64, runs *int, count int, floor float64, out *GroupSums, signs *signLanes, columns *Quad, stride int)
TEXT ·groupsVector(SB), NOSPLIT, $128-80
	MOVQ octaves+0(FP), BX
	MOVQ n+8(FP), SI
	MOVQ r+16(FP), DI
	MOVQ runs+24(FP), R12
	MOVQ count+32(FP), R13
	VBROADCASTSD floor+40(FP), Y14
	MOVQ out+48(FP), DX
	LEAQ slots-96(SP), R15      // on the stack, where no line of the cache ends
	ANDQ $-32, R15
	VMOVUPD Y14, 32(R15)        // floor; Shift of a run is at 0, places at 64
	VXORPD Y8, Y8, Y8           // d*r of positive r
	VXORPD Y9, Y9, Y9           // bits of n
	MOVQ columns+64(FP), R11
	TESTQ R11, R11
	JNE columns
run:
	MOVQ (R12), CX
	VBROADCASTSD (DI), Y15
	VMOVUPD Y15, (R15)
	VMOVSD X15, (DX)
	VXORPD Y0, Y0, Y0           // r-Shift
	VXORPD Y1, Y1, Y1           // its square
	VXORPD Y2, Y2, Y2           // d
	VXORPD Y3, Y3, Y3           // its square
	VXORPD Y4, Y4, Y4           // d*r
	VXORPD Y5, Y5, Y5           // squares of powers
	VXORPD Y6, Y6, Y6           // largest |d|
	VXORPD Y7, Y7, Y7           // largest |r|
	XORQ AX, AX
	MOVQ CX, R14
	ANDQ $-4, R14
	JEQ runRest
	TESTQ BX, BX
	JNE runOctaves
	MOVQ $4, R10
	PCALIGN $32
next:
	VMOVUPD (SI)(AX*8), Y10
	VMOVUPD (DI)(AX*8), Y11
	ADD_PRODUCTS
	ADD_PAIRS
	ADD_REFERENCES
	ADDQ R10, AX
	CMPQ AX, R14
	JLT next
	TESTQ R11, R11
	JEQ runRest
	VMOVUPD Y0, Quad_R(R11)
	VMOVUPD Y1, Quad_RR(R11)
	VMOVUPD Y2, Quad_D(R11)
	VMOVUPD Y3, Quad_DD(R11)
	VMOVUPD Y4, Quad_DR(R11)
	VMOVUPD Y5, Quad_UU(R11)
	VMOVUPD Y6, Quad_MaxD(R11)
	VMOVUPD Y7, Quad_MaxR(R11)
	VZEROUPPER
	RET
columns:
	VMOVUPD Quad_Shift(R11), Y15
	VMOVUPD Y15, (R15)
	VMOVUPD Quad_R(R11), Y0
	VMOVUPD Quad_RR(R11), Y1
	VMOVUPD Quad_D(R11), Y2
	VMOVUPD Quad_DD(R11), Y3
	VMOVUPD Quad_DR(R11), Y4
	VMOVUPD Quad_UU(R11), Y5
	VMOVUPD Quad_MaxD(R11), Y6
	VMOVUPD Quad_MaxR(R11), Y7
	MOVQ stride+72(FP), R10
	MOVQ R13, R14
	IMULQ R10, R14
	XORQ AX, AX
	JMP next
	PCALIGN $32
runOctaves:
	VMOVUPD (SI)(AX*8), Y10
	VMOVUPD (DI)(AX*8), Y11
	ADD_PRODUCTS
	ADD_POSITIVE
	ADD_PAIRS
	ADD_REFERENCES
	MOVWLZX 6(DI)(AX*8), R8
	MOVWLZX 14(DI)(AX*8), R9
	MOVWLZX 22(DI)(AX*8), R10
	MOVWLZX 30(DI)(AX*8), R11
	ANDL $0xfff0, R8
	ANDL $0xfff0, R9
	ANDL $0xfff0, R10
	ANDL $0xfff0, R11
	VMOVUPD runOne<>(SB), Y14
	ADD_OCTAVES
	ADDQ $4, AX
	CMPQ AX, R14
	JLT runOctaves
runRest:
	SUBQ CX, R14                // what is left, below 0
	JEQ runSum
	LEAQ keepLanes<>+32(SB), R8
	VMOVUPD (R8)(R14*8), Y15
	VMASKMOVPD (SI)(AX*8), Y15, Y10
	VMASKMOVPD (DI)(AX*8), Y15, Y11
	VPSRLQ $52, Y11, Y12
	VPSLLQ $4, Y12, Y12
	VMOVDQU Y12, 64(R15)
	ADD_PRODUCTS
	ADD_POSITIVE
	ADD_PAIRS
	VANDPD Y15, Y11, Y11
	VANDPD Y15, Y14, Y14
	ADD_REFERENCES
	TESTQ BX, BX
	JEQ runSum
	MOVQ 64(R15), R8
	MOVQ 72(R15), R9
	MOVQ 80(R15), R10
	MOVQ 88(R15), R11
	VANDPD runOne<>(SB), Y15, Y14
	ADD_OCTAVES
runSum:
	VHADDPD Y1, Y0, Y0
	VHADDPD Y3, Y2, Y2
	VHADDPD Y5, Y4, Y4
	VEXTRACTF128 $1, Y0, X1
	VEXTRACTF128 $1, Y2, X3
	VEXTRACTF128 $1, Y4, X5
	VADDPD X1, X0, X0
	VADDPD X3, X2, X2
	VADDPD X5, X4, X4
	VUNPCKLPD Y7, Y6, Y10
	VUNPCKHPD Y7, Y6, Y6
	VMAXPD Y10, Y6, Y6          // of |d| and |r| in turn
	VEXTRACTF128 $1, Y6, X7
	VMAXPD X7, X6, X6
	VXORPD X10, X10, X10
	VCVTSI2SDQ CX, X10, X10
	VMOVUPD X0, 8(DX)
	VMOVUPD X2, 24(DX)
	VMOVUPD X4, 40(DX)
	VMOVUPD X6, 56(DX)
	VMOVSD X10, 72(DX)
	LEAQ (SI)(CX*8), SI
	LEAQ (DI)(CX*8), DI
	ADDQ $80, DX
	ADDQ $8, R12
	DECQ R13
	JNE run
	MOVQ signs+56(FP), DX
	VMOVUPD Y9, 32(DX)
	TESTQ BX, BX
	JEQ runEnd
	VMOVUPD Y8, (DX)
runEnd:
	VZEROUPPER
	RET

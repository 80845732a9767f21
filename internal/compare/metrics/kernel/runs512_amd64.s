//go:build !purego

#include "textflag.h"

// What keeps the first lanes of four: those from 4-k on keep k lanes.
DATA runLanes<>+0(SB)/8, $-1
DATA runLanes<>+8(SB)/8, $-1
DATA runLanes<>+16(SB)/8, $-1
DATA runLanes<>+24(SB)/8, $-1
DATA runLanes<>+32(SB)/8, $0
DATA runLanes<>+40(SB)/8, $0
DATA runLanes<>+48(SB)/8, $0
DATA runLanes<>+56(SB)/8, $0
GLOBL runLanes<>(SB), RODATA|NOPTR, $64

DATA runExponents<>+0(SB)/8, $0x7ff0000000000000
GLOBL runExponents<>(SB), RODATA|NOPTR, $8

DATA runOnes<>+0(SB)/8, $0x3ff0000000000000
GLOBL runOnes<>(SB), RODATA|NOPTR, $8

// ADD_PAIRS adds n in Y10 and r in Y11 to the sums, but those of r alone, whose powers
// of two it leaves in Y14. dd is in Y12 then, d in Y10, rr in Y13.
#define ADD_PAIRS \
	VORPD Y10, Y9, Y9 \
	VSUBPD Y11, Y10, Y10 \
	VADDPD Y10, Y2, Y2 \
	VMULPD Y10, Y11, Y12 \
	VADDPD Y12, Y4, Y4 \
	VXORPD Y13, Y13, Y13 \
	VBLENDVPD Y11, Y13, Y12, Y12 \
	VADDPD Y12, Y8, Y8 \
	VMULPD Y10, Y10, Y12 \
	VADDPD Y12, Y3, Y3 \
	VRANGEPD $11, Y10, Y6, Y6 \
	VRANGEPD $11, Y11, Y7, Y7 \
	VPANDQ Y16, Y11, Y14 \
	VMAXPD Y17, Y14, Y14 \
	VMULPD Y11, Y11, Y13 \
	VSUBPD Y18, Y11, Y11

// ADD_REFERENCES adds r-Shift in Y11 and the powers in Y14.
#define ADD_REFERENCES \
	VFMADD231PD Y14, Y14, Y5 \
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

// runs512 adds up the pairs of each of count runs, of which there is at least one,
// and adds them to the octaves of their references.
//
// func runs512(octaves *[octaveCount][4]Octave, n, r *float64, runs *int, count int, floor float64, out *GroupSums, signs *signLanes)
TEXT ·runs512(SB), NOSPLIT, $32-64
	MOVQ octaves+0(FP), BX
	MOVQ n+8(FP), SI
	MOVQ r+16(FP), DI
	MOVQ runs+24(FP), R12
	MOVQ count+32(FP), R13
	VBROADCASTSD floor+40(FP), Y14
	MOVQ out+48(FP), DX
	VMOVAPD Y14, Y17
	VPBROADCASTQ runExponents<>(SB), Y16
	VPBROADCASTQ runOnes<>(SB), Y19
	VXORPD Y8, Y8, Y8           // d*r of positive r
	VXORPD Y9, Y9, Y9           // bits of n
runs512:
	MOVQ (R12), CX
	VBROADCASTSD (DI), Y15
	VMOVAPD Y15, Y18
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
	JEQ runs512Rest
	PCALIGN $32
runs512Next:
	VMOVUPD (SI)(AX*8), Y10
	VMOVUPD (DI)(AX*8), Y11
	MOVWLZX 6(DI)(AX*8), R8
	MOVWLZX 14(DI)(AX*8), R9
	MOVWLZX 22(DI)(AX*8), R10
	MOVWLZX 30(DI)(AX*8), R11
	ANDL $0xfff0, R8
	ANDL $0xfff0, R9
	ANDL $0xfff0, R10
	ANDL $0xfff0, R11
	ADD_PAIRS
	ADD_REFERENCES
	VMOVAPD Y19, Y14
	ADD_OCTAVES
	ADDQ $4, AX
	CMPQ AX, R14
	JLT runs512Next
runs512Rest:
	SUBQ CX, R14                // what is left, below 0
	JEQ runs512Sum
	LEAQ runLanes<>+32(SB), R8
	VMOVUPD (R8)(R14*8), Y15
	VMASKMOVPD (SI)(AX*8), Y15, Y10
	VMASKMOVPD (DI)(AX*8), Y15, Y11
	VPSRLQ $52, Y11, Y12
	VPSLLQ $4, Y12, Y12
	VMOVDQU Y12, places-32(SP)
	MOVQ places-32(SP), R8
	MOVQ places-24(SP), R9
	MOVQ places-16(SP), R10
	MOVQ places-8(SP), R11
	ADD_PAIRS
	VANDPD Y15, Y11, Y11
	VANDPD Y15, Y14, Y14
	ADD_REFERENCES
	VPANDQ Y19, Y15, Y14
	ADD_OCTAVES
runs512Sum:
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
	JNE runs512
	MOVQ signs+56(FP), DX
	VMOVUPD Y8, (DX)
	VMOVUPD Y9, 32(DX)
	VZEROUPPER
	RET

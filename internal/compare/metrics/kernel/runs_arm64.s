//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// What keeps the first one, two or three lanes of four.
DATA keepLanes<>+0(SB)/8, $-1
DATA keepLanes<>+8(SB)/8, $0
DATA keepLanes<>+16(SB)/8, $0
DATA keepLanes<>+24(SB)/8, $0
DATA keepLanes<>+32(SB)/8, $-1
DATA keepLanes<>+40(SB)/8, $-1
DATA keepLanes<>+48(SB)/8, $0
DATA keepLanes<>+56(SB)/8, $0
DATA keepLanes<>+64(SB)/8, $-1
DATA keepLanes<>+72(SB)/8, $-1
DATA keepLanes<>+80(SB)/8, $-1
DATA keepLanes<>+88(SB)/8, $0
GLOBL keepLanes<>(SB), RODATA|NOPTR, $96

// ADD_PAIRS adds n in V24 and V25 and r in V26 and V27 to the sums, but those of r
// alone, whose powers of two it leaves in V30 and V31. d is in V24 and V25 then, its
// square in V28 and V29.
#define ADD_PAIRS \
	ORR_D2(24, 18, 18)          \
	ORR_D2(25, 18, 18)          \
	FSUB_D4(26, 24, 24)         \
	FADD_D4(24, 4, 4)           \
	FMUL_D4(24, 26, 28)         \
	CMLTZ_D4(26, 30)            \
	FADD_D4(28, 8, 8)           \
	BIC_D4(30, 28, 28)          \
	FABS_D4(24, 30)             \
	FADD_D4(28, 16, 16)         \
	FMAXNM_D4(30, 12, 12)       \
	FMUL_D4(24, 24, 28)         \
	FABS_D4(26, 30)             \
	FADD_D4(28, 6, 6)           \
	FMAXNM_D4(30, 14, 14)       \
	AND_ALL(21, 26, 30)         \
	FMAXNM_ALL(20, 30, 30)

// ADD_POWERS adds the powers of two, and leaves the squares of r in their registers and
// r-Shift in those of r.
#define ADD_POWERS \
	FMUL_D4(30, 30, 30)         \
	FADD_D4(30, 10, 10)         \
	FMUL_D4(26, 26, 30)         \
	FSUB_D4(22, 26, 26)

// ADD_REFERENCES adds r-Shift.
#define ADD_REFERENCES \
	FADD_D4(26, 0, 0)           \
	FMUL_D4(26, 26, 26)         \
	FADD_D4(26, 2, 2)

// ONES sets V23 to 1 for OCTAVE.
#define ONES \
	FMOVD $1.0, F23             \
	VDUP V23.D[0], V23.D2

// OCTAVE adds a pair to a lane of an octave at a register: 1 of V23, dd, rr and d.
#define OCTAVE(zip, lane, at, dd, rr, d) \
	FLDPQ lane(at), (F26, F27)  \
	zip(dd, 23, 19)             \
	FADD_D2(19, 26, 26)         \
	zip(d, rr, 19)              \
	FADD_D2(19, 27, 27)         \
	FSTPQ (F26, F27), lane(at)

// PLACE makes bits of r to where its octave is, which has 128 bytes.
#define PLACE(at) \
	LSR $52, at, at             \
	ADD at<<7, R0, at

// groupsVector adds up the pairs of each of count runs, of which there is at least one,
// and adds them to the octaves of their references, unless octaves is nil: 88 instructions
// for four pairs. If columns is not nil it adds count pairs, each a stride after the one
// before, to each of four columns.
//
// func groupsVector(octaves *[octaveCount][4]Octave, n, r *float64, runs *int, count int, floor float64, out *GroupSums, signs *signLanes, columns *Quad, stride int)
TEXT ·groupsVector(SB), NOSPLIT, $0-80
	MOVD octaves+0(FP), R0
	MOVD n+8(FP), R1
	MOVD r+16(FP), R2
	MOVD runs+24(FP), R3
	MOVD count+32(FP), R4
	FMOVD floor+40(FP), F20
	VDUP V20.D[0], V20.D2
	MOVD out+48(FP), R5
	MOVD $0x7ff0000000000000, R6
	VDUP R6, V21.D2             // bits of exponents
	EOR_D4(16, 16, 16)          // d*r of positive r
	EOR_D2(18, 18, 18)          // bits of n
	MOVD $32, R13               // from four pairs to the next ones
	MOVD columns+64(FP), R12
	CBNZ R12, columns
run:
	MOVD.P 8(R3), R6
	FMOVD (R2), F22
	FMOVD F22, (R5)
	VDUP V22.D[0], V22.D2       // Shift
	VMOV V22.B16, V23.B16
	EOR_D4(0, 0, 0)             // r-Shift
	EOR_D4(2, 2, 2)             // its square
	EOR_D4(4, 4, 4)             // d
	EOR_D4(6, 6, 6)             // its square
	EOR_D4(8, 8, 8)             // d*r
	EOR_D4(10, 10, 10)          // squares of powers
	EOR_D4(12, 12, 12)          // largest |d|
	EOR_D4(14, 14, 14)          // largest |r|
	SCVTFD R6, F24
	FMOVD F24, 72(R5)
	ANDS $-4, R6, R7
	BEQ runRest
	PCALIGN $16
next:
	LDP (R2), (R8, R9)
	LDP 16(R2), (R10, R11)
	VLD1.P (R1)(R13), [V24.D2, V25.D2]
	VLD1.P (R2)(R13), [V26.D2, V27.D2]
	ADD_PAIRS
	ADD_POWERS
	ADD_REFERENCES
	CBZ R0, added
	PLACE(R8)
	PLACE(R9)
	PLACE(R10)
	PLACE(R11)
	ONES
	OCTAVE(ZIP1_D2, 0, R8, 28, 30, 24)
	OCTAVE(ZIP2_D2, 32, R9, 28, 30, 24)
	OCTAVE(ZIP1_D2, 64, R10, 29, 31, 25)
	OCTAVE(ZIP2_D2, 96, R11, 29, 31, 25)
	VMOV V22.B16, V23.B16
added:
	SUBS $4, R7
	BNE next
	CBNZ R12, columnsEnd
runRest:
	ANDS $3, R6, R7
	BEQ runSum
	EOR_D4(24, 24, 24)
	EOR_D4(26, 26, 26)
	TBZ $1, R7, runOne
	FMOVQ.P 16(R1), F24
	FMOVQ.P 16(R2), F26
	TBZ $0, R7, runTail
	FMOVD.P 8(R1), F25
	FMOVD.P 8(R2), F27
	B runTail
runOne:
	FMOVD.P 8(R1), F24
	FMOVD.P 8(R2), F26
runTail:
	VMOV V26.D[0], R8
	VMOV V26.D[1], R9
	VMOV V27.D[0], R10
	PLACE(R8)
	PLACE(R9)
	PLACE(R10)
	MOVD $keepLanes<>-32(SB), R11
	ADD R7<<5, R11, R11
	ADD_PAIRS
	FMOVQ (R11), F19
	AND_D2(19, 30, 30)
	FMOVQ 16(R11), F19
	AND_D2(19, 31, 31)
	ADD_POWERS
	FMOVQ (R11), F19
	AND_D2(19, 26, 26)
	FMOVQ 16(R11), F19
	AND_D2(19, 27, 27)
	ADD_REFERENCES
	CBZ R0, runSum
	ONES
	OCTAVE(ZIP1_D2, 0, R8, 28, 30, 24)
	CMP $1, R7
	BEQ runSum
	OCTAVE(ZIP2_D2, 32, R9, 28, 30, 24)
	CMP $2, R7
	BEQ runSum
	OCTAVE(ZIP1_D2, 64, R10, 29, 31, 25)
runSum:
	FADDP_D2(1, 0, 0)
	FADDP_D2(3, 2, 2)
	FADDP_D2(5, 4, 4)
	FADDP_D2(7, 6, 6)
	FADDP_D2(9, 8, 8)
	FADDP_D2(11, 10, 10)
	FADDP_D2(2, 0, 0)
	FADDP_D2(6, 4, 4)
	FADDP_D2(10, 8, 8)
	FMAXNMP_D2(13, 12, 12)
	FMAXNMP_D2(15, 14, 14)
	FMAXNMP_D2(14, 12, 12)
	FMOVQ F0, 8(R5)
	FMOVQ F4, 24(R5)
	FMOVQ F8, 40(R5)
	FMOVQ F12, 56(R5)
	ADD $80, R5
	SUBS $1, R4
	BNE run
	MOVD signs+56(FP), R5
	ADD $32, R5, R6
	VST1 [V18.D2], (R6)
	CBZ R0, runEnd
	VST1 [V16.D2, V17.D2], (R5)
runEnd:
	RET
columns:
	MOVD stride+72(FP), R13
	LSL $3, R13
	LSL $2, R4, R7
	MOVD R12, R5
	VLD1.P 32(R5), [V22.D2, V23.D2] // Shift
	VLD1.P 64(R5), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1.P 64(R5), [V4.D2, V5.D2, V6.D2, V7.D2]
	VLD1.P 64(R5), [V8.D2, V9.D2, V10.D2, V11.D2]
	VLD1 (R5), [V12.D2, V13.D2, V14.D2, V15.D2]
	B next
columnsEnd:
	ADD $32, R12
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R12)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R12)
	VST1.P [V8.D2, V9.D2, V10.D2, V11.D2], 64(R12)
	VST1 [V12.D2, V13.D2, V14.D2, V15.D2], (R12)
	RET

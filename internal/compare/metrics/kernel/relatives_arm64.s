//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"

// countLag is the number of pairs that have marks before they are counted.
#define countLag 16

// The lane of a pair, in both halves of its mark.
DATA markLanes<>+0(SB)/8, $0
DATA markLanes<>+8(SB)/8, $0x100000001
DATA markLanes<>+16(SB)/8, $0x200000002
DATA markLanes<>+24(SB)/8, $0x300000003
GLOBL markLanes<>(SB), RODATA|NOPTR, $32

// MARK makes the marks of two pairs, with |d| in a register, |d|/|r| in the next but
// one, whose lanes are in V22 or V23, and adds to the counters. 18 instructions.
#define MARK(ref, abs, rel, lanes, zeros, undefined, below1, below5, lowest) \
	CMEQZ_D2(ref, 31)           \ // |r| is zero
	BIC_D2(31, rel, rel)        \
	SUB_D2(31, zeros, zeros)    \
	AND_D2(31, abs, 31)         \
	CMGTZ_D2(31, 31)            \
	SUB_D2(31, undefined, undefined) \
	USHR_D2(49, abs, 31)        \ // bin of |d|
	USHR_D2(49, rel, ref)       \ // bin of |d|/|r|
	SLI_D2(32, ref, 31)         \
	SHL_D2(2, 31, 31)           \
	ORR_D2(lanes, 31, 31)       \
	VST1.P [V31.D2], 16(R4)     \
	SUB_H8(24, 31, ref)         \
	UMIN_H8(ref, lowest, lowest) \
	FCMGT_D2(rel, 18, ref)      \
	SUB_D2(ref, below1, below1) \
	FCMGT_D2(rel, 19, ref)      \
	SUB_D2(ref, below5, below5)

// COUNT counts |d| of two pairs whose marks were made countLag pairs before, so that it
// need not wait for the vector units. 11 instructions.
#define COUNT \
	LDP.P 16(R8), (R9, R10)    \
	LSR $32, R9, R11           \
	LSR $32, R10, R12          \
	MOVWU R9, R9               \
	MOVWU R10, R10             \
	MOVWU (R5)(R9<<2), R13     \
	MOVWU (R5)(R10<<2), R15    \
	ADD $1, R13                \
	ADD $1, R15                \
	MOVW R13, (R5)(R9<<2)      \
	MOVW R15, (R5)(R10<<2)

// COUNT_QUOTIENTS counts |d|/|r| of the pairs of COUNT. 6 instructions.
#define COUNT_QUOTIENTS \
	MOVWU (R6)(R11<<2), R14    \
	MOVWU (R6)(R12<<2), R16    \
	ADD $1, R14                \
	ADD $1, R16                \
	MOVW R14, (R6)(R11<<2)     \
	MOVW R16, (R6)(R12<<2)

// BEYOND makes masks in V29 and V30 of the pairs whose |d| in V27 and V28 is beyond the limits of
// |r| in V25 and V26. 8 instructions.
#define BEYOND(atol, rtol) \
	VDUP rtol, V31.D2          \
	FMUL_D2(31, 25, 29)        \
	FMUL_D2(31, 26, 30)        \
	VDUP atol, V31.D2          \
	FADD_D2(31, 29, 29)        \
	FADD_D2(31, 30, 30)        \
	FCMGT_D2(29, 27, 29)       \
	FCMGT_D2(30, 28, 30)

// relativesVector subtracts, divides, adds up and bounds, and makes the marks of pairs, all in
// the vector units, while the others count the pairs: their |d|/|r| only where relCounts is
// not nil. 116 instructions for four pairs, of which 35 count,
// 12 of them |d|/|r|; flags take 20 more.
//
// func relativesVector(rel, abs, n, s, r *float64, count int, marks *uint64, absCounts, relCounts *uint32, w *Wanted, out *ratioLanes)
TEXT ·relativesVector(SB), NOSPLIT, $0-88
	MOVD rel+0(FP), R0
	MOVD abs+8(FP), R1
	MOVD n+16(FP), R22
	MOVD s+24(FP), R23
	MOVD r+32(FP), R2
	MOVD count+40(FP), R3
	MOVD marks+48(FP), R4
	MOVD absCounts+56(FP), R5
	MOVD relCounts+64(FP), R6
	MOVD w+72(FP), R9
	MOVD RelativeOptions_Atol(R9), R19
	MOVD RelativeOptions_Rtol(R9), R20
	MOVD RelativeOptions_Flags(R9), R24
	MOVD RelativeOptions_FlagAtol(R9), R25
	MOVD RelativeOptions_FlagRtol(R9), R26
	MOVD out+80(FP), R7
	MOVD ZR, R21                // beyond the limits
	MOVD R4, R8                 // the marks that are counted
	SUB $countLag, R3, R17 // the rest when counting begins
	MOVD $0x3f50624dd2f1a9fc, R9
	VDUP R9, V18.D2             // 1/1000
	MOVD $0x3f747ae147ae147b, R9
	VDUP R9, V19.D2             // 5/1000
	MOVD $markLanes<>(SB), R9
	VLD1 (R9), [V22.D2, V23.D2]
	MOVD $0x0000000400000004, R9
	VDUP R9, V24.D2             // what numbers of ratioLanes.lowest start from
	EOR_D4(0, 0, 0)             // sum of |d|/|r|
	EOR_D4(2, 2, 2)             // sum of |r|
	EOR_D4(4, 4, 4)             // largest |d|/|r|
	EOR_D4(6, 6, 6)             // largest |d|
	EOR_D4(8, 8, 8)             // sum of |d|
	EOR_D4(10, 10, 10)          // zeros, undefined
	EOR_D4(12, 12, 12)          // below 1/1000, below 5/1000
	EOR_D2(14, 14, 14)          // negative d
	EOR_D4(16, 16, 16)          // sum of |d| with a flag
	MOVD $-1, R9
	VDUP R9, V15.D2             // lowest indexes
	PCALIGN $16
relatives:
	VLD1.P 32(R22), [V27.D2, V28.D2]
	VLD1.P 32(R23), [V25.D2, V26.D2]
	FSUB_D4(25, 27, 27)
	VLD1.P 32(R2), [V25.D2, V26.D2]
	FCMLTZ_D4(27, 29)
	ADD_D2(29, 30, 29)
	SUB_D2(29, 14, 14)
	FABS_D4(27, 27)
	VST1.P [V27.D2, V28.D2], 32(R1)
	FADD_D4(27, 8, 8)
	FABS_D4(25, 25)
	BEYOND(R19, R20)
	ORR_D2(29, 30, 29)
	VMOV V29.D[0], R9
	VMOV V29.D[1], R10
	ORR R9, R21
	ORR R10, R21
	CBZ R24, relativesUnflagged
	BEYOND(R25, R26)
	AND_D2(27, 29, 31)
	FADD_D2(31, 16, 16)
	AND_D2(28, 30, 31)
	FADD_D2(31, 17, 17)
	VUZP1 V30.B16, V29.B16, V31.B16 // a byte of each mask in the end
	VUZP1 V31.B16, V31.B16, V31.B16
	VUZP1 V31.B16, V31.B16, V31.B16
	VMOV V31.S[0], R9
	MOVD w+72(FP), R10
	MOVWU RelativeOptions_each(R10), R10
	AND R10, R9
	MOVW.P R9, 4(R24)
relativesUnflagged:
	FDIV_D4(25, 27, 29)
	FADD_D4(25, 2, 2)
	FMAXNM_D4(27, 6, 6)
	MARK(25, 27, 29, 22, 10, 11, 12, 13, 15)
	MARK(26, 28, 30, 23, 10, 11, 12, 13, 15)
	VST1.P [V29.D2, V30.D2], 32(R0)
	FADD_D4(29, 0, 0)
	FMAXNM_D4(29, 4, 4)
	CMP R17, R3
	BGT relativesNext
	CBZ R6, differences
	COUNT
	COUNT_QUOTIENTS
	COUNT
	COUNT_QUOTIENTS
	B relativesNext
differences:
	COUNT
	COUNT
relativesNext:
	SUBS $4, R3
	BNE relatives
relativesCount:                 // the last marks
	COUNT
	CBZ R6, relativesCounted
	COUNT_QUOTIENTS
relativesCounted:
	CMP R4, R8
	BNE relativesCount
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R7)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R7)
	VST1.P [V8.D2, V9.D2], 32(R7)
	VST1 [V10.D2], (R7)         // lanes 2 and 3 of counts are 0
	ADD $32, R7
	VST1 [V11.D2], (R7)
	ADD $32, R7
	VST1 [V12.D2], (R7)
	ADD $32, R7
	VST1 [V13.D2], (R7)
	ADD $32, R7
	VST1 [V14.D2], (R7)
	ADD $32, R7
	VST1 [V15.D2], (R7)
	MOVD R21, 32(R7)
	ADD $40, R7
	VST1 [V16.D2, V17.D2], (R7)
	RET

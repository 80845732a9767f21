//go:build !purego

#include "textflag.h"

// ZIP takes the elements of a and b in turn: the lower halves to t, the upper ones to a.
#define ZIP(a, b, t) VZIP1 b, a, t; VZIP2 b, a, a

// transposeEight turns rows of eight elements of two bytes, which begin step bytes apart and
// come in groups of eight, to columns that begin out bytes apart. 44 instructions for eight
// rows.
//
// func transposeEight(dst, src *byte, rows, step, out int)
TEXT ·transposeEight(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD rows+16(FP), R2
	MOVD step+24(FP), R3
	MOVD out+32(FP), R4
	PCALIGN $16
eightRows:
	VLD1.P (R1)(R3), [V0.H8]
	VLD1.P (R1)(R3), [V1.H8]
	VLD1.P (R1)(R3), [V2.H8]
	VLD1.P (R1)(R3), [V3.H8]
	VLD1.P (R1)(R3), [V4.H8]
	VLD1.P (R1)(R3), [V5.H8]
	VLD1.P (R1)(R3), [V6.H8]
	VLD1.P (R1)(R3), [V7.H8]
	ZIP(V0.H8, V1.H8, V8.H8)
	ZIP(V2.H8, V3.H8, V1.H8)
	ZIP(V4.H8, V5.H8, V3.H8)
	ZIP(V6.H8, V7.H8, V5.H8)
	ZIP(V8.S4, V1.S4, V7.S4)
	ZIP(V3.S4, V5.S4, V1.S4)
	ZIP(V0.S4, V2.S4, V5.S4)
	ZIP(V4.S4, V6.S4, V2.S4)
	ZIP(V7.D2, V1.D2, V6.D2)
	ZIP(V8.D2, V3.D2, V1.D2)
	ZIP(V5.D2, V2.D2, V3.D2)
	ZIP(V0.D2, V4.D2, V2.D2)
	MOVD R0, R5
	VST1.P [V6.H8], (R5)(R4)
	VST1.P [V7.H8], (R5)(R4)
	VST1.P [V1.H8], (R5)(R4)
	VST1.P [V8.H8], (R5)(R4)
	VST1.P [V3.H8], (R5)(R4)
	VST1.P [V5.H8], (R5)(R4)
	VST1.P [V2.H8], (R5)(R4)
	VST1 [V0.H8], (R5)
	ADD $16, R0
	SUBS $8, R2
	BNE eightRows
	RET

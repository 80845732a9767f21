//go:build !purego

#include "textflag.h"

// ZIP_WORDS, ZIP_LONGS and ZIP_QUADS take the elements of a and b in turn: the lower halves
// to t, the upper ones to a.
#define ZIP_WORDS(a, b, t) MOVO a, t; PUNPCKLWL b, t; PUNPCKHWL b, a
#define ZIP_LONGS(a, b, t) MOVO a, t; PUNPCKLLQ b, t; PUNPCKHLQ b, a
#define ZIP_QUADS(a, b, t) MOVO a, t; PUNPCKLQDQ b, t; PUNPCKHQDQ b, a

// transposeEight turns rows of eight elements of two bytes, which begin step bytes apart and
// come in groups of eight, to columns that begin out bytes apart.
//
// func transposeEight(dst, src *byte, rows, step, out int)
TEXT ·transposeEight(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ rows+16(FP), CX
	MOVQ step+24(FP), R8
	MOVQ out+32(FP), R9
	LEAQ (R8)(R8*2), R10
	LEAQ (R9)(R9*2), R11
	LEAQ (DI)(R9*4), R12
	PCALIGN $32
eightRows:
	LEAQ (SI)(R8*4), BX
	MOVOU (SI), X0
	MOVOU (SI)(R8*1), X1
	MOVOU (SI)(R8*2), X2
	MOVOU (SI)(R10*1), X3
	MOVOU (BX), X4
	MOVOU (BX)(R8*1), X5
	MOVOU (BX)(R8*2), X6
	MOVOU (BX)(R10*1), X7
	ZIP_WORDS(X0, X1, X8)
	ZIP_WORDS(X2, X3, X1)
	ZIP_WORDS(X4, X5, X3)
	ZIP_WORDS(X6, X7, X5)
	ZIP_LONGS(X8, X1, X7)
	ZIP_LONGS(X3, X5, X1)
	ZIP_LONGS(X0, X2, X5)
	ZIP_LONGS(X4, X6, X2)
	ZIP_QUADS(X7, X1, X6)
	ZIP_QUADS(X8, X3, X1)
	ZIP_QUADS(X5, X2, X3)
	ZIP_QUADS(X0, X4, X2)
	MOVOU X6, (DI)
	MOVOU X7, (DI)(R9*1)
	MOVOU X1, (DI)(R9*2)
	MOVOU X8, (DI)(R11*1)
	MOVOU X3, (R12)
	MOVOU X5, (R12)(R9*1)
	MOVOU X2, (R12)(R9*2)
	MOVOU X0, (R12)(R11*1)
	LEAQ (SI)(R8*8), SI
	ADDQ $16, DI
	ADDQ $16, R12
	SUBQ $8, CX
	JNE eightRows
	RET

//go:build !purego

#include "textflag.h"

// All of these take squares of elements through the vector registers with
// instructions that every amd64 processor has (SSE2). SI is at the first row of the
// source, R8 and R9 are one and three rows, R10 is four rows on; DI, R11, R12 and R13
// are the same of the columns of dst. CX counts squares.
#define SQUARES(count) \
	MOVQ dst+0(FP), DI \
	MOVQ src+8(FP), SI \
	MOVQ rows+16(FP), CX \
	MOVQ step+24(FP), R8 \
	MOVQ out+32(FP), R11 \
	LEAQ (R8)(R8*2), R9 \
	LEAQ (R11)(R11*2), R12 \
	LEAQ (SI)(R8*4), R10 \
	LEAQ (DI)(R11*4), R13 \
	SHRQ $count, CX

#define MOVED(rows, bytes) \
	LEAQ (SI)(R8*rows), SI \
	LEAQ (R10)(R8*rows), R10 \
	ADDQ $bytes, DI \
	ADDQ $bytes, R13 \
	DECQ CX

// func transpose8Vector(dst, src *byte, rows, step, out int64)
TEXT ·transpose8Vector(SB), NOSPLIT, $0-40
	SQUARES(3)
	PCALIGN $32
next8:
	MOVQ (SI), X0
	MOVQ (SI)(R8*1), X1
	MOVQ (SI)(R8*2), X2
	MOVQ (SI)(R9*1), X3
	MOVQ (R10), X4
	MOVQ (R10)(R8*1), X5
	MOVQ (R10)(R8*2), X6
	MOVQ (R10)(R9*1), X7
	PUNPCKLBW X1, X0            // pairs of rows
	PUNPCKLBW X3, X2
	PUNPCKLBW X5, X4
	PUNPCKLBW X7, X6
	MOVO X0, X1
	MOVO X4, X3
	PUNPCKLWL X2, X0            // four rows of columns 0 to 3
	PUNPCKHWL X2, X1            // 4 to 7
	PUNPCKLWL X6, X4
	PUNPCKHWL X6, X3
	MOVO X0, X2
	MOVO X1, X5
	PUNPCKLLQ X4, X0            // eight rows of two columns
	PUNPCKHLQ X4, X2
	PUNPCKLLQ X3, X1
	PUNPCKHLQ X3, X5
	MOVQ X0, (DI)
	MOVHPS X0, (DI)(R11*1)
	MOVQ X2, (DI)(R11*2)
	MOVHPS X2, (DI)(R12*1)
	MOVQ X1, (R13)
	MOVHPS X1, (R13)(R11*1)
	MOVQ X5, (R13)(R11*2)
	MOVHPS X5, (R13)(R12*1)
	MOVED(8, 8)
	JNE next8
	RET

// func transpose16Vector(dst, src *byte, rows, step, out int64)
TEXT ·transpose16Vector(SB), NOSPLIT, $0-40
	SQUARES(3)
	PCALIGN $32
next16:
	MOVOU (SI), X0
	MOVOU (SI)(R8*1), X1
	MOVOU (SI)(R8*2), X2
	MOVOU (SI)(R9*1), X3
	MOVOU (R10), X4
	MOVOU (R10)(R8*1), X5
	MOVOU (R10)(R8*2), X6
	MOVOU (R10)(R9*1), X7
	MOVO X0, X8
	MOVO X2, X9
	MOVO X4, X10
	MOVO X6, X11
	PUNPCKLWL X1, X0            // pairs of rows of columns 0 to 3
	PUNPCKHWL X1, X8            // 4 to 7
	PUNPCKLWL X3, X2
	PUNPCKHWL X3, X9
	PUNPCKLWL X5, X4
	PUNPCKHWL X5, X10
	PUNPCKLWL X7, X6
	PUNPCKHWL X7, X11
	MOVO X0, X1
	MOVO X4, X3
	MOVO X8, X5
	MOVO X10, X7
	PUNPCKLLQ X2, X0            // four rows of columns 0 and 1
	PUNPCKHLQ X2, X1            // 2 and 3
	PUNPCKLLQ X6, X4
	PUNPCKHLQ X6, X3
	PUNPCKLLQ X9, X8            // 4 and 5
	PUNPCKHLQ X9, X5            // 6 and 7
	PUNPCKLLQ X11, X10
	PUNPCKHLQ X11, X7
	MOVO X0, X2
	MOVO X1, X6
	MOVO X8, X9
	MOVO X5, X11
	PUNPCKLQDQ X4, X0
	PUNPCKHQDQ X4, X2
	PUNPCKLQDQ X3, X1
	PUNPCKHQDQ X3, X6
	PUNPCKLQDQ X10, X8
	PUNPCKHQDQ X10, X9
	PUNPCKLQDQ X7, X5
	PUNPCKHQDQ X7, X11
	MOVOU X0, (DI)
	MOVOU X2, (DI)(R11*1)
	MOVOU X1, (DI)(R11*2)
	MOVOU X6, (DI)(R12*1)
	MOVOU X8, (R13)
	MOVOU X9, (R13)(R11*1)
	MOVOU X5, (R13)(R11*2)
	MOVOU X11, (R13)(R12*1)
	MOVED(8, 16)
	JNE next16
	RET

// func transpose32Vector(dst, src *byte, rows, step, out int64)
TEXT ·transpose32Vector(SB), NOSPLIT, $0-40
	SQUARES(2)
	PCALIGN $32
next32:
	MOVOU (SI), X0
	MOVOU (SI)(R8*1), X1
	MOVOU (SI)(R8*2), X2
	MOVOU (SI)(R9*1), X3
	MOVO X0, X4
	MOVO X2, X5
	PUNPCKLLQ X1, X0            // pairs of rows of columns 0 and 1
	PUNPCKHLQ X1, X4            // 2 and 3
	PUNPCKLLQ X3, X2
	PUNPCKHLQ X3, X5
	MOVO X0, X1
	MOVO X4, X3
	PUNPCKLQDQ X2, X0
	PUNPCKHQDQ X2, X1
	PUNPCKLQDQ X5, X4
	PUNPCKHQDQ X5, X3
	MOVOU X0, (DI)
	MOVOU X1, (DI)(R11*1)
	MOVOU X4, (DI)(R11*2)
	MOVOU X3, (DI)(R12*1)
	MOVED(4, 16)
	JNE next32
	RET

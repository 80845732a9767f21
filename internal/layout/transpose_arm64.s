//go:build !purego

#include "textflag.h"

// All of these take squares of elements through the vector registers. R0 is the columns
// of dst, R1 the next row of the source, R3 and R4 are from one row and one column to the
// next. R2 counts squares.
#define SQUARES(count) \
	MOVD dst+0(FP), R0 \
	MOVD src+8(FP), R1 \
	MOVD rows+16(FP), R2 \
	MOVD step+24(FP), R3 \
	MOVD out+32(FP), R4 \
	LSR $count, R2, R2

// 32 instructions for 64 elements.
//
// func transpose8Vector(dst, src *byte, rows, step, out int64)
TEXT ·transpose8Vector(SB), NOSPLIT, $0-40
	SQUARES(3)
	PCALIGN $16
next8:
	VLD1.P (R1)(R3), [V0.B8]
	VLD1.P (R1)(R3), [V1.B8]
	VLD1.P (R1)(R3), [V2.B8]
	VLD1.P (R1)(R3), [V3.B8]
	VLD1.P (R1)(R3), [V4.B8]
	VLD1.P (R1)(R3), [V5.B8]
	VLD1.P (R1)(R3), [V6.B8]
	VLD1.P (R1)(R3), [V7.B8]
	VZIP1 V1.B16, V0.B16, V0.B16 // pairs of rows
	VZIP1 V3.B16, V2.B16, V2.B16
	VZIP1 V5.B16, V4.B16, V4.B16
	VZIP1 V7.B16, V6.B16, V6.B16
	VZIP1 V2.H8, V0.H8, V1.H8   // four rows of columns 0 to 3
	VZIP2 V2.H8, V0.H8, V3.H8   // 4 to 7
	VZIP1 V6.H8, V4.H8, V5.H8
	VZIP2 V6.H8, V4.H8, V7.H8
	VZIP1 V5.S4, V1.S4, V0.S4   // eight rows of two columns
	VZIP2 V5.S4, V1.S4, V2.S4
	VZIP1 V7.S4, V3.S4, V4.S4
	VZIP2 V7.S4, V3.S4, V6.S4
	MOVD R0, R5
	VST1.P V0.D[0], (R5)(R4)
	VST1.P V0.D[1], (R5)(R4)
	VST1.P V2.D[0], (R5)(R4)
	VST1.P V2.D[1], (R5)(R4)
	VST1.P V4.D[0], (R5)(R4)
	VST1.P V4.D[1], (R5)(R4)
	VST1.P V6.D[0], (R5)(R4)
	VST1.P V6.D[1], (R5)(R4)
	ADD $8, R0
	SUBS $1, R2
	BNE next8
	RET

// 44 instructions for 64 elements.
//
// func transpose16Vector(dst, src *byte, rows, step, out int64)
TEXT ·transpose16Vector(SB), NOSPLIT, $0-40
	SQUARES(3)
	PCALIGN $16
next16:
	VLD1.P (R1)(R3), [V0.H8]
	VLD1.P (R1)(R3), [V1.H8]
	VLD1.P (R1)(R3), [V2.H8]
	VLD1.P (R1)(R3), [V3.H8]
	VLD1.P (R1)(R3), [V4.H8]
	VLD1.P (R1)(R3), [V5.H8]
	VLD1.P (R1)(R3), [V6.H8]
	VLD1.P (R1)(R3), [V7.H8]
	VZIP1 V1.H8, V0.H8, V16.H8  // pairs of rows of columns 0 to 3
	VZIP2 V1.H8, V0.H8, V17.H8  // 4 to 7
	VZIP1 V3.H8, V2.H8, V18.H8
	VZIP2 V3.H8, V2.H8, V19.H8
	VZIP1 V5.H8, V4.H8, V20.H8
	VZIP2 V5.H8, V4.H8, V21.H8
	VZIP1 V7.H8, V6.H8, V22.H8
	VZIP2 V7.H8, V6.H8, V23.H8
	VZIP1 V18.S4, V16.S4, V0.S4 // four rows of columns 0 and 1
	VZIP2 V18.S4, V16.S4, V1.S4 // 2 and 3
	VZIP1 V19.S4, V17.S4, V2.S4 // 4 and 5
	VZIP2 V19.S4, V17.S4, V3.S4 // 6 and 7
	VZIP1 V22.S4, V20.S4, V4.S4
	VZIP2 V22.S4, V20.S4, V5.S4
	VZIP1 V23.S4, V21.S4, V6.S4
	VZIP2 V23.S4, V21.S4, V7.S4
	VZIP1 V4.D2, V0.D2, V16.D2
	VZIP2 V4.D2, V0.D2, V17.D2
	VZIP1 V5.D2, V1.D2, V18.D2
	VZIP2 V5.D2, V1.D2, V19.D2
	VZIP1 V6.D2, V2.D2, V20.D2
	VZIP2 V6.D2, V2.D2, V21.D2
	VZIP1 V7.D2, V3.D2, V22.D2
	VZIP2 V7.D2, V3.D2, V23.D2
	MOVD R0, R5
	VST1.P [V16.H8], (R5)(R4)
	VST1.P [V17.H8], (R5)(R4)
	VST1.P [V18.H8], (R5)(R4)
	VST1.P [V19.H8], (R5)(R4)
	VST1.P [V20.H8], (R5)(R4)
	VST1.P [V21.H8], (R5)(R4)
	VST1.P [V22.H8], (R5)(R4)
	VST1.P [V23.H8], (R5)(R4)
	ADD $16, R0
	SUBS $1, R2
	BNE next16
	RET

// 20 instructions for 16 elements.
//
// func transpose32Vector(dst, src *byte, rows, step, out int64)
TEXT ·transpose32Vector(SB), NOSPLIT, $0-40
	SQUARES(2)
	PCALIGN $16
next32:
	VLD1.P (R1)(R3), [V0.S4]
	VLD1.P (R1)(R3), [V1.S4]
	VLD1.P (R1)(R3), [V2.S4]
	VLD1.P (R1)(R3), [V3.S4]
	VZIP1 V1.S4, V0.S4, V4.S4   // pairs of rows of columns 0 and 1
	VZIP2 V1.S4, V0.S4, V5.S4   // 2 and 3
	VZIP1 V3.S4, V2.S4, V6.S4
	VZIP2 V3.S4, V2.S4, V7.S4
	VZIP1 V6.D2, V4.D2, V0.D2
	VZIP2 V6.D2, V4.D2, V1.D2
	VZIP1 V7.D2, V5.D2, V2.D2
	VZIP2 V7.D2, V5.D2, V3.D2
	MOVD R0, R5
	VST1.P [V0.S4], (R5)(R4)
	VST1.P [V1.S4], (R5)(R4)
	VST1.P [V2.S4], (R5)(R4)
	VST1.P [V3.S4], (R5)(R4)
	ADD $16, R0
	SUBS $1, R2
	BNE next32
	RET

//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Every function works on groups of four float64 or int64; count is a multiple of
// four and not 0. Lane k of a sum holds elements k, k+4, k+8 and so on: lanes 0 and 1
// are in one register, 2 and 3 in the next. How many instructions a loop has is said
// for each group.

// ZERO_D4 clears four lanes.
#define ZERO_D4(d) EOR_D4(d, d, d)

#define LOAD(from, a, b) VLD1.P 32(from), [a.D2, b.D2]
#define STORE(a, b, to) VST1.P [a.D2, b.D2], 32(to)

// 24 instructions.
//
// func sidesVector(n, r *float64, count int, n0, r0 float64, out *[20]float64)
TEXT ·sidesVector(SB), NOSPLIT, $0-48
	MOVD n+0(FP), R0
	MOVD r+8(FP), R1
	MOVD count+16(FP), R2
	FMOVD n0+24(FP), F30
	FMOVD r0+32(FP), F31
	VDUP V30.D[0], V30.D2
	VDUP V31.D[0], V31.D2
	MOVD out+40(FP), R3
	ZERO_D4(0)                  // n-n0
	ZERO_D4(2)                  // r-r0
	ZERO_D4(4)                  // the square of n-n0
	ZERO_D4(6)                  // the square of r-r0
	ZERO_D4(8)                  // their product
	PCALIGN $16
sides:
	LOAD(R0, V10, V11)
	LOAD(R1, V12, V13)
	FSUB_ALL(30, 10, 10)
	FSUB_ALL(31, 12, 12)
	FADD_D4(10, 0, 0)
	FADD_D4(12, 2, 2)
	FMUL_D4(10, 10, 14)
	FMUL_D4(12, 12, 16)
	FMUL_D4(10, 12, 18)
	FADD_D4(14, 4, 4)
	FADD_D4(16, 6, 6)
	FADD_D4(18, 8, 8)
	SUBS $4, R2
	BNE sides
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R3)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R3)
	VST1 [V8.D2, V9.D2], (R3)
	RET

// 24 instructions.
//
// func differencesVector(n, r, d, abs *float64, count int, d0 float64, out *[12]float64, negative *[4]int64)
TEXT ·differencesVector(SB), NOSPLIT, $0-64
	MOVD n+0(FP), R0
	MOVD r+8(FP), R1
	MOVD d+16(FP), R4
	MOVD abs+24(FP), R5
	MOVD count+32(FP), R2
	FMOVD d0+40(FP), F31
	VDUP V31.D[0], V31.D2
	MOVD out+48(FP), R3
	MOVD negative+56(FP), R6
	ZERO_D4(0)                  // d-d0
	ZERO_D4(2)                  // its square
	ZERO_D4(4)                  // |d|
	ZERO_D4(6)                  // negative ones
	PCALIGN $16
differences:
	LOAD(R0, V10, V11)
	LOAD(R1, V12, V13)
	FSUB_D4(12, 10, 10)
	FABS_D4(10, 12)
	STORE(V10, V11, R4)
	STORE(V12, V13, R5)
	FCMLTZ_D4(10, 14)
	SUB_D4(14, 6, 6)
	FSUB_ALL(31, 10, 10)
	FADD_D4(12, 4, 4)
	FADD_D4(10, 0, 0)
	FMUL_D4(10, 10, 10)
	FADD_D4(10, 2, 2)
	SUBS $4, R2
	BNE differences
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R3)
	VST1 [V4.D2, V5.D2], (R3)
	VST1 [V6.D2, V7.D2], (R6)
	RET

// The span of values: SPAN_START prepares the registers, SPAN_ADD adds the values in
// V10 and V11, SPAN_END stores the lanes at R3 and leaves in R4 whether a value is not
// finite, which the upper halves of the largest magnitudes are enough for.
#define SPAN_START \
	MOVD $0x7ff0000000000000, R4 \
	VDUP R4, V0.D2 \
	VDUP R4, V1.D2 \
	VDUP R4, V4.D2 \
	VDUP R4, V5.D2 \
	MOVD $0xfff0000000000000, R4 \
	VDUP R4, V2.D2 \
	VDUP R4, V3.D2 \
	ZERO_D4(6)

#define SPAN_ADD \
	FMINNM_D4(10, 0, 0) \
	FMAXNM_D4(10, 2, 2) \
	FABS_D4(10, 10) \
	FMINNM_D4(10, 4, 4) \
	VUMAX V10.S4, V6.S4, V6.S4 \
	VUMAX V11.S4, V7.S4, V7.S4

#define SPAN_END \
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R3) \
	VST1 [V4.D2, V5.D2], (R3) \
	VUMAX V7.S4, V6.S4, V6.S4 \
	VMOV V6.D[0], R4 \
	VMOV V6.D[1], R5 \
	CMP R5, R4 \
	CSEL HI, R4, R5, R4 \
	LSR $52, R4, R4 \
	CMP $0x7ff, R4 \
	CSET EQ, R4

// 13 instructions.
//
// func spanVector(values *float64, count int, out *spanLanes) (special uint32)
TEXT ·spanVector(SB), NOSPLIT, $0-28
	MOVD values+0(FP), R0
	MOVD count+8(FP), R2
	MOVD out+16(FP), R3
	SPAN_START
	PCALIGN $16
spanNext:
	LOAD(R0, V10, V11)
	SPAN_ADD
	SUBS $4, R2
	BNE spanNext
	SPAN_END
	MOVW R4, special+24(FP)
	RET

// 30 instructions.
//
// func smallVector(n, r *float64, count int, nNormal, rNormal float64, out *[20]int64)
TEXT ·smallVector(SB), NOSPLIT, $0-48
	MOVD n+0(FP), R0
	MOVD r+8(FP), R1
	MOVD count+16(FP), R2
	MOVD nNormal+24(FP), R4
	MOVD rNormal+32(FP), R5
	VDUP R4, V30.D2
	VDUP R4, V31.D2
	VDUP R5, V28.D2
	VDUP R5, V29.D2
	MOVD out+40(FP), R3
	ZERO_D4(0)                  // n is 0
	ZERO_D4(2)                  // n is below
	ZERO_D4(4)                  // r is 0
	ZERO_D4(6)                  // r is below
	ZERO_D4(8)                  // n is below, r is not below that
	PCALIGN $16
small:
	LOAD(R0, V10, V11)
	LOAD(R1, V12, V13)
	FABS_D4(10, 10)
	FABS_D4(12, 12)
	FCMEQZ_D4(10, 14)
	SUB_D4(14, 0, 0)
	FCMGT_D4(10, 30, 14)
	SUB_D4(14, 2, 2)
	FCMGT_D4(12, 30, 16)
	BIC_D4(16, 14, 14)
	SUB_D4(14, 8, 8)
	FCMEQZ_D4(12, 14)
	SUB_D4(14, 4, 4)
	FCMGT_D4(12, 28, 14)
	SUB_D4(14, 6, 6)
	SUBS $4, R2
	BNE small
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R3)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R3)
	VST1 [V8.D2, V9.D2], (R3)
	RET

// 36 instructions.
//
// func roundVector(dst *int64, values *float64, count int, form *Form)
TEXT ·roundVector(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R3
	MOVD values+8(FP), R0
	MOVD count+16(FP), R2
	MOVD form+24(FP), R1
	LDP.P 16(R1), (R4, R5)
	NEG R4, R4
	VDUP R4, V31.D2             // -shift
	VDUP R5, V30.D2             // half
	LDP.P 16(R1), (R4, R5)
	VDUP R4, V29.D2             // base
	VDUP R5, V26.D2             // normal
	VDUP R5, V27.D2
	LDP (R1), (R4, R5)
	VDUP R4, V25.D2             // magic
	VDUP R5, V22.D2             // beyond
	VDUP R5, V23.D2
	MOVD $1, R4
	VDUP R4, V24.D2
	PCALIGN $16
roundNext:
	LOAD(R0, V0, V1)
	FABS_D4(0, 2)               // magnitude
	CMLTZ_D4(0, 0)              // sign
	USHL_ALL(31, 2, 4)
	AND_ALL(24, 4, 4)
	ADD_D4(2, 4, 4)
	ADD_ALL(30, 4, 4)
	USHL_ALL(31, 4, 4)
	SUB_ALL(29, 4, 4)           // normal
	FADD_ALL(25, 2, 6)
	SUB_ALL(25, 6, 6)           // subnormal
	CMGT_D4(2, 26, 16)
	BIT_D4(16, 6, 4)
	CMGT_ALL(22, 4, 16)
	BIT_D4(16, 22, 4)
	EOR_D4(0, 4, 4)
	SUB_D4(0, 4, 4)
	STORE(V4, V5, R3)
	SUBS $4, R2
	BNE roundNext
	RET

// HASH adds the hashes of codes from a register on to a sum. Lower and upper halves are
// multiplied apart.
#define HASH(x, sum) \
	EOR_ALL(31, x, x) \
	UZP1_S4((x)+1, x, 16) \
	UZP2_S4((x)+1, x, 17) \
	UMULL_D2(30, 16, 18) \
	UMULL2_D2(30, 16, 19) \
	UMLAL_D2(29, 17, 18) \
	UMLAL2_D2(29, 17, 19) \
	USHR_D4(29, 18, 20) \
	EOR_D4(20, 18, 18) \
	ADD_D4(18, sum, sum)

// 42 instructions.
//
// func digestVector(n, r *int64, count int, out *[16]uint64)
TEXT ·digestVector(SB), NOSPLIT, $0-32
	MOVD n+0(FP), R0
	MOVD r+8(FP), R1
	MOVD count+16(FP), R2
	MOVD out+24(FP), R3
	MOVD $0x7f4a7c159e3779b9, R4
	VDUP R4, V31.D2
	MOVD $0xb8659fd9, R4
	VDUP R4, V30.S4
	MOVD $0xd6e8feb9, R4
	VDUP R4, V29.S4
	ZERO_D4(0)                  // hashes of n
	ZERO_D4(2)                  // of r
	ZERO_D4(4)                  // largest distance
	ZERO_D4(6)                  // distances
	PCALIGN $16
digest:
	LOAD(R0, V10, V11)
	LOAD(R1, V12, V13)
	SUB_D4(12, 10, 14)
	ABS_D4(14, 14)
	ADD_D4(14, 6, 6)
	CMGT_D4(4, 14, 16)
	BIT_D4(16, 14, 4)
	HASH(10, 0)
	HASH(12, 2)
	SUBS $4, R2
	BNE digest
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R3)
	VST1 [V4.D2, V5.D2, V6.D2, V7.D2], (R3)
	RET

// 7 instructions.
//
// func addVector(dst, values *float64, count int)
TEXT ·addVector(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD values+8(FP), R1
	MOVD count+16(FP), R2
	MOVD R0, R3                 // loads do not wait for stores
	PCALIGN $16
addNext:
	LOAD(R3, V0, V1)
	LOAD(R1, V2, V3)
	FADD_D4(2, 0, 0)
	STORE(V0, V1, R0)
	SUBS $4, R2
	BNE addNext
	RET

// 5 instructions.
//
// func sumVector(values *float64, count int, out *[4]float64)
TEXT ·sumVector(SB), NOSPLIT, $0-24
	MOVD values+0(FP), R0
	MOVD count+8(FP), R2
	MOVD out+16(FP), R3
	ZERO_D4(0)
	PCALIGN $16
sumNext:
	LOAD(R0, V2, V3)
	FADD_D4(2, 0, 0)
	SUBS $4, R2
	BNE sumNext
	VST1 [V0.D2, V1.D2], (R3)
	RET

// fromVector returns the number of values before the first group that has one of limit
// or more. 10 instructions.
//
// func fromVector(values *float64, count int, limit float64) int
TEXT ·fromVector(SB), NOSPLIT, $0-32
	MOVD values+0(FP), R0
	MOVD count+8(FP), R2
	FMOVD limit+16(FP), F4
	VDUP V4.D[0], V4.D2
	MOVD ZR, R3
	PCALIGN $16
fromNext:
	LOAD(R0, V0, V1)
	FCMGE_ALL(4, 0, 0)
	VORR V1.B16, V0.B16, V0.B16
	XTN_S2(0, 0)
	FMOVD F0, R4
	CBNZ R4, fromFound
	ADD $4, R3
	CMP R2, R3
	BNE fromNext
fromFound:
	MOVD R3, ret+24(FP)
	RET

// The decoders set dst to the elements in src and out to their span.

// 16 instructions.
//
// func float32sVector(dst *float64, src *byte, count int, out *spanLanes) (special uint32)
TEXT ·float32sVector(SB), NOSPLIT, $0-36
	MOVD dst+0(FP), R1
	MOVD src+8(FP), R0
	MOVD count+16(FP), R2
	MOVD out+24(FP), R3
	SPAN_START
	PCALIGN $16
float32sNext:
	VLD1.P 16(R0), [V12.S4]
	FCVTL_D2(12, 10)
	FCVTL2_D2(12, 11)
	STORE(V10, V11, R1)
	SPAN_ADD
	SUBS $4, R2
	BNE float32sNext
	SPAN_END
	MOVW R4, special+32(FP)
	RET

// 17 instructions.
//
// func float16sVector(dst *float64, src *byte, count int, out *spanLanes) (special uint32)
TEXT ·float16sVector(SB), NOSPLIT, $0-36
	MOVD dst+0(FP), R1
	MOVD src+8(FP), R0
	MOVD count+16(FP), R2
	MOVD out+24(FP), R3
	SPAN_START
	PCALIGN $16
float16sNext:
	FMOVD.P 8(R0), F12
	FCVTL_S4(12, 12)
	FCVTL_D2(12, 10)
	FCVTL2_D2(12, 11)
	STORE(V10, V11, R1)
	SPAN_ADD
	SUBS $4, R2
	BNE float16sNext
	SPAN_END
	MOVW R4, special+32(FP)
	RET

// 17 instructions.
//
// func bfloat16sVector(dst *float64, src *byte, count int, out *spanLanes) (special uint32)
TEXT ·bfloat16sVector(SB), NOSPLIT, $0-36
	MOVD dst+0(FP), R1
	MOVD src+8(FP), R0
	MOVD count+16(FP), R2
	MOVD out+24(FP), R3
	SPAN_START
	PCALIGN $16
bfloat16sNext:
	FMOVD.P 8(R0), F12
	SHLL_S4(12, 12)
	FCVTL_D2(12, 10)
	FCVTL2_D2(12, 11)
	STORE(V10, V11, R1)
	SPAN_ADD
	SUBS $4, R2
	BNE bfloat16sNext
	SPAN_END
	MOVW R4, special+32(FP)
	RET

// CODES stores the codes of bits in V0 at R1; V31 has those of a magnitude.
#define CODES \
	SIGN_S4(0, 1) \
	VAND V31.B16, V0.B16, V0.B16 \
	VEOR V1.B16, V0.B16, V0.B16 \
	VSUB V1.S4, V0.S4, V0.S4 \
	SXTL_D2(0, 2) \
	SXTL2_D2(0, 3) \
	STORE(V2, V3, R1)

// 11 instructions.
//
// func codes16Vector(dst *int64, src *byte, count int)
TEXT ·codes16Vector(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R1
	MOVD src+8(FP), R0
	MOVD count+16(FP), R2
	MOVD $0x7fff, R4
	VDUP R4, V31.S4
	PCALIGN $16
codes16:
	FMOVD.P 8(R0), F0
	SXTL_S4(0, 0)
	CODES
	SUBS $4, R2
	BNE codes16
	RET

// 12 instructions.
//
// func halvesVector(dst *int64, src *byte, count int)
TEXT ·halvesVector(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R1
	MOVD src+8(FP), R0
	MOVD count+16(FP), R2
	MOVD $0x7fff, R4
	VDUP R4, V31.S4
	PCALIGN $16
halves:
	VLD1.P 16(R0), [V0.S4]
	FCVTN_H4(0, 0)              // to nearest, ties to even
	SXTL_S4(0, 0)
	CODES
	SUBS $4, R2
	BNE halves
	RET

// 10 instructions.
//
// func codes32Vector(dst *int64, src *byte, count int)
TEXT ·codes32Vector(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R1
	MOVD src+8(FP), R0
	MOVD count+16(FP), R2
	MOVD $0x7fffffff, R4
	VDUP R4, V31.S4
	PCALIGN $16
codes32:
	VLD1.P 16(R0), [V0.S4]
	CODES
	SUBS $4, R2
	BNE codes32
	RET

// 14 instructions.
//
// func exceedsVector(abs, r *float64, count int, atol, rtol float64) uint32
TEXT ·exceedsVector(SB), NOSPLIT, $0-44
	MOVD abs+0(FP), R0
	MOVD r+8(FP), R1
	MOVD count+16(FP), R2
	FMOVD atol+24(FP), F31
	FMOVD rtol+32(FP), F30
	VDUP V31.D[0], V31.D2
	VDUP V30.D[0], V30.D2
	MOVD $-1, R4
	VDUP R4, V0.D2              // pairs that do not exceed, only
	VDUP R4, V1.D2
	PCALIGN $16
exceeds:
	LOAD(R0, V2, V3)
	LOAD(R1, V4, V5)
	FABS_D4(4, 4)
	FMUL_ALL(30, 4, 4)
	FADD_ALL(31, 4, 4)
	FCMGE_D4(2, 4, 4)
	AND_D4(4, 0, 0)
	SUBS $4, R2
	BNE exceeds
	VAND V1.B16, V0.B16, V0.B16
	XTN_S2(0, 0)
	FMOVD F0, R4
	MVN R4, R4
	CMP $0, R4
	CSET NE, R4
	MOVW R4, ret+40(FP)
	RET

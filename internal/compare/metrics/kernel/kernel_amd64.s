//go:build !purego

#include "textflag.h"

// Every function works on groups of four float64 or int64; count is a multiple
// of four. Lane k of a sum holds elements k, k+4, k+8 and so on.
// Loops start at cache lines, so that their speed does not depend on where the
// linker puts them.

DATA magnitudes<>+0(SB)/8, $0x7fffffffffffffff
GLOBL magnitudes<>(SB), RODATA|NOPTR, $8

DATA largest<>+0(SB)/8, $0x7fefffffffffffff
GLOBL largest<>(SB), RODATA|NOPTR, $8

DATA infinity<>+0(SB)/8, $0x7ff0000000000000
GLOBL infinity<>(SB), RODATA|NOPTR, $8

DATA firstKeys<>+0(SB)/8, $0x7f4a7c159e3779b9
GLOBL firstKeys<>(SB), RODATA|NOPTR, $8

DATA lowKey<>+0(SB)/8, $0xb8659fd9
GLOBL lowKey<>(SB), RODATA|NOPTR, $8

DATA highKey<>+0(SB)/8, $0xd6e8feb9
GLOBL highKey<>(SB), RODATA|NOPTR, $8

// func sidesVector(n, r *float64, count int, n0, r0 float64, out *[20]float64)
TEXT ·sidesVector(SB), NOSPLIT, $0-48
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ count+16(FP), CX
	VBROADCASTSD n0+24(FP), Y13
	VBROADCASTSD r0+32(FP), Y14
	MOVQ out+40(FP), DX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	XORQ AX, AX
	JMP sidesCheck
	PCALIGN $64
sides:
	VMOVUPD (SI)(AX*8), Y5
	VMOVUPD (DI)(AX*8), Y6
	VSUBPD Y13, Y5, Y5
	VSUBPD Y14, Y6, Y6
	VADDPD Y5, Y0, Y0
	VADDPD Y6, Y1, Y1
	VMULPD Y5, Y5, Y7
	VMULPD Y6, Y6, Y8
	VMULPD Y5, Y6, Y9
	VADDPD Y7, Y2, Y2
	VADDPD Y8, Y3, Y3
	VADDPD Y9, Y4, Y4
	ADDQ $4, AX
sidesCheck:
	CMPQ AX, CX
	JLT sides
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVUPD Y3, 96(DX)
	VMOVUPD Y4, 128(DX)
	VZEROUPPER
	RET

// func differencesVector(n, r, d, abs *float64, count int, d0 float64, out *[12]float64, negative *[4]int64)
TEXT ·differencesVector(SB), NOSPLIT, $0-64
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ d+16(FP), R8
	MOVQ abs+24(FP), R9
	MOVQ count+32(FP), CX
	VBROADCASTSD d0+40(FP), Y13
	MOVQ out+48(FP), DX
	MOVQ negative+56(FP), R10
	VBROADCASTSD magnitudes<>(SB), Y14
	VXORPD Y12, Y12, Y12
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	XORQ AX, AX
	JMP differencesCheck
	PCALIGN $64
differences:
	VMOVUPD (SI)(AX*8), Y5
	VSUBPD (DI)(AX*8), Y5, Y5
	VMOVUPD Y5, (R8)(AX*8)
	VANDPD Y14, Y5, Y6
	VMOVUPD Y6, (R9)(AX*8)
	VCMPPD $1, Y12, Y5, Y7
	VPSUBQ Y7, Y3, Y3
	VSUBPD Y13, Y5, Y5
	VADDPD Y6, Y2, Y2
	VADDPD Y5, Y0, Y0
	VMULPD Y5, Y5, Y5
	VADDPD Y5, Y1, Y1
	ADDQ $4, AX
differencesCheck:
	CMPQ AX, CX
	JLT differences
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVDQU Y3, (R10)
	VZEROUPPER
	RET

// The span of values: SPAN_START prepares the registers, SPAN_ADD adds the
// values in Y5 and leaves their magnitudes there, SPAN_END stores the lanes at DX
// and leaves in AX whether a value is not finite. The upper halves of
// magnitudes are enough for that.
#define SPAN_START \
	VBROADCASTSD infinity<>(SB), Y0 \
	VBROADCASTSD magnitudes<>(SB), Y14 \
	VMOVAPD Y0, Y2 \
	VXORPD Y3, Y3, Y3 \
	VSUBPD Y0, Y3, Y1

#define SPAN_ADD \
	VMINPD Y5, Y0, Y0 \
	VMAXPD Y5, Y1, Y1 \
	VANDPD Y14, Y5, Y5 \
	VMINPD Y5, Y2, Y2 \
	VPMAXUD Y5, Y3, Y3

#define SPAN_END \
	VPBROADCASTQ largest<>(SB), Y13 \
	VPCMPGTQ Y13, Y3, Y3 \
	VMOVUPD Y0, (DX) \
	VMOVUPD Y1, 32(DX) \
	VMOVUPD Y2, 64(DX) \
	VMOVMSKPD Y3, AX \
	VZEROUPPER

// func spanVector(values *float64, count int, out *spanLanes) (special uint32)
TEXT ·spanVector(SB), NOSPLIT, $0-28
	MOVQ values+0(FP), SI
	MOVQ count+8(FP), CX
	MOVQ out+16(FP), DX
	SPAN_START
	XORQ AX, AX
	PCALIGN $64
spanNext:
	VMOVUPD (SI)(AX*8), Y5
	SPAN_ADD
	ADDQ $4, AX
	CMPQ AX, CX
	JLT spanNext
	SPAN_END
	MOVL AX, special+24(FP)
	RET

// func smallVector(n, r *float64, count int, nNormal, rNormal float64, out *[20]int64)
TEXT ·smallVector(SB), NOSPLIT, $0-48
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ count+16(FP), CX
	VBROADCASTSD nNormal+24(FP), Y13
	VBROADCASTSD rNormal+32(FP), Y12
	MOVQ out+40(FP), DX
	VBROADCASTSD magnitudes<>(SB), Y14
	VXORPD Y11, Y11, Y11
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	XORQ AX, AX
	JMP smallCheck
	PCALIGN $64
small:
	VANDPD (SI)(AX*8), Y14, Y5
	VANDPD (DI)(AX*8), Y14, Y6
	VCMPPD $0, Y11, Y5, Y7
	VPSUBQ Y7, Y0, Y0
	VCMPPD $1, Y13, Y5, Y7
	VPSUBQ Y7, Y1, Y1
	VCMPPD $13, Y13, Y6, Y8
	VANDPD Y7, Y8, Y8
	VPSUBQ Y8, Y4, Y4
	VCMPPD $0, Y11, Y6, Y7
	VPSUBQ Y7, Y2, Y2
	VCMPPD $1, Y12, Y6, Y7
	VPSUBQ Y7, Y3, Y3
	ADDQ $4, AX
smallCheck:
	CMPQ AX, CX
	JLT small
	VMOVDQU Y0, (DX)
	VMOVDQU Y1, 32(DX)
	VMOVDQU Y2, 64(DX)
	VMOVDQU Y3, 96(DX)
	VMOVDQU Y4, 128(DX)
	VZEROUPPER
	RET

// func roundVector(dst *int64, values *float64, count int, form *Form)
TEXT ·roundVector(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ values+8(FP), SI
	MOVQ count+16(FP), CX
	MOVQ form+24(FP), DX
	VBROADCASTSD magnitudes<>(SB), Y15
	VMOVQ 0(DX), X14            // shift
	VPBROADCASTQ 8(DX), Y13     // half
	VPBROADCASTQ 16(DX), Y12    // base
	VPBROADCASTQ 24(DX), Y11    // normal
	VPBROADCASTQ 32(DX), Y10    // magic
	VPBROADCASTQ 40(DX), Y9     // beyond
	VPXOR Y8, Y8, Y8
	VPCMPEQQ Y7, Y7, Y7
	VPSRLQ $63, Y7, Y7          // 1
	XORQ AX, AX
	JMP roundCheck
	PCALIGN $64
roundNext:
	VMOVDQU (SI)(AX*8), Y0
	VPAND Y15, Y0, Y1           // magnitude
	VPCMPGTQ Y0, Y8, Y0         // sign
	VPSRLQ X14, Y1, Y2
	VPAND Y7, Y2, Y2
	VPADDQ Y13, Y1, Y3
	VPADDQ Y2, Y3, Y3
	VPSRLQ X14, Y3, Y3
	VPSUBQ Y12, Y3, Y3          // normal
	VADDPD Y10, Y1, Y4
	VPSUBQ Y10, Y4, Y4          // subnormal
	VPCMPGTQ Y1, Y11, Y5
	VPBLENDVB Y5, Y4, Y3, Y3
	VPCMPGTQ Y9, Y3, Y5
	VPBLENDVB Y5, Y9, Y3, Y3
	VPXOR Y0, Y3, Y3
	VPSUBQ Y0, Y3, Y3
	VMOVDQU Y3, (DI)(AX*8)
	ADDQ $4, AX
roundCheck:
	CMPQ AX, CX
	JLT roundNext
	VZEROUPPER
	RET

// func digestVector(n, r *int64, count int, out *[16]uint64)
TEXT ·digestVector(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ count+16(FP), CX
	MOVQ out+24(FP), DX
	VPBROADCASTQ firstKeys<>(SB), Y15
	VPBROADCASTQ lowKey<>(SB), Y14
	VPBROADCASTQ highKey<>(SB), Y13
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y11, Y11, Y11
	XORQ AX, AX
	JMP digestCheck
	PCALIGN $64
digest:
	VMOVDQU (SI)(AX*8), Y4
	VMOVDQU (DI)(AX*8), Y5
	VPSUBQ Y5, Y4, Y6           // distance
	VPCMPGTQ Y6, Y11, Y7
	VPXOR Y7, Y6, Y6
	VPSUBQ Y7, Y6, Y6
	VPADDQ Y6, Y3, Y3
	VPCMPGTQ Y2, Y6, Y7
	VPBLENDVB Y7, Y6, Y2, Y2
	VPXOR Y15, Y4, Y4           // hash of n
	VPSRLQ $32, Y4, Y6
	VPMULUDQ Y14, Y4, Y4
	VPMULUDQ Y13, Y6, Y6
	VPADDQ Y6, Y4, Y4
	VPSRLQ $29, Y4, Y6
	VPXOR Y6, Y4, Y4
	VPADDQ Y4, Y0, Y0
	VPXOR Y15, Y5, Y5           // hash of r
	VPSRLQ $32, Y5, Y6
	VPMULUDQ Y14, Y5, Y5
	VPMULUDQ Y13, Y6, Y6
	VPADDQ Y6, Y5, Y5
	VPSRLQ $29, Y5, Y6
	VPXOR Y6, Y5, Y5
	VPADDQ Y5, Y1, Y1
	ADDQ $4, AX
digestCheck:
	CMPQ AX, CX
	JLT digest
	VMOVDQU Y0, (DX)
	VMOVDQU Y1, 32(DX)
	VMOVDQU Y2, 64(DX)
	VMOVDQU Y3, 96(DX)
	VZEROUPPER
	RET

// func addVector(dst, values *float64, count int)
TEXT ·addVector(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ values+8(FP), SI
	MOVQ count+16(FP), CX
	XORQ AX, AX
	JMP addCheck
	PCALIGN $64
addNext:
	VMOVUPD (DI)(AX*8), Y0
	VADDPD (SI)(AX*8), Y0, Y0
	VMOVUPD Y0, (DI)(AX*8)
	ADDQ $4, AX
addCheck:
	CMPQ AX, CX
	JLT addNext
	VZEROUPPER
	RET

// func sumVector(values *float64, count int, out *[4]float64)
TEXT ·sumVector(SB), NOSPLIT, $0-24
	MOVQ values+0(FP), SI
	MOVQ count+8(FP), CX
	MOVQ out+16(FP), DX
	VXORPD Y0, Y0, Y0
	XORQ AX, AX
	JMP sumCheck
	PCALIGN $64
sumNext:
	VADDPD (SI)(AX*8), Y0, Y0
	ADDQ $4, AX
sumCheck:
	CMPQ AX, CX
	JLT sumNext
	VMOVUPD Y0, (DX)
	VZEROUPPER
	RET

// fromVector returns the number of values before the first group that has one of
// limit or more.
//
// func fromVector(values *float64, count int, limit float64) int
TEXT ·fromVector(SB), NOSPLIT, $0-32
	MOVQ values+0(FP), SI
	MOVQ count+8(FP), CX
	VBROADCASTSD limit+16(FP), Y1
	XORQ AX, AX
	JMP fromCheck
	PCALIGN $64
fromNext:
	VCMPPD $2, (SI)(AX*8), Y1, Y0 // limit <= value
	VMOVMSKPD Y0, DX
	TESTL DX, DX
	JNE fromFound
	ADDQ $4, AX
fromCheck:
	CMPQ AX, CX
	JLT fromNext
fromFound:
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET

// The decoders set dst to the elements in src and out to their span. count is not
// 0.

// func float32sVector(dst *float64, src *byte, count int, out *spanLanes) (special uint32)
TEXT ·float32sVector(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ count+16(FP), CX
	MOVQ out+24(FP), DX
	SPAN_START
	XORQ AX, AX
	PCALIGN $64
float32sNext:
	VCVTPS2PD (SI)(AX*4), Y5
	VMOVUPD Y5, (DI)(AX*8)
	SPAN_ADD
	ADDQ $4, AX
	CMPQ AX, CX
	JLT float32sNext
	SPAN_END
	MOVL AX, special+32(FP)
	RET

// func float16sVector(dst *float64, src *byte, count int, out *spanLanes) (special uint32)
TEXT ·float16sVector(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ count+16(FP), CX
	MOVQ out+24(FP), DX
	SPAN_START
	XORQ AX, AX
	PCALIGN $64
float16sNext:
	VCVTPH2PS (SI)(AX*2), X5
	VCVTPS2PD X5, Y5
	VMOVUPD Y5, (DI)(AX*8)
	SPAN_ADD
	ADDQ $4, AX
	CMPQ AX, CX
	JLT float16sNext
	SPAN_END
	MOVL AX, special+32(FP)
	RET

// func bfloat16sVector(dst *float64, src *byte, count int, out *spanLanes) (special uint32)
TEXT ·bfloat16sVector(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ count+16(FP), CX
	MOVQ out+24(FP), DX
	SPAN_START
	XORQ AX, AX
	PCALIGN $64
bfloat16sNext:
	VPMOVZXWD (SI)(AX*2), X5
	VPSLLD $16, X5, X5
	VCVTPS2PD X5, Y5
	VMOVUPD Y5, (DI)(AX*8)
	SPAN_ADD
	ADDQ $4, AX
	CMPQ AX, CX
	JLT bfloat16sNext
	SPAN_END
	MOVL AX, special+32(FP)
	RET

// func codes16Vector(dst *int64, src *byte, count int)
TEXT ·codes16Vector(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ count+16(FP), CX
	VPXOR Y8, Y8, Y8
	VPCMPEQQ Y7, Y7, Y7
	VPSRLQ $49, Y7, Y7
	XORQ AX, AX
	JMP codes16Check
	PCALIGN $64
codes16:
	VPMOVSXWQ (SI)(AX*2), Y0
	VPCMPGTQ Y0, Y8, Y1
	VPAND Y7, Y0, Y0
	VPXOR Y1, Y0, Y0
	VPSUBQ Y1, Y0, Y0
	VMOVDQU Y0, (DI)(AX*8)
	ADDQ $4, AX
codes16Check:
	CMPQ AX, CX
	JLT codes16
	VZEROUPPER
	RET

// func halvesVector(dst *int64, src *byte, count int)
TEXT ·halvesVector(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ count+16(FP), CX
	VPXOR Y8, Y8, Y8
	VPCMPEQQ Y7, Y7, Y7
	VPSRLQ $49, Y7, Y7
	XORQ AX, AX
	JMP halvesCheck
	PCALIGN $64
halves:
	VMOVUPS (SI)(AX*4), X0
	VCVTPS2PH $0, X0, X0        // to nearest, ties to even
	VPMOVSXWQ X0, Y0
	VPCMPGTQ Y0, Y8, Y1
	VPAND Y7, Y0, Y0
	VPXOR Y1, Y0, Y0
	VPSUBQ Y1, Y0, Y0
	VMOVDQU Y0, (DI)(AX*8)
	ADDQ $4, AX
halvesCheck:
	CMPQ AX, CX
	JLT halves
	VZEROUPPER
	RET

// func codes32Vector(dst *int64, src *byte, count int)
TEXT ·codes32Vector(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ count+16(FP), CX
	VPXOR Y8, Y8, Y8
	VPCMPEQQ Y7, Y7, Y7
	VPSRLQ $33, Y7, Y7
	XORQ AX, AX
	JMP codes32Check
	PCALIGN $64
codes32:
	VPMOVSXDQ (SI)(AX*4), Y0
	VPCMPGTQ Y0, Y8, Y1
	VPAND Y7, Y0, Y0
	VPXOR Y1, Y0, Y0
	VPSUBQ Y1, Y0, Y0
	VMOVDQU Y0, (DI)(AX*8)
	ADDQ $4, AX
codes32Check:
	CMPQ AX, CX
	JLT codes32
	VZEROUPPER
	RET

// func exceedsVector(abs, r *float64, count int, atol, rtol float64) uint32
TEXT ·exceedsVector(SB), NOSPLIT, $0-44
	MOVQ abs+0(FP), SI
	MOVQ r+8(FP), DI
	MOVQ count+16(FP), CX
	VBROADCASTSD atol+24(FP), Y13
	VBROADCASTSD rtol+32(FP), Y12
	VBROADCASTSD magnitudes<>(SB), Y14
	VXORPD Y0, Y0, Y0
	XORQ AX, AX
	JMP exceedsCheck
	PCALIGN $64
exceeds:
	VANDPD (DI)(AX*8), Y14, Y1
	VMULPD Y12, Y1, Y1
	VADDPD Y13, Y1, Y1
	VMOVUPD (SI)(AX*8), Y2
	VCMPPD $6, Y1, Y2, Y2
	VORPD Y2, Y0, Y0
	ADDQ $4, AX
exceedsCheck:
	CMPQ AX, CX
	JLT exceeds
	VMOVMSKPD Y0, AX
	MOVL AX, ret+40(FP)
	VZEROUPPER
	RET

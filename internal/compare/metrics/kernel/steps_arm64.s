//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// STEPS sets V2 and V3 to the differences of r of four pairs from the next ones, V4 and
// V5 to those of d.
#define STEPS \
	VLD1.P 32(R0), [V4.D2, V5.D2] \
	VLD1.P 32(R1), [V6.D2, V7.D2] \
	VLD1.P 32(R2), [V16.D2, V17.D2] \
	VLD1.P 32(R3), [V2.D2, V3.D2] \
	FSUB_D4(6, 4, 4) \
	FSUB_D4(2, 16, 16) \
	FSUB_D4(6, 2, 2) \
	FSUB_D4(4, 16, 4)

#define ADD_STEPS \
	FMUL_D4(2, 2, 2) \
	FMUL_D4(4, 4, 4) \
	FADD_D4(2, 18, 18) \
	FADD_D4(4, 0, 0)

// stepsVector adds the squares of the differences of count pairs from the next ones.
// 22 instructions for four.
//
// func stepsVector(n, r *float64, count int, out *[8]float64)
TEXT ·stepsVector(SB), NOSPLIT, $0-32
	MOVD n+0(FP), R0
	MOVD r+8(FP), R1
	MOVD count+16(FP), R4
	MOVD out+24(FP), R5
	ADD $8, R0, R2
	ADD $8, R1, R3
	EOR_D4(0, 0, 0)
	EOR_D4(18, 18, 18)
	PCALIGN $16
stepsNext:
	STEPS
	ADD_STEPS
	SUBS $4, R4
	BNE stepsNext
	VST1.P [V0.D2, V1.D2], 32(R5)
	VST1 [V18.D2, V19.D2], (R5)
	RET

// keptStepsVector adds the squares of the differences of count pairs from the next
// ones, by the bits that keep has. 27 instructions for four.
//
// func keptStepsVector(n, r *float64, keep *uint64, count int, out *[8]float64)
TEXT ·keptStepsVector(SB), NOSPLIT, $0-40
	MOVD n+0(FP), R0
	MOVD r+8(FP), R1
	MOVD keep+16(FP), R6
	MOVD count+24(FP), R4
	MOVD out+32(FP), R5
	ADD $8, R0, R2
	ADD $8, R1, R3
	EOR_D4(0, 0, 0)
	EOR_D4(18, 18, 18)
	PCALIGN $16
keptNext:
	STEPS
	VLD1.P 32(R6), [V20.D2, V21.D2]
	AND_D4(20, 2, 2)
	AND_D4(20, 4, 4)
	ADD_STEPS
	SUBS $4, R4
	BNE keptNext
	VST1.P [V0.D2, V1.D2], 32(R5)
	VST1 [V18.D2, V19.D2], (R5)
	RET

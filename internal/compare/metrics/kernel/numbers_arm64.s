//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

DATA numbersConstants<>+0(SB)/8, $12.0
DATA numbersConstants<>+8(SB)/8, $1000.0
DATA numbersConstants<>+16(SB)/8, $1.0e9
DATA numbersConstants<>+24(SB)/8, $1.0e-300
GLOBL numbersConstants<>(SB), RODATA|NOPTR, $32

// numbersVector sets the numbers of four groups. 115 instructions in all, of which 22
// divide and 8 take roots.
//
// func numbersVector(n *Numbers, q *Quad, epsilon float64)
TEXT ·numbersVector(SB), NOSPLIT, $0-24
	MOVD n+0(FP), R0
	MOVD q+8(FP), R1
	FMOVD epsilon+16(FP), F31
	VDUP V31.D[0], V31.D2
	MOVD $numbersConstants<>(SB), R2
	FLDPQ (R2), (F26, F28)
	VDUP V26.D[1], V27.D2       // 1000
	VDUP V26.D[0], V26.D2       // 12
	VDUP V28.D[1], V30.D2       // leastSpread
	VDUP V28.D[0], V28.D2       // Beyond
	VMOV V28.B16, V29.B16
	FLDPQ 288(R1), (F24, F25)   // counts
	FLDPQ 32(R1), (F0, F1)
	FDIV_D4(24, 0, 2)
	FMUL_D4(2, 0, 0)
	FLDPQ 64(R1), (F4, F5)
	FSUB_D4(0, 4, 4)
	FCMLTZ_D4(4, 6)
	BIC_D4(6, 4, 4)
	FDIV_D4(24, 4, 4)           // the square of RefStd
	FLDPQ (R1), (F0, F1)
	FADD_D4(0, 2, 2)
	FSTPQ (F2, F3), (R0)        // RefMean
	FSQRT_D4(4, 6)
	FSTPQ (F6, F7), 32(R0)      // RefStd
	FMUL_D4(2, 2, 2)
	FADD_D4(2, 4, 4)
	FSQRT_D4(4, 4)
	FSTPQ (F4, F5), 64(R0)      // RefRMS
	FLDPQ 128(R1), (F8, F9)
	FDIV_D4(24, 8, 8)
	FSQRT_D4(8, 8)
	FSTPQ (F8, F9), 96(R0)      // RMS
	FLDPQ 96(R1), (F0, F1)
	FDIV_D4(24, 0, 0)
	FSTPQ (F0, F1), 128(R0)     // Mean
	FLDPQ 192(R1), (F0, F1)
	EOR_D4(2, 2, 2)
	FMAXNM_D4(2, 0, 0)
	FDIV_ALL(26, 0, 0)
	FDIV_D4(24, 0, 0)
	FSQRT_D4(0, 0)
	FMUL_ALL(31, 0, 0)
	FSTPQ (F0, F1), 160(R0)     // Rounding
	FCMEQZ_D4(4, 10)            // RefRMS is 0
	FCMEQZ_D4(8, 12)            // RMS is 0
	FMAXNM_ALL(30, 6, 14)
	FDIV_D4(14, 8, 16)
	FMINNM_ALL(28, 16, 16)
	BIT_D4(10, 28, 16)
	BIC_D4(12, 16, 16)
	FSTPQ (F16, F17), 192(R0)   // Relative
	FDIV_D4(14, 4, 16)
	FMINNM_ALL(28, 16, 16)
	BIC_D4(10, 16, 16)
	FSTPQ (F16, F17), 224(R0)   // Inverse
	FDIV_ALL(27, 4, 16)
	FCMGT_D4(6, 16, 16)         // RefStd is less than a thousandth
	BSL_D4(6, 4, 16)
	FDIV_D4(16, 8, 16)
	ORR_D4(10, 12, 12)
	BIC_D4(12, 16, 16)
	FSTPQ (F16, F17), 256(R0)   // View
	FMUL_D4(4, 4, 0)
	FMUL_D4(24, 0, 0)
	FLDPQ 160(R1), (F2, F3)
	FMUL_D4(2, 2, 2)
	FDIV_D4(0, 2, 2)
	FCMEQZ_D4(0, 0)
	BIC_D4(0, 2, 2)
	FSTPQ (F2, F3), 288(R0)     // Scale
	RET

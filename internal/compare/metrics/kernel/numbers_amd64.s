//go:build !purego

#include "textflag.h"

// The constants, four of each.
DATA twelve4<>+0(SB)/8, $12.0
DATA twelve4<>+8(SB)/8, $12.0
DATA twelve4<>+16(SB)/8, $12.0
DATA twelve4<>+24(SB)/8, $12.0
GLOBL twelve4<>(SB), RODATA|NOPTR, $32

DATA thousand4<>+0(SB)/8, $1000.0
DATA thousand4<>+8(SB)/8, $1000.0
DATA thousand4<>+16(SB)/8, $1000.0
DATA thousand4<>+24(SB)/8, $1000.0
GLOBL thousand4<>(SB), RODATA|NOPTR, $32

DATA beyond4<>+0(SB)/8, $1.0e9
DATA beyond4<>+8(SB)/8, $1.0e9
DATA beyond4<>+16(SB)/8, $1.0e9
DATA beyond4<>+24(SB)/8, $1.0e9
GLOBL beyond4<>(SB), RODATA|NOPTR, $32

DATA leastSpread4<>+0(SB)/8, $1.0e-300
DATA leastSpread4<>+8(SB)/8, $1.0e-300
DATA leastSpread4<>+16(SB)/8, $1.0e-300
DATA leastSpread4<>+24(SB)/8, $1.0e-300
GLOBL leastSpread4<>(SB), RODATA|NOPTR, $32

// numbersVector sets the numbers of four groups.
//
// func numbersVector(n *Numbers, q *Quad, epsilon float64)
TEXT ·numbersVector(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), DI
	MOVQ q+8(FP), SI
	VMOVUPD 288(SI), Y15        // counts
	VXORPD Y14, Y14, Y14
	VMOVUPD 32(SI), Y0
	VDIVPD Y15, Y0, Y1
	VMULPD Y1, Y0, Y0
	VMOVUPD 64(SI), Y2
	VSUBPD Y0, Y2, Y2
	VMAXPD Y14, Y2, Y2
	VDIVPD Y15, Y2, Y2          // the square of RefStd
	VADDPD (SI), Y1, Y1
	VMOVUPD Y1, (DI)            // RefMean
	VSQRTPD Y2, Y3
	VMOVUPD Y3, 32(DI)          // RefStd
	VMULPD Y1, Y1, Y4
	VADDPD Y4, Y2, Y4
	VSQRTPD Y4, Y4
	VMOVUPD Y4, 64(DI)          // RefRMS
	VMOVUPD 128(SI), Y5
	VDIVPD Y15, Y5, Y5
	VSQRTPD Y5, Y5
	VMOVUPD Y5, 96(DI)          // RMS
	VMOVUPD 96(SI), Y6
	VDIVPD Y15, Y6, Y6
	VMOVUPD Y6, 128(DI)         // Mean
	VMAXPD 192(SI), Y14, Y7
	VDIVPD twelve4<>(SB), Y7, Y7
	VDIVPD Y15, Y7, Y7
	VSQRTPD Y7, Y7
	VBROADCASTSD epsilon+16(FP), Y8
	VMULPD Y8, Y7, Y7
	VMOVUPD Y7, 160(DI)         // Rounding
	VCMPPD $0, Y14, Y4, Y8      // RefRMS is 0
	VCMPPD $0, Y14, Y5, Y9      // RMS is 0
	VMOVUPD beyond4<>(SB), Y13
	VMAXPD leastSpread4<>(SB), Y3, Y10
	VDIVPD Y10, Y5, Y11
	VMINPD Y13, Y11, Y11
	VBLENDVPD Y8, Y13, Y11, Y11
	VANDNPD Y11, Y9, Y11
	VMOVUPD Y11, 192(DI)        // Relative
	VDIVPD Y10, Y4, Y12
	VMINPD Y13, Y12, Y12
	VANDNPD Y12, Y8, Y12
	VMOVUPD Y12, 224(DI)        // Inverse
	VDIVPD thousand4<>(SB), Y4, Y13
	VCMPPD $1, Y13, Y3, Y13
	VBLENDVPD Y13, Y4, Y3, Y13
	VDIVPD Y13, Y5, Y13
	VORPD Y8, Y9, Y9
	VANDNPD Y13, Y9, Y13
	VMOVUPD Y13, 256(DI)        // View
	VMULPD Y4, Y4, Y0
	VMULPD Y15, Y0, Y0
	VMOVUPD 160(SI), Y1
	VMULPD Y1, Y1, Y1
	VDIVPD Y0, Y1, Y1
	VCMPPD $0, Y14, Y0, Y0
	VANDNPD Y1, Y0, Y1
	VMOVUPD Y1, 288(DI)         // Scale
	VZEROUPPER
	RET

//go:build !purego

#include "textflag.h"

// MASKS sets the masks of magnitudes and of exponents.
#define MASKS \
	VPCMPEQQ Y15, Y15, Y15 \
	VPSRLQ $53, Y15, Y14 \
	VPSLLQ $52, Y14, Y14 \
	VPSRLQ $1, Y15, Y15

// ADD_DIFFERENCES sets Y8 to n-r, of n there and r in Y9, adds what the sums have of
// it, and leaves the powers of two in Y10.
#define ADD_DIFFERENCES \
	VSUBPD Y9, Y8, Y8 \
	VADDPD Y8, Y2, Y2 \
	VMULPD Y8, Y8, Y10 \
	VADDPD Y10, Y3, Y3 \
	VMULPD Y8, Y9, Y10 \
	VADDPD Y10, Y4, Y4 \
	VANDPD Y15, Y8, Y8 \
	VMAXPD Y8, Y6, Y6 \
	VANDPD Y15, Y9, Y10 \
	VMAXPD Y10, Y7, Y7 \
	VANDPD Y14, Y9, Y10 \
	VMAXPD Y13, Y10, Y10

// ADD_REFERENCES adds what the sums have of r-Shift in Y9 and the powers in Y10.
#define ADD_REFERENCES \
	VMULPD Y10, Y10, Y10 \
	VADDPD Y10, Y5, Y5 \
	VADDPD Y9, Y0, Y0 \
	VMULPD Y9, Y9, Y9 \
	VADDPD Y9, Y1, Y1

// columnsVector adds as many rows to as many quads; stride is that of rows in bytes.
//
// func columnsVector(q *Quad, n, r *float64, quads, rows, stride int, floor float64)
TEXT ·columnsVector(SB), NOSPLIT, $0-56
	MOVQ q+0(FP), DX
	MOVQ n+8(FP), SI
	MOVQ r+16(FP), DI
	MOVQ quads+24(FP), CX
	MOVQ rows+32(FP), BX
	MOVQ stride+40(FP), R10
	VBROADCASTSD floor+48(FP), Y13
	MASKS
columnsQuad:
	VMOVUPD (DX), Y12
	VMOVUPD 32(DX), Y0
	VMOVUPD 64(DX), Y1
	VMOVUPD 96(DX), Y2
	VMOVUPD 128(DX), Y3
	VMOVUPD 160(DX), Y4
	VMOVUPD 192(DX), Y5
	VMOVUPD 224(DX), Y6
	VMOVUPD 256(DX), Y7
	MOVQ SI, R8
	MOVQ DI, R9
	MOVQ BX, AX
	PCALIGN $32
columnsRow:
	VMOVUPD (R8), Y8
	VMOVUPD (R9), Y9
	ADD_DIFFERENCES
	VSUBPD Y12, Y9, Y9
	ADD_REFERENCES
	ADDQ R10, R8
	ADDQ R10, R9
	DECQ AX
	JNE columnsRow
	VMOVUPD Y0, 32(DX)
	VMOVUPD Y1, 64(DX)
	VMOVUPD Y2, 96(DX)
	VMOVUPD Y3, 128(DX)
	VMOVUPD Y4, 160(DX)
	VMOVUPD Y5, 192(DX)
	VMOVUPD Y6, 224(DX)
	VMOVUPD Y7, 256(DX)
	ADDQ $320, DX
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ CX
	JNE columnsQuad
	VZEROUPPER
	RET

//go:build !purego

#include "textflag.h"

// hexGroupsVector is hexGroups with NEON. 34 instructions for 16 digits.
//
// func hexGroupsVector(dst, src []byte) (written, read int)
TEXT ·hexGroupsVector(SB), NOSPLIT, $0-64
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R1
	MOVD src_base+24(FP), R2
	MOVD src_len+32(FP), R3
	VMOVI $0x30, V16.B16
	VMOVI $9, V17.B16
	VMOVI $0x20, V18.B16
	VMOVI $0x61, V19.B16
	VMOVI $5, V20.B16
	VMOVI $10, V21.B16
	PCALIGN $16
next:
	CMP $17, R3
	BLT done
	CMP $8, R1
	BLT done
	MOVBU (R2), R4
	CMP $10, R4                 // a line end
	BNE digits
	ADD $1, R2
	SUB $1, R3
digits:
	FMOVQ (R2), F0
	VORR V18.B16, V0.B16, V1.B16
	VSUB V16.B16, V0.B16, V0.B16 // of 0 to 9
	VSUB V19.B16, V1.B16, V1.B16 // of a to f, and A to F
	VUMIN V17.B16, V0.B16, V2.B16
	VUMIN V20.B16, V1.B16, V3.B16
	VCMEQ V0.B16, V2.B16, V2.B16
	VCMEQ V1.B16, V3.B16, V3.B16
	VADD V21.B16, V1.B16, V1.B16
	VAND V2.B16, V0.B16, V0.B16
	VAND V3.B16, V1.B16, V1.B16
	VORR V2.B16, V3.B16, V2.B16
	VORR V0.B16, V1.B16, V0.B16 // the values
	VMOV V2.D[0], R4
	VMOV V2.D[1], R5
	AND R4, R5
	CMN $1, R5                  // all are digits
	BNE done
	VSHL $4, V0.H8, V1.H8       // the first digit of a byte is in the lower half of a word
	VUSHR $8, V0.H8, V0.H8
	VORR V0.B16, V1.B16, V0.B16
	VUZP1 V0.B16, V0.B16, V0.B16
	FMOVD.P F0, 8(R0)
	SUB $8, R1
	ADD $16, R2
	SUB $16, R3
	B next
done:
	MOVD dst_base+0(FP), R4
	SUB R4, R0
	MOVD src_base+24(FP), R4
	SUB R4, R2
	MOVD R0, written+48(FP)
	MOVD R2, read+56(FP)
	RET

//go:build !purego

#include "textflag.h"

DATA hexZero<>+0(SB)/8, $0x3030303030303030
DATA hexZero<>+8(SB)/8, $0x3030303030303030
GLOBL hexZero<>(SB), RODATA|NOPTR, $16

DATA hexNine<>+0(SB)/8, $0x0909090909090909
DATA hexNine<>+8(SB)/8, $0x0909090909090909
GLOBL hexNine<>(SB), RODATA|NOPTR, $16

DATA hexSmall<>+0(SB)/8, $0x2020202020202020
DATA hexSmall<>+8(SB)/8, $0x2020202020202020
GLOBL hexSmall<>(SB), RODATA|NOPTR, $16

DATA hexLetter<>+0(SB)/8, $0x6161616161616161
DATA hexLetter<>+8(SB)/8, $0x6161616161616161
GLOBL hexLetter<>(SB), RODATA|NOPTR, $16

DATA hexFive<>+0(SB)/8, $0x0505050505050505
DATA hexFive<>+8(SB)/8, $0x0505050505050505
GLOBL hexFive<>(SB), RODATA|NOPTR, $16

DATA hexTen<>+0(SB)/8, $0x0a0a0a0a0a0a0a0a
DATA hexTen<>+8(SB)/8, $0x0a0a0a0a0a0a0a0a
GLOBL hexTen<>(SB), RODATA|NOPTR, $16

DATA hexByte<>+0(SB)/8, $0x00ff00ff00ff00ff
DATA hexByte<>+8(SB)/8, $0x00ff00ff00ff00ff
GLOBL hexByte<>(SB), RODATA|NOPTR, $16

// hexGroupsVector is hexGroups with instructions that every amd64 processor has.
//
// func hexGroupsVector(dst, src []byte) (written, read int)
TEXT ·hexGroupsVector(SB), NOSPLIT, $0-64
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), R8
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), CX
	MOVOU hexZero<>(SB), X8
	MOVOU hexNine<>(SB), X9
	MOVOU hexSmall<>(SB), X10
	MOVOU hexLetter<>(SB), X11
	MOVOU hexFive<>(SB), X12
	MOVOU hexTen<>(SB), X13
	MOVOU hexByte<>(SB), X14
	PCALIGN $32
next:
	CMPQ CX, $17
	JLT done
	CMPQ R8, $8
	JLT done
	CMPB (SI), $10              // a line end
	JNE digits
	INCQ SI
	DECQ CX
digits:
	MOVOU (SI), X0
	MOVO X0, X1
	PSUBB X8, X0                // of 0 to 9
	POR X10, X1
	PSUBB X11, X1               // of a to f, and A to F
	MOVO X0, X2
	MOVO X1, X3
	PMINUB X9, X2
	PMINUB X12, X3
	PCMPEQB X0, X2
	PCMPEQB X1, X3
	PADDB X13, X1
	PAND X2, X0
	PAND X3, X1
	POR X3, X2
	POR X1, X0                  // the values
	PMOVMSKB X2, AX
	CMPL AX, $0xffff
	JNE done
	MOVO X0, X1
	PSLLW $4, X0                // the first digit of a byte is in the lower half of a word
	PSRLW $8, X1
	POR X1, X0
	PAND X14, X0
	PACKUSWB X0, X0
	MOVQ X0, (DI)
	ADDQ $8, DI
	SUBQ $8, R8
	ADDQ $16, SI
	SUBQ $16, CX
	JMP next
done:
	SUBQ dst_base+0(FP), DI
	SUBQ src_base+24(FP), SI
	MOVQ DI, written+48(FP)
	MOVQ SI, read+56(FP)
	RET

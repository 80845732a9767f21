//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "relatives512_amd64.h"

// relatives512 divides, adds up and bounds count pairs, a multiple of eight above 0, and
// makes their marks, while it counts those whose marks are made. A group of eight is
// divided while the one before it is marked: no instruction waits for a quotient in the
// queues of the processor, which would keep the others from being counted.
//
// func relatives512(rel, abs, r *float64, count int, marks *uint64, absCounts, relCounts *uint32, out *ratioLanes)
TEXT ·relatives512(SB), NOSPLIT, $0-64
	MOVQ rel+0(FP), R9
	MOVQ abs+8(FP), SI
	MOVQ r+16(FP), DI
	MOVQ count+24(FP), CX
	MOVQ marks+32(FP), R8
	MOVQ absCounts+40(FP), R12
	MOVQ relCounts+48(FP), R13
	RATIOS_START
	XORQ R14, R14
	XORQ AX, AX
	JMP relatives512Load
	PCALIGN $64
relatives512Next:
	MARK(relatives512Row)
	CMPQ AX, $64
	JLT relatives512Load
	COUNT_EIGHT
relatives512Load:
	VMOVUPD (DI)(AX*8), Z20
	VMOVUPD (SI)(AX*8), Z21
	VPANDQ.BCST MAGNITUDES, Z20, Z20
	DIVIDE
	ADDQ $8, AX
	CMPQ AX, CX
	JLT relatives512Next
	MARK(relatives512LastRow)
relatives512Count:
	COUNT_EIGHT
	CMPQ R14, CX
	JLT relatives512Count
	MOVQ out+56(FP), DX
	RATIOS_END
	VZEROUPPER
	RET

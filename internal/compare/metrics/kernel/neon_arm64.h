// Instructions that Go's assembler has no names for, as words. Operands are numbers of
// vector registers in the order of that assembler: the result comes last, and what is
// subtracted, divided by or compared with comes first. D2 are the two float64 or int64
// of a register, D4 four of them in two registers, whose first one is named. Nothing
// here multiplies and adds floating-point numbers in one step.
//
// Encodings: Arm Architecture Reference Manual for A-profile (DDI 0487), C4.1 "A64
// instruction set encoding", Advanced SIMD three same, two-register miscellaneous,
// permute and shift by immediate. All are of Armv8.0.

// FADD d.2D, n.2D, m.2D
#define FADD_D2(m, n, d) WORD $(0x4e60d400 | (m)<<16 | (n)<<5 | (d))
// FSUB d.2D, n.2D, m.2D
#define FSUB_D2(m, n, d) WORD $(0x4ee0d400 | (m)<<16 | (n)<<5 | (d))
// FMUL d.2D, n.2D, m.2D
#define FMUL_D2(m, n, d) WORD $(0x6e60dc00 | (m)<<16 | (n)<<5 | (d))
// FDIV d.2D, n.2D, m.2D
#define FDIV_D2(m, n, d) WORD $(0x6e60fc00 | (m)<<16 | (n)<<5 | (d))
// FMAXNM d.2D, n.2D, m.2D
#define FMAXNM_D2(m, n, d) WORD $(0x4e60c400 | (m)<<16 | (n)<<5 | (d))
// FCMGT d.2D, n.2D, m.2D
#define FCMGT_D2(m, n, d) WORD $(0x6ee0e400 | (m)<<16 | (n)<<5 | (d))
// ADD d.2D, n.2D, m.2D
#define ADD_D2(m, n, d) WORD $(0x4ee08400 | (m)<<16 | (n)<<5 | (d))
// SUB d.2D, n.2D, m.2D
#define SUB_D2(m, n, d) WORD $(0x6ee08400 | (m)<<16 | (n)<<5 | (d))
// AND d.16B, n.16B, m.16B
#define AND_D2(m, n, d) WORD $(0x4e201c00 | (m)<<16 | (n)<<5 | (d))
// BIC d.16B, n.16B, m.16B
#define BIC_D2(m, n, d) WORD $(0x4e601c00 | (m)<<16 | (n)<<5 | (d))
// ORR d.16B, n.16B, m.16B
#define ORR_D2(m, n, d) WORD $(0x4ea01c00 | (m)<<16 | (n)<<5 | (d))
// EOR d.16B, n.16B, m.16B
#define EOR_D2(m, n, d) WORD $(0x6e201c00 | (m)<<16 | (n)<<5 | (d))
// FADDP d.2D, n.2D, m.2D
#define FADDP_D2(m, n, d) WORD $(0x6e60d400 | (m)<<16 | (n)<<5 | (d))
// FMAXNMP d.2D, n.2D, m.2D
#define FMAXNMP_D2(m, n, d) WORD $(0x6e60c400 | (m)<<16 | (n)<<5 | (d))
// FABS d.2D, n.2D
#define FABS_D2(n, d) WORD $(0x4ee0f800 | (n)<<5 | (d))
// FCMLT d.2D, n.2D, #0.0
#define FCMLTZ_D2(n, d) WORD $(0x4ee0e800 | (n)<<5 | (d))
// CMEQ d.2D, n.2D, #0
#define CMEQZ_D2(n, d) WORD $(0x4ee09800 | (n)<<5 | (d))
// CMLT d.2D, n.2D, #0
#define CMLTZ_D2(n, d) WORD $(0x4ee0a800 | (n)<<5 | (d))
// CMGT d.2D, n.2D, #0
#define CMGTZ_D2(n, d) WORD $(0x4ee08800 | (n)<<5 | (d))
// USHR d.2D, n.2D, #s
#define USHR_D2(s, n, d) WORD $(0x6f000400 | (128-(s))<<16 | (n)<<5 | (d))
// SHL d.2D, n.2D, #s
#define SHL_D2(s, n, d) WORD $(0x4f005400 | (64+(s))<<16 | (n)<<5 | (d))
// SLI d.2D, n.2D, #s
#define SLI_D2(s, n, d) WORD $(0x6f005400 | (64+(s))<<16 | (n)<<5 | (d))
// SUB d.8H, n.8H, m.8H
#define SUB_H8(m, n, d) WORD $(0x6e608400 | (m)<<16 | (n)<<5 | (d))
// UMIN d.8H, n.8H, m.8H
#define UMIN_H8(m, n, d) WORD $(0x6e606c00 | (m)<<16 | (n)<<5 | (d))
// UMIN d.4S, n.4S, m.4S
// ZIP1 d.2D, n.2D, m.2D
#define ZIP1_D2(m, n, d) WORD $(0x4ec03800 | (m)<<16 | (n)<<5 | (d))
// ZIP2 d.2D, n.2D, m.2D
#define ZIP2_D2(m, n, d) WORD $(0x4ec07800 | (m)<<16 | (n)<<5 | (d))

// The same of four values.
#define FADD_D4(m, n, d) FADD_D2(m, n, d); FADD_D2((m)+1, (n)+1, (d)+1)
#define FSUB_D4(m, n, d) FSUB_D2(m, n, d); FSUB_D2((m)+1, (n)+1, (d)+1)
#define FMUL_D4(m, n, d) FMUL_D2(m, n, d); FMUL_D2((m)+1, (n)+1, (d)+1)
#define FDIV_D4(m, n, d) FDIV_D2(m, n, d); FDIV_D2((m)+1, (n)+1, (d)+1)
#define FMAXNM_D4(m, n, d) FMAXNM_D2(m, n, d); FMAXNM_D2((m)+1, (n)+1, (d)+1)
#define BIC_D4(m, n, d) BIC_D2(m, n, d); BIC_D2((m)+1, (n)+1, (d)+1)
#define EOR_D4(m, n, d) EOR_D2(m, n, d); EOR_D2((m)+1, (n)+1, (d)+1)
#define FABS_D4(n, d) FABS_D2(n, d); FABS_D2((n)+1, (d)+1)
#define FCMLTZ_D4(n, d) FCMLTZ_D2(n, d); FCMLTZ_D2((n)+1, (d)+1)
#define CMLTZ_D4(n, d) CMLTZ_D2(n, d); CMLTZ_D2((n)+1, (d)+1)

// The same with one register for all four, which holds a value twice.
#define FMAXNM_ALL(m, n, d) FMAXNM_D2(m, n, d); FMAXNM_D2(m, (n)+1, (d)+1)
#define AND_ALL(m, n, d) AND_D2(m, n, d); AND_D2(m, (n)+1, (d)+1)

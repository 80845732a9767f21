// Instructions that Go's assembler has no names for, as words, as in neon_arm64.h of
// internal/compare/metrics/kernel, whose test looks at these too.

// FADD d.2D, n.2D, m.2D
#define FADD_D2(m, n, d) WORD $(0x4e60d400 | (m)<<16 | (n)<<5 | (d))
// FSUB d.2D, n.2D, m.2D
#define FSUB_D2(m, n, d) WORD $(0x4ee0d400 | (m)<<16 | (n)<<5 | (d))
// SMIN d.8H, n.8H, m.8H
#define SMIN_H8(m, n, d) WORD $(0x4e606c00 | (m)<<16 | (n)<<5 | (d))
// SMAX d.8H, n.8H, m.8H
#define SMAX_H8(m, n, d) WORD $(0x4e606400 | (m)<<16 | (n)<<5 | (d))
// SMIN d.4S, n.4S, m.4S
#define SMIN_S4(m, n, d) WORD $(0x4ea06c00 | (m)<<16 | (n)<<5 | (d))
// SMAX d.4S, n.4S, m.4S
#define SMAX_S4(m, n, d) WORD $(0x4ea06400 | (m)<<16 | (n)<<5 | (d))
// SSHR d.8H, n.8H, #15
#define SIGN_H8(n, d) WORD $(0x4f110400 | (n)<<5 | (d))
// SSHR d.4S, n.4S, #31
#define SIGN_S4(n, d) WORD $(0x4f210400 | (n)<<5 | (d))
// FCVTL d.4S, n.4H
#define FCVTL_S4(n, d) WORD $(0x0e217800 | (n)<<5 | (d))
// FCVTL2 d.4S, n.8H
#define FCVTL2_S4(n, d) WORD $(0x4e217800 | (n)<<5 | (d))
// FCVTL d.2D, n.2S
#define FCVTL_D2(n, d) WORD $(0x0e617800 | (n)<<5 | (d))
// FCVTL2 d.2D, n.4S
#define FCVTL2_D2(n, d) WORD $(0x4e617800 | (n)<<5 | (d))

// The same of four values in two registers.
#define FADD_D4(m, n, d) FADD_D2(m, n, d); FADD_D2((m)+1, (n)+1, (d)+1)
#define FSUB_D4(m, n, d) FSUB_D2(m, n, d); FSUB_D2((m)+1, (n)+1, (d)+1)

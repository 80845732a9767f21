//go:build !purego

package kernel

// vectors is true: every arm64 processor has NEON.
const vectors = true

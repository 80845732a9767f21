//go:build !purego

package tensor

// vectors is true: every arm64 processor has NEON.
const vectors = true

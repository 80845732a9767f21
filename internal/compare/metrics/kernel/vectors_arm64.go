//go:build !purego

package kernel

// vectors is true: every arm64 processor has NEON.
const vectors = true

func pairsHead([]float64, []float64, []byte, []byte, *pairSums) bool { return false }

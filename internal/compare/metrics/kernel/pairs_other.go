//go:build !amd64 || purego

package kernel

func pairsHead([]float64, []float64, []byte, []byte) (t pairTotals, ok bool) { return t, false }

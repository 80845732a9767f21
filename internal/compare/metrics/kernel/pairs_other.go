//go:build !amd64 || purego

package kernel

func pairsHead([]float64, []float64, []byte, []byte, *pairLanes) bool { return false }

//go:build !amd64 || purego

package kernel

func flaggedHead([]float64, []uint8, uint8, *flagLanes) int { return 0 }

func markHead([]uint8, []float64, []float64, float64, float64, uint8) (k int, marked bool) {
	return 0, false
}

func countHead([]int64, []uint8, uint8) (k int, count int64) { return 0, 0 }

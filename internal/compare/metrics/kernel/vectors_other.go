//go:build (!amd64 && !arm64) || purego

package kernel

// Without assembly the heads process nothing.

func relativesHead(*Tables, []float64, []float64, []float64, []float64, []float64, *RelativeOptions, *ratioLanes) int {
	return 0
}

func runsHead(*[octaveCount][4]Octave, []GroupSums, []int, []float64, []float64, float64, *signLanes) bool {
	return false
}

func columnsHead(*Quad, []float64, []float64, int, int, float64) bool { return false }

func pairsHead([]float64, []float64, []byte, []byte, *pairSums) bool { return false }

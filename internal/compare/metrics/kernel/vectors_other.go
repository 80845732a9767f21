//go:build (!amd64 && !arm64) || purego

package kernel

// The heads of the loops of this package, which do nothing here.

const countLag = 0

func relativesHead(*Tables, []float64, []float64, []float64, []float64, []float64, Wanted, *ratioLanes) (k, counted int) {
	return 0, 0
}

func runsHead(*[octaveCount][4]Octave, []GroupSums, []int, []float64, []float64, float64, *signLanes) bool {
	return false
}

func columnsHead(*Quad, []float64, []float64, int, int, float64) bool { return false }

func pairsHead([]float64, []float64, []byte, []byte, *pairLanes) bool { return false }

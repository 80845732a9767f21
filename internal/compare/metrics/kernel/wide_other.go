//go:build !amd64 || purego

package kernel

func relativesWide(*Tables, []float64, []float64, []float64, *ratioLanes) int { return 0 }

func relateHead(*Tables, []float64, []float64, []float64, []float64, *relateLanes) bool { return false }

func rowStepsHead([]float64, []float64, int, int, *[8]float64) int { return 0 }

func runsWide(*[octaveCount][4]Octave, []GroupSums, []int, []float64, []float64, float64, *signLanes) bool {
	return false
}

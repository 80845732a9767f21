//go:build (!amd64 && !arm64) || purego

package kernel

// vectors is false: there are no instructions of the processor.
const vectors = false

// The heads of the loops of this package, which do nothing here.

func sidesHead([]float64, []float64, float64, float64, *[20]float64) int { return 0 }

func differencesHead([]float64, []float64, []float64, []float64, float64, *[12]float64, *[4]int64) int {
	return 0
}

func spanHead([]float64, *spanLanes) (k int, special bool) { return 0, false }

const countLag = 0

func relativesHead(*Tables, []float64, []float64, []float64, *ratioLanes) (k, counted int) {
	return 0, 0
}

func smallHead([]float64, []float64, float64, float64, *[20]int64) int { return 0 }

func roundHead([]int64, []float64, *Form) int { return 0 }

func digestHead([]int64, []int64, *[16]uint64) int { return 0 }

func addHead([]float64, []float64) int { return 0 }

func sumHead([]float64, *[4]float64) int { return 0 }

func fromHead([]float64, float64) int { return 0 }

func float32sHead([]float64, []byte, *spanLanes) (k int, special bool) { return 0, false }

func float16sHead([]float64, []byte, *spanLanes) (k int, special bool) { return 0, false }

func bfloat16sHead([]float64, []byte, *spanLanes) (k int, special bool) { return 0, false }

func codes16Head([]int64, []byte) int { return 0 }

func halvesHead([]int64, []byte) int { return 0 }

func codes32Head([]int64, []byte) int { return 0 }

func exceedsHead([]float64, []float64, float64, float64) (k int, exceeds bool) { return 0, false }

func runsHead(*[octaveCount][4]Octave, []GroupSums, []int, []float64, []float64, float64, *signLanes) bool {
	return false
}

func smallestHead([]float64, *[4]float64) int { return 0 }

func columnsHead([]Quad, int, int, []float64, []float64, float64) bool { return false }

func mergeHead([]GroupSums, []int32, []GroupSums) bool { return false }

func gatherHead(*Quad, *[4]GroupSums) bool { return false }

func foldHead(*Fold, *Totals, *Numbers, *Quad, float64) bool { return false }

func numbersHead(*Numbers, *Quad, float64) bool { return false }

func stepsHead([]float64, []float64, []uint64, *[8]float64) int { return 0 }

//go:build (amd64 || arm64) && !purego

package tensor

//go:noescape
func halvesVector(src *byte, count int, out *halfLanes)

//go:noescape
func floatsVector(src *byte, count int, out *floatLanes)

// halvesHead adds up as many float16 of a chunk as come in groups of 16, none where
// the processor has no vectors, and returns how many these are.
func halvesHead(chunk []byte, out *halfLanes) int {
	count := len(chunk) / 2 &^ 15
	if !vectors || count == 0 {
		return 0
	}
	halvesVector(&chunk[0], count, out)
	return count
}

// floatsHead adds as many float32 of a chunk as come in groups of 4, and returns how
// many these are.
func floatsHead(chunk []byte, out *floatLanes) int {
	count := len(chunk) / 4 &^ 3
	if !vectors || count == 0 {
		return 0
	}
	floatsVector(&chunk[0], count, out)
	return count
}

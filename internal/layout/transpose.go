//go:build (amd64 || arm64) && !purego

package layout

//go:noescape
func transposeEight(dst, src *byte, rows, step, out int)

// transposeHead transposes the leading rows and columns of 16-bit elements in groups of eight with
// vector instructions and returns their numbers. Columns begin out bytes apart, rows step bytes.
func transposeHead(dst, src []byte, rows, cols, step, out int64) (doneRows, doneCols int64) {
	doneRows, doneCols = rows&^7, cols&^7
	if doneRows == 0 || doneCols == 0 {
		return 0, 0
	}
	_, _ = dst[(doneCols-1)*out+2*doneRows-1], src[(doneRows-1)*step+2*doneCols-1]
	for c := int64(0); c < doneCols; c += 8 {
		transposeEight(&dst[c*out], &src[c*2], int(doneRows), int(step), int(out))
	}
	return doneRows, doneCols
}

package kernel

// AddTo adds values to those of dst, which may be more.
func AddTo(dst, values []float64) {
	dst = dst[:len(values)]
	for ; len(values) >= 8 && len(dst) >= 8; dst, values = dst[8:], values[8:] {
		to, x := (*[8]float64)(dst), (*[8]float64)(values)
		to[0] += x[0]
		to[1] += x[1]
		to[2] += x[2]
		to[3] += x[3]
		to[4] += x[4]
		to[5] += x[5]
		to[6] += x[6]
		to[7] += x[7]
	}
	for i, x := range values {
		dst[i] += x
	}
}

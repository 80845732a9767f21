//go:build !purego

package kernel

//go:noescape
func flaggedVector(values *float64, flags *uint8, count int, flag uint64, out *flagLanes)

//go:noescape
func markVector(flags *uint8, abs, r *float64, count int, atol, rtol float64, flag uint64) (marked uint64)

//go:noescape
func countVector(counts *int64, flags *uint8, count int, flag uint64) (not int64)

func flaggedHead(values []float64, flags []uint8, flag uint8, out *flagLanes) int {
	k := groups(len(flags))
	if k > 0 {
		flaggedVector(&values[:k][0], &flags[0], k, uint64(flag), out)
	}
	return k
}

func markHead(flags []uint8, abs, r []float64, atol, rtol float64, flag uint8) (k int, marked bool) {
	if k = groups(len(abs)); k > 0 {
		marked = markVector(&flags[:k][0], &abs[0], &r[:k][0], k, atol, rtol, uint64(flag)*0x01010101) != 0
	}
	return k, marked
}

func countHead(counts []int64, flags []uint8, flag uint8) (k int, count int64) {
	if k = groups(len(flags)); k > 0 {
		count = int64(k) + countVector(&counts[:k][0], &flags[0], k, uint64(flag))
	}
	return k, count
}

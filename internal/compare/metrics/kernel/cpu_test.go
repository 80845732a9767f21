package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

func cpuNow() time.Duration {
	var ts syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 3, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}

func TestCPU(t *testing.T) {
	if os.Getenv("CPU") == "" {
		t.Skip()
	}
	runtime.LockOSThread()
	random := rand.New(rand.NewPCG(1, 2))
	n, r := make([]float64, 1<<14), make([]float64, 1<<14)
	for i := range n {
		r[i] = random.NormFloat64()
		n[i] = r[i] * (1 + 1e-4*random.NormFloat64())
	}
	keep := make([]uint64, 1024)
	for i := range keep {
		keep[i] = math.MaxUint64
	}
	o := NewOctaves()
	quads := make([]Quad, 1024)
	measure := func(name string, elements int, f func()) {
		best := math.Inf(1)
		for range 9 {
			at := cpuNow()
			for range 50e6 / elements {
				f()
			}
			best = min(best, float64(cpuNow()-at)/50e6)
		}
		fmt.Printf("%-14s %.3f ns\n", name, best)
	}
	for _, run := range []int{1024, 256, 64, 32, 16} {
		measure(fmt.Sprint("runs ", run), 1024, func() {
			var s GroupSums
			var runs [64]int
			var out [64]GroupSums
			for i := range 1024 / run {
				runs[i] = run
			}
			o.SumRuns(out[:1024/run], runs[:1024/run], n[:1024], r[:1024], 0x1p-14)
			for i := range 1024 / run {
				s.Merge(&out[i])
			}
		})
	}
	for _, c := range [][2]int{{1024, 1}, {1024, 8}, {1024, 16}, {4096, 1}, {4096, 4}, {64, 16}} {
		k := c[0] * c[1]
		measure(fmt.Sprint("columns ", c), k, func() { AddColumns(quads, 0, c[0], n[:k], r[:k], 0x1p-14) })
	}
	measure("smallest", 1024, func() { Smallest(r[:1024]) })
	measure("steps", 1024, func() { SumSteps(n[:1024], r[:1024], keep) })
	measure("span", 1024, func() { SpanOf(n[:1024]) })
	measure("below", 1024, func() { HasBelow(n[:1024], 0x1p-1022) })
	measure("sides", 1024, func() { SumPairs(n[:1024], r[:1024]) })
}

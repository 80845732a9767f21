package metrics

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
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
	for _, pair := range [][2]tensor.DType{{tensor.Float32, tensor.Float16}, {tensor.Float16, tensor.Float16}} {
		ref, npu := benchPair(pair[0], pair[1], SegmentElements)
		typ, _ := noise.TypeOf(pair[1])
		for _, shape := range []tensor.Shape{{64, 64, 32, 32}, {64, 256, 16, 16}, {4096, 1024}, {1024, 4096}, {128, 32768}, {32, 131072}, {65536, 64}} {
			var best [2]float64
			for k := range best {
				req := &noise.Request{Shape: shape, Type: typ, Mask: math.Inf(-1), Groups: 256}
				if k == 0 {
					req = nil
				}
				e, err := New(Request{Shape: shape, RefDType: pair[0], NPUDType: pair[1], Limits: hpaaLimits, Top: 16, List: 128, Points: 2000, Noise: req})
				if err != nil {
					t.Fatal(err)
				}
				best[k] = math.Inf(1)
				for range 8 {
					at := cpuNow()
					p, err := e.Run(t.Context(), 0, ref, npu)
					best[k] = min(best[k], float64(cpuNow()-at)/SegmentElements)
					if err != nil {
						t.Fatal(err)
					}
					e.pool.partials.Put(p)
				}
			}
			fmt.Printf("%s-%s%v: %.2f -> %.2f ns (+%.0f %%)\n", pair[0], pair[1], shape, best[0], best[1], 100*(best[1]/best[0]-1))
		}
	}
}

package ranks

import (
	"math"
	"strconv"
	"testing"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// TestMakesNaN: an operator that makes NaN or infinities of finite inputs is named if most operators of its role do
// not. Not named are an operator with NaN inputs, a role that makes NaN by design, and a role with few instances.
func TestMakesNaN(t *testing.T) {
	const d = tensor.Float32
	for _, c := range []struct {
		name   string
		layers int
		in     func(rank, layer int) float64
		out    func(rank, layer int) float64
		want   string
	}{
		{"none", 4, nil, nil, ""},
		{"one", 4, nil, func(rank, layer int) float64 {
			if rank == 1 && layer == 2 {
				return math.NaN()
			}
			return 1
		}, "1 COMPUTE medium"},
		{"an infinity", 4, nil, func(rank, layer int) float64 {
			if rank == 0 && layer == 3 {
				return math.Inf(-1)
			}
			return 1
		}, "0 COMPUTE medium"},
		{"of the input", 4, func(rank, layer int) float64 {
			if rank == 1 && layer == 2 {
				return math.Inf(1)
			}
			return 1
		}, func(rank, layer int) float64 {
			if rank == 1 && layer == 2 {
				return math.NaN()
			}
			return 1
		}, ""},
		{"by design", 4, nil, func(_, layer int) float64 {
			if layer < 2 {
				return math.Inf(-1)
			}
			return 1
		}, ""},
		{"few", 1, nil, func(rank, _ int) float64 {
			if rank == 1 {
				return math.NaN()
			}
			return 1
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := new(ranktest.Built)
			for rank := range 2 {
				for layer := range c.layers {
					in, out := ranktest.Normals(d, uint64(10*rank+layer), 8), ranktest.Normals(d, uint64(100+10*rank+layer), 8)
					if c.in != nil {
						in[5] = c.in(rank, layer)
					}
					if c.out != nil {
						out[6] = c.out(rank, layer)
					}
					b.Call(0, rank, "Module.layers."+strconv.Itoa(layer)+".x.X.forward.0", &trace.Call{In: []*trace.Tensor{ranktest.Of(d, in...)}, Out: []*trace.Tensor{ranktest.Of(d, out...)}})
				}
			}
			report := judged(t, runOf(b), Options{})
			if got := first(report); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

package pair

import (
	"fmt"
	"testing"

	"dumptool/internal/tensor"
)

// BenchmarkMatch pairs a hundred thousand tensors of each side, by a rule that
// is the last but one.
func BenchmarkMatch(b *testing.B) {
	const n, stamp = 100000, 1624605159829577
	ref, npu := make([]Tensor, n), make([]Tensor, n)
	for i := range n {
		ref[i] = Tensor{ID: i, FileOp: fmt.Sprintf("net_block%d_conv", i), Stem: fmt.Sprintf("net_block%d_conv.0.%d", i, stamp), Timestamp: stamp, Kind: tensor.Output}
		npu[i] = Tensor{ID: i, Op: fmt.Sprintf("net/block%d/conv", n-1-i), OpType: "Conv2D", Timestamp: stamp + 1, Kind: tensor.Output}
	}
	for b.Loop() {
		if r := Match(ref, npu, Options{}); len(r.Pairs) != n {
			b.Fatal(len(r.Pairs))
		}
	}
}

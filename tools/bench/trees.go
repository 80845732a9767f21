package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"dumptool/internal/tensor"
	"dumptool/tools/bench/synth"
)

// startTime is the time of the first dump in microseconds; every operator takes
// a millisecond.
const startTime = 1624605159000000

// dumpTree and goldenTree are the folders in dir that the trees of a network
// have.
func dumpTree(dir string, n network) string   { return filepath.Join(dir, "dumps-"+n.String()) }
func goldenTree(dir string, n network) string { return filepath.Join(dir, "golden-"+n.String()) }

// makeDumps writes the dump tree unless it is there.
func makeDumps(ctx context.Context, dir string, n network) error {
	return makeTree(ctx, dumpTree(dir, n), n, writeDump)
}

// makeGolden writes the golden tree unless it is there: the outputs as float32
// arrays in host order.
func makeGolden(ctx context.Context, dir string, n network) error {
	return makeTree(ctx, goldenTree(dir, n), n, writeGolden)
}

// makeTree writes a file for every operator. A tree under its own name is
// complete.
func makeTree(ctx context.Context, path string, n network, write func(dir string, o op, time uint64) error) (err error) {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(path), "unfinished-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(tmp) //nolint:errcheck // the first error says more
		}
	}()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, o := range n.ops() {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return write(tmp, o, startTime+uint64(i)*1000)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// writeDump writes the dump of an operator where the framework puts it.
func writeDump(dir string, o op, time uint64) error {
	dir = filepath.Join(dir, "0", "resnet50_graph_1", "1", "0")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	dump := synth.Operator{Type: o.kind, Name: o.name, Task: time / 1000 % 1000, Time: time, Output: o.output.rounded()}
	for _, in := range o.inputs {
		dump.Inputs = append(dump.Inputs, in.rounded())
	}
	return dump.Write(dir)
}

// writeGolden writes the output of an operator.
func writeGolden(dir string, o op, time uint64) error {
	name := fmt.Sprintf("%s.0.%d.npy", strings.ReplaceAll(o.name, "/", "_"), time)
	return synth.WriteArray(filepath.Join(dir, name), o.output.shape, o.output.exact())
}

// makePairs writes n small references and dumps; every tenth pair fails.
func makePairs(golden, npu string, n int) error {
	if err := errors.Join(os.MkdirAll(golden, 0o755), os.MkdirAll(npu, 0o755)); err != nil {
		return err
	}
	random, shape := rand.New(rand.NewPCG(1, 1)), []int{4, 16}
	for i := range n {
		o := synth.Operator{Type: "MatMul", Name: fmt.Sprintf("net/layer%d/matmul", i), Task: uint64(i), Time: startTime + uint64(i)}
		values := synth.Uniform[float32](random, 64, 1)
		if err := synth.WriteArray(filepath.Join(golden, strings.ReplaceAll(o.Name, "/", "_")+".npy"), shape, values); err != nil {
			return err
		}
		if i%10 == 0 {
			values[5]++
		}
		o.Output = synth.Tensor{Format: tensor.FractalNZ, Shape: shape, Elements: synth.Halves(values)}
		if err := o.Write(npu); err != nil {
			return err
		}
	}
	return nil
}

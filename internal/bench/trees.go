package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"dumptool/internal/bench/synth"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/npy"
	"dumptool/internal/tensor"
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
	c := &dumpfmt.Content{
		Container: dumpfmt.BinaryV2, DumpTime: time, OpName: o.name,
		Outputs: []dumpfmt.TensorContent{o.output.rounded().Output(o.name)},
	}
	for _, in := range o.inputs {
		c.Inputs = append(c.Inputs, in.rounded().Input())
	}
	name := dumpfmt.Name{
		OpType: o.kind, OpName: flat(o.name), TaskID: time / 1000 % 1000, StreamID: 16, HasStream: true, Timestamp: time,
	}
	return synth.WriteFile(filepath.Join(dir, name.String()), c)
}

// writeGolden writes the output of an operator.
func writeGolden(dir string, o op, time uint64) (err error) {
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s.0.%d.npy", flat(o.name), time)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var shape tensor.Shape
	for _, d := range o.output.shape {
		shape = append(shape, int64(d))
	}
	data, err := npy.AppendHeader(nil, tensor.HostFloat32, shape)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	w.Write(data)
	for _, v := range o.output.exact() {
		data = binary.LittleEndian.AppendUint32(data[:0], math.Float32bits(v))
		w.Write(data)
	}
	return w.Flush()
}

// flat is the name of an operator in file names.
func flat(name string) string { return strings.ReplaceAll(name, "/", "_") }

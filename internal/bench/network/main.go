// Command network writes testdata/network: what every operator of a tiny network
// gave on an NPU, one of them with a fault, and what it gives on a host. Every
// run writes the same bytes, on any machine.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"dumptool/internal/bench/synth"
	"dumptool/internal/dumpfmt"
)

//go:generate go run . ../../../testdata/network

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "network:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one argument, the folder to write to")
	}
	cpu, npu := filepath.Join(args[0], "cpu"), filepath.Join(args[0], "npu")
	for _, dir := range []string{cpu, npu} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for i, l := range layers() {
		data, err := l.array()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(cpu, l.name+".npy"), data, 0o666); err != nil {
			return err
		}
		file := dumpfmt.Name{
			OpType: l.opType, OpName: l.name, TaskID: uint64(i + 1), StreamID: stream, HasStream: true, Timestamp: l.time(i),
		}.String()
		if err := synth.WriteFile(filepath.Join(npu, file), l.dump(i)); err != nil {
			return err
		}
	}
	return nil
}

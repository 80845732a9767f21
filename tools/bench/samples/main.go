// Command samples writes the sample data. testdata/sample has a few small dump files of a ResNet-50 that is
// trained on CIFAR-10. testdata/network has the outputs of all operators of a tiny network on an NPU, one
// of them with a fault, and on a host. Every run writes the same bytes on any machine.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../../../testdata

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "samples:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("want one argument, the folder to write to")
	}
	return errors.Join(writeSample(filepath.Join(args[0], "sample")), writeNetwork(filepath.Join(args[0], "network")))
}

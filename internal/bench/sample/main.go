// Command sample writes testdata/sample: a few small dump files such as a
// training of ResNet-50 on images of CIFAR-10 leaves behind. Every run writes
// the same bytes, on any machine.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"dumptool/internal/bench/synth"
)

//go:generate go run . ../../../testdata/sample

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sample:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one argument, the folder to write to")
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	for name, content := range dumps() {
		if err := synth.WriteFile(filepath.Join(args[0], name), content); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const shipped = "../../../testdata/network"

func TestShipped(t *testing.T) {
	dir := t.TempDir()
	if err := run([]string{dir}); err != nil {
		t.Fatal(err)
	}
	made, there := files(t, dir), files(t, shipped)
	if !slices.Equal(made, there) || len(made) != 2*len(layers()) {
		t.Fatalf("made %q, shipped are %q", made, there)
	}
	for _, name := range made {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(shipped, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: not what the generator writes, run go generate", name)
		}
	}
}

func TestRunErrors(t *testing.T) {
	if err := run(nil); err == nil {
		t.Error("no error without an argument")
	}
	if err := run([]string{filepath.Join("main.go", "x")}); err == nil {
		t.Error("no error for a folder below a file")
	}
}

// TestFault checks that the NPU follows the host to the rounding of float16, but
// for the rows of conv2 that the fault is in.
func TestFault(t *testing.T) {
	all := layers()
	for _, l := range all[:3] {
		bad := 0
		for i, want := range l.host {
			row := i / side % side
			switch far := math.Abs(l.device[i]-want) > 0.005+0.01*math.Abs(want); {
			case far && (l.name != "conv2" || row < side-tileRows):
				t.Errorf("%s: element %d is %v, want %v", l.name, i, l.device[i], want)
			case far:
				bad++
			}
		}
		if l.name == "conv2" && bad < filters*tileRows*side*3/4 {
			t.Errorf("conv2: only %d elements are bad", bad)
		}
	}
}

// TestLayers checks the sums with ones: a product of ones counts what is summed
// up.
func TestLayers(t *testing.T) {
	ones := make([]float64, filters*filters*kernel*kernel)
	for i := range ones {
		ones[i] = 1
	}
	whole, faulty := convolve(ones, ones, filters, none), convolve(ones, ones, filters, lastTile)
	for at, want := range map[int][2]float64{
		0: {4 * 32, 4 * 32}, 1: {6 * 32, 6 * 32}, side + 1: {9 * 32, 9 * 32},
		(side-tileRows)*side + 1: {9 * 32, 9 * 16}, side*side - 1: {4 * 32, 4 * 16},
	} {
		if whole[at] != want[0] || faulty[at] != want[1] {
			t.Errorf("element %d: %v and %v, want %v", at, whole[at], faulty[at], want)
		}
	}
	if got := multiply(ones[:filters], ones); got[classes-1] != filters {
		t.Errorf("product %v, want %d", got, filters)
	}
	if got := mean(whole)[0]; got != (36*9+24*6+4*4)*32/64. {
		t.Errorf("mean %v", got)
	}
	if got := relu([]float64{-1, 0, 2}); !slices.Equal(got, []float64{0, 0, 2}) {
		t.Errorf("relu %v", got)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		if names[i], err = filepath.Rel(dir, names[i]); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

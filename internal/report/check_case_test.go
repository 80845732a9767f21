package report

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/check"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// bytesOf is a tensor in memory.
type bytesOf []byte

// ReadElements reads elements of eight bytes.
func (b bytesOf) ReadElements(dst []byte, first int64) error {
	copy(dst, b[8*first:])
	return nil
}

// TestCaseOfPart: expected values are written as float64, also for integers, and the message names
// partial files.
func TestCaseOfPart(t *testing.T) {
	t.Parallel()
	const big = 1 << 53
	data := binary.LittleEndian.AppendUint64(nil, big)
	x := &recompute.Tensor{DType: tensor.Int64, Stored: tensor.Int64, Shape: tensor.Shape{1}, Source: bytesOf(data)}
	op := &recompute.Operator{Formula: "Neg", Inputs: []*recompute.Tensor{x}, Outputs: []*recompute.Tensor{x}}
	piece := &recompute.Piece{Operator: op, InputCuts: []*recompute.PieceRange{{From: []int64{3}, Of: tensor.Shape{9}}}, OutputCuts: []*recompute.PieceRange{nil},
		Expectation: recompute.Expectation{Values: [][]float64{{-big}}, Bounds: [][]float64{{0}}, Bad: 1}}
	dir := t.TempDir()
	c := NewCases(dir)
	c.Write(&check.Case{Row: &check.Operator{Op: "neg", Type: "Neg"}, Whole: op, Piece: piece})
	messages, err := c.Messages()
	if err != nil || len(messages) != 2 {
		t.Fatalf("%v, %v", messages, err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "neg", "expected_0.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if want := binary.LittleEndian.AppendUint64(nil, math.Float64bits(-big)); !bytes.Contains(got, []byte("'<f8'")) || !bytes.HasSuffix(got, want) {
		t.Errorf("expected_0.npy is %q", got)
	}
	doc, err := os.ReadFile(filepath.Join(dir, "neg", "op.json"))
	if err != nil || !bytes.Contains(doc, []byte(`"cut": {`)) {
		t.Errorf("op.json is %s, %v", doc, err)
	}
}

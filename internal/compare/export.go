package compare

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"dumptool/internal/compare/engine"
	"dumptool/internal/npy"
	"dumptool/internal/tensor"
)

// Selector names tensors of an operator: all of them, or one.
type Selector struct {
	Op string
	// Kind is input or output, empty for all tensors; Index belongs to it.
	Kind  string
	Index int
}

// ParseSelector reads OP, or OP:output:K, or OP:input:K.
func ParseSelector(text string) Selector {
	parts := strings.Split(text, ":")
	if n := len(parts); n >= 3 && (parts[n-2] == "output" || parts[n-2] == "input") {
		if k, err := strconv.Atoi(parts[n-1]); err == nil && k >= 0 {
			return Selector{Op: strings.Join(parts[:n-2], ":"), Kind: parts[n-2], Index: k}
		}
	}
	return Selector{Op: text}
}

// Has reports whether a row is one of the tensors. The operator is not looked
// at: the rows are those of the run for it.
func (s Selector) Has(row *Row) bool {
	return s.Kind == "" || s.Kind == row.Kind && s.Index == row.Output
}

// Side is one of the two sides of a comparison.
type Side int

// The sides.
const (
	RefSide Side = iota
	NPUSide
)

// WriteTensor writes one side of a row as a .npy file: in the shape and order in
// which it was compared, so that both sides can be subtracted. The run must have
// kept its details.
func (rep *Report) WriteTensor(ctx context.Context, w io.Writer, row int, side Side) error {
	var s *settled
	if row >= 0 && row < len(rep.pairs) && rep.Rows[row].Compared() {
		s = rep.pairs[row]
	}
	if s == nil {
		return fmt.Errorf("row %d was not compared, or its tensors were not kept", row)
	}
	files, err := rep.opener.open(s)
	if err != nil {
		return err
	}
	defer files.Close()
	from, dtype := files.ref, s.ref.dtype
	if side == NPUSide {
		from, dtype = files.npu, s.npu.dtype
	}
	dec, err := tensor.NewDecoder(dtype)
	if err != nil {
		return err
	}
	head, err := npy.AppendHeader(nil, dec.Host(), s.shape)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	n := count(s.shape)
	stored := make([]byte, engine.BlockElements*dec.UnitSize())
	host := make([]byte, engine.BlockElements*dec.Host().Size())
	for first := int64(0); first < n; first += engine.BlockElements {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := min(engine.BlockElements, n-first)
		in, out := stored[:k*int64(dec.UnitSize())], host[:k*int64(dec.Host().Size())]
		if err := from.ReadElements(in, first); err != nil {
			return err
		}
		dec.Decode(out, in)
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	return nil
}

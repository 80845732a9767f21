package execute

import (
	"bytes"
	"context"
	"hash/crc32"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// identifyInputs identifies the unpaired inputs of the operator of a pair. If an input cannot be read, the
// row says so and gets no reads.
func (e *executor) identifyInputs(ctx context.Context, x *plan.Pair, row *record.Row) error {
	var reads []record.InputRead
	tokens := x.Round.Tokens
	if tokens != nil && len(x.Reads) > 0 {
		tokens = tokens.TokensOfSide(!x.ReadsOfRef)
	}
	for _, t := range x.Reads {
		read, err := e.checksum(ctx, x.Row.Op, t, tokens)
		read.NPU = !x.ReadsOfRef
		switch {
		case isContextEnd(err):
			return err
		case err != nil:
			row.Notes = append(row.Notes, lang.Say("its inputs are unknown: %v", err))
			return nil
		}
		reads = append(reads, read)
	}
	row.Reads = reads
	return nil
}

// checksum reads a tensor in host order and returns its checksum, type and shape.
func (e *executor) checksum(ctx context.Context, op string, t *plan.Tensor, tokens *align.Tokens) (read record.InputRead, err error) {
	if t.Err != nil {
		return read, t.Err
	}
	a, err := e.aligner.Align(align.Pair{Op: op, Ref: &t.Ref, NPU: &t.Ref, Tokens: tokens})
	if err != nil {
		return read, err
	}
	defer a.Close()
	r, err := a.Readers(&e.buffers)
	if err != nil {
		return read, err
	}
	defer r.Close()
	read = record.InputRead{Input: t.Index, DType: a.NPU.DType.String(), Shape: a.Shape, Constant: true}
	var first []byte
	for block, err := range a.Blocks(ctx, r) {
		if err != nil {
			return read, err
		}
		if first == nil {
			first = bytes.Clone(block[:a.NPU.DType.UnitSize()])
		}
		read.CRC = crc32.Update(read.CRC, crc32.MakeTable(crc32.Castagnoli), block)
		for k := 0; read.Constant && k < len(block); k += len(first) {
			read.Constant = bytes.Equal(first, block[k:k+len(first)])
		}
	}
	return read, nil
}

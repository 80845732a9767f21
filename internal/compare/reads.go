package compare

import (
	"bytes"
	"context"
	"hash/crc32"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// planReads finds the inputs that are read to find out who made them: those of operators
// of which one side alone has inputs, where no file says what the operators read.
func (p *Plan) planReads() {
	v := &p.opt.Judge.Verdict
	if !v.Flow.ByContent() || v.Mode != ByEvidence || p.opt.Standard.Name != "" {
		return
	}
	byNPU, byRef := p.npu.inputs(), p.ref.inputs()
	first, paired := map[*dumpdir.Op]*Pair{}, map[*dumpdir.Op]bool{}
	for i := range p.Pairs {
		x := &p.Pairs[i]
		if x.Ref == nil || x.NPU == nil || x.round.graph != nil || !x.round.OrderKnown {
			continue
		}
		op := p.npu.op[x.NPU.ID]
		if x.NPU.Kind == tensor.Input {
			paired[op] = true
		} else if first[op] == nil {
			first[op] = x
		}
	}
	for op, x := range first {
		if paired[op] {
			continue
		}
		if x.Reads = byNPU[op]; len(x.Reads) == 0 {
			x.Reads, x.readsOfRef = byRef[p.ref.op[x.Ref.ID]], true
		}
	}
}

// inputs are those of each operator.
func (s *Side) inputs() map[*dumpdir.Op][]*Tensor {
	of := map[*dumpdir.Op][]*Tensor{}
	for i, t := range s.Tensors {
		if t.Kind == tensor.Input && !t.Table {
			of[s.op[i]] = append(of[s.op[i]], t)
		}
	}
	return of
}

// Reads counts the inputs that are read only to find out who feeds whom.
func (p *Plan) Reads() (inputs int) {
	for i := range p.Pairs {
		inputs += len(p.Pairs[i].Reads)
	}
	return inputs
}

// read reads the inputs of the operator of a pair that have no partner. Where one cannot
// be read the row says so, and what the operator reads is not known.
func (e *executor) read(ctx context.Context, x *Pair, row *record.Row) error {
	var reads []record.InputRead
	for _, t := range x.Reads {
		read, err := e.identify(ctx, x.Row.Op, t)
		read.NPU = !x.readsOfRef
		switch {
		case ended(err):
			return err
		case err != nil:
			row.Notes = append(row.Notes, lang.Sayf("not known what it reads: %v", "输入来源未知：%v", err))
			return nil
		}
		reads = append(reads, read)
	}
	row.Reads = reads
	return nil
}

// readSize is the number of bytes of one read.
const readSize = 1 << 20

// identify reads a tensor in host order.
func (e *executor) identify(ctx context.Context, op string, t *Tensor) (read record.InputRead, err error) {
	if t.Err != nil {
		return read, t.Err
	}
	a, err := e.aligner.Align(align.Pair{Op: op, Ref: &t.Ref, NPU: &t.Ref})
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
	count, _ := a.Shape.Count()
	size := int64(a.NPU.DType.UnitSize())
	var first []byte
	buffer := make([]byte, min(count*size, readSize/size*size))
	for at := int64(0); at < count; at += int64(len(buffer)) / size {
		if err := ctx.Err(); err != nil {
			return read, err
		}
		buffer = buffer[:min(int64(len(buffer)), (count-at)*size)]
		if err := r.NPU.ReadElements(buffer, at); err != nil {
			return read, err
		}
		if first == nil {
			first = bytes.Clone(buffer[:size])
		}
		read.CRC = crc32.Update(read.CRC, crc32.MakeTable(crc32.Castagnoli), buffer)
		for k := int64(0); read.Constant && k < int64(len(buffer)); k += size {
			read.Constant = bytes.Equal(first, buffer[k:k+size])
		}
	}
	return read, nil
}

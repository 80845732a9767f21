package convert

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"dumptool/internal/layout"
	"dumptool/internal/npy"
	"dumptool/internal/safefile"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Sizes of the blocks in which bytes are copied and elements decoded.
const (
	copyBlock   = 1 << 20   // bytes
	decodeBlock = 64 << 10  // elements
	maxWhole    = 256 << 10 // bytes of a file that is written at once
)

// write writes the elements of a tensor in their order.
func (c *conversion) write(path string, t *tensorfile.Tensor, p product) error {
	switch c.opt.Type {
	case Bin:
		n, _ := p.shape.Count()
		size, _ := t.DType.Bytes(n)
		return c.copyOut(path, nil, t.Data, size)
	case Txt:
		return c.writeText(path, t, t.Elements(), p.shape)
	default:
		return c.writeNpy(path, t, p.shape)
	}
}

// writeNpy writes a tensor as a .npy file of the given shape.
func (c *conversion) writeNpy(path string, t *tensorfile.Tensor, shape tensor.Shape) error {
	dec, err := tensor.NewDecoder(t.DType)
	if err != nil {
		return err
	}
	header, err := npy.AppendHeader(nil, dec.Host(), shape)
	if err != nil {
		return err
	}
	n, _ := shape.Count()
	if dec.Identity() {
		return c.copyOut(path, header, t.Data, n*int64(dec.UnitSize()))
	}
	return create(path, func(f *safefile.File) error {
		if _, err := f.Write(header); err != nil {
			return err
		}
		return c.decoded(t.Elements(), dec, n, func(block []byte) error {
			_, err := f.Write(block)
			return err
		})
	})
}

// writePlan carries a plan out and writes its result.
func (c *conversion) writePlan(path string, t *tensorfile.Tensor, p product, plan *layout.Plan) error {
	dec, err := tensor.NewDecoder(t.DType)
	if err != nil {
		return err
	}
	if c.opt.Type == Txt || c.opt.Type == Bin && t.DType.Packed() {
		return c.writeInOrder(path, t, p, plan, dec)
	}
	var header []byte
	if c.opt.Type == Bin {
		dec = tensor.Decoder{}
	} else if header, err = npy.AppendHeader(nil, dec.Host(), p.shape); err != nil {
		return err
	}
	raw := c.opt.Type == Bin || dec.Identity()
	unit := int64(t.DType.UnitSize())
	size, _ := p.shape.Count()
	if size *= unit; !raw {
		size = size / unit * int64(dec.Host().Size())
	}
	return create(path, func(f *safefile.File) error {
		sink := &sink{off: int64(len(header)), unit: unit, dec: dec, raw: raw, w: c.worker}
		if total := sink.off + size; total <= maxWhole {
			// A small file is put together in memory and written at once.
			whole := grown(&c.whole, total)
			copy(whole, header)
			sink.out = memory(whole)
			if err := c.run(plan, sink, t); err != nil {
				return err
			}
			_, err := f.Write(whole)
			return err
		}
		if _, err := f.Write(header); err != nil {
			return err
		}
		sink.out = f
		return c.run(plan, sink, t)
	})
}

// run carries a plan out. Elements between two steps go beside the output file.
func (c *conversion) run(plan *layout.Plan, dst layout.Sink, t *tensorfile.Tensor) error {
	unit := t.DType.UnitSize()
	var between *scratch
	defer func() {
		if between != nil {
			_ = between.Close()
		}
	}()
	return plan.Run(c.ctx, dst, t.Elements(), unit, &c.layout, func(n int64) (layout.Store, error) {
		var err error
		between, err = newScratch(filepath.Join(c.opt.Out, c.job.Dir), n, unit)
		return between, err
	})
}

// writeInOrder writes what can only be written from front to back: text, and
// packed elements.
func (c *conversion) writeInOrder(path string, t *tensorfile.Tensor, p product, plan *layout.Plan, dec tensor.Decoder) error {
	n, _ := p.shape.Count()
	result, err := newScratch(filepath.Dir(path), n, t.DType.UnitSize())
	if err != nil {
		return err
	}
	defer result.Close()
	if err := c.run(plan, result, t); err != nil {
		return err
	}
	if c.opt.Type == Txt {
		return c.writeText(path, t, result, p.shape)
	}
	return create(path, func(f *safefile.File) error {
		return c.blocks(result, t.DType.UnitSize(), n, func(codes []byte) error {
			size, _ := t.DType.Bytes(int64(len(codes)))
			packed := grown(&c.out, size)
			clear(packed)
			tensor.Pack(packed, codes, t.DType, 0)
			_, err := f.Write(packed)
			return err
		})
	})
}

// writeText writes elements one a line.
func (c *conversion) writeText(path string, t *tensorfile.Tensor, src layout.Source, shape tensor.Shape) error {
	dec, err := tensor.NewDecoder(t.DType)
	if err != nil {
		return err
	}
	n, _ := shape.Count()
	return create(path, func(f *safefile.File) error {
		return c.decoded(src, dec, n, func(block []byte) error {
			c.text = tensor.AppendText(c.text[:0], block, dec.Host())
			_, err := f.Write(c.text)
			return err
		})
	})
}

// decoded hands n elements to put in blocks of host elements.
func (c *conversion) decoded(src layout.Source, dec tensor.Decoder, n int64, put func([]byte) error) error {
	return c.blocks(src, dec.UnitSize(), n, func(block []byte) error {
		out := grown(&c.out, int64(len(block)/dec.UnitSize()*dec.Host().Size()))
		dec.Decode(out, block)
		return put(out)
	})
}

// blocks hands n elements of unit bytes to put, in order. A block but the last
// holds a multiple of eight elements.
func (c *conversion) blocks(src layout.Source, unit int, n int64, put func([]byte) error) error {
	for first := int64(0); first < n; first += decodeBlock {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		block := grown(&c.in, min(decodeBlock, n-first)*int64(unit))
		if err := src.ReadElements(block, first); err != nil {
			return err
		}
		if err := put(block); err != nil {
			return err
		}
	}
	return nil
}

// sink writes elements at their place in a file, decoding them unless the
// stored bytes are wanted.
type sink struct {
	out  io.WriterAt
	off  int64 // of element 0
	unit int64
	dec  tensor.Decoder
	raw  bool
	w    *worker
}

// WriteElements implements layout.Sink.
func (s *sink) WriteElements(src []byte, first int64) error {
	if s.raw {
		_, err := s.out.WriteAt(src, s.off+first*s.unit)
		return err
	}
	size := int64(s.dec.Host().Size())
	for len(src) > 0 {
		n := min(decodeBlock, int64(len(src))/s.unit)
		out := grown(&s.w.out, n*size)
		s.dec.Decode(out, src[:n*s.unit])
		if _, err := s.out.WriteAt(out, s.off+first*size); err != nil {
			return err
		}
		src = src[n*s.unit:]
		first += n
	}
	return nil
}

// copyOut writes a header and the first size bytes of data to a new file.
//
// It goes through memory, not through the system's copy between files: the
// tensors of a dump lie at odd offsets, and with the header in the first block
// all writes are aligned, which costs two thirds of the time.
func (c *conversion) copyOut(path string, header []byte, data *io.SectionReader, size int64) error {
	return create(path, func(f *safefile.File) error {
		block := grown(&c.in, min(copyBlock, int64(len(header))+size))
		n := copy(block, header)
		for off := int64(0); n > 0 || off < size; n = 0 {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			part := block[n:min(int64(len(block)), int64(n)+size-off)]
			if got, err := data.ReadAt(part, off); got < len(part) {
				return shortRead(data, off, got, len(part), err)
			}
			if _, err := f.Write(block[:n+len(part)]); err != nil {
				return err
			}
			off += int64(len(part))
		}
		return nil
	})
}

// shortRead is the error for data that ends before its descriptor says.
func shortRead(data *io.SectionReader, off int64, got, want int, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	_, base, _ := data.Outer()
	return fmt.Errorf("at 0x%x: read %d bytes, want %d: %w", base+off, got, want, err)
}

// create makes an output file with fill, or leaves nothing behind.
func create(path string, fill func(*safefile.File) error) error {
	f, err := safefile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := fill(f); err != nil {
		return err
	}
	return f.Commit()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// grown returns a slice of n bytes, in the memory of b when it suffices.
func grown(b *[]byte, n int64) []byte {
	*b = slices.Grow((*b)[:0], int(n))
	return (*b)[:n]
}

package convert

import (
	"errors"
	"fmt"

	"dumptool/internal/format/safetensors"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/safefile"
	"dumptool/internal/tensor"
)

// pendingTensor is a tensor that waits until all tensors of its file are known, since the header of a
// .safetensors file describes all of them.
type pendingTensor struct {
	safetensors.Entry
	src    elements
	encode func(block []byte) []byte
}

// addPending adds a product for the file that finish writes.
func (c *conversion) addPending(p product, src elements) error {
	key := p.Name
	if c.f.IsUnnamed() {
		key = fmt.Sprintf("%s.%d", p.Kind, p.Index)
	}
	if _, taken := c.pending[key]; taken {
		return lang.Errorf("another tensor of the file has the same name")
	}
	h := pendingTensor{Entry: safetensors.Entry{Name: key, DType: src.dtype, Shape: p.shape}, src: src}
	// Types with a name in the format stay as they are, except stored booleans, which may be other
	// than 0 and 1. Other types become host elements as in .npy.
	if _, named := safetensors.TypeName(src.dtype); named && src.dtype != tensor.Bool {
		h.encode = func(block []byte) []byte { return block }
	} else {
		enc, err := c.mem.newEncoding(Safetensors, src.dtype, p.shape)
		if err != nil {
			return err
		}
		h.encode, h.DType = enc.encode, enc.host.DType()
	}
	if err := safetensors.Check(h.Entry); err != nil {
		return err
	}
	if c.pending == nil {
		c.pending = make(map[string]*pendingTensor)
	}
	c.pending[key] = &h
	return nil
}

// writeMerged writes the pending tensors to one file and sets the path in their rows. If that fails, the
// rows are dropped.
func (c *conversion) writeMerged(r *Result) {
	if len(c.pending) == 0 {
		return
	}
	c.folder = "" // was the folder of the last tensor
	var whole Row
	err := c.ctx.Err()
	if err == nil {
		var ready bool
		if ready, err = c.claimOutput(&whole, c.base+"."+string(Safetensors)); ready && err == nil {
			err = c.writePending(whole.Path)
		}
	}
	rows := []Row{}
	for _, row := range r.Rows {
		if row.Err == nil && row.Path == "" { // a pending tensor
			if err != nil {
				continue
			}
			row.Path, row.Original, row.Skipped = whole.Path, whole.Original, whole.Skipped
			whole.Original = "" // one entry in the mapping suffices
		}
		rows = append(rows, row)
	}
	r.Rows, r.Err = rows, lang.AsFailure(errors.Join(r.Err, err))
}

// writePending writes the file of the pending tensors.
func (c *conversion) writePending(path string) error {
	entries := make([]safetensors.Entry, 0, len(c.pending))
	for _, h := range c.pending {
		entries = append(entries, h.Entry)
	}
	safetensors.Sort(entries)
	header, err := safetensors.AppendHeader(c.mem.head[:0], entries)
	if err != nil {
		return err
	}
	c.mem.head = header
	f, err := safefile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(header); err != nil {
		return err
	}
	at := int64(len(header))
	for _, e := range entries {
		h := c.pending[e.Name]
		unit := int64(e.DType.UnitSize())
		err := c.writeArray(f, h.src, encoding{lead: at / unit, encode: h.encode})
		if err == nil {
			err = h.src.verifyChecksum()
		}
		if err != nil {
			return lang.Errorf("%s: %w", e.Name, err)
		}
		at += e.Shape.Elements() * unit
		h.src = elements{} // free its memory
	}
	return f.Commit()
}

// lazySource is a source that is opened on the first read, so that several sources can share memory one
// after the other.
type lazySource struct {
	open func() (layout.Source, error)
	src  layout.Source
}

// ReadElements implements layout.Source.
func (l *lazySource) ReadElements(dst []byte, first int64) error {
	if l.src == nil {
		var err error
		if l.src, err = l.open(); err != nil {
			return err
		}
	}
	return l.src.ReadElements(dst, first)
}

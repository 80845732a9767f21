package hdf5

import (
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// filter is a step in the encoding of chunks.
type filter struct {
	id int
	// unit is the element size of shuffle, in bytes.
	unit int
}

// The supported filters.
const (
	filterDeflate  = 1
	filterShuffle  = 2
	filterFletcher = 3
)

// filterNames are names of unsupported filters, of the library, h5py and hdf5plugin.
var filterNames = map[int]string{
	4: "szip", 5: "nbit", 6: "scaleoffset", 305: "lzo", 307: "bzip2", 32000: "lzf", 32001: "blosc",
	32004: "lz4", 32008: "bitshuffle", 32013: "zfp", 32015: "zstd", 32026: "blosc2",
}

// maxFilters bounds the filters of a dataset.
const maxFilters = 32

// readFilters parses the filter message.
func (c *cursor) readFilters() ([]filter, error) {
	at, version, n := c.offset(), c.u8(), c.u8()
	switch {
	case c.err != nil:
		return nil, c.err
	case version != 1 && version != 2:
		return nil, formatError(at, "filters of version %d, want 1 or 2", version)
	case n > maxFilters:
		return nil, formatError(at, "%d filters, want at most %d", n, maxFilters)
	}
	if version == 1 {
		c.skip(6)
	}
	all := make([]filter, n)
	for i := range all {
		name := c.readFilter(&all[i], version)
		switch id := all[i].id; {
		case c.err != nil:
			return nil, c.err
		case id < filterDeflate || id > filterFletcher:
			if known := filterNames[id]; known != "" {
				name = known
			}
			return nil, unsupported("filter %d (%s) is not supported; rewrite the dataset with h5repack -f NONE (lzf: with h5py)", id, name)
		}
	}
	return all, nil
}

// readFilter parses a filter and returns its name in the file.
func (c *cursor) readFilter(f *filter, version int) (name string) {
	f.id = c.u16()
	length := 0
	if version == 1 || f.id >= 256 {
		length = c.u16()
	}
	c.skip(2)
	values := c.u16()
	name, _, _ = strings.Cut(string(c.nextBytes(length)), "\x00")
	if version == 1 {
		c.pad(length)
	}
	f.unit = 1
	if data := c.substructure(4 * values); f.id == filterShuffle && values > 0 {
		f.unit = max(1, data.u32())
	}
	if version == 1 && values%2 == 1 {
		c.skip(4)
	}
	if name == "" {
		name = "unknown"
	}
	return name
}

// undoFilters decodes the filters of a chunk, last one first, except filters with their bit in mask. b is
// in d.in, and so is the result. size is the size of the chunk without filters. If shuffled is
// true, the result is still shuffled in elements of unit bytes: the caller unshuffles while
// copying.
func (d *decoder) undoFilters(b []byte, filters []filter, mask uint32, size, unit int64) (chunk []byte, shuffled bool, err error) {
	first := 0
	for first < len(filters) && mask>>first&1 != 0 {
		first++
	}
	for i := len(filters) - 1; i >= first; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		switch f := filters[i]; f.id {
		case filterDeflate:
			// A checksum added before deflate is inflated too.
			b, err = d.inflate(b, size+4*int64(i))
		case filterShuffle:
			if shuffled = i == first && int64(f.unit) == unit && int64(len(b)) == size; !shuffled {
				b = d.unshuffleBytes(b, f.unit)
			}
		case filterFletcher:
			b, err = checkFletcher(b)
		}
		if err != nil {
			return nil, false, err
		}
	}
	if int64(len(b)) != size {
		return nil, false, lang.Errorf("the data of a chunk has %d bytes, want %d", len(b), size)
	}
	return b, shuffled, nil
}

// inflate reverses the filter deflate. The result has at most limit bytes; memory grows with the
// bytes produced.
func (d *decoder) inflate(b []byte, limit int64) ([]byte, error) {
	d.deflated.Reset(b)
	if d.inflater == nil {
		r, err := zlib.NewReader(&d.deflated)
		if err != nil {
			return nil, lang.Errorf("the data of a chunk is not deflated: %w", err)
		}
		d.inflater = r.(resetReader)
	} else if err := d.inflater.Reset(&d.deflated, nil); err != nil {
		return nil, lang.Errorf("the data of a chunk is not deflated: %w", err)
	}
	defer d.swap()
	out := d.out[:0]
	for {
		if len(out) == cap(out) {
			more := min(limit+1, max(64<<10, 2*int64(cap(out)))) - int64(len(out))
			out = slices.Grow(out, int(more))
		}
		n, err := d.inflater.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		d.out = out
		switch {
		case int64(len(out)) > limit:
			return nil, lang.Errorf("the data of a chunk inflates to more than %d bytes", limit)
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, lang.Errorf("the data of a chunk cannot be inflated: %w", err)
		}
	}
}

// resetReader inflates one chunk after the other.
type resetReader interface {
	io.Reader
	zlib.Resetter
}

// unshuffleBytes reverses the filter shuffle. Bytes after the last whole element are unchanged, and so
// is a single element, whatever size the file claims for it.
func (d *decoder) unshuffleBytes(b []byte, unit int) []byte {
	if len(b)/2 < unit {
		return b
	}
	defer d.swap()
	out := slices.Grow(d.out[:0], len(b))[:len(b)]
	d.out = out
	n := len(b) / unit
	unshuffle(out[:n*unit], b, 0, n, unit)
	copy(out[n*unit:], b[n*unit:])
	return out
}

// unshuffle fills dst with elements of unit bytes, from element first on. src holds byte 0 of all
// count elements, then byte 1 of all, and so on.
func unshuffle(dst, src []byte, first, count, unit int) {
	n := len(dst) / unit
	plane := func(i int) []byte { return src[i*count+first:][:n] }
	switch unit {
	case 2:
		a, b := plane(0), plane(1)
		for i := range n {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(a[i])|uint16(b[i])<<8)
		}
	case 4:
		a, b, c, d := plane(0), plane(1), plane(2), plane(3)
		for i := range n {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(a[i])|uint32(b[i])<<8|uint32(c[i])<<16|uint32(d[i])<<24)
		}
	default:
		for k := range unit {
			for i, v := range plane(k) {
				dst[i*unit+k] = v
			}
		}
	}
}

// checkFletcher verifies the sum at the end of a chunk and cuts it off.
func checkFletcher(b []byte) ([]byte, error) {
	n := len(b) - 4
	if n < 0 {
		return nil, lang.Errorf("the data of a chunk has %d bytes, want at least the 4 bytes of its checksum", len(b))
	}
	want, got := binary.LittleEndian.Uint32(b[n:]), fletcher32(b[:n])
	// Old versions of the library swapped the bytes in both halves.
	if swapped := got&0xff00ff<<8 | got>>8&0xff00ff; want != got && want != swapped {
		return nil, lang.Errorf("the data of a chunk is damaged: its fletcher32 sum is 0x%08x, want 0x%08x", got, want)
	}
	return b[:n], nil
}

// fletcher32 sums big-endian 16-bit words; the last one may lack its second byte.
func fletcher32(b []byte) uint32 {
	var sum1, sum2 uint32
	fold := func() {
		sum1, sum2 = sum1&0xffff+sum1>>16, sum2&0xffff+sum2>>16
	}
	for len(b) >= 2 {
		part := b[:min(len(b)&^1, 720)] // more would overflow 32 bits
		for ; len(part) >= 2; part = part[2:] {
			sum1 += uint32(part[0])<<8 | uint32(part[1])
			sum2 += sum1
		}
		b = b[min(len(b)&^1, 720):]
		fold()
	}
	if len(b) == 1 {
		sum1 += uint32(b[0]) << 8
		sum2 += sum1
		fold()
	}
	fold()
	return sum2<<16 | sum1
}

package layout

import "encoding/binary"

// copyBox copies the elements of a box of unit bytes each: dst is the host
// side, src the device side, both counted from the box's offsets.
func copyBox(dst, src []byte, b box, unit int) {
	u := int64(unit)
	dst, src = dst[b.host*u:], src[b.dev*u:]
	// The loop that is contiguous in dst and the one contiguous in src decide
	// the kernel; the rest are plain outer loops.
	rows, cols := -1, -1
	for i, d := range b.dims {
		if d.host == 1 {
			rows = i
		}
		if d.dev == 1 {
			cols = i
		}
	}
	tile := plane{unit: unit, rows: dim{n: 1}, cols: dim{n: 1}}
	if rows < 0 {
		rows = longestLoop(b.dims, cols)
	}
	switch {
	case len(b.dims) == 0:
		tile.run = u
	case rows == cols:
		tile.run = b.dims[rows].n * u
	default:
		if rows >= 0 {
			tile.rows = b.dims[rows]
		}
		if cols >= 0 {
			tile.cols = b.dims[cols]
		}
	}
	loops := make([]dim, 0, 8) // not on the heap
	for i, d := range b.dims {
		if i != rows && i != cols {
			loops = append(loops, d)
		}
	}
	tile.walkLoops(dst, src, loops)
}

// longestLoop returns the index of the loop with the most steps, except loop but; -1 for none.
func longestLoop(dims []dim, but int) int {
	found := -1
	for i, d := range dims {
		if i != but && (found < 0 || d.n > dims[found].n) {
			found = i
		}
	}
	return found
}

// plane is the inner part of a box: a contiguous run of bytes, or a transpose of rows by cols.
// Rows are contiguous in dst, columns in src.
type plane struct {
	unit       int
	run        int64 // bytes; 0 for a transpose
	rows, cols dim
}

func (p *plane) walkLoops(dst, src []byte, loops []dim) {
	if len(loops) == 0 {
		p.copy(dst, src)
		return
	}
	u := int64(p.unit)
	last := loops[len(loops)-1]
	if len(loops) == 1 && p.run > 0 {
		copyRuns(dst, src, last, p.run, u)
		return
	}
	for i := range last.n {
		p.walkLoops(dst[i*last.host*u:], src[i*last.dev*u:], loops[:len(loops)-1])
	}
}

// copyRuns copies d.n runs of bytes.
func copyRuns(dst, src []byte, d dim, run, u int64) {
	if run == 32 {
		// The common channel block of 16 two-byte elements, without a call.
		le := binary.LittleEndian
		for i := range d.n {
			to, from := dst[i*d.host*u:][:32], src[i*d.dev*u:][:32]
			w0, w1, w2, w3 := le.Uint64(from), le.Uint64(from[8:]), le.Uint64(from[16:]), le.Uint64(from[24:])
			le.PutUint64(to, w0)
			le.PutUint64(to[8:], w1)
			le.PutUint64(to[16:], w2)
			le.PutUint64(to[24:], w3)
		}
		return
	}
	for i := range d.n {
		copy(dst[i*d.host*u:][:run], src[i*d.dev*u:])
	}
}

func (p *plane) copy(dst, src []byte) {
	if p.run > 0 {
		copy(dst[:p.run], src)
		return
	}
	rows, cols := p.rows, p.cols
	if rows.n > 1 && rows.host != 1 {
		if cols.n > rows.n {
			rows, cols = cols, rows
		}
		u := int64(p.unit)
		for c := range cols.n {
			copyStrided(dst[c*cols.host*u:], src[c*cols.dev*u:], rows, p.unit)
		}
		return
	}
	// The source of a chunk of rows stays in the first-level cache while it is read once for
	// every column.
	const chunk = 256
	u := int64(p.unit)
	for r := int64(0); r < rows.n; r += chunk {
		n := min(chunk, rows.n-r)
		p.transpose(dst[r*u:], src[r*rows.dev*u:], n, cols.n, rows.dev, cols.host)
	}
}

// copyStrided sets dst[i*d.host] = src[i*d.dev] for i < d.n, in elements.
func copyStrided(dst, src []byte, d dim, unit int) {
	le := binary.LittleEndian
	u := int64(unit)
	to, from := int64(0), int64(0)
	if unit == 8 { // special case for speed: two thirds of the time of the loop below
		for range d.n {
			le.PutUint64(dst[to:], le.Uint64(src[from:]))
			to += d.host * 8
			from += d.dev * 8
		}
		return
	}
	for range d.n {
		switch unit {
		case 1:
			dst[to] = src[from]
		case 2:
			le.PutUint16(dst[to:], le.Uint16(src[from:]))
		case 4:
			le.PutUint32(dst[to:], le.Uint32(src[from:]))
		default:
			copy(dst[to:to+u], src[from:])
		}
		to += d.host * u
		from += d.dev * u
	}
}

// transpose sets dst[c*hostStride + r] = src[r*devStride + c] for r < rows and
// c < cols, in elements.
func (p *plane) transpose(dst, src []byte, rows, cols, devStride, hostStride int64) {
	switch p.unit {
	case 2:
		transpose16(dst, src, rows, cols, devStride*2, hostStride*2)
	case 4:
		transpose32(dst, src, rows, cols, devStride, hostStride)
	default:
		u := int64(p.unit)
		for c := range cols {
			copyStrided(dst[c*hostStride*u:], src[c*u:], dim{n: rows, host: 1, dev: devStride}, p.unit)
		}
	}
}

// transpose16 has rows step bytes apart and columns out bytes apart.
func transpose16(dst, src []byte, rows, cols, step, out int64) {
	le := binary.LittleEndian
	doneRows, doneCols := transposeHead(dst, src, rows, cols, step, out)
	for c := range cols {
		first := int64(0)
		if c < doneCols {
			first = doneRows
		}
		for r := first; r < rows; r++ {
			le.PutUint16(dst[c*out+r*2:], le.Uint16(src[r*step+c*2:]))
		}
	}
}

// transpose32 moves 2 by 2 elements at a time.
func transpose32(dst, src []byte, rows, cols, devStride, hostStride int64) {
	le := binary.LittleEndian
	step, out := devStride*4, hostStride*4
	rows2, cols2 := rows&^1, cols&^1
	for c := int64(0); c < cols2; c += 2 {
		s0 := src[c*4:]
		d0, d1 := dst[c*out:], dst[(c+1)*out:]
		at := int64(0)
		for r := int64(0); r < rows2; r += 2 {
			a, b := le.Uint64(s0[at:]), le.Uint64(s0[at+step:])
			at += 2 * step
			le.PutUint64(d0[r*4:], a&0xffffffff|b<<32)
			le.PutUint64(d1[r*4:], a>>32|b&^0xffffffff)
		}
		if rows2 < rows {
			a := le.Uint64(s0[at:])
			le.PutUint32(d0[rows2*4:], uint32(a))
			le.PutUint32(d1[rows2*4:], uint32(a>>32))
		}
	}
	if cols2 < cols {
		d, s := dst[cols2*out:], src[cols2*4:]
		for r := range rows {
			le.PutUint32(d[r*4:], le.Uint32(s[r*step:]))
		}
	}
}

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
	var tile plane
	tile.unit = unit
	switch {
	case len(b.dims) == 0:
		tile.run = u
	case rows >= 0 && rows == cols:
		tile.run = b.dims[rows].n * u
	case rows >= 0:
		tile.rows = b.dims[rows]
		if cols >= 0 {
			tile.cols = b.dims[cols]
		}
	case cols >= 0:
		tile.cols = b.dims[cols]
	}
	var outer [8]dim
	n := 0
	var spill []dim
	for i, d := range b.dims {
		if i == rows || i == cols {
			continue
		}
		if n < len(outer) {
			outer[n] = d
			n++
		} else {
			spill = append(spill, d)
		}
	}
	loops := outer[:n]
	if spill != nil {
		loops = append(append([]dim(nil), loops...), spill...)
	}
	tile.each(dst, src, loops)
}

// plane is the inner part of a box: a contiguous run of bytes, or a transpose
// of rows (contiguous in dst) by cols (contiguous in src).
type plane struct {
	unit       int
	run        int64 // bytes; 0 when the plane is a transpose
	rows, cols dim
}

func (p *plane) each(dst, src []byte, loops []dim) {
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
		p.each(dst[i*last.host*u:], src[i*last.dev*u:], loops[:len(loops)-1])
	}
}

// copyRuns copies d.n runs of bytes.
func copyRuns(dst, src []byte, d dim, run, u int64) {
	if run == 32 {
		// The common channel block of 16 two-byte elements, without a call.
		for i := range d.n {
			*(*[32]byte)(dst[i*d.host*u:]) = *(*[32]byte)(src[i*d.dev*u:])
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
	if rows.n == 0 {
		rows = dim{n: 1}
	}
	if cols.n == 0 {
		cols = dim{n: 1}
	}
	// Rows are taken in chunks that keep the source of one chunk in the first
	// level cache while it is read once for every column.
	const chunk = 256
	u := int64(p.unit)
	for r := int64(0); r < rows.n; r += chunk {
		n := min(chunk, rows.n-r)
		p.transpose(dst[r*u:], src[r*rows.dev*u:], n, cols.n, rows.dev, cols.host)
	}
}

// transpose sets dst[c*hostStride + r] = src[r*devStride + c] for r < rows and
// c < cols, in elements.
func (p *plane) transpose(dst, src []byte, rows, cols, devStride, hostStride int64) {
	switch p.unit {
	case 1:
		transpose8(dst, src, rows, cols, devStride, hostStride)
	case 2:
		transpose16(dst, src, rows, cols, devStride, hostStride)
	case 4:
		transpose32(dst, src, rows, cols, devStride, hostStride)
	case 8:
		for c := range cols {
			d, s := dst[c*hostStride*8:], src[c*8:]
			for r := range rows {
				binary.LittleEndian.PutUint64(d[r*8:], binary.LittleEndian.Uint64(s[r*devStride*8:]))
			}
		}
	default:
		u := int64(p.unit)
		for c := range cols {
			for r := range rows {
				copy(dst[(c*hostStride+r)*u:][:u], src[(r*devStride+c)*u:])
			}
		}
	}
}

func transpose8(dst, src []byte, rows, cols, devStride, hostStride int64) {
	for c := range cols {
		d, s := dst[c*hostStride:][:rows], src[c:]
		at := int64(0)
		for r := range d {
			d[r] = s[at]
			at += devStride
		}
	}
}

// transpose16 moves 4 by 4 elements at a time through four 64-bit registers.
func transpose16(dst, src []byte, rows, cols, devStride, hostStride int64) {
	le := binary.LittleEndian
	step, out := devStride*2, hostStride*2
	rows4, cols4 := rows&^3, cols&^3
	for c := int64(0); c < cols4; c += 4 {
		s0 := src[c*2:]
		d0, d1 := dst[c*out:], dst[(c+1)*out:]
		d2, d3 := dst[(c+2)*out:], dst[(c+3)*out:]
		at := int64(0)
		for r := int64(0); r < rows4; r += 4 {
			a := le.Uint64(s0[at:])
			b := le.Uint64(s0[at+step:])
			e := le.Uint64(s0[at+2*step:])
			f := le.Uint64(s0[at+3*step:])
			at += 4 * step
			// Pairs of rows: even and odd columns side by side.
			const even, odd = 0x0000ffff0000ffff, 0xffff0000ffff0000
			ab0 := a&even | b<<16&odd
			ab1 := a>>16&even | b&odd
			ef0 := e&even | f<<16&odd
			ef1 := e>>16&even | f&odd
			le.PutUint64(d0[r*2:], ab0&0xffffffff|ef0<<32)
			le.PutUint64(d1[r*2:], ab1&0xffffffff|ef1<<32)
			le.PutUint64(d2[r*2:], ab0>>32|ef0&^0xffffffff)
			le.PutUint64(d3[r*2:], ab1>>32|ef1&^0xffffffff)
		}
	}
	for c := range cols {
		first := rows4
		if c >= cols4 {
			first = 0
		}
		d, s := dst[c*out:], src[c*2:]
		for r := first; r < rows; r++ {
			le.PutUint16(d[r*2:], le.Uint16(s[r*step:]))
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
	}
	for c := range cols {
		first := rows2
		if c >= cols2 {
			first = 0
		}
		d, s := dst[c*out:], src[c*4:]
		for r := first; r < rows; r++ {
			le.PutUint32(d[r*4:], le.Uint32(s[r*step:]))
		}
	}
}

package layout

import "dumptool/internal/tensor"

// The offset formulas once more, element by element as the manuals state them,
// independent of blocks, spans and runs. at holds the sizes or positions of the
// named axes.
type at struct{ n, c, d, h, w int64 }

func up(a, b int64) int64 { return (a + b - 1) / b * b }

// slowOffset is the device offset of element i of a tensor of size z.
func slowOffset(f tensor.Format, z, i at, dev tensor.Shape, g int64) int64 {
	c0 := dev[len(dev)-1]
	switch f {
	case tensor.NC1HWC0, tensor.NC1HWC0C04:
		return (((i.n*dev[1]+i.c/c0)*z.h+i.h)*z.w+i.w)*c0 + i.c%c0
	case tensor.NDC1HWC0:
		return ((((i.n*z.d+i.d)*dev[2]+i.c/c0)*z.h+i.h)*z.w+i.w)*c0 + i.c%c0
	case tensor.C1HWC0:
		return ((i.n/c0*z.h+i.h)*z.w+i.w)*c0 + i.n%c0
	case tensor.C1HWNCoC0:
		return (((((i.c/c0)*z.h+i.h)*z.w+i.w)*dev[3]+i.n)*c0+i.c%c0)*c0 + i.c%c0
	case tensor.FractalZ, tensor.FractalZ3D:
		cin, cout, e := z.c, z.n, int64(1)
		gi, j := int64(0), i.n
		if g > 1 {
			cout = z.n / g
			gi, j = i.n/cout, i.n%cout
			e = min(lcm(lcm(cin, c0)/cin, lcm(cout, 16)/cout), g)
		}
		c1 := up(e*cin, c0) / c0
		np := up(e*cout, 16)
		dc, dn := gi%e*cin+i.c, gi%e*cout+j
		return (((((gi/e)*z.d+i.d)*c1+dc/c0)*z.h+i.h)*z.w+i.w)*np*c0 + dn*c0 + dc%c0
	case tensor.FractalZ3DTranspose:
		return (((i.d*(up(z.n, c0)/c0)+i.n/c0)*z.h+i.h)*z.w+i.w)*(up(z.c, 16)*c0) + i.c*c0 + i.n%c0
	case tensor.FractalZC04:
		k := ((i.c/4*z.h+i.h)*z.w+i.w)*4 + i.c%4
		return (k/c0*up(z.n, 16)+i.n)*c0 + k%c0
	case tensor.FractalZWino:
		return ((i.c/c0*(up(z.n, 16)/16)+i.n/16)*2+i.n%16/8)*(z.h*z.w)*8*c0 + (i.h*z.w+i.w)*8*c0 + i.n%8*c0 + i.c%c0
	case tensor.FractalZNLSTM:
		hd := z.n / 4
		in := z.c - hd
		kk := i.c
		if i.c >= in {
			kk = up(in, 16) + i.c - in
		}
		nn := i.n/hd*up(hd, 16) + i.n%hd
		return ((kk/16*z.h+i.h)*z.w+i.w)*(4*up(hd, 16)*16) + nn*16 + kk%16
	}
	panic("no formula for " + f.String())
}

func lcm(a, b int64) int64 {
	l := a
	for l%b != 0 {
		l += a
	}
	return l
}

// slowMatrixOffset is the same for layouts of matrices: matrix b, row m of rows,
// column n of cols.
func slowMatrixOffset(f tensor.Format, rows, cols, b, m, n int64, dev tensor.Shape, hidden, input int64) int64 {
	k := len(dev)
	c0 := dev[k-1]
	switch f {
	case tensor.FractalNZ:
		m0 := dev[k-2]
		return (((b*(up(cols, c0)/c0)+n/c0)*(up(rows, m0)/m0)+m/m0)*m0+m%m0)*c0 + n%c0
	case tensor.FractalZZ:
		h0 := dev[k-2]
		return (((b*(up(rows, h0)/h0)+m/h0)*(up(cols, c0)/c0)+n/c0)*h0+m%h0)*c0 + n%c0
	case tensor.FractalZ:
		return b*up(rows, c0)*up(cols, 16) + (m/c0*up(cols, 16)+n)*c0 + m%c0
	case tensor.FractalZNRNN:
		kk := m
		if rows == input+hidden && m >= input {
			kk = up(input, 16) + m - input
		}
		width := cols / hidden * (up(hidden, 16) / 16) * 16
		nn := n/hidden*up(hidden, 16) + n%hidden
		k1 := up(rows, 16) / 16
		if rows == input+hidden {
			k1 = up(input, 16)/16 + up(hidden, 16)/16
		}
		return b*k1*width*16 + kk/16*width*16 + nn*16 + kk%16
	}
	panic("no formula for " + f.String())
}

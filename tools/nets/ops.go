package main

import (
	"math"
	"slices"
)

func single(a *Array) []*Array { return []*Array{a} }

// unary is an elementwise function, computed exactly and rounded.
func (n *net) unary(kind string, x value, f func(float64) float64, out ...Type) value {
	return n.add(kind, []value{x}, func(_ *machine, in []*Array) []*Array {
		y := in[0].like()
		for i, v := range in[0].V {
			y.V[i] = f(v)
		}
		return single(y)
	}, out...)
}

// curve is an elementwise function that NPUs approximate.
func (n *net) curve(kind string, x value, f func(float64) float64) value {
	return n.add(kind, []value{x}, func(m *machine, in []*Array) []*Array {
		y, approx := in[0].like(), m.is("approx")
		for i, v := range in[0].V {
			y.V[i] = m.fn(v, f(v))
			if approx && math.Abs(v) > 0.7 {
				y.V[i] *= 1 + 1e-3*math.Cos(9*v)
			}
		}
		return single(y)
	})
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func (n *net) relu(x value) value {
	return n.unary("Relu|Functional.relu", x, func(v float64) float64 { return max(v, 0) })
}
func (n *net) gelu(x value) value {
	return n.curve("Gelu|Functional.gelu", x, func(v float64) float64 { return v * 0.5 * (1 + math.Erf(v/math.Sqrt2)) })
}
func (n *net) silu(x value) value {
	return n.curve("Swish|Functional.silu", x, func(v float64) float64 { return v * sigmoid(v) })
}
func (n *net) sigmoid(x value) value { return n.curve("Sigmoid|Torch.sigmoid", x, sigmoid) }
func (n *net) tanh(x value) value    { return n.curve("Tanh|Torch.tanh", x, math.Tanh) }
func (n *net) exp(x value) value     { return n.curve("Exp|Torch.exp", x, math.Exp) }
func (n *net) log(x value) value     { return n.curve("Log|Torch.log", x, math.Log) }
func (n *net) rsqrt(x value) value {
	return n.curve("Rsqrt|Torch.rsqrt", x, func(v float64) float64 { return 1 / math.Sqrt(v) })
}
func (n *net) square(x value) value {
	return n.unary("Square|Torch.square", x, func(v float64) float64 { return v * v })
}
func (n *net) scaled(x value, s float64) value {
	s = float64(float32(s))
	return n.unary("Muls|Tensor.__mul__", x, func(v float64) float64 { return v * s })
}
func (n *net) cast(x value, t Type) value {
	return n.unary("Cast|Tensor.to", x, func(v float64) float64 { return v }, t)
}

// binary is an elementwise function of two tensors; the second is broadcast to the first.
func (n *net) binary(kind string, a, b value, f func(x, y float64) float64) value {
	return n.add(kind, []value{a, b}, func(_ *machine, in []*Array) []*Array {
		y, at := in[0].like(), broadcast(in[0].Shape, in[1].Shape)
		for i, v := range in[0].V {
			y.V[i] = f(v, in[1].V[at(i)])
		}
		return single(y)
	})
}

// broadcast returns a function that maps an element index of shape large to the index in shape small.
func broadcast(large, small []int) func(int) int {
	if slices.Equal(large, small) {
		return func(i int) int { return i }
	}
	return func(i int) int {
		at, step := 0, 1
		for k := 1; k <= len(large); k++ {
			d := large[len(large)-k]
			if k <= len(small) {
				if s := small[len(small)-k]; s > 1 {
					at += i % d * step
					step *= s
				}
			}
			i /= d
		}
		return at
	}
}

func (n *net) plus(a, b value) value {
	return n.binary("Add|Tensor.__add__", a, b, func(x, y float64) float64 { return x + y })
}
func (n *net) minus(a, b value) value {
	return n.binary("Sub|Tensor.__sub__", a, b, func(x, y float64) float64 { return x - y })
}
func (n *net) times(a, b value) value {
	return n.binary("Mul|Tensor.__mul__", a, b, func(x, y float64) float64 { return x * y })
}
func (n *net) divide(a, b value) value {
	return n.binary("RealDiv|Tensor.__truediv__", a, b, func(x, y float64) float64 { return x / y })
}

// product multiplies matrices of the last two axes, transposed if ta or tb, and adds an optional bias row. b may be a
// single matrix for all of a.
func (n *net) product(kind string, a, b value, ta, tb bool, bias ...value) value {
	return n.add(kind, append([]value{a, b}, bias...), func(m *machine, in []*Array) []*Array {
		m.products(in, false)
		x, y := in[0], in[1]
		if ta {
			x = swapAxes(x)
		}
		if !tb {
			y = swapAxes(y)
		}
		rows, inner, cols := x.dim(-2), x.dim(-1), y.dim(-2)
		out := zeros(append(slices.Clone(x.Shape[:len(x.Shape)-1]), cols)...)
		xv, yv := m.grained(x.V), m.grained(y.V)
		drop := len(in) > 2 && m.is("no_bias")
		for i := range len(out.V) / cols {
			from := 0
			if len(y.Shape) > 2 {
				from = i / rows * inner * cols
			}
			for j := range cols {
				v := m.dot(xv[i*inner:(i+1)*inner], yv[from+j*inner:from+(j+1)*inner])
				if len(in) > 2 && !drop {
					v += in[2].V[j]
				}
				out.V[i*cols+j] = v
			}
		}
		return single(out)
	})
}

// swapAxes exchanges the last two axes.
func swapAxes(a *Array) *Array {
	rank := len(a.Shape)
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	perm[rank-2], perm[rank-1] = rank-1, rank-2
	return permute(a, perm)
}

// permute permutes the axes of an array.
func permute(a *Array, perm []int) *Array {
	strides, step := make([]int, len(a.Shape)), 1
	for i := len(a.Shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= a.Shape[i]
	}
	b := zeros(make([]int, len(perm))...)
	for i, p := range perm {
		b.Shape[i] = a.Shape[p]
	}
	b.V, b.Type = make([]float64, len(a.V)), a.Type
	for i := range b.V {
		from, rest := 0, i
		for k := len(perm) - 1; k >= 0; k-- {
			from += rest % b.Shape[k] * strides[perm[k]]
			rest /= b.Shape[k]
		}
		b.V[i] = a.V[from]
	}
	return b
}

// linear is a linear layer with new weights, and a bias if requested.
func (n *net) linear(x value, width int, bias bool) value {
	in := x.dim(-1)
	w := n.weight(1/math.Sqrt(float64(in))/max(x.spread(), 1e-3)*min(x.spread(), 1.5), in, width)
	kind := pick(n, "MatMulV2|Functional.linear", "MatMul|Functional.linear")
	if bias {
		return n.product(kind, x, w, false, false, n.weight(0.3, width))
	}
	return n.product(kind, x, w, false, false)
}

func (n *net) batchedProduct(a, b value, tb bool) value {
	return n.product("BatchMatMul|Torch.matmul", a, b, false, tb)
}

// conv is a convolution in NCHW with new filters.
func (n *net) conv(x value, filters, kernel, stride int, bias bool) value {
	channels := x.dim(1)
	std := 1 / math.Sqrt(float64(channels*kernel*kernel)) / max(x.spread(), 1e-3)
	in := []value{x, n.weight(std, filters, channels*kernel*kernel)}
	if bias {
		in = append(in, n.weight(0.3, filters))
	}
	return n.add("Conv2D|Functional.conv2d", in, func(m *machine, in []*Array) []*Array {
		m.products(in, true)
		cols, h, w := unfold(in[0], kernel, stride)
		k := channels * kernel * kernel
		cv, fv := m.grained(cols), m.grained(in[1].V)
		out := zeros(in[0].dim(0), filters, h, w)
		drop := bias && m.is("no_bias")
		for i := range out.V {
			image, f, at := i/(filters*h*w), i/(h*w)%filters, i%(h*w)
			from := (image*h*w + at) * k
			out.V[i] = m.dot(cv[from:from+k], fv[f*k:(f+1)*k])
			if bias && !drop {
				out.V[i] += in[2].V[f]
			}
		}
		return single(out)
	})
}

// unfold returns the elements below the kernel for each output position (im2col), zero-padded.
func unfold(x *Array, kernel, stride int) (cols []float64, h, w int) {
	c, xh, xw := x.Shape[1], x.Shape[2], x.Shape[3]
	h, w = (xh+stride-1)/stride, (xw+stride-1)/stride
	pad := kernel / 2
	for image := range x.Shape[0] {
		for i := range h {
			for j := range w {
				for ch := range c {
					for di := range kernel {
						for dj := range kernel {
							y, z, v := i*stride+di-pad, j*stride+dj-pad, 0.0
							if y >= 0 && y < xh && z >= 0 && z < xw {
								v = x.V[((image*c+ch)*xh+y)*xw+z]
							}
							cols = append(cols, v)
						}
					}
				}
			}
		}
	}
	return cols, h, w
}

// normKind is a kind of norm: over the last axis, or over groups of channels.
type normKind struct {
	name   string
	groups int // groups of axis 1; 0: the last axis
	mean   bool
	eps    float64
}

var (
	layerNorm = normKind{"LayerNorm|Functional.layer_norm", 0, true, 1e-5}
	rmsNorm   = normKind{"RmsNorm|NPU.npu_rms_norm", 0, false, 1e-6}
	groupNorm = normKind{"GroupNorm|Functional.group_norm", 4, true, 1e-5}
)

// norm normalises and scales; out is the output type if not the default.
func (n *net) norm(k normKind, x value, out ...Type) value {
	width := x.dim(-1)
	if k.groups > 0 {
		width = x.dim(1)
	}
	gamma := normal(n.Rand, 0.2, width)
	for i := range gamma.V {
		gamma.V[i]++
	}
	in := []value{x, n.addConstant("Const|", gamma, x.typ())}
	if k.mean {
		in = append(in, n.weight(0.1, width))
	}
	return n.add(k.name, in, func(m *machine, in []*Array) []*Array {
		eps := k.eps
		if m.is("eps") {
			eps = 0.3 * rms(in[0].V) * rms(in[0].V)
		} else if m.is("eps_mild") {
			eps = 0.01 * rms(in[0].V) * rms(in[0].V)
		}
		y, long, channel := in[0].like(), width, 1
		if k.groups > 0 {
			channel = len(in[0].V) / in[0].Shape[0] / width
			long = width / k.groups * channel
		}
		for from := 0; from < len(y.V); from += long {
			row, mean := in[0].V[from:from+long], 0.0
			if k.mean {
				mean = m.sum(row) / float64(long)
			}
			squares := make([]float64, long)
			for i, v := range row {
				squares[i] = (v - mean) * (v - mean)
			}
			variance := m.sum(squares)/float64(long) + eps
			factor := m.fn(variance, 1/math.Sqrt(variance))
			for i, v := range row {
				c := (from + i) / channel % width
				y.V[from+i] = (v - mean) * factor * in[1].V[c]
				if k.mean {
					y.V[from+i] += in[2].V[c]
				}
			}
		}
		return single(y)
	}, out...)
}

// batchNorm is a batch norm in inference, with learned statistics.
func (n *net) batchNorm(x value) value {
	c := x.dim(1)
	std := max(x.spread(), 1e-3)
	mean, variance, gamma := normal(n.Rand, 0.2*std, c), zeros(c), normal(n.Rand, 0.2, c)
	for i := range c {
		variance.V[i], gamma.V[i] = std*std*(0.3+n.Float64()), gamma.V[i]+1
	}
	in := []value{x, n.addConstant("Const|", gamma, x.typ()), n.weight(0.2, c), n.addConstant("Const|", mean, F32), n.addConstant("Const|", variance, F32)}
	return n.add("BNInfer|Functional.batch_norm", in, func(m *machine, in []*Array) []*Array {
		y, eps := in[0].like(), 1e-5
		if m.is("eps") {
			eps = 0.5 * std * std
		} else if m.is("eps_mild") {
			eps = 0.01 * std * std
		}
		inner := len(y.V) / x.dim(0) / c
		for i, v := range in[0].V {
			k := i / inner % c
			y.V[i] = (v-in[3].V[k])/math.Sqrt(in[4].V[k]+eps)*in[1].V[k] + in[2].V[k]
		}
		return single(y)
	})
}

// softmaxRows returns the softmax of rows of a width.
func (m *machine) softmaxRows(v []float64, width int) []float64 {
	out, approx := make([]float64, len(v)), m.is("approx")
	for from := 0; from < len(v); from += width {
		row := out[from : from+width]
		most := slices.Max(v[from : from+width])
		for i := range row {
			d := v[from+i] - most
			row[i] = m.fn(d, math.Exp(d))
			if approx && d < -1 {
				row[i] *= 1 + 3e-3*math.Cos(9*d)
			}
		}
		sum := m.sum(row)
		for i := range row {
			row[i] /= sum
		}
	}
	return out
}

func (n *net) softmax(x value) value {
	return n.add("SoftmaxV2|Functional.softmax", []value{x}, func(m *machine, in []*Array) []*Array {
		return single(&Array{Shape: in[0].Shape, V: m.softmaxRows(in[0].V, x.dim(-1))})
	})
}

// flash is fused attention of q, k, v [heads, rows, width]; k and v may have fewer, shared heads. Rows from length on
// are padding that an NPU leaves unwritten.
func (n *net) flash(kind string, q, k, v value, causal bool, length int) value {
	return n.add(kind, []value{q, k, v}, func(m *machine, in []*Array) []*Array {
		m.products(in, false)
		heads, rows, width, keys := q.dim(0), q.dim(1), q.dim(2), k.dim(1)
		out, vt := in[0].like(), swapAxes(in[2]).V
		qv, kv := m.grained(in[0].V), m.grained(in[1].V)
		late := 0
		if causal && m.is("causal") {
			late = 1
		}
		for h := range heads {
			shared := h * k.dim(0) / heads
			for r := range rows {
				at := (h*rows + r) * width
				if r >= length {
					if !m.exact {
						copy(out.V[at:at+width], in[0].V[(at+3*width)%len(in[0].V):])
						m.notes["unwritten"]++
					}
					continue
				}
				seen := keys
				if causal {
					seen = max(1, min(keys, r+1+keys-rows-late))
				}
				scores := make([]float64, seen)
				for j := range scores {
					from := (shared*keys + j) * width
					scores[j] = m.dot(qv[at:at+width], kv[from:from+width]) / math.Sqrt(float64(width))
				}
				p := m.softmaxRows(scores, seen)
				for c := range width {
					from := (shared*width + c) * keys
					out.V[at+c] = m.dot(p, vt[from:from+seen])
				}
			}
		}
		return single(out)
	})
}

// rotary rotates pairs of elements of [heads, rows, width] by angles of their row (rotary embedding).
func (n *net) rotary(x value, first int) value {
	return n.add("RotaryMul|NPU.npu_rotary_mul", []value{x}, func(m *machine, in []*Array) []*Array {
		y, rows, width, off := in[0].like(), x.dim(1), x.dim(2), 0
		if m.is("off_by_one") {
			off = 1
		}
		for i := range len(y.V) / width {
			for c := range width / 2 {
				angle := float64(first+off+i%rows) * math.Pow(10000, -2*float64(c)/float64(width))
				s, t := math.Sincos(angle)
				s, t = float64(float32(s)), float64(float32(t))
				p, q := in[0].V[i*width+c], in[0].V[i*width+c+width/2]
				y.V[i*width+c], y.V[i*width+c+width/2] = p*t-q*s, p*s+q*t
			}
		}
		return single(y)
	})
}

func (n *net) reshape(x value, shape ...int) value {
	return n.add("Reshape|Tensor.reshape", []value{x}, func(_ *machine, in []*Array) []*Array {
		return single(&Array{Shape: shape, V: slices.Clone(in[0].V)})
	})
}
func (n *net) transpose(x value, perm ...int) value {
	return n.add("TransposeD|Tensor.permute", []value{x}, func(_ *machine, in []*Array) []*Array { return single(permute(in[0], perm)) })
}

// heads converts [rows, heads x width] to [heads, rows, width].
func (n *net) heads(x value, heads int) value {
	return n.transpose(n.reshape(x, x.dim(0), heads, x.dim(1)/heads), 1, 0, 2)
}

// flat is the inverse of heads.
func (n *net) flat(x value) value {
	return n.reshape(n.transpose(x, 1, 0, 2), x.dim(1), x.dim(0)*x.dim(2))
}

func (n *net) concat(axis int, of ...value) value {
	return n.add("ConcatD|Torch.cat", of, func(_ *machine, in []*Array) []*Array {
		shape, total := slices.Clone(in[0].Shape), 0
		for _, a := range in {
			total += a.dim(axis)
		}
		shape[axis] = total
		out := zeros(shape...)
		outer, _, inner := out.around(axis)
		at := 0
		for _, a := range in {
			long := a.dim(axis) * inner
			for o := range outer {
				copy(out.V[o*total*inner+at:], a.V[o*long:(o+1)*long])
			}
			at += long
		}
		return single(out)
	})
}

// slice returns a range of an axis.
func (n *net) slice(x value, axis, from, to int) value {
	return n.add("StridedSliceD|Tensor.__getitem__", []value{x}, func(_ *machine, in []*Array) []*Array { return single(cut(in[0], axis, from, to)) })
}

func cut(a *Array, axis, from, to int) *Array {
	outer, long, inner := a.around(axis)
	shape := slices.Clone(a.Shape)
	shape[axis] = to - from
	out := zeros(shape...)
	for o := range outer {
		copy(out.V[o*(to-from)*inner:(o+1)*(to-from)*inner], a.V[(o*long+from)*inner:(o*long+to)*inner])
	}
	return out
}

// split splits an axis into equal parts.
func (n *net) split(x value, axis, parts int) value {
	return n.add("SplitD|Torch.split", []value{x}, func(_ *machine, in []*Array) (out []*Array) {
		for p, long := 0, x.dim(axis)/parts; p < parts; p++ {
			out = append(out, cut(in[0], axis, p*long, (p+1)*long))
		}
		return out
	})
}

// gather selects rows of a table by index.
func (n *net) gather(kind string, table, ids value) value {
	return n.add(kind, []value{table, ids}, func(m *machine, in []*Array) []*Array {
		rows, off := table.dim(0), 0
		inner := size(table.shape()[1:])
		if m.is("off_by_one") {
			off = 1
		}
		out := zeros(append(slices.Clone(ids.shape()), table.shape()[1:]...)...)
		for i, id := range in[1].V {
			r := min(max(int(id)+off, 0), rows-1)
			copy(out.V[i*inner:(i+1)*inner], in[0].V[r*inner:(r+1)*inner])
		}
		return single(out)
	})
}

// topK returns the k largest of each row and their indices.
func (n *net) topK(x value, k int) value {
	return n.add("TopKV2|Torch.topk", []value{x}, func(m *machine, in []*Array) []*Array {
		width, off := x.dim(-1), 0.0
		if m.is("off_by_one") {
			off = 1
		}
		values, places := zeros(x.shapeWith(k)...), zeros(x.shapeWith(k)...)
		for r := range len(in[0].V) / width {
			row := in[0].V[r*width : (r+1)*width]
			for i, c := range rankColumns(row)[:k] {
				values.V[r*k+i], places.V[r*k+i] = row[c], min(float64(c)+off, float64(width-1))
			}
		}
		return []*Array{values, places}
	}, x.typ(), I32)
}

// rankColumns returns the indexes of elements, the largest element first, stable for equal elements and NaN last.
func rankColumns(v []float64) []int {
	at := make([]int, len(v))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int {
		switch a, b := v[i], v[j]; {
		case a > b || math.IsNaN(b) && !math.IsNaN(a):
			return -1
		case a < b || math.IsNaN(a) && !math.IsNaN(b):
			return 1
		}
		return 0
	})
	return at
}

func (n *net) argMax(x value) value {
	return n.add("ArgMaxV2|Torch.argmax", []value{x}, func(_ *machine, in []*Array) []*Array {
		width := x.dim(-1)
		out := zeros(append(x.shapeWith(), 1)...)
		for r := range out.V {
			out.V[r] = float64(rankColumns(in[0].V[r*width : (r+1)*width])[0])
		}
		return single(out)
	}, I32)
}

// scatterAdd adds rows of x to rows of zeros selected by ids.
func (n *net) scatterAdd(x, ids value, rows int) value {
	return n.add("ScatterNd|Tensor.index_add", []value{x, ids}, func(m *machine, in []*Array) []*Array {
		inner := x.dim(-1)
		out, off := zeros(rows, inner), 0
		if m.is("off_by_one") {
			off = 1
		}
		for i, id := range in[1].V {
			r := (int(id) + off + rows) % rows
			for c := range inner {
				s := out.V[r*inner+c] + in[0].V[i*inner+c]
				if !m.exact {
					s = float64(float32(s))
				}
				out.V[r*inner+c] = s
			}
		}
		return single(out)
	})
}

// reduce sums or averages an axis.
func (n *net) reduce(x value, axis int, mean bool) value {
	kind := "ReduceSumD|Torch.sum"
	if mean {
		kind = "ReduceMeanD|Torch.mean"
	}
	return n.add(kind, []value{x}, func(m *machine, in []*Array) []*Array {
		outer, long, inner := in[0].around(axis)
		shape := slices.Clone(x.shape())
		shape[axis+x.rank()*b2i(axis < 0)] = 1
		out, line := zeros(shape...), make([]float64, long)
		for i := range outer * inner {
			for k := range line {
				line[k] = in[0].V[(i/inner*long+k)*inner+i%inner]
			}
			out.V[i] = m.sum(line)
			if mean {
				out.V[i] /= float64(long)
			}
		}
		return single(out)
	})
}

// resize resizes NCHW by a factor of 2: repeats pixels, or takes the maximum of four.
func (n *net) resize(x value, up bool) value {
	kind := "MaxPoolV2|Functional.max_pool2d"
	h, w := x.dim(2)/2, x.dim(3)/2
	if up {
		kind, h, w = "ResizeNearestNeighborV2|Functional.interpolate", x.dim(2)*2, x.dim(3)*2
	}
	return n.add(kind, []value{x}, func(_ *machine, in []*Array) []*Array {
		out, xw := zeros(x.dim(0), x.dim(1), h, w), x.dim(3)
		for i := range out.V {
			plane, r, c := in[0].V[i/(h*w)*len(in[0].V)/x.dim(0)/x.dim(1):], i/w%h, i%w
			if up {
				out.V[i] = plane[r/2*xw+c/2]
				continue
			}
			out.V[i] = max(plane[2*r*xw+2*c], plane[2*r*xw+2*c+1], plane[(2*r+1)*xw+2*c], plane[(2*r+1)*xw+2*c+1])
		}
		return single(out)
	})
}

// quant quantises a tensor to int8 with a scale that fits its values.
func (n *net) quant(x value) (value, float64) {
	scale := float64(float32(peak(x.ref().V) / 120))
	q := n.add("AscendQuant|NPU.npu_quantize", []value{x}, func(m *machine, in []*Array) []*Array {
		y, wrap := in[0].like(), m.is("wrap")
		for i, v := range in[0].V {
			y.V[i] = math.RoundToEven(v / scale)
			if wrap && y.V[i] > 63 {
				y.V[i] -= 128
			}
		}
		return single(y)
	}, I8)
	return q, scale
}

// quantLinear multiplies int8 by int8 weights, accumulates in int32, and scales each column.
func (n *net) quantLinear(x value, width int, t Type) value {
	q, scale := n.quant(x)
	in := x.dim(-1)
	w := normal(n.Rand, 40, in, width)
	acc := n.product("QuantBatchMatmul|NPU.npu_quant_matmul", q, n.addConstant("Const|", roundTo(w, I8), I8), false, false)
	acc.out[0], acc.ref().Type = I32, I32
	scales := zeros(width)
	for i := range scales.V {
		scales.V[i] = scale * (0.5 + n.Float64()) / 40 / math.Sqrt(float64(in))
	}
	deq := n.addConstant("Const|", scales, F32)
	deq.constant = n.IntN(2) == 0 // the scales are dumped
	return n.add("AscendDequant|NPU.npu_dequant", []value{acc, deq}, func(_ *machine, in []*Array) []*Array {
		y := in[0].like()
		for i, v := range in[0].V {
			y.V[i] = v * in[1].V[i%width]
		}
		return single(y)
	}, t)
}

// mask draws zeros and ones; the NPU may draw other values.
func (n *net) mask(keep float64, shape ...int) value {
	v := n.add("DropOutGenMask|Torch.bernoulli", nil, func(m *machine, _ []*Array) []*Array {
		y, seed := zeros(shape...), m.draw*0x2545f4914f6cdd1d+n.seed
		for i := range y.V {
			seed = seed*6364136223846793005 + 1442695040888963407
			y.V[i] = float64(b2i(float64(seed>>33)/(1<<31) < keep))
		}
		if m.draw != 1 {
			m.notes["random"]++
		}
		return single(y)
	}, pick(n, n.typ, Bool))
	v.drawn = true
	return v
}

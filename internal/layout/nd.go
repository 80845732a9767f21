package layout

import (
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// ndRule is a device layout that blocks the last one or two host axes, whatever their names.
// The axes before them are a batch and keep their order.
type ndRule struct {
	format tensor.Format
	// tail is the number of device dimensions of one matrix.
	tail int
	// matrix is set if the layout blocks the last two host axes, not the last one alone.
	matrix bool
	// c0 is the channel block that the layout fixes, 0 for none. variants are other names of
	// the layout with the channel blocks that they fix.
	c0       int64
	variants map[tensor.Format]int64
	// blocks infers the block sizes from the matrix part of a device shape. columns is the last
	// host dimension, 0 if unknown.
	blocks func(dev tensor.Shape, columns int64, p *params)
	// relations returns the matrix part of the device shape for m rows and n columns.
	relations func(m, n int64, p params) ([]relation, error)
	// place returns the offsets of rows and columns inside one matrix of shape dev.
	place func(m, n int64, dev tensor.Shape, p params) [][2]span
	// padded returns rows and columns of the whole buffer, padding included; nil if the device
	// shape does not determine them.
	padded func(dev tensor.Shape) (m, n int64)
}

var ndRules = []*ndRule{&fractalNZ, &fractalZZ, &fractalZND, &fractalZNRNN, &ndRNNBias}

// ndRuleOf returns the rule of layout f, nil for none. FRACTAL_Z has a rule here, for the weight
// of a MatMul, and one in rules.
func ndRuleOf(f tensor.Format) *ndRule {
	for _, r := range ndRules {
		if r.format == f || r.variants[f] != 0 {
			return r
		}
	}
	return nil
}

// FRACTAL_NZ [B..., N1, M1, M0, C0], N1 = ceil(N/C0), M1 = ceil(M/M0).
// off = (((b*N1 + n/C0)*M1 + m/M0)*M0 + m%M0)*C0 + n%C0
var fractalNZ = ndRule{
	format: tensor.FractalNZ,
	tail:   4,
	matrix: true,
	variants: map[tensor.Format]int64{
		tensor.FractalNZC02: 2, tensor.FractalNZC04: 4, tensor.FractalNZC08: 8, tensor.FractalNZC016: 16, tensor.FractalNZC032: 32,
	},
	blocks: matrixBlocks,
	relations: func(m, n int64, p params) ([]relation, error) {
		return []relation{
			{name: "N1", formula: "ceil(N/C0)", want: ceilDiv(n, p.c0)}, {name: "M1", formula: "ceil(M/M0)", want: ceilDiv(m, p.n0)},
			{name: "M0", formula: "M0", want: p.n0}, {name: "C0", formula: "C0", want: p.c0},
		}, nil
	},
	place: func(m, n int64, dev tensor.Shape, p params) [][2]span {
		return [][2]span{{linearAxis(m, p.c0), splitAxis(n, p.c0, 1, dev[1]*dev[2]*p.c0)}}
	},
	padded: func(dev tensor.Shape) (m, n int64) { return dev[1] * dev[2], dev[0] * dev[3] },
}

// FRACTAL_ZZ [B..., M1, N1, h0, w0].
// off = (((b*M1 + m/h0)*N1 + n/w0)*h0 + m%h0)*w0 + n%w0
var fractalZZ = ndRule{
	format: tensor.FractalZZ,
	tail:   4,
	matrix: true,
	blocks: matrixBlocks,
	relations: func(m, n int64, p params) ([]relation, error) {
		return []relation{
			{name: "M1", formula: "ceil(M/h0)", want: ceilDiv(m, p.n0)}, {name: "N1", formula: "ceil(N/w0)", want: ceilDiv(n, p.c0)},
			{name: "h0", formula: "h0", want: p.n0}, {name: "w0", formula: "w0", want: p.c0},
		}, nil
	},
	place: func(m, n int64, dev tensor.Shape, p params) [][2]span {
		cell := p.n0 * p.c0
		return [][2]span{{splitAxis(m, p.n0, p.c0, dev[1]*cell), splitAxis(n, p.c0, 1, cell)}}
	},
	padded: func(dev tensor.Shape) (m, n int64) { return dev[0] * dev[2], dev[1] * dev[3] },
}

// FRACTAL_Z of matrices [B..., ceil(K/C0), ceil(N/16), 16, C0] (the weight of a
// MatMul): FRACTAL_Z with C = K and H = W = 1.
// off = (k/C0*N1*16 + n)*C0 + k%C0
var fractalZND = ndRule{
	format: tensor.FractalZ,
	tail:   4,
	matrix: true,
	blocks: matrixBlocks,
	relations: func(k, n int64, p params) ([]relation, error) {
		return []relation{
			{name: "K1", formula: "ceil(K/C0)", want: ceilDiv(k, p.c0)}, {name: "N1", formula: "ceil(N/16)", want: ceilDiv(n, p.n0)},
			{name: "N0", formula: "16", want: 16}, {name: "C0", formula: "C0", want: p.c0},
		}, nil
	},
	place: func(k, n int64, dev tensor.Shape, p params) [][2]span {
		return [][2]span{{splitAxis(k, p.c0, 1, dev[1]*p.n0*p.c0), linearAxis(n, p.c0)}}
	},
}

// FRACTAL_ZN_RNN [..., K1, cnt*ceil(hid/C0), 16, C0]: the rows are an input part, a hidden part
// or both, each padded to 16; the columns are cnt blocks of hid, each padded to C0.
// off = (kk/16*(cnt*ceil(hid/C0)*16) + nn)*16 + kk%16
// kk and nn are the positions after padding.
var fractalZNRNN = ndRule{
	format: tensor.FractalZNRNN,
	tail:   4,
	matrix: true,
	c0:     16,
	blocks: matrixBlocks,
	relations: func(k, n int64, p params) ([]relation, error) {
		parts, err := rnnRows(k, p)
		if err != nil {
			return nil, err
		}
		if n%p.hidden != 0 {
			return nil, &ShapeError{Format: tensor.FractalZNRNN, Host: tensor.Shape{k, n},
				Relation: lang.Say("the last dimension is %d, want a multiple of hidden size %d", n, p.hidden)}
		}
		k1 := int64(0)
		for _, part := range parts {
			k1 += ceilDiv(part, 16)
		}
		return []relation{
			{name: "K1", formula: "ceil(input/16)+ceil(hidden/16)", want: k1},
			{name: "N1", formula: "cnt*ceil(hidden/C0)", want: n / p.hidden * ceilDiv(p.hidden, p.c0)},
			{name: "N0", formula: "16", want: 16}, {name: "C0", formula: "16", want: 16},
		}, nil
	},
	place: func(k, n int64, dev tensor.Shape, p params) [][2]span {
		parts, err := rnnRows(k, p)
		if err != nil {
			panic(err) // the relations have been checked before
		}
		columns := splitAxis(n, p.hidden, 16, ceilDiv(p.hidden, p.c0)*p.c0*16)
		row := dev[1] * 16 * 16
		var all [][2]span
		start, padded := int64(0), int64(0)
		for _, part := range parts {
			rows := splitAxis(part, 16, 1, row)
			rows.start, rows.shift = start, padded
			all = append(all, [2]span{rows, columns})
			start += part
			padded += ceilDiv(part, 16) * 16
		}
		return all
	},
}

// rnnRows returns the lengths of the parts of k rows that are padded separately.
func rnnRows(k int64, p params) ([]int64, error) {
	switch {
	case p.hidden <= 0:
		return nil, &MissingError{tensor.FractalZNRNN, lang.Say("the hidden size (--hidden-size)")}
	case k == p.hidden || k == p.input:
		return []int64{k}, nil
	case p.input <= 0:
		return nil, &MissingError{tensor.FractalZNRNN, lang.Say("the input size (--input-size)")}
	case k == p.input+p.hidden:
		return []int64{p.input, p.hidden}, nil
	}
	return nil, &ShapeError{Format: tensor.FractalZNRNN, Relation: lang.Say(
		"K is %d, want input size %d, hidden size %d or their sum", k, p.input, p.hidden)}
}

// ND_RNN_BIAS [..., cnt*up(hid, C0)]: every block of hid is padded to C0.
var ndRNNBias = ndRule{
	format: tensor.NDRNNBias,
	tail:   1,
	blocks: biasBlocks,
	relations: func(_, n int64, p params) ([]relation, error) {
		if p.hidden <= 0 {
			return nil, &MissingError{tensor.NDRNNBias, lang.Say("the hidden size (--hidden-size)")}
		}
		if n%p.hidden != 0 {
			return nil, &ShapeError{Format: tensor.NDRNNBias, Host: tensor.Shape{n},
				Relation: lang.Say("the last dimension is %d, want a multiple of hidden size %d", n, p.hidden)}
		}
		return []relation{{name: "X", formula: "cnt*up(hidden, C0)", want: n / p.hidden * ceilDiv(p.hidden, p.c0) * p.c0}}, nil
	},
	place: func(_, n int64, _ tensor.Shape, p params) [][2]span {
		return [][2]span{{linearAxis(1, 0), splitAxis(n, p.hidden, 1, ceilDiv(p.hidden, p.c0)*p.c0)}}
	},
}

// biasBlocks infers the C0 whose multiples are the sizes of the padded blocks of hid: the expected C0 if
// it produces the device dimension, else the smallest power of two from 4 to 64 that does.
func biasBlocks(dev tensor.Shape, columns int64, p *params) {
	p.n0 = 1
	if p.hidden <= 0 || columns < p.hidden {
		return
	}
	count := columns / p.hidden
	for _, c0 := range []int64{p.c0, 4, 8, 16, 32, 64} {
		if c0 > 0 && count*ceilDiv(p.hidden, c0)*c0 == dev[0] {
			p.c0 = c0
			return
		}
	}
}

// FRACTAL_ZN_LSTM [(I1+H1)*H*W, 4*H1, 16, 16] holds an LSTM weight of C = I+Hd
// rows and N = 4*Hd columns.
// off = ((kk/16*H + h)*W + w)*(4*H1*256) + nn*16 + kk%16, with
// kk = c for c < I, else up(I,16) + c-I; nn = n/Hd*up(Hd,16) + n%Hd.
var fractalZNLSTM = rule{
	format: tensor.FractalZNLSTM,
	rank:   4,
	c0:     16,
	blocks: fractalBlocks,
	relations: func(d axisSizes, p params) ([]relation, error) {
		hidden := d[axN] / 4
		if d[axN]%4 != 0 || hidden == 0 || d[axC] <= hidden {
			return nil, &ShapeError{Format: tensor.FractalZNLSTM, Host: d.shape("NCHW"), Relation: lang.Say(
				"N is %d and C is %d, want N = 4*hidden and C = input+hidden", d[axN], d[axC])}
		}
		h1 := ceilDiv(hidden, 16)
		return []relation{
			{name: "D0", formula: "(I1+H1)*H*W", want: (ceilDiv(d[axC]-hidden, 16) + h1) * d[axH] * d[axW]},
			{name: "D1", formula: "4*H1", want: 4 * h1}, {name: "D2", formula: "16", want: 16}, {name: "D3", formula: "16", want: 16},
		}, nil
	},
	place: func(d axisSizes, dev tensor.Shape, p params) blockList {
		hidden := d[axN] / 4
		input := d[axC] - hidden
		w := dev[1] * 256
		h := w * d[axW]
		row := h * d[axH]
		n := splitAxis(d[axN], hidden, 16, ceilDiv(hidden, 16)*256)
		first, second := splitAxis(input, 16, 1, row), splitAxis(hidden, 16, 1, row)
		second.start, second.shift = input, ceilDiv(input, 16)*16
		rest := []span{linearAxis(d[axD], 0), linearAxis(d[axH], h), linearAxis(d[axW], w)}
		return newBlockList(
			block{spans: append([]span{n, first}, rest...)},
			block{spans: append([]span{n, second}, rest...)},
		)
	},
}

// matrixBlocks is fractalBlocks with the signature of ndRule.blocks.
func matrixBlocks(dev tensor.Shape, _ int64, p *params) { fractalBlocks(dev, p) }

// matrixOf returns rows and columns of a host shape, and its batch dimensions.
// A one-dimensional host shape is one row.
func (r *ndRule) matrixOf(host tensor.Shape) (batch tensor.Shape, m, n int64) {
	n = host[len(host)-1]
	if !r.matrix {
		return host[:len(host)-1], 1, n
	}
	if len(host) == 1 {
		return nil, 1, n
	}
	return host[:len(host)-2], host[len(host)-2], n
}

// checkHostShape returns an error unless a host shape produces device shape dev.
func (r *ndRule) checkHostShape(f tensor.Format, host, dev tensor.Shape, p params) error {
	if len(host) == 0 {
		return &ShapeError{Format: f, Stored: dev, Host: host, Relation: lang.Say("the host shape has no dimensions")}
	}
	batch, m, n := r.matrixOf(host)
	if len(dev) < r.tail {
		return &ShapeError{Format: f, Stored: dev, Host: host,
			Relation: lang.Say("rank is %d, want at least %d", len(dev), r.tail)}
	}
	cut := len(dev) - r.tail
	if b := dev[:cut].Elements(); b != batch.Elements() {
		return &ShapeError{Format: f, Stored: dev, Host: host,
			Relation: lang.Say("%d matrices, want %d", b, batch.Elements())}
	}
	want, err := r.relations(m, n, p)
	if err != nil {
		return err
	}
	return matchDimensions(f, host, dev, dev[cut:], want)
}

// mapTo makes the map of a host shape. axes are the sizes and host strides of its axes, in the
// order of the shape.
func (r *ndRule) mapTo(host, dev tensor.Shape, p params, axes []Axis) *Map {
	batch, m, n := r.matrixOf(host)
	tail := dev[len(dev)-r.tail:]
	matrix := tail.Elements()
	strides := batch.Strides()
	var blocks []block
	keepRow := r.matrix && len(host) > 1
	for _, part := range r.place(m, n, tail, p) {
		var b block
		for i, size := range batch {
			b.spans = append(b.spans, linearAxis(size, strides[i]*matrix))
		}
		if keepRow {
			b.spans = append(b.spans, part[0])
		}
		b.spans = append(b.spans, part[1])
		blocks = append(blocks, b)
	}
	return &Map{Device: dev, Axes: axes, blocks: newBlockList(blocks...)}
}

package layout

import (
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// FRACTAL_Z [C1*H*W, N1, 16, C0], and with g groups [G*C1*H*W, Np/16, 16, C0]: filters in
// blocks of 16 output channels by C0 input channels; grouping explains G, E and Np.
// off = ((((gi/E)*C1 + dc/C0)*H + h)*W + w)*(Np*C0) + dn*C0 + dc%C0
var fractalZ = rule{
	format:    tensor.FractalZ,
	rank:      4,
	grouped:   true,
	blocks:    fractalBlocks,
	relations: groupedRelations(tensor.FractalZ, "G*C1*H*W"),
	place:     placeFractalZ,
}

// FRACTAL_Z_3D [G*D*C1*H*W, Np/16, 16, C0]: FRACTAL_Z for each depth.
// off = (((((gi/E)*D + d)*C1 + dc/C0)*H + h)*W + w)*(Np*C0) + dn*C0 + dc%C0
var fractalZ3D = rule{
	format:    tensor.FractalZ3D,
	rank:      4,
	axes3D:    true,
	grouped:   true,
	blocks:    fractalBlocks,
	relations: groupedRelations(tensor.FractalZ3D, "G*D*C1*H*W"),
	place:     placeFractalZ,
}

// groupedRelations gives the device shape of a layout of grouped filters; first is the formula of its
// first dimension. D is 1 in FRACTAL_Z.
func groupedRelations(f tensor.Format, first string) func(d axisSizes, p params) ([]relation, error) {
	return func(d axisSizes, p params) ([]relation, error) {
		g, err := newGrouping(f, d, p)
		if err != nil {
			return nil, err
		}
		return []relation{
			{name: "D0", formula: first, want: g.packs * d[axD] * g.c1 * d[axH] * d[axW]},
			{name: "D1", formula: "Np/16", want: g.np / 16}, {name: "N0", formula: "16", want: 16}, {name: "C0", formula: "C0", want: p.c0},
		}, nil
	}
}

// grouping is how the filters of a grouped convolution are packed: E
// consecutive groups make one block-diagonal matrix of E*Cin by E*Cout.
type grouping struct {
	g, cin, cout int64
	enlarge      int64 // E
	c1           int64 // ceil(E*Cin/C0)
	np           int64 // E*Cout rounded up to 16
	packs        int64 // G = ceil(g/E)
}

// maxGroups is the largest number of groups in the 16-bit sub-format of a dump.
const maxGroups = 1<<16 - 1

// newGrouping derives the packing. The host N axis is g*Cout, the C axis Cin. E =
// min(lcm(lcm(Cin,C0)/Cin, lcm(Cout,16)/Cout), g).
func newGrouping(f tensor.Format, d axisSizes, p params) (grouping, error) {
	host := d.shape("NCDHW")
	g := max(p.groups, 1)
	if g == 1 {
		return grouping{g: 1, cin: d[axC], cout: d[axN], enlarge: 1,
			c1: ceilDiv(d[axC], p.c0), np: ceilDiv(d[axN], p.cout) * p.cout, packs: 1}, nil
	}
	switch {
	case g > maxGroups:
		return grouping{}, &ShapeError{Format: f, Host: host, Relation: lang.Say("groups is %d, want at most %d", g, maxGroups)}
	case d[axN]%g != 0 || d[axN] == 0:
		return grouping{}, &ShapeError{Format: f, Host: host,
			Relation: lang.Say("N is %d, want a multiple of groups = %d", d[axN], g)}
	case d[axC] == 0:
		return grouping{}, &ShapeError{Format: f, Host: host, Relation: lang.Say("C is 0, want at least 1")}
	}
	r := grouping{g: g, cin: d[axC], cout: d[axN] / g}
	a, b := p.c0/gcd(r.cin, p.c0), p.cout/gcd(r.cout, p.cout)
	r.enlarge = min(a/gcd(a, b)*b, g)
	r.c1 = ceilDiv(r.enlarge*r.cin, p.c0)
	r.np = ceilDiv(r.enlarge*r.cout, p.cout) * p.cout
	r.packs = ceilDiv(g, r.enlarge)
	return r, nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func placeFractalZ(d axisSizes, _ tensor.Shape, p params) blockList {
	g, err := newGrouping(tensor.FractalZ, d, p)
	if err != nil {
		panic(err) // the relations have been checked before
	}
	w := g.np * p.c0
	h := w * d[axW]
	c1 := h * d[axH]
	depth := c1 * g.c1
	pack := depth * d[axD]
	return blockList{
		n: g.g,
		at: func(gi int64) block {
			e := gi % g.enlarge
			c := splitAxis(d[axC], p.c0, 1, c1)
			c.shift = e * g.cin
			n := span{start: gi * g.cout, count: g.cout, shift: e * g.cout, levels: []level{{0, p.c0}}}
			return block{base: gi / g.enlarge * pack, spans: []span{
				n, c.mergeLevels(), linearAxis(d[axD], depth), linearAxis(d[axH], h), linearAxis(d[axW], w)}}
		},
		inHost: func(ranges []axisRange) (from, to int64) {
			cout := max(1, g.cout)
			return ranges[axN].lo / cout, ceilDiv(ranges[axN].hi, cout)
		},
		inDevice: func(lo, hi int64) (from, to int64) {
			return lo / pack * g.enlarge, ceilDiv(hi, pack) * g.enlarge
		},
	}
}

// FRACTAL_Z_3D_TRANSPOSE [D*ceil(N/C0)*H*W, Cp/16, 16, C0], Cp = C rounded up
// to 16. N and C have exchanged their roles.
// off = (((d*ceil(N/C0) + n/C0)*H + h)*W + w)*(Cp*C0) + c*C0 + n%C0
var fractalZ3DTranspose = rule{
	format: tensor.FractalZ3DTranspose,
	rank:   4,
	axes3D: true,
	blocks: fractalBlocks,
	relations: func(d axisSizes, p params) ([]relation, error) {
		return []relation{
			{name: "D0", formula: "D*ceil(N/C0)*H*W", want: d[axD] * ceilDiv(d[axN], p.c0) * d[axH] * d[axW]},
			{name: "D1", formula: "ceil(C/16)", want: ceilDiv(d[axC], p.n0)}, {name: "N0", formula: "16", want: 16}, {name: "C0", formula: "C0", want: p.c0},
		}, nil
	},
	place: func(d axisSizes, dev tensor.Shape, p params) blockList {
		w := dev[1] * p.n0 * p.c0
		h := w * d[axW]
		n1 := h * d[axH]
		return singleBlock(splitAxis(d[axN], p.c0, 1, n1), linearAxis(d[axC], p.c0),
			linearAxis(d[axD], n1*ceilDiv(d[axN], p.c0)), linearAxis(d[axH], h), linearAxis(d[axW], w))
	},
}

// FRACTAL_Z_WINO [C1, N1, 2, H*W, 8, C0].
// off = (((c/C0*N1 + n/16)*2 + n%16/8)*(H*W) + h*W + w)*8*C0 + n%8*C0 + c%C0
var fractalZWino = rule{
	format: tensor.FractalZWino,
	rank:   6,
	blocks: func(dev tensor.Shape, p *params) { p.c0, p.n0 = dev[5], 16 },
	relations: func(d axisSizes, p params) ([]relation, error) {
		return []relation{
			{name: "C1", formula: "ceil(C/C0)", want: ceilDiv(d[axC], p.c0)},
			{name: "N1", formula: "ceil(N/16)", want: ceilDiv(d[axN], p.n0)}, {name: "D2", formula: "2", want: 2},
			{name: "D3", formula: "H*W", want: d[axH] * d[axW]}, {name: "D4", formula: "8", want: 8}, {name: "C0", formula: "C0", want: p.c0},
		}, nil
	},
	place: func(d axisSizes, dev tensor.Shape, p params) blockList {
		w := 8 * p.c0
		n8 := w * d[axH] * d[axW]
		return singleBlock(splitAxis(d[axN], 8, p.c0, n8), splitAxis(d[axC], p.c0, 1, n8*2*dev[1]), linearAxis(d[axD], 0),
			linearAxis(d[axH], w*d[axW]), linearAxis(d[axW], w))
	},
}

// FRACTAL_Z_C04 [ceil(4*ceil(C/4)*H*W/C0), N1, 16, C0] folds position and four
// channels into one axis: k = ((c/4*H + h)*W + w)*4 + c%4.
// off = (k/C0*(N1*16) + n)*C0 + k%C0
var fractalZC04 = rule{
	format: tensor.FractalZC04,
	rank:   4,
	blocks: fractalBlocks,
	relations: func(d axisSizes, p params) ([]relation, error) {
		if p.c0%4 != 0 {
			return nil, &ShapeError{Format: tensor.FractalZC04, Host: d.shape("NCHW"),
				Relation: lang.Say("C0 is %d, want a multiple of 4", p.c0)}
		}
		if d[axC] > maxC04Channels {
			return nil, &ShapeError{Format: tensor.FractalZC04, Host: d.shape("NCHW"),
				Relation: lang.Say("C is %d, want at most %d", d[axC], maxC04Channels)}
		}
		return []relation{
			{name: "D0", formula: "ceil(4*ceil(C/4)*H*W/C0)", want: ceilDiv(4*ceilDiv(d[axC], 4)*d[axH]*d[axW], p.c0)},
			{name: "N1", formula: "ceil(N/16)", want: ceilDiv(d[axN], p.n0)}, {name: "N0", formula: "16", want: 16}, {name: "C0", formula: "C0", want: p.c0},
		}, nil
	},
	foldHW: true,
	place: func(d axisSizes, dev tensor.Shape, p params) blockList {
		outer := dev[1] * p.n0 * p.c0
		area := d[axH] * d[axW]
		var blocks []block
		for quad := range ceilDiv(d[axC], 4) {
			blocks = append(blocks, block{spans: []span{
				linearAxis(d[axN], p.c0),
				{start: quad * 4, count: min(4, d[axC]-quad*4), levels: []level{{0, 1}}},
				linearAxis(d[axD], 0),
				linearAxis(1, 0),
				{count: area, shift: quad * area, levels: []level{{p.c0 / 4, 4}, {0, outer}}}}})
		}
		return newBlockList(blocks...)
	},
}

// maxC04Channels bounds the channels of FRACTAL_Z_C04, because every four of them are a block.
// The layout is meant for C <= 4.
const maxC04Channels = 4096

// fractalBlocks infers C0 and N0 from the last two device dimensions.
func fractalBlocks(dev tensor.Shape, p *params) { p.n0, p.c0 = dev[len(dev)-2], dev[len(dev)-1] }

package layout

import (
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// NC1HWC0 [N, C1, H, W, C0], C1 = ceil(C/C0): channels in blocks of C0.
// off = (((n*C1 + c/C0)*H + h)*W + w)*C0 + c%C0
var nc1hwc0 = rule{
	format:    tensor.NC1HWC0,
	rank:      5,
	blocks:    inferC0,
	relations: nc1hwc0Relations,
	place:     placeNC1HWC0,
	padded: func(dev tensor.Shape) axisSizes {
		return axisSizes{dev[0], dev[1] * dev[4], 1, dev[2], dev[3]}
	},
}

// NC1HWC0_C04 is NC1HWC0 with C0 = 4.
var nc1hwc0C04 = rule{
	format:    tensor.NC1HWC0C04,
	rank:      5,
	c0:        4,
	blocks:    inferC0,
	relations: nc1hwc0Relations,
	place:     placeNC1HWC0,
	padded:    nc1hwc0.padded,
}

// NDC1HWC0 [N, D, C1, H, W, C0].
// off = ((((n*D + d)*C1 + c/C0)*H + h)*W + w)*C0 + c%C0
var ndc1hwc0 = rule{
	format: tensor.NDC1HWC0,
	rank:   6,
	axes3D: true,
	blocks: inferC0,
	relations: func(d axisSizes, p params) ([]relation, error) {
		return []relation{
			{name: "N", formula: "N", want: d[axN]}, {name: "D", formula: "D", want: d[axD]},
			{name: "C1", formula: "ceil(C/C0)", want: ceilDiv(d[axC], p.c0)},
			{name: "H", formula: "H", want: d[axH]}, {name: "W", formula: "W", want: d[axW]}, {name: "C0", formula: "C0", want: p.c0},
		}, nil
	},
	place: placeNC1HWC0,
	padded: func(dev tensor.Shape) axisSizes {
		return axisSizes{dev[0], dev[2] * dev[5], dev[1], dev[3], dev[4]}
	},
}

// C1HWC0 [ceil(N/C0), H, W, C0] holds depth-wise filters (C = 1), with N in blocks instead of C.
// off = ((n/C0*H + h)*W + w)*C0 + n%C0
var c1hwc0 = rule{
	format: tensor.C1HWC0,
	rank:   4,
	blocks: inferC0,
	relations: func(d axisSizes, p params) ([]relation, error) {
		if d[axC] != 1 {
			return nil, &ShapeError{Format: tensor.C1HWC0, Host: d.shape("NCHW"),
				Relation: lang.Say("C must be 1 (depth-wise filters)")}
		}
		return []relation{
			{name: "C1", formula: "ceil(N/C0)", want: ceilDiv(d[axN], p.c0)},
			{name: "H", formula: "H", want: d[axH]}, {name: "W", formula: "W", want: d[axW]}, {name: "C0", formula: "C0", want: p.c0},
		}, nil
	},
	place: func(d axisSizes, dev tensor.Shape, p params) blockList {
		w := p.c0
		h := w * d[axW]
		return singleBlock(splitAxis(d[axN], p.c0, 1, h*d[axH]), linearAxis(d[axC], 0), linearAxis(d[axD], 0),
			linearAxis(d[axH], h), linearAxis(d[axW], w))
	},
	padded: func(dev tensor.Shape) axisSizes {
		return axisSizes{dev[0] * dev[3], 1, 1, dev[1], dev[2]}
	},
}

// C1HWNCoC0 [C1, H, W, N, C0, C0]: element (c, n) lies on the diagonal co = c0 of the last two
// dimensions; all other places are zero.
// off = (((((c/C0)*H + h)*W + w)*N + n)*C0 + c%C0)*C0 + c%C0
// Shape inference writes N rounded up to 16; the device shape decides.
var c1hwncoc0 = rule{
	format: tensor.C1HWNCoC0,
	rank:   6,
	blocks: inferC0,
	relations: func(d axisSizes, p params) ([]relation, error) {
		return []relation{
			{name: "C1", formula: "ceil(C/C0)", want: ceilDiv(d[axC], p.c0)},
			{name: "H", formula: "H", want: d[axH]}, {name: "W", formula: "W", want: d[axW]},
			{name: "N", formula: "N", want: d[axN], atLeast: true}, {name: "Co", formula: "C0", want: p.c0}, {name: "C0", formula: "C0", want: p.c0},
		}, nil
	},
	place: func(d axisSizes, dev tensor.Shape, p params) blockList {
		n := p.c0 * p.c0
		w := n * dev[3]
		h := w * d[axW]
		return singleBlock(linearAxis(d[axN], n), splitAxis(d[axC], p.c0, p.c0+1, h*d[axH]), linearAxis(d[axD], 0),
			linearAxis(d[axH], h), linearAxis(d[axW], w))
	},
	padded: func(dev tensor.Shape) axisSizes {
		return axisSizes{dev[3], dev[0] * dev[5], 1, dev[1], dev[2]}
	},
}

// inferC0 infers the channel block from the last device dimension.
func inferC0(dev tensor.Shape, p *params) { p.c0, p.n0 = dev[len(dev)-1], 1 }

func nc1hwc0Relations(d axisSizes, p params) ([]relation, error) {
	return []relation{
		{name: "N", formula: "N", want: d[axN]}, {name: "C1", formula: "ceil(C/C0)", want: ceilDiv(d[axC], p.c0)},
		{name: "H", formula: "H", want: d[axH]}, {name: "W", formula: "W", want: d[axW]}, {name: "C0", formula: "C0", want: p.c0},
	}, nil
}

func placeNC1HWC0(d axisSizes, _ tensor.Shape, p params) blockList {
	w := p.c0
	h := w * d[axW]
	c1 := h * d[axH]
	depth := c1 * ceilDiv(d[axC], p.c0)
	return singleBlock(linearAxis(d[axN], depth*d[axD]), splitAxis(d[axC], p.c0, 1, c1), linearAxis(d[axD], depth),
		linearAxis(d[axH], h), linearAxis(d[axW], w))
}

// singleBlock makes the list of a single block. The spans are in the order of axisNames.
func singleBlock(spans ...span) blockList { return newBlockList(block{spans: spans}) }

package recompute

import (
	"math"
	"slices"

	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// creations are the formulas of tensors that follow from a few numbers, of grids, and of matrices with a diagonal.
var creations = []formula{
	wholeRow("Linspace", Plain, "start end", func(c *call) *Array {
		start, end, share := c.input(0), c.input(1), c.exactArray(c.shapes[0], c.alloc(int(c.shapes[0].Elements())))
		for i := range share.v {
			share.v[i] = float64(i) / math.Max(1, float64(len(share.v)-1))
		}
		return start.add(share.mul(end.sub(start))).withTermRoundings(start, end)
	}).withNames("LinSpace", "start end -", &optype.Type{Noise: optype.NoiseMove}).withNames("linspace", "start end steps:-", &optype.Type{Noise: optype.NoiseMove}),
	wholeRow("Eye", Move, "value", func(c *call) *Array {
		if len(c.shapes[0]) != 2 || len(c.input(0).v) != 1 {
			return c.fail("a matrix of shape %s", c.shapes[0])
		}
		columns := int(c.shapes[0][1])
		return c.input(0).gatherFrom(c.shapes[0], 0, func(i int) int { return -int(boolToFloat(i/columns != i%columns)) })
	}).withNames("eye", ":value=1 n:- m:-"),
	trianglePlaces("TrilIndices", func(row, column, diagonal int) bool { return column <= row+diagonal }).withNames("tril_indices", "row:rows col:columns offset:diagonal=0"),
	trianglePlaces("TriuIndices", func(row, column, diagonal int) bool { return column >= row+diagonal }).withNames("triu_indices", "row:rows col:columns offset:diagonal=0"),
	{name: "Meshgrid", class: Move, inputs: "x*", cut: uncut, outputs: maxAxes, compute: func(c *call) (all []*Array) {
		for k, x := range c.inputs[:min(len(c.inputs), len(c.shapes))] {
			if isSwapped := c.textAttribute("indexing") == "xy" && len(c.inputs) > 1; isSwapped && k < 2 {
				k = 1 - k
			}
			shape := slices.Repeat(tensor.Shape{1}, len(c.inputs))
			shape[k] = int64(len(x.v))
			all = append(all, x.reshape(shape...).expand(c.shapes[len(all)]))
		}
		return all
	}, attrs: []attribute{textAttribute("indexing", "ij xy")}, forms: []nameGroup{newNameGroup("meshgrid", "tensors*:x indexing=ij")}},
	wholeRow("Diag", Move, "x", func(c *call) *Array {
		if len(c.input(0).shape) == 2 {
			return c.diagonal(int(c.numberAttribute("diagonal")))
		}
		return c.embedDiagonal(c.input(0), int(c.numberAttribute("diagonal")))
	}, defaultNumber("diagonal", 0)).withNames("diag", "diagonal=0"),
	wholeRow("DiagEmbed", Move, "x", func(c *call) *Array { return c.embedDiagonal(c.input(0), int(c.numberAttribute("diagonal"))) }, defaultNumber("diagonal", 0)).
		withNames("diag_embed", "offset:diagonal=0 dim1:-==-2 dim2:-==-1"),
	wholeRow("DiagFlat", Move, "x", func(c *call) *Array {
		return c.embedDiagonal(c.input(0).reshape(-1), int(c.numberAttribute("diagonal")))
	}, defaultNumber("diagonal", 0)).withNames("diagflat", "offset:diagonal=0"),
	wholeRow("AffineGrid", Plain, "theta", affineGrid, flagAttribute("align_corners", false)).withNames("affine_grid", "theta! size:- align_corners=0"),
}

// trianglePlaces returns the row of the rows and columns of the elements of a triangle of a matrix; withNames adds its
// names.
func trianglePlaces(name string, belongs func(row, column, diagonal int) bool) formula {
	return wholeRow(name, Integral, "rows columns", func(c *call) *Array {
		rows, columns, diagonal := c.input(0), c.input(1), int(c.numberAttribute("diagonal"))
		if c.err != nil || len(rows.v) != 1 || len(columns.v) != 1 || c.isTooLarge(tensor.Shape{int64(rows.v[0]), int64(columns.v[0])}) {
			return c.fail("a matrix of %s rows and %s columns", rows.shape, columns.shape)
		}
		var all [2][]float64
		for i := range int(rows.v[0]) {
			for k := range int(columns.v[0]) {
				if belongs(i, k, diagonal) {
					all[0], all[1] = append(all[0], float64(i)), append(all[1], float64(k))
				}
			}
		}
		return c.exactArray(tensor.Shape{2, int64(len(all[0]))}, slices.Concat(all[:]...))
	}, defaultNumber("diagonal", 0))
}

// diagonal returns a diagonal of a matrix, which is the first input.
func (c *call) diagonal(offset int) *Array {
	x := c.input(0)
	if c.err != nil || len(x.shape) != 2 {
		return c.fail("a diagonal of shape %s", x.shape)
	}
	columns := int(x.shape[1])
	n := max(0, min(int(x.shape[0])+min(0, offset), columns-max(0, offset)))
	return x.gatherFrom(tensor.Shape{int64(n)}, 0, func(i int) int { return (i-min(0, offset))*columns + i + max(0, offset) })
}

// embedDiagonal returns matrices with the last axis of x on a diagonal, and zeros elsewhere.
func (c *call) embedDiagonal(x *Array, offset int) *Array {
	last := len(x.shape) - 1
	if last < 0 {
		return x.m.fail("a diagonal of shape %s", x.shape)
	}
	n := int(x.shape[last])
	size := n + max(offset, -offset)
	shape := append(slices.Clone(x.shape[:last]), int64(size), int64(size))
	if c.isTooLarge(shape) {
		return x
	}
	return x.gatherFrom(shape, 0, func(i int) int {
		if row, column := i/size%size, i%size; column-row == offset {
			return i/(size*size)*n + min(row, column)
		}
		return -1
	})
}

// affineGrid returns for each pixel of an image the place (x, y) that a 2x3 matrix maps it to. Places run from -1 to 1,
// between the centres of the corner pixels (align_corners) or between the edges of the image.
func affineGrid(c *call) *Array {
	theta, out := c.input(0), c.shapes[0]
	if c.err != nil || len(theta.shape) != 3 || theta.shape[1] != 2 || theta.shape[2] != 3 || len(out) != 4 || out[0] != theta.shape[0] || out[3] != 2 {
		return c.fail("matrices of shape %s for a grid of shape %s", theta.shape, out)
	}
	places := func(n int64, shape ...int64) *Array {
		z := c.exactArray(shape, c.alloc(int(n)))
		for i := range z.v {
			switch at := float64(2*i + 1); {
			case !c.isAttributeTrue("align_corners"):
				z.v[i] = at/float64(n) - 1
			case n > 1:
				z.v[i] = (at-1)/float64(n-1) - 1
			default:
				z.v[i] = 0
			}
		}
		return z
	}
	column := func(k int) *Array { return theta.axisRange(2, k, 1).reshape(out[0], 1, 1, 2) }
	y, x := places(out[1], 1, out[1], 1, 1), places(out[2], 1, 1, out[2], 1)
	terms := []*Array{column(0).mul(x), column(1).mul(y), column(2)}
	return terms[0].add(terms[1]).add(terms[2]).withTermRoundings(terms...)
}

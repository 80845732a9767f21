package ranks

import (
	"slices"
	"strings"

	"dumptool/internal/trace"
)

// Matrix is what is wrong by rank and layer, in the first step in which anything is.
// Ranks with equal rows share one.
type Matrix struct {
	// Step is the first in which anything is wrong.
	Step string `json:"step"`
	// Layers are the columns: the numbers of layers as ranks have them, of each stage from 0.
	// Rows are those of ranks.
	Layers []int       `json:"layers"`
	Rows   []MatrixRow `json:"rows"`
}

// MatrixRow is what is wrong with some ranks: a letter a layer, see Letters.
type MatrixRow struct {
	// Ranks share the row, Cells are its letters; a space for layers that they have not.
	Ranks []int  `json:"ranks"`
	Cells string `json:"cells"`
}

// The letters of a Matrix, the strongest last.
const (
	Absent        = ' '
	Clean         = '.'
	Damaged       = '#'
	Origin        = 'x'
	Communication = 'c'
)

// matrix says by rank and layer what the first step with findings has; nil without any, or
// without layers.
func (r *Run) matrix(found []*Finding, reached map[*Finding]map[int]int) *Matrix {
	if len(found) == 0 {
		return nil
	}
	step := found[0].call.Step
	m := &Matrix{Step: step.At.Step}
	for c := range step.AllCalls() {
		if n := c.LayerOf(); n >= 0 && !slices.Contains(m.Layers, n) {
			m.Layers = append(m.Layers, n)
		}
	}
	if len(m.Layers) == 0 {
		return nil
	}
	slices.Sort(m.Layers)
	cells := make(map[int]string)
	for _, rank := range step.Ranks() {
		row := []byte(strings.Repeat(string(Absent), len(m.Layers)))
		for _, c := range step.Calls[rank] {
			if at := slices.Index(m.Layers, c.LayerOf()); at >= 0 {
				row[at] = stronger(row[at], letterOf(c, found, reached))
			}
		}
		cells[rank] = string(row)
	}
	for _, same := range trace.GroupBy(slices.Values(step.Ranks()), func(rank int) (string, bool) { return cells[rank], true }) {
		m.Rows = append(m.Rows, MatrixRow{Ranks: same, Cells: cells[same[0]]})
	}
	return m
}

// letterOf returns the letter of a call; see Letters.
func letterOf(c *trace.Call, found []*Finding, reached map[*Finding]map[int]int) byte {
	letter := byte(Clean)
	for _, f := range found {
		switch {
		case f.call == c && f.Class == CommClass, f.Class == CommClass && c.Comm != nil && f.call.Name == c.Name && f.call.Step == c.Step && slices.Contains(f.Members, c.Rank):
			letter = stronger(letter, Communication)
		case f.call == c:
			letter = stronger(letter, Origin)
		case f.call.Step == c.Step:
			if from, ok := reached[f][c.Rank]; ok && c.Place >= from {
				letter = stronger(letter, Damaged)
			}
		}
	}
	return letter
}

func stronger(a, b byte) byte {
	const order = " .#xc"
	if strings.IndexByte(order, b) > strings.IndexByte(order, a) {
		return b
	}
	return a
}

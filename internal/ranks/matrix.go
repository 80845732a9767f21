package ranks

import (
	"slices"
	"strings"

	"dumptool/internal/trace"
)

// Matrix shows the state of each rank and layer in the first step with a finding. Ranks with equal rows share a row.
type Matrix struct {
	// Step is the first step with a finding.
	Step string `json:"step"`
	// Layers are the columns: layer numbers as the ranks name them, from 0 in each pipeline stage. Rows are the rows
	// of the ranks.
	Layers []int       `json:"layers"`
	Rows   []MatrixRow `json:"rows"`
}

// MatrixRow is the row of some ranks: a letter for each layer; see Absent.
type MatrixRow struct {
	// Ranks share the row. Cells are its letters, a space for a layer that the ranks do not have.
	Ranks []int  `json:"ranks"`
	Cells string `json:"cells"`
}

// Letters of a Matrix, the strongest last.
const (
	Absent        = ' '
	Clean         = '.'
	Damaged       = '#'
	Origin        = 'x'
	Communication = 'c'
)

// matrix returns the matrix of the first step with findings; nil without findings or layers.
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
				row[at] = strongerMark(row[at], letterOf(c, found, reached))
			}
		}
		cells[rank] = string(row)
	}
	for _, same := range trace.GroupBy(slices.Values(step.Ranks()), func(rank int) (string, bool) { return cells[rank], true }) {
		m.Rows = append(m.Rows, MatrixRow{Ranks: same, Cells: cells[same[0]]})
	}
	return m
}

// letterOf returns the letter of a call; see Absent.
func letterOf(c *trace.Call, found []*Finding, reached map[*Finding]map[int]int) byte {
	letter := byte(Clean)
	for _, f := range found {
		switch {
		case f.call == c && f.Class == CommClass, f.Class == CommClass && c.Comm != nil && f.call.Name == c.Name && f.call.Step == c.Step && slices.Contains(f.Members, c.Rank):
			letter = strongerMark(letter, Communication)
		case f.call == c:
			letter = strongerMark(letter, Origin)
		case f.call.Step == c.Step:
			if from, ok := reached[f][c.Rank]; ok && c.Place >= from {
				letter = strongerMark(letter, Damaged)
			}
		}
	}
	return letter
}

func strongerMark(a, b byte) byte {
	const order = " .#xc"
	if strings.IndexByte(order, b) > strings.IndexByte(order, a) {
		return b
	}
	return a
}

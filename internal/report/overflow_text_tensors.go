package report

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/overflow"
)

// tensors prints a table of tensors; on a narrow terminal what they are and what
// they hold in two, or a few lines a tensor. Then come the errors.
func (p *printer) tensors(tensors []overflow.Tensor) {
	t := tensorTable(tensors)
	t.Rows = slices.DeleteFunc(t.Rows, func(t *overflow.Tensor) bool { return t.Stats == nil })
	if len(t.Rows) > 0 {
		p.tensorGrid(t.Grid(p.Lang))
	}
	for i := range tensors {
		if t := &tensors[i]; t.Stats == nil {
			p.line(textIndent, fmt.Sprintf("%s: %s", tensorName(t), t.Error))
		}
	}
}

// tensorGrid prints tensors that could be read: four columns of what they are,
// then what they hold, and the first bad element.
func (p *printer) tensorGrid(g Grid) {
	what, counts, bad := g[:4], g[4:len(g)-1], g[len(g)-1:]
	upper, lower := slices.Concat(what, bad), slices.Concat(what[:1], counts)
	switch {
	case p.fits(g):
		p.grid(textIndent, g, 0)
		return
	case p.fits(upper) && p.fits(lower):
		p.grid(textIndent, upper, 0)
		p.grid(textIndent, lower, 0)
		return
	}
	for row := 1; row < len(g[0].cells); row++ {
		var is, holds []string
		for _, c := range what {
			is = append(is, c.cells[row])
		}
		for _, c := range slices.Concat(counts, bad) {
			if cell := c.cells[row]; cell != "" {
				holds = append(holds, c.cells[0]+" "+cell)
			}
		}
		p.line(textIndent, strings.Join(is, " "))
		p.line(textIndent+textIndent, p.join(holds...))
	}
}

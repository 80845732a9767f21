package ui

import (
	"bufio"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Align is the side on which the cells of a column line up.
type Align int

// The alignments: text to the left, numbers to the right.
const (
	Left Align = iota
	Right
)

const (
	columnGap = 2
	// minText is what truncation leaves of a text column: less says nothing.
	minText = 8
)

// Column describes one column of a table.
type Column struct {
	Title string
	Align Align
}

// Table collects rows of cells and prints them in columns.
type Table struct {
	columns []Column
	rows    [][]string
}

// NewTable returns a table without rows.
func NewTable(columns ...Column) *Table {
	t := &Table{columns: columns}
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.Title
	}
	t.Row(titles...)
	return t
}

// Row adds a row. Cells that are missing stay empty, more cells than columns
// are a mistake of the caller. Whatever a terminal would not show as it is
// appears escaped.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(t.columns))
	for i, cell := range cells {
		row[i] = Escape(cell)
	}
	t.rows = append(t.rows, row)
}

// Len returns the number of rows without the header.
func (t *Table) Len() int { return len(t.rows) - 1 }

// Print writes the table. A positive width is that of a terminal: the widest
// text columns are cut, with an ellipsis, until the rows fit or the columns
// would say nothing any more. With width 0 no cell is ever cut.
func (t *Table) Print(w io.Writer, width int) error {
	cells := newMetric()
	widths := make([]int, len(t.columns))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], cells.StringWidth(cell))
		}
	}
	if width > 0 {
		t.fit(widths, width)
	}
	out := bufio.NewWriter(w)
	for _, row := range t.rows {
		out.WriteString(t.line(cells, row, widths))
		out.WriteByte('\n')
	}
	return out.Flush()
}

// fit narrows the widest text columns until a row needs at most width columns
// of the terminal.
func (t *Table) fit(widths []int, width int) {
	total := columnGap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for total > width {
		widest := -1
		for i, c := range t.columns {
			if c.Align == Left && widths[i] > minText && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
		total--
	}
}

// line lays out one row, without blanks at its end.
func (t *Table) line(cells *runewidth.Condition, row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		cell = cells.Truncate(cell, widths[i], "…")
		pad := strings.Repeat(" ", widths[i]-cells.StringWidth(cell))
		if i > 0 {
			b.WriteString(strings.Repeat(" ", columnGap))
		}
		if t.columns[i].Align == Right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// newMetric returns the measure of cells. It does not depend on the locale:
// the same rows make the same table everywhere.
func newMetric() *runewidth.Condition {
	return &runewidth.Condition{StrictEmojiNeutral: true}
}

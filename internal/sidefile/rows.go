package sidefile

import (
	"io"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// The values of Files.Rows that are no path.
const (
	RowsAuto = "auto" // rows are matched by their token ids
	RowsOff  = "off"
)

// RowPair is a line of a file of rows: two rows of the same token, as flat numbers from 0.
type RowPair struct {
	Ref, NPU int64
	Line     int
}

// RowMap says which rows of both sides are compared. Without a path rows are matched by their token ids.
type RowMap struct {
	Path  string
	Pairs []RowPair
}

// Error returns the error of a line.
func (m *RowMap) Error(line int, err error) error {
	return &FileError{RowsFile, m.Path, true, lang.Errorf("line %d: %w", line, err)}
}

// readRows reads lines of two numbers, REF,NPU. Empty lines are ignored.
func (in *Inputs) readRows(r io.Reader, path string) error {
	text, err := readAll(r)
	if err != nil {
		return err
	}
	in.Rows = &RowMap{Path: path}
	lines := [2]map[int64]int{{}, {}} // of the rows of each side
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		cells := strings.Split(strings.TrimSpace(line), ",")
		if len(cells) == 1 && cells[0] == "" {
			continue
		}
		if len(cells) != len(lines) {
			return lang.Errorf("line %d is %q, want two numbers: REF,NPU", number, lang.Clip(strings.TrimSpace(line)))
		}
		var rows [2]int64
		for side, cell := range cells {
			row, err := strconv.ParseInt(strings.TrimSpace(cell), 10, 64)
			if err != nil || row < 0 {
				return lang.Errorf("line %d: row %q, want a number from 0", number, lang.Clip(cell))
			}
			if first := lines[side][row]; first > 0 {
				return lang.Errorf("line %d: row %d of the %s is already in line %d", number, row, sideNames[side], first)
			}
			rows[side], lines[side][row] = row, number
		}
		in.Rows.Pairs = append(in.Rows.Pairs, RowPair{rows[0], rows[1], number})
	}
	return nil
}

var sideNames = [2]lang.Text{{EN: "reference"}, {EN: "NPU"}}

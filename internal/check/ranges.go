package check

import (
	"fmt"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Range is a half-open range of indexes.
type Range struct {
	// From is the first index, To the last index + 1.
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// RowWidth returns the number of elements of a row: rows are counted over all axes except the last.
func RowWidth(shape tensor.Shape) int64 {
	if len(shape) < 2 {
		return 1
	}
	return max(shape[len(shape)-1], 1)
}

// markedRows returns the rows with marked elements, and the number of rows.
func markedRows(marked []bool, shape tensor.Shape) (all []Range, total int64) {
	width := int(RowWidth(shape))
	for i, is := range marked {
		at := int64(i / width)
		switch n := len(all); {
		case !is:
		case n > 0 && all[n-1].To >= at:
			all[n-1].To = max(all[n-1].To, at+1)
		default:
			all = append(all, Range{at, at + 1})
		}
	}
	return all, int64(len(marked) / width)
}

// rowsText names rows.
func rowsText(rows []Range, total int64) lang.Text {
	if len(rows) == 1 && rows[0] == (Range{0, total}) {
		return lang.Text{EN: "all rows"}
	}
	return lang.Say("rows %s", RangesText(rows)).Text()
}

// RangesText lists the first ranges.
func RangesText(rows []Range) string {
	const most = 8
	var all []string
	for i, r := range rows {
		switch {
		case i == most:
			all = append(all, "...")
		case i > most:
		case r.To == r.From+1:
			all = append(all, fmt.Sprint(r.From))
		default:
			all = append(all, fmt.Sprintf("%d-%d", r.From, r.To-1))
		}
	}
	return strings.Join(all, ", ")
}

package report

import (
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
)

// rankStepFolds says how a text joins rows that differ only in their rank and step.
type rankStepFolds[R any] struct {
	// at returns the place of a row, move sets it.
	at   func(*R) dumpdir.Coordinates
	move func(*R, dumpdir.Coordinates)
	// key is equal for rows that may be joined.
	key func(*R) string
	// replaces reports whether more stands for the joined rows rather than row, nil for never.
	replaces func(row, more *R) bool
}

// foldedRow is a copy of a row that stands for several rows. Its place lists their ranks and steps.
type foldedRow[R any] struct {
	row   *R
	count int
}

// joinRows joins alike rows of several ranks, then of several steps, in the order of the first ones.
func (f *rankStepFolds[R]) joinRows(rows []*R) []foldedRow[R] {
	all := make([]foldedRow[R], len(rows))
	for i, row := range rows {
		one := *row
		all[i] = foldedRow[R]{&one, 1}
	}
	all = f.foldAxis(all, func(c *dumpdir.Coordinates) *string { return &c.Rank })
	return f.foldAxis(all, func(c *dumpdir.Coordinates) *string { return &c.Step })
}

// foldAxis joins alike rows along one axis.
func (f *rankStepFolds[R]) foldAxis(rows []foldedRow[R], axis func(*dumpdir.Coordinates) *string) []foldedRow[R] {
	type id struct {
		place  dumpdir.Coordinates
		key    string
		repeat int // rows of one place may be alike
	}
	var all []foldedRow[R]
	var values [][]string
	index := map[id]int{}
	for _, next := range rows {
		place := f.at(next.row)
		value := *axis(&place)
		*axis(&place) = ""
		at := id{place: place, key: f.key(next.row)}
		i, known := index[at]
		for known && slices.Contains(values[i], value) {
			at.repeat++
			i, known = index[at]
		}
		if !known {
			index[at] = len(all)
			all, values = append(all, next), append(values, []string{value})
			continue
		}
		values[i] = append(values[i], value)
		all[i].count += next.count
		if f.replaces != nil && f.replaces(all[i].row, next.row) {
			all[i].row = next.row
		}
	}
	for i, one := range all {
		place := f.at(one.row)
		*axis(&place) = strings.ReplaceAll(lang.Ranges(axisOf(values[i])), " ", "") // as --rank takes it
		f.move(one.row, place)
	}
	return all
}

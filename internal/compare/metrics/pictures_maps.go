package metrics

import (
	"math"
	"sort"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/exact"
	"dumptool/internal/tensor"
)

const (
	// MapRows is the most rows of a Map.
	MapRows = 32
	// MapColumns is the most columns.
	MapColumns = 48
	// wideColumn is the width from which a column is summed by the kernel.
	wideColumn = 32
)

// Map shows how the differences spread over two axes, summed over all others. A tensor
// with a single axis longer than 1 is folded to rows; RowAxis and ColumnAxis are then the
// same.
type Map struct {
	RowAxis    int `json:"row_axis"`
	ColumnAxis int `json:"col_axis"`
	// RowFold and ColumnFold are the numbers of positions in a cell; the last cell may have
	// fewer.
	RowFold    int64 `json:"row_fold"`
	ColumnFold int64 `json:"col_fold"`
	Rows       int   `json:"rows"`
	Columns    int   `json:"cols"`
	// LogLow and LogHigh are log10 of the smallest and the largest mean |d| of a cell, over
	// the means above 0 and the pairs that are finite on both sides.
	LogLow  float64 `json:"log_lo"`
	LogHigh float64 `json:"log_hi"`
	// Mean has a byte for each cell, row by row: 0 if the mean is 0 or there is none, else 1
	// (LogLow) to 255 (LogHigh), linear in the logarithm of the mean.
	Mean []byte `json:"mean"`
	// Errors has 255 times the share of errors (by the strict policy) in a cell, at least 1 if
	// there is an error.
	Errors []byte `json:"errors"`
}

// mapper makes a map. The tensor is cut into rows of size elements; a column covers the
// same positions of every row.
type mapper struct {
	Map
	total     int64
	size      int64 // elements of a row
	width     int64 // elements of a row in a column
	rows      int64 // different rows
	rowFold   int64 // rows in a cell
	sums      []float64
	errors    []int64
	nonFinite []int64
	leftOut   []int64  // elements that were left out, nil for none
	runs      []mapRun // of the current block
}

// mapRun is a run of elements of a block in one cell; end is exclusive.
type mapRun struct{ cell, end int32 }

// newMappers returns the mappers of a shape: none for a single element.
func newMappers(shape tensor.Shape, total int64) []*mapper {
	var axes []int // longer than 1, the last first
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] > 1 {
			axes = append(axes, i)
		}
	}
	switch {
	case total == 0 || len(axes) == 0:
		return nil
	case len(axes) == 1:
		return []*mapper{flatMapper(axes[0], total)}
	}
	mappers := []*mapper{newMapper(shape, axes[1], axes[0], 1, total)}
	if len(axes) > 2 {
		mappers = append(mappers, newMapper(shape, axes[2], axes[1], shape[axes[0]], total))
	}
	return mappers
}

// newMapper returns the mapper of two axes; stride is the stride of the column axis.
func newMapper(shape tensor.Shape, row, column int, stride, total int64) *mapper {
	m := &mapper{Map: Map{RowAxis: row, ColumnAxis: column}, total: total}
	m.RowFold, m.Rows = equalCells(shape[row], MapRows)
	m.ColumnFold, m.Columns = equalCells(shape[column], MapColumns)
	m.size, m.width, m.rows, m.rowFold = shape[column]*stride, m.ColumnFold*stride, shape[row], m.RowFold
	return m.alloc()
}

// flatMapper returns the mapper of a tensor with one axis.
func flatMapper(axis int, total int64) *mapper {
	m := &mapper{Map: Map{RowAxis: axis, ColumnAxis: axis}, total: total}
	var cells int
	m.ColumnFold, cells = equalCells(total, MapRows*MapColumns)
	m.RowFold = m.ColumnFold * MapColumns
	m.Rows, m.Columns = (cells+MapColumns-1)/MapColumns, min(cells, MapColumns)
	m.size, m.width, m.rows, m.rowFold = m.RowFold, m.ColumnFold, int64(m.Rows), 1
	return m.alloc()
}

// equalCells divides positions into at most most cells of equal size; the last may be smaller.
func equalCells(size int64, most int) (each int64, cells int) {
	each = (size + int64(most) - 1) / int64(most)
	return each, int((size + each - 1) / each)
}

func (m *mapper) alloc() *mapper {
	n := m.Rows * m.Columns
	m.sums, m.errors, m.nonFinite = make([]float64, n), make([]int64, n), make([]int64, n)
	return m
}

// setRuns sets the runs of count elements from an offset on.
func (m *mapper) setRuns(first int64, count int) {
	m.runs = m.runs[:0]
	row, at := first/m.size%m.rows, first%m.size
	for i := 0; i < count; {
		cell := int32(row/m.rowFold)*int32(m.Columns) + int32(at/m.width)
		left := m.width - at%m.width
		for at < m.size && i < count {
			n := int(min(left, m.size-at, int64(count-i)))
			i, at, left = i+n, at+int64(n), m.width
			if k := len(m.runs) - 1; k >= 0 && m.runs[k].cell == cell {
				m.runs[k].end = int32(i)
			} else {
				m.runs = append(m.runs, mapRun{cell, int32(i)})
			}
			cell++
		}
		if at == m.size {
			if row, at = row+1, 0; row == m.rows {
				row = 0
			}
		}
	}
}

// cell returns the cell of a position of the block.
func (m *mapper) cell(position int32) int32 {
	k := sort.Search(len(m.runs), func(k int) bool { return m.runs[k].end > position })
	return m.runs[k].cell
}

// addMaps adds a block whose errors have been found.
func (g *gatherer) addMaps(b *block) {
	for _, m := range g.maps {
		m.setRuns(b.first, b.count)
		m.add(b.abs, b.flags[:b.count], b.errors.Count)
		for _, i := range g.special {
			m.nonFinite[m.cell(i)]++
		}
		for _, offset := range g.nonFiniteErrors {
			m.errors[m.cell(int32(offset-b.first))]++
		}
	}
}

// add adds the differences of a block. errors is the number of its flagged errors.
func (m *mapper) add(abs []float64, flags []uint8, errors int64) {
	at := 0
	for _, run := range m.runs {
		cell, part := run.cell, abs[at:run.end]
		if m.width < wideColumn {
			sum := m.sums[cell]
			for _, x := range part {
				sum += x
			}
			m.sums[cell] = sum
		} else {
			m.sums[cell] += kernel.Sum(part)
		}
		switch errors {
		case 0:
		case int64(len(abs)):
			m.errors[cell] += int64(len(part))
		default:
			for _, flag := range flags[at:run.end] {
				m.errors[cell] += int64(flag & beyondError)
			}
		}
		at = int(run.end)
	}
}

// elementCount returns the number of elements of a cell, with the elements that were left out.
func (m *mapper) elementCount(cell int) int64 {
	row, column := int64(cell/m.Columns), int64(cell%m.Columns)
	if m.RowAxis == m.ColumnAxis {
		first := row*m.RowFold + column*m.ColumnFold
		return max(min(m.ColumnFold, m.total-first), 0)
	}
	rows, width := min(m.rowFold, m.rows-row*m.rowFold), min(m.width, m.size-column*m.width)
	return m.total / (m.rows * m.size) * rows * width
}

// buildMap converts the sums to a map.
func (m *mapper) buildMap() Map {
	n := len(m.sums)
	m.Mean, m.Errors = make([]byte, n), make([]byte, n)
	var logs bounds
	for i, sum := range m.sums {
		count := m.elementCount(i)
		if m.leftOut != nil {
			count -= m.leftOut[i]
		}
		if e := m.errors[i]; e > 0 {
			m.Errors[i] = byte(max(1, math.Round(255*(float64(e)/float64(count)))))
		}
		if m.sums[i] = 0; sum > 0 {
			mean := max(min(sum/float64(count-m.nonFinite[i]), math.MaxFloat64), math.SmallestNonzeroFloat64)
			m.sums[i] = exact.Log10(mean)
			m.Mean[i] = 1
			logs.add(m.sums[i], m.sums[i])
		}
	}
	m.LogLow, m.LogHigh = logs.min, logs.max
	for i, log := range m.sums {
		if m.Mean[i] > 0 {
			m.Mean[i] = byteScale(log, logs.min, logs.max)
		}
	}
	return m.Map
}

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/overflow"
	"dumptool/internal/store"
)

// withTensor is something with one of its tensors, nil where it has none.
type withTensor[R any] struct {
	of     R
	tensor *overflow.Tensor
}

// besides returns columns of things, then those of their tensors, then those of the
// rounds that they are of.
func besides[R any](columns, rounds []Column[R]) []Column[withTensor[R]] {
	alone := func(r withTensor[R]) (R, bool) { return r.of, true }
	tensor := func(r withTensor[R]) (*overflow.Tensor, bool) { return r.tensor, r.tensor != nil }
	return slices.Concat(of(alone, columns...), of(tensor, tensorColumns...), of(alone, rounds...), of(tensor, fromStatistics))
}

// WriteAnalysisCSV writes a line for every tensor of every record; a record
// without tensors has one line.
func WriteAnalysisCSV(w io.Writer, r *overflow.Report) error {
	t := Table[withTensor[*overflow.Record]]{Columns: besides(recordColumns, recordRoundColumns)}
	for _, record := range pointers(r.Records) {
		for _, one := range pointers(record.Tensors) {
			t.Rows = append(t.Rows, withTensor[*overflow.Record]{record, one})
		}
		if len(record.Tensors) == 0 {
			t.Rows = append(t.Rows, withTensor[*overflow.Record]{of: record})
		}
	}
	return t.CSV(w)
}

// WriteScanCSV writes a line for every tensor.
func WriteScanCSV(w io.Writer, r *overflow.ScanReport) error {
	columns := besides(scanColumns, scanRoundColumns)
	bad := words("bad", func(r withTensor[*overflow.Scanned]) bool { return r.tensor.Bad })
	t := Table[withTensor[*overflow.Scanned]]{Columns: slices.Insert(columns, len(scanColumns), bad)}
	for _, row := range pointers(r.Rows) {
		for _, one := range pointers(row.Tensors) {
			t.Rows = append(t.Rows, withTensor[*overflow.Scanned]{row, one})
		}
	}
	return t.CSV(w)
}

// isFirst reports whether a record is the first of its rank.
func isFirst(r *overflow.Report, i int) bool {
	first, ok := r.First[r.Records[i].Rank]
	return ok && first == i
}

// opText names an operator, possibly one whose file name says nothing of it.
func opText(opType, name string) string {
	if opType == "" {
		return name
	}
	return strings.TrimSpace("[" + opType + "] " + name)
}

// WriteAnalysisMarkdown writes the records as a document.
func WriteAnalysisMarkdown(w io.Writer, r *overflow.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Overflow records\n\nrecords: %d, problems: %d\n", len(r.Records), len(r.Problems))
	columns := slices.Concat(withRank(recordColumns), recordRoundColumns[1:])
	for i := range r.Records {
		record := &r.Records[i]
		op := "operator not found"
		if record.Op != nil {
			op = opText(record.Op.Type, record.Op.Name)
			if record.Op.Guess {
				op += " (a guess)"
			}
		}
		markdownHeading(&b, i, op, isFirst(r, i))
		markdownItems(&b, columns, record)
		for _, t := range record.Advice {
			markdownItem(&b, "advice", t.EN)
		}
		for _, warning := range record.Warnings {
			markdownItem(&b, "warning", warning)
		}
		if len(record.Tensors) > 0 {
			markdownTensors(&b, record.Tensors)
		}
	}
	markdownProblems(&b, r.Problems)
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteScanMarkdown writes the rows of a scan as a document.
func WriteScanMarkdown(w io.Writer, r *overflow.ScanReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Overflow scan\n\nfiles: %d, tensors: %d, files with bad tensors: %d\n", r.Files, r.Tensors, r.BadFiles)
	columns := slices.Concat(withRank(named(scanColumns, "file", "device", "step", "time", "verdict")), scanRoundColumns[1:])
	for i := range r.Rows {
		row := &r.Rows[i]
		name := opText(row.OpType, row.OpName)
		if name == "" {
			name = store.Base(row.File)
		}
		markdownHeading(&b, i, name, row.First)
		markdownItems(&b, columns, row)
		if row.FromStatistics() {
			markdownItem(&b, "source", "statistics")
		}
		markdownTensors(&b, row.Tensors)
	}
	markdownProblems(&b, r.Problems)
	_, err := io.WriteString(w, b.String())
	return err
}

// withRank returns columns in which the device is called the rank.
func withRank[R any](columns []Column[R]) []Column[R] {
	columns = slices.Clone(columns)
	for i := range columns {
		if columns[i].Name == "device" {
			columns[i].Name = "rank"
		}
	}
	return columns
}

// markdownHeading writes the heading of a record or a file.
func markdownHeading(b *strings.Builder, i int, name string, first bool) {
	fmt.Fprintf(b, "\n## %d. %s", i+1, markdown(name))
	if first {
		b.WriteString(" (first of its rank)")
	}
	b.WriteString("\n\n")
}

// markdownItems writes the cells of a row that are not empty as a list.
func markdownItems[R any](b *strings.Builder, columns []Column[R], r R) {
	for _, c := range (Table[R]{Columns: columns}).columns(InCSV) {
		if text := exact(c.Cell(r)); text != "" {
			markdownItem(b, c.Name, text)
		}
	}
}

func markdownItem(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, "- %s: %s\n", name, markdown(text))
}

// markdownTensors writes a table of tensors.
func markdownTensors(b *strings.Builder, tensors []overflow.Tensor) {
	b.WriteString("\n")
	t := tensorTable(tensors)
	t.Columns = slices.Clone(t.Columns)
	for i := range t.Columns {
		t.Columns[i].Right = false
	}
	t.Markdown(b)
}

// markdownProblems lists the problems, unless there are none.
func markdownProblems(b *strings.Builder, problems []overflow.Problem) {
	if len(problems) == 0 {
		return
	}
	b.WriteString("\n## Problems\n\n")
	for _, p := range problems {
		fmt.Fprintf(b, "- %s\n", markdown(problemText(&p).String()))
	}
}

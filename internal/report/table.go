package report

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/perf"
	"dumptool/internal/tensor"
	"dumptool/internal/ui"
)

// Column is a column of a table with rows of type R.
type Column[R any] struct {
	// Name is the heading and the JSON key.
	Name string
	// Key is the JSON key if it differs from Name. Title is the heading in text, by default the
	// name in capitals.
	Key   string
	Title lang.Text
	// Right aligns the cells right, as for numbers in text and Markdown.
	Right bool
	// Optional omits the column from text if all of its cells are empty.
	Optional bool
	// Rank is the priority of the column on a narrow terminal: the highest ranks are dropped first,
	// rank 0 is never dropped.
	Rank int
	// In lists the forms that have the column, 0 for all.
	In Forms
	// Doc describes the column in the list of documents' keys.
	Doc string
	// Cell returns the value of a row, without escaping. A nil cell is empty and omitted from JSON;
	// a nil pointer is null in JSON.
	Cell func(R) any
}

// Forms is a set of forms of a table.
type Forms uint8

// The forms. Markdown has the columns of CSV.
const (
	InText Forms = 1 << iota
	InCSV
	InJSON
)

// textColumn returns a column of text, numbers a column of numbers.
func textColumn[R, V any](name string, cell func(R) V) Column[R] {
	return Column[R]{Name: name, Cell: func(r R) any { return cell(r) }}
}

func numberColumn[R, V any](name string, cell func(R) V) Column[R] {
	c := textColumn(name, cell)
	c.Right = true
	return c
}

// emptyIfZero makes zero values and empty lists empty cells.
func (c Column[R]) emptyIfZero() Column[R] {
	cell := c.Cell
	c.Cell = func(r R) any {
		v := reflect.ValueOf(cell(r))
		if !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
			return nil
		}
		return v.Interface()
	}
	return c
}

// emptyUnless makes cells empty unless is holds for the row.
func (c Column[R]) emptyUnless(is func(R) bool) Column[R] {
	cell := c.Cell
	c.Cell = func(r R) any {
		if !is(r) {
			return nil
		}
		return cell(r)
	}
	return c
}

// inForms limits a column to some forms.
func (c Column[R]) inForms(f Forms) Column[R] {
	c.In = f
	return c
}

// withTitle sets the heading in text.
func (c Column[R]) withTitle(en string) Column[R] {
	c.Title = lang.Text{EN: en}
	return c
}

// withHeading sets a heading that is the same in both languages.
func (c Column[R]) withHeading(title string) Column[R] {
	c.Title = lang.Text{EN: title, ZH: title}
	return c
}

// withDescription sets the description of a column.
func (c Column[R]) withDescription(doc string) Column[R] {
	c.Doc = doc
	return c
}

// hideIfEmpty omits a column from text if all of its cells are empty.
func (c Column[R]) hideIfEmpty() Column[R] {
	c.Optional = true
	return c
}

// withRank sets the rank of a column.
func (c Column[R]) withRank(rank int) Column[R] {
	c.Rank = rank
	return c
}

// columnsOfPart converts columns of a part of the rows; cells are empty for rows without the part.
func columnsOfPart[R, P any](part func(R) (p P, ok bool), columns ...Column[P]) []Column[R] {
	all := make([]Column[R], len(columns))
	for i, c := range columns {
		all[i] = Column[R]{c.Name, c.Key, c.Title, c.Right, c.Optional, c.Rank, c.In, c.Doc, func(r R) any {
			if p, ok := part(r); ok {
				return c.Cell(p)
			}
			return nil
		}}
	}
	return all
}

// pointers returns pointers to rows, which are cheaper to pass.
func pointers[R any](rows []R) []*R {
	all := make([]*R, len(rows))
	for i := range rows {
		all[i] = &rows[i]
	}
	return all
}

// Table is rows with columns. All formats can show it.
type Table[R any] struct {
	Columns []Column[R]
	Rows    []R
}

// columns returns the columns of a form.
func (t Table[R]) columns(f Forms) []Column[R] {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c Column[R]) bool { return c.In != 0 && c.In&f == 0 })
}

// numeral is a number in text form.
type numeral string

// exactCell formats a cell in full, for CSV.
func exactCell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return allDigits(v)
	case *float64:
		if v == nil {
			return ""
		}
		return significantDigits(-1)(*v)
	case metrics.Metric:
		return exactMetric(v)
	case tensor.Shape:
		return v.Join("x")
	}
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer {
		if p.IsNil() {
			return ""
		}
		return exactCell(p.Elem().Interface())
	}
	return fmt.Sprint(v)
}

// cellText formats a cell for people.
func cellText(v any, l Lang) string {
	switch v := v.(type) {
	case lang.Text:
		return l.Text(v)
	case *float64:
		return sixDigits(v)
	case metrics.Metric:
		return shortMetric(v)
	case tensor.Shape:
		return v.Join(",")
	}
	return exactCell(v)
}

// isNumber reports whether a cell is a number, whose minus sign is no formula.
func isNumber(v any) bool {
	switch v.(type) {
	case int, int64, *int64, uint64, float64, *float64, metrics.Metric, numeral, perf.Count:
		return true
	}
	return false
}

// CSV writes the table as CSV with commas. Cells are escaped by csvText.
func (t Table[R]) CSV(w io.Writer) error { return writeCSV(w, t.columns(InCSV), slices.Values(t.Rows)) }

// writeCSV writes a table row by row.
func writeCSV[R any](w io.Writer, columns []Column[R], rows iter.Seq[R]) error {
	out := csv.NewWriter(w)
	cells := make([]string, len(columns))
	for i := range columns {
		cells[i] = columns[i].Name
	}
	if err := out.Write(cells); err != nil {
		return err
	}
	for r := range rows {
		for i := range columns {
			v := columns[i].Cell(r)
			if cells[i] = exactCell(v); !isNumber(v) {
				cells[i] = csvText(cells[i])
			}
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// MarshalJSON implements json.Marshaler: a list of objects.
func (t Table[R]) MarshalJSON() ([]byte, error) {
	b := []byte("[")
	columns := t.columns(InJSON)
	for i, r := range t.Rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendObject(b, columns, r)
	}
	return append(b, ']'), nil
}

// appendObject appends a row as a JSON object. Keys are not escaped.
func appendObject[R any](b []byte, columns []Column[R], r R) []byte {
	before := byte('{')
	for i := range columns {
		c := &columns[i]
		v := c.Cell(r)
		if v == nil {
			continue
		}
		b = append(append(append(b, before, '"'), cmp.Or(c.Key, c.Name)...), '"', ':')
		b = appendJSON(b, v)
		before = ','
	}
	if before == '{' {
		b = append(b, '{')
	}
	return append(b, '}')
}

// appendJSON appends a cell. The most frequent types bypass the encoder.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case uint64:
		return strconv.AppendUint(b, v, 10)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		if !strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) {
			return append(append(append(b, '"'), v...), '"')
		}
	case *float64:
		if number, err := json.Marshal(v); err == nil {
			return append(b, number...)
		}
	case json.Marshaler:
		if object, err := v.MarshalJSON(); err == nil {
			return append(b, object...)
		}
	case float64:
		return jsonpos.AppendNumber(b, v)
	case tensor.Shape:
		return append(append(append(b, '['), v.Join(",")...), ']')
	case error:
		return append(b, marshal(v.Error(), "")...)
	}
	return append(b, marshal(v, "")...)
}

// nonNilList returns a list that is never null in JSON.
func nonNilList[V any](all []V) []V { return append([]V{}, all...) }

// Grid returns the table as text before layout.
func (t Table[R]) Grid(l Lang) Grid {
	var g Grid
	for _, c := range t.columns(InText) {
		cells, empty := []string{ui.Escape(cmp.Or(l.Text(c.Title), strings.ToUpper(c.Name)))}, true
		for _, r := range t.Rows {
			cell := ui.Escape(cellText(c.Cell(r), l))
			cells, empty = append(cells, cell), empty && cell == ""
		}
		if !c.Optional || !empty {
			g = append(g, gridColumn{cells: cells, right: c.Right, rank: c.Rank, width: widestCell(cells)})
		}
	}
	return g
}

// Untrusted text - names, paths, messages that quote them - is escaped for its destination: by
// ui.Escape for terminals and logs, csvText for cells, markdown for Markdown, escapeLines for XML;
// the JSON encoder escapes its own.

// escapeLines escapes control and invisible characters as in Go strings. Line breaks stay, and
// invalid UTF-8 becomes U+FFFD.
func escapeLines(text string) string {
	lines := strings.Split(strings.ToValidUTF8(text, "\ufffd"), "\n")
	for i := range lines {
		lines[i] = ui.Escape(lines[i])
	}
	return strings.Join(lines, "\n")
}

// csvText escapes text for a CSV cell: as escapeLines does, with a leading quote if a spreadsheet
// would read a formula. Some read full-width signs as signs.
func csvText(text string) string {
	cell := escapeLines(text)
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + cell
	}
	return cell
}

// escapeMarkdown escapes text that would be markup or mention a user. Underscores within words are kept.
func escapeMarkdown(text string) string {
	text = ui.Escape(text)
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '&':
			b.WriteString("&amp;")
		case c == '<':
			b.WriteString("&lt;")
		case c == '@':
			b.WriteString("@<!-- -->")
		case c == '_' && isInWord(text, i), !strings.ContainsRune("\\|`*_[]~$", rune(c)):
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// isInWord reports whether ASCII letters or digits stand on both sides of the underscores around
// text[i].
func isInWord(text string, i int) bool {
	before, after := strings.TrimRight(text[:i], "_"), strings.TrimLeft(text[i:], "_")
	return before != "" && after != "" && isAlphanumeric(before[len(before)-1]) && isAlphanumeric(after[0])
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

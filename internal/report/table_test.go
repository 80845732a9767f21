package report

import (
	"io"
	"strings"
	"testing"
	"unicode"
)

// hostile are names with control characters or spreadsheet formulas.
var hostile = []string{"=cmd|' /C calc'!A0", "@SUM(1+1)", "=HYPERLINK(\"http://x\")", "+1", "-x", "\t=1", "\r=1", "a\x1b[31mb", "bell\x07", "cr\rover",
	"c1\u009b31m", "bidi\u202etxt", "zero\u200bwidth", "\xff\xfe"}

func TestCSVText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "conv1": "conv1", "a,b\"c": "a,b\"c", "=1+1": "'=1+1", "-x": "'-x", "+x": "'+x", "@x": "'@x", "\t=x": `'\t=x`, "\r=x": `'\r=x`, "\n=x": "'\n=x", "＝x": "'＝x", "\xff=": "\ufffd=",
		"a\x1b[31m": `a\x1b[31m`, "\u009b31m": `\u009b31m`, "a\u202eb": `a\u202eb`, "a\nb": "a\nb", "a\xffb": "a\ufffdb", "算子": "算子",
	} {
		if got := csvText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestHostileNames: no table shows control characters of names, or begins a cell as a formula.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	for _, name := range hostile {
		row, bad := failing(name), twoRecords()
		row.OpType, row.NPUOp = name, name
		bad.Records[0].File, bad.Records[0].Op.Name, bad.Records[0].Op.Type = name, name, name
		files := scanned()
		files.Rows[0].File, files.Rows[0].OpName = name, name
		drift := drifted()
		drift.Rows[1].Op, drift.Rows[1].Drifts[1].Run = name, name
		judgement := judged()
		judgement.Rows[0].Op = name
		for what, write := range map[string]func(io.Writer) error{
			"compare":     func(w io.Writer) error { return Write(w, "csv", reportOf(row), Options{}) },
			"msaccucmp":   func(w io.Writer) error { return Write(w, "msaccucmp", reportOf(row), Options{}) },
			"analyze":     func(w io.Writer) error { return Write(w, "csv", bad, Options{}) },
			"scan":        func(w io.Writer) error { return Write(w, "csv", files, Options{}) },
			"determinism": func(w io.Writer) error { return Write(w, "csv", drift, Options{}) },
			"judge":       func(w io.Writer) error { return Write(w, "csv", judgement, Options{}) },
			"names": func(w io.Writer) error {
				names := NewFileNames()
				names.Stem(name)
				return names.WriteTable(w)
			},
		} {
			text := rendered(t, write)
			if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("%s shows %q of %q", what, text[i:i+1], name)
			}
			lines := readCSV(t, text)
			for _, line := range lines {
				for column, cell := range line {
					if cell != "" && strings.ContainsRune("=+@", rune(cell[0])) || strings.HasPrefix(cell, "-x") {
						t.Errorf("%s: %s is %q", what, column, cell)
					}
				}
			}
		}
	}
}

// TestTable checks one table in all forms.
func TestTable(t *testing.T) {
	t.Parallel()
	type row struct{ name, note, number string }
	table := Table[row]{
		Columns: []Column[row]{
			textColumn("name", func(r row) string { return r.name }),
			textColumn("note", func(r row) string { return r.note }).withRank(2),
			numberColumn("n", func(r row) numeral { return numeral(r.number) }).withRank(1),
			{Name: "empty", Optional: true, Cell: func(row) any { return nil }},
		},
		Rows: []row{{"a|b", "=1", "-7"}, {"a_long_name_of_an_operator", "x", "12"}},
	}
	if got, want := rendered(t, table.CSV), "name,note,n,empty\na|b,'=1,-7,\na_long_name_of_an_operator,x,12,\n"; got != want {
		t.Errorf("CSV: got %q, want %q", got, want)
	}
	want := `[{"name":"a|b","note":"=1","n":"-7"},{"name":"a_long_name_of_an_operator","note":"x","n":"12"}]`
	if got := string(marshal(table, "")); got != want {
		t.Errorf("JSON: got %s, want %s", got, want)
	}
	want = "| NAME | NOTE | N |\n|---|---|--:|\n| a\\|b | =1 | -7 |\n| a_long_name_of_an_operator | x | 12 |"
	if got := table.Grid(English).markdown(); got != want {
		t.Errorf("Markdown: got %q, want %q", got, want)
	}
	for width, want := range map[int]string{
		40: "NAME                        NOTE   N\na|b                         =1    -7\na_long_name_of_an_operator  x     12\n",
		24: "NAME         NOTE   N\na|b          =1    -7\na_…operator  x     12\n",
		18: "NAME          N\na|b          -7\na_…operator  12\n",
	} {
		got := rendered(t, func(w io.Writer) error { return table.Grid(English).Fit(width).Print(w, "", Text{Width: width}) })
		if got != want {
			t.Errorf("%d columns: got\n%swant\n%s", width, got, want)
		}
	}
	if got, want := rendered(t, func(w io.Writer) error { return table.Grid(English).Print(w, "> ", Text{}) }), "> NAME"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q in front", got, want)
	}
	if width := table.Grid(English).Width(); width != 36 {
		t.Errorf("width %d, want 36", width)
	}
}

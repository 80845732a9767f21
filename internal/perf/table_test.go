package perf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cellsOf lists the rows of a table: names and some known counters.
func cellsOf(t *table) string {
	var b strings.Builder
	for i := range t.rows {
		row := &t.rows[i]
		fmt.Fprintf(&b, "%s", row.Name)
		if row.isUnusable {
			b.WriteString(" bad")
		}
		for _, c := range []Column{MCU, VME, IMConflict} {
			if v := row.Get(c); v.Known {
				fmt.Fprintf(&b, " %s=%v", c, v)
			}
		}
		extra := row.UnknownColumns()
		for _, h := range t.headings {
			if text, ok := extra[h.unknown]; ok {
				fmt.Fprintf(&b, " %s:%s", h.unknown, text)
			}
		}
		b.WriteString("\n")
	}
	for _, p := range t.problems {
		fmt.Fprintf(&b, "%s\n", p)
	}
	return b.String()
}

func TestReadTable(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"in order":     {"name,mcu_cycle,vme_cycle\na,1,2\nb,3,4\n", "a mcu_cycle=1 vme_cycle=2\nb mcu_cycle=3 vme_cycle=4\n"},
		"any order":    {"\ufeff VME_Cycle ,NAME,\tMcu_Cycle\r\n2,a,1\r\n\r\n4, b ,3", "a mcu_cycle=1 vme_cycle=2\nb mcu_cycle=3 vme_cycle=4\n"},
		"blank first":  {"\ufeff\n\nname,mcu_cycle\na,1\n", "a mcu_cycle=1\n"},
		"imb":          {"name,mcu_cycle,IMB_conflict_cycle\na,1,7\n", "a mcu_cycle=1 im_conflict_cycle=7\n"},
		"quotes":       {"\"name\",\"mcu_cycle\"\n\"a,\"\"b\"\"\" , \"1\"\nc\"d,2\n", "a,\"b\" mcu_cycle=1\nc\"d mcu_cycle=2\n"},
		"open quote":   {"name,mcu_cycle\n\"a,1\nb,2\n", "b mcu_cycle=2\nf.csv: line 2: a quote is not closed in its line\n"},
		"extra":        {"x,name,mcu_cycle,,X,x y\n1,a,2,3,4,\"5,6\"\n", "a mcu_cycle=2 x:1 column 4:3 column 5:4 x y:5,6\n"},
		"empty cell":   {"name,mcu_cycle,vme_cycle\na,,2\nb,1,\n", "a vme_cycle=2\nb mcu_cycle=1\n"},
		"wide numbers": {"name,mcu_cycle\na,9223372036854775807\nb,9223372036854775808\nc,1e18\nd,1e19\ne,92233720368547758.07e2\n", "a mcu_cycle=9223372036854775807\nb bad\nc mcu_cycle=1000000000000000000\nd bad\ne mcu_cycle=9223372036854775807\nf.csv: line 3, column 2: mcu_cycle: 9223372036854775808 is larger than 9223372036854775807\nf.csv: line 5, column 2: mcu_cycle: 1e19 is larger than 9223372036854775807\n"},
		"damaged": {"name,mcu_cycle,vme_cycle\na,1\n,1,2\nb,1,2,3\nc,x,1\nd,1,-2\ne,1,0.5\nf,1,2\n",
			"a bad\nb bad\nc bad\nd bad\ne bad\nf mcu_cycle=1 vme_cycle=2\n" +
				"f.csv: line 2: 2 fields, want 3\nf.csv: line 3, column 1: no name\nf.csv: line 4: 4 fields, want 3\n" +
				"f.csv: line 5, column 2: mcu_cycle: x is no number\nf.csv: line 6, column 3: vme_cycle: -2 is negative\nf.csv: line 7, column 3: vme_cycle: 0.5 has a fraction\n"},
		"long line": {"name,mcu_cycle\n" + strings.Repeat("a", maxLine) + ",1\nb,2\n", "b mcu_cycle=2\nf.csv: line 2: the line has more than 1048576 bytes\n"},
		"no rows":   {"name,mcu_cycle", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readTable(strings.NewReader(tt.text), "f.csv", "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, cellsOf(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadTableErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "the file is empty, want a line of headings",
		"\ufeff\n \n":                       "the file is empty, want a line of headings",
		"a,b\n1,2\n":                        `no column name in the first line, "a,b"`,
		"name,cycles\na,1\n":                `no column mcu_cycle in the first line, "name,cycles"`,
		"name,mcu_cycle,MCU_cycle\na,1,2\n": "duplicate column mcu_cycle in the first line",
		"name,name,mcu_cycle\na,a,2\n":      "duplicate column name in the first line",
		"name,mcu_cycle,im_conflict_cycle,imb_conflict_cycle\n": "duplicate column im_conflict_cycle in the first line",
		"name,\"mcu_cycle\n":                                      "first line: a quote is not closed in its line",
		strings.Repeat(",", maxHeadings):                          "257 columns, want at most 256",
		strings.Repeat("a", maxLine+1):                            "the first line has more than 1048576 bytes, want headings",
		"name,mcu_cycle\n" + strings.Repeat("a,1\n", maxRows+1):   "more than 32768 rows, want the operators of a network",
		"name,mcu_cycle\n" + strings.Repeat("a\n", maxProblems+1): "more than 1000 lines cannot be used: is it a table of counters?",
	} {
		got, err := readTable(strings.NewReader(text), "f.csv", "")
		if got != nil || err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, error %v, want %s", text, got, err, want)
		}
	}
}

func TestParseCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "007": "7", "2000.0": "2000", "1e3": "1000", "1E+3": "1000", "1500e-2": "15", ".5e1": "5", "3.": "3", "0.000": "0", "0e99999999999999999999": "0",
		"1.25e2": "125", "00.5e1": "5", "12300e-2": "123", "100000000000": "100000000000",
		"x": "x is no number", "-1": "-1 is negative", "-0": "-0 is negative", "+1": "+1 is no number", "1.5": "1.5 has a fraction", "15e-1": "15e-1 has a fraction",
		"1e99999999999999999999":  "1e99999999999999999999 is larger than 9223372036854775807",
		"1e-99999999999999999999": "1e-99999999999999999999 has a fraction",
		"1_0":                     "1_0 is no number", "0x10": "0x10 is no number", ".": ". is no number", "e1": "e1 is no number", "1e": "1e is no number", "1e1.0": "1e1.0 is no number",
		"nan": "nan is no number", "inf": "inf is no number", "1 2": "1 2 is no number", "１": "１ is no number", "1.2.3": "1.2.3 is no number",
		"": "",
	} {
		got, err := parseCount(text)
		is := got.String()
		if err != nil {
			is = err.Error()
		}
		if is != want || err != nil && got.Known {
			t.Errorf("%s: %s, want %s", text, is, want)
		}
	}
}

func TestParseRatio(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0.6": "0.6", "1.25": "1.25", "0": "0", "5e-2": "0.05", " 2 ": "2", "999999999.999999999": "1000000000", "1e8": "100000000",
		"-1": "-1 is negative", "x": "x is no number", "": " is no number",
		"0.0000000001": "0.0000000001 has more than 9 digits on one side of the point",
		"1e9":          "1e9 has more than 9 digits on one side of the point",
	} {
		got, err := ParseRatio(text)
		is := got.String()
		if err != nil {
			is = err.Error()
		}
		if is != want {
			t.Errorf("%s: %s, want %s", text, is, want)
		}
	}
}

// FuzzReadTable reads any file: a table is never larger than its file allows, and survives writing
// and reading again.
func FuzzReadTable(f *testing.F) {
	seeds, err := filepath.Glob("../../testdata/golden/perf/*/*.csv")
	if err != nil || len(seeds) < 10 {
		f.Fatalf("%d seeds, error %v", len(seeds), err)
	}
	for _, path := range seeds {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("name,mcu_cycle,x\n\"a\"\"\",1e3,\n\n,,\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readTable(bytes.NewReader(data), "f", "")
		if err != nil {
			if got != nil {
				t.Fatal("a table comes with the error")
			}
			return
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		if len(got.rows) >= lines || len(got.problems) >= lines || len(got.headings) > len(data)+1 {
			t.Fatalf("%d rows, %d problems, %d headings of %d lines", len(got.rows), len(got.problems), len(got.headings), lines)
		}
		var text strings.Builder
		text.WriteString("name")
		for _, c := range Columns() {
			text.WriteString("," + c.String())
		}
		var want []Row
		for i := range got.rows {
			row := got.rows[i]
			if row.isUnusable || strings.ContainsAny(row.Name, "\r\n") {
				continue
			}
			row.UnknownColumns()
			want = append(want, row)
			text.WriteString("\n\"" + strings.ReplaceAll(row.Name, `"`, `""`) + `"`)
			for _, c := range Columns() {
				text.WriteString("," + row.Get(c).String())
			}
		}
		again, err := readTable(strings.NewReader(text.String()), "f", "")
		if err != nil || len(again.rows) != len(want) || len(again.problems) > 0 {
			t.Fatalf("%d rows again, want %d: %v %v", len(again.rows), len(want), err, again.problems)
		}
		for i := range want {
			if want[i].Name != again.rows[i].Name || want[i].Counters != again.rows[i].Counters {
				t.Fatalf("%q %v, want %q %v", again.rows[i].Name, again.rows[i].Counters, want[i].Name, want[i].Counters)
			}
		}
	})
}

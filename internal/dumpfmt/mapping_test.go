package dumpfmt_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"dumptool/internal/dumpfmt"
)

func TestMapping(t *testing.T) {
	const text = "\ufeff123,Add.a,b.5.16.1624605159829059\r\n" +
		"\r\n" +
		"no comma here\n" +
		"   \n" +
		",empty\n" +
		"empty,\n" +
		"77.npy,Conv.x.1.2.1624605159829059.output.0.ND.npy\n" +
		"123,second\n" +
		"123,second\n" +
		"last,one"
	m, err := dumpfmt.ReadMapping(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for stored, want := range map[string]string{
		"123":    "second",
		"77.npy": "Conv.x.1.2.1624605159829059.output.0.ND.npy",
		"last":   "one",
	} {
		if got, ok := m.Original(stored); got != want || !ok {
			t.Errorf("%s is %q, %v; want %q", stored, got, ok, want)
		}
	}
	if got, ok := m.Original("Add"); ok || got != "" || len(m.Stored()) != 3 {
		t.Errorf("unknown name: %q, %v; %d names", got, ok, len(m.Stored()))
	}
	var bad []string
	for _, e := range m.Bad {
		bad = append(bad, e.Error())
	}
	want := []string{
		`dumpfmt: mapping line 3 "no comma here" has no comma`,
		`dumpfmt: mapping line 5 ",empty" has no stored name`,
		`dumpfmt: mapping line 6 "empty," has no original name`,
	}
	if strings.Join(bad, "\n") != strings.Join(want, "\n") {
		t.Errorf("bad lines\n%q, want\n%q", bad, want)
	}
	if len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0].String(), `line 8 gives "123"`) {
		t.Errorf("warnings %q", m.Warnings)
	}
}

// TestMappingCells: cells may be quoted, and have blanks around them.
func TestMappingCells(t *testing.T) {
	for line, want := range map[string]string{
		`"1","a"`:          "a",
		`"1","a,b", ,`:     "a,b",
		`"1",a`:            "a",
		`1,"a"`:            "a",
		` 1 , a `:          "a",
		"\t\"1\" ,\t\"a\"": "a",
		`1,"a,b"`:          "a,b",
		`1, a,b `:          "a,b",
		`1,a, b`:           "a, b",
		`1,"a""b"`:         `a"b`,
		`1," a "`:          " a ",
		`1,a"b`:            `a"b`,
		`1,"a`:             `"a`,
		`1,"a"b`:           `"a"b`,
		`1,"a","b"`:        `"a","b"`,
	} {
		m, err := dumpfmt.ReadMapping(strings.NewReader(line + "\r\n"))
		if got, _ := m.Original("1"); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`"1"`, `"1,a"`, `"",a`, `1,""`, `1, `, `"1`} {
		m, err := dumpfmt.ReadMapping(strings.NewReader(line))
		if err != nil || len(m.Bad) != 1 || len(m.Stored()) != 0 {
			t.Errorf("%s: %q, bad %v, %v", line, m.Stored(), m.Bad, err)
		}
	}
}

// TestMappingLine parses the written lines.
func TestMappingLine(t *testing.T) {
	for _, original := range []string{"a", "a,b", ` a`, `a `, `"a"`, `"a`, `a"b`, `"a","b"`, "a\t"} {
		m, err := dumpfmt.ReadMapping(strings.NewReader(dumpfmt.MappingLine("1", original)))
		if got, _ := m.Original("1"); got != original || err != nil {
			t.Errorf("%q comes back as %q, %v", original, got, err)
		}
	}
}

func TestMappingComma(t *testing.T) {
	m, err := dumpfmt.ReadMapping(strings.NewReader("1,a,b,c\n"))
	if got, _ := m.Original("1"); got != "a,b,c" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestMappingLimits(t *testing.T) {
	m, err := dumpfmt.ReadMapping(strings.NewReader(strings.Repeat(strings.Repeat("x", 200)+"\n", 500)))
	if err != nil || len(m.Bad) != dumpfmt.MaxMappingLines || len(m.Bad[0].Found) > 90 {
		t.Errorf("got %v with %d bad lines", err, len(m.Bad))
	}
	var ue *dumpfmt.UnsupportedError
	if m, err := dumpfmt.ReadMapping(io.LimitReader(zeros{}, dumpfmt.MaxMapping+1)); m != nil || !errors.As(err, &ue) {
		t.Errorf("a mapping of %d bytes: %v, %v", dumpfmt.MaxMapping+1, m, err)
	}
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "a,%d\n", i)
	}
	if m, _ := dumpfmt.ReadMapping(strings.NewReader(b.String())); len(m.Warnings) != dumpfmt.MaxMappingLines {
		t.Errorf("%d warnings", len(m.Warnings))
	}
	broken := errors.New("broken")
	if m, err := dumpfmt.ReadMapping(iotest.ErrReader(broken)); m != nil || !errors.Is(err, broken) {
		t.Errorf("read error: %v, %v", m, err)
	}
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

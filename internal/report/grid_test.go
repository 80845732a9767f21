package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/ui"
)

// gridOf returns a grid of rows of three cells, the second of which are numbers.
func gridOf(rows ...[3]string) Grid {
	return Table[[3]string]{Rows: rows, Columns: []Column[[3]string]{
		textColumn("name", func(r [3]string) string { return r[0] }),
		numberColumn("size", func(r [3]string) string { return r[1] }),
		textColumn("type", func(r [3]string) string { return r[2] }),
	}}.Grid(English)
}

func gridText(t *testing.T, g Grid, width int) string {
	t.Helper()
	var b strings.Builder
	if err := g.Print(&b, "", Text{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGrid(t *testing.T) {
	t.Parallel()
	ops := gridOf([3]string{"Conv2D.conv1.3.2.1700", "12", "float16"}, [3]string{"卷积.层一", "1234567", "int8"}, [3]string{"x"})
	const whole = `NAME                      SIZE  TYPE
Conv2D.conv1.3.2.1700       12  float16
卷积.层一              1234567  int8
x
`
	tests := map[string]struct {
		grid  Grid
		width int
		want  string
	}{
		"free": {ops, 0, whole},
		"fits": {ops, 39, whole},
		"cut": {ops, 30, `NAME             SIZE  TYPE
Conv2D.conv…       12  float16
卷积.层一     1234567  int8
x
`},
		"numbers are never cut": {ops, 5, `NAME         SIZE  TYPE
Conv2D.…       12  float16
卷积.层…  1234567  int8
x
`},
		"hostile names": {gridOf([3]string{"a\nb\x1b[31m\u202e\xff\u200b", "1"}, [3]string{"全角\u3000", "2"}), 0, `NAME                          SIZE  TYPE
a\nb\x1b[31m\u202e\xff\u200b     1
全角　                           2
`},
		"empty": {gridOf(), 0, "NAME  SIZE  TYPE\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, gridText(t, tt.grid, tt.width)); diff != "" {
				t.Errorf("grid (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGridWidth: a grid fits the terminal whenever its columns can shrink enough, and every row
// keeps its own line.
func TestGridWidth(t *testing.T) {
	t.Parallel()
	cell := rapid.StringOfN(rapid.SampledFrom([]rune("aZ 0层卷é\t\n\x1b🚀")), 0, 30, -1)
	rapid.Check(t, func(t *rapid.T) {
		rows := make([][3]string, rapid.IntRange(0, 8).Draw(t, "rows"))
		for i := range rows {
			rows[i] = [3]string{cell.Draw(t, "a"), "12345678", cell.Draw(t, "b")}
		}
		width := rapid.IntRange(3*minText+2*columnGap, 80).Draw(t, "width")
		var b strings.Builder
		if err := gridOf(rows...).Print(&b, "", Text{Width: width}); err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(got) != len(rows)+1 {
			t.Fatalf("%d lines for %d rows:\n%s", len(got), len(rows), b.String())
		}
		for _, line := range got {
			if w := ui.Columns.StringWidth(line); w > width {
				t.Errorf("line of %d columns in a terminal of %d: %q", w, width, line)
			}
		}
	})
}

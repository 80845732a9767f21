package ui

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"
)

// lines joins the expected lines of a table.
func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func print(t *testing.T, table *Table, width int) string {
	t.Helper()
	var b strings.Builder
	if err := table.Print(&b, width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTable(t *testing.T) {
	t.Parallel()
	ops := NewTable(Column{Title: "NAME"}, Column{Title: "SIZE", Align: Right}, Column{Title: "TYPE"})
	ops.Row("Conv2D.conv1.3.2.1700", "12", "float16")
	ops.Row("卷积.层一", "1234567", "int8")
	ops.Row("x")
	if ops.Len() != 3 {
		t.Errorf("Len = %d, want 3", ops.Len())
	}
	evil := NewTable(Column{Title: "NAME"}, Column{Title: "N", Align: Right})
	evil.Row("a\nb\x1b[31m\u202e\xff\u200b", "1")
	evil.Row("全角\u3000", "2")

	tests := map[string]struct {
		table *Table
		width int
		want  string
	}{
		"free": {ops, 0, lines(
			"NAME                      SIZE  TYPE",
			"Conv2D.conv1.3.2.1700       12  float16",
			"卷积.层一              1234567  int8",
			"x",
		)},
		"fits": {ops, 39, print(t, ops, 0)},
		"cut": {ops, 30, lines(
			"NAME             SIZE  TYPE",
			"Conv2D.conv…       12  float16",
			"卷积.层一     1234567  int8",
			"x",
		)},
		"numbers are never cut": {ops, 5, lines(
			"NAME         SIZE  TYPE",
			"Conv2D.…       12  float16",
			"卷积.层…  1234567  int8",
			"x",
		)},
		"hostile names": {evil, 0, lines(
			`NAME                          N`,
			`a\nb\x1b[31m\u202e\xff\u200b  1`,
			"全角\u3000                        2",
		)},
		"empty": {NewTable(Column{Title: "NAME"}), 0, "NAME\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, print(t, tt.table, tt.width)); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTableWidth checks that a table keeps within a terminal whenever its
// columns can shrink enough, and that every row keeps its own line.
func TestTableWidth(t *testing.T) {
	t.Parallel()
	cell := rapid.StringOfN(rapid.SampledFrom([]rune("aZ 0层卷é\t\n\x1b🚀")), 0, 30, -1)
	rapid.Check(t, func(t *rapid.T) {
		table := NewTable(Column{Title: "A"}, Column{Title: "B"}, Column{Title: "N", Align: Right})
		rows := rapid.IntRange(0, 8).Draw(t, "rows")
		for range rows {
			table.Row(cell.Draw(t, "a"), cell.Draw(t, "b"), "12345678")
		}
		width := rapid.IntRange(3*minText+2*columnGap, 80).Draw(t, "width")
		var b strings.Builder
		if err := table.Print(&b, width); err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(got) != rows+1 {
			t.Fatalf("%d lines for %d rows:\n%s", len(got), rows, b.String())
		}
		for _, line := range got {
			if w := (&runewidth.Condition{StrictEmojiNeutral: true}).StringWidth(line); w > width {
				t.Errorf("line of %d columns in a terminal of %d: %q", w, width, line)
			}
		}
	})
}

// full is a writer without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestTableWriteError(t *testing.T) {
	t.Parallel()
	if err := NewTable(Column{Title: "NAME"}).Print(full{}, 0); err == nil {
		t.Error("a failed write was not reported")
	}
}

package report

import (
	"io"
	"strings"
	"testing"

	"dumptool/internal/dumpconf"
)

// What is printed in colour is what is printed without, and its statuses,
// severities and carets stand out.
func TestColor(t *testing.T) {
	t.Parallel()
	plain := strings.NewReplacer("\x1b[1;31m", "", "\x1b[1;32m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[36m", "", "\x1b[0m", "")
	checks := &ConfigChecks{Checks: dumpconf.Checks{Files: []dumpconf.FileCheck{{
		Name: "error.json", Before: dumpconf.Check("error.json", []byte("{\"dump\": {\"dump_path\": 5,\n \"dump_mode\": \"no\"}}"), dumpconf.Options{}),
	}}}}
	grid := Table[string]{[]Column[string]{
		words("name", func(s string) string { return "op" }), words("status", func(s string) string { return s }), words("last", func(string) string { return "x" }),
	}, []string{"PASS", "SHAPE_MISMATCH"}}.Grid(English)
	for name, tt := range map[string]struct {
		print func(Text) func(io.Writer) error
		want  string
	}{
		"findings": {func(t Text) func(io.Writer) error {
			return func(w io.Writer) error { return t.WriteConfigChecks(w, checks) }
		}, "error.json:1:24: \x1b[1;31merror:\x1b[0m \"dump_path\" must be"},
		"carets": {func(t Text) func(io.Writer) error {
			return func(w io.Writer) error { return t.WriteConfigChecks(w, checks) }
		}, "| " + strings.Repeat(" ", 23) + "\x1b[1;32m^\x1b[0m\n"},
		"grid": {func(t Text) func(io.Writer) error {
			return func(w io.Writer) error { return grid.Print(w, "", t) }
		}, "op    \x1b[32mPASS\x1b[0m            x\nop    \x1b[1;31mSHAPE_MISMATCH\x1b[0m  x\n"},
	} {
		for _, width := range []int{0, 60} {
			colored := rendered(t, tt.print(Text{Width: width, Color: true}))
			if !strings.Contains(colored, tt.want) {
				t.Errorf("%s, width %d: got\n%q\nwant in it\n%q", name, width, colored, tt.want)
			}
			if got, want := plain.Replace(colored), rendered(t, tt.print(Text{Width: width})); got != want {
				t.Errorf("%s, width %d: without colours\n%s\nwant\n%s", name, width, got, want)
			}
		}
	}
}

package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/compare/record"
)

// FuzzDocuments reads random documents: what is read can be shown.
func FuzzDocuments(f *testing.F) {
	var whole strings.Builder
	if err := everything().Write(&whole); err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{whole.String(), `{"schema":"dumptool/overflow/1","records":[{"op":"</script>"}]}`, `{"runs":[],"schema":"dumptool/determinism/1"}`,
		`{"schema":"dumptool/perf/1","operators":[{"name":"</script>","mcu_cycle":null,"explanation":{"en":"a","zh":"b"}}],"problems":[[2,"x"]]}`,
		`{"schema":"dumptool/overflow_scan/1"} x`, `{"schema":1}`, `[`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := new(Documents)
		open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
		if err := d.add("a.json", open); err != nil {
			return
		}
		if d.Comparison == nil && d.Overflow == nil && d.Determinism == nil && d.Perf == nil {
			t.Fatal("nothing was read")
		}
		if d.Comparison != nil { // two comparisons are before and after
			if err := d.add("b.json", open); err != nil || d.Before == nil {
				t.Errorf("a second comparison: %v", err)
			}
		}
		if err := d.add("b.json", open); !errors.As(err, new(*TwiceError)) {
			t.Errorf("once more: %v", err)
		}
		if d.Comparison == nil {
			d.Comparison = reportOf()
		}
		if err := d.WritePage(io.Discard, "", nil, Options{}); err != nil {
			t.Error(err)
		}
	})
}

func TestReadDocuments(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "compare.json")
	if err := os.WriteFile(path, []byte(rendered(t, everything().Write)), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := ReadDocuments([]string{path})
	if err != nil || len(d.Comparison.Rows) != len(everything().Rows) || d.HasPlots() != 0 {
		t.Fatalf("%v, error %v", d, err)
	}
	// What is left out while reading does not show.
	whole, err := record.Read(strings.NewReader(rendered(t, everything().Write)))
	if err != nil {
		t.Fatal(err)
	}
	page := func(d *Documents) string {
		return rendered(t, func(w io.Writer) error { return d.WritePage(w, "", nil, Options{}) })
	}
	if want, got := page(&Documents{Comparison: whole}), page(d); want != got {
		t.Errorf("the page of a document that is read for it is another one: %d and %d bytes", len(want), len(got))
	}
	if d, err := ReadDocuments([]string{path, path}); err != nil || d.Before == nil {
		t.Errorf("before and after: %v", err)
	}
	if _, err := ReadDocuments([]string{path, path, path}); !errors.As(err, new(*TwiceError)) || !strings.Contains(err.Error(), path) {
		t.Errorf("three: %v", err)
	}
}

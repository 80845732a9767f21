package report

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/guard"
	"dumptool/internal/overflow"
	"dumptool/internal/shard"
)

// othersOf lists the readers of documents of commands other than compare.
func othersOf(schema string) map[string]func(path string) error {
	all := map[string]func(path string) error{"report": func(path string) error {
		d, err := ReadDocuments([]string{path})
		if err == nil {
			err = d.WritePage(io.Discard, "", nil, Options{})
		}
		return err
	}}
	find := func(path string) ([]shard.Document, error) {
		docs, err := shard.Find([]string{path}, "")
		if err == nil {
			docs, err = shard.SelectRun(docs, schema, "")
		}
		return docs, err
	}
	switch schema {
	case overflow.ScanSchema:
		all["merge"] = func(path string) error {
			docs, err := find(path)
			if err != nil {
				return err
			}
			r := new(overflow.ScanReport)
			if err := docs[0].Decode(r); err != nil {
				return err
			}
			if r, err = overflow.MergeScans(docs, []*overflow.ScanReport{r}); err == nil {
				err = english.WriteScan(io.Discard, r)
			}
			return err
		}
	}
	return all
}

// TestEditedOtherDocuments: for an edited document of another command each reader gives one error:
// the fault and the file, and for a value of the wrong type its key.
func TestEditedOtherDocuments(t *testing.T) {
	for _, s := range samples {
		switch s.name {
		case "analyze", "scan", "determinism", "perf", "checked":
		default:
			continue
		}
		if scan, ok := s.result.(*overflow.ScanReport); ok {
			whole := *scan
			whole.Rounds = []overflow.ScanRound{{Coordinates: scan.Rows[0].Coordinates(), ScanCounts: overflow.ScanCounts{Files: scan.Files, Tensors: scan.Tensors}}}
			s.result = &whole
		}
		document, err := json.MarshalIndent(s.result, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		var head struct{ Schema string }
		if err := json.Unmarshal(document, &head); err != nil || head.Schema == "" {
			t.Fatal(s.name, err)
		}
		path := filepath.Join(t.TempDir(), s.name+".json")
		count := map[bool]int{}
		for k, span := range spansOf(t, document) {
			for edit, text := range span.edited(document, k) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				for name, read := range othersOf(head.Schema) {
					err := guard.Do(func() error { return read(path) })
					count[err == nil]++
					switch {
					case err == nil:
					case errors.As(err, new(*guard.Panic)):
						t.Errorf("%s%s %s, %s: %v", s.name, span.name, edit, name, err)
					case !strings.Contains(err.Error(), path):
						t.Errorf("%s%s %s, %s: the file is not named: %v", s.name, span.name, edit, name, err)
					case strings.Contains(err.Error(), "\n"):
						t.Errorf("%s%s %s, %s: more than a line: %v", s.name, span.name, edit, name, err)
					case edit == "cut" && !strings.Contains(err.Error(), "line "):
						t.Errorf("%s%s %s, %s: no line is named: %v", s.name, span.name, edit, name, err)
					case edit != "cut" && edit != "gone" && !strings.Contains(err.Error(), span.last()):
						t.Errorf("%s%s %s, %s: the key is not named: %v", s.name, span.name, edit, name, err)
					}
				}
			}
		}
		if count[false] == 0 || count[true] == 0 {
			t.Errorf("%s: %d are refused, %d taken", s.name, count[false], count[true])
		}
	}
}

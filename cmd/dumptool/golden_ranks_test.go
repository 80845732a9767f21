package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// unpackRanks unpacks the trees of a golden case of many ranks.
func unpackRanks(t *testing.T, dir, name string) string {
	t.Helper()
	in, err := os.Open(filepath.Join(dir, name, "trees.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	zip, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	for files := tar.NewReader(zip); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return to
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, filepath.FromSlash(h.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGoldenRanks: check of the golden runs of many ranks names what truth.json says, and
// ends with 1; of healthy ones it finds nothing.
func TestGoldenRanks(t *testing.T) {
	dir, err := filepath.Abs("../../testdata/golden/ranks")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob(filepath.Join(dir, "*", "truth.json"))
	if err != nil || len(cases) != 12 {
		t.Fatal(len(cases), err)
	}
	for _, file := range cases {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var truth struct {
				Expect struct {
					Without *struct {
						Step, Rank int
						Op, Kind   string
					} `json:"without_reference"`
				}
			}
			if err := json.Unmarshal(text, &truth); err != nil {
				t.Fatal(err)
			}
			code, out, stderr := runMain("check", "--json", filepath.Join(unpackRanks(t, dir, name), "run"))
			var report struct {
				Ranks struct {
					Events   struct{ Checked, Wrong, Skipped int }
					Findings []struct {
						Step     string
						Rank     int
						Op, Kind string
					}
				}
			}
			if err := json.Unmarshal([]byte(out), &report); err != nil {
				t.Fatalf("%v: %s %s", err, out, stderr)
			}
			want, found := truth.Expect.Without, report.Ranks.Findings
			switch {
			case report.Ranks.Events.Skipped > 0:
				t.Errorf("%+v", report.Ranks.Events)
			case want == nil && (code != 0 || len(found) > 0):
				t.Errorf("exit %d: %+v", code, found)
			case want == nil:
			case code != 1 || len(found) == 0:
				t.Errorf("exit %d: %+v", code, found)
			case found[0].Step != strconv.Itoa(want.Step) || found[0].Rank != want.Rank || found[0].Op != want.Op || found[0].Kind != want.Kind:
				t.Errorf("%+v, want %+v", found[0], *want)
			}
		})
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"dumptool/internal/dumptest"
)

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
			run := dumptest.Untar(t, filepath.Join(dir, name, "trees.tar.gz"))
			out, code := runIn(t, run, "check", "--json", "run")
			if again, _ := runIn(t, run, "check", "--json", "-j", "1", "run"); !bytes.Equal(out, again) {
				t.Error("-j changes the report")
			}
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
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatalf("%v: %s", err, out)
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

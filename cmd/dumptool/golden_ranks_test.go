package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// TestGoldenRanksCompared: compare of the golden runs of many ranks with a reference of one
// passes healthy ones, and names rank, operator and kind of what is wrong with the others.
func TestGoldenRanksCompared(t *testing.T) {
	dir, err := filepath.Abs("../../testdata/golden/ranks")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob(filepath.Join(dir, "*", "truth.json"))
	if err != nil || len(cases) != 12 {
		t.Fatal(len(cases), err)
	}
	type finding struct {
		Step     string
		Rank     int
		Op, Kind string
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
					With *struct {
						Step, Rank int
						Op, Kind   string
					} `json:"with_reference"`
				}
			}
			if err := json.Unmarshal(text, &truth); err != nil {
				t.Fatal(err)
			}
			run := dumptest.Untar(t, filepath.Join(dir, name, "trees.tar.gz"))
			out, code := runIn(t, run, "compare", "--cpu", "ref", "--npu", "run", "--format", "json")
			if again, _ := runIn(t, run, "compare", "--cpu", "ref", "--npu", "run", "--format", "json", "-j", "1"); !bytes.Equal(out, again) {
				t.Error("-j changes the report")
			}
			var report struct {
				Summary struct {
					Headline string
					Mismatch int `json:"shape_mismatch"`
				}
				Ranks struct {
					Located  struct{ Tensors, Of int }
					Findings []finding
				}
			}
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want, found := truth.Expect.With, report.Ranks.Findings
			switch l := report.Ranks.Located; {
			case l.Of == 0 || 10*l.Tensors < 9*l.Of || report.Summary.Mismatch > 0:
				t.Errorf("%+v, %d of other shapes", l, report.Summary.Mismatch)
			case want == nil && (code != 0 || len(found) > 0 || !strings.HasPrefix(report.Summary.Headline, "PASS: ")):
				t.Errorf("exit %d: %s %+v", code, report.Summary.Headline, found)
			case want == nil:
			case code != 1 || len(found) == 0:
				t.Errorf("exit %d: %+v", code, found)
			case found[0] != (finding{strconv.Itoa(want.Step), want.Rank, want.Op, want.Kind}):
				t.Errorf("%+v, want %+v", found[0], *want)
			case !strings.HasPrefix(report.Summary.Headline, "FAIL: rank "+strconv.Itoa(want.Rank)+" ") || !strings.Contains(report.Summary.Headline, want.Op):
				t.Error(report.Summary.Headline)
			}
		})
	}
}

// TestUnshardOff: without un-sharding every rank is set beside the whole reference, and nothing
// is said between ranks.
func TestUnshardOff(t *testing.T) {
	archive, err := filepath.Abs("../../testdata/golden/ranks/tp2_clean/trees.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	run := dumptest.Untar(t, archive)
	out, code := runIn(t, run, "compare", "--cpu", "ref", "--npu", "run", "--unshard", "off", "--format", "json")
	if code != 1 || !bytes.Contains(out, []byte("SHAPE_MISMATCH")) || bytes.Contains(out, []byte(`"ranks"`)) || bytes.Contains(out, []byte(`"across"`)) {
		t.Errorf("exit %d", code)
	}
	// Shards of steps, merged, are the rows of one run.
	for _, shard := range []string{"0/2", "1/2"} {
		if out, code := runIn(t, run, "compare", "--cpu", "ref", "--npu", "run", "--shard", shard, "-out", "parts"); code != 0 {
			t.Fatalf("exit %d: %s", code, out)
		}
	}
	merged, code := runIn(t, run, "merge", "parts", "-out", "whole")
	if code != 0 || !bytes.HasPrefix(merged, []byte("PASS: ")) {
		t.Errorf("exit %d: %s", code, merged)
	}
}

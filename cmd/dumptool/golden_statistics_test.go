package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// statisticsSummary is the part of compare.json that says where runs went wrong of which
// only statistics are known.
type statisticsSummary struct {
	Summary struct {
		Headline     string
		StartedAlike *bool                         `json:"started_alike"`
		Origins      []struct{ Row string }        `json:"origins"`
		Start        []struct{ Op, Tensor string } `json:"start"`
	}
}

// first is the first tensor that differs from the start, and the operator of the first origin.
func (s *statisticsSummary) first() (start, origin string) {
	if len(s.Summary.Start) > 0 {
		start = s.Summary.Start[0].Op + "." + s.Summary.Start[0].Tensor
	}
	if len(s.Summary.Origins) > 0 {
		origin = regexp.MustCompile(`:(input|output):\d+$`).ReplaceAllString(s.Summary.Origins[0].Row, "")
	}
	return start, origin
}

// TestStatisticsGolden compares runs of which only statistics are known: healthy ones that
// are hard to tell from faulty ones, and one of each kind of fault.
func TestStatisticsGolden(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob(filepath.Join("..", "..", "testdata", "golden", "statistics", "s*"))
	if err != nil || len(cases) != 40 {
		t.Fatalf("%d cases, %v; want 40", len(cases), err)
	}
	for _, folder := range cases {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			var want struct {
				Kind           string
				Exit           int
				StartedAlike   bool `json:"started_alike"`
				Origins, Start []string
			}
			raw, err := os.ReadFile(filepath.Join(folder, "expect.json"))
			if err == nil {
				err = json.Unmarshal(raw, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			out := t.TempDir()
			r := runArgs(t, "compare", "--cpu", filepath.Join(folder, "cpu"), "--npu", filepath.Join(folder, "npu"), "--format", "json", "-out", out)
			judged := runArgs(t, "compare", "judge", filepath.Join(out, "compare.json"), "--format", "json")
			raw, err = os.ReadFile(filepath.Join(out, "compare.json"))
			var got statisticsSummary
			if err == nil {
				err = json.Unmarshal(raw, &got)
			}
			if err != nil {
				t.Fatalf("exit %d, %v: %s", r.code, err, r.err)
			}
			start, origin := got.first()
			if r.code != want.Exit || got.Summary.StartedAlike == nil || *got.Summary.StartedAlike != want.StartedAlike {
				t.Errorf("%s: exit %d, want %d; started alike: want %t: %s", want.Kind, r.code, want.Exit, want.StartedAlike, got.Summary.Headline)
			}
			if (start == "") != (len(want.Start) == 0) || start != "" && !slices.Contains(want.Start, start) {
				t.Errorf("%s: starts at %q, want one of %q", want.Kind, start, want.Start)
			}
			if len(want.Start) == 0 && ((origin == "") != (len(want.Origins) == 0) || origin != "" && !slices.Contains(want.Origins, origin)) {
				t.Errorf("%s: begins at %q, want one of %q", want.Kind, origin, want.Origins)
			}
			if judged.code != want.Exit {
				t.Errorf("%s: judge ends with %d, want %d: %s", want.Kind, judged.code, want.Exit, judged.err)
			}
		})
	}
}

package ranks

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/dumptest/ranktest"
)

const golden = "../../testdata/golden/ranks"

// openRun opens the run in a folder.
func openRun(t *testing.T, dir string) *Run {
	t.Helper()
	return newRun(ranktest.Open(t, dir), nil)
}

// runOf is the run of built steps.
func runOf(b *ranktest.Built) *Run { return newRun(b.Run(), nil) }

func judged(t *testing.T, r *Run, opt Options) *Report {
	t.Helper()
	report, err := r.Judge(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range report.Errs {
		t.Error(err)
	}
	return report
}

// expected is a case of truth.json.
type expected struct {
	Step       int
	Rank       int
	Op         string
	Kind       Kind
	Confidence string
}

// TestGolden: the first finding without a reference is the expected one, and healthy runs have none.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(golden, "*", "truth.json"))
	if err != nil || len(cases) != 12 {
		t.Fatal(len(cases), err)
	}
	for _, path := range cases {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var truth struct {
				Expect struct {
					Without *expected `json:"without_reference"`
				}
			}
			if err := json.Unmarshal(text, &truth); err != nil {
				t.Fatal(err)
			}
			report := judged(t, openRun(t, filepath.Join(dumptest.Untar(t, filepath.Join(golden, name, "trees.tar.gz")), "run")), Options{})
			if report.Events.Skipped > 0 || report.Events.Checked+report.Replicas.Sets == 0 {
				t.Errorf("%+v %+v", report.Events, report.Replicas)
			}
			want := truth.Expect.Without
			if want == nil {
				for _, f := range report.Findings {
					t.Errorf("found %+v %s", f, f.Evidence)
				}
				return
			}
			if len(report.Findings) == 0 {
				t.Fatal("found nothing")
			}
			f := report.Findings[0]
			if f.Step != strconv.Itoa(want.Step) || f.Rank != want.Rank || f.Op != want.Op || f.Kind != want.Kind || string(f.Confidence) != want.Confidence {
				t.Errorf("step %s rank %d %s %s %s (%s), want %+v", f.Step, f.Rank, f.Op, f.Kind, f.Confidence, f.Evidence, *want)
			}
		})
	}
}

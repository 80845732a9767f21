package unshard

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/trace"
	"dumptool/internal/unshard/locate"
)

// TestLocateGolden compares every tensor of every rank of the golden runs with maps.json.
func TestLocateGolden(t *testing.T) {
	cases, err := filepath.Glob("../../testdata/golden/ranks/*/maps.json")
	if err != nil || len(cases) != 12 {
		t.Fatal(len(cases), err)
	}
	for _, file := range cases {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]json.RawMessage
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			dir := dumptest.Untar(t, filepath.Join("../../testdata/golden/ranks", name, "trees.tar.gz"))
			run, ref := ranktest.Open(t, filepath.Join(dir, "run")), ranktest.Open(t, filepath.Join(dir, "ref"))
			for i, s := range run.Steps {
				located, err := Locate(t.Context(), s, ref.Steps[i], nil, false, 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 { // before the fault
					checkMaps(t, s, located, want)
				}
				for _, l := range located.At {
					if strings.Contains(name, "clean") && (l.Ref == nil || !l.Partial && l.Map == nil) {
						t.Fatal("a tensor of a golden run is not found")
					}
				}
			}
		})
	}
}

// checkMaps compares the maps of a step with the expected maps; tokens have no map of their role.
func checkMaps(t *testing.T, s *trace.Step, located *StepPositions, want map[string]json.RawMessage) {
	t.Helper()
	seen := make(map[string]bool)
	for _, calls := range s.Calls {
		for _, c := range calls {
			for _, x := range c.Tensors() {
				l, ok := located.At[x]
				place := strings.NewReplacer("parameter ", "parameters.", " ", ".").Replace(x.Place())
				key := strconv.Itoa(c.Rank) + " " + c.Role + " " + place
				w, known := want[key]
				if !known || string(w) == `"none"` {
					continue
				}
				seen[key] = true
				got := "none"
				switch {
				case ok && l.Partial:
					got = `"partial"`
				case ok && l.Map != nil:
					got = textOf(l.Map.Axes)
				}
				if string(w) != `"by token"` && got != string(w) {
					t.Errorf("step %s rank %d %s %s: %s, want %s", s.At.Step, c.Rank, c.Name, place, got, w)
				}
			}
		}
	}
	for key, w := range want {
		if string(w) != `"none"` && !seen[key] {
			t.Errorf("%s is not there", key)
		}
	}
}

// textOf formats a map like maps.json.
func textOf(axes []locate.Index) string {
	all := make([]any, len(axes))
	for i, x := range axes {
		if x != nil {
			var runs [][2]int
			for _, r := range x.Runs() {
				runs = append(runs, [2]int{r.From, r.N})
			}
			all[i] = runs
		}
	}
	out, _ := json.Marshal(all)
	return string(out)
}

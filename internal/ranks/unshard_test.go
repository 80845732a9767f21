package ranks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/ranks/locate"
)

// TestLocateGolden holds every tensor of every rank of the golden runs against maps.json.
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
			dir := dumptest.Untar(t, filepath.Join(golden, name, "trees.tar.gz"))
			run, ref := openRun(t, filepath.Join(dir, "run")), openRun(t, filepath.Join(dir, "ref"))
			for i, s := range run.Steps {
				located, err := Locate(t.Context(), run, s, ref.Steps[i], Options{})
				if err != nil {
					t.Fatal(err)
				}
				wrong := checkMaps(t, s, located, want)
				t.Log(name, i, wrong)
			}
		})
	}
}

func checkMaps(t *testing.T, s *Step, located *Located, want map[string]json.RawMessage) (wrong int) {
	for _, calls := range s.Calls {
		for _, c := range calls {
			for _, x := range c.tensors() {
				l, ok := located.At[x]
				place := strings.NewReplacer("parameter ", "parameters.", " ", ".").Replace(x.place())
				w, known := want[strconv.Itoa(c.Rank)+" "+c.Role+" "+place]
				if !known {
					continue
				}
				got := "none"
				switch {
				case ok && l.Partial:
					got = `"partial"`
				case ok && l.Map != nil:
					got = textOf(l.Map.Axes)
				}
				if got != string(w) {
					wrong++
					t.Logf("step %s rank %d %s %s: %s, want %s", s.At.Step, c.Rank, c.Name, place, got, w)
				}
			}
		}
	}
	return wrong
}

// textOf is a map as maps.json has it.
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

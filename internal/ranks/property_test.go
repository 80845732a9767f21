package ranks

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/trace"
)

// renumber renumbers the ranks of a run.
func renumber(r *Run, to map[int]int) *Run {
	all := func(ranks []int) (out []int) {
		for _, rank := range ranks {
			out = append(out, to[rank])
		}
		return out
	}
	for _, s := range r.Steps {
		calls := make(map[int][]*trace.Call)
		for rank, list := range s.Calls {
			for _, c := range list {
				c.Rank = to[rank]
				if m := c.Comm; m != nil {
					if m.Root >= 0 {
						m.Root = to[m.Root]
					}
					m.Group = all(m.Group)
				}
			}
			calls[to[rank]] = list
		}
		s.Calls = calls
	}
	return newRun(trace.New(r.Steps), nil)
}

// findingsText lists findings with renumbered ranks; tied ranks are a set.
func findingsText(r *Report, to map[int]int) []string {
	var all []string
	for _, f := range r.Findings {
		who := []int{to[f.Rank]}
		for _, rank := range f.Alt {
			who = append(who, to[rank])
		}
		slices.Sort(who)
		all = append(all, fmt.Sprint(f.Step, " ", f.Op, " ", f.Kind, " ", f.Confidence, " ", who))
	}
	slices.Sort(all)
	return all
}

// TestRenumber: renumbered ranks give the same findings with renumbered ranks.
func TestRenumber(t *testing.T) {
	for _, name := range []string{"tp4_qkv_op_rows", "tp2dp2_mesh_clean", "pp2tp2_recv_stale", "tp2sp_ar_missing", "moe_ep2_a2a_swap"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(dumptest.Untar(t, filepath.Join(golden, name, "trees.tar.gz")), "run")
			r := openRun(t, dir)
			to, same := make(map[int]int), make(map[int]int)
			for i, rank := range r.Ranks {
				to[rank] = r.Ranks[len(r.Ranks)-1-i]
				same[rank] = rank
			}
			want := findingsText(judged(t, r, Options{}), to)
			got := findingsText(judged(t, renumber(openRun(t, dir), to), Options{}), same)
			if !slices.Equal(got, want) {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestLess: without a rank, a step or the elements of a tensor there are fewer checks, and no new finding.
func TestLess(t *testing.T) {
	for _, name := range []string{"tp2dp2_mesh_clean", "tp2_link", "dp2_weight_bit"} {
		dir := filepath.Join(dumptest.Untar(t, filepath.Join(golden, name, "trees.tar.gz")), "run")
		whole := judged(t, openRun(t, dir), Options{})
		none := make(map[int]int)
		for _, rank := range openRun(t, dir).Ranks {
			none[rank] = rank
		}
		for what, less := range map[string]func(*Run) *Run{
			"a rank": func(r *Run) *Run {
				for _, s := range r.Steps {
					delete(s.Calls, 1)
				}
				return newRun(trace.New(r.Steps), r.Ranks)
			},
			"a step": func(r *Run) *Run { return newRun(trace.New(r.Steps[1:]), r.Ranks) },
			"elements": func(r *Run) *Run {
				for _, s := range r.Steps {
					for _, rank := range slices.Sorted(maps.Keys(s.Calls)) {
						for i, c := range s.Calls[rank] {
							for _, t := range slices.Concat(c.In, c.Params, c.Out) {
								if i%3 == 0 {
									t.File, t.Digest = nil, ""
								}
							}
						}
					}
				}
				return newRun(trace.New(r.Steps), nil)
			},
		} {
			report := judged(t, less(openRun(t, dir)), Options{})
			found := len(report.Findings)
			if found > len(whole.Findings) || cmp.Compare(report.Events.Checked, whole.Events.Checked) > 0 {
				t.Errorf("%s without %s: %v, %+v, whole %+v", name, what, findingsText(report, none), report.Events, whole.Events)
			}
			if what == "a rank" && report.Events.Skipped == 0 && name != "dp2_weight_bit" {
				t.Errorf("%s without %s: %+v", name, what, report.Events)
			}
		}
	}
}

// FuzzParse: any text is a mesh or a file of groups, or an error.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"tp=2,dp=4", "tp=2,ep=2,dp=4,order=tp-cp-ep-dp-pp", "a: 0,3,5", "# x\na:1\n", "tp=-1", ",", "order=", "a:\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if mesh, err := ParseMesh(text); err == nil {
			for _, a := range mesh {
				if a.Size < 2 || a.Stride < 1 {
					t.Errorf("%q: %+v", text, a)
				}
			}
		}
		if groups, err := ParseGroups(text); err == nil {
			for name, ranks := range groups {
				if name == "" || len(ranks) == 0 {
					t.Errorf("%q: %q %v", text, name, ranks)
				}
			}
		}
	})
}

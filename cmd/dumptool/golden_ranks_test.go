package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ranksFinding is a finding about a rank, real or expected.
type ranksFinding struct {
	Step     any // a text in reports, a number in truth.json
	Rank     int
	Op, Kind string
	Alt      []int
}

func (f *ranksFinding) String() string {
	return fmt.Sprint("step ", f.Step, " rank ", f.Rank, " ", f.Op, " ", f.Kind)
}

// ranksReport is the part of a report about ranks.
type ranksReport struct {
	Summary struct {
		Headline string
		Mismatch int `json:"shape_mismatch"`
	}
	Ranks struct {
		Events   struct{ Checked, Wrong, Skipped int }
		Located  struct{ Tensors, Of int }
		Findings []ranksFinding
	}
}

// goldenRun is a golden run of many ranks, and its expectation from truth.json, or nil.
type goldenRun struct {
	name   string
	Expect struct {
		With    *ranksFinding `json:"with_reference"`
		Without *ranksFinding `json:"without_reference"`
	}
}

func goldenRuns(t *testing.T) (all []goldenRun) {
	t.Helper()
	files, err := filepath.Glob("../../testdata/golden/ranks/*/truth.json")
	if err != nil || len(files) != 12 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		c := goldenRun{name: filepath.Base(filepath.Dir(file))}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// reportOf runs a command, which finds first what is wanted.
func reportOf(t *testing.T, dir string, want *ranksFinding, args ...string) (r ranksReport, out []byte) {
	t.Helper()
	out, code := runIn(t, dir, args...)
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	switch found := r.Ranks.Findings; {
	case want == nil && (code != 0 || len(found) > 0):
		t.Errorf("exit %d: %s %+v", code, r.Summary.Headline, found)
	case want == nil:
	case code != 1 || len(found) == 0:
		t.Errorf("exit %d: %+v", code, found)
	case found[0].String() != want.String():
		t.Errorf("%s, want %s", &found[0], want)
	}
	return r, out
}

// TestGoldenRanks: check finds the faults in truth.json in the golden runs of many ranks and exits
// with 1; in healthy runs it finds nothing. The number of workers changes nothing.
func TestGoldenRanks(t *testing.T) {
	for _, c := range goldenRuns(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := goldenRanks(t, c.name)
			r, out := reportOf(t, dir, c.Expect.Without, "check", "--json", "run")
			if again, _ := runIn(t, dir, "check", "--json", "run", "-j", "1"); !bytes.Equal(out, again) {
				t.Error("-j changes the report")
			}
			if r.Ranks.Events.Skipped > 0 {
				t.Errorf("%+v", r.Ranks.Events)
			}
		})
	}
}

// TestGoldenRanksCompared: compare of the golden runs of many ranks with a reference of one rank
// passes healthy runs, and names rank, operator and kind of the faults in the others.
func TestGoldenRanksCompared(t *testing.T) {
	for _, c := range goldenRuns(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			with := c.Expect.With
			r, _ := reportOf(t, goldenRanks(t, c.name), with, "compare", "--cpu", "ref", "--npu", "run", "--format", "json")
			if l := r.Ranks.Located; l.Of == 0 || 10*l.Tensors < 9*l.Of || r.Summary.Mismatch > 0 {
				t.Errorf("%+v, %d of other shapes", l, r.Summary.Mismatch)
			}
			begin := "PASS: "
			if with != nil {
				begin = fmt.Sprint("FAIL: rank ", with.Rank, " ")
			}
			if head := r.Summary.Headline; !strings.HasPrefix(head, begin) || with != nil && !strings.Contains(head, with.Op) {
				t.Error(head)
			}
		})
	}
}

// rankCommands are the commands that judge ranks, without a reference and with one.
var rankCommands = map[string][]string{
	"check":   {"check", "--json", "run"},
	"compare": {"compare", "--cpu", "ref", "--npu", "run", "--format", "json"},
}

// TestFewerRanks: without a rank, a step or a tensor of the run there are fewer checks, and only
// findings of the whole run: a fault since the first step is found in the second one, and a rank
// may be one of two candidates.
func TestFewerRanks(t *testing.T) {
	for _, c := range []struct{ command, name string }{
		{"compare", "tp2dp2_mesh_clean"}, {"compare", "cp2_wrong_order"}, {"compare", "moe_ep2_expert_place"},
		{"check", "tp2dp2_mesh_clean"}, {"check", "tp2_link"}, {"check", "dp2_weight_bit"},
	} {
		name := c.name
		t.Run(c.command+" "+name, func(t *testing.T) {
			t.Parallel()
			const nothing = "nothing"
			findings := func(gone string) []ranksFinding {
				dir := goldenRanks(t, name)
				some, err := filepath.Glob(filepath.Join(dir, "run", gone))
				if err != nil || len(some) == 0 && gone != nothing {
					t.Fatal(gone, err)
				}
				for _, path := range some {
					if err := os.RemoveAll(path); err != nil {
						t.Fatal(err)
					}
				}
				out, _ := runIn(t, dir, rankCommands[c.command]...)
				var r ranksReport
				if err := json.Unmarshal(out, &r); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return r.Ranks.Findings
			}
			whole := findings(nothing)
			for _, gone := range []string{"step*/rank0", "step*/rank1", "step0", "step*/rank0/dump_tensor_data/*embedding*", "step*/rank1/dump_tensor_data/*layers.1.mlp*weight*"} {
				for _, f := range findings(gone) {
					if f.Kind == "COMPUTE" && len(whole) > 0 { // the spread of another finding, which cannot be known here
						continue
					}
					if !slices.ContainsFunc(whole, func(o ranksFinding) bool {
						return f.Op == o.Op && f.Kind == o.Kind && (f.Rank == o.Rank || slices.Contains(f.Alt, o.Rank)) && (f.Step == o.Step || gone == "step0")
					}) {
						t.Errorf("without %s: %s", gone, &f)
					}
				}
			}
		})
	}
}

// TestOddTrees: in a healthy run of four ranks a rank may have a step alone, a rank may be there
// twice, and a second program may add its ranks. With only statistics nothing tells the part of the
// reference that a tensor is.
func TestOddTrees(t *testing.T) {
	move := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	again := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		change  func(t *testing.T, dir string)
		told    string
		compare int // the exit status; check's is 0
		first   string
	}{
		{"a step with one rank alone", func(t *testing.T, dir string) {
			t.Helper()
			move(t, dir+"/run/step1/rank3", dir+"/rank3")
			if err := os.RemoveAll(dir + "/run/step1"); err != nil {
				t.Fatal(err)
			}
			move(t, dir+"/rank3", dir+"/run/step1/rank3")
		}, "", 0, "PASS"},
		{"a rank twice", func(t *testing.T, dir string) {
			t.Helper()
			move(t, dir+"/run", dir+"/all")
			move(t, dir+"/all", dir+"/run/20260101")
			again(t, dir+"/run/20260101/step0/rank3", dir+"/run/20260102/step0/rank3")
		}, "rank 3 in several folders (20260101, 20260102): each folder counts as a separate run", 0, "PASS"},
		{"two programs", func(t *testing.T, dir string) {
			t.Helper()
			move(t, dir+"/run", dir+"/all")
			move(t, dir+"/all", dir+"/run/train")
			again(t, dir+"/run/train/step0/rank0", dir+"/run/rollout/step0/rank0")
			again(t, dir+"/run/train/step0/rank1", dir+"/run/rollout/step0/rank1")
		}, "ranks 0-1 in several folders (rollout, train): each folder counts as a separate run", 0, "PASS"},
		{"statistics only", func(t *testing.T, dir string) {
			t.Helper()
			tensors, err := filepath.Glob(dir + "/run/*/*/dump_tensor_data")
			if err != nil || len(tensors) == 0 {
				t.Fatal(err)
			}
			for _, folder := range tensors {
				if err := os.RemoveAll(folder); err != nil {
					t.Fatal(err)
				}
			}
		}, "", 4, "NOTHING COMPARED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := goldenRanks(t, "tp2dp2_mesh_clean")
			c.change(t, dir)
			out, told, code := runTold(t, dir, "compare", "--cpu", "ref", "--npu", "run")
			if code != c.compare || !strings.HasPrefix(string(out), c.first) || !strings.Contains(string(out)+told, c.told) {
				t.Errorf("compare: exit %d, want %d: %s%s", code, c.compare, out, told)
			}
			out, told, code = runTold(t, dir, "check", "--only", "comm,replicas", "run")
			if code != 0 || !strings.HasPrefix(string(out), "OK") || !strings.Contains(told, c.told) {
				t.Errorf("check: exit %d, want 0: %s%s", code, out, told)
			}
		})
	}
}

// renumberRanks permutes the rank numbers of a run, also in groups and peers.
func renumberRanks(t *testing.T, run string, last int) {
	t.Helper()
	number := func(text []byte) []byte {
		n, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		return []byte(strconv.Itoa(last - n))
	}
	digits, groups, peers := regexp.MustCompile(`\d+`), regexp.MustCompile(`"group_ranks":\[[^]]*\]`), regexp.MustCompile(`"(?:src|dst)":\{"type":"int","value":\d+\}`)
	steps, err := filepath.Glob(filepath.Join(run, "step*"))
	if err != nil || len(steps) == 0 {
		t.Fatal(run, err)
	}
	for _, step := range steps {
		for rank := range last + 1 {
			list := filepath.Join(step, "rank"+strconv.Itoa(rank), "dump.json")
			text, err := os.ReadFile(list)
			if err != nil {
				t.Fatal(err)
			}
			for _, of := range []*regexp.Regexp{groups, peers} {
				text = of.ReplaceAllFunc(text, func(some []byte) []byte { return digits.ReplaceAllFunc(some, number) })
			}
			if err := os.WriteFile(list, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Dir(list), filepath.Join(step, "new"+strconv.Itoa(last-rank))); err != nil {
				t.Fatal(err)
			}
		}
		for rank := range last + 1 {
			if err := os.Rename(filepath.Join(step, "new"+strconv.Itoa(rank)), filepath.Join(step, "rank"+strconv.Itoa(rank))); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRenumberedRanks: ranks with other numbers have the same findings, under these numbers.
func TestRenumberedRanks(t *testing.T) {
	for _, c := range []struct {
		command, name string
		last          int
	}{
		{"check", "pp2tp2_recv_stale", 3}, {"check", "tp2_link", 1},
		{"compare", "pp2tp2_recv_stale", 3}, {"compare", "tp2_link", 1}, {"compare", "tp4_qkv_op_rows", 3}, {"compare", "cp2_wrong_order", 1}, {"compare", "tp2dp2_mesh_clean", 3},
	} {
		t.Run(c.command+" "+c.name, func(t *testing.T) {
			t.Parallel()
			dir := goldenRanks(t, c.name)
			findings := func(number func(int) int) (all []string) {
				out, _ := runIn(t, dir, rankCommands[c.command]...)
				var r ranksReport
				if err := json.Unmarshal(out, &r); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				for _, f := range r.Ranks.Findings {
					who := []int{number(f.Rank)}
					for _, rank := range f.Alt {
						who = append(who, number(rank))
					}
					slices.Sort(who) // any of those that tie may be first
					all = append(all, fmt.Sprint(f.Step, f.Op, f.Kind, who))
				}
				slices.Sort(all)
				return all
			}
			want := findings(func(rank int) int { return c.last - rank })
			renumberRanks(t, filepath.Join(dir, "run"), c.last)
			if got := findings(func(rank int) int { return rank }); !slices.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
		})
	}
}

// TestUnshardOff: without un-sharding every rank is compared with the whole reference, and there
// are no findings between ranks.
func TestUnshardOff(t *testing.T) {
	run := goldenRanks(t, "tp2_clean")
	out, code := runIn(t, run, "compare", "--cpu", "ref", "--npu", "run", "--unshard", "off", "--format", "json")
	if code != 1 || !bytes.Contains(out, []byte("SHAPE_MISMATCH")) || bytes.Contains(out, []byte(`"ranks"`)) || bytes.Contains(out, []byte(`"across"`)) {
		t.Errorf("exit %d", code)
	}
	// Merged shards of steps give the rows of one run.
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

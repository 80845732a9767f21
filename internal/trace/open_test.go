package trace_test

import (
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/trace"
)

// TestStepsOf: a rank that only one of two programs has belongs to the program in whose folder it is. With a single
// program folders do not matter.
func TestStepsOf(t *testing.T) {
	round := func(dir, folder, rank string) *dumpdir.Round {
		file := &dumpdir.File{Name: "dump.json", Folder: &dumpdir.Folder{Dir: dir}}
		return &dumpdir.Round{At: dumpdir.Coordinates{Rank: rank, Step: "0", Folder: folder}, Ops: []*dumpdir.Op{{Tensors: []dumpdir.Tensor{{File: file}}}}}
	}
	rounds := []*dumpdir.Round{
		round("train/step0/rank0", "train", "0"), round("rollout/step0/rank0", "rollout", "0"), round("train/step0/rank1", "", "1"), round("trains/step0/rank2", "", "2"),
	}
	of := trace.StepsOf(rounds)
	for i, want := range []string{"train", "rollout", "train", ""} {
		if got := of[rounds[i]]; got != (dumpdir.Coordinates{Step: "0", Folder: want}) {
			t.Errorf("round %d: step %v, want that of folder %q", i, got, want)
		}
	}
	if got := trace.StepsOf(rounds[2:3])[rounds[2]]; got.Folder != "" {
		t.Errorf("alone: folder %q", got.Folder)
	}
	run, warnings := trace.Open(rounds)
	if len(run.Steps) != 3 || len(warnings) != 1 || warnings[0].Text().String() != "rank 0 in several folders (rollout, train): each folder counts as a separate run" {
		t.Errorf("%d steps, warnings %v", len(run.Steps), warnings)
	}
	if s := run.StepOf(rounds[2].At); s == nil || s.At.Folder != "train" || s.RoundOf(1) != rounds[2].At {
		t.Errorf("rank 1 is in step %v", s)
	}
}

// TestOpenRounds: rounds whose rank is no number are left out. If a rank occurs twice, the later round counts.
func TestOpenRounds(t *testing.T) {
	round := func(rank, op string) *dumpdir.Round {
		return &dumpdir.Round{At: dumpdir.Coordinates{Rank: rank, Step: "3"}, Ops: []*dumpdir.Op{{Name: op}}}
	}
	run, warnings := trace.Open([]*dumpdir.Round{round("1", "first"), round("x", "no number"), round("-1", "negative"), round("0", "other"), round("1", "second")})
	if len(run.Steps) != 1 || len(run.Ranks) != 2 || run.Ranks[0] != 0 || run.Ranks[1] != 1 {
		t.Fatalf("%d steps of ranks %v", len(run.Steps), run.Ranks)
	}
	if got := run.Steps[0].Calls[1]; len(got) != 1 || got[0].Name != "second" {
		t.Errorf("rank 1 has %d calls, the first is %s", len(got), got[0].Name)
	}
	if len(warnings) != 1 || warnings[0].Text().String() != "rank 1 occurs twice: the later one counts" {
		t.Error(warnings)
	}
}

// TestProgramSteps: a step follows the last step of the same program, in the order of their numbers.
func TestProgramSteps(t *testing.T) {
	var rounds []*dumpdir.Round
	for _, at := range [][2]string{{"10", "a"}, {"2", "b"}, {"2", "a"}, {"9", "b"}} {
		rounds = append(rounds, &dumpdir.Round{At: dumpdir.Coordinates{Rank: "0", Step: at[0], Folder: at[1]}})
	}
	run, _ := trace.Open(rounds)
	before := make(map[string]string)
	for i, s := range run.Steps {
		if s.Index != i {
			t.Errorf("step %v has the index %d, want %d", s.At, s.Index, i)
		}
		if s.Before != nil {
			before[s.At.Folder+s.At.Step] = s.Before.At.Folder + s.Before.At.Step
		}
	}
	if len(before) != 2 || before["a10"] != "a2" || before["b9"] != "b2" {
		t.Errorf("%v", before)
	}
}

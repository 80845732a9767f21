package shard

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// environment reads NAME=VALUE words.
func environment(text string) func(string) string {
	return func(name string) string {
		for word := range strings.FieldsSeq(text) {
			if value, ok := strings.CutPrefix(word, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, env string
		want      Spec
		note, err string
	}{
		{text: "", want: Spec{}},
		{text: "2/4", want: Spec{2, 4}},
		{text: "0/1", want: Spec{0, 1}},
		{text: "2/4", env: "SLURM_ARRAY_TASK_ID=3", want: Spec{2, 4}},
		{text: "auto/4", env: "SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_COUNT=1", want: Spec{3, 4}},
		{text: "auto/4", env: "JOB_COMPLETION_INDEX=0", want: Spec{0, 4}},
		{text: "auto/4", env: "VC_TASK_INDEX=1 VK_TASK_INDEX=1", want: Spec{1, 4}},
		{text: "auto/4", env: "VK_TASK_INDEX=1", want: Spec{1, 4}},
		{text: "auto/4", env: "AWS_BATCH_JOB_ARRAY_INDEX=2", want: Spec{2, 4}},
		{text: "auto/4", env: "PBS_ARRAY_INDEX=2", want: Spec{2, 4}},
		{env: "PBS_ARRAY_INDEX=2", note: "PBS_ARRAY_INDEX is 2; without --shard all of the work is done here"},
		{text: "4/4", err: "--shard 4/4: shards are 0/4 to 3/4"},
		{text: "auto/100", env: "SLURM_ARRAY_TASK_ID=3 JOB_COMPLETION_INDEX=7",
			err: "--shard auto/100: SLURM_ARRAY_TASK_ID is 3 and JOB_COMPLETION_INDEX is 7: give the number"},
		{text: "auto/4", err: "--shard auto/4: none of SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, VC_TASK_INDEX, VK_TASK_INDEX, AWS_BATCH_JOB_ARRAY_INDEX, PBS_ARRAY_INDEX is set: give the number"},
		{text: "auto/4", env: "SLURM_ARRAY_TASK_ID=9", err: "--shard auto/4: SLURM_ARRAY_TASK_ID is 9, shards are 0/4 to 3/4"},
		{text: "auto/4", env: "SLURM_ARRAY_TASK_ID=x", err: "--shard auto/4: SLURM_ARRAY_TASK_ID is x, want a number from 0"},
		{text: "4", err: "--shard 4: want INDEX/COUNT, such as 0/4, or auto/4"},
		{text: "auto", err: "--shard auto: want INDEX/COUNT"},
		{text: "0/0", err: "--shard 0/0: want INDEX/COUNT"},
		{text: "-1/4", err: "--shard -1/4: want INDEX/COUNT"},
		{text: "0/-4", err: "want INDEX/COUNT"},
		{text: "1/2/3", err: "want INDEX/COUNT"},
		{text: "a/4", err: "--shard a/4: want INDEX/COUNT"},
		{text: "0/99999999999999999999", err: "want INDEX/COUNT"},
		{text: "0/2000000", err: "--shard 0/2000000: there are at most 1048576 shards"},
	} {
		got, notes, err := Parse(tt.text, environment(tt.env))
		if tt.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.err) && !strings.HasSuffix(err.Error(), tt.err) && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q with %q: error %v, want %s", tt.text, tt.env, err, tt.err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%q with %q: %v, %v, want %v", tt.text, tt.env, got, err, tt.want)
		}
		if tt.note == "" && len(notes) > 0 || tt.note != "" && (len(notes) != 1 || notes[0].String() != tt.note) {
			t.Errorf("%q with %q: notes %v, want %q", tt.text, tt.env, notes, tt.note)
		}
	}
}

// slowLPT is the rule of Balance, word by word. Other versions rely on the rule.
func slowLPT(sizes []int64, keys []string, n int) []int {
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if sizes[i] != sizes[j] {
			if sizes[i] > sizes[j] {
				return -1
			}
			return 1
		}
		return strings.Compare(keys[i], keys[j])
	})
	load, count, shards := make([]int64, n), make([]int, n), make([]int, len(sizes))
	for _, i := range order {
		best := 0
		for s := range n {
			if load[s] < load[best] || load[s] == load[best] && count[s] < count[best] {
				best = s
			}
		}
		shards[i] = best
		load[best] += sizes[i]
		count[best]++
	}
	return shards
}

func TestBalance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 20), 0, 40).Draw(t, "sizes")
		keys := make([]string, len(sizes))
		for i := range keys {
			keys[i] = rapid.StringMatching(`[ab]{0,3}`).Draw(t, "key") + strconv.Itoa(i)
		}
		n := rapid.IntRange(1, 9).Draw(t, "n")
		got := Balance(sizes, keys, n)
		if want := slowLPT(sizes, keys, n); !slices.Equal(got, want) {
			t.Fatalf("shards %v, want %v", got, want)
		}
	})
	if got := Balance([]int64{-5, 1 << 62, 1 << 62, 1 << 62}, []string{"a", "b", "c", "d"}, 1); !slices.Equal(got, []int{0, 0, 0, 0}) {
		t.Errorf("sizes that add up to more than there is: %v", got)
	}
}

// TestDivide: every part of every unit belongs to one shard. The number of a unit's parts is its
// size in shares of a shard. The largest load is at most the mean plus twice the largest piece,
// which is below two shares.
func TestDivide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, 1<<55)), 0, 40).Draw(t, "sizes")
		keys, total := make([]string, len(sizes)), int64(0)
		for i := range keys {
			keys[i], total = strconv.Itoa(i), total+sizes[i]
		}
		n := rapid.IntRange(1, 9).Draw(t, "n")
		loads, seen := make([]float64, n), make([]map[int]bool, len(sizes))
		for index := range n {
			for i, p := range Divide(Spec{Index: index, Of: n}, sizes, keys) {
				shares := new(big.Int).Mul(big.NewInt(sizes[i]), big.NewInt(int64(n)))
				if want := max(1, int(shares.Div(shares, big.NewInt(max(total, 1))).Int64())); p.Of != want {
					t.Fatalf("unit of %d of %d for %d shards: %d parts, want %d", sizes[i], total, n, p.Of, want)
				}
				if p.IsFirst() != slices.Contains(p.Mine, 0) {
					t.Fatalf("%v: first %v", p.Mine, p.IsFirst())
				}
				if seen[i] == nil {
					seen[i] = map[int]bool{}
				}
				for _, part := range p.Mine {
					if seen[i][part] || part < 0 || part >= p.Of {
						t.Fatalf("part %d of %d of unit %d is dealt out again", part, p.Of, i)
					}
					seen[i][part] = true
					loads[index] += float64(sizes[i]) / float64(p.Of)
				}
				if index == n-1 && len(seen[i]) != p.Of {
					t.Fatalf("unit %d has %d of %d parts", i, len(seen[i]), p.Of)
				}
			}
		}
		if share := float64(total) / float64(n); slices.Max(loads) > 3*share*(1+1e-9)+1 {
			t.Fatalf("loads %v, the share is %v", loads, share)
		}
	})
	whole := Divide(Spec{}, []int64{5, 0}, []string{"a", "b"})
	if len(whole) != 2 || !whole[0].IsFirst() || !whole[1].IsFirst() || whole[0].Of != 1 {
		t.Errorf("without a shard: %+v", whole)
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		numbers []int
		want    string
	}{
		{nil, ""}, {[]int{3, 17, 40, 41, 42}, "3,17,40-42"}, {[]int{0, 1}, "0,1"}, {[]int{0, 1, 2}, "0-2"}, {[]int{9}, "9"},
	} {
		if got := Ranges(tt.numbers); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.numbers, got, tt.want)
		}
	}
}

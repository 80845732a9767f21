package ranks

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSplits: the rows tell how many rows each member sends to whom, also if one member holds wrong rows. With two
// such members the splits are unknown.
func TestSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "members")
		want, x := make([][]int64, n), &exchange{in: make([][]uint64, n), out: make([][]uint64, n)}
		row := uint64(0)
		for j := range n {
			for range n {
				want[j] = append(want[j], int64(rapid.IntRange(1, 4).Draw(t, "rows")))
			}
			x.sent = append(x.sent, make([]int64, n))
		}
		for j := range n {
			for i := range n {
				for range want[j][i] {
					row++
					x.in[j], x.out[i] = append(x.in[j], row), append(x.out[i], row)
				}
			}
		}
		wrong := rapid.IntRange(0, 2).Draw(t, "wrong members")
		order := rand.New(rand.NewPCG(uint64(n), row)).Perm(n)
		for _, i := range order[:wrong] {
			x.out[i] = slices.Clone(x.out[i])
			slices.Reverse(x.out[i])
		}
		switch ok := x.solve(); {
		case wrong == 2 && ok:
			t.Error("rows in no order say the splits")
		case wrong < 2 && (!ok || !slices.EqualFunc(x.sent, want, slices.Equal[[]int64])):
			t.Errorf("%v %v, want %v", ok, x.sent, want)
		}
	})
}

// TestNoSplits: lost rows and equal rows, which may come from anyone, leave the splits unknown.
func TestNoSplits(t *testing.T) {
	for name, x := range map[string]*exchange{
		"a row that nobody gets": {in: [][]uint64{{1, 2, 3}, {4}}, out: [][]uint64{{1}, {3, 4}}},
		"all rows are equal":     {in: [][]uint64{{1, 1}, {1, 1}}, out: [][]uint64{{1, 2}, {2, 1}}},
		"a row too many":         {in: [][]uint64{{1}, {2}}, out: [][]uint64{{1, 2}, {3}}},
	} {
		x.sent = [][]int64{make([]int64, 2), make([]int64, 2)}
		if x.solve() {
			t.Errorf("%s: %v", name, x.sent)
		}
	}
}

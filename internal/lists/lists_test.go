package lists

import (
	"slices"
	"strconv"
	"testing"
)

func TestLists(t *testing.T) {
	t.Parallel()
	all, even := []int{1, 2, 4}, func(n int) bool { return n%2 == 0 }
	if got := Map(all, strconv.Itoa); !slices.Equal(got, []string{"1", "2", "4"}) {
		t.Errorf("Map gives %q", got)
	}
	if got := Filter(all, even); !slices.Equal(got, []int{2, 4}) {
		t.Errorf("Filter gives %d", got)
	}
	if got := Count(all, even); got != 2 {
		t.Errorf("Count gives %d", got)
	}
	if Map(all[:0], strconv.Itoa) != nil || Filter(all[:1], even) != nil {
		t.Error("nothing is not nil")
	}
}

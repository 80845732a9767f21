package diagnose

import (
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/combin"
)

// layouts are the axis orders that tensors come in.
var layouts = [...]string{"NCL", "NLC", "NCHW", "NHWC", "HWCN", "CHWN", "NCDHW", "NDHWC", "DHWCN"}

// axisOrder is a permutation of axes, and the first layouts that it leads from
// and to; they are empty if there are none.
type axisOrder struct {
	axes     []int
	from, to string
}

// axisOrders lists the permutations to try, those between known layouts first:
// all others too up to four axes, the common ones beyond that.
func axisOrders(rank int) []axisOrder {
	var all []axisOrder
	add := func(o axisOrder) {
		same := func(other axisOrder) bool { return slices.Equal(o.axes, other.axes) }
		if !slices.Equal(o.axes, numbers(rank)) && !slices.ContainsFunc(all, same) {
			all = append(all, o)
		}
	}
	for _, to := range layouts {
		for _, from := range layouts {
			if len(from) == rank && len(to) == rank {
				axes := make([]int, rank)
				for j := range to {
					axes[j] = strings.IndexByte(from, to[j])
				}
				add(axisOrder{axes, from, to})
			}
		}
	}
	if rank < 2 {
		return nil
	}
	moved := func(from, to int) []int { return slices.Insert(slices.Delete(numbers(rank), from, from+1), to, from) }
	reversed := numbers(rank)
	slices.Reverse(reversed)
	others := [][]int{moved(rank-1, rank-2), reversed, moved(rank-1, 1), moved(1, rank-1)}
	if rank <= 4 {
		others = append(others, combin.Permutations(rank, rank)...)
	}
	for _, axes := range others {
		add(axisOrder{axes: axes})
	}
	return all
}

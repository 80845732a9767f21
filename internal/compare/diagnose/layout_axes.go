package diagnose

import (
	"slices"
	"strings"
)

// layouts are the axis orders that tensors of that many axes come in.
func layouts(rank int) []string {
	switch rank {
	case 3:
		return []string{"NCL", "NLC"}
	case 4:
		return []string{"NCHW", "NHWC", "HWCN", "CHWN"}
	case 5:
		return []string{"NCDHW", "NDHWC", "DHWCN"}
	default:
		return nil
	}
}

// axesBetween returns the permutation that makes the order to out of from.
func axesBetween(from, to string) []int {
	axes := make([]int, len(to))
	for j := range to {
		axes[j] = strings.IndexByte(from, to[j])
	}
	return axes
}

// layoutNames names the orders of a permutation, both empty if it is not one
// between known layouts. Of several the first is told.
func layoutNames(axes []int) (from, to string) {
	names := layouts(len(axes))
	for _, to := range names {
		for _, from := range names {
			if from != to && slices.Equal(axesBetween(from, to), axes) {
				return from, to
			}
		}
	}
	return "", ""
}

// axisOrders lists the permutations to try, those between known layouts first:
// all others too up to four axes, the common ones beyond that.
func axisOrders(rank int) [][]int {
	var all [][]int
	add := func(axes []int) {
		same := func(other []int) bool { return slices.Equal(axes, other) }
		if !slices.Equal(axes, numbers(rank)) && !slices.ContainsFunc(all, same) {
			all = append(all, axes)
		}
	}
	names := layouts(rank)
	for _, to := range names {
		for _, from := range names {
			add(axesBetween(from, to))
		}
	}
	if rank < 2 {
		return nil
	}
	swapped, reversed := numbers(rank), numbers(rank)
	swapped[rank-2], swapped[rank-1] = rank-1, rank-2
	slices.Reverse(reversed)
	lastSecond, secondLast := channelMoves(rank)
	for _, axes := range [][]int{swapped, reversed, lastSecond, secondLast} {
		add(axes)
	}
	if rank <= 4 {
		permute(numbers(rank), 0, func(axes []int) { add(slices.Clone(axes)) })
	}
	return all
}

// channelMoves are the moves of the last axis to the second place and back.
func channelMoves(rank int) (lastSecond, secondLast []int) {
	rest := numbers(rank)[1:]
	lastSecond = append([]int{0, rank - 1}, rest[:rank-2]...)
	secondLast = append(append([]int{0}, rest[1:]...), 1)
	return lastSecond, secondLast
}

// permute calls f with every permutation of axes from k on.
func permute(axes []int, k int, f func([]int)) {
	if k == len(axes) {
		f(axes)
		return
	}
	for i := k; i < len(axes); i++ {
		axes[k], axes[i] = axes[i], axes[k]
		permute(axes, k+1, f)
		axes[k], axes[i] = axes[i], axes[k]
	}
}

package shard

import (
	"cmp"
	"container/heap"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"
)

// Share returns the items of a shard, in their order; all without a shard. Items of one key
// stay together, and the keys are divided by the sizes of their items.
func Share[T any](spec Spec, all []T, key func(T) string, size func(T) int64) []T {
	if !spec.On() {
		return all
	}
	group := make(map[string]int)
	var keys []string
	var sizes []int64
	of := make([]int, len(all))
	for i, x := range all {
		k := key(x)
		g, seen := group[k]
		if !seen {
			g = len(keys)
			group[k] = g
			keys, sizes = append(keys, k), append(sizes, 0)
		}
		of[i] = g
		sizes[g] += size(x)
	}
	shards := Balance(sizes, keys, spec.Of)
	var mine []T
	for i, x := range all {
		if shards[of[i]] == spec.Index {
			mine = append(mine, x)
		}
	}
	return mine
}

// Balance divides work of known sizes among n shards so that the largest share is
// small: in falling order of size, each piece goes to the shard with the least so far
// (LPT). Pieces of one size go in the order of their keys; of shards with equally much
// the one with fewer pieces is next, then the one with the lower number. It returns the
// shard of each piece. Negative sizes count as 0.
func Balance(sizes []int64, keys []string, n int) []int {
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(max(sizes[j], 0), max(sizes[i], 0)), strings.Compare(keys[i], keys[j]), cmp.Compare(i, j))
	})
	loads := make(loads, max(n, 1))
	for i := range loads {
		loads[i].shard = i
	}
	shards := make([]int, len(sizes))
	for _, i := range order {
		least := &loads[0]
		shards[i] = least.shard
		least.size, least.pieces = add(least.size, max(sizes[i], 0)), least.pieces+1
		heap.Fix(&loads, 0)
	}
	return shards
}

// add adds sizes, which are not negative and may be anything else.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// loads are what the shards have so far, as a heap.
type loads []struct {
	size          int64
	pieces, shard int
}

// Len implements heap.Interface.
func (l loads) Len() int { return len(l) }

// Less implements heap.Interface.
func (l loads) Less(i, j int) bool {
	a, b := l[i], l[j]
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.pieces, b.pieces), cmp.Compare(a.shard, b.shard)) < 0
}

// Swap implements heap.Interface.
func (l loads) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

// Push implements heap.Interface; no shard is added.
func (l *loads) Push(any) {}

// Pop implements heap.Interface; no shard is taken.
func (l *loads) Pop() any { return nil }

// Inventory identifies the files of a run by their names below the folders that were
// given, their sizes, and what a store says of their content. Times do not count:
// copies of a run are the same.
type Inventory struct{ sum hash.Hash }

// NewInventory returns the inventory of no files.
func NewInventory() Inventory { return Inventory{sha256.New()} }

// Add adds a file: its name with /, below the path that was given as the root-th, and
// its ETag where it has one.
func (v Inventory) Add(root int, name string, size int64, etag string) {
	fmt.Fprintf(v.sum, "%d %q %d %q\n", root, name, size, etag) // never fails
}

// String is the inventory in base 16.
func (v Inventory) String() string { return hex.EncodeToString(v.sum.Sum(nil)) }

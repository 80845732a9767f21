package shard

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Balance divides work of known sizes among n shards so that the largest share is
// small: in falling order of size, each piece goes to the shard with the least so far
// (LPT). Pieces of one size go in the order of their keys; of shards with equally much
// the one with fewer pieces is next, then the one with the lower number. It returns the
// shard of each piece. Negative sizes count as 0.
func Balance(sizes []int64, keys []string, n int) []int {
	units := make([]unit, len(sizes))
	for i, size := range sizes {
		units[i] = unit{key: keys[i], size: max(size, 0), items: []int{i}}
	}
	return distribute(units, len(sizes), n)
}

// Item is a piece of work that shares data with others.
type Item struct {
	Key  string
	Size int64
	// Group names what the item shares with the others of its group, such as the
	// reference that several ranks are compared with. Items without one share nothing.
	Group string
	// Shared is the size of what the group shares, which is read once where its items
	// are together.
	Shared int64
}

// BalanceGroups divides items as Balance does, but keeps those of a group together, as
// long as they are no more than an eighth of an average share; larger groups are split,
// in the order of their keys, into pieces of that size.
func BalanceGroups(items []Item, n int) []int {
	var total int64
	groups := make(map[string][]int)
	var units []unit
	for i, it := range items {
		total = add(total, it.Size)
		if it.Group != "" {
			groups[it.Group] = append(groups[it.Group], i)
			continue
		}
		units = append(units, unit{key: it.Key, size: max(it.Size, 0), items: []int{i}})
	}
	for _, group := range groups {
		total = add(total, items[group[0]].Shared)
	}
	limit := total / int64(max(n, 1)) / 8
	for _, group := range groups {
		units = append(units, split(items, group, limit)...)
	}
	return distribute(units, len(items), n)
}

// unit is work that one shard does.
type unit struct {
	key   string // of its first item
	size  int64
	items []int
}

// split cuts a group into units that are no larger than the limit, or one item.
func split(items []Item, group []int, limit int64) []unit {
	slices.SortFunc(group, func(i, j int) int { return cmp.Or(strings.Compare(items[i].Key, items[j].Key), cmp.Compare(i, j)) })
	var units []unit
	for _, i := range group {
		last := len(units) - 1
		if last >= 0 && add(units[last].size, items[i].Size) <= limit {
			units[last].size = add(units[last].size, items[i].Size)
			units[last].items = append(units[last].items, i)
			continue
		}
		units = append(units, unit{key: items[i].Key, size: add(items[i].Shared, items[i].Size), items: []int{i}})
	}
	return units
}

// add adds sizes. What a plan says they are may be anything.
func add(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// distribute gives every unit to a shard, and returns the shards of n items.
func distribute(units []unit, items, n int) []int {
	slices.SortFunc(units, func(a, b unit) int {
		return cmp.Or(cmp.Compare(b.size, a.size), strings.Compare(a.key, b.key), cmp.Compare(a.items[0], b.items[0]))
	})
	loads := make([]load, max(n, 1))
	for i := range loads {
		loads[i].shard = i
	}
	shards := make([]int, items)
	for _, u := range units {
		least := &loads[0]
		for _, i := range u.items {
			shards[i] = least.shard
		}
		least.size, least.items = add(least.size, u.size), least.items+len(u.items)
		sink(loads, 0, load.before)
	}
	return shards
}

// load is what a shard has so far.
type load struct {
	size         int64
	items, shard int
}

// before reports whether the shard gets work before another.
func (l load) before(o load) bool {
	return cmp.Or(cmp.Compare(l.size, o.size), cmp.Compare(l.items, o.items), cmp.Compare(l.shard, o.shard)) < 0
}

package pairing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// OrderBy names a source of the execution order.
type OrderBy string

// The sources. Auto is the first of the others that is there and knows any of
// the operators; ByName always does.
const (
	Auto        OrderBy = ""
	ByRuntime   OrderBy = "runtime"
	ByExecution OrderBy = "execution"
	ByFusion    OrderBy = "fusion"
	ByTimestamp OrderBy = "timestamp"
	ByName      OrderBy = "name"
)

// OrderSources are the sources that a run has; nil ones are missing.
type OrderSources struct {
	Runtime   *NodeOrder
	Execution *NodeOrder
	Fusion    *Fusion
	// FusionFile is the name of the graph's file, for messages.
	FusionFile string
}

// OrderItem is what is to be ordered: the names of an operator, the best first,
// on both sides, and its timestamp, 0 when unknown.
type OrderItem struct {
	Names     []string
	Timestamp uint64
}

// Order is an execution order.
type Order struct {
	// By is the source, never Auto, and Source describes it in a line.
	By     OrderBy
	Source string
	// Places holds the place of every item, from 0; items that run at the same
	// time, such as the outputs of one operator, share one. Items that the
	// source does not know come last, in natural order of their names.
	Places []int
}

// Find orders items by a source. The error is for a source that was asked for
// and is missing or knows none of the operators.
func (s *OrderSources) Find(by OrderBy, items []OrderItem) (*Order, error) {
	candidates := []OrderBy{by}
	if by == Auto {
		candidates = []OrderBy{ByRuntime, ByExecution, ByFusion, ByTimestamp, ByName}
	}
	var err error
	for _, by := range candidates {
		var o *Order
		if o, err = s.try(by, items); err == nil {
			return o, nil
		}
	}
	return nil, err
}

func (s *OrderSources) try(by OrderBy, items []OrderItem) (*Order, error) {
	switch by {
	case ByRuntime:
		return byNodes(by, s.Runtime, items)
	case ByExecution:
		return byNodes(by, s.Execution, items)
	case ByFusion:
		if s.Fusion == nil {
			return nil, missing(by)
		}
		return byNodes(by, newNodeOrder("fusion graph "+s.FusionFile, s.Fusion.order()), items)
	case ByTimestamp:
		return byTimestamp(items)
	case ByName:
		places := places(items, func(OrderItem) (uint64, bool) { return 0, false })
		return &Order{ByName, "natural order of names", places}, nil
	}
	return nil, fmt.Errorf("order %q, want runtime, execution, fusion, timestamp or name", by)
}

func missing(by OrderBy) error {
	return fmt.Errorf("the order %q was asked for, but there is no file with it", by)
}

func byNodes(by OrderBy, nodes *NodeOrder, items []OrderItem) (*Order, error) {
	if nodes == nil {
		return nil, missing(by)
	}
	listed := 0
	places := places(items, func(item OrderItem) (uint64, bool) {
		i, ok := nodes.index.find(item.Names...)
		if ok {
			listed++
		}
		return uint64(i), ok
	})
	if listed == 0 && len(items) > 0 {
		return nil, fmt.Errorf("%s lists none of the %d tensors", nodes.Source, len(items))
	}
	return &Order{by, fmt.Sprintf("%s, %d of %d tensors listed", nodes.Source, listed, len(items)), places}, nil
}

func byTimestamp(items []OrderItem) (*Order, error) {
	known := 0
	places := places(items, func(item OrderItem) (uint64, bool) {
		if item.Timestamp > 0 {
			known++
		}
		return item.Timestamp, item.Timestamp > 0
	})
	if known == 0 && len(items) > 0 {
		return nil, errors.New("the order by timestamp was asked for, but no tensor has a timestamp")
	}
	return &Order{ByTimestamp, fmt.Sprintf("timestamps of the NPU's dumps, %d of %d tensors have one", known, len(items)), places}, nil
}

// places returns the places of items by key; those without one come last, by
// name. It calls key once for every item.
func places(items []OrderItem, key func(OrderItem) (uint64, bool)) []int {
	type keyed struct {
		index int
		key   uint64
		known bool
		name  string
	}
	all := make([]keyed, len(items))
	for i, item := range items {
		k, ok := key(item)
		all[i] = keyed{index: i, key: k, known: ok}
		if !ok && len(item.Names) > 0 {
			all[i].name = item.Names[0]
		}
	}
	compare := func(a, b keyed) int {
		switch {
		case a.known && b.known:
			return cmp.Compare(a.key, b.key)
		case a.known:
			return -1
		case b.known:
			return 1
		}
		return CompareNatural(a.name, b.name)
	}
	slices.SortStableFunc(all, compare)
	places := make([]int, len(items))
	place := 0
	for i, k := range all {
		if i > 0 && compare(all[i-1], k) != 0 {
			place++
		}
		places[k.index] = place
	}
	return places
}

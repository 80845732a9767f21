package recompute

import (
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/tensor"
)

// indexItem is an item of the index of x[...], between two commas. start, stop and step are nil where the slice omits
// them.
type indexItem struct {
	kind              byte // one of the item constants
	start, stop, step *int64
	// tensorAxes is the number of axes of x that a tensor indexes: the rank of a mask, else 1.
	tensorAxes int
}

const (
	numberItem, sliceItem, newAxis, ellipsis, tensorItem = 'i', 's', 'n', 'e', 't'
)

// indexItems parses the text of an index. tensors are the inputs for the items T; each tensor needs an item.
func indexItems(text string, tensors []*Tensor) (all []indexItem, ok bool) {
	for one := range strings.SplitSeq(text, ";") {
		item := indexItem{kind: sliceItem}
		switch one = strings.TrimSpace(one); {
		case one == "T":
			if len(tensors) == 0 || tensors[0] == nil {
				return nil, false
			}
			item.kind, item.tensorAxes = tensorItem, 1
			if tensors[0].DType == tensor.Bool {
				item.tensorAxes = len(tensors[0].Shape)
			}
			tensors = tensors[1:]
		case one == "None":
			item.kind = newAxis
		case one == "..." || one == "Ellipsis":
			item.kind = ellipsis
		case strings.HasPrefix(one, "[") || strings.HasPrefix(one, "slice("):
			parts := strings.Split(strings.Trim(strings.TrimPrefix(one, "slice"), "[]()"), ",")
			if len(parts) != 3 {
				return nil, false
			}
			for i, to := range []**int64{&item.start, &item.stop, &item.step} {
				if part := strings.TrimSpace(parts[i]); part != "None" && part != "null" {
					n, err := strconv.ParseInt(part, 10, 64)
					if err != nil {
						return nil, false
					}
					*to = &n
				}
			}
		default:
			n, err := strconv.ParseInt(one, 10, 64)
			if err != nil {
				return nil, false
			}
			item.kind, item.start = numberItem, &n
		}
		all = append(all, item)
	}
	return all, len(tensors) == 0
}

// indexView applies the numbers and slices of an index to a shape and returns the axes of the view that its tensors
// index. As in PyTorch, numbers are applied before tensors.
func indexView(x tensor.Shape, items []indexItem) (v view, axes []int, ok bool) {
	remaining := len(x)
	for _, item := range items {
		switch item.kind {
		case numberItem, sliceItem:
			remaining--
		case tensorItem:
			remaining -= item.tensorAxes
		}
	}
	if remaining < 0 {
		return v, nil, false
	}
	if !slices.ContainsFunc(items, func(i indexItem) bool { return i.kind == ellipsis }) {
		items = append(slices.Clip(items), indexItem{kind: ellipsis})
	}
	strides, k := x.Strides(), 0
	v.shape, v.strides = tensor.Shape{}, []int64{}
	keep := func(n, stride int64) { v.shape, v.strides = append(v.shape, n), append(v.strides, stride) }
	for _, item := range items {
		switch item.kind {
		case newAxis:
			keep(1, 0)
		case ellipsis:
			for range remaining {
				keep(x[k], strides[k])
				k++
			}
			remaining = 0
		case tensorItem:
			for range item.tensorAxes {
				axes = append(axes, len(v.shape))
				keep(x[k], strides[k])
				k++
			}
		case numberItem:
			at := *item.start
			if at < 0 {
				at += x[k]
			}
			if at < 0 || at >= x[k] {
				return v, nil, false
			}
			v.offset += at * strides[k]
			k++
		default:
			begin, n, step, fits := item.sliceRange(x[k])
			if !fits {
				return v, nil, false
			}
			v.offset += begin * strides[k]
			keep(n, strides[k]*step)
			k++
		}
	}
	return v, axes, true
}

// sliceRange returns the begin, number of elements and step of a slice of an axis of n elements. Steps below 1 are not
// possible.
func (s *indexItem) sliceRange(n int64) (begin, count, step int64, ok bool) {
	step = 1
	if s.step != nil {
		step = *s.step
	}
	if step < 1 {
		return 0, 0, 0, false
	}
	at := func(p *int64, absent int64) int64 {
		if p == nil {
			return absent
		}
		if *p < 0 {
			return max(0, *p+n)
		}
		return min(*p, n)
	}
	begin = at(s.start, 0)
	end := at(s.stop, n)
	return begin, max(0, (end-begin+step-1)/step), step, true
}

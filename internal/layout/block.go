package layout

// level is one digit of a mixed-radix position: size positions, each stride
// device elements apart. The last level of an axis has size 0: no bound.
type level struct {
	size   int64
	stride int64
}

// span is the piece of a host axis that a block covers: count positions from
// start. Position start+k lies at the device offset that the digits of shift+k
// give.
type span struct {
	start, count, shift int64
	levels              []level
}

// block is a box of host elements, one span an axis, whose device offset is
// base plus the sum over the axes.
type block struct {
	base  int64
	spans []span
}

// blockList gives the blocks of a map one by one: a grouped layout may have as
// many as there are groups, so they are not kept.
type blockList struct {
	n  int64
	at func(i int64) block
	// inHost and inDevice give a range of blocks that holds all that touch
	// ranges of the host axes, or the device offsets [lo, hi). nil means all.
	inHost   func(ranges []axisRange) (from, to int64)
	inDevice func(lo, hi int64) (from, to int64)
}

// listOf is the list of a few blocks.
func listOf(blocks ...block) blockList {
	for _, b := range blocks {
		for i := range b.spans {
			b.spans[i] = b.spans[i].normal()
		}
	}
	return blockList{n: int64(len(blocks)), at: func(i int64) block { return blocks[i] }}
}

// eachInHost calls f with the blocks that may touch ranges of the host axes.
func (l blockList) eachInHost(ranges []axisRange, f func(block) error) error {
	from, to := int64(0), l.n
	if l.inHost != nil {
		from, to = l.inHost(ranges)
	}
	return l.each(from, to, f)
}

// eachInDevice calls f with the blocks that may touch device offsets [lo, hi).
func (l blockList) eachInDevice(lo, hi int64, f func(block) error) error {
	from, to := int64(0), l.n
	if l.inDevice != nil {
		from, to = l.inDevice(lo, hi)
	}
	return l.each(from, to, f)
}

func (l blockList) each(from, to int64, f func(block) error) error {
	for i := max(0, from); i < min(to, l.n); i++ {
		if err := f(l.at(i)); err != nil {
			return err
		}
	}
	return nil
}

// linear is a whole axis of n positions, stride device elements apart.
func linear(n, stride int64) span {
	return span{count: n, levels: []level{{0, stride}}}
}

// split is a whole axis of n positions that is cut in pieces of size: inner is
// the stride inside a piece, outer the stride from piece to piece.
func split(n, size, inner, outer int64) span {
	return span{count: n, levels: []level{{size, inner}, {0, outer}}}
}

// normal returns the span with levels merged where the outer one continues the
// inner one, so that a granule is as small as the layout allows.
func (s span) normal() span {
	merged := []level{s.levels[0]}
	for _, l := range s.levels[1:] {
		last := &merged[len(merged)-1]
		if l.stride == last.size*last.stride {
			if last.size *= l.size; l.size == 0 {
				last.size = 0
			}
			continue
		}
		merged = append(merged, l)
	}
	s.levels = merged
	return s
}

// granule returns how many neighbouring positions the bounded levels hold.
func (s span) granule() int64 {
	n := int64(1)
	for _, l := range s.levels[:len(s.levels)-1] {
		n *= l.size
	}
	return n
}

// clip returns the part of the span in the axis range [lo, hi), with start
// counted from lo; ok is false when there is none.
func (s span) clip(lo, hi int64) (span, bool) {
	from, to := max(s.start, lo), min(s.start+s.count, hi)
	if from >= to {
		return span{}, false
	}
	s.shift += from - s.start
	s.start = from - lo
	s.count = to - from
	return s, true
}

// run is a piece of an axis with plain strides: its first position, the device
// offset there, and its loops, innermost first.
type run struct {
	pos, off int64
	loops    []loop
}

// loop is n steps, each step axis positions and stride device elements wide.
type loop struct {
	n, step, stride int64
}

// runs cuts the span into pieces with plain strides: at most a head, a middle
// and a tail per level.
func (s span) runs() []run {
	var all []run
	for _, r := range digits(s.levels, s.shift, s.shift+s.count) {
		r.pos += s.start - s.shift
		all = append(all, r)
	}
	return all
}

// digits cuts the positions [a, b) of a mixed-radix number into runs.
func digits(levels []level, a, b int64) []run {
	if a >= b {
		return nil
	}
	top := levels[len(levels)-1]
	if len(levels) == 1 {
		return []run{{pos: a, off: a * top.stride, loops: []loop{{b - a, 1, top.stride}}}}
	}
	lower := levels[:len(levels)-1]
	place := int64(1)
	for _, l := range lower {
		place *= l.size
	}
	within := func(q, from, to int64) []run {
		part := digits(lower, from, to)
		for i := range part {
			part[i].pos += q * place
			part[i].off += q * top.stride
		}
		return part
	}
	first, last := a/place, (b-1)/place
	if first == last {
		return within(first, a-first*place, b-first*place)
	}
	var all []run
	if a > first*place {
		all = append(all, within(first, a-first*place, place)...)
		first++
	}
	end := b / place
	if end > first {
		full := within(first, 0, place)
		for i := range full {
			full[i].loops = append(full[i].loops, loop{end - first, place, top.stride})
		}
		all = append(all, full...)
	}
	if b > end*place {
		all = append(all, within(end, 0, b-end*place)...)
	}
	return all
}

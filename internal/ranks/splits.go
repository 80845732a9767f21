package ranks

import (
	"hash/fnv"

	"dumptool/internal/trace"
)

// readHashes returns a hash of each row of the n elements from first on; a row has row elements.
func (f *reader) readHashes(of []*trace.Tensor, first, n, row int64) (marks []uint64, ok bool) {
	var buf []byte
	for at := int64(0); at < n; at += row {
		data, _, err := f.Bytes(buf, of, first+at, min(row, n-at))
		if err != nil {
			return nil, false
		}
		h := fnv.New64a()
		h.Write(data) // never fails
		marks, buf = append(marks, h.Sum64()), data
	}
	return marks, true
}

// rowHashes returns the hashes of the rows of the only tensor in a list; ok is false for other lists.
func (f *reader) rowHashes(list []*trace.Tensor) (marks []uint64, ok bool) {
	if len(list) != 1 || len(list[0].Shape) == 0 || !trace.AllStored(list) {
		return nil, false
	}
	n := list[0].Elements()
	return f.readHashes(list, 0, n, n/max(list[0].Shape[0], 1))
}

// exchange has the hashes of the rows of the members of an all-to-all. sent[j][i] is the number of rows from member j
// to member i.
type exchange struct {
	in, out [][]uint64
	sent    [][]int64
}

// findSplits finds the splits of an all-to-all whose arguments are unknown, by its rows: each member gets a run of
// consecutive rows of each member, in order. One member may hold wrong rows if the rows of all others leave only one
// choice for its rows.
func (f *reader) findSplits(e *Event) bool {
	x := &exchange{}
	for _, m := range e.comms {
		in, known := f.rowHashes(m.In)
		out, ok := f.rowHashes(m.Out)
		if !known || !ok {
			return false
		}
		x.in, x.out, x.sent = append(x.in, in), append(x.out, out), append(x.sent, make([]int64, len(e.Group)))
	}
	if !x.solve() {
		return false
	}
	for j, m := range e.comms {
		m.Sent = x.sent[j]
	}
	return true
}

// solve finds the splits from the first member forwards and from the last member backwards; false if two members hold
// something else than rows in order.
func (x *exchange) solve() bool {
	n := len(x.in)
	from, to := make([]int, n), make([]int, n) // range of the remaining rows
	for j := range x.in {
		to[j] = len(x.in[j])
	}
	first, last := 0, n-1
	for ; first < n && x.removeRows(first, from, to, 1); first++ {
	}
	for ; last > first && x.removeRows(last, from, to, -1); last-- {
	}
	left := 0
	for j := range n {
		left += to[j] - from[j]
	}
	switch {
	case first == n:
		return left == 0
	case first != last || left != len(x.out[last]):
		return false
	}
	for j := range n {
		x.sent[j][last] = int64(to[j] - from[j])
	}
	return true
}

// removeRows removes the rows of a member's output from the remaining rows, at the front (by 1) or at the back (by
// -1). It removes nothing and returns false if the member holds other rows.
func (x *exchange) removeRows(i int, from, to []int, by int) bool {
	held, n, got := x.out[i], len(x.in), make([]int, len(x.in))
	total := 0
	for k := range n {
		j := k
		if by < 0 {
			j = n - 1 - k
		}
		for total < len(held) && from[j]+got[j] < to[j] {
			row, mine := x.in[j][from[j]+got[j]], held[total]
			if by < 0 {
				row, mine = x.in[j][to[j]-1-got[j]], held[len(held)-1-total]
			}
			if row != mine {
				break
			}
			got[j]++
			total++
		}
	}
	if total < len(held) {
		return false
	}
	for j, rows := range got {
		x.sent[j][i] = int64(rows)
		if by > 0 {
			from[j] += rows
		} else {
			to[j] -= rows
		}
	}
	return true
}

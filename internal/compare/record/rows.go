package record

import "iter"

// Len is the number of rows.
func (r *Report) Len() int { return len(r.Rows) }

// Row is a row.
func (r *Report) Row(i int) *Row { return &r.Rows[i] }

// All goes through the rows.
func (r *Report) All() iter.Seq2[int, *Row] {
	return func(yield func(int, *Row) bool) {
		for i := range r.Rows {
			if !yield(i, &r.Rows[i]) {
				return
			}
		}
	}
}

// Any reports whether a row is as asked.
func (r *Report) Any(is func(*Row) bool) bool {
	for i := range r.Rows {
		if is(&r.Rows[i]) {
			return true
		}
	}
	return false
}

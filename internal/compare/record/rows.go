package record

import "iter"

// Source has the rows of a report that are not in memory.
type Source interface {
	Len() int
	// Row reads a row. What is changed in it is lost.
	Row(i int) *Row
	// Brief is what is known of a row without reading it.
	Brief(i int) Brief
	// Put replaces a row.
	Put(i int, row *Row)
	// Err is the first error of reading or writing: without one all rows were what they
	// are.
	Err() error
}

// Brief is what most of a report asks of every row.
type Brief struct {
	Status Status
	Round  string
	Order  int
	// Compared, Judged, HasErrors and IsOrigin are what the methods of Row say.
	Compared, Judged, HasErrors, IsOrigin bool
	Downstream, Known                     bool
	// Links is set where the row reads rows that are known.
	Links bool
}

// Brief is what is known of a row at a glance.
func (r *Row) Brief() Brief {
	return Brief{Status: r.Status, Round: r.Round, Order: r.Order, Compared: r.Compared(), Judged: r.Judged(), HasErrors: r.HasErrors(),
		IsOrigin: r.IsOrigin(), Downstream: r.Downstream, Known: r.Known, Links: len(r.Inputs) > 0}
}

// Len is the number of rows.
func (r *Report) Len() int {
	if r.Source != nil {
		return r.Source.Len()
	}
	return len(r.Rows)
}

// Row is a row, which is not to be changed but with Put.
func (r *Report) Row(i int) *Row {
	if r.Source != nil {
		return r.Source.Row(i)
	}
	return &r.Rows[i]
}

// Brief is what is known of a row at a glance.
func (r *Report) Brief(i int) Brief {
	if r.Source != nil {
		return r.Source.Brief(i)
	}
	return r.Rows[i].Brief()
}

// Put replaces a row.
func (r *Report) Put(i int, row *Row) {
	if r.Source != nil {
		r.Source.Put(i, row)
		return
	}
	if &r.Rows[i] != row {
		r.Rows[i] = *row
	}
}

// All goes through the rows.
func (r *Report) All() iter.Seq2[int, *Row] {
	return func(yield func(int, *Row) bool) {
		for i := range r.Len() {
			if !yield(i, r.Row(i)) {
				return
			}
		}
	}
}

// Any reports whether a row is as asked.
func (r *Report) Any(is func(*Row) bool) bool {
	for _, row := range r.All() {
		if is(row) {
			return true
		}
	}
	return false
}

// Briefs goes through what is known of the rows at a glance.
func (r *Report) Briefs() iter.Seq2[int, Brief] {
	return func(yield func(int, Brief) bool) {
		for i := range r.Len() {
			if !yield(i, r.Brief(i)) {
				return
			}
		}
	}
}

// Err says that rows could not be read, so that what was made of the report is worth
// nothing.
func (r *Report) Err() error {
	if r.Source != nil {
		return r.Source.Err()
	}
	return nil
}

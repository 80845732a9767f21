package shard

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// Rows hands the rows of all complete parts to yield in the order of their indexes. When
// nothing is missing the indexes are 0 to Head.Rows-1, each once; anything else is an
// error. With allowMissing rows may be missing, those of missing shards among them. The
// ends and sums of the parts are checked while they are read: an error may come after
// rows. It holds one row of each part.
func (l *Listing) Rows(allowMissing bool, yield func(Row) error) error {
	var open []*cursor
	defer func() {
		for _, c := range open {
			_ = c.reader.Close() // it was only read
		}
	}()
	for i := range l.Parts {
		if l.Parts[i].State != Complete {
			continue
		}
		r, err := OpenPart(l.Parts[i].Path)
		if err != nil {
			return err
		}
		c := &cursor{reader: r}
		open = append(open, c)
		if err := c.next(); err != nil {
			return err
		}
	}
	heap := slices.Clone(open)
	for i := len(heap) - 1; i >= 0; i-- {
		sink(heap, i, (*cursor).before)
	}
	return merge(heap, l.Head.Rows, allowMissing, yield)
}

// merge hands on the rows of cursors that stand on their first rows.
func merge(heap []*cursor, rows int, allowMissing bool, yield func(Row) error) error {
	want := 0
	var last *cursor
	for len(heap) > 0 && !heap[0].done {
		c := heap[0]
		switch {
		case c.row.Index < want:
			return fmt.Errorf("%s: row %d is in %s too", c.reader.path, c.row.Index, last.reader.path)
		case c.row.Index > want && !allowMissing:
			return fmt.Errorf("%s: row %d is in no part, the next one is row %d of this one", c.reader.path, want, c.row.Index)
		}
		if err := yield(c.row); err != nil {
			return err
		}
		last, want = c, c.row.Index+1
		if err := c.next(); err != nil {
			return err
		}
		sink(heap, 0, (*cursor).before)
	}
	if want < rows && !allowMissing {
		return fmt.Errorf("rows %d to %d are in no part", want, rows-1)
	}
	return nil
}

// cursor is a part that is being read.
type cursor struct {
	reader *PartReader
	row    Row
	done   bool
}

// next reads the next row.
func (c *cursor) next() error {
	var err error
	c.row, err = c.reader.Next()
	if errors.Is(err, io.EOF) {
		c.done = true
		return nil
	}
	return err
}

// before orders parts by the next row, those without one last.
func (c *cursor) before(o *cursor) bool {
	if c.done || o.done {
		return !c.done && o.done
	}
	return c.row.Index < o.row.Index
}

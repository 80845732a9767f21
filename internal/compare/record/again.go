package record

import (
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/guard"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// A merge of very many rows holds of each what all reports show. What compare.json shows
// alone, mostly more than the rest, it passes over as it reads, and reads again where
// compare.json is written, round by round.

// passedOver are the keys of that.
var passedOver = []string{"joint", "noise", "patterns", "uneven", "second", "reads", "pictures"}

// takeAgain takes from a row that was read again what was passed over.
func (r *Row) takeAgain(from *Row) {
	r.Noise, r.Uneven, r.Second, r.Reads, r.Patterns = from.Noise, from.Uneven, from.Second, from.Reads, from.Patterns
	if r.Result == nil {
		return
	}
	if r.Result.Joint = nil; from.Result != nil {
		r.Result.Joint = from.Result.Joint
	}
}

// less is a value that is passed over. had is set where there is one.
type less struct{ had *bool }

// read implements streamed.
func (l less) read(in *jsonpos.Reader) error {
	at := in.Offset()
	err := in.Skip()
	*l.had = *l.had || in.Offset()-at > int64(len("[]"))
	return err
}

// lessNoise is the noise of a row. Of one that was made by an operator the grid is read.
type lessNoise struct {
	*Row
	had *bool
}

// read implements streamed.
func (l lessNoise) read(in *jsonpos.Reader) error {
	*l.had = true
	if e := l.Evidence; e == nil || e.Start {
		return in.Decode(&l.Noise)
	}
	l.Noise = new(noise.Noise)
	return object{{"grid", &l.Noise.Grid}}.read(in)
}

// less are the members of a row without what is passed over, for a page, which shows pictures
// and asks for no noise, or for a merge. had is set where there was anything.
func (f *rowForm) less(paged bool, had *bool) object {
	o := f.members(true)
	for i := range o {
		switch name := o[i].name(); {
		case name == "noise" && !paged:
			o[i].at = lessNoise{f.Row, had}
		case name == "pictures" && paged:
		case slices.Contains(passedOver, name):
			o[i].at = less{had}
		}
	}
	return o
}

// Kept is a report whose rows can be read again from its document.
type Kept struct {
	*Report
	// Less is set where anything of its rows was passed over.
	Less   bool
	starts []start
}

// start is where the rows of a round begin in a document.
type start struct {
	row    int
	offset int64
}

// ReadKept is Read, of a document that will be there again, without what compare.json alone
// shows of rows unless they shall be whole. keep sees of the noise of each row the grid, and
// leaves of the row what is wanted. What names other rows has to stay. The noise of tensors
// that nobody made stays, since reports say how far these differ.
func ReadKept(r io.Reader, whole bool, keep func(row *Row)) (*Kept, error) {
	d, err := read(r, reading{less: !whole, keep: func(row *Row) {
		if keep(row); !whole && (row.Evidence == nil || !row.Evidence.Start) {
			row.Noise = nil
		}
	}})
	if err != nil {
		return nil, err
	}
	return &Kept{d.Report, d.had, d.starts}, nil
}

// errEnough ends the reading of rows before their end.
var errEnough = lang.Errorf("these are all rows that are wanted")

// ReadAgain reads what was passed over of rows of a round, or their pictures alone; first is
// the place of the first in the document, which open opens at an offset. What it
// returns has nothing else but the names.
func (k *Kept) ReadAgain(first int, kept []Row, drawn bool, open func(offset int64) (io.ReadCloser, error)) ([]Row, error) {
	at := slices.IndexFunc(k.starts, func(s start) bool { return s.row == first })
	if len(kept) == 0 || at < 0 {
		return nil, nil
	}
	file, err := open(k.starts[at].offset)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows := make([]Row, len(kept))
	in, done := jsonpos.NewReader(io.MultiReader(strings.NewReader("["), file), math.MaxInt64), 0
	err = in.Array(func(i int) error {
		if i == len(rows) {
			return errEnough
		}
		done++
		return rows[i].readAgain(in, &kept[i], drawn)
	})
	if err == nil && done < len(rows) {
		err = lang.Errorf("the document ends")
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, lang.Errorf("row %d, read again: %w", first+max(0, done-1), err)
	}
	return rows, nil
}

// readAgain reads what was passed over of a row.
func (r *Row) readAgain(in *jsonpos.Reader, kept *Row, drawn bool) (err error) {
	var pictures *picturesJSON
	r.Result = new(metrics.Result)
	o := object{{"op", &r.Op}, {"output", &r.Output}, {"kind", &r.Kind}}
	if drawn {
		o = append(o, member{"pictures", &pictures})
	} else {
		o = append(o, object{{"joint", &r.Result.Joint}, {"noise", &r.Noise}, {"patterns", (*findings)(&r.Patterns)}, {"uneven", &r.Uneven},
			{"second", &r.Second}, {"reads", &r.Reads}}...)
	}
	err = o.read(in)
	if err != nil {
		return err
	}
	if is, was := r.TensorName(), kept.TensorName(); is != was {
		return lang.Errorf("is %s, and was %s", is, was)
	}
	if kept.Result != nil {
		r.Pictures, err = pictures.pictures(kept.Result, len(kept.Shape))
	}
	return err
}

// written goes through the rows as compare.json has them: all at once, or round by round
// where they are read again, the next round while the last one is used.
func (r *Report) written() iter.Seq2[[]Row, error] {
	of := r.Whole()
	if of.Again == nil {
		return func(yield func([]Row, error) bool) { yield(r.Rows, nil) }
	}
	type round struct {
		rows []Row
		err  error
	}
	return func(yield func([]Row, error) bool) {
		rounds, stop := make(chan round), make(chan struct{})
		defer close(stop)
		hand := func(x round) bool {
			select {
			case rounds <- x:
				return true
			case <-stop:
				return false
			}
		}
		guard.Go(func() error {
			first := 0 // row of the round
			for i := range of.Rounds {
				rows, err := of.Again(i)
				if err != nil || !hand(round{rows: r.restored(rows, first)}) {
					return err
				}
				first += len(rows)
			}
			return nil
		}, func(err error) {
			if err != nil {
				hand(round{err: err})
			}
			close(rounds)
		})
		for x := range rounds {
			if !yield(x.rows, x.err) {
				return
			}
		}
	}
}

// restored are the rows of the report among those of a round, which begins with row first of
// the whole report, with what was passed over.
func (r *Report) restored(again []Row, first int) []Row {
	i, end := first, first+len(again)
	place := func(i int) int { return i }
	if r.whole != nil {
		i, _ = slices.BinarySearch(r.left, first)
		end, _ = slices.BinarySearch(r.left, end)
		place = func(i int) int { return r.left[i] }
	}
	rows := slices.Clone(r.Rows[i:end])
	for k := range rows {
		if rows[k].Result != nil {
			rows[k].Result = new(*rows[k].Result)
		}
		rows[k].takeAgain(&again[place(i+k)-first])
	}
	return rows
}

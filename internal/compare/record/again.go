package record

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
)

// A merge of very many rows holds of each what all reports show. What compare.json shows
// alone, mostly more than the rest, it lets go of as it reads, and reads again where
// compare.json is written, round by round.

// LetGo lets go of what no report but compare.json, and compare.jsonl, shows of a row.
func (r *Row) LetGo() { r.takeAgain(&Row{}) }

// takeAgain takes from a row that was read again what was let go of.
func (r *Row) takeAgain(from *Row) {
	r.Noise, r.Uneven, r.Second, r.Reads, r.Patterns = from.Noise, from.Uneven, from.Second, from.Reads, from.Patterns
	switch {
	case r.Result == nil:
	case from.Result == nil:
		r.Result.Joint = nil
	default:
		r.Result.Joint = from.Result.Joint
	}
}

// Kept is a report whose rows can be read again from its document.
type Kept struct {
	*Report
	slim    bool
	chinese map[string]string
	starts  []start
}

// start is where the rows of a round begin in a document.
type start struct {
	row    int
	offset int64
}

// ReadKept is ReadKeeping, of a document that will be there again.
func ReadKept(r io.Reader, keep func(r *Report, row *Row)) (*Kept, error) {
	d, err := read(r, reading{keep: keep})
	if err != nil {
		return nil, err
	}
	return &Kept{d.Report, d.slim, d.chinese, d.starts}, nil
}

// errEnough ends the reading of rows before their end.
var errEnough = errors.New("these are all rows that are wanted")

// ReadAgain reads rows again, as many as the round has that begins with row first; open opens
// the document at an offset.
func (k *Kept) ReadAgain(first, n int, open func(offset int64) (io.ReadCloser, error)) ([]Row, error) {
	at := slices.IndexFunc(k.starts, func(s start) bool { return s.row == first })
	if n == 0 || at < 0 {
		return nil, nil
	}
	file, err := open(k.starts[at].offset)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	d := &document{Report: &Report{Findings: NoFindings()}, slim: k.slim, reading: reading{enough: n}}
	in := jsonpos.NewReader(io.MultiReader(strings.NewReader("["), file), math.MaxInt64)
	if err := (rowList{d}).read(in); !errors.Is(err, errEnough) && !(err == nil && len(d.Rows) == n) {
		return nil, fmt.Errorf("%d of %d rows read again: %w", len(d.Rows), n, err)
	}
	d.say(k.chinese)
	return d.Rows, nil
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
		go func() {
			defer close(rounds)
			first := 0 // row of the round
			for i := range of.Rounds {
				rows, err := of.Again(i)
				select {
				case rounds <- round{r.restored(rows, first), err}:
				case <-stop:
					return
				}
				if first += len(rows); err != nil {
					return
				}
			}
		}()
		for x := range rounds {
			if !yield(x.rows, x.err) {
				return
			}
		}
	}
}

// restored are the rows of the report among those of a round, which begins with row first of
// the whole report, with what was let go of.
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

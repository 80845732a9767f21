package record

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// A report may have more rows than memory has room for: a merge holds those that did not
// pass, and the round that is shown. Where all are wanted they are read again from their
// documents, some at a time.

// Chunk are rows that are handled at a time, from First up to End.
type Chunk struct{ First, End int }

// rowsAtOnce is the most rows of a chunk.
const rowsAtOnce = 64

// chunksAhead is how many chunks of each worker are in memory at the same time.
const chunksAhead = 2

// Again reads rows again.
type Again struct {
	// Chunks are all rows, in their order.
	Chunks []Chunk
	// Read reads those of a chunk.
	Read func(chunk int, as Reading) ([]Row, error)
	// failed is why rows could not be read again.
	failed error
	// guest is the writer that runs, where several share what is read.
	guest *guest
}

// Reading says how much of rows is read.
type Reading uint8

// The readings.
const (
	Shown   Reading = iota // what most reports show: without pictures and what compare.json alone has
	Paged                  // the same for a page, which has pictures and asks for no noise
	Entire                 // all but pictures
	Judging                // what rows are judged by: all but elements, profiles and histograms
)

func as(whole bool) Reading {
	if whole {
		return Entire
	}
	return Shown
}

// passedOver are the keys that compare.json alone shows, mostly more than the rest.
var passedOver = []string{"joint", "noise", "patterns", "uneven", "second", "reads"}

// notJudged are the keys of elements, profiles, histograms and pictures, which no judgement asks
// for.
var notJudged = []string{"worst", "axes", "abs_hist", "rel_hist", "pictures"}

// skipped is a value that is passed over. less is set where there is one.
type skipped struct{ less *bool }

// read implements streamed.
func (s skipped) read(in *jsonpos.Reader) error {
	at := in.Offset()
	err := in.Skip()
	*s.less = *s.less || in.Offset()-at > int64(len("[]"))
	return err
}

// lessNoise is the noise of a row. Of one that was made by an operator the grid is read.
type lessNoise struct {
	*Row
	less *bool
}

// read implements streamed.
func (l lessNoise) read(in *jsonpos.Reader) error {
	*l.less = true
	if e := l.Evidence; e == nil || e.Start {
		return in.Decode(&l.Noise)
	}
	l.Noise = new(noise.Noise)
	return object{{"grid", &l.Noise.Grid}}.read(in)
}

// some are the members of a row that are read. less is set where there are others.
func (f *rowForm) some(as Reading, less *bool) object {
	o := f.members(true)
	for i := range o {
		switch name := o[i].name(); {
		case as == Judging:
			if slices.Contains(notJudged, name) {
				o[i].at = skipped{less}
			}
		case name == "noise" && as == Shown:
			o[i].at = lessNoise{f.Row, less}
		case name == "pictures" && as != Paged, as != Entire && slices.Contains(passedOver, name):
			o[i].at = skipped{less}
		}
	}
	return o
}

// Kept is a document of which rows were left out as they were read; they can be read again.
type Kept struct {
	*document
	// Less is set where something of its rows was passed over.
	Less bool
	// starts are where chunks begin.
	starts []start
}

// start is where a row stands in a document.
type start struct {
	row    int
	offset int64
}

// ReadKept is ReadGathering for a document that will be there again; of the noise of rows
// that operators made gather sees the grid, unless the rows shall be whole.
func ReadKept(r io.Reader, whole bool, gather func(r *Report, i int, row *Row) bool) (*Kept, error) {
	k := new(Kept)
	d, err := read(r, reading{gather: gather, as: as(whole), less: &k.Less, starts: &k.starts})
	if err == nil && d.Len() > 0 && !d.passed.on {
		err = lang.Errorf("its rounds stand behind its rows")
	}
	k.document = d
	return k, err
}

// Chunks are the rows of the document; those of a chunk are of one round.
func (k *Kept) Chunks() []Chunk {
	all := make([]Chunk, len(k.starts))
	for i, s := range k.starts {
		all[i].First = s.row
		if all[i].End = len(k.titles); i+1 < len(k.starts) {
			all[i].End = k.starts[i+1].row
		}
	}
	return all
}

// errEnough ends the reading of rows before their end.
var errEnough = lang.Errorf("these are all rows that are wanted")

// ReadAgain reads the rows of a chunk; open opens the document at an offset.
func (k *Kept) ReadAgain(c Chunk, as Reading, open func(offset int64) (io.ReadCloser, error)) ([]Row, error) {
	at := slices.IndexFunc(k.starts, func(s start) bool { return s.row == c.First })
	file, err := open(k.starts[at].offset)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	again := &Report{Rows: make([]Row, 0, c.End-c.First)}
	in := jsonpos.NewReader(io.MultiReader(strings.NewReader("["), file), math.MaxInt64)
	err = in.Array(func(int) error {
		if c.First+len(again.Rows) == c.End {
			return errEnough
		}
		f := newRow(k.slim)
		if err := cmp.Or(f.read(in, f.some(as, new(bool))), f.finish()); err != nil {
			return err
		}
		again.Rows = append(again.Rows, *f.Row)
		return nil
	})
	if n := c.First + len(again.Rows); err == nil && n < c.End {
		err = lang.Errorf("the document ends")
	} else if err != nil && errors.Is(err, errEnough) {
		err = nil
	}
	if err != nil {
		return nil, lang.Errorf("row %d, read again: %w", c.First+len(again.Rows), err)
	}
	again.say(k.chinese)
	return again.Rows, nil
}

// AgainFailed is why rows could not be read again, nil where they could.
func (r *Report) AgainFailed() error {
	if of := r.Whole(); of.Again != nil {
		return of.Again.failed
	}
	return nil
}

// Each goes through all rows: those that the report has not are read again, without what
// compare.json alone shows unless they shall be whole. If that fails it ends early, and
// AgainFailed says why.
func (r *Report) Each(whole bool) iter.Seq2[int, *Row] {
	of := r.Whole()
	if of.Again == nil {
		return r.All()
	}
	return func(yield func(int, *Row) bool) {
		i := 0
		use := func(rows []Row) error {
			for k := range rows {
				if !yield(i, &rows[k]) {
					return errEnough
				}
				i++
			}
			return nil
		}
		if g := of.Again.guest; g != nil {
			g.each(r, whole, use)
			return
		}
		err := inChunks(r, whole, func(rows []Row) ([]Row, error) { return rows, nil }, use)
		if !errors.Is(err, errEnough) {
			of.Again.failed = cmp.Or(of.Again.failed, err)
		}
	}
}

// guest is a writer that takes the rows of chunks as they come.
type guest struct {
	// resume lets it run until it wants the next chunk, and reports that it has not ended.
	resume func() bool
	// pause waits for a chunk: rows from place first, nil behind the last one. It is false
	// where no more will come.
	pause func() bool
	first int
	rows  []Row
	// late is set while it wants to begin with the first chunk, whole where it wants all of
	// its rows.
	late, whole bool
}

// invite makes a guest of a writer, which begins when it is resumed.
func (a *Again) invite(write func()) (g *guest, leave func()) {
	g = new(guest)
	next, leave := iter.Pull(func(yield func(struct{}) bool) {
		g.pause = func() bool { return yield(struct{}{}) }
		write()
	})
	g.resume = func() bool {
		a.guest = g
		_, more := next()
		a.guest = nil
		return more
	}
	return g, leave
}

// each hands over those rows of each chunk that a report has.
func (g *guest) each(r *Report, whole bool, use func([]Row) error) {
	g.late, g.whole = true, whole
	for g.pause() && g.rows != nil && use(r.those(g.first, g.rows)) == nil {
	}
}

// Together runs writers of the report which use Each. They take turns, so that rows which are
// read again are read once for all of them that want them, and whole if one wants that.
func (r *Report) Together(writers []func()) {
	a := r.Whole().Again
	if a == nil {
		for _, write := range writers {
			write()
		}
		return
	}
	var guests []*guest
	for _, write := range writers {
		g, leave := a.invite(write)
		defer leave()
		guests = append(guests, g)
	}
	guests = slices.DeleteFunc(guests, func(g *guest) bool { return !g.resume() })
	for len(guests) > 0 {
		guests = r.Whole().serve(guests)
	}
}

// serve reads all rows again for guests, and returns those that want them once more.
func (r *Report) serve(guests []*guest) []*guest {
	whole, at := false, 0
	for _, g := range guests {
		g.late, whole = false, whole || g.whole
	}
	hand := func(rows []Row) error {
		wanted := false
		guests = slices.DeleteFunc(guests, func(g *guest) bool {
			if g.late {
				return false
			}
			g.first, g.rows = at, rows
			more := g.resume()
			wanted = wanted || more && !g.late
			return !more
		})
		if at += len(rows); !wanted {
			return errEnough
		}
		return nil
	}
	err := inChunks(r, whole, func(rows []Row) ([]Row, error) { return rows, nil }, hand)
	if !errors.Is(err, errEnough) {
		r.Again.failed = cmp.Or(r.Again.failed, err)
		_ = hand(nil)
	}
	return guests
}

// inChunks makes something of the rows of each chunk, of several at the same time, and hands
// it over in their order.
func inChunks[T any](r *Report, whole bool, do func(rows []Row) (T, error), emit func(T) error) error {
	type made struct {
		of  T
		err error
	}
	var chunks []Chunk
	of := r.Whole()
	if of.Again != nil {
		chunks = of.Again.Chunks
	} else {
		for first := 0; first < len(r.Rows); first += rowsAtOnce {
			chunks = append(chunks, Chunk{first, min(first+rowsAtOnce, len(r.Rows))})
		}
	}
	places := make([]int, len(chunks))
	for i := range places {
		places[i] = i
	}
	return batch.RunUntil(context.Background(), batch.Options{Ahead: chunksAhead}, places, nil, func(_ context.Context, i int) (m made) {
		var rows []Row
		if of.Again == nil {
			rows = r.Rows[chunks[i].First:chunks[i].End]
		} else if rows, m.err = r.again(i, whole); m.err != nil {
			return m
		}
		m.of, m.err = do(rows)
		return m
	}, func(m made) error {
		if m.err != nil {
			return m.err
		}
		return emit(m.of)
	})
}

// readAgain reads the rows of a chunk.
func (r *Report) readAgain(chunk int, as Reading) ([]Row, error) {
	rows, err := r.Again.Read(chunk, as)
	for i := range rows {
		at := r.Again.Chunks[chunk].First + i
		if is, was := rows[i].Name(), r.Row(at).Name(); is != was {
			return nil, lang.Errorf("row %d, read again: is %s, and was %s", at, is, was)
		}
	}
	return rows, err
}

// again reads those rows of a chunk that the report has, with what became known of them after
// they were read first.
func (r *Report) again(chunk int, whole bool) ([]Row, error) {
	of := r.Whole()
	rows, err := of.readAgain(chunk, as(whole))
	if err != nil {
		return nil, err
	}
	first := of.Again.Chunks[chunk].First
	for i := range rows {
		if kept := of.kept(first + i); kept != nil {
			rows[i].Known, rows[i].Pictures = kept.Known, kept.Pictures
		}
	}
	return r.those(first, rows), nil
}

// those are the rows of the report among some, which begin at a place of the whole one.
func (r *Report) those(first int, rows []Row) []Row {
	if r.whole == nil {
		return rows
	}
	from, _ := slices.BinarySearch(r.left, first)
	end, _ := slices.BinarySearch(r.left, first+len(rows))
	left := make([]Row, 0, end-from)
	for _, i := range r.left[from:end] {
		left = append(left, badRows(r.left).row(&rows[i-first]))
	}
	return left
}

// Fetch reads rows again, each chunk once, and hands them to use in their order.
func (r *Report) Fetch(wanted []int, as Reading, use func(i int, row *Row)) error {
	wanted = slices.Sorted(slices.Values(wanted))
	var chunks []int
	for k, c := range r.Again.Chunks {
		if at, _ := slices.BinarySearch(wanted, c.First); at < len(wanted) && wanted[at] < c.End {
			chunks = append(chunks, k)
		}
	}
	type read struct {
		rows []Row
		err  error
	}
	return batch.RunUntil(context.Background(), batch.Options{Ahead: chunksAhead}, chunks, nil,
		func(_ context.Context, k int) (x read) {
			x.rows, x.err = r.readAgain(k, as)
			return x
		},
		func(x read) error {
			if x.err != nil {
				return x.err
			}
			c := r.Again.Chunks[chunks[0]]
			for chunks = chunks[1:]; len(wanted) > 0 && wanted[0] < c.End; wanted = wanted[1:] {
				use(wanted[0], &x.rows[wanted[0]-c.First])
			}
			return nil
		})
}

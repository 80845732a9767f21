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
	"dumptool/internal/compare/metrics"
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

// Reading says what of rows is kept beside what all reports show. Who reads a document checks
// all of it; of rows that are read again what is not kept is passed over.
type Reading uint8

// What is kept of rows.
const (
	Elements Reading = 1 << iota // elements, profiles and histograms
	Drawn                        // pictures
	Grids                        // of the noise of rows that operators made the grid, all of that of others
	Alone                        // what compare.json alone has, all noise too

	Shown   = Elements         // what most reports show
	Judging = Alone            // what rows are judged by
	Entire  = Elements | Alone // all but pictures
)

func as(whole bool) Reading {
	if whole {
		return Entire
	}
	return Shown
}

// keysOf are keys, many of them longer than the rest of a row, that are read where a part
// is asked for.
var keysOf = map[string]Reading{"worst": Elements, "listed": Elements, "axes": Elements, "abs_hist": Elements, "rel_hist": Elements, "pictures": Drawn,
	"noise": Alone, "patterns": Alone, "uneven": Alone, "second": Alone, "reads": Alone, "offsets": Alone, "points": Alone}

// skipped is a value that is passed over.
type skipped struct{}

// read implements streamed.
func (skipped) read(in *jsonpos.Reader) error { return in.Skip() }

// lessNoise is the noise of a row. Of one that was made by an operator the grid is read.
type lessNoise struct{ *Row }

// read implements streamed.
func (l lessNoise) read(in *jsonpos.Reader) error {
	if e := l.Evidence; e == nil || e.Start {
		return in.Decode(&l.Noise)
	}
	l.Noise = new(noise.Noise)
	return object{{"grid", &l.Noise.Grid}}.read(in)
}

// some are those of the members of a row that are read.
func (f *rowForm) some(members object, as Reading) object {
	for i := range members {
		m := &members[i]
		switch name, details := m.name(), object(nil); {
		case name == "details":
			details, _ = m.at.(object)
			m.at = f.some(details, as)
		case keysOf[name]&^as == 0:
		case name == "noise" && as&Grids != 0:
			m.at = lessNoise{f.Row}
		default:
			m.at = skipped{}
		}
	}
	return members
}

// forget drops what some leaves out, of a row that was read whole.
func (r *Row) forget(as Reading) {
	res := r.Result
	if res == nil {
		res = new(metrics.Result)
	}
	if as&Elements == 0 {
		res.Worst, res.Listed, res.Axes, res.AbsHistogram.Bins, res.RelHistogram.Bins = nil, nil, nil, nil, nil
	}
	if as&Drawn == 0 {
		r.Pictures = nil
	}
	if as&Alone != 0 {
		return
	}
	r.Patterns, r.Uneven, r.Second, r.Reads, res.ErrorOffsets, res.Points = nil, nil, nil, nil, nil, nil
	switch {
	case as&Grids == 0:
		r.Noise = nil
	case r.Noise != nil && r.Evidence != nil && !r.Evidence.Start:
		r.Noise = &noise.Noise{Grid: r.Noise.Grid}
	}
}

// ReadKept reads a document that will be there again, at an offset, for those who gather what
// they want of rows as these are read, of which there may be more than memory has room for:
// gather is given each row, with its place, and says whether the report shall have it. The
// others are counted in Passed; rows that did not pass, and those that the head of the document
// names, are not among them. All are read again where more is wanted of them. Of the report
// gather sees what stands before the rows: all that Write writes. Errors of what is read again
// name the path.
func ReadKept(path string, open func(offset int64) (io.ReadCloser, error), as Reading, gather func(r *Report, i int, row *Row) bool) (*Report, error) {
	in, err := open(0)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var starts []start
	d, err := read(in, reading{gather: gather, as: as, starts: &starts})
	if err != nil || !d.passed.on {
		return d.report(), err
	}
	a := &Again{}
	for i, s := range starts {
		c := Chunk{s.row, d.Len()}
		if i+1 < len(starts) {
			c.End = starts[i+1].row
		}
		a.Chunks = append(a.Chunks, c)
	}
	slim, chinese := d.slim, d.chinese // and nothing else: the rows may be taken by another report
	a.Read = func(chunk int, as Reading) ([]Row, error) {
		file, err := open(starts[chunk].offset)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		again := &Report{}
		if again.Rows, err = readChunk(file, a.Chunks[chunk], as, slim); err != nil {
			return nil, lang.Errorf("%s: %w", path, err)
		}
		again.say(chinese)
		return again.Rows, nil
	}
	d.Again = a
	return d.Report, nil
}

// start is where a row stands in a document.
type start struct {
	row    int
	offset int64
}

// errEnough ends the reading of rows before their end.
var errEnough = lang.Errorf("these are all rows that are wanted")

// readChunk reads the rows of a chunk, which a document has from here on.
func readChunk(document io.Reader, c Chunk, as Reading, slim bool) ([]Row, error) {
	rows := make([]Row, 0, c.End-c.First)
	in := jsonpos.NewReader(io.MultiReader(strings.NewReader("["), document), math.MaxInt64)
	err := in.Array(func(int) error {
		if len(rows) == cap(rows) {
			return errEnough
		}
		f := newRow(slim)
		if err := f.read(in, f.some(f.members(true), as)); err != nil {
			return err
		}
		if err := f.finish(); err != nil {
			return err
		}
		rows = append(rows, *f.Row)
		return nil
	})
	if err == nil && len(rows) < cap(rows) {
		err = lang.Errorf("the document ends")
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, lang.Errorf("row %d, read again: %w", c.First+len(rows), err)
	}
	return rows, nil
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
		} else if rows, m.err = r.again(i, as(whole)); m.err != nil {
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

// again reads those rows of a chunk that the report has, with what became known of them after
// they were read first.
func (r *Report) again(chunk int, as Reading) ([]Row, error) {
	of := r.Whole()
	rows, err := of.Again.Read(chunk, as)
	if err != nil {
		return nil, err
	}
	first := of.Again.Chunks[chunk].First
	for i := range rows {
		row := &rows[i]
		if is, was := row.Name(), of.Row(first+i).Name(); is != was {
			return nil, lang.Errorf("row %d, read again: is %s, and was %s", first+i, is, was)
		}
		if kept := of.kept(first + i); kept != nil {
			row.Known = kept.Known
			if as&Drawn == 0 {
				row.Pictures = kept.Pictures
			}
		}
	}
	return r.those(first, rows), nil
}

// those are the rows of the report among some, which begin at a place of the whole one.
func (r *Report) those(first int, rows []Row) []Row {
	if r.whole == nil {
		return rows
	}
	from, end := r.here(first), r.here(first+len(rows))
	left := make([]Row, 0, end-from)
	for _, i := range r.left[from:end] {
		left = append(left, badRows(r.left).row(&rows[i-first]))
	}
	return left
}

// here is how many rows the report has before a place of the whole one.
func (r *Report) here(whole int) int {
	if r.whole == nil {
		return whole
	}
	i, _ := slices.BinarySearch(r.left, whole)
	return i
}

// Fetch hands rows to use in their order, with all that is asked for: those of a report that
// reads its rows again are read, each chunk once.
func (r *Report) Fetch(wanted []int, as Reading, use func(i int, row *Row)) error {
	wanted = slices.Sorted(slices.Values(wanted))
	of := r.Whole()
	if of.Again == nil {
		for _, i := range wanted {
			use(i, r.Row(i))
		}
		return nil
	}
	var chunks []int
	for k, c := range of.Again.Chunks {
		if at, _ := slices.BinarySearch(wanted, r.here(c.First)); at < len(wanted) && wanted[at] < r.here(c.End) {
			chunks = append(chunks, k)
		}
	}
	type read struct {
		rows []Row
		err  error
	}
	return batch.RunUntil(context.Background(), batch.Options{Ahead: chunksAhead}, chunks, nil,
		func(_ context.Context, k int) (x read) {
			x.rows, x.err = r.again(k, as)
			return x
		},
		func(x read) error {
			if x.err != nil {
				return x.err
			}
			first := r.here(of.Again.Chunks[chunks[0]].First)
			for chunks = chunks[1:]; len(wanted) > 0 && wanted[0] < first+len(x.rows); wanted = wanted[1:] {
				use(wanted[0], &x.rows[wanted[0]-first])
			}
			return nil
		})
}

package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"runtime"

	"dumptool/internal/batch"
	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Determinism is what several runs of one network have in common, bit for bit.
type Determinism struct {
	Runs        []string
	OrderSource string
	// Rows are all tensors that the first run and another one have, in execution
	// order.
	Rows []DriftRow
	// Missing names tensors that some run lacks, with the runs.
	Missing  []string
	Warnings []string
}

// First is the index of the first row that differs, -1 if there is none.
func (d *Determinism) First() int {
	for i := range d.Rows {
		if d.Rows[i].Differs() {
			return i
		}
	}
	return -1
}

// Differing counts the rows that differ, Unread those that could not be read.
func (d *Determinism) Differing() (differing, unread int) {
	for i := range d.Rows {
		if d.Rows[i].Differs() {
			differing++
		}
		if d.Rows[i].Err != nil {
			unread++
		}
	}
	return differing, unread
}

// DriftRow is one tensor in several runs.
type DriftRow struct {
	Row // Op, Kind, Output, Round, Order, Shape and RefDType are set
	// Drifts has an entry for each run, the first one is that of the yardstick.
	Drifts []Drift
	// Distinct counts the different contents.
	Distinct int
	// Places tells, for at least two runs that differ from the first, whether
	// the same elements differ in all of them.
	Places Places
}

// Places tells where runs differ.
type Places string

// SamePlaces point to a race on one part of a tensor, Scattered ones to an
// order of additions that changes.
const (
	UnknownPlaces Places = ""
	SamePlaces    Places = "same"
	Scattered     Places = "scattered"
)

// Differs reports whether the runs differ.
func (r *DriftRow) Differs() bool { return r.Distinct > 1 }

// Drift is a tensor of one run beside that of the first.
type Drift struct {
	File string // empty where the run does not have the tensor
	// CRC is the CRC-32C of the stored bytes.
	CRC uint32
	// Differ counts the elements that differ in value from the first run's,
	// First is the first of them; MaxAbs and MaxULP are the largest distances.
	Differ         int64
	First          *engine.Element
	MaxAbs, MaxULP engine.Metric
	// Why tells why the elements could not be compared: another shape or type.
	Why    string
	places uint64
}

// DeterminismOptions say which runs are compared.
type DeterminismOptions struct {
	Runs    []string
	Pair    PairOptions
	Order   OrderOptions
	Version int
	Workers int
	Observe func(batch.Event)
}

// drifting is a tensor of the first run and its partners in the others, nil
// where one has none.
type drifting struct {
	row   Row
	items []*item
}

// CheckDeterminism compares the contents of tensors of the same name in several
// runs. Only tensors whose stored bytes differ are looked into.
func CheckDeterminism(ctx context.Context, opt DeterminismOptions) (*Determinism, error) {
	if opt.Workers <= 0 {
		opt.Workers = min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	d := &Determinism{Runs: opt.Runs}
	all, err := d.match(ctx, &opt)
	if err != nil {
		return nil, err
	}
	cost := func(t drifting) int64 {
		var size int64
		for _, it := range t.items {
			if it != nil {
				size += it.size
			}
		}
		return size
	}
	err = batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, all, cost,
		func(ctx context.Context, t drifting) DriftRow { return t.check(ctx, opt.Version) },
		func(_ int, r DriftRow) { d.Rows = append(d.Rows, r) })
	if err != nil {
		return nil, err
	}
	if len(d.Rows) == 0 {
		return nil, fmt.Errorf("%w: no tensor is in two runs", ErrNothing)
	}
	return d, nil
}

// match finds the partners of the first run's tensors in all other runs.
func (d *Determinism) match(ctx context.Context, opt *DeterminismOptions) ([]drifting, error) {
	var sides []*side
	for _, path := range opt.Runs {
		s, err := findSide(ctx, path, "", opt.Version, opt.Workers)
		if err != nil {
			return nil, err
		}
		if len(s.items) == 0 {
			return nil, fmt.Errorf("%w: neither dumps nor arrays in %s", ErrNothing, path)
		}
		d.Warnings = append(d.Warnings, s.warnings...)
		sides = append(sides, s)
	}
	partners := make([][]*item, len(sides[0].items))
	var rows []match
	var last *matcher
	for run, other := range sides[1:] {
		m := &matcher{opt: &Options{Pair: opt.Pair, Order: opt.Order}, ref: other, npu: sides[0]}
		if err := m.pair(); err != nil {
			return nil, err
		}
		d.Warnings = append(d.Warnings, m.warnings...)
		for _, x := range m.matches {
			switch {
			case x.row.Status == Skip:
			case x.ref != nil && x.npu != nil:
				if partners[x.npu.id] == nil {
					partners[x.npu.id] = make([]*item, len(sides))
					partners[x.npu.id][0] = x.npu
				}
				partners[x.npu.id][run+1] = x.ref
			case x.row.Status == Ambiguous:
				d.Missing = append(d.Missing, fmt.Sprintf("%s: ambiguous in %s: %s", x.row.Name(), opt.Runs[run+1], x.row.Reasons[0].Evidence))
			case x.npu != nil:
				d.Missing = append(d.Missing, fmt.Sprintf("%s: not in %s", x.row.Name(), opt.Runs[run+1]))
			default:
				d.Missing = append(d.Missing, fmt.Sprintf("%s: not in %s", x.row.Name(), opt.Runs[0]))
			}
		}
		rows = mergeRows(rows, m.matches)
		last = m
	}
	last.matches = rows
	var err error
	if d.OrderSource, err = last.order(); err != nil {
		return nil, err
	}
	rows = last.matches
	var all []drifting
	for _, x := range rows {
		if x.npu != nil && partners[x.npu.id] != nil {
			all = append(all, drifting{x.row, partners[x.npu.id]})
			partners[x.npu.id] = nil // several rounds of a partner are one row
		}
	}
	return all, nil
}

// mergeRows adds the pairs of tensors that the first list does not have. Their
// partners are left out: they are of several runs.
func mergeRows(rows, more []match) []match {
	seen := map[int]bool{}
	for _, x := range rows {
		if x.npu != nil {
			seen[x.npu.id] = true
		}
	}
	for _, x := range more {
		if x.npu != nil && x.ref != nil && !seen[x.npu.id] {
			x.ref, seen[x.npu.id] = nil, true
			rows = append(rows, x)
		}
	}
	return rows
}

// check compares one tensor in all runs.
func (t *drifting) check(ctx context.Context, version int) DriftRow {
	r := DriftRow{Row: t.row, Drifts: make([]Drift, len(t.items))}
	r.Status = Pass
	contents, keys := map[string]bool{}, make([]string, len(t.items))
	for i, it := range t.items {
		if it == nil {
			continue
		}
		drift := &r.Drifts[i]
		drift.File = it.String()
		if it.err != nil {
			r.fail(it, it.err)
			return r
		}
		o, err := it.openBytes(version, tensorfile.RawHint{DType: tensor.Uint8})
		if err == nil {
			drift.CRC, err = crcOf(ctx, o.t)
			key := fmt.Sprint(o.t.DType, o.shape, o.t.Format, drift.CRC)
			contents[key], keys[i] = true, key
			if i == 0 {
				r.Shape, r.RefDType = o.shape, o.t.DType
			}
			_ = o.Close() // only read
		}
		if err != nil {
			r.fail(it, err)
			return r
		}
	}
	if r.Distinct = len(contents); r.Distinct == 1 {
		return r
	}
	r.Status = Fail
	var places []uint64
	for i := 1; i < len(t.items); i++ {
		drift := &r.Drifts[i]
		if t.items[i] == nil || keys[i] == keys[0] {
			continue
		}
		if err := drift.compare(ctx, t.items[0], t.items[i], version); err != nil {
			r.fail(t.items[i], err)
			return r
		}
		if drift.Why == "" {
			places = append(places, drift.places)
		}
	}
	if len(places) > 1 {
		r.Places = SamePlaces
		for _, p := range places {
			if p != places[0] {
				r.Places = Scattered
			}
		}
	}
	return r
}

func (r *DriftRow) fail(it *item, err error) {
	r.Status, r.Err, r.Distinct = Error, errors.New(withPath(it.path, err)), 0
}

// crcOf sums up the stored bytes of a tensor.
func crcOf(ctx context.Context, t *tensorfile.Tensor) (uint32, error) {
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	buf := make([]byte, min(max(t.Size, 1), 1<<20))
	r := io.NewSectionReader(t.Data, 0, t.Size)
	var size int64
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := r.Read(buf)
		size += int64(n)
		h.Write(buf[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if size < t.Size {
		return 0, fmt.Errorf("read %d bytes, want %d: %w", size, t.Size, io.ErrUnexpectedEOF)
	}
	return h.Sum32(), nil
}

// compare looks for the elements that differ between two runs.
func (d *Drift) compare(ctx context.Context, first, other *item, version int) error {
	a, err := first.openBytes(version, tensorfile.RawHint{DType: tensor.Uint8})
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := other.openBytes(version, tensorfile.RawHint{DType: tensor.Uint8})
	if err != nil {
		return err
	}
	defer b.Close()
	switch {
	case a.t.DType != b.t.DType:
		d.Why = fmt.Sprintf("%s in the first run, %s here", a.t.DType, b.t.DType)
		return nil
	case !a.shape.Equal(b.shape) || a.t.Format != b.t.Format:
		d.Why = fmt.Sprintf("%v %s in the first run, %v %s here", a.shape, a.t.Format, b.shape, b.t.Format)
		return nil
	}
	if _, err := tensor.NewDecoder(a.t.DType); err != nil {
		d.Why = err.Error()
		return nil
	}
	res, err := engine.Compare(ctx, engine.Request{Shape: a.shape, RefDType: a.t.DType, NPUDType: b.t.DType}, a.t.Elements(), b.t.Elements())
	if err != nil {
		return err
	}
	d.Differ, d.MaxAbs, d.MaxULP = res.Differ, res.MaxAbs.Metric, res.ULPMax.Metric
	if d.First = res.Beyond.First; d.First == nil || res.Mismatch.First != nil && res.Mismatch.First.Offset < d.First.Offset {
		d.First = res.Mismatch.First
	}
	d.places, err = placesOf(ctx, a, b)
	return err
}

// placesOf sums up which elements of two tensors differ in their bits.
func placesOf(ctx context.Context, a, b *opened) (uint64, error) {
	unit := int64(a.t.DType.UnitSize())
	n := count(a.shape)
	x, y := make([]byte, engine.BlockElements*unit), make([]byte, engine.BlockElements*unit)
	left, right := a.t.Elements(), b.t.Elements()
	h := fnv.New64a()
	var place [8]byte
	for first := int64(0); first < n; first += engine.BlockElements {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		size := min(engine.BlockElements, n-first) * unit
		if err := left.ReadElements(x[:size], first); err != nil {
			return 0, err
		}
		if err := right.ReadElements(y[:size], first); err != nil {
			return 0, err
		}
		if bytes.Equal(x[:size], y[:size]) {
			continue
		}
		for i := int64(0); i < size; i += unit {
			if !bytes.Equal(x[i:i+unit], y[i:i+unit]) {
				at := first + i/unit
				for k := range place {
					place[k] = byte(at >> (8 * k))
				}
				h.Write(place[:])
			}
		}
	}
	return h.Sum64(), nil
}

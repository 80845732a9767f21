package compare

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// check compares one tensor in all runs.
func (t *drifting) check(ctx context.Context, version int) DriftRow {
	r := DriftRow{Row: t.row, Execution: t.execution, Drifts: make([]Drift, len(t.items))}
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
		if drift.Compared {
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
	bits, err := bitsOf(ctx, a, b, d.Differ == 0)
	if err != nil {
		return err
	}
	d.Compared, d.Bits, d.places = true, bits.count, bits.places()
	if d.Differ == 0 {
		d.Why = bits.text()
	}
	return nil
}

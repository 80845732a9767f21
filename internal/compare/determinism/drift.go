package determinism

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"dumptool/internal/compare"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// check compares one tensor in all runs.
func (t *tensors) check(ctx context.Context, opt *Options) Row {
	r := t.row
	r.Status, r.Drifts = record.Pass, make([]Drift, len(t.items))
	for i := range r.Drifts {
		r.Drifts[i].Run = opt.Runs[i]
	}
	if slices.ContainsFunc(t.items, func(it *compare.Tensor) bool { return it != nil && it.Table }) {
		t.checkStatistics(&r)
		return r
	}
	contents, keys := map[string]bool{}, make([]string, len(t.items))
	for i, it := range t.items {
		if it == nil {
			continue
		}
		r.Drifts[i].File = new(it.String())
		if it.Err != nil {
			r.fail(it, it.Err)
			return r
		}
		err := guard.Do(func() error {
			o, err := it.OpenBytes(opt.Version)
			if err != nil {
				return err
			}
			defer o.Close()
			crc, err := crcOf(ctx, o.Tensor)
			key := fmt.Sprint(o.DType, o.Stored, o.Format, crc)
			contents[key], keys[i], r.Drifts[i].CRC = true, key, &crc
			return err
		})
		if err != nil {
			r.fail(it, err)
			return r
		}
	}
	if r.Distinct = len(contents); r.Distinct == 1 {
		return r
	}
	r.Status = record.Fail
	var places []uint64
	for i := 1; i < len(t.items); i++ {
		drift := &r.Drifts[i]
		if t.items[i] == nil || keys[i] == keys[0] {
			continue
		}
		err := guard.Do(func() error { return drift.compare(ctx, t.items[0], t.items[i], opt.Version) })
		if err != nil {
			r.fail(t.items[i], err)
			return r
		}
		if drift.Compared {
			places = append(places, drift.places)
		}
	}
	if len(places) > 1 {
		r.Places = SamePlaces
		if slices.ContainsFunc(places, func(p uint64) bool { return p != places[0] }) {
			r.Places = Scattered
		}
	}
	return r
}

func (r *Row) fail(it *compare.Tensor, err error) {
	r.Status, r.Err, r.Distinct = record.Error, lang.Failed(safefile.WithPath(it.Path, err)), 0
	for i := range r.Drifts {
		r.Drifts[i].CRC = nil
	}
}

// crcOf sums up the stored bytes of a tensor.
func crcOf(ctx context.Context, t *tensorfile.Tensor) (CRC, error) {
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	buf := make([]byte, min(t.Size, 1<<20))
	for at := int64(0); at < t.Size; at += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		buf = buf[:min(int64(len(buf)), t.Size-at)]
		switch n, err := t.Data.ReadAt(buf, at); {
		case n == len(buf):
			h.Write(buf)
		case err == io.EOF:
			return 0, fmt.Errorf("read %d bytes, want %d: %w", at+int64(n), t.Size, io.ErrUnexpectedEOF)
		default:
			return 0, err
		}
	}
	return CRC(h.Sum32()), nil
}

// compare looks for the elements that differ between two runs.
func (d *Drift) compare(ctx context.Context, first, other *compare.Tensor, version int) error {
	a, err := first.OpenBytes(version)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := other.OpenBytes(version)
	if err != nil {
		return err
	}
	defer b.Close()
	switch {
	case a.DType != b.DType:
		d.Why = lang.Sayf("%s in the first run, %s here", "首次运行为 %s，此处为 %s", a.DType, b.DType)
		return nil
	case !a.Stored.Equal(b.Stored) || a.Format != b.Format:
		d.Why = lang.Sayf("%v %s in the first run, %v %s here", "首次运行为 %v %s，此处为 %v %s", a.Stored, a.Format, b.Stored, b.Format)
		return nil
	}
	if _, err := tensor.NewDecoder(a.DType); err != nil {
		d.Why = lang.Plain(err.Error())
		return nil
	}
	res, err := metrics.Compare(ctx, metrics.Request{Shape: a.Stored, RefDType: a.DType, NPUDType: b.DType}, a.Elements(), b.Elements())
	if err != nil {
		return err
	}
	d.Differ, d.MaxAbs, d.MaxULP = res.Differ, res.MaxAbs.Metric, res.ULPMax.Metric
	for _, first := range []*metrics.Element{res.Beyond.First, res.Mismatch.First} {
		if first != nil && (d.First == nil || first.Offset < *d.First) {
			d.First = new(first.Offset)
		}
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

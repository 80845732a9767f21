package determinism

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strings"

	"dumptool/internal/compare"
	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
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
	r.Empty = true
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
			n, known := o.Stored.Count()
			r.Empty = r.Empty && known && n == 0
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

// fail makes the row one of a tensor that could not be read. The error names the tensor where
// neither its file nor the error does: one of several in a file.
func (r *Row) fail(it *compare.Tensor, err error) {
	if !strings.Contains(it.Path, r.Op) && !strings.Contains(err.Error(), r.Op) {
		err = lang.Errorf("%s: %w", r.Op, err)
	}
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
			return 0, lang.Errorf("read %d bytes, want %d: %w", at+int64(n), t.Size, io.ErrUnexpectedEOF)
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

// bitDrift sums up which elements of two tensors differ in their stored bits.
type bitDrift struct {
	count, first int64
	// zeros are pairs of 0 and -0, nans pairs of NaN; they are equal in value.
	zeros, nans int64
	sum         hash.Hash64
}

// places is equal for equal sets of elements, but for chance.
func (b *bitDrift) places() uint64 { return b.sum.Sum64() }

// text says how the bits of tensors differ that are equal in value.
func (b *bitDrift) text() lang.Sentence {
	if b.count == 0 {
		return lang.Sayf("equal elements, other bytes behind them", "元素相同，其后的字节不同")
	}
	var kinds []lang.Sentence
	for _, k := range []struct {
		count int64
		what  lang.Text
	}{{b.zeros, lang.Text{EN: "0 and -0", ZH: "0 与 -0"}}, {b.nans, lang.Text{EN: "NaN of another payload", ZH: "NaN 的载荷不同"}},
		{b.count - b.zeros - b.nans, lang.Text{EN: "another code of the same value", ZH: "同值的不同编码"}}} {
		if k.count > 0 {
			kinds = append(kinds, lang.Sayf("%s (%d)", "%s(%d)", k.what, k.count))
		}
	}
	return lang.Sayf("equal in value, not in bits: %s, first at %d", "值相同，比特不同：%s，首个位于 %d", lang.Join(kinds, lang.Text{EN: ", ", ZH: "，"}), b.first)
}

// bitsOf compares the stored bits of two tensors of one type and shape. In
// tensors that are equal in value it counts kinds of elements.
func bitsOf(ctx context.Context, a, b *align.Tensor, equal bool) (*bitDrift, error) {
	unit := a.DType.UnitSize()
	n, _ := a.Stored.Count()
	var x []byte
	y := make([]byte, layout.BlockElements*unit)
	right := b.Elements()
	d := &bitDrift{sum: fnv.New64a()}
	value := func([]byte) float64 { return 1 }
	if equal {
		value = valueOf(a.DType)
	}
	var first int64
	for block, err := range a.Blocks(ctx, n, &x) {
		if err != nil {
			return nil, err
		}
		if err := right.ReadElements(y[:len(block)], first); err != nil {
			return nil, err
		}
		if !bytes.Equal(block, y[:len(block)]) {
			for i := 0; i < len(block); i += unit {
				if p, q := block[i:i+unit], y[i:i+unit]; !bytes.Equal(p, q) {
					d.add(first+int64(i/unit), value(p), value(q))
				}
			}
		}
		first += int64(len(block) / unit)
	}
	return d, nil
}

// add adds an element that differs, with its two values.
func (b *bitDrift) add(at int64, left, right float64) {
	var place [8]byte
	binary.LittleEndian.PutUint64(place[:], uint64(at))
	b.sum.Write(place[:])
	if b.count == 0 {
		b.first = at
	}
	b.count++
	switch {
	case left == 0 && right == 0:
		b.zeros++
	case left != left && right != right:
		b.nans++
	}
}

// valueOf returns what reads the value of an element. Of types whose values have
// one code each, and of those with parts, it is 1.
func valueOf(d tensor.DType) func(stored []byte) float64 {
	dec, err := tensor.NewDecoder(d)
	if err != nil || d.Packed() || dec.Host().Complex() {
		return func([]byte) float64 { return 1 }
	}
	host, value := make([]byte, dec.Host().Size()), make([]float64, 1)
	return func(stored []byte) float64 {
		dec.Decode(host, stored)
		tensor.Float64s(value, host, dec.Host())
		return value[0]
	}
}

// errElements is the error of a tensor that only other runs have statistics of.
var errElements = lang.Errorf("it has elements and no statistics, other runs have statistics only")

// checkStatistics compares a tensor of which runs have digests or statistics only: by the
// digests where all have them, else by the numbers as they are printed.
func (t *tensors) checkStatistics(r *Row) {
	digests := !slices.ContainsFunc(t.items, func(it *compare.Tensor) bool {
		return it != nil && (it.Statistics == nil || it.Statistics.Digest == "")
	})
	contents := map[string]bool{}
	for i, it := range t.items {
		if it == nil {
			continue
		}
		r.Drifts[i].File, r.Drifts[i].Table = new(it.String()), true
		switch {
		case it.Err != nil:
			r.fail(it, it.Err)
			return
		case it.Statistics == nil || !it.Statistics.Suffice():
			r.fail(it, errElements)
			return
		}
		s := it.Statistics
		if i > 0 {
			r.Drifts[i].Why = difference(t.items[0].Statistics, s, digests)
		}
		contents[fmt.Sprint(s.DType, s.Shape, content(s, digests))] = true
	}
	if r.Distinct = len(contents); r.Distinct > 1 {
		r.Status = record.Fail
	}
}

// compared are the numbers that statistics are compared by.
var compared = []dumpdir.Statistic{dumpdir.Max, dumpdir.Min, dumpdir.Mean, dumpdir.Norm}

// content is what tensors of one type and shape differ in.
func content(s *dumpdir.Statistics, digests bool) string {
	if digests {
		return s.Digest
	}
	text := ""
	for _, what := range compared {
		text += number(s, what) + " "
	}
	return text
}

// number is a statistic as it is printed.
func number(s *dumpdir.Statistics, what dumpdir.Statistic) string {
	v, ok := s.Values.Get(what)
	if !ok {
		return "unknown"
	}
	if v == 0 {
		v = math.Abs(v)
	}
	return fmt.Sprint(v)
}

// difference says in what a tensor differs from that of the first run; empty for nothing.
func difference(first, other *dumpdir.Statistics, digests bool) lang.Sentence {
	say := func(a, b any) lang.Sentence {
		return lang.Sayf("%v in the first run, %v here", "首次运行为 %v，此处为 %v", a, b)
	}
	switch {
	case first.DType != other.DType:
		return say(first.DType, other.DType)
	case !first.Shape.Equal(other.Shape):
		return say(first.Shape, other.Shape)
	case digests && first.Digest != other.Digest:
		return lang.Sayf("digest %v", "摘要 %v", say(first.Digest, other.Digest))
	case digests:
		return lang.Sentence{}
	}
	for _, what := range compared {
		if a, b := number(first, what), number(other, what); a != b {
			return lang.Sayf("%s %v", "%s %v", what.String(), say(a, b))
		}
	}
	return lang.Sentence{}
}

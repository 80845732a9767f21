package determinism

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// check compares a tensor in all runs.
func (t *pairedTensors) check(ctx context.Context, opt *Options) Row {
	r := t.row
	r.Status, r.Drifts = record.Pass, make([]Drift, len(t.items))
	r.paths = make([]string, len(t.items))
	for i := range r.Drifts {
		r.Drifts[i].Run = opt.Runs[i]
		if it := t.items[i]; it != nil {
			r.paths[i] = it.Path
		}
	}
	if slices.ContainsFunc(t.items, func(it *plan.Tensor) bool { return it != nil && it.Table }) {
		t.checkStatistics(&r)
		return r
	}
	var c contents
	defer c.close()
	var places []uint64
	r.Empty = true
	for i, it := range t.items {
		if it == nil {
			continue
		}
		drift := &r.Drifts[i]
		drift.File = new(it.String())
		err := it.Err
		if err == nil {
			err = guard.Do(func() error { return c.add(ctx, &r, drift, it, opt.Version) })
		}
		if err != nil {
			r.fail(it, err)
			return r
		}
		if drift.Compared {
			places = append(places, drift.places)
		}
	}
	if r.Distinct = len(c.keys); r.Distinct > 1 {
		r.Status = record.Fail
	}
	if r.Distinct > 2 && len(places) > 1 {
		r.Places = SamePlaces
		if slices.ContainsFunc(places, func(p uint64) bool { return p != places[0] }) {
			r.Places = Scattered
		}
	}
	return r
}

// contents has the different contents of a tensor in several runs.
type contents struct {
	keys  []string      // the key of the first run is first
	first *align.Tensor // the tensor of the first run, kept open for the comparisons
}

func (c *contents) close() {
	if c.first != nil {
		c.first.Close()
	}
}

// add adds the tensor of a run; if its key differs it compares the elements with the first run.
func (c *contents) add(ctx context.Context, r *Row, d *Drift, it *plan.Tensor, version int) error {
	o, err := it.OpenBytes(version)
	if err != nil {
		return err
	}
	if c.first == nil {
		c.first = o
	} else {
		defer o.Close()
	}
	n, known := o.Stored.Count()
	r.Empty = r.Empty && known && n == 0
	crc, err := crcOf(ctx, o.Tensor)
	if err != nil {
		return err
	}
	d.CRC = &crc
	key := fmt.Sprint(o.DType, o.Stored, o.Format, crc)
	if !slices.Contains(c.keys, key) {
		c.keys = append(c.keys, key)
	}
	if key == c.keys[0] {
		return nil
	}
	return d.compare(ctx, c.first, o)
}

// fail marks a row whose tensor could not be read. If neither the path nor the error names the
// operator, as in a multi-tensor file, fail adds it.
func (r *Row) fail(it *plan.Tensor, err error) {
	if !strings.Contains(it.Path, r.Op) && !strings.Contains(err.Error(), r.Op) {
		err = lang.Errorf("%s: %w", r.Op, err)
	}
	r.Status, r.Err, r.Distinct = record.Error, lang.AsFailure(safefile.WithPath(it.Path, err)), 0
	for i := range r.Drifts {
		if d := &r.Drifts[i]; d.CRC != nil {
			*d = Drift{Run: d.Run, File: d.File}
		}
	}
}

// crcOf returns the checksum of the stored bytes of a tensor.
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

// compare compares the elements of two runs. It reads both tensors again: most tensors are equal
// and only need the checksum of the first reading.
func (d *Drift) compare(ctx context.Context, a, b *align.Tensor) error {
	switch {
	case a.DType != b.DType:
		d.Why = lang.Say("%s in the first run, %s here", a.DType, b.DType)
		return nil
	case !a.Stored.Equal(b.Stored) || a.Format != b.Format:
		d.Why = lang.Say("%v %s in the first run, %v %s here", a.Stored, a.Format, b.Stored, b.Format)
		return nil
	}
	if _, err := tensor.NewDecoder(a.DType); err != nil {
		d.Why = lang.Error(err)
		return nil
	}
	stored := newBitDrift(a.DType)
	res, err := metrics.Compare(ctx, metrics.Request{Shape: a.Stored, RefDType: a.DType, NPUDType: b.DType, Visit: stored.compareBits}, a.Elements(), b.Elements())
	if err != nil {
		return err
	}
	d.Differ, d.MaxAbs, d.MaxULP = res.Differ, res.MaxAbs.Metric, res.ULPMax.Metric
	for _, first := range []*metrics.Element{res.Beyond.First, res.Mismatch.First} {
		if first != nil && (d.First == nil || first.Offset < *d.First) {
			d.First = new(first.Offset)
		}
	}
	d.Compared, d.Bits, d.places = true, stored.count, stored.places
	d.Elements, d.Flipped = a.Stored.Elements(), stored.count == 1 && stored.flips == 1
	if f, ok := tensor.ScalarFloat(a.DType); ok && !a.DType.IsPacked() {
		d.fraction = f.Mantissa
		if a.DType == tensor.Float32 && stored.unusedBits() >= fewestUnused {
			d.unused = stored.unusedBits()
			d.fraction -= d.unused
		}
		d.measure(res)
	}
	if d.Differ == 0 {
		d.Why = stored.text()
	}
	return nil
}

// measure sets the distances relative to the numbers of the tensors.
func (d *Drift) measure(res *metrics.Result) {
	if !d.MaxAbs.IsDefined() || res.Ref.NaN != res.NPU.NaN {
		d.steps, d.jump = math.Inf(1), math.Inf(1)
		return
	}
	step := math.Ldexp(min(res.Ref.Largest(), res.NPU.Largest()), -d.fraction)
	d.steps = d.MaxAbs.Value() / step
	d.jump = d.MaxAbs.Value() / max(step, res.AbsQuantiles.P50.Value())
}

// bitDrift finds the elements of two tensors whose stored bits differ.
type bitDrift struct {
	count, first int64
	// flips counts the differing bits; used are the bits that are 1 in the 8 bytes around some differing element.
	flips int64
	used  uint64
	// places is a hash of the set of differing elements.
	places uint64
	// zeros counts pairs of 0 and -0, nans pairs of NaN: equal in value. Counting stops at the
	// first pair that differs in value.
	zeros, nans int64
	differ      bool
	unit        int    // bytes of an element: a power of two, at most 16
	high        uint64 // the top bit of each element in 8 bytes
	value       func(stored []byte) float64
}

func newBitDrift(d tensor.DType) *bitDrift {
	unit := d.UnitSize()
	b := &bitDrift{unit: unit, high: 1 << 63, value: valueOf(d)}
	for bits := 8 * unit; bits < 64; bits *= 2 {
		b.high |= b.high >> bits
	}
	return b
}

// text describes the difference in bits of tensors with equal values.
func (b *bitDrift) text() lang.Sentence {
	if b.count == 0 {
		return lang.Say("equal elements, but different bytes after them")
	}
	var kinds []lang.Sentence
	for _, k := range []struct {
		count int64
		what  lang.Text
	}{{b.zeros, lang.Text{EN: "0 and -0"}}, {b.nans, lang.Text{EN: "NaN of another payload"}},
		{b.count - b.zeros - b.nans, lang.Text{EN: "another code of the same value"}}} {
		if k.count > 0 {
			kinds = append(kinds, lang.Say("%s (%d)", k.what, k.count))
		}
	}
	return lang.Say("equal in value, not in bits: %s, first at %d", lang.Join(kinds, lang.Text{EN: ", "}), b.first)
}

// unusedBits returns the number of low bits that are 0 in all differing elements of float32.
func (b *bitDrift) unusedBits() int { return bits.TrailingZeros32(uint32(b.used | b.used>>32)) }

// compareBits compares elements from an offset on, in words of 8 bytes or elements of 16 bytes.
func (b *bitDrift) compareBits(at int64, left, right []byte) {
	if bytes.Equal(left, right) {
		return
	}
	low := ^b.high
	for i := 0; i < len(left); i += max(8, b.unit) {
		x := differingBits(left[i:], right[i:], b.unit)
		marks := (x&low + low | x) & b.high // top bit of each differing element
		if marks == 0 {
			continue
		}
		if b.count == 0 {
			b.first = at + int64((i+bits.TrailingZeros64(marks)/8)/b.unit)
		}
		b.count += int64(bits.OnesCount64(marks))
		b.flips += int64(bits.OnesCount64(x))
		b.used |= x | word(left[i:])
		hash := uint64(at*int64(b.unit)+int64(i))*0x9e3779b97f4a7c15 + marks
		hash = (hash ^ hash>>29) * 0xbf58476d1ce4e5b9
		b.places += hash ^ hash>>32
		for ; marks != 0 && !b.differ; marks &= marks - 1 {
			k := i + bits.TrailingZeros64(marks)/8/b.unit*b.unit
			b.countValues(b.value(left[k:k+b.unit]), b.value(right[k:k+b.unit]))
		}
	}
}

// differingBits returns the differing bits of the first 8 bytes; for 16-byte elements the
// bitwise or over both halves.
func differingBits(p, q []byte, unit int) uint64 {
	x := word(p) ^ word(q)
	if unit > 8 {
		x |= word(p[8:]) ^ word(q[8:])
	}
	return x
}

// word returns the first 8 bytes; missing bytes are 0.
func word(p []byte) uint64 {
	if len(p) < 8 {
		var last [8]byte
		copy(last[:], p)
		p = last[:]
	}
	return binary.LittleEndian.Uint64(p)
}

// countValues counts an element with differing bits by its values.
func (b *bitDrift) countValues(left, right float64) {
	switch {
	case left == 0 && right == 0:
		b.zeros++
	case left != left && right != right:
		b.nans++
	default:
		b.differ = left != right
	}
}

// valueOf returns a function that decodes one element. It always returns 1 for packed types,
// whose values have one code each, and for complex types.
func valueOf(d tensor.DType) func(stored []byte) float64 {
	dec, err := tensor.NewDecoder(d)
	if err != nil || d.IsPacked() || dec.Host().Complex() {
		return func([]byte) float64 { return 1 }
	}
	host, value := make([]byte, dec.Host().Size()), make([]float64, 1)
	return func(stored []byte) float64 {
		dec.Decode(host, stored)
		tensor.Float64s(value, host, dec.Host())
		return value[0]
	}
}

// errElements is the error of a tensor with elements if another run has only statistics.
var errElements = lang.Errorf("this run has the elements and no statistics, other runs have statistics only")

// checkStatistics compares a tensor if some runs have only its digest or statistics: by digests if all runs have one,
// else by the numbers as printed.
func (t *pairedTensors) checkStatistics(r *Row) {
	digests := !slices.ContainsFunc(t.items, func(it *plan.Tensor) bool {
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
		case it.Statistics == nil || !it.Statistics.CanReplaceElements():
			r.fail(it, errElements)
			return
		}
		s := it.Statistics
		if i > 0 {
			r.Drifts[i].Why = differenceText(t.items[0].Statistics, s, digests)
		}
		contents[fmt.Sprint(s.DType, s.Shape, contentText(s, digests))] = true
	}
	if r.Distinct = len(contents); r.Distinct > 1 {
		r.Status = record.Fail
	}
}

// comparedStatistics are the statistics that are compared.
var comparedStatistics = []dumpdir.Statistic{dumpdir.Max, dumpdir.Min, dumpdir.Mean, dumpdir.Norm}

// contentText returns the digest, or the numbers as text.
func contentText(s *dumpdir.Statistics, digests bool) string {
	if digests {
		return s.Digest
	}
	text := ""
	for _, what := range comparedStatistics {
		text += statisticText(s, what) + " "
	}
	return text
}

// statisticText returns a statistic as text.
func statisticText(s *dumpdir.Statistics, what dumpdir.Statistic) string {
	v, ok := s.Values.Get(what)
	if !ok {
		return "unknown"
	}
	if v == 0 {
		v = math.Abs(v)
	}
	return fmt.Sprint(v)
}

// differenceText describes the difference from the first run; zero if there is none.
func differenceText(first, other *dumpdir.Statistics, digests bool) lang.Sentence {
	say := func(a, b any) lang.Sentence {
		return lang.Say("%v in the first run, %v here", a, b)
	}
	switch {
	case first.DType != other.DType:
		return say(first.DType, other.DType)
	case !first.Shape.Equal(other.Shape):
		return say(first.Shape, other.Shape)
	case digests && first.Digest != other.Digest:
		return lang.Say("digest %v", say(first.Digest, other.Digest))
	case digests:
		return lang.Sentence{}
	}
	for _, what := range comparedStatistics {
		if a, b := statisticText(first, what), statisticText(other, what); a != b {
			return lang.Say("%s %v", what.String(), say(a, b))
		}
	}
	return lang.Sentence{}
}

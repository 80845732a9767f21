package ranks

import (
	"context"
	"hash/crc32"
	"slices"
	"strconv"

	"dumptool/internal/batch"
	"dumptool/internal/tensor"
)

// castagnoli is the table of CRC-32C, which processors compute themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// digests finds the digests of tensors: those of the dump, else those of the elements,
// which are read once.
type digests struct {
	*files
	failed map[*Tensor]bool // those that cannot be read
	errs   []error

	values64 []float64 // room for elements
}

// of are the digests of tensors that are set beside each other, of one kind, and with
// their shapes; false where that of any of them is not known.
func (d *digests) of(tensors ...*Tensor) ([]string, bool) {
	marks := make([]string, len(tensors))
	recorded := true
	for i, t := range tensors {
		recorded = recorded && t.Digest != "" && len(t.Digest) == len(tensors[0].Digest)
		marks[i] = t.Digest
	}
	if recorded {
		return marks, true
	}
	for i, t := range tensors {
		var ok bool
		if marks[i], ok = d.read(t); !ok {
			return nil, false
		}
	}
	return marks, true
}

// mark is the digest of a tensor with its size, empty where there is none.
func (d *digests) mark(t *Tensor) string {
	mark := t.Digest
	if mark == "" {
		mark, _ = d.read(t)
	}
	if mark == "" || t.elements() == 0 {
		return ""
	}
	return mark + " " + itoa(int(t.elements()))
}

// readTogether is how many tensors are read one after the other while others are.
const readTogether = 32

// readAll reads tensors whose digests will be asked for, several at a time.
func (d *digests) readAll(ctx context.Context, workers int, all []*Tensor) error {
	all = slices.DeleteFunc(all, func(t *Tensor) bool { return t.Digest != "" || t.mark != "" || !t.Stored() || d.failed[t] })
	return batch.Run(ctx, batch.Options{Workers: workers, Budget: memoryBudget}, slices.Collect(slices.Chunk(all, readTogether)),
		func([]*Tensor) int64 { return windowMemory },
		func(_ context.Context, some []*Tensor) *digests {
			own := &digests{files: &files{version: d.version}}
			defer own.Close()
			for _, t := range some {
				own.read(t)
			}
			return own
		},
		func(_ int, own *digests) {
			for t := range own.failed {
				d.fail(t)
			}
			d.errs = append(d.errs, own.errs...)
		})
}

// fail notes that a tensor cannot be read.
func (d *digests) fail(t *Tensor) {
	if d.failed == nil {
		d.failed = make(map[*Tensor]bool)
	}
	d.failed[t] = true
}

// read is the digest of the elements of a tensor.
func (d *digests) read(t *Tensor) (string, bool) {
	if t.mark != "" || d.failed[t] {
		return t.mark, t.mark != ""
	}
	mark := ""
	if t.Stored() {
		var crc uint32
		var bytes int
		unsaid := t.numbers == 0 // whether they are finite
		err := d.each([]*Tensor{t}, 0, t.elements(), func(host []byte, h tensor.Host, _ int64) error {
			crc = crc32.Update(crc, castagnoli, host)
			bytes += len(host)
			if unsaid && !h.Complex() {
				d.note(t, host, h)
			}
			return nil
		})
		if err == nil {
			mark = strconv.FormatUint(uint64(crc), 16) + "/" + itoa(bytes)
		} else {
			d.errs = append(d.errs, err)
		}
	}
	if t.mark = mark; mark == "" {
		d.fail(t)
	}
	return mark, mark != ""
}

// note notes whether some elements of a tensor are finite.
func (d *digests) note(t *Tensor, host []byte, h tensor.Host) {
	if t.numbers == 0 {
		t.numbers = finite
	}
	if t.numbers == notFinite || h.Integer() {
		return
	}
	d.values64 = resize(d.values64, int64(len(host)/h.Size()))
	tensor.Float64s(d.values64, host, h)
	if slices.ContainsFunc(d.values64, func(v float64) bool { return !isFinite(v) }) {
		t.numbers = notFinite
	}
}

// numbersOf says whether a tensor has NaN or infinities; of one without a digest and without
// statistics its elements say it.
func (d *digests) numbersOf(t *Tensor) finiteness {
	if t.numbers == 0 && t.Digest == "" && t.Stored() {
		d.read(t)
	}
	return t.numbers
}

// equal reports whether two tensors are equal, and whether that is known.
func (d *digests) equal(a, b *Tensor) (equal, known bool) {
	switch {
	case !a.Shape.Equal(b.Shape):
		return false, true
	case a.Digest != "" && len(a.Digest) == len(b.Digest):
		return a.Digest == b.Digest, true
	}
	x, known := d.read(a)
	if !known {
		return false, false
	}
	y, known := d.read(b)
	return known && x == y, known
}

// isUniform reports whether all elements that are numbers are the same: such tensors are equal on
// ranks that are no replicas of each other.
func (d *digests) isUniform(t *Tensor) bool {
	if t.spread == unknown && t.Stored() {
		t.spread = uniform
		x := make([]float64, min(t.elements(), sample))
		if d.floats(x, []*Tensor{t}, 0) == nil {
			x = slices.DeleteFunc(x, func(v float64) bool { return v-v != 0 })
			if slices.ContainsFunc(x, func(v float64) bool { return v != x[0] }) {
				t.spread = varied
			}
		}
	}
	return t.spread == uniform
}

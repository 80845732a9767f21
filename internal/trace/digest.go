package trace

import (
	"cmp"
	"context"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/crc"
	"dumptool/internal/tensor"
)

// castagnoli is the table of CRC-32C, for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Digests finds the digests of tensors: in the dump, else by reading the elements, once.
type Digests struct {
	*Files
	failed map[*Tensor]bool // tensors that cannot be read
	Errs   []error

	values64 []float64 // buffer for elements
}

// Mark returns the digest and the number of elements of a tensor, empty without a digest.
func (d *Digests) Mark(t *Tensor) string {
	mark := t.Digest
	if mark == "" {
		mark, _ = d.read(t)
	}
	if mark == "" || t.Elements() == 0 {
		return ""
	}
	return mark + " " + strconv.Itoa(int(t.Elements()))
}

// MarkOf returns the ElementMark of the concatenation of the parts, empty if a part cannot be read.
func (d *Digests) MarkOf(parts []*Tensor) string {
	var sum uint32
	var bytes int64
	for _, t := range parts {
		mark, ok := d.read(t)
		if !ok {
			return ""
		}
		of, n := parseSum(mark)
		sum, bytes = crc.Combine(crc32.Castagnoli, sum, of, n), bytes+n
	}
	return d.Mark(&Tensor{Shape: tensor.Shape{CountElements(parts)}, mark: sumText(sum, bytes)})
}

// ElementMark returns the mark of a tensor by its elements, even if the dump has a digest: digests of a dump cannot
// be joined.
func (d *Digests) ElementMark(t *Tensor) string { return d.MarkOf([]*Tensor{t}) }

// sumText is the digest of elements as text: their CRC-32C and their size in bytes.
func sumText(crc uint32, bytes int64) string {
	return strconv.FormatUint(uint64(crc), 16) + "/" + strconv.FormatInt(bytes, 10)
}

// parseSum reads the text of sumText.
func parseSum(text string) (crc uint32, bytes int64) {
	head, tail, _ := strings.Cut(text, "/")
	sum, _ := strconv.ParseUint(head, 16, 32)
	bytes, _ = strconv.ParseInt(tail, 10, 64)
	return uint32(sum), bytes
}

// readTogether is the number of tensors that a worker reads in a row.
const readTogether = 32

// ReadAll computes the digests of tensors in parallel, before they are needed.
func (d *Digests) ReadAll(ctx context.Context, workers int, all []*Tensor) error {
	all = slices.DeleteFunc(all, func(t *Tensor) bool { return t.Digest != "" || t.mark != "" || !t.IsStored() || d.failed[t] })
	return batch.Run(ctx, batch.Options{Workers: workers, Budget: MemoryBudget}, slices.Collect(slices.Chunk(all, readTogether)),
		func([]*Tensor) int64 { return WindowMemory },
		func(_ context.Context, some []*Tensor) *Digests {
			own := &Digests{Files: &Files{Version: d.Version}}
			defer own.Close()
			for _, t := range some {
				own.read(t)
			}
			return own
		},
		func(_ int, own *Digests) {
			for t := range own.failed {
				d.fail(t)
			}
			d.Errs = append(d.Errs, own.Errs...)
		})
}

// fail records that a tensor cannot be read.
func (d *Digests) fail(t *Tensor) {
	if d.failed == nil {
		d.failed = make(map[*Tensor]bool)
	}
	d.failed[t] = true
}

// read returns the digest of the elements of a tensor.
func (d *Digests) read(t *Tensor) (string, bool) {
	if t.mark != "" || d.failed[t] {
		return t.mark, t.mark != ""
	}
	mark := ""
	if t.IsStored() {
		var crc uint32
		var bytes int64
		unsaid := t.numbers == 0 // it is unknown whether the elements are finite
		err := d.eachBlock([]*Tensor{t}, 0, t.Elements(), func(host []byte, h tensor.Host, _ int64) error {
			crc = crc32.Update(crc, castagnoli, host)
			bytes += int64(len(host))
			if unsaid && !h.Complex() {
				d.recordNonFinite(t, host, h)
			}
			return nil
		})
		if err == nil {
			mark = sumText(crc, bytes)
		} else {
			d.Errs = append(d.Errs, err)
		}
	}
	if t.mark = mark; mark == "" {
		d.fail(t)
	}
	return mark, mark != ""
}

// recordNonFinite records that a tensor has NaN or infinities if a block of its elements has some, else that it is finite so
// far.
func (d *Digests) recordNonFinite(t *Tensor, host []byte, h tensor.Host) {
	if t.numbers == 0 {
		t.numbers = finite
	}
	if t.numbers == notFinite || h.Integer() {
		return
	}
	d.values64 = Resize(d.values64, int64(len(host)/h.Size()))
	tensor.Float64s(d.values64, host, h)
	if slices.ContainsFunc(d.values64, func(v float64) bool { return !IsFinite(v) }) {
		t.numbers = notFinite
	}
}

// IsNotFinite reports whether a tensor is known to have NaN or infinities.
func (d *Digests) IsNotFinite(t *Tensor) bool { return d.finitenessOf(t) == notFinite }

// finitenessOf tells whether a tensor has NaN or infinities. If the dump has neither a digest nor statistics, the
// elements are read.
func (d *Digests) finitenessOf(t *Tensor) finiteness {
	if t.numbers == 0 && t.Digest == "" && t.IsStored() {
		d.read(t)
	}
	return t.numbers
}

// Equal reports whether two tensors are equal, and whether that is known.
func (d *Digests) Equal(a, b *Tensor) (equal, known bool) {
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

// EqualSets groups items whose tensors are equal one by one, the largest group first. Digests of the
// dump decide where all tensors have digests of one kind, else the elements. Items with a tensor
// that cannot be read are left out.
func EqualSets[T any](d *Digests, items []T, tensorsOf func(T) []*Tensor) [][]T {
	kinds := make(map[int]bool) // by the length of digests
	for _, x := range items {
		for _, t := range tensorsOf(x) {
			kinds[len(t.Digest)] = true
		}
	}
	recorded := len(kinds) == 1 && !kinds[0]
	sets := GroupBy(slices.Values(items), func(x T) (string, bool) {
		var key strings.Builder
		for _, t := range tensorsOf(x) {
			mark, ok := t.Digest, true
			if !recorded {
				mark, ok = d.read(t)
			}
			if !ok {
				return "", false
			}
			key.WriteString(mark + t.Shape.String() + " ")
		}
		return key.String(), true
	})
	slices.SortStableFunc(sets, func(a, b []T) int { return cmp.Compare(len(b), len(a)) })
	return sets
}

// uniformSample is the number of elements that are compared to decide whether all are equal.
const uniformSample = 1 << 12

// IsUniform reports whether all finite elements are the same. Such tensors are equal on ranks that
// are no replicas of each other.
func (f *Files) IsUniform(t *Tensor) bool {
	if t.spread == unknown && t.IsStored() {
		t.spread = uniform
		x := make([]float64, min(t.Elements(), uniformSample))
		if f.Floats(x, []*Tensor{t}, 0) == nil {
			x = slices.DeleteFunc(x, func(v float64) bool { return v-v != 0 })
			if slices.ContainsFunc(x, func(v float64) bool { return v != x[0] }) {
				t.spread = varied
			}
		}
	}
	return t.spread == uniform
}

// IsFinite reports whether a value is a number, and no infinity.
func IsFinite(v float64) bool { return v-v == 0 }

// AreFinite reports whether all tensors are known to be finite; false without any. Elements
// are read only if mayRead is true.
func (d *Digests) AreFinite(all []*Tensor, mayRead bool) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(t *Tensor) bool {
		if mayRead {
			return d.finitenessOf(t) != finite
		}
		return t.numbers == notFinite || t.numbers == 0 && t.Digest != ""
	})
}

const (
	// WindowMemory is roughly the memory that judging an event takes, in bytes; see Window.
	WindowMemory = 8 * 8 * Window
	// MemoryBudget is the memory of all events that are judged at the same time, in bytes.
	MemoryBudget = 96 << 20
)

// Cached returns the digest of a tensor if it needs no reading: the dump has it, or it was read before.
func (d *Digests) Cached(t *Tensor) string {
	if t.Digest == "" && t.mark == "" {
		return ""
	}
	return d.Mark(t)
}

package ranks

import (
	"hash/crc32"
	"strconv"

	"dumptool/internal/tensor"
)

// castagnoli is the table of CRC-32C, which processors compute themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// digests finds the digests of tensors: those of the dump, else those of the elements,
// which are read once.
type digests struct {
	*files
	found map[*Tensor]string
	errs  []error
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

// read is the digest of the elements of a tensor.
func (d *digests) read(t *Tensor) (string, bool) {
	if mark, ok := d.found[t]; ok {
		return mark, mark != ""
	}
	mark := ""
	if t.Stored() {
		var crc uint32
		var bytes int
		err := d.each([]*Tensor{t}, 0, t.elements(), func(host []byte, _ tensor.Host, _ int64) error {
			crc = crc32.Update(crc, castagnoli, host)
			bytes += len(host)
			return nil
		})
		if err == nil {
			mark = strconv.FormatUint(uint64(crc), 16) + "/" + itoa(bytes)
		} else {
			d.errs = append(d.errs, err)
		}
	}
	if d.found == nil {
		d.found = make(map[*Tensor]string)
	}
	d.found[t] = mark
	return mark, mark != ""
}

// equal reports whether two tensors are equal, and whether that is known.
func (d *digests) equal(a, b *Tensor) (equal, known bool) {
	if !a.Shape.Equal(b.Shape) {
		return false, true
	}
	marks, ok := d.of(a, b)
	return ok && marks[0] == marks[1], ok
}

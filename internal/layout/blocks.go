package layout

import (
	"context"
	"iter"
	"slices"
)

// BlockElements is how many elements Blocks reads at a time. They fill whole
// bytes even where several share one.
const BlockElements = 64 << 10

// Blocks reads the first n elements of src, of unit bytes each, from front to
// back, in blocks of BlockElements; the last may be shorter. A block lies in the
// memory of buf, which grows as needed, and is valid until the next one. After an
// error, which may be that of ctx, there are no more.
func Blocks(ctx context.Context, src Source, n int64, unit int, buf *[]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for first := int64(0); first < n; first += BlockElements {
			block := buffer(buf, min(BlockElements, n-first)*int64(unit))
			err := ctx.Err()
			if err == nil {
				err = src.ReadElements(block, first)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(block, nil) {
				return
			}
		}
	}
}

// buffer returns n bytes, in the memory of b when it suffices.
func buffer(b *[]byte, n int64) []byte {
	*b = slices.Grow((*b)[:0], int(n))
	return (*b)[:n]
}

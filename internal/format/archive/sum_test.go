package archive

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestStoredIsSummed reads parts of a stored entry in any order, from several goroutines and some
// twice. Verify passes for an intact entry. With a flipped bit all reads fail once the entry has
// been read, by Verify at the latest.
func TestStoredIsSummed(t *testing.T) {
	const size = 40_000
	rapid.Check(t, func(rt *rapid.T) {
		want := noise(size)
		zipped := write(t, file{name: "a.bin", data: want})
		flipped := rapid.Bool().Draw(rt, "flipped")
		if flipped {
			at := bytes.Index(zipped, want[:100]) + rapid.IntRange(0, size-1).Draw(rt, "at")
			zipped[at] ^= 4
		}
		e := &open(t, zipped).Entries[0]
		step := rapid.SampledFrom([]int{size, 9_000, 501, 100}).Draw(rt, "step") // more than maxParts too
		var starts []int
		for at := 0; at < size; at += step {
			starts = append(starts, at, at)
		}
		if rapid.Bool().Draw(rt, "shuffled") {
			rand.New(rand.NewPCG(uint64(step), 1)).Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
		}
		var workers sync.WaitGroup
		for w := range 2 {
			workers.Go(func() {
				data := section(t, e)
				for i := w; i < len(starts); i += 2 {
					p := make([]byte, min(step+7, size-starts[i]))
					n, err := data.ReadAt(p, int64(starts[i]))
					if err == nil && (n < len(p) || !flipped && !bytes.Equal(p, want[starts[i]:][:n])) || err != nil && !flipped {
						t.Errorf("at %d: %d bytes, %v", starts[i], n, err)
					}
				}
			})
		}
		workers.Wait()
		err := e.Verify()
		if flipped != (err != nil) || err != nil && !strings.Contains(err.Error(), `the entry "a.bin" has the CRC-32 `) {
			rt.Fatalf("flipped %v: %v", flipped, err)
		}
		if n, again := section(t, e).ReadAt(make([]byte, 1), 0); flipped && (n > 0 || again == nil) {
			rt.Errorf("read of a damaged entry: %d bytes, %v", n, again)
		}
	})
}

// TestLastReadFails: a sequential read of a whole damaged entry fails with the last bytes; reads of
// a part do not fail.
func TestLastReadFails(t *testing.T) {
	zipped := write(t, file{name: "a", data: []byte("0123456789")})
	zipped[bytes.Index(zipped, []byte("345"))]++
	data := section(t, &open(t, zipped).Entries[0])
	p := make([]byte, 5)
	if n, err := data.ReadAt(p, 0); n != 5 || err != nil {
		t.Errorf("first half: %d bytes, %v", n, err)
	}
	if n, err := data.ReadAt(p, 5); n != 0 || err == nil {
		t.Errorf("second half: %d bytes, %v, want an error", n, err)
	}
}

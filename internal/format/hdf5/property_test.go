package hdf5

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"dumptool/internal/dumptest"
)

// bounded is a file that fails the test on reads outside its size.
type bounded struct {
	t    testing.TB
	data []byte
}

func (b bounded) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(p)) > int64(len(b.data)) {
		b.t.Errorf("read of %d bytes at %d from a file of %d", len(p), off, len(b.data))
	}
	return bytes.NewReader(b.data).ReadAt(p, off)
}

// exercise opens a file and reads the beginning and the end of all its data. Repeated reads must
// give the same bytes, and time must be in proportion to the size of the file.
func exercise(t testing.TB, data []byte) {
	t.Helper()
	start := time.Now()
	defer func() {
		if spent := time.Since(start); spent > 20*time.Second+time.Duration(len(data))*time.Millisecond {
			t.Errorf("%v for a file of %d bytes", spent, len(data))
		}
	}()
	c, err := Open(bounded{t, data}, int64(len(data)))
	if err != nil {
		if c != nil {
			t.Errorf("contents come with the error %v", err)
		}
		var broken *FormatError
		var unsupported *UnsupportedError
		if !errors.As(err, &broken) && !errors.As(err, &unsupported) {
			t.Errorf("error of neither type: %v", err)
		}
		return
	}
	dumptest.CheckContents(t, c)
	const most = 64 << 10
	for i := range c.Tensors {
		tt := &c.Tensors[i]
		if tt.Err != nil {
			continue
		}
		front := make([]byte, min(most, tt.Size))
		if _, err := io.ReadFull(io.NewSectionReader(tt.Data, 0, tt.Size), front); err != nil {
			continue
		}
		if end := make([]byte, min(most, tt.Size)); len(end) > 0 {
			if _, err := tt.Data.ReadAt(end, tt.Size-int64(len(end))); err == nil && tt.Size <= most && !bytes.Equal(front, end) {
				t.Errorf("%s: the second reading gives other data", tt.Name)
			}
		}
	}
}

// TestDamaged flips bytes of golden files, cuts out parts and truncates them: nothing panics, hangs
// or needs memory out of proportion.
func TestDamaged(t *testing.T) {
	for _, path := range goldenFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".h5"), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(uint64(len(data)), 7))
			count := max(20, min(400, 4_000_000/len(data)))
			if testing.Short() {
				count /= 10
			}
			for range count {
				exercise(t, damage(rnd, data))
			}
		})
	}
}

// damage returns a damaged copy of a file, mostly in bytes that are not zero: most bytes are zeros
// and data.
func damage(rnd *rand.Rand, data []byte) []byte {
	b := slices.Clone(data)
	if len(b) == 0 {
		return b
	}
	switch rnd.IntN(10) {
	case 0:
		return b[:rnd.IntN(len(b))]
	case 1:
		at := rnd.IntN(len(b))
		return slices.Delete(b, at, min(len(b), at+1+rnd.IntN(16)))
	}
	for range 1 + rnd.IntN(4) {
		at := rnd.IntN(len(b))
		for range 50 {
			if b[at] != 0 {
				break
			}
			at = rnd.IntN(len(b))
		}
		switch rnd.IntN(4) {
		case 0:
			b[at] ^= 1 << rnd.IntN(8)
		case 1:
			b[at] = byte(rnd.Uint32())
		case 2:
			b[at] = 0xff
		case 3:
			copy(b[at:], b[rnd.IntN(len(b)):][:min(8, len(b)-at, 1)])
		}
	}
	return b
}

// TestChecksums flips every bit of a structure with a checksum: each is detected.
func TestChecksums(t *testing.T) {
	_, data := openGolden(t, "h5/links_latest.h5")
	at := bytes.Index(data, []byte("OHDR"))
	size := int(data[at+6+16]) // 4 timestamps, and a size of one byte
	for i := range size {
		damaged := slices.Clone(data)
		damaged[at+6+17+i] ^= 0x10
		if _, err := Open(bytes.NewReader(damaged), int64(len(damaged))); err == nil || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("byte %d of the root: error %v", i, err)
		}
	}
}

// TestMemory opens the golden files and compares the memory with their size.
func TestMemory(t *testing.T) {
	for _, path := range goldenFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		exercise(t, data)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(data))*40+64<<20 {
			t.Errorf("%s: %d bytes were allocated for a file of %d", path, n, len(data))
		}
	}
}

// FuzzOpen checks the properties of TestDamaged.
func FuzzOpen(f *testing.F) {
	f.Add(hugeElements(f))
	f.Add(manySteps())
	for _, path := range goldenFiles(f) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 20_000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { exercise(t, data) })
}

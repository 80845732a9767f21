package archive

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"dumptool/internal/store"
)

// file is a test entry.
type file struct {
	name   string
	method uint16
	data   []byte
	plain  bool // sizes are in the local header too
}

// write makes a zip file with the standard library.
func write(t testing.TB, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: f.method}
		var to io.Writer
		var err error
		data := f.data
		if f.plain {
			if f.method == methodDeflated {
				data = deflate(t, f.data)
			}
			h.CRC32 = crc32.ChecksumIEEE(f.data)
			h.CompressedSize64, h.UncompressedSize64 = uint64(len(data)), uint64(len(f.data))
			to, err = w.CreateRaw(h)
		} else {
			to, err = w.CreateHeader(h)
		}
		if err == nil {
			_, err = to.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func deflate(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func open(t testing.TB, data []byte) *Archive {
	t.Helper()
	a, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func section(t testing.TB, e *Entry) *io.SectionReader {
	t.Helper()
	data, err := e.Data()
	if err != nil {
		t.Fatalf("%s: %v", e.Name, err)
	}
	return data
}

// noise is data that deflates to about half.
func noise(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(16))
	}
	return b
}

// TestOpen reads files of the standard library.
func TestOpen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var files []file
		for i := range rapid.IntRange(0, 5).Draw(rt, "files") {
			files = append(files, file{
				name:   fmt.Sprint(rapid.StringN(0, 20, -1).Draw(rt, "name"), i),
				method: rapid.SampledFrom([]uint16{methodStored, methodDeflated}).Draw(rt, "method"),
				data:   noise(rapid.IntRange(0, 100000).Draw(rt, "size")),
				plain:  rapid.Bool().Draw(rt, "plain"),
			})
		}
		a := open(t, write(t, files...))
		if len(a.Entries) != len(files) {
			rt.Fatalf("%d entries, want %d", len(a.Entries), len(files))
		}
		for i, f := range files {
			e := &a.Entries[i]
			got, err := io.ReadAll(section(t, e))
			if err != nil || e.Name != f.name || e.Size != int64(len(f.data)) || !bytes.Equal(got, f.data) {
				rt.Errorf("entry %d: %q, %d bytes, want %q, %d bytes; %v", i, e.Name, e.Size, f.name, len(f.data), err)
			}
		}
	})
}

// TestStoredIsPartOfFile checks that the data of a stored entry is a section of the file.
func TestStoredIsPartOfFile(t *testing.T) {
	zipped := write(t, file{name: "a", data: []byte("first")}, file{name: "b", data: []byte("second")})
	data := section(t, &open(t, zipped).Entries[1])
	_, off := store.Origin(data, 0)
	if got := string(zipped[off:][:data.Size()]); got != "second" {
		t.Errorf("at %d: %q", off, got)
	}
}

// TestDeflatedAnyOrder reads parts of an entry larger than the window in random order.
func TestDeflatedAnyOrder(t *testing.T) {
	want := noise(2*window + 4321)
	zipped := write(t, file{name: "a", method: methodDeflated, data: want})
	rapid.Check(t, func(rt *rapid.T) {
		data := section(t, &open(t, zipped).Entries[0])
		for range rapid.IntRange(1, 4).Draw(rt, "reads") {
			off := rapid.IntRange(0, len(want)).Draw(rt, "offset")
			n := rapid.IntRange(0, 200000).Draw(rt, "length")
			got := make([]byte, n)
			m, err := data.ReadAt(got, int64(off))
			if m != min(n, len(want)-off) || m < n && err != io.EOF || m == n && err != nil && err != io.EOF {
				rt.Fatalf("%d bytes at %d of %d: %d, %v", n, off, len(want), m, err)
			}
			if !bytes.Equal(got[:m], want[off:][:m]) {
				rt.Fatalf("%d bytes at %d differ", n, off)
			}
		}
	})
	small := noise(5000)
	data := section(t, &open(t, write(t, file{name: "a", method: methodDeflated, data: small})).Entries[0])
	if err := iotest.TestReader(data, small); err != nil {
		t.Error(err)
	}
}

// TestConcurrentReads reads entries from many goroutines: more entries than streams in the pool,
// more goroutines than entries.
func TestConcurrentReads(t *testing.T) {
	var files []file
	for i := range maxIdle() + 3 {
		files = append(files, file{name: fmt.Sprint(i), method: methodDeflated, data: noise(100000 + i)})
	}
	a := open(t, write(t, files...))
	var wg sync.WaitGroup
	for i := range files {
		data := section(t, &a.Entries[i])
		for g := range 3 {
			wg.Go(func() {
				for off := g * 1000; off < 100000; off += 7000 {
					got := make([]byte, 7000)
					n, err := data.ReadAt(got, int64(off))
					if err != nil && err != io.EOF || !bytes.Equal(got[:n], files[i].data[off:][:n]) {
						t.Errorf("entry %d at %d: %v", i, off, err)
					}
				}
			})
		}
	}
	wg.Wait()
	if n := len(a.pool.idle); n > maxIdle() {
		t.Errorf("%d streams are kept", n)
	}
}

// TestGoesForward counts the bytes read from the file: once for sequential blocks, also if
// neighbours swap places, and again from the front for reads that go far back.
func TestGoesForward(t *testing.T) {
	want := noise(4 * window)
	zipped := write(t, file{name: "a", method: methodDeflated, data: want})
	for name, tt := range map[string]struct {
		at    []int
		times int
	}{
		"forward":   {[]int{0, 1, 2, 3, 4, 5, 6, 7}, 1},
		"exchanged": {[]int{1, 0, 3, 2, 5, 4, 7, 6}, 1},
		"twice":     {[]int{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7}, 2},
	} {
		in := &counter{r: bytes.NewReader(zipped)}
		a, err := Open(in, int64(len(zipped)))
		if err != nil {
			t.Fatal(err)
		}
		data := section(t, &a.Entries[0])
		in.n = 0
		block := make([]byte, window/2)
		for _, i := range tt.at {
			if n, err := data.ReadAt(block, int64(i*len(block))); n < len(block) {
				t.Fatalf("%s: block %d: %v", name, i, err)
			}
		}
		if limit := int64(tt.times)*int64(len(zipped)) + inputSize; in.n > limit {
			t.Errorf("%s: %d bytes were read of a file of %d", name, in.n, len(zipped))
		}
	}
}

type counter struct {
	r io.ReaderAt
	n int64
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

// patch returns zipped with bytes put at an offset from the last occurrence of a signature.
func patch(zipped []byte, signature string, off int, put ...byte) []byte {
	b := bytes.Clone(zipped)
	copy(b[bytes.LastIndex(b, []byte(signature))+off:], put)
	return b
}

// wide replaces the end record of a file by a 64-bit end record.
func wide(zipped []byte, change func(end64, locator []byte)) []byte {
	n := len(zipped) - endLength
	old := zipped[n:]
	end64 := make([]byte, end64Length)
	copy(end64, end64Signature)
	order := binary.LittleEndian
	order.PutUint64(end64[4:], end64Length-12)
	order.PutUint64(end64[24:], uint64(u16(old[8:])))
	order.PutUint64(end64[32:], uint64(u16(old[10:])))
	order.PutUint64(end64[40:], uint64(u32(old[12:])))
	order.PutUint64(end64[48:], uint64(u32(old[16:])))
	locator := make([]byte, locatorLength)
	copy(locator, locatorSignature)
	order.PutUint64(locator[8:], uint64(n))
	order.PutUint32(locator[16:], 1)
	change(end64, locator)
	end := bytes.Clone(old)
	copy(end[8:], strings.Repeat("\xff", 12))
	return slices.Concat(zipped[:n], end64, locator, end)
}

type badFile struct {
	name string
	file []byte
	want string // expected error
}

// malformed are files that cannot be opened, or whose first entry cannot be read.
func malformed(t testing.TB) []badFile {
	t.Helper()
	stored := write(t, file{name: "a", data: []byte("0123456789")})
	deflated := write(t, file{name: "a", method: methodDeflated, data: bytes.Repeat([]byte("0123456789"), 100)})
	ff := bytes.Repeat([]byte{0xff}, 8)
	return []badFile{
		{"empty", nil, "no end record"},
		{"no zip file", []byte(strings.Repeat("x", 100000)), "at 0x186a0: no end record of a zip file in the last 65557 bytes: the file is truncated"},
		{"truncated", stored[:len(stored)-1], "truncated"},
		{"comment is truncated", patch(stored, endSignature, 20, 5), "truncated"},
		{"second disk", patch(stored, endSignature, 4, 1), "several files"},
		{"entries of another disk", patch(stored, endSignature, 8, 2), "several files"},
		{"directory beyond", patch(stored, endSignature, 16, 0xff, 0xff), "has 47 bytes at 0xffff, want it before its end record"},
		{"directory too large", patch(stored, endSignature, 12, 0xff, 0xff), "has 65535 bytes at"},
		{"directory smaller", patch(stored, endSignature, 12, 46), "has 0 more bytes, want 1"},
		{"no directory", patch(stored, endSignature, 16, 0), "found \"PK\\x03\\x04\", want an entry of the directory"},
		{"too many entries", patch(stored, endSignature, 8, 9, 0, 9, 0), "9 entries in a directory of 47 bytes"},
		{"too few entries", patch(stored, endSignature, 8, 0, 0, 0, 0), "47 bytes of the directory follow its 0 entries"},
		{"long name", patch(stored, directorySignature, 28, 9), "has 1 more bytes, want 9"},
		{"entries of 64 bits", wide(stored, func(end, _ []byte) { end[26], end[34] = 0x20, 0x20 }), "2097153 entries are not supported, want at most 1000000"},
		{"disk of 64 bits", wide(stored, func(end, _ []byte) { end[16] = 1 }), "several files"},
		{"directory of 64 bits beyond", wide(stored, func(end, _ []byte) { copy(end[48:], ff) }), "want it before its end record"},
		{"directory of 64 bits too large", wide(stored, func(end, _ []byte) { end[40]++ }), ""},
		{"end of 64 bits beyond", wide(stored, func(_, locator []byte) { copy(locator[8:], ff) }), "is at 0xffffffffffffffff, beyond the file"},
		{"no end of 64 bits", wide(stored, func(_, locator []byte) { locator[8]-- }), "want an end record of 64 bits"},

		{"encrypted", patch(stored, directorySignature, 8, 1), "the entry is encrypted"},
		{"patched", patch(stored, directorySignature, 8, 1<<5), "the entry is a patch"},
		{"bzip2", patch(stored, directorySignature, 10, 12), "compression method 12 (bzip2) is not supported, want stored or deflated"},
		{"unknown method", patch(stored, directorySignature, 10, 200), "compression method 200 is not supported"},
		{"stored with two sizes", patch(stored, directorySignature, 20, 11), "the entry is stored in 11 bytes, but has 10"},
		{"stored beyond", patch(stored, directorySignature, 20, 99, 0, 0, 0, 99), "has 99 bytes of data, but the next part of the file begins after 26 bytes"},
		{"header beyond", patch(stored, directorySignature, 42, 0xff, 0xff, 0xff), "at 0xffffff: the header of the entry overlaps"},
		{"no header", patch(stored, directorySignature, 42, 1), "found \"K\\x03\\x04\\x14\", want the header of an entry"},
		{"another name", patch(stored, localSignature, 30, 'b'), "another name"},
		{"longer header", patch(stored, localSignature, 28, 0xff, 0xff), "overlaps the data after it"},
		{"deflated beyond", patch(deflated, directorySignature, 20, 0xff, 0xff), "has 65535 bytes of data"},
		{"deflated too small", patch(deflated, directorySignature, 24, 0, 0, 0, 0x7f), "the entry has 2130706432 bytes, more than 24 deflated bytes can hold"},
		{"inflates to less", patch(deflated, directorySignature, 24, 0xe9), "the entry inflates to 1000 bytes, want 1001"},
		{"inflates to more", patch(deflated, directorySignature, 24, 0xe7), "the entry inflates to more than 999 bytes"},
		{"deflated ends early", patch(deflated, directorySignature, 20, 10), "the deflated data ends early"},
		{"checksum", patch(deflated, directorySignature, 16, 0, 0, 0, 0), "CRC-32"},
		{"corrupt", patch(deflated, localSignature, 31, 7), "the deflated data is corrupt"},
	}
}

// TestMalformed expects an error with an offset and no result.
func TestMalformed(t *testing.T) {
	for _, tt := range malformed(t) {
		a, err := Open(bytes.NewReader(tt.file), int64(len(tt.file)))
		if err == nil {
			err = readFirst(a)
		} else if a != nil {
			t.Errorf("%s: an archive comes with the error", tt.name)
		}
		checkError(t, tt.name, err, tt.want)
	}
}

func readFirst(a *Archive) error {
	data, err := a.Entries[0].Data()
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, data)
	if _, again := io.Copy(io.Discard, io.NewSectionReader(data, 0, data.Size())); fmt.Sprint(again) != fmt.Sprint(err) {
		return fmt.Errorf("first %w, then %w", err, again)
	}
	return err
}

func checkError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "zip: at 0x") {
		t.Errorf("%s: error %v, want ...%s...", name, err, want)
	}
	var format *FormatError
	var unsupported *UnsupportedError
	if !errors.As(err, &format) && !errors.As(err, &unsupported) {
		t.Errorf("%s: error of type %T", name, err)
	}
}

// TestOverlap reads one of two entries that share their bytes.
func TestOverlap(t *testing.T) {
	zipped := write(t, file{name: "a", data: []byte("one")}, file{name: "a", data: []byte("two")})
	first := bytes.Index(zipped, []byte(directorySignature))
	copy(zipped[first+directoryLength+1:][42:], make([]byte, 4)) // of the second entry, without its extra field
	a := open(t, zipped)
	if got, err := io.ReadAll(section(t, &a.Entries[0])); err != nil || string(got) != "one" {
		t.Errorf("the first is %q, %v", got, err)
	}
	_, err := a.Entries[1].Data()
	checkError(t, "the second", err, "overlaps the next part of the file, at 0x0")
}

// TestWide reads files with 64-bit fields.
func TestWide(t *testing.T) {
	stored := write(t, file{name: "a", data: []byte("0123456789"), plain: true})
	a := open(t, wide(stored, func(_, _ []byte) {}))
	if got, err := io.ReadAll(section(t, &a.Entries[0])); err != nil || string(got) != "0123456789" {
		t.Errorf("%q, %v", got, err)
	}
	for name, tt := range map[string]struct {
		extra []byte
		want  string // expected error, empty for valid fields
	}{
		"all":         {field(1, 10, 10, 0), ""},
		"after other": {append(field(7, 1), field(1, 10, 10, 0)...), ""},
		"no field":    {nil, "stored in 4294967295 bytes"},
		"other field": {field(7, 10, 10, 0), ""},
		"short":       {field(1, 10, 10), "the entry has 16 bytes of 64-bit fields, want more"},
		"huge":        {field(1, 1<<63, 10, 0), "a field of 0x8000000000000000, want less than 63 bits"},
		"cut":         {field(1, 10, 10, 0)[:20], ""},
	} {
		var e Entry
		e.Size, e.packed, e.header = 1<<32-1, 1<<32-1, 1<<32-1
		err := e.read64BitFields(tt.extra, 5)
		switch {
		case name == "no field" || name == "other field" || name == "cut":
			if err != nil || e.Size != 1<<32-1 || e.header != 1<<32-1 {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
		case tt.want != "":
			checkError(t, name, err, tt.want)
		case err != nil || e.Size != 10 || e.packed != 10 || e.header != 0:
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// field is an extra field of 64-bit numbers.
func field(id uint16, values ...uint64) []byte {
	b := binary.LittleEndian.AppendUint16(nil, id)
	b = binary.LittleEndian.AppendUint16(b, uint16(8*len(values)))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// TestReadErrors checks that errors of the file are returned.
func TestReadErrors(t *testing.T) {
	zipped := write(t, file{name: "a", method: methodDeflated, data: noise(1000)})
	disk := errors.New("disk failed")
	for cut := range len(zipped) {
		in := &failing{bytes.NewReader(zipped), int64(cut), disk}
		a, err := Open(in, int64(len(zipped)))
		if err == nil {
			err = readFirst(a)
		}
		if err != nil && !errors.Is(err, disk) {
			t.Errorf("failing at %d: %v", cut, err)
		}
	}
	if _, err := Open(bytes.NewReader(zipped[:10]), int64(len(zipped))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that was cut: %v", err)
	}
}

// failing fails on reads that touch the byte at the given offset.
type failing struct {
	*bytes.Reader
	at  int64
	err error
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if off <= f.at && f.at < off+int64(len(p)) {
		return 0, f.err
	}
	return f.Reader.ReadAt(p, off)
}

// TestMemory bounds the memory for the directory, and for concurrently read entries.
func TestMemory(t *testing.T) {
	var files []file
	for i := range 3 * maxIdle() {
		files = append(files, file{name: fmt.Sprint(i), method: methodDeflated, data: bytes.Repeat([]byte("x"), 2<<20)})
	}
	zipped := write(t, files...)
	used := allocated(func() {
		a := open(t, zipped)
		block := make([]byte, 64<<10)
		for i := range a.Entries {
			data := section(t, &a.Entries[i])
			for off := int64(0); off < a.Entries[i].Size; off += int64(len(block)) {
				if _, err := data.ReadAt(block, off); err != nil && err != io.EOF {
					t.Fatal(err)
				}
			}
		}
	})
	// A stream takes 0.6 MiB; the race detector adds some.
	if limit := uint64(maxIdle()) * 5 << 18; used > limit {
		t.Errorf("%d bytes for %d entries, want at most %d", used, len(files), limit)
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// FuzzOpen compares with the standard library: it must read every entry that Open reads, with the
// same data.
func FuzzOpen(f *testing.F) {
	for _, tt := range malformed(f) {
		f.Add(tt.file)
	}
	f.Add(write(f, file{name: "a.npy", data: noise(300)}, file{name: "b/c.npy", method: methodDeflated, data: noise(3000)}))
	f.Add(wide(write(f, file{name: "a.npy", data: noise(300), plain: true}), func(_, _ []byte) {}))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			if a != nil {
				t.Fatalf("an archive comes with the error %v", err)
			}
			checkError(t, "open", err, "")
			return
		}
		theirs, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil || len(theirs.File) != len(a.Entries) {
			return // it accepts data after the directory, and adds a base to offsets
		}
		for i := range a.Entries {
			compareEntry(t, &a.Entries[i], theirs.File[i])
		}
	})
}

func compareEntry(t *testing.T, e *Entry, theirs *zip.File) {
	t.Helper()
	section, err := e.Data()
	if err != nil {
		checkError(t, e.Name, err, "")
		return
	}
	if e.Size > 1<<20 {
		return
	}
	got, err := io.ReadAll(section)
	if err != nil {
		checkError(t, e.Name, err, "")
		return
	}
	if e.Size == 0 {
		if len(got) > 0 {
			t.Fatalf("%q: %d bytes, want none", e.Name, len(got))
		}
		return // data that deflates to nothing is not inflated here
	}
	in, err := theirs.Open()
	if err != nil {
		t.Fatalf("%q is read here, not there: %v", e.Name, err)
	}
	want, err := io.ReadAll(in)
	if err != nil && !errors.Is(err, zip.ErrChecksum) && !errors.Is(err, zip.ErrFormat) {
		t.Fatalf("%q is read here, not there: %v", e.Name, err)
	}
	if e.Name != theirs.Name || err == nil && !bytes.Equal(got, want) {
		t.Fatalf("%q: %d bytes, want %q: %d bytes", e.Name, len(got), theirs.Name, len(want))
	}
}

func BenchmarkInflate(b *testing.B) {
	zipped := write(b, file{name: "a", method: methodDeflated, data: noise(16 << 20)})
	data := section(b, &open(b, zipped).Entries[0])
	block := make([]byte, 256<<10)
	b.SetBytes(data.Size())
	for b.Loop() {
		for off := int64(0); off < data.Size(); off += int64(len(block)) {
			if _, err := data.ReadAt(block, off); err != nil && err != io.EOF {
				b.Fatal(err)
			}
		}
	}
}

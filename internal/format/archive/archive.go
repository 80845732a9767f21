// Package archive reads the zip files that numpy and PyTorch write: entries that
// are stored or deflated, each by position and without reading the others. It
// differs from archive/zip in what it promises: memory in proportion to the
// directory that is there and not to what the file says of it, data by position,
// and errors that name the place.
//
// The CRC-32 of an entry is that of the bytes that are read, in any order and any parts, and
// is compared when the last one of them has been read: that read fails, and all others after
// it. Entry.Verify reads what is left. Of deflated entries the length is checked too.
//
// The format is described in APPNOTE.TXT 6.3.10 of PKWARE,
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT.
package archive

import (
	"bufio"
	"bytes"
	"compress/flate"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"dumptool/internal/lang"
)

// MaxEntries is how many entries a file may have.
const MaxEntries = 1_000_000

// Archive is a zip file whose directory has been read.
type Archive struct {
	// Entries are in the order of the directory. Names may come twice.
	Entries []Entry

	r    io.ReaderAt
	pool pool
	near near

	mu        sync.Mutex // of sum of all entries
	unchecked bool
}

// Entry is a file in the archive.
type Entry struct {
	// Name is as the file has it, with / between folders: any bytes at all.
	Name string
	// Size is how many bytes of data there are, uncompressed.
	Size int64

	archive *Archive
	packed  int64 // bytes of data as they are in the file
	header  int64 // offset of the entry's own header
	limit   int64 // offset of what follows: another header, or the directory
	crc     uint32
	method  uint16
	flags   uint16
	mode    uint16 // of Unix; 0 where another system made the entry
	sum     *sum   // nil before Data
}

// Stored reports whether the data is in the file as it is.
func (e *Entry) Stored() bool { return e.method == methodStored }

// Encrypted reports whether a password is needed.
func (e *Entry) Encrypted() bool { return e.flags&(flagEncrypted|flagStrongEncrypted|flagMasked) != 0 }

// The kinds of files in the mode of Unix.
const (
	modeKind   = 0xf000
	modeFolder = 0x4000
	modeFile   = 0x8000
)

// Special reports whether the entry is a link, a device or a pipe.
func (e *Entry) Special() bool {
	kind := e.mode & modeKind
	return kind != 0 && kind != modeFolder && kind != modeFile
}

// maxPath is how many bytes a path of Linux may have.
const maxPath = 4095

// CheckSpecial reports data that no link, device or pipe has: its mode was damaged, since the
// CRC-32 of an entry does not cover the directory. Archivers write the path of a link as its data.
func (e *Entry) CheckSpecial() error {
	if e.Size <= maxPath {
		path := make([]byte, e.Size)
		data, err := e.Data()
		if err == nil {
			err = readFull(data, path, 0)
		}
		if err != nil || !bytes.Contains(path, []byte{0}) {
			return err
		}
	}
	return broken(e.header, "the entry %q is no file by its mode 0%o, its %d bytes are no path", e.Name, e.mode, e.Size)
}

// Current are the entries that count, in the order of the directory: of those with one name
// the last one, as archivers add it in place of another. Replaced are names of others.
func (a *Archive) Current() (current []*Entry, replaced []string) {
	seen := make(map[string]bool, len(a.Entries))
	for i := range slices.Backward(a.Entries) {
		e := &a.Entries[i]
		if seen[e.Name] {
			replaced = append(replaced, e.Name)
			continue
		}
		seen[e.Name] = true
		current = append(current, e)
	}
	slices.Reverse(current)
	slices.Sort(replaced)
	return current, slices.Compact(replaced)
}

// Replaced is the warning about names of entries that come more than once, empty for none.
func Replaced(names []string) []lang.Sentence {
	if len(names) == 0 {
		return nil
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return []lang.Sentence{lang.Say("the archive has several entries of a name, the last one is used: %s", lang.FirstNames(quoted))}
}

// Check reports what the directory says that cannot be: sizes, methods, and entries that
// share bytes. Data finds the rest.
func (a *Archive) Check() error {
	for i := range a.Entries {
		e := &a.Entries[i]
		if err := e.check(); err != nil {
			return lang.Errorf("%q: %w", e.Name, err)
		}
		if e.packed > e.limit-localLength-int64(len(e.Name))-e.header {
			return lang.Errorf("%q: %w", e.Name, broken(e.header, "the entry has %d bytes, and what follows it is at 0x%x: they overlap", e.packed, e.limit))
		}
	}
	return nil
}

// FormatError reports a file that is no valid zip file.
type FormatError struct{ lang.Problem }

// Located implements lang.Located.
func (*FormatError) Located() {}

func broken(off int64, format string, args ...any) error {
	return &FormatError{problem(off, format, args)}
}

// UnsupportedError reports a valid zip file, or an entry, that this package does
// not read.
type UnsupportedError struct {
	lang.Problem
	Split bool // the archive is one of several files
}

func unsupported(off int64, format string, args ...any) error {
	return &UnsupportedError{Problem: problem(off, format, args)}
}

func split(off int64) error {
	return &UnsupportedError{problem(off, "an archive of several files is not supported", nil), true}
}

// problem says what is wrong with the bytes at an offset, or not supported.
func problem(off int64, format string, args []any) lang.Problem {
	return lang.Problem{Sentence: lang.Say("zip: at 0x%x: %s", off, lang.Say(format, args...))}
}

// Open reads the directory of a zip file of the given size. The error is a
// *FormatError for a broken or truncated file, an *UnsupportedError, or an error
// of r.
func Open(r io.ReaderAt, size int64) (*Archive, error) {
	end, err := findEnd(r, size)
	if err != nil {
		return nil, err
	}
	a := &Archive{r: r}
	if err := a.readDirectory(end); err != nil {
		return nil, err
	}
	a.setLimits(end.directory)
	return a, nil
}

// The methods of compression that are read, and names of others.
const (
	methodStored   = 0
	methodDeflated = 8
)

var methodNames = map[uint16]string{
	1: "shrunk", 6: "imploded", 9: "deflate64", 12: "bzip2", 14: "LZMA", 20: "zstd", 93: "zstd", 95: "xz", 98: "PPMd", 99: "AES",
}

// Bits of the flags.
const (
	flagEncrypted       = 1 << 0
	flagPatched         = 1 << 5
	flagStrongEncrypted = 1 << 6
	flagMasked          = 1 << 13
)

// maxRatio is how many bytes a deflated byte can become: 258 by two bits.
const maxRatio = 258 * 8 / 2

// Data returns the uncompressed data. Of a stored entry it is a part of the file;
// a deflated one is inflated from front to back, again from the front when a read
// goes back further than 512 KiB. Either way ReadAt may be called by several
// goroutines. The error is a *FormatError, an *UnsupportedError or one of the
// file; the first two are also what reading a deflated entry returns.
func (e *Entry) Data() (*io.SectionReader, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	begin, err := e.begin()
	if err != nil {
		return nil, err
	}
	if e.packed > e.limit-begin {
		return nil, broken(begin, "the entry has %d bytes of data, %d bytes before what follows it", e.packed, e.limit-begin)
	}
	switch {
	case e.method == methodStored && e.archive.unchecked:
		return io.NewSectionReader(e.archive.r, begin, e.Size), nil
	case e.method == methodStored:
		return io.NewSectionReader(&stored{e, begin, e.summed()}, 0, e.Size), nil
	}
	return io.NewSectionReader(&inflater{entry: e, begin: begin, sum: e.summed()}, 0, e.Size), nil
}

// check reports what the directory says that cannot be read or cannot be.
func (e *Entry) check() error {
	switch {
	case e.Encrypted():
		return unsupported(e.header, "the entry is encrypted")
	case e.flags&flagPatched != 0:
		return unsupported(e.header, "the entry is a patch of another file")
	case e.method == methodStored && e.packed != e.Size:
		return broken(e.header, "the entry is stored in %d bytes, but has %d", e.packed, e.Size)
	case e.method == methodDeflated && e.Size/maxRatio > e.packed:
		return broken(e.header, "the entry has %d bytes, more than %d deflated ones can be", e.Size, e.packed)
	case e.method != methodStored && e.method != methodDeflated:
		name := ""
		if known := methodNames[e.method]; known != "" {
			name = " (" + known + ")"
		}
		return unsupported(e.header, "compression method %d%s is not supported, want stored or deflated", e.method, name)
	}
	return nil
}

const (
	// window is how many of the bytes inflated last a stream keeps: two blocks of
	// 65,536 elements of four bytes, for reads that are a little out of order.
	window = 512 << 10
	// inflateSize is how many bytes are inflated at a time.
	inflateSize = 32 << 10
	// inputSize is how many bytes of the file are read at a time.
	inputSize = 64 << 10
)

// inflater reads a deflated entry by position.
type inflater struct {
	entry *Entry
	begin int64 // of the deflated data in the file
	sum   *sum

	mu sync.Mutex // there is one stream
}

// ReadAt implements io.ReaderAt.
func (f *inflater) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, lang.Errorf("zip: read at offset %d", off)
	}
	if err := f.sum.failed(); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	short := error(nil)
	if left := max(0, f.entry.Size-off); int64(len(p)) > left {
		p, short = p[:left], io.EOF
	}
	if len(p) == 0 {
		return 0, short
	}
	s := f.entry.archive.pool.take(f)
	n, err := s.readAt(p, off)
	f.entry.archive.pool.put(s, err == nil)
	if err != nil {
		return n, err
	}
	return n, short
}

// verify inflates all of the entry unless that was done.
func (f *inflater) verify() error {
	if f.entry.Size == 0 {
		return nil
	}
	var last [1]byte
	_, err := f.ReadAt(last[:], f.entry.Size-1)
	return err
}

// stream inflates an entry from front to back.
type stream struct {
	owner *inflater
	in    *bufio.Reader
	out   io.ReadCloser
	pos   int64  // bytes inflated so far
	ring  []byte // the last of them: the byte at position i is at i % len(ring)
	crc   uint32
}

// reset turns to the first byte of the owner.
func (s *stream) reset() {
	packed := io.NewSectionReader(s.owner.entry.archive.r, s.owner.begin, s.owner.entry.packed)
	if s.in == nil {
		s.in = bufio.NewReaderSize(packed, inputSize)
		s.out = flate.NewReader(s.in)
	} else {
		s.in.Reset(packed)
		_ = s.out.(flate.Resetter).Reset(s.in, nil) // never fails
	}
	n := int(min(window, s.owner.entry.Size))
	s.ring = slices.Grow(s.ring[:0], n)[:n]
	s.pos, s.crc = 0, 0
}

// readAt fills p, which lies within the entry.
func (s *stream) readAt(p []byte, off int64) (int, error) {
	size := int64(len(s.ring))
	if off < s.pos-size {
		s.reset()
	}
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= s.pos {
			if err := s.fill(); err != nil {
				return n, err
			}
			continue
		}
		i := at % size
		n += copy(p[n:], s.ring[i:min(size, i+s.pos-at)])
	}
	return n, nil
}

// fill inflates the next bytes.
func (s *stream) fill() error {
	e := s.owner.entry
	i := s.pos % int64(len(s.ring))
	part := s.ring[i:min(int64(len(s.ring)), i+inflateSize, i+e.Size-s.pos)]
	n, err := s.out.Read(part)
	s.crc = crc32.Update(s.crc, crc32.IEEETable, part[:n])
	s.pos += int64(n)
	switch {
	case s.pos == e.Size:
		return s.end()
	case err == io.EOF:
		return broken(s.owner.begin, "the entry inflates to %d bytes, want %d", s.pos, e.Size)
	}
	return s.wrap(err)
}

// end checks that the deflated data ends with the entry, and the entry itself.
func (s *stream) end() error {
	e := s.owner.entry
	var more [1]byte
	switch n, err := io.ReadFull(s.out, more[:]); {
	case n > 0:
		return broken(s.owner.begin, "the entry inflates to more than %d bytes", e.Size)
	case err != io.EOF:
		return s.wrap(err)
	}
	return s.owner.sum.settle(e.compare(s.owner.begin, s.crc))
}

// wrap says where in the file inflating failed.
func (s *stream) wrap(err error) error {
	if corrupt, ok := errors.AsType[flate.CorruptInputError](err); ok {
		return broken(s.owner.begin+int64(corrupt), "the deflated data is corrupt")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return broken(s.owner.begin+s.owner.entry.packed, "the deflated data ends early: %d of %d bytes are there", s.pos, s.owner.entry.Size)
	}
	return err
}

// pool keeps the streams that are not in use, so that the next read of an entry
// goes on where the last one stopped: some, since each takes 700 KiB.
type pool struct {
	mu   sync.Mutex
	idle []*stream // the one used last is the last
}

// maxIdle is enough for two entries a worker.
func maxIdle() int { return max(16, 2*runtime.GOMAXPROCS(0)) }

// take returns the stream of an entry, or one at its first byte.
func (p *pool) take(owner *inflater) *stream {
	p.mu.Lock()
	i := slices.IndexFunc(p.idle, func(s *stream) bool { return s.owner == owner })
	s := &stream{}
	switch {
	case i >= 0:
		s = p.idle[i]
		p.idle = slices.Delete(p.idle, i, i+1)
	case len(p.idle) == maxIdle():
		s = p.idle[0]
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.mu.Unlock()
	if s.owner != owner {
		s.owner = owner
		s.reset()
	}
	return s
}

// put takes a stream back. One that failed is not used again: the error comes
// again where the entry is read again.
func (p *pool) put(s *stream, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		return
	}
	if len(p.idle) == maxIdle() {
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.idle = append(p.idle, s)
}

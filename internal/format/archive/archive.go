// Package archive reads the zip files that numpy and PyTorch write: stored or deflated entries,
// each by position and without reading the other entries. Its guarantees go beyond archive/zip:
// memory in proportion to the directory in the file, not to the sizes that the file claims; random
// access to data; and errors with an offset.
//
// The CRC-32 of an entry is computed from the bytes that are read, in any order and any parts, and
// compared after the last byte: if it differs, that read and all later reads fail. Entry.Verify
// reads the unread rest. The length of deflated entries is checked too.
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

// MaxEntries is the maximum number of entries in a file.
const MaxEntries = 1_000_000

// Archive is a zip file with its directory.
type Archive struct {
	// Entries are in the order of the directory. Names may occur twice.
	Entries []Entry

	r    io.ReaderAt
	pool pool
	near headerCache

	mu        sync.Mutex // guards sum of all entries
	unchecked bool
}

// Entry is a file in the archive.
type Entry struct {
	// Name has / between folders and may hold any bytes, as in the file.
	Name string
	// Size is the number of uncompressed bytes.
	Size int64

	archive *Archive
	packed  int64 // bytes of data in the file
	header  int64 // offset of the local header
	limit   int64 // offset of the next header, or of the directory
	crc     uint32
	method  uint16
	flags   uint16
	mode    uint16 // Unix mode; 0 for entries made on other systems
	sum     *sum   // nil before Data
}

// IsStored reports whether the data is not compressed.
func (e *Entry) IsStored() bool { return e.method == methodStored }

// IsEncrypted reports whether the entry needs a password.
func (e *Entry) IsEncrypted() bool {
	return e.flags&(flagEncrypted|flagStrongEncrypted|flagMasked) != 0
}

// The file types in the Unix mode.
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

// maxPath is the maximum length of a Linux path, in bytes.
const maxPath = 4095

// CheckSpecial returns an error if the data contradicts the mode of a link, device or pipe. The
// mode may be damaged, because the CRC-32 does not cover the directory. Archivers write the path of
// a link as its data.
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
	return formatError(e.header, "the entry %q is no file by its mode 0%o, its %d bytes are no path", e.Name, e.mode, e.Size)
}

// Current returns the valid entries in the order of the directory: the last entry of each name, because archivers
// append new versions. replaced lists the names with older entries.
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

// WarnOfReplaced returns the warning about names with several entries, empty for none.
func WarnOfReplaced(names []string) []lang.Sentence {
	if len(names) == 0 {
		return nil
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return []lang.Sentence{lang.Say("the archive has several entries of a name, the last one is used: %s", lang.FirstNames(quoted))}
}

// Check returns an error for impossible sizes, unsupported methods, and overlapping entries in the
// directory. Data finds the other errors.
func (a *Archive) Check() error {
	for i := range a.Entries {
		e := &a.Entries[i]
		if err := e.check(); err != nil {
			return lang.Errorf("%q: %w", e.Name, err)
		}
		if e.packed > e.limit-localLength-int64(len(e.Name))-e.header {
			return lang.Errorf("%q: %w", e.Name, formatError(e.header, "the entry has %d bytes and overlaps the next part of the file, at 0x%x", e.packed, e.limit))
		}
	}
	return nil
}

// FormatError is the error of an invalid zip file.
type FormatError struct{ lang.Problem }

// Located implements lang.Located.
func (*FormatError) Located() {}

func formatError(off int64, format string, args ...any) error {
	return &FormatError{newProblem(off, format, args)}
}

// UnsupportedError is the error of a valid zip file, or an entry, that this package cannot read.
type UnsupportedError struct {
	lang.Problem
	Split bool // the archive is split into several files
}

func unsupported(off int64, format string, args ...any) error {
	return &UnsupportedError{Problem: newProblem(off, format, args)}
}

func splitRanges(off int64) error {
	return &UnsupportedError{newProblem(off, "an archive of several files is not supported", nil), true}
}

// newProblem is an error about the bytes at an offset.
func newProblem(off int64, format string, args []any) lang.Problem {
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

// The supported methods of compression, and names of others.
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

// maxRatio is the maximum number of bytes from one deflated byte: 258 from two bits.
const maxRatio = 258 * 8 / 2

// Data returns the uncompressed data. A stored entry is a section of the file; a deflated one is
// inflated from front to back, and again from the front when a read goes back more than 512 KiB.
// Several goroutines may call ReadAt. The error is a *FormatError, an *UnsupportedError or an error
// of the file; reads of a deflated entry return the first two as well.
func (e *Entry) Data() (*io.SectionReader, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	begin, err := e.dataOffset()
	if err != nil {
		return nil, err
	}
	if e.packed > e.limit-begin {
		return nil, formatError(begin, "the entry has %d bytes of data, but the next part of the file begins after %d bytes", e.packed, e.limit-begin)
	}
	switch {
	case e.method == methodStored && e.archive.unchecked:
		return io.NewSectionReader(e.archive.r, begin, e.Size), nil
	case e.method == methodStored:
		return io.NewSectionReader(&storedReader{e, begin, e.sharedSum()}, 0, e.Size), nil
	}
	return io.NewSectionReader(&inflater{entry: e, begin: begin, sum: e.sharedSum()}, 0, e.Size), nil
}

// check returns an error for impossible or unsupported values in the directory.
func (e *Entry) check() error {
	switch {
	case e.IsEncrypted():
		return unsupported(e.header, "the entry is encrypted")
	case e.flags&flagPatched != 0:
		return unsupported(e.header, "the entry is a patch of another file")
	case e.method == methodStored && e.packed != e.Size:
		return formatError(e.header, "the entry is stored in %d bytes, but has %d", e.packed, e.Size)
	case e.method == methodDeflated && e.Size/maxRatio > e.packed:
		return formatError(e.header, "the entry has %d bytes, more than %d deflated bytes can hold", e.Size, e.packed)
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
	// window is the number of inflated bytes that a stream keeps: two blocks of 65,536 elements of
	// four bytes, for reads that are slightly out of order.
	window = 512 << 10
	// inflateSize is the number of bytes inflated at a time.
	inflateSize = 32 << 10
	// inputSize is the number of bytes read from the file at a time.
	inputSize = 64 << 10
)

// inflater reads a deflated entry by position.
type inflater struct {
	entry *Entry
	begin int64 // offset of the deflated data in the file
	sum   *sum

	mu sync.Mutex // guards the stream
}

// ReadAt implements io.ReaderAt.
func (f *inflater) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, lang.Errorf("zip: read at offset %d", off)
	}
	if err := f.sum.result(); err != nil {
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

// verify inflates the rest of the entry.
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
	pos   int64  // number of inflated bytes
	ring  []byte // the last inflated bytes: byte i is at i % len(ring)
	crc   uint32
}

// reset makes the stream start again at the first byte of its owner.
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
			if err := s.inflate(); err != nil {
				return n, err
			}
			continue
		}
		i := at % size
		n += copy(p[n:], s.ring[i:min(size, i+s.pos-at)])
	}
	return n, nil
}

// inflate inflates the next bytes.
func (s *stream) inflate() error {
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
		return formatError(s.owner.begin, "the entry inflates to %d bytes, want %d", s.pos, e.Size)
	}
	return s.wrapError(err)
}

// end checks that the deflated data ends with the entry, and compares the CRC-32.
func (s *stream) end() error {
	e := s.owner.entry
	var more [1]byte
	switch n, err := io.ReadFull(s.out, more[:]); {
	case n > 0:
		return formatError(s.owner.begin, "the entry inflates to more than %d bytes", e.Size)
	case err != io.EOF:
		return s.wrapError(err)
	}
	return s.owner.sum.decide(e.compare(s.owner.begin, s.crc))
}

// wrapError adds the offset in the file to an inflate error.
func (s *stream) wrapError(err error) error {
	if corrupt, ok := errors.AsType[flate.CorruptInputError](err); ok {
		return formatError(s.owner.begin+int64(corrupt), "the deflated data is corrupt")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return formatError(s.owner.begin+s.owner.entry.packed, "the deflated data ends early: %d of %d bytes are there", s.pos, s.owner.entry.Size)
	}
	return err
}

// pool keeps some idle streams, so that the next read of an entry continues where the last one
// stopped. A stream takes 700 KiB.
type pool struct {
	mu   sync.Mutex
	idle []*stream // least recently used first
}

// maxIdle is the number of idle streams, enough for two entries per worker.
func maxIdle() int { return max(16, 2*runtime.GOMAXPROCS(0)) }

// take returns the stream of an entry, or a new one at its first byte.
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

// put returns a stream to the pool. A failed stream is dropped: reading the entry again repeats the
// error.
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

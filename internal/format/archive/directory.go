package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"sync"

	"dumptool/internal/lang"
)

// The records of a zip file begin with a signature. The lengths are without the variable parts.
const (
	localSignature     = "PK\x03\x04"
	directorySignature = "PK\x01\x02"
	endSignature       = "PK\x05\x06"
	end64Signature     = "PK\x06\x06"
	locatorSignature   = "PK\x06\x07"

	localLength     = 30
	directoryLength = 46
	endLength       = 22
	end64Length     = 56
	locatorLength   = 20
)

const maxComment = math.MaxUint16

// systemUnix is the system code of entries with a Unix mode.
const systemUnix = 3

// endRecord describes the directory, from the end of a file.
type endRecord struct {
	directory, size int64 // size in bytes
	entries         uint64
}

// findEnd reads the end record, which only a comment may follow, and the 64-bit end record if there
// is one.
func findEnd(r io.ReaderAt, size int64) (endRecord, error) {
	tail := make([]byte, max(0, min(size, endLength+maxComment)))
	if err := readFull(r, tail, size-int64(len(tail))); err != nil {
		return endRecord{}, err
	}
	for i := len(tail) - endLength; i >= 0; i-- {
		b := tail[i:]
		if !bytes.HasPrefix(b, []byte(endSignature)) || endLength+int(u16(b[20:])) > len(b) {
			continue
		}
		return parseEnd(r, b, size-int64(len(b)))
	}
	return endRecord{}, formatError(size, "no end record of a zip file in the last %d bytes: the file is truncated", len(tail))
}

// parseEnd parses the end record b at offset at.
func parseEnd(r io.ReaderAt, b []byte, at int64) (endRecord, error) {
	disk, first, here := u16(b[4:]), u16(b[6:]), u16(b[8:])
	e := endRecord{int64(u32(b[16:])), int64(u32(b[12:])), uint64(u16(b[10:]))}
	if e.entries == math.MaxUint16 || e.size == math.MaxUint32 || e.directory == math.MaxUint32 {
		found, wide, err := findEnd64(r, at)
		if err != nil {
			return endRecord{}, err
		}
		if found >= 0 {
			return wide, wide.check(found)
		}
	}
	if disk != 0 || first != 0 || uint64(here) != e.entries {
		return endRecord{}, splitRanges(at)
	}
	return e, e.check(at)
}

// findEnd64 reads the 64-bit end record. A locator before the end record at offset at points to it.
// It returns the offset, -1 for none.
func findEnd64(r io.ReaderAt, at int64) (int64, endRecord, error) {
	if at < locatorLength+end64Length {
		return -1, endRecord{}, nil
	}
	var b [end64Length]byte
	if err := readFull(r, b[:locatorLength], at-locatorLength); err != nil {
		return 0, endRecord{}, err
	}
	if !bytes.HasPrefix(b[:], []byte(locatorSignature)) {
		return -1, endRecord{}, nil
	}
	place := binary.LittleEndian.Uint64(b[8:])
	if place > uint64(at-locatorLength-end64Length) {
		return 0, endRecord{}, formatError(at-locatorLength, "the end record of 64 bits is at 0x%x, beyond the file", place)
	}
	found := int64(place)
	if err := readFull(r, b[:], found); err != nil {
		return 0, endRecord{}, err
	}
	if !bytes.HasPrefix(b[:], []byte(end64Signature)) {
		return 0, endRecord{}, formatError(found, "found %q, want an end record of 64 bits", b[:4])
	}
	here, entries := u64(b[24:]), u64(b[32:])
	if u32(b[16:]) != 0 || u32(b[20:]) != 0 || here != entries {
		return 0, endRecord{}, splitRanges(found)
	}
	size, directory := u64(b[40:]), u64(b[48:])
	if size > uint64(found) || directory > uint64(found) {
		return 0, endRecord{}, formatError(found, "the directory has %d bytes at 0x%x, want it before its end record", size, directory)
	}
	return found, endRecord{int64(directory), int64(size), entries}, nil
}

// check compares the size and offset of the directory with the end record at offset at.
func (e endRecord) check(at int64) error {
	switch {
	case e.size > at || e.directory > at-e.size:
		return formatError(at, "the directory has %d bytes at 0x%x, want it before its end record", e.size, e.directory)
	case e.entries > MaxEntries:
		return unsupported(at, "%d entries are not supported, want at most %d", e.entries, MaxEntries)
	case e.entries > uint64(e.size/directoryLength):
		return formatError(at, "%d entries in a directory of %d bytes", e.entries, e.size)
	}
	return nil
}

// readDirectory reads the entries.
func (a *Archive) readDirectory(e endRecord) error {
	in := bufio.NewReaderSize(io.NewSectionReader(a.r, e.directory, e.size), 64<<10)
	d := directory{in: in, at: e.directory, left: e.size}
	a.Entries = make([]Entry, 0, e.entries)
	for range e.entries {
		entry, err := d.nextEntry()
		if err != nil {
			return err
		}
		entry.archive = a
		a.Entries = append(a.Entries, entry)
	}
	if d.left > 0 {
		return formatError(d.at, "%d bytes of the directory follow its %d entries", d.left, e.entries)
	}
	return nil
}

// directory reads entries of the directory one after the other.
type directory struct {
	in       *bufio.Reader
	at, left int64 // offset of the next record, and bytes from there
	buf      []byte
}

// nextBytes returns the next n bytes, which are valid until the next call.
func (d *directory) nextBytes(n int) ([]byte, error) {
	if int64(n) > d.left {
		return nil, formatError(d.at, "the directory has %d more bytes, want %d", d.left, n)
	}
	d.buf = slices.Grow(d.buf[:0], n)[:n]
	if _, err := io.ReadFull(d.in, d.buf); err != nil {
		return nil, lang.Errorf("zip: read the directory: %w", asUnexpectedEOF(err))
	}
	d.at, d.left = d.at+int64(n), d.left-int64(n)
	return d.buf, nil
}

func (d *directory) nextEntry() (Entry, error) {
	at := d.at
	b, err := d.nextBytes(directoryLength)
	if err != nil {
		return Entry{}, err
	}
	if !bytes.HasPrefix(b, []byte(directorySignature)) {
		return Entry{}, formatError(at, "found %q, want an entry of the directory", b[:4])
	}
	e := Entry{
		flags: u16(b[8:]), method: u16(b[10:]), crc: u32(b[16:]),
		packed: int64(u32(b[20:])), Size: int64(u32(b[24:])), header: int64(u32(b[42:])),
	}
	if b[5] == systemUnix {
		e.mode = u16(b[40:])
	}
	name, extra, comment := int(u16(b[28:])), int(u16(b[30:])), int(u16(b[32:]))
	if b, err = d.nextBytes(name + extra + comment); err != nil {
		return Entry{}, err
	}
	e.Name = string(b[:name])
	return e, e.read64BitFields(b[name:name+extra], at)
}

// read64BitFields reads the 64-bit fields in the extra fields of the directory entry at offset at.
func (e *Entry) read64BitFields(extra []byte, at int64) error {
	const id64 = 1
	for len(extra) >= 4 {
		id, n := u16(extra), int(u16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			return nil // other extra fields have no fixed form
		}
		if id != id64 {
			extra = extra[n:]
			continue
		}
		wide := extra[:n]
		for _, field := range []*int64{&e.Size, &e.packed, &e.header} {
			if *field != math.MaxUint32 {
				continue
			}
			if len(wide) < 8 {
				return formatError(at, "the entry has %d bytes of 64-bit fields, want more", n)
			}
			if u64(wide) > math.MaxInt64 {
				return formatError(at, "the entry has a field of 0x%x, want less than 63 bits", u64(wide))
			}
			*field, wide = int64(u64(wide)), wide[8:]
		}
		return nil
	}
	return nil
}

// setLimits sets the offset of the next header for every entry, so that entries cannot overlap. If
// several entries have the same header, only the first has data.
func (a *Archive) setLimits(directory int64) {
	order := make([]int32, len(a.Entries))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(a.Entries[i].header, a.Entries[j].header), cmp.Compare(j, i))
	})
	limit := directory
	for _, i := range slices.Backward(order) {
		a.Entries[i].limit = limit
		limit = min(limit, a.Entries[i].header)
	}
}

// dataOffset returns the offset of an entry's data, after its local header.
func (e *Entry) dataOffset() (int64, error) {
	if e.header > e.limit-localLength-int64(len(e.Name)) {
		return 0, formatError(e.header, "the header of the entry overlaps the next part of the file, at 0x%x", e.limit)
	}
	b, err := e.archive.near.read(e.archive.r, e.header, localLength+len(e.Name))
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(b, []byte(localSignature)) {
		return 0, formatError(e.header, "found %q, want the header of an entry", b[:4])
	}
	name, extra := int64(u16(b[26:])), int64(u16(b[28:]))
	if name != int64(len(e.Name)) || string(b[localLength:]) != e.Name {
		return 0, formatError(e.header, "the entry has another name here than in the directory")
	}
	begin := e.header + localLength + name + extra
	if begin > e.limit {
		return 0, formatError(e.header, "the header of the entry overlaps the data after it at 0x%x", e.limit)
	}
	return begin, nil
}

// nearBytes is the number of bytes read for a local header: headers of small entries, of which
// there may be many, lie close together.
const nearBytes = 8 << 10

// headerCache caches the part of the file that was read for a header.
type headerCache struct {
	mu   sync.Mutex
	data []byte
	off  int64
}

// read returns a copy of n bytes from off on.
func (c *headerCache) read(r io.ReaderAt, off int64, n int) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if skip := off - c.off; skip < 0 || skip > int64(len(c.data)-n) {
		size := max(n, nearBytes)
		c.data = slices.Grow(c.data[:0], size)[:size]
		got, err := r.ReadAt(c.data, off)
		if c.data, c.off = c.data[:got], off; got < n {
			return nil, shortRead(off, got, n, err)
		}
	}
	return slices.Clone(c.data[off-c.off:][:n]), nil
}

// readFull fills p from offset off. Data that ends early is an error.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	if n, err := r.ReadAt(p, off); n < len(p) {
		return shortRead(off, n, len(p), err)
	}
	return nil
}

// shortRead is the error of a read that got fewer bytes than wanted.
func shortRead(off int64, got, want int, err error) error {
	if lang.IsLocated(err) {
		return err
	}
	return lang.Errorf("zip: at 0x%x: read %d bytes, want %d: %w", off, got, want, asUnexpectedEOF(err))
}

// asUnexpectedEOF replaces io.EOF by io.ErrUnexpectedEOF.
func asUnexpectedEOF(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func u16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

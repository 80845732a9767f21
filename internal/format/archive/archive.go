// Package archive reads the zip files that numpy and PyTorch write: entries that
// are stored or deflated, each by position and without reading the others. It
// differs from archive/zip in what it promises: memory in proportion to the
// directory that is there and not to what the file says of it, data by position,
// and errors that name the place.
//
// Of deflated entries, length and CRC-32 are checked when the last byte is read.
// The CRC-32 of a stored entry is not checked: its data is not read by this
// package, but by whoever uses it, in any order and any parts.
//
// The format is described in APPNOTE.TXT 6.3.10 of PKWARE,
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT.
package archive

import (
	"io"

	"dumptool/internal/lang"
)

// MaxEntries is how many entries a file may have.
const MaxEntries = 1 << 20

// Archive is a zip file whose directory has been read.
type Archive struct {
	// Entries are in the order of the directory. Names may come twice.
	Entries []Entry

	r    io.ReaderAt
	pool pool
	near near
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
type FormatError struct {
	Off     int64 // byte offset of the place at fault
	Problem lang.Sentence
}

// Error returns the text of the error.
func (e *FormatError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *FormatError) Text() lang.Text { return lang.Say("zip: at 0x%x: %s", e.Off, e.Problem).Text() }

func broken(off int64, format string, args ...any) error {
	return &FormatError{off, lang.Say(format, args...)}
}

// UnsupportedError reports a valid zip file, or an entry, that this package does
// not read.
type UnsupportedError struct {
	Off     int64 // byte offset of what is not supported
	Problem lang.Sentence
}

// Error returns the text of the error.
func (e *UnsupportedError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *UnsupportedError) Text() lang.Text {
	return lang.Say("zip: at 0x%x: %s", e.Off, e.Problem).Text()
}

func unsupported(off int64, format string, args ...any) error {
	return &UnsupportedError{off, lang.Say(format, args...)}
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
	if e.method == methodStored {
		return io.NewSectionReader(e.archive.r, begin, e.Size), nil
	}
	return io.NewSectionReader(&inflater{entry: e, begin: begin}, 0, e.Size), nil
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

package bundle

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"

	"dumptool/internal/format/archive"
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// minZipSize is the size of a zip file without entries.
const minZipSize = 22

// readZip lists the files of a zip archive, unless it is a file of tensors.
func (b *Bundle) readZip(name string) (bool, error) {
	zip, err := archive.Open(b.file, b.file.Size())
	var unsupported *archive.UnsupportedError
	switch {
	case errors.As(err, &unsupported) && unsupported.Split:
		return false, b.unpackError(split, "7z x")
	case errors.As(err, &unsupported) && strings.HasSuffix(name, ".zip"):
		return false, b.refusedError(err)
	case err != nil && strings.HasSuffix(name, ".zip") && b.file.Size() >= minZipSize:
		return false, b.refusedError(err)
	case err != nil:
		return false, nil //nolint:nilerr // the reader of tensors reports the error
	}
	entries := make([]string, len(zip.Entries))
	for i := range zip.Entries {
		entries[i] = zip.Entries[i].Name
	}
	if b.opt.Tensors != nil && b.opt.Tensors(name, entries) {
		return false, nil
	}
	for i := range zip.Entries {
		if zip.Entries[i].IsEncrypted() {
			return false, b.unpackError(encrypted, "unzip")
		}
	}
	if err := zip.Check(); errors.As(err, &unsupported) {
		return false, b.unpackError(method, "7z x")
	} else if err != nil {
		return false, b.refusedError(err)
	}
	for i := range zip.Entries {
		b.addEntry(&zip.Entries[i])
	}
	return true, nil
}

// addEntry adds a file of a zip archive.
func (b *Bundle) addEntry(e *archive.Entry) {
	m := &member{size: e.Size, entry: e}
	if e.Special() {
		if m.damage = e.CheckSpecial(); m.damage == nil {
			b.noteOmitted(e.Name, specialReason)
			return
		}
	}
	b.add(e.Name, strings.HasSuffix(e.Name, "/"), m)
}

// RefusedError is the error of a damaged or inconsistent archive.
type RefusedError struct {
	Path string
	Err  error
}

// Error returns the message in English.
func (e *RefusedError) Error() string { return e.Text().String() }

// Text returns the message in both languages.
func (e *RefusedError) Text() lang.Text {
	return lang.Say("%s: the archive is not used: %v", e.Path, e.Err).Text()
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// refusedError returns a RefusedError.
func (b *Bundle) refusedError(err error) error { return &RefusedError{b.path, err} }

// maxInflated is the largest file, in bytes, that is inflated in memory. The first headerBytes bytes, enough for a
// header, are read without inflating the rest.
const (
	maxInflated = 8 << 20
	headerBytes = 64 << 10
)

// inflatedFile is the source of a file of a zip archive.
type inflatedFile struct {
	bundle *Bundle
	member *member
	name   string

	once sync.Once
	data *io.SectionReader // decoder of the entry
	err  error

	whole sync.Once
	from  io.ReaderAt // the whole data, inflated
	fault error
}

// Size implements store.Source.
func (s *inflatedFile) Size() int64 { return s.member.size }

// ID implements store.Source.
func (s *inflatedFile) ID() string { return s.bundle.path + store.Mark + s.name }

// Close implements store.Source: the archive stays open.
func (*inflatedFile) Close() error { return nil }

// Verify compares the file with its CRC-32.
func (s *inflatedFile) Verify() error { return s.member.entry.Verify() }

// ReadAt implements io.ReaderAt.
func (s *inflatedFile) ReadAt(p []byte, off int64) (int, error) {
	s.once.Do(func() { s.data, s.err = s.member.entry.Data() })
	switch {
	case s.err != nil:
		return 0, s.err
	case s.member.entry.IsStored() || off+int64(len(p)) <= headerBytes && s.from == nil:
		return s.data.ReadAt(p, off)
	}
	s.whole.Do(func() { s.from, s.fault = s.unpack() })
	if s.fault != nil {
		return 0, s.fault
	}
	return s.from.ReadAt(p, off)
}

// unpack inflates the whole data: a small file for this source only, a large file once for all
// sources.
func (s *inflatedFile) unpack() (io.ReaderAt, error) {
	m := s.member
	if m.size <= maxInflated {
		data := make([]byte, m.size)
		_, err := io.ReadFull(io.NewSectionReader(s.data, 0, m.size), data)
		return bytes.NewReader(data), err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.from == nil {
		from, err := s.bundle.scratch.add(s.data, m.size)
		if err != nil {
			return nil, err
		}
		m.from = from
	}
	return m.from, nil
}

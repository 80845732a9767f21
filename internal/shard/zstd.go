package shard

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/zstd"

	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// Ending is what the name of a document ends with that is compressed by zstd (RFC 8878).
const Ending = ".zst"

// maxWindow is the most that the reader of a compressed document keeps of what was read:
// that of the highest level of zstd that needs no word of its own.
const maxWindow = 8 << 20

// magic is the beginning of a frame of zstd.
const magic = "\x28\xb5\x2f\xfd"

// Open opens a document, which may be compressed, whatever its name is.
func Open(path string) (io.ReadCloser, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(file, 64<<10)
	if head, _ := in.Peek(len(magic)); string(head) != magic {
		return opened{in, file.Close, file}, nil
	}
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		_ = file.Close() // it was opened for reading
		return nil, lang.Errorf("%s: %w", path, err)
	}
	return opened{z, func() error {
		z.Close()
		return file.Close()
	}, nil}, nil
}

// OpenAt opens a document at an offset of its text. One that is compressed is read up to it.
func OpenAt(path string, offset int64) (io.ReadCloser, error) {
	in, err := Open(path)
	if err != nil {
		return nil, err
	}
	o := in.(opened)
	if o.plain != nil {
		o.Reader = io.NewSectionReader(o.plain, offset, o.plain.Size()-offset)
		return o, nil
	}
	if _, err := io.CopyN(io.Discard, o, offset); err != nil {
		_ = o.Close() // it was opened for reading
		return nil, lang.Errorf("%s: %w", path, err)
	}
	return o, nil
}

// opened is an open document.
type opened struct {
	io.Reader
	close func() error
	plain safefile.Input // nil for one that is compressed
}

// Close implements io.Closer.
func (o opened) Close() error { return o.close() }

// Compress writes what render does, compressed.
func Compress(w io.Writer, render func(io.Writer) error) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	if err := render(z); err != nil {
		return err
	}
	return z.Close()
}

// Named is the path of a document that is at path, or compressed beside it; path where there
// is neither.
func Named(path string) string {
	if _, err := store.Stat(path + Ending); err == nil {
		return path + Ending
	}
	return path
}

// RemoveOther removes the document of the same shard in the other form, which an earlier
// attempt left.
func RemoveOther(path string) error {
	other, compressed := strings.CutSuffix(path, Ending)
	if !compressed {
		other = path + Ending
	}
	if err := store.Remove(other); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

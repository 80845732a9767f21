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
func Open(path string) (io.ReadCloser, error) { return OpenAt(path, 0) }

// OpenAt opens a document at an offset of its text. One that is compressed and has no seek
// table is read up to it.
func OpenAt(path string, offset int64) (io.ReadCloser, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	in, err := openAt(file, offset)
	if err != nil {
		_ = file.Close() // it was opened for reading
		return nil, lang.Errorf("%s: %w", path, err)
	}
	return in, nil
}

func openAt(file safefile.Input, offset int64) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(file, 64<<10)
	if head, _ := in.Peek(len(magic)); string(head) != magic {
		if offset == 0 {
			return opened{in, file.Close}, nil
		}
		return opened{io.NewSectionReader(file, offset, file.Size()-offset), file.Close}, nil
	}
	if at, text := frameAt(file, offset); at > 0 {
		offset -= text
		in.Reset(io.NewSectionReader(file, at, file.Size()-at))
	}
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	o := opened{z, func() error {
		z.Close()
		return file.Close()
	}}
	if _, err := io.CopyN(io.Discard, z, offset); err != nil {
		z.Close()
		return nil, err
	}
	return o, nil
}

// opened is an open document.
type opened struct {
	io.Reader
	close func() error
}

// Close implements io.Closer.
func (o opened) Close() error { return o.close() }

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

package shard

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/zstd"

	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// Ending is the file name extension of a document compressed by zstd (RFC 8878).
const Ending = ".zst"

// maxWindow is the largest window of the decompressor: the window of zstd's highest level that
// needs no special option.
const maxWindow = 8 << 20

// frameMagic begins a zstd frame.
const frameMagic = "\x28\xb5\x2f\xfd"

// Open opens a document, compressed or not; its content decides.
func Open(path string) (io.ReadCloser, error) { return OpenAt(path, 0) }

// OpenAt opens a document at an offset of its text. A compressed document without a seek table is
// read up to it.
func OpenAt(path string, offset int64) (io.ReadCloser, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	in, err := openAt(file, offset)
	if err != nil {
		_ = file.Close() // read only
		return nil, lang.Errorf("%s: %w", path, err)
	}
	return in, nil
}

func openAt(file safefile.Input, offset int64) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(file, 64<<10)
	if head, _ := in.Peek(len(frameMagic)); string(head) != frameMagic {
		if offset == 0 {
			return openDocument{in, file.Close}, nil
		}
		return openDocument{io.NewSectionReader(file, offset, file.Size()-offset), file.Close}, nil
	}
	if at, text := frameAt(file, offset); at > 0 {
		offset -= text
		in.Reset(io.NewSectionReader(file, at, file.Size()-at))
	}
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	o := openDocument{z, func() error {
		z.Close()
		return file.Close()
	}}
	if _, err := io.CopyN(io.Discard, z, offset); err != nil {
		z.Close()
		return nil, err
	}
	return o, nil
}

// openDocument is an open document.
type openDocument struct {
	io.Reader
	close func() error
}

// Close implements io.Closer.
func (o openDocument) Close() error { return o.close() }

// FindNamed returns the path of a document at path, or compressed beside it; path if neither exists.
func FindNamed(path string) string {
	if _, err := store.Stat(path + Ending); err == nil {
		return path + Ending
	}
	return path
}

// RemoveOther removes the other form, plain or compressed, of a document, left by an earlier
// attempt.
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

// A compressed document is a sequence of frames, so that it can be read from its middle, with a
// table of the frames at its end: zstd's seekable format, version 0.1.0 (contrib/seekable_format of
// its sources). The table is a skippable frame for other readers.

const (
	// textOfFrame is the size of a frame's text in bytes.
	textOfFrame = 1 << 20
	// tableMagic begins the table, seekableMagic ends it.
	tableMagic    = 0x184D2A5E
	seekableMagic = 0x8F92EAB1
	// sizeOfEntry is the size of an entry of the table: the sizes of a frame and of its text. The
	// head is the magic and the size of the rest; the foot is the number of entries, a byte of
	// flags, and the magic.
	sizeOfEntry, sizeOfHead, sizeOfFoot = 8, 8, 9
)

// Compress writes the output of render compressed.
func Compress(w io.Writer, render func(io.Writer) error) error {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	f := &frameWriter{to: w, z: z}
	if err := render(f); err != nil {
		return err
	}
	return f.close()
}

// frameWriter compresses text into frames.
type frameWriter struct {
	to           io.Writer
	z            *zstd.Encoder
	text, packed []byte // of the current frame
	table        []byte
}

// Write implements io.Writer.
func (f *frameWriter) Write(text []byte) (int, error) {
	n := len(text)
	for len(text) > 0 {
		some := min(len(text), textOfFrame-len(f.text))
		f.text, text = append(f.text, text[:some]...), text[some:]
		if len(f.text) < textOfFrame {
			break
		}
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// flush writes a frame.
func (f *frameWriter) flush() error {
	f.packed = f.z.EncodeAll(f.text, f.packed[:0])
	f.table = binary.LittleEndian.AppendUint32(f.table, uint32(len(f.packed)))
	f.table = binary.LittleEndian.AppendUint32(f.table, uint32(len(f.text)))
	f.text = f.text[:0]
	_, err := f.to.Write(f.packed)
	return err
}

// close writes the last frame and the table.
func (f *frameWriter) close() error {
	if len(f.text) > 0 {
		if err := f.flush(); err != nil {
			return err
		}
	}
	le := binary.LittleEndian
	head := le.AppendUint32(le.AppendUint32(nil, tableMagic), uint32(len(f.table)+sizeOfFoot))
	foot := append(le.AppendUint32(nil, uint32(len(f.table)/sizeOfEntry)), 0)
	for _, part := range [][]byte{head, f.table, le.AppendUint32(foot, seekableMagic)} {
		if _, err := f.to.Write(part); err != nil {
			return err
		}
	}
	return f.z.Close()
}

// frameAt returns the offset of the frame that contains an offset of the text, and the offset of
// that frame's text; 0 and 0 without a table that matches the file.
func frameAt(file interface {
	io.ReaderAt
	Size() int64
}, offset int64) (at, text int64) {
	le, size := binary.LittleEndian, file.Size()
	var foot [sizeOfFoot]byte
	if offset == 0 || size < sizeOfHead+sizeOfFoot {
		return 0, 0
	}
	if _, err := file.ReadAt(foot[:], size-sizeOfFoot); err != nil || le.Uint32(foot[5:]) != seekableMagic || foot[4] != 0 {
		return 0, 0
	}
	table := int64(le.Uint32(foot[:])) * sizeOfEntry
	end := size - sizeOfFoot - table
	if end < sizeOfHead {
		return 0, 0
	}
	entries := make([]byte, table)
	if _, err := file.ReadAt(entries, end); err != nil {
		return 0, 0
	}
	from, first := int64(0), int64(0) // offsets of a frame and of its text
	for ; len(entries) > 0; entries = entries[sizeOfEntry:] {
		if first <= offset {
			at, text = from, first
		}
		from, first = from+int64(le.Uint32(entries)), first+int64(le.Uint32(entries[4:]))
	}
	if from != end-sizeOfHead {
		return 0, 0
	}
	return at, text
}

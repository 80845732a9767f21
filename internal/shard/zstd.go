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

// A compressed document is in frames of some text each, so that it can be read from its
// middle, and has a table of them at its end: the seekable format of zstd, version 0.1.0
// (contrib/seekable_format of its sources). The table is a frame that readers skip who do
// not know it.

const (
	// textOfFrame is the text of a frame.
	textOfFrame = 1 << 20
	// tableMagic is the beginning of the table, seekableMagic its end.
	tableMagic    = 0x184D2A5E
	seekableMagic = 0x8F92EAB1
	// sizeOfEntry is the size of an entry of the table: the sizes of a frame and of its text.
	// Before the entries stand the magic and the size of what follows, behind them their
	// number, a byte of flags, and the magic.
	sizeOfEntry, sizeOfHead, sizeOfFoot = 8, 8, 9
)

// Compress writes what render does, compressed.
func Compress(w io.Writer, render func(io.Writer) error) error {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	f := &frames{to: w, z: z}
	if err := render(f); err != nil {
		return err
	}
	return f.close()
}

// frames compresses text.
type frames struct {
	to           io.Writer
	z            *zstd.Encoder
	text, packed []byte // of a frame
	table        []byte
}

// Write implements io.Writer.
func (f *frames) Write(text []byte) (int, error) {
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
func (f *frames) flush() error {
	f.packed = f.z.EncodeAll(f.text, f.packed[:0])
	f.table = binary.LittleEndian.AppendUint32(f.table, uint32(len(f.packed)))
	f.table = binary.LittleEndian.AppendUint32(f.table, uint32(len(f.text)))
	f.text = f.text[:0]
	_, err := f.to.Write(f.packed)
	return err
}

// close writes the last frame and the table.
func (f *frames) close() error {
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

// frameAt is where the frame with an offset of the text begins, and the text of that frame;
// 0 and 0 where there is no table, or one that is not of this file.
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
	from, first := int64(0), int64(0) // of a frame and of its text
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

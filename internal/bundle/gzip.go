package bundle

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/gzip"

	"dumptool/internal/lang"
)

// gunzip reads concatenated gzip streams. Zeros may follow, as padding on tapes.
type gunzip struct {
	in     *bufio.Reader
	stream *gzip.Reader
}

func openGzip(in *bufio.Reader) (io.Reader, error) {
	stream, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	stream.Multistream(false)
	return &gunzip{in, stream}, nil
}

// Read implements io.Reader.
func (g *gunzip) Read(p []byte) (int, error) {
	for {
		n, err := g.stream.Read(p)
		if err == io.EOF { //nolint:errorlint // never wrapped
			err = g.nextStream()
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// nextStream starts the next stream; io.EOF without one.
func (g *gunzip) nextStream() error {
	for {
		b, err := g.in.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			break
		}
	}
	if err := g.in.UnreadByte(); err != nil {
		return err
	}
	if err := g.stream.Reset(g.in); err != nil {
		return lang.Errorf("the data after the gzip stream is no gzip stream: %w", err)
	}
	g.stream.Multistream(false)
	return nil
}

// gzipError finds where the CRC-32 or the length in a gzip file differs from the data. It reads the
// file again, since the decoder does not report the place.
func (b *Bundle) gzipError() error {
	file := io.NewSectionReader(b.file, 0, b.file.Size())
	in := bufio.NewReaderSize(file, 1<<20)
	stream, err := gzip.NewReader(in)
	for err == nil {
		stream.Multistream(false)
		sum := crc32.NewIEEE()
		n, failed := io.Copy(sum, struct{ io.Reader }{stream})
		if errors.Is(failed, gzip.ErrChecksum) {
			end, _ := file.Seek(0, io.SeekCurrent) // never fails
			var want [8]byte
			if _, err := b.file.ReadAt(want[:], end-int64(in.Buffered()+len(want))); err != nil {
				return err
			}
			crc, size := binary.LittleEndian.Uint32(want[:]), binary.LittleEndian.Uint32(want[4:])
			return lang.Errorf("the unpacked data has the CRC-32 %08x and %d bytes, want %08x and %d", sum.Sum32(), uint32(n), crc, size)
		}
		if err = failed; err == nil {
			err = stream.Reset(in)
		}
	}
	return err
}

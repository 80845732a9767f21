package bundle

import (
	"archive/tar"
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"dumptool/internal/lang"
)

// compression is a compression of tar archives.
type compression struct {
	magic string
	open  func(*bufio.Reader) (io.Reader, error)
}

// maxWindow limits the window of zstd in bytes, as with zstd --long.
const maxWindow = 128 << 20

var compressions = []compression{
	{"\x1f\x8b", openGzip},
	{"\x28\xb5\x2f\xfd", func(r *bufio.Reader) (io.Reader, error) {
		// The decoder starts no goroutines: nothing would recover their panics.
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	}},
}

// blockBytes is the unit of tar archives.
const blockBytes = 512

// isTar reports whether a file begins with a tar header, by its checksum: old headers have no magic number.
func isTar(head []byte) bool {
	if len(head) < blockBytes || head[0] == 0 {
		return false
	}
	const at, length = 148, 8
	want, err := strconv.ParseInt(strings.Trim(string(head[at:at+length]), " \x00"), 8, 64)
	if err != nil {
		return false
	}
	sum := int64(length * ' ')
	for i, c := range head[:blockBytes] {
		if i < at || i >= at+length {
			sum += int64(c)
		}
	}
	return sum == want
}

// legacyTorch is the first member of the tar files that torch.save wrote before it wrote zip files.
const legacyTorch = "storages"

// readTar lists the files of a tar archive, to be read in place.
func (b *Bundle) readTar() (bool, error) {
	in := io.NewSectionReader(b.file, 0, b.file.Size())
	torch := false
	err := b.walk(tar.NewReader(in), func(h *tar.Header, _ io.Reader) (*member, error) {
		torch = torch || h.Name == legacyTorch
		off, err := in.Seek(0, io.SeekCurrent)
		if err == nil && h.Size > b.file.Size()-off {
			err = lang.Errorf("%q has %d bytes at 0x%x, the archive ends at 0x%x", h.Name, h.Size, off, b.file.Size())
		}
		return &member{size: h.Size, from: b.file, off: off}, err
	})
	if torch {
		return false, nil
	}
	return true, err
}

// unpackTar unpacks a compressed tar archive. It returns false for other compressed files.
func (b *Bundle) unpackTar(c *compression) (bool, error) {
	in := &watchedReader{r: io.NewSectionReader(b.file, 0, b.file.Size()), bundle: b}
	out, err := c.open(bufio.NewReaderSize(in, 1<<20))
	if err != nil {
		return false, b.refusedError(err)
	}
	buffered := bufio.NewReaderSize(out, 256<<10)
	if head, err := buffered.Peek(blockBytes); !isTar(head) {
		if err != nil && !errors.Is(err, io.EOF) {
			return false, b.refusedError(err)
		}
		return false, nil
	}
	if b.opt.Shared {
		return false, SharedError(b.path)
	}
	if b.opt.Watch != nil {
		defer b.opt.Watch(0, 0)
	}
	if _, err := b.scratch.reserve(0); err != nil {
		return false, b.refusedError(err)
	}
	bounded := &boundedReader{r: buffered, scratch: &b.scratch, left: b.scratch.limit}
	err = b.walk(tar.NewReader(bounded), func(h *tar.Header, data io.Reader) (*member, error) {
		from, err := b.scratch.add(data, h.Size)
		if err != nil {
			err = lang.Errorf("%q: %w", h.Name, err)
		}
		return &member{size: h.Size, from: from}, err
	})
	if err == nil {
		err = b.readTrailer(bounded)
	}
	return true, err
}

// readTrailer reads the bytes after the end of a tar archive: the decoder compares the checksum at
// the end of the stream.
func (b *Bundle) readTrailer(in io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, in, make([]byte, 64<<10))
	if err == nil {
		return nil
	}
	return b.tarError(err)
}

// walk adds the files of a tar archive, in their order. keep returns the member for a used file.
func (b *Bundle) walk(in *tar.Reader, keep func(*tar.Header, io.Reader) (*member, error)) error {
	for n := 1; ; n++ {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return b.tarError(err)
		case n > MaxMembers:
			return b.refusedError(lang.Errorf("found more members than the %d that are allowed", MaxMembers))
		}
		if err := b.addHeader(h, in, keep); err != nil {
			return b.tarError(err)
		}
	}
}

// tarError returns the error of a tar archive; a cancelled context is returned unchanged.
func (b *Bundle) tarError(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = lang.Errorf("it is cut short: %w", err)
	case errors.Is(err, gzip.ErrChecksum):
		err = cmp.Or(b.gzipError(), err)
	case errors.Is(err, zstd.ErrCRCMismatch):
		err = lang.Errorf("the unpacked data does not match its checksum: %w", err)
	}
	return b.refusedError(err)
}

// addHeader adds a file of a tar archive.
func (b *Bundle) addHeader(h *tar.Header, in io.Reader, keep func(*tar.Header, io.Reader) (*member, error)) error {
	switch {
	case isSparse(h):
		return lang.Errorf("%q is a sparse file; pack it without -S", h.Name)
	case h.Typeflag == tar.TypeXGlobalHeader:
		return nil
	case h.Typeflag == tar.TypeDir:
		b.add(h.Name, true, nil)
		return nil
	case h.Typeflag == tar.TypeLink && b.hardLinkTarget(h) != nil:
		b.add(h.Name, false, b.hardLinkTarget(h))
		return nil
	case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeCont:
		b.noteOmitted(h.Name, specialReason)
		return nil
	}
	if _, ok := localName(h.Name); !ok {
		b.noteOmitted(h.Name, outsideReason)
		return nil
	}
	m, err := keep(h, in)
	if err == nil {
		b.add(h.Name, false, m)
	}
	return err
}

// hardLinkTarget returns the earlier file that a hard link names, nil for none.
func (b *Bundle) hardLinkTarget(h *tar.Header) *member {
	name, ok := localName(h.Linkname)
	if !ok {
		return nil
	}
	return b.members[name]
}

// isSparse reports whether the archive omits holes of a file.
func isSparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// watchedReader reports the progress, and ends with the context.
type watchedReader struct {
	r      io.Reader
	bundle *Bundle
	done   int64
}

// Read implements io.Reader.
func (w *watchedReader) Read(p []byte) (int, error) {
	if ctx := w.bundle.opt.Context; ctx != nil && ctx.Err() != nil {
		return 0, ctx.Err()
	}
	n, err := w.r.Read(p)
	w.done += int64(n)
	if w.bundle.opt.Watch != nil {
		w.bundle.opt.Watch(w.done, w.bundle.file.Size())
	}
	return n, err
}

// boundedReader fails when an archive unpacks to more bytes than allowed, whether kept or not.
type boundedReader struct {
	r       io.Reader
	scratch *scratch
	left    int64
}

// Read implements io.Reader.
func (r *boundedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, r.scratch.fullError(int64(len(p)))
	}
	n, err := r.r.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

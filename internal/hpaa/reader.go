package hpaa

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"

	"dumptool/internal/format"
	"dumptool/internal/format/npy"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// blockBytes is the size of a read.
const blockBytes = 512 << 10

// utf8Mark is the byte order mark that some editors write.
const utf8Mark = "\ufeff"

// openPiece is a piece with everything needed to read its elements.
type openPiece struct {
	*Piece
	encoding  Encoding
	skip      int64
	dtype     tensor.DType
	shape     tensor.Shape
	model     tensor.Shape // of the whole output, nil if unknown
	shapeFile string       // the file that supplied the shape, empty for none
	size      int64        // of the file, in bytes
	wantBytes int64        // size of the elements in bytes
}

// reader reads the elements of a piece in order; packed elements are unpacked to bytes. If many
// pieces are read at a time it reopens the file for every block.
type reader struct {
	piece     *openPiece
	file      store.Source // nil while closed
	reopens   bool         // close the file after every block
	data      io.ReaderAt
	end       int64  // of data
	at        int64  // offset of the next byte to read
	undecoded []byte // text not yet decoded
	ready     []byte // elements that next has not returned yet
	partial   []byte // the beginning of an element, at the end of the block
	decoded   int64  // in bytes
	*buffers
}

// buffers holds the buffers of a reader. Readers may share it one after the other.
type buffers struct{ text, block, unpack []byte }

// newBuffers returns buffers for blocks of about size bytes.
func newBuffers(size int) *buffers { return &buffers{block: make([]byte, max(size, minBlock))} }

// newReader returns a reader that uses the buffers in.
func newReader(piece *openPiece, in *buffers, reopens bool) *reader {
	return &reader{piece: piece, reopens: reopens, at: -1, buffers: in}
}

// minBlock is the smallest buffer, larger than any number in a text.
const minBlock = 64

// Close closes the file.
func (r *reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// open opens the file unless it is open.
func (r *reader) open() error {
	if r.file != nil {
		return nil
	}
	file, err := safefile.Open(r.piece.Path)
	if err != nil {
		return err
	}
	r.file, r.data, r.end = file, file, r.piece.size
	if r.piece.encoding == Npy {
		section := io.NewSectionReader(file, r.piece.skip, r.piece.size-r.piece.skip)
		array, err := npy.Open(section, section.Size())
		if err != nil {
			return err
		}
		r.data, r.end = array.Data(), array.Size
	}
	if r.at < 0 {
		return r.seekStart()
	}
	return nil
}

// seekStart sets the offset of the first byte to decode.
func (r *reader) seekStart() error {
	r.at = r.piece.skip
	switch {
	case r.piece.encoding == Npy:
		r.at = 0
	case textForms[r.piece.encoding] != nil && r.piece.skip == 0:
		head := make([]byte, len(utf8Mark))
		n, err := r.file.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if string(head[:n]) == utf8Mark {
			r.at = int64(n)
		}
	}
	return nil
}

// next returns the next bytes of the elements, at most n; none at the end. They are valid until the
// next call.
func (r *reader) next(n int64) ([]byte, error) {
	for before := int64(-1); len(r.ready) == 0 && r.decoded > before; {
		before = r.decoded
		if err := r.decodeBlock(); err != nil {
			return nil, err
		}
	}
	n = min(n, int64(len(r.ready)))
	elements := r.ready[:n]
	r.ready = r.ready[n:]
	return elements, nil
}

// decodeBlock decodes the next block, none at the end of the file. Errors are *PieceErrors.
func (r *reader) decodeBlock() error {
	if err := r.decode(); err != nil {
		return asPieceError(err)
	}
	return nil
}

func (r *reader) decode() error {
	if err := r.open(); err != nil {
		return err
	}
	if r.reopens {
		defer r.Close() //nolint:errcheck // read only
	}
	carried := copy(r.block, r.partial)
	form := textForms[r.piece.encoding]
	if form == nil {
		n := int(max(0, min(int64(len(r.block)-carried), r.end-r.at)))
		if err := format.ReadFull(r.data, r.block[carried:carried+n], r.at); err != nil {
			return err
		}
		r.at += int64(n)
		r.addDecoded(carried, n)
		return nil
	}
	for {
		if len(r.undecoded) <= form.maxLength() && r.at < r.end {
			if err := r.fillText(); err != nil {
				return err
			}
		}
		last := r.at >= r.end
		written, read, bad := form.decode(r.block[carried:], r.undecoded, last)
		if bad != nil {
			return r.hexError(r.at-int64(len(r.undecoded))+int64(bad.at), bad.want)
		}
		r.undecoded = r.undecoded[read:]
		if written > 0 || last {
			r.addDecoded(carried, written)
			return nil
		}
	}
}

// fillText reads the next block of a text behind the undecoded rest.
func (r *reader) fillText() error {
	if r.text == nil {
		r.text = make([]byte, len(r.block)+minBlock)
	}
	kept := copy(r.text, r.undecoded)
	n := int(min(int64(len(r.text)-kept), r.end-r.at))
	if err := format.ReadFull(r.data, r.text[kept:kept+n], r.at); err != nil {
		return err
	}
	r.undecoded = r.text[:kept+n]
	r.at += int64(n)
	return nil
}

// addDecoded adds n decoded bytes to the carried bytes and splits off whole elements; packed elements are
// unpacked.
func (r *reader) addDecoded(carried, n int) {
	d, first := r.piece.dtype, int64(0)
	if d.IsPacked() {
		first, _ = d.Elements(r.decoded)
	}
	r.decoded += int64(n)
	all := r.block[:carried+n]
	if !d.IsPacked() {
		whole := len(all) - len(all)%d.UnitSize()
		r.ready, r.partial = all[:whole], all[whole:]
		return
	}
	count, _ := d.Elements(int64(n))
	count = max(0, min(count, r.piece.shape.Elements()-first))
	if int64(cap(r.unpack)) < count {
		r.unpack = make([]byte, count)
	}
	r.ready = r.unpack[:count]
	if count > 0 {
		tensor.Unpack(r.ready, all, d, 0)
	}
}

// checkLength reads the rest of the file and checks the number of bytes against the shape.
func (r *reader) checkLength(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		before := r.decoded
		if err := r.decodeBlock(); err != nil {
			return err
		}
		if r.decoded == before {
			break
		}
	}
	if r.decoded != r.piece.wantBytes {
		return sizeError(r.decoded, r.piece.dtype, r.piece.shape, r.piece.wantBytes)
	}
	return nil
}

// hexError returns the error of the character at an offset of the file.
func (r *reader) hexError(offset int64, want lang.Sentence) error {
	line, column, found, err := describePosition(r.file, offset, r.end)
	if err != nil {
		return err
	}
	return &PieceError{BadHex, lang.Say("line %d, column %d: found %s, want %s (%s)", line, column, found, want, r.piece.encoding)}
}

// describePosition returns the line and column of an offset, both from 1 and columns in bytes, and a
// description of the character there.
func describePosition(file io.ReaderAt, offset, end int64) (line, column int64, found lang.Sentence, err error) {
	line, start := 1, int64(0)
	block := make([]byte, min(max(offset, 1), blockBytes))
	for at := int64(0); at < offset; {
		n := min(int64(len(block)), offset-at)
		if err := format.ReadFull(file, block[:n], at); err != nil {
			return 0, 0, found, err
		}
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			line += int64(bytes.Count(block[:n], []byte{'\n'}))
			start = at + int64(i) + 1
		}
		at += n
	}
	found = lang.Say("the end of the file")
	if offset < end {
		if err := format.ReadFull(file, block[:1], offset); err != nil {
			return 0, 0, found, err
		}
		found = lang.Plain(strconv.Quote(string(block[:1])))
	}
	return line, offset - start + 1, found, nil
}

package torch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"

	"dumptool/internal/format"
	"dumptool/internal/pickle"
)

// legacyMagic is the number that the form before version 1.6 begins with, as a
// pickle has it: LONG1, ten bytes, STOP.
const legacyMagic = "\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."

// legacyVersion is the version of that form, the second pickle.
const legacyVersion = 1001

// IsLegacy reports whether head, the first 32 bytes or more, begins a file of the
// form before version 1.6.
func IsLegacy(head []byte) bool {
	if len(head) < 2 || head[0] != 0x80 { // the protocol
		return false
	}
	head = head[2:]
	if len(head) > 9 && head[0] == 0x95 { // a frame, from protocol 4 on
		head = head[9:]
	}
	return bytes.HasPrefix(head, []byte(legacyMagic))
}

// legacyFile is a file whose pickles are read one after another.
type legacyFile struct {
	r        io.ReaderAt
	at, size int64
	// records are the storages by their keys.
	records map[string]*io.SectionReader
}

// openLegacy reads five pickles: the magic number, the version, a dict about the
// machine, the object, and the keys of its storages. The storages follow in this
// order: a count of eight bytes, and that many elements. All of it is little-endian,
// whatever the dict says of the machine.
func openLegacy(r io.ReaderAt, size int64) (*format.Contents, error) {
	f := &legacyFile{r: r, size: size, records: make(map[string]*io.SectionReader)}
	var plain pickle.Dialect
	var version, object any
	var u unpickler
	for _, p := range []struct {
		dialect *pickle.Dialect
		v       *any
	}{{&plain, new(any)}, {&plain, &version}, {&plain, new(any)}, {u.dialect(size), &object}} {
		var err error
		if *p.v, err = f.pickle(p.dialect); err != nil {
			return nil, err
		}
	}
	if version != int64(legacyVersion) {
		if _, ok := version.(*big.Int); !ok {
			return nil, unsupported("version %v of the format before 1.6 is not supported, want %d", version, legacyVersion)
		}
		return nil, unsupported("the version of the format before 1.6 is not supported, want %d", legacyVersion)
	}
	keys, err := f.pickle(&plain)
	if err != nil {
		return nil, err
	}
	list, ok := keys.(*pickle.Sequence)
	if !ok {
		return nil, broken("found a %s before 0x%x, want the list of storages", pickle.TypeName(keys), f.at)
	}
	if err := f.findRecords(list.Items, u.kinds); err != nil {
		return nil, err
	}
	return contents(object, file{size: size, record: f.record})
}

// pickle reads the next pickle. How long it is shows when it has been read, so it is
// tried with more and more bytes.
func (f *legacyFile) pickle(d *pickle.Dialect) (any, error) {
	for n := int64(64 << 10); ; n *= 4 {
		n = min(n, maxPickle, f.size-f.at)
		data := make([]byte, n)
		if err := format.ReadFull(f.r, data, f.at); err != nil {
			return nil, err
		}
		v, used, err := d.Parse(data)
		if errors.Is(err, io.ErrUnexpectedEOF) && n < min(maxPickle, f.size-f.at) {
			continue
		}
		if err != nil {
			return nil, refusal(atOffset(err, f.at))
		}
		f.at += int64(used)
		return v, nil
	}
}

// atOffset is the error of a pickle that begins at offset base of the file.
func atOffset(err error, base int64) error {
	if e, ok := errors.AsType[*pickle.FormatError](err); ok {
		e.Off += base
	}
	if e, ok := errors.AsType[*pickle.RefusedError](err); ok {
		e.Off += base
	}
	return err
}

// findRecords finds the storages, of which kinds says what elements they have. They
// end with the file, or where the length of one is not known.
func (f *legacyFile) findRecords(keys []any, kinds map[string]elementType) error {
	for _, k := range keys {
		key, ok := k.(string)
		if !ok {
			return broken("found a %s in the list of storages, want a text", pickle.TypeName(k))
		}
		unit := int64(kinds[key].dtype.UnitSize())
		if unit == 0 || f.size-f.at < 8 {
			return nil
		}
		var b [8]byte
		if err := format.ReadFull(f.r, b[:], f.at); err != nil {
			return err
		}
		f.at += int64(len(b))
		count := int64(binary.LittleEndian.Uint64(b[:]))
		if count < 0 {
			return broken("storage %.100q has %d elements at 0x%x", key, count, f.at-int64(len(b)))
		}
		length := min(count, (f.size-f.at)/unit) * unit
		f.records[key] = io.NewSectionReader(f.r, f.at, length)
		f.at += length
		if length/unit < count {
			return nil
		}
	}
	return nil
}

// record returns the bytes of a storage.
func (f *legacyFile) record(s *storage) (*io.SectionReader, error) {
	data, ok := f.records[s.key]
	if !ok {
		return nil, fmt.Errorf("storage %.100q is not in the file", s.key)
	}
	return data, nil
}

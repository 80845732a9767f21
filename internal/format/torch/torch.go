// Package torch reads and writes the files of torch.save: zip files since PyTorch 1.6, and the
// earlier form. The saved object is in a pickle; its tensors refer to storages, which are entries
// of the zip file or follow the pickle.
//
// The pickle is read as data: names of PyTorch are matched by their text, and nothing is called. A
// file with names beyond tensors and plain data, such as a whole model, is refused.
//
// The format is defined by torch/serialization.py, torch/_utils.py and caffe2/serialize in
// https://github.com/pytorch/pytorch, and torch_npu/utils/storage.py in
// https://gitee.com/ascend/pytorch.
//
// This file finds the pickle and the storages of both forms. objects.go makes tensors and storages
// from the pickle and lists the names that a pickle may use. rows.go lists tensors with names and
// elements, and prints other values like Python. write.go writes a file with one tensor.
package torch

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/format/archive"
	"dumptool/internal/lang"
	"dumptool/internal/pickle"
)

// FormatError is the error of an invalid file.
type FormatError struct{ lang.Problem }

func formatError(format string, args ...any) error {
	return &FormatError{lang.Problem{Sentence: lang.Say(format, args...)}}
}

// UnsupportedError is the error of a valid file, or tensor, that this package cannot read.
type UnsupportedError struct{ lang.Problem }

func unsupported(format string, args ...any) error {
	return &UnsupportedError{lang.Problem{Sentence: lang.Say(format, args...)}}
}

// Open reads the pickle of a file and finds the elements of its tensors. Their names are the keys
// of dicts and the positions in lists. The error is a *FormatError, an *UnsupportedError, from
// package archive or pickle, or from r; a tensor that cannot be read has its own error.
func Open(r io.ReaderAt, size int64) (*format.Contents, error) { return open(r, size, false) }

// OpenCheckpoint is Open for checkpoints of training, which also hold objects of other classes, such as the
// arguments of the program. They are opaque values: nothing is imported or called.
func OpenCheckpoint(r io.ReaderAt, size int64) (*format.Contents, error) { return open(r, size, true) }

func open(r io.ReaderAt, size int64, hasObjects bool) (*format.Contents, error) {
	head := make([]byte, max(0, min(size, tarHead)))
	if err := format.ReadFull(r, head, 0); err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK")):
		return openZip(r, size, &unpickler{hasObjects: hasObjects})
	case IsLegacy(head):
		return openLegacy(r, size, &unpickler{hasObjects: hasObjects})
	case isTar(head):
		if hasTarEntry(r, size, "storages") {
			return nil, unsupported("the tar format of PyTorch before 0.1.10 is not supported")
		}
		return nil, unsupported("a tar archive, want a file of torch.save")
	}
	return nil, formatError("the file begins with % x, want a file of torch.save", head[:min(len(head), 4)])
}

// tarHead is the length of an entry header in a tar file.
const tarHead = 512

func isTar(head []byte) bool {
	return len(head) == tarHead && bytes.HasPrefix(head[257:], []byte("ustar"))
}

// maxTar bounds the entries of a tar file that are looked at: PyTorch wrote four.
const maxTar = 8

// hasTarEntry reports whether one of the first entries of a tar file has a name.
func hasTarEntry(r io.ReaderAt, size int64, name string) bool {
	head := make([]byte, tarHead)
	for at, i := int64(0), 0; i < maxTar && at <= size-tarHead; i++ {
		if format.ReadFull(r, head, at) != nil || !isTar(head) {
			return false
		}
		if entry, _, _ := bytes.Cut(head[:100], []byte{0}); string(entry) == name {
			return true
		}
		length, err := strconv.ParseInt(string(bytes.Trim(head[124:136], " \x00")), 8, 48)
		if err != nil || length < 0 {
			return false
		}
		at += tarHead + (length+tarHead-1)/tarHead*tarHead
	}
	return false
}

// pickleEntry is the entry with the saved object. All entries are in one folder.
const pickleEntry = "data.pkl"

// IsArchive reports whether PyTorch wrote a zip file.
func IsArchive(zip *archive.Archive) bool {
	for i := range zip.Entries {
		if _, ok := cutPickleName(zip.Entries[i].Name); ok {
			return true
		}
	}
	return false
}

// cutPickleName returns the part before data.pkl in the name of an entry.
func cutPickleName(name string) (root string, ok bool) {
	root, ok = strings.CutSuffix(name, pickleEntry)
	return root, ok && (root == "" || strings.HasSuffix(root, "/"))
}

// zipFile is an archive with its entries by name.
type zipFile struct {
	root    string
	entries map[string]*archive.Entry
}

func openZip(r io.ReaderAt, size int64, u *unpickler) (*format.Contents, error) {
	zip, err := archive.Open(r, size)
	if err != nil {
		return nil, err
	}
	entries, replaced := zip.Current()
	f := zipFile{entries: make(map[string]*archive.Entry, len(entries))}
	var found []string
	for _, e := range entries {
		if root, ok := cutPickleName(e.Name); ok {
			f.root, found = root, append(found, e.Name)
		}
		f.entries[e.Name] = e
	}
	switch {
	case len(found) == 0:
		return nil, unsupported("the archive has no %s, want a file of torch.save", pickleEntry)
	case len(found) > 1:
		return nil, formatError("the archive has %.100q and %.100q, want one %s", found[0], found[1], pickleEntry)
	}
	if _, ok := f.entries[f.root+"constants.pkl"]; ok {
		return nil, unsupported("a TorchScript archive, want a file of torch.save")
	}
	hasSums := f.hasSums(entries)
	if !hasSums {
		zip.Uncheck()
	}
	bigEndian, err := f.isBigEndian()
	if err != nil {
		return nil, err
	}
	data, err := f.readEntry(pickleEntry, min(maxPickle, maxMemory(size)))
	if err != nil {
		return nil, err
	}
	v, _, err := u.newDialect(size).Parse(data)
	if err != nil {
		return nil, lang.Errorf("%s: %w", pickleEntry, explainRefusal(err))
	}
	c, err := listContents(v, file{size: size, bigEndian: bigEndian, record: f.storageBytes})
	if err != nil {
		return nil, err
	}
	if !hasSums {
		c.Warnings = append(c.Warnings, lang.Say("the archive has no valid checksums: damaged data would not be noticed"))
	}
	c.Warnings = append(c.Warnings, archive.WarnOfReplaced(replaced)...)
	return c, nil
}

// maxProbed bounds the entries that are read whole to find a valid checksum.
const maxProbed = 16

// hasSums reports whether the entries have valid checksums: some writers leave out the checksums of
// all entries or of all storages, or write wrong ones. If the pickle or another small entry has a
// valid checksum, a wrong checksum means a damaged entry.
func (f *zipFile) hasSums(entries []*archive.Entry) bool {
	full := slices.DeleteFunc(slices.Clone(entries), func(e *archive.Entry) bool { return e.Size == 0 })
	storages := slices.DeleteFunc(slices.Clone(full), func(e *archive.Entry) bool { return !strings.HasPrefix(e.Name, f.root+"data/") })
	if !slices.ContainsFunc(full, (*archive.Entry).HasSum) || len(storages) > 0 && !slices.ContainsFunc(storages, (*archive.Entry).HasSum) {
		return false
	}
	if first := f.entries[f.root+pickleEntry]; first.Size > maxPickle || first.Verify() == nil {
		return true
	}
	slices.SortStableFunc(full, func(a, b *archive.Entry) int { return cmp.Compare(a.Size, b.Size) })
	return slices.ContainsFunc(full[:min(len(full), maxProbed)], func(e *archive.Entry) bool { return e.Verify() == nil })
}

// isBigEndian returns the byte order in the entry byteorder; files before version 2.1 do not have it.
func (f *zipFile) isBigEndian() (bool, error) {
	const name = "byteorder"
	if _, ok := f.entries[f.root+name]; !ok {
		return false, nil
	}
	text, err := f.readEntry(name, 100)
	switch {
	case err != nil:
		return false, err
	case string(text) != "little" && string(text) != "big":
		return false, formatError("%s: found %q, want little or big", name, text)
	}
	return string(text) == "big", nil
}

// openEntry returns the data of an entry of the folder.
func (f *zipFile) openEntry(name string) (*io.SectionReader, error) {
	e, ok := f.entries[f.root+name]
	if !ok {
		return nil, formatError("the archive has no entry %.100q", f.root+name)
	}
	data, err := e.Data()
	if err != nil {
		return nil, lang.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// readEntry returns the content of a small entry.
func (f *zipFile) readEntry(name string, most int64) ([]byte, error) {
	data, err := f.openEntry(name)
	if err != nil {
		return nil, err
	}
	if data.Size() > most {
		return nil, unsupported("%s has %d bytes, at most %d are read", name, data.Size(), most)
	}
	b := make([]byte, data.Size())
	if err := format.ReadFull(data, b, 0); err != nil {
		return nil, lang.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// storageBytes returns the bytes of a storage.
func (f *zipFile) storageBytes(s *storage) storageBytes {
	name := "data/" + s.key
	data, err := f.openEntry(name)
	if err != nil {
		return storageBytes{err: err}
	}
	return storageBytes{data: data, verify: f.entries[f.root+name].Verify}
}

// explainRefusal explains the error of a pickle with more than tensors and plain data.
func explainRefusal(err error) error {
	refused, ok := errors.AsType[*pickle.RefusedError](err)
	switch {
	case !ok:
		return err
	case refused.Name == "":
		return unsupported("%s at %d is not part of tensor files", refused.Opcode, refused.Off)
	case strings.HasPrefix(refused.Name, "torch.nn."):
		return unsupported("%s at %d: %s: a pickled model, save its state_dict()", refused.Opcode, refused.Off, refused.Name)
	}
	return unsupported("%s at %d: %s is not part of tensor files", refused.Opcode, refused.Off, refused.Name)
}

// legacyMagic is the pickle of the magic number of the form before version 1.6: LONG1, ten bytes,
// STOP.
const legacyMagic = "\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."

// legacyText is the pickle of the magic number in protocols 0 and 1: LONG, decimal digits, STOP.
const legacyText = "L119547037146038801333356L\n."

// legacyVersion is the version of this form, in the second pickle.
const legacyVersion = 1001

// IsLegacy reports whether head, at least the first 32 bytes, begins a file of the form before
// version 1.6.
func IsLegacy(head []byte) bool {
	if len(head) < 2 || head[0] != 0x80 { // protocol, from 2 on
		return bytes.HasPrefix(head, []byte(legacyText))
	}
	head = head[2:]
	if len(head) > 9 && head[0] == 0x95 { // frame, from protocol 4 on
		head = head[9:]
	}
	return bytes.HasPrefix(head, []byte(legacyMagic))
}

// legacyFile is a file with several pickles in sequence.
type legacyFile struct {
	r        io.ReaderAt
	at, size int64
	// records are the storages by key.
	records map[string]*io.SectionReader
}

// openLegacy reads five pickles: the magic number, the version, a dict about the machine, the
// object, and the keys of its storages. The storages follow in the order of the keys: a count of
// eight bytes, and the elements. All of it is little-endian, whatever the dict says about the
// machine.
func openLegacy(r io.ReaderAt, size int64, u *unpickler) (*format.Contents, error) {
	f := &legacyFile{r: r, size: size, records: make(map[string]*io.SectionReader)}
	var plain pickle.Dialect
	var version, object any
	for _, p := range []struct {
		dialect *pickle.Dialect
		v       *any
	}{{&plain, new(any)}, {&plain, &version}, {&plain, new(any)}, {u.newDialect(size), &object}} {
		var err error
		if *p.v, err = f.readPickle(p.dialect); err != nil {
			return nil, err
		}
	}
	if version != int64(legacyVersion) {
		if _, ok := version.(*big.Int); !ok {
			return nil, unsupported("version %v of the format before 1.6 is not supported, want %d", version, legacyVersion)
		}
		return nil, unsupported("the version of the format before 1.6 is not supported, want %d", legacyVersion)
	}
	keys, err := f.readPickle(&plain)
	if err != nil {
		return nil, err
	}
	list, ok := keys.(*pickle.Sequence)
	if !ok {
		return nil, formatError("found a %s before 0x%x, want the list of storages", pickle.TypeName(keys), f.at)
	}
	if err := f.findRecords(list.Items, u.kinds); err != nil {
		return nil, err
	}
	return listContents(object, file{size: size, record: f.storageBytes})
}

// readPickle reads the next pickle. Its length is unknown, so parsing is repeated with more bytes until
// they suffice.
func (f *legacyFile) readPickle(d *pickle.Dialect) (any, error) {
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
			return nil, explainRefusal(atOffset(err, f.at))
		}
		f.at += int64(used)
		return v, nil
	}
}

// atOffset moves the offsets in an error from the pickle to the file; base is the offset of the
// pickle.
func atOffset(err error, base int64) error {
	if e, ok := errors.AsType[*pickle.FormatError](err); ok {
		e.Off += base
	}
	if e, ok := errors.AsType[*pickle.RefusedError](err); ok {
		e.Off += base
	}
	return err
}

// findRecords finds the storages, with element types from kinds. It stops at the end of the file,
// or after a storage of unknown length.
func (f *legacyFile) findRecords(keys []any, kinds map[string]elementType) error {
	for _, k := range keys {
		key, ok := k.(string)
		if !ok {
			return formatError("found a %s in the list of storages, want a text", pickle.TypeName(k))
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
			return formatError("storage %.100q has %d elements at 0x%x", key, count, f.at-int64(len(b)))
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

// storageBytes returns the bytes of a storage.
func (f *legacyFile) storageBytes(s *storage) storageBytes {
	data, ok := f.records[s.key]
	if !ok {
		return storageBytes{err: lang.Errorf("storage %.100q is not in the file", s.key)}
	}
	return storageBytes{data: data}
}

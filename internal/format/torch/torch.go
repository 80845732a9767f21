// Package torch reads and writes the files of torch.save: zip files, as PyTorch
// has written them since version 1.6, and the form before. What torch.save was given
// is in a pickle; its tensors refer to storages, which are entries of the zip file
// or follow the pickle.
//
// The pickle is read for the shape of what is in it. Names of PyTorch are recognised
// by their text, and nothing is called: a file with any other name than those of
// tensors and plain data, such as a whole model, is refused.
//
// The format is that of torch/serialization.py, torch/_utils.py and
// caffe2/serialize in https://github.com/pytorch/pytorch, and of
// torch_npu/utils/storage.py in https://gitee.com/ascend/pytorch.
//
// A file that is read makes it through here, where the pickle and the storages of both
// forms are found: objects.go says what tensors and storages are made of and what the pickle
// may name, rows.go lists them with their names, finds their elements and writes other
// values as Python does. write.go writes a file with one tensor.
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

// FormatError reports a broken file.
type FormatError struct{ lang.Problem }

func broken(format string, args ...any) error {
	return &FormatError{lang.Problem{Sentence: lang.Say(format, args...)}}
}

// UnsupportedError reports a valid file, or a tensor, that this package does not
// read.
type UnsupportedError struct{ lang.Problem }

func unsupported(format string, args ...any) error {
	return &UnsupportedError{lang.Problem{Sentence: lang.Say(format, args...)}}
}

// Open reads the pickle of a file and finds the elements of its tensors. Their names
// are keys of dicts and places in lists. The error is a *FormatError, an
// *UnsupportedError, one of the packages archive and pickle, or one of r; a tensor
// that cannot be read has an error of its own.
func Open(r io.ReaderAt, size int64) (*format.Contents, error) {
	head := make([]byte, max(0, min(size, tarHead)))
	if err := format.ReadFull(r, head, 0); err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK")):
		return openZip(r, size)
	case IsLegacy(head):
		return openLegacy(r, size)
	case isTar(head):
		if tarHas(r, size, "storages") {
			return nil, unsupported("the tar format of PyTorch before 0.1.10 is not supported")
		}
		return nil, unsupported("a tar archive, want a file of torch.save")
	}
	return nil, broken("the file begins with % x, want a file of torch.save", head[:min(len(head), 4)])
}

// tarHead is how long the header of an entry is in a tar file.
const tarHead = 512

func isTar(head []byte) bool {
	return len(head) == tarHead && bytes.HasPrefix(head[257:], []byte("ustar"))
}

// maxTar is how many entries of a tar file are looked at: PyTorch wrote four.
const maxTar = 8

// tarHas reports whether one of the first entries of a tar file has that name.
func tarHas(r io.ReaderAt, size int64, name string) bool {
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

// pickleEntry is the entry with what torch.save was given. Before it stands the name
// of a folder, which all entries are in.
const pickleEntry = "data.pkl"

// IsArchive reports whether a zip file is one of PyTorch.
func IsArchive(zip *archive.Archive) bool {
	for i := range zip.Entries {
		if _, ok := rootOf(zip.Entries[i].Name); ok {
			return true
		}
	}
	return false
}

// rootOf returns what is before data.pkl in the name of an entry.
func rootOf(name string) (root string, ok bool) {
	root, ok = strings.CutSuffix(name, pickleEntry)
	return root, ok && (root == "" || strings.HasSuffix(root, "/"))
}

// zipFile is an archive with the places of its entries by their names.
type zipFile struct {
	root    string
	entries map[string]*archive.Entry
}

func openZip(r io.ReaderAt, size int64) (*format.Contents, error) {
	zip, err := archive.Open(r, size)
	if err != nil {
		return nil, err
	}
	entries, replaced := zip.Current()
	f := zipFile{entries: make(map[string]*archive.Entry, len(entries))}
	var found []string
	for _, e := range entries {
		if root, ok := rootOf(e.Name); ok {
			f.root, found = root, append(found, e.Name)
		}
		f.entries[e.Name] = e
	}
	switch {
	case len(found) == 0:
		return nil, unsupported("the archive has no %s, want a file of torch.save", pickleEntry)
	case len(found) > 1:
		return nil, broken("the archive has %.100q and %.100q, want one %s", found[0], found[1], pickleEntry)
	}
	if _, ok := f.entries[f.root+"constants.pkl"]; ok {
		return nil, unsupported("a TorchScript archive, want a file of torch.save")
	}
	hasSums := f.hasSums(entries)
	if !hasSums {
		zip.Uncheck()
	}
	bigEndian, err := f.bigEndian()
	if err != nil {
		return nil, err
	}
	data, err := f.read(pickleEntry, min(maxPickle, maxMemory(size)))
	if err != nil {
		return nil, err
	}
	var u unpickler
	v, _, err := u.dialect(size).Parse(data)
	if err != nil {
		return nil, lang.Errorf("%s: %w", pickleEntry, refusal(err))
	}
	c, err := contents(v, file{size: size, bigEndian: bigEndian, record: f.record})
	if err != nil {
		return nil, err
	}
	if !hasSums {
		c.Warnings = append(c.Warnings, lang.Say("the archive has no valid checksums: damaged data would not be noticed"))
	}
	c.Warnings = append(c.Warnings, archive.Replaced(replaced)...)
	return c, nil
}

// maxProbed is how many entries are read whole to find one whose checksum fits.
const maxProbed = 16

// hasSums reports whether the entries have checksums: there are writers that leave out those
// of all entries or of all storages, or write others. One that does not fit is a damaged
// entry where the pickle or another small entry has one that fits.
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

// bigEndian reports what the entry byteorder says, which files before version 2.1 do
// not have.
func (f *zipFile) bigEndian() (bool, error) {
	const name = "byteorder"
	if _, ok := f.entries[f.root+name]; !ok {
		return false, nil
	}
	text, err := f.read(name, 100)
	switch {
	case err != nil:
		return false, err
	case string(text) != "little" && string(text) != "big":
		return false, broken("%s: found %q, want little or big", name, text)
	}
	return string(text) == "big", nil
}

// entry returns the data of an entry of the folder.
func (f *zipFile) entry(name string) (*io.SectionReader, error) {
	e, ok := f.entries[f.root+name]
	if !ok {
		return nil, broken("the archive has no entry %.100q", f.root+name)
	}
	data, err := e.Data()
	if err != nil {
		return nil, lang.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// read returns the content of a small entry.
func (f *zipFile) read(name string, most int64) ([]byte, error) {
	data, err := f.entry(name)
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

// record returns the bytes of a storage.
func (f *zipFile) record(s *storage) record {
	name := "data/" + s.key
	data, err := f.entry(name)
	if err != nil {
		return record{err: err}
	}
	return record{data: data, verify: f.entries[f.root+name].Verify}
}

// refusal words the error of a pickle that is more than tensors and plain data.
func refusal(err error) error {
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
func (f *legacyFile) record(s *storage) record {
	data, ok := f.records[s.key]
	if !ok {
		return record{err: lang.Errorf("storage %.100q is not in the file", s.key)}
	}
	return record{data: data}
}

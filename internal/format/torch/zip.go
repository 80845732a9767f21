package torch

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/format/archive"
	"dumptool/internal/pickle"
)

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
	entries map[string]*archive.Entry // nil for a name that comes twice
}

func openZip(r io.ReaderAt, size int64) (*format.Contents, error) {
	zip, err := archive.Open(r, size)
	if err != nil {
		return nil, err
	}
	f := zipFile{entries: make(map[string]*archive.Entry, len(zip.Entries))}
	var found []string
	for i := range zip.Entries {
		e := &zip.Entries[i]
		if root, ok := rootOf(e.Name); ok {
			f.root, found = root, append(found, e.Name)
		}
		if _, twice := f.entries[e.Name]; twice {
			e = nil
		}
		f.entries[zip.Entries[i].Name] = e
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
		return nil, fmt.Errorf("%s: %w", pickleEntry, refusal(err))
	}
	return contents(v, file{size: size, bigEndian: bigEndian, record: f.record})
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
	switch {
	case !ok:
		return nil, broken("the archive has no entry %.100q", f.root+name)
	case e == nil:
		return nil, broken("the archive has several entries %.100q", f.root+name)
	}
	data, err := e.Data()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
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
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// record returns the bytes of a storage.
func (f *zipFile) record(s *storage) (*io.SectionReader, error) { return f.entry("data/" + s.key) }

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

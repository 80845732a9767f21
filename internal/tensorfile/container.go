package tensorfile

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/foreign"
	"dumptool/internal/format"
	"dumptool/internal/format/archive"
	"dumptool/internal/format/atb"
	"dumptool/internal/format/hdf5"
	"dumptool/internal/format/npy"
	"dumptool/internal/format/npz"
	"dumptool/internal/format/safetensors"
	"dumptool/internal/format/torch"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// Container is a kind of file that holds tensors. Adding one takes a row of containers,
// and its samples in the tests.
type Container struct {
	// Name is the name of the kind. Package filename knows by which endings names claim it;
	// files of some kinds have names that end in anything.
	Name string
	// Lone is set where a file holds one tensor, output 0, so that it need not
	// be opened to know what is in it.
	Lone bool
	// Headless is set where files are elements and nothing else: the name, or a
	// RawHint, gives their type and shape.
	Headless bool
	// Named is set where the file names its tensors: it has to be opened to know
	// which there are.
	Named bool
	// is reports whether a file is of this kind by its first bytes, headBytes or
	// all that there are, by its name, and where these do not suffice by what is in
	// it.
	is func(head []byte, src *source) bool
	// read fills File: its tensors, warnings and whatever else the file says.
	read func(f *File, src *source) error
}

// containers lists the kinds in the order in which a file is tried for them: a
// magic number comes before a name, and dumps, which have neither, are last.
var containers = []*Container{
	// The name of an array of numpy may say which tensor of an operator it is, in which layout,
	// and of which element type where numpy has none like it.
	{Name: "npy", Lone: true, is: begins(npy.Magic), read: readArray},
	// Where something else stands before an HDF5 file, its name says that it is one.
	{Name: "hdf5", Named: true, is: either(begins(hdf5.Magic), claims("hdf5")), read: named(hdf5.Open)},
	// What PyTorch's torch.save writes is a zip file, or of the form before.
	{Name: "pt", Named: true, is: either(func(head []byte, _ *source) bool { return torch.IsLegacy(head) }, zipHolds(torch.IsArchive, "pt")), read: named(torch.Open)},
	{Name: "npz", Named: true, is: zipHolds(holdsArrays, "npz"), read: named(npz.Open)},
	// Files of Hugging Face's safetensors have no magic number.
	{Name: "safetensors", Named: true, is: claims("safetensors"), read: named(safetensors.Open)},
	{Name: "atb", Lone: true, is: begins(atb.Magic), read: readATB},
	// The name of a raw file of a synchronous dump of MindSpore says all that there is to know.
	// A hint adds what a device layout needs: the original shape.
	{Name: "bin", Lone: true, Headless: true, is: func(_ []byte, src *source) bool { return hasSyncName(src.name) }, read: readRaw},
	{Name: "raw", Lone: true, Headless: true, is: func(_ []byte, src *source) bool { return src.opt.Raw != nil && filename.Container(src.name) == "raw" }, read: readRaw},
	// Neither name nor first bytes are sure signs of a dump.
	{Name: "dump", is: func([]byte, *source) bool { return true }, read: readDump},
}

// begins is a kind of file that has a magic number.
func begins(magic string) func([]byte, *source) bool {
	return func(head []byte, _ *source) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// claims is a kind of file that its name says.
func claims(container string) func([]byte, *source) bool {
	return func(_ []byte, src *source) bool { return filename.Container(src.name) == container }
}

// either is a kind of file that has one of two signs.
func either(one, other func([]byte, *source) bool) func([]byte, *source) bool {
	return func(head []byte, src *source) bool { return one(head, src) || other(head, src) }
}

// headBytes is how many bytes of a file show its kind.
const headBytes = foreign.HeadBytes

// source is what a container reads: the file, its size, the name that it goes
// by, and what the caller says about it.
type source struct {
	file store.Source
	size int64
	name string
	opt  Options

	// zip and zipErr are what archive found.
	zip    *archive.Archive
	zipErr error
}

// ContainerOf returns the container that a file's name claims by its ending,
// nil for none.
func ContainerOf(name string) *Container {
	claimed := filename.Container(name)
	for _, c := range containers {
		if c.Name == claimed {
			return c
		}
	}
	return nil
}

// Claims reports whether a file's name says by its ending that the file has a
// header with its tensors, so that one without is broken.
func Claims(name string) bool {
	c := ContainerOf(name)
	return c != nil && !c.Headless
}

// IsHDF5 reports whether a file is HDF5 by what it begins with, or by its name.
func IsHDF5(file io.ReaderAt, name string) bool {
	head := make([]byte, len(hdf5.Magic))
	err := format.ReadFull(file, head, 0)
	return err == nil && string(head) == hdf5.Magic || filename.Container(name) == "hdf5"
}

// readArray reads an array of numpy.
func readArray(f *File, src *source) error {
	array, err := npy.Open(src.file, src.size)
	if err != nil {
		return err
	}
	if array.Spare > 0 {
		f.Warnings = append(f.Warnings, lang.Say("%d bytes after the data at 0x%x", array.Spare, array.Offset+array.Size))
	}
	info := filename.Parse(src.name)
	f.warnFormat(&info)
	t := Tensor{Kind: cmp.Or(info.Kind, tensor.Output), Index: info.Index,
		Tensor: tensor.Tensor{DType: array.DType(), Format: tensor.ND, Shape: array.Shape, Size: array.Size, Data: array.Data()}}
	if t.Shape == nil {
		t.Shape = tensor.Shape{}
	}
	if info.Format != nil {
		t.Format = *info.Format
	}
	if info.DType != t.DType {
		t.Origin = info.DType
	}
	f.IsArray, f.Tensors = true, []Tensor{t}
	return nil
}

// zipMagic are the first bytes of an archive with entries, and of one without.
var zipMagic = [][]byte{[]byte("PK\x03\x04"), []byte("PK\x05\x06")}

func isZip(head []byte) bool {
	return slices.ContainsFunc(zipMagic, func(magic []byte) bool { return bytes.HasPrefix(head, magic) })
}

// zipHolds makes the is function of a container that is a zip file: its entries show
// it, or the end of its name where they cannot be listed or show nothing.
func zipHolds(holds func(*archive.Archive) bool, container string) func([]byte, *source) bool {
	return func(head []byte, src *source) bool {
		if !isZip(head) {
			return false
		}
		if zip, err := src.archive(); err == nil && holds(zip) {
			return true
		}
		return filename.Container(src.name) == container
	}
}

// archive lists the entries of a zip file, once for all containers that ask.
func (s *source) archive() (*archive.Archive, error) {
	if s.zip == nil && s.zipErr == nil {
		s.zip, s.zipErr = archive.Open(s.file, s.size)
	}
	return s.zip, s.zipErr
}

// Claimed reports whether a zip file of a name, with entries of these, is a file of
// tensors: one of torch.save, or of numpy, which its name has to say too. Others are
// archives of files.
func Claimed(name string, entries []string) bool {
	root := ""
	isTorch := slices.ContainsFunc(entries, func(e string) (ok bool) {
		root, ok = strings.CutSuffix(e, "data.pkl")
		return ok && (root == "" || strings.HasSuffix(root, "/"))
	})
	claimed := filename.Container(name)
	switch {
	case isTorch && (claimed == "pt" || slices.Contains(entries, root+"version")):
		return true
	case claimed == "npz":
		return len(entries) == 0 || slices.ContainsFunc(entries, func(e string) bool { return strings.HasSuffix(e, ".npy") })
	}
	return claimed == "pt"
}

// holdsArrays reports whether an archive has arrays, and nothing of PyTorch.
func holdsArrays(zip *archive.Archive) bool {
	return !torch.IsArchive(zip) && slices.ContainsFunc(zip.Entries, func(e archive.Entry) bool { return strings.HasSuffix(e.Name, ".npy") })
}

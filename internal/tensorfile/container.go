package tensorfile

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/foreign"
	"dumptool/internal/format"
	"dumptool/internal/format/archive"
	"dumptool/internal/format/hdf5"
	"dumptool/internal/format/npy"
	"dumptool/internal/format/npz"
	"dumptool/internal/format/safetensors"
	"dumptool/internal/format/torch"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// Container is a kind of file that holds tensors. Adding one takes a file here
// that declares it, a line in containers, and its samples in the tests.
type Container struct {
	// Name is the name of the kind.
	Name string
	// Extensions are the endings, in lower case, of the names that such files
	// have; none for files whose names end in anything.
	Extensions []string
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
var containers = []*Container{&npyContainer, &hdf5Container, &torchContainer, &npzContainer, &safetensorsContainer, &atbContainer, &syncContainer, &rawContainer, &dumpContainer}

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
	ext := strings.ToLower(filepath.Ext(name))
	for _, c := range containers {
		if slices.Contains(c.Extensions, ext) {
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

// hdf5Container is an HDF5 file. Where something else stands before it, its name says
// that it is one.
var hdf5Container = Container{
	Name:       "hdf5",
	Extensions: hdf5Extensions,
	Named:      true,
	is: func(head []byte, src *source) bool {
		return bytes.HasPrefix(head, []byte(hdf5.Magic)) || claimsHDF5(src.name)
	},
	read: named(hdf5.Open),
}

var hdf5Extensions = []string{".h5", ".hdf5"}

func claimsHDF5(name string) bool {
	return slices.Contains(hdf5Extensions, strings.ToLower(filepath.Ext(name)))
}

// IsHDF5 reports whether a file is HDF5 by what it begins with, or by its name.
func IsHDF5(file io.ReaderAt, name string) bool {
	head := make([]byte, len(hdf5.Magic))
	err := format.ReadFull(file, head, 0)
	return err == nil && string(head) == hdf5.Magic || claimsHDF5(name)
}

// npyContainer is the array file of numpy. Its name may say which tensor of an
// operator it is, in which layout, and of which element type where numpy has none
// like it.
var npyContainer = Container{
	Name:       "npy",
	Extensions: []string{".npy"},
	Lone:       true,
	is:         func(head []byte, _ *source) bool { return bytes.HasPrefix(head, []byte(npy.Magic)) },
	read:       readArray,
}

func readArray(f *File, src *source) error {
	array, err := npy.Open(src.file, src.size)
	if err != nil {
		return err
	}
	if array.Spare > 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("%d bytes after the data at 0x%x", array.Spare, array.Offset+array.Size))
	}
	info := filename.Parse(src.name)
	f.warnFormat(&info)
	t := Tensor{Kind: cmp.Or(info.Kind, tensor.Output), Index: info.Index,
		Tensor: tensor.Tensor{DType: array.Host.DType(), Format: tensor.ND, Shape: array.Shape, Size: array.Size, Data: array.Data()}}
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

const safetensorsExt = ".safetensors"

// safetensorsContainer is a file of Hugging Face's safetensors. It has no magic
// number: its name decides.
var safetensorsContainer = Container{
	Name:       "safetensors",
	Extensions: []string{safetensorsExt},
	Named:      true,
	is: func(_ []byte, src *source) bool {
		return strings.EqualFold(filepath.Ext(src.name), safetensorsExt)
	},
	read: named(safetensors.Open),
}

// zipMagic are the first bytes of an archive with entries, and of one without.
var zipMagic = [][]byte{[]byte("PK\x03\x04"), []byte("PK\x05\x06")}

func isZip(head []byte) bool {
	return slices.ContainsFunc(zipMagic, func(magic []byte) bool { return bytes.HasPrefix(head, magic) })
}

// zipHolds makes the is function of a container that is a zip file: its entries show
// it, or the end of its name where they cannot be listed or show nothing.
func zipHolds(holds func(*archive.Archive) bool, extensions []string) func([]byte, *source) bool {
	return func(head []byte, src *source) bool {
		if !isZip(head) {
			return false
		}
		if zip, err := src.archive(); err == nil && holds(zip) {
			return true
		}
		return slices.Contains(extensions, strings.ToLower(filepath.Ext(src.name)))
	}
}

// archive lists the entries of a zip file, once for all containers that ask.
func (s *source) archive() (*archive.Archive, error) {
	if s.zip == nil && s.zipErr == nil {
		s.zip, s.zipErr = archive.Open(s.file, s.size)
	}
	return s.zip, s.zipErr
}

// torchContainer is a file of PyTorch's torch.save, a zip file or of the form before.
var torchContainer = Container{
	Name:       "pt",
	Extensions: torchExts,
	Named:      true,
	is: func(head []byte, src *source) bool {
		return torch.IsLegacy(head) || zipHolds(torch.IsArchive, torchExts)(head, src)
	},
	read: named(torch.Open),
}

var torchExts = []string{".pt", ".pth"}

// Claimed reports whether a zip file of a name, with entries of these, is a file of
// tensors: one of torch.save, or of numpy, which its name has to say too. Others are
// archives of files.
func Claimed(name string, entries []string) bool {
	root := ""
	isTorch := slices.ContainsFunc(entries, func(e string) (ok bool) {
		root, ok = strings.CutSuffix(e, "data.pkl")
		return ok && (root == "" || strings.HasSuffix(root, "/"))
	})
	ext := strings.ToLower(filepath.Ext(name))
	switch {
	case isTorch && (slices.Contains(torchExts, ext) || slices.Contains(entries, root+"version")):
		return true
	case ext == ".npz":
		return len(entries) == 0 || slices.ContainsFunc(entries, func(e string) bool { return strings.HasSuffix(e, ".npy") })
	}
	return slices.Contains(torchExts, ext)
}

// npzContainer is an archive of arrays of numpy.
var npzContainer = Container{
	Name:       "npz",
	Extensions: []string{".npz"},
	Named:      true,
	is:         zipHolds(holdsArrays, []string{".npz"}),
	read:       named(npz.Open),
}

// holdsArrays reports whether an archive has arrays, and nothing of PyTorch.
func holdsArrays(zip *archive.Archive) bool {
	return !torch.IsArchive(zip) && slices.ContainsFunc(zip.Entries, func(e archive.Entry) bool { return strings.HasSuffix(e.Name, ".npy") })
}

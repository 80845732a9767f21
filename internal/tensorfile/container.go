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

// Container is a kind of file that holds tensors. A new container takes a row of containers, and
// samples in the tests.
type Container struct {
	// Name is the name of the kind. Package filename lists the endings that claim it; some kinds of
	// files have any ending.
	Name string
	// Single: a file holds one tensor, output 0, and need not be opened to list it.
	Single bool
	// Headless: a file holds elements only. Its name or a RawHint defines their type and shape.
	Headless bool
	// Named: the tensors of the file have names. The file must be opened to list them.
	Named bool
	// matches reports whether a file is of this kind, by its first bytes (headBytes, or the whole file),
	// by its name, and if neither suffices by its contents.
	matches func(head []byte, src *containerInput) bool
	// read fills File: tensors, warnings and all other data of the file.
	read func(f *File, src *containerInput) error
}

// containers lists the kinds in the order of detection: magic numbers before names, and dumps,
// which have neither, last.
var containers = []*Container{
	// The name of a numpy array may define the operator and index of its tensor, its layout, and an
	// element type that numpy lacks.
	{Name: "npy", Single: true, matches: hasMagic(npy.Magic), read: readArray},
	// An HDF5 file may begin with other data; then its name decides.
	{Name: "hdf5", Named: true, matches: either(hasMagic(hdf5.Magic), hasEnding("hdf5")), read: namedReader(hdf5.Open)},
	// torch.save writes a zip file; before PyTorch 1.6 it wrote another form.
	{Name: "pt", Named: true, matches: either(func(head []byte, _ *containerInput) bool { return torch.IsLegacy(head) }, isZipWith(torch.IsArchive, "pt")), read: readTorch},
	{Name: "npz", Named: true, matches: isZipWith(holdsArrays, "npz"), read: namedReader(npz.Open)},
	// safetensors files (Hugging Face) have no magic number.
	{Name: "safetensors", Named: true, matches: hasEnding("safetensors"), read: namedReader(safetensors.Open)},
	{Name: "atb", Single: true, matches: hasMagic(atb.Magic), read: readATB},
	// The names of raw files of MindSpore's synchronous dumps give type and shape. A hint adds the
	// original shape that a device layout needs.
	{Name: "bin", Single: true, Headless: true, matches: func(_ []byte, src *containerInput) bool { return hasSyncName(src.name) }, read: readRaw},
	{Name: "raw", Single: true, Headless: true, matches: func(_ []byte, src *containerInput) bool {
		return src.opt.Raw != nil && filename.Container(src.name) == "raw"
	}, read: readRaw},
	// Neither name nor first bytes identify a dump with certainty.
	{Name: "dump", matches: func([]byte, *containerInput) bool { return true }, read: readDump},
}

// hasMagic returns a predicate for files with a magic number.
func hasMagic(magic string) func([]byte, *containerInput) bool {
	return func(head []byte, _ *containerInput) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// hasEnding returns a predicate for files whose name claims a container.
func hasEnding(container string) func([]byte, *containerInput) bool {
	return func(_ []byte, src *containerInput) bool { return filename.Container(src.name) == container }
}

// either returns the disjunction of two predicates.
func either(one, other func([]byte, *containerInput) bool) func([]byte, *containerInput) bool {
	return func(head []byte, src *containerInput) bool { return one(head, src) || other(head, src) }
}

// headBytes is the number of leading bytes that show the kind of a file.
const headBytes = foreign.HeadBytes

// containerInput is the input of a container: the file, its size, its name, and the options of the caller.
type containerInput struct {
	file store.Source
	size int64
	name string
	opt  Options

	// zip and zipErr cache the result of archive.
	zip    *archive.Archive
	zipErr error
}

// ContainerOf returns the container that the ending of a file's name claims, nil for none.
func ContainerOf(name string) *Container {
	claimed := filename.Container(name)
	for _, c := range containers {
		if c.Name == claimed {
			return c
		}
	}
	return nil
}

// Claims reports whether the ending of a file's name claims a container with a header, so that a
// file without this header is broken.
func Claims(name string) bool {
	c := ContainerOf(name)
	return c != nil && !c.Headless
}

// IsHDF5 reports whether a file is HDF5 by its first bytes or by its name.
func IsHDF5(file io.ReaderAt, name string) bool {
	head := make([]byte, len(hdf5.Magic))
	err := format.ReadFull(file, head, 0)
	return err == nil && string(head) == hdf5.Magic || filename.Container(name) == "hdf5"
}

// readArray reads a numpy array.
func readArray(f *File, src *containerInput) error {
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
		Tensor: format.Tensor{Tensor: tensor.Tensor{DType: array.DType(), Format: tensor.ND, Shape: array.Shape, Size: array.Size, Data: array.Data()}}}
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

// zipMagic lists the first bytes of an archive with entries and of an archive without.
var zipMagic = [][]byte{[]byte("PK\x03\x04"), []byte("PK\x05\x06")}

func isZip(head []byte) bool {
	return slices.ContainsFunc(zipMagic, func(magic []byte) bool { return bytes.HasPrefix(head, magic) })
}

// isZipWith returns a predicate for a container that is a zip file: its entries decide, or its name
// if the entries cannot be listed or do not match.
func isZipWith(holds func(*archive.Archive) bool, container string) func([]byte, *containerInput) bool {
	return func(head []byte, src *containerInput) bool {
		if !isZip(head) {
			return false
		}
		if zip, err := src.archive(); err == nil && holds(zip) {
			return true
		}
		return filename.Container(src.name) == container
	}
}

// archive lists the entries of a zip file, once for all containers.
func (s *containerInput) archive() (*archive.Archive, error) {
	if s.zip == nil && s.zipErr == nil {
		s.zip, s.zipErr = archive.Open(s.file, s.size)
	}
	return s.zip, s.zipErr
}

// HoldsTensors reports whether a zip file with this name and these entries holds tensors: a file of
// torch.save, or of numpy, which needs the name .npz too. Other zip files are archives of files.
func HoldsTensors(name string, entries []string) bool {
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

// holdsArrays reports whether an archive holds numpy arrays and is not a file of PyTorch.
func holdsArrays(zip *archive.Archive) bool {
	return !torch.IsArchive(zip) && slices.ContainsFunc(zip.Entries, func(e archive.Entry) bool { return strings.HasSuffix(e.Name, ".npy") })
}

package tensorfile

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/format/archive"
	"dumptool/internal/format/npz"
	"dumptool/internal/format/torch"
)

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

package tensorfile

import (
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/foreign"
	"dumptool/internal/format/archive"
	"dumptool/internal/store"
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

package tensorfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"dumptool/internal/dumpfmt"
)

// Entry is one file that was found.
type Entry struct {
	// Path is where the file is.
	Path string
	// Name is the name of the file that every decision goes by: the original
	// one where mapping.csv tells it, else the base name. It comes from a file
	// and may hold anything.
	Name string
	// Dir is the folder of the file below the folder that was searched.
	Dir string
	// Size is the size of the file in bytes.
	Size int64
	// Alone is set for the only path that was asked for, when it is a file: it
	// has to be a dump or an array.
	Alone bool
	// Err tells why the file cannot be looked at.
	Err error
}

// Listing is what Find found.
type Listing struct {
	Entries  []Entry
	Warnings []string
}

// Alone reports whether the listing is that of a single file.
func (l *Listing) Alone() bool { return len(l.Entries) == 1 && l.Entries[0].Alone }

// FindOptions says where Find does not look. The zero value leaves nothing out.
type FindOptions struct {
	// NoRecursive leaves the folders of a folder out.
	NoRecursive bool
	// Skip is a folder that is left out when it lies inside another one.
	Skip string
}

// MappingName is the file that gives files with too long names their original
// ones, in the folders of dumps and of outputs alike.
const MappingName = "mapping.csv"

// Find lists the files behind paths in a fixed order: files as they are given,
// folders in the order of names, with all their folders. Links to folders are
// not followed; the mapping.csv of every folder is honoured.
func Find(paths []string, opt FindOptions) *Listing {
	f := &finder{opt: opt, mappings: map[string]*dumpfmt.Mapping{}}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			f.fail(path, err)
		case info.IsDir():
			f.walk(path)
			continue
		default:
			f.add(path, ".", info)
		}
		f.found.Entries[len(f.found.Entries)-1].Alone = len(paths) == 1
	}
	return &f.found
}

type finder struct {
	found    Listing
	opt      FindOptions
	mappings map[string]*dumpfmt.Mapping // by folder
}

func (f *finder) fail(path string, err error) {
	f.found.Entries = append(f.found.Entries, Entry{Path: path, Name: filepath.Base(path), Err: err})
}

func (f *finder) walk(root string) {
	top := root
	if info, err := os.Lstat(root); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		top += string(filepath.Separator) // or WalkDir would not follow the link
	}
	// The callback returns errors only to skip folders, so WalkDir has none.
	_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			f.fail(path, err)
			return nil
		}
		if entry.IsDir() {
			if path != top && (f.opt.NoRecursive || f.skips(entry)) {
				return fs.SkipDir
			}
			return nil
		}
		if entry.Name() == MappingName || isLeftover(entry.Name()) {
			return nil
		}
		info, err := os.Stat(path)
		if err != nil {
			f.fail(path, err)
			return nil
		}
		if info.IsDir() {
			return nil // a link to a folder is not followed
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			f.fail(path, err)
			return nil
		}
		f.add(path, dir, info)
		return nil
	})
}

// leftover is the form of the names under which output files grow. One of them
// is left only by a process that was killed.
var leftover = regexp.MustCompile(`^\..*\.[0-9A-Za-z]+\.tmp$`)

func isLeftover(name string) bool { return leftover.MatchString(name) }

// skips reports whether a folder is the one to leave out.
func (f *finder) skips(entry fs.DirEntry) bool {
	if f.opt.Skip == "" {
		return false
	}
	skip, err := os.Stat(f.opt.Skip)
	if err != nil {
		return false
	}
	info, err := entry.Info()
	return err == nil && os.SameFile(info, skip)
}

func (f *finder) add(path, dir string, info fs.FileInfo) {
	name := filepath.Base(path)
	if original, ok := f.mapping(filepath.Dir(path)).Original(name); ok {
		name = original
	}
	f.found.Entries = append(f.found.Entries, Entry{Path: path, Name: name, Dir: dir, Size: info.Size()})
}

// mapping returns the mapping.csv of a folder, an empty one where there is none.
func (f *finder) mapping(dir string) *dumpfmt.Mapping {
	if m, ok := f.mappings[dir]; ok {
		return m
	}
	m := &dumpfmt.Mapping{}
	f.mappings[dir] = m
	path := filepath.Join(dir, MappingName)
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		return m
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path) // a pipe would block
	}
	var file *os.File
	if err == nil {
		file, err = os.Open(path)
	}
	if err != nil {
		f.found.Warnings = append(f.found.Warnings, err.Error())
		return m
	}
	defer file.Close()
	read, err := dumpfmt.ReadMapping(file)
	if err != nil {
		f.found.Warnings = append(f.found.Warnings, fmt.Sprintf("%s: %v", path, err))
		return m
	}
	for _, bad := range read.Bad {
		f.found.Warnings = append(f.found.Warnings, fmt.Sprintf("%s: %v", path, bad))
	}
	for _, odd := range read.Warnings {
		f.found.Warnings = append(f.found.Warnings, fmt.Sprintf("%s: %s", path, odd))
	}
	f.mappings[dir] = read
	return read
}

package convert

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/safefile"
)

// Job is one file to convert.
type Job struct {
	// Path is where the file is.
	Path string
	// Name is the name of the file that every decision goes by: the original
	// one where mapping.csv tells it, else the base name.
	Name string
	// Dir is the folder below the output folder that its outputs go to.
	Dir string
	// Size is the size of the file in bytes.
	Size int64
	// Err tells why the file cannot be looked at.
	Err error
}

// Inputs are the files to convert.
type Inputs struct {
	Jobs []Job
	// Single is set when the user named exactly one file.
	Single   bool
	Warnings []string
}

// mappingName is the file that gives files with too long names their original
// ones, in the folders of dumps and of outputs alike.
const mappingName = "mapping.csv"

// Find lists the files behind paths in a fixed order: files as they are given,
// folders in the order of names, recursively or not. A folder out that lies
// inside one of them is not searched.
func Find(paths []string, out string, recursive bool) *Inputs {
	f := &finder{out: out, recursive: recursive, mappings: map[string]*dumpfmt.Mapping{}}
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
		f.in.Single = len(paths) == 1
	}
	f.rejectTwins()
	return &f.in
}

type finder struct {
	in        Inputs
	out       string
	recursive bool
	mappings  map[string]*dumpfmt.Mapping // by folder
}

func (f *finder) fail(path string, err error) {
	f.in.Jobs = append(f.in.Jobs, Job{Path: path, Name: filepath.Base(path), Err: err})
}

func (f *finder) walk(root string) {
	// The callback returns errors only to skip folders, so WalkDir has none.
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			f.fail(path, err)
			return nil
		}
		if entry.IsDir() {
			if path != root && (!f.recursive || safefile.SameFile(path, f.out)) {
				return fs.SkipDir
			}
			return nil
		}
		if entry.Name() == mappingName || entry.Name() == failedListName {
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

func (f *finder) add(path, dir string, info fs.FileInfo) {
	name := filepath.Base(path)
	if original, ok := f.mapping(filepath.Dir(path)).Original(name); ok {
		name = original
	}
	f.in.Jobs = append(f.in.Jobs, Job{Path: path, Name: safeName(name), Dir: dir, Size: info.Size()})
}

// mapping returns the mapping.csv of a folder, an empty one where there is none.
func (f *finder) mapping(dir string) *dumpfmt.Mapping {
	if m, ok := f.mappings[dir]; ok {
		return m
	}
	m := &dumpfmt.Mapping{}
	f.mappings[dir] = m
	path := filepath.Join(dir, mappingName)
	file, err := os.Open(path)
	if err != nil {
		if !os.IsNotExist(err) {
			f.in.Warnings = append(f.in.Warnings, err.Error())
		}
		return m
	}
	defer file.Close()
	read, err := dumpfmt.ReadMapping(file)
	if err != nil {
		f.in.Warnings = append(f.in.Warnings, fmt.Sprintf("%s: %v", path, err))
		return m
	}
	for _, bad := range read.Bad {
		f.in.Warnings = append(f.in.Warnings, fmt.Sprintf("%s: %v", path, bad))
	}
	for _, odd := range read.Warnings {
		f.in.Warnings = append(f.in.Warnings, fmt.Sprintf("%s: %s", path, odd))
	}
	f.mappings[dir] = read
	return read
}

// rejectTwins fails every file whose outputs would have the names of an earlier
// one's.
func (f *finder) rejectTwins() {
	type place struct{ dir, name string }
	seen := map[place]string{}
	for i, j := range f.in.Jobs {
		if j.Err != nil {
			continue
		}
		at := place{j.Dir, j.Name}
		if first, ok := seen[at]; ok {
			f.in.Jobs[i].Err = fmt.Errorf("its outputs would have the same names as those of %s", first)
			continue
		}
		seen[at] = j.Path
	}
}

package hpaa

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// Found is what there is to import.
type Found struct {
	Pieces []*Piece
	// Others are files that are no piece; Misfits counts those of them whose names
	// should have fitted a pattern.
	Others  []Other
	Misfits int
}

// Source says where pieces are.
type Source struct {
	// Description is the file that describes them, or Pattern the template of their
	// paths below Dir.
	Description string
	Pattern     *Pattern
	// Dir is the folder of the pieces, Top that of the whole run.
	Dir, Top string
	// AllowOutside takes pieces that lie outside of the folder of the description and
	// of Top.
	AllowOutside bool
	// Skip are folders that hold results.
	Skip []string
}

// Find lists the pieces. The error is a *DescriptionError, or that of a file or folder.
func (s *Source) Find() (*Found, error) {
	if s.Pattern == nil {
		return s.described()
	}
	files, err := s.list()
	if err != nil {
		return nil, err
	}
	return s.fit(files), nil
}

// fit makes pieces of the files whose names fit the pattern.
func (s *Source) fit(files []string) *Found {
	found := new(Found)
	for _, name := range files {
		p, err := s.Pattern.Match(name)
		if err != nil {
			found.Others = append(found.Others, Other{name, lang.Plain(err.Error())})
			found.Misfits++
			continue
		}
		p.Path = store.Join(s.Dir, filepath.FromSlash(name))
		found.Pieces = append(found.Pieces, p)
	}
	return found
}

// list lists the files below Dir by their paths with slashes, in natural order.
func (s *Source) list() ([]string, error) {
	top, err := store.Real(s.Dir) // a link is not walked
	if err != nil {
		return nil, err
	}
	var names []string
	err = store.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != top && slices.ContainsFunc(s.Skip, func(dir string) bool { return safefile.SameFile(dir, path) }) {
				return fs.SkipDir
			}
			return nil
		}
		name, err := store.Rel(top, path)
		if err != nil {
			return err
		}
		names = append(names, filepath.ToSlash(name))
		return nil
	})
	slices.SortFunc(names, lang.CompareNatural)
	return names, err
}

// described lists the pieces of the description.
func (s *Source) described() (*Found, error) {
	file, err := safefile.Open(s.Description)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	pieces, err := ReadPieces(file)
	if err != nil {
		return nil, err
	}
	_ = store.Preload(store.Dir(s.Description)) // what it cannot list is looked at one by one
	found := &Found{Pieces: pieces}
	var bad DescriptionError
	known := map[string]bool{}
	for _, p := range pieces {
		if p.Path, err = s.pathOf(p.File); err != nil {
			bad.add(p.line, err)
			continue
		}
		known[resolved(p.Path)] = true
	}
	if err := bad.orNil(); err != nil {
		return nil, err
	}
	files, err := s.list()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range files {
		path := store.Join(s.Dir, filepath.FromSlash(name))
		if !known[resolved(path)] && !safefile.SameFile(path, s.Description) {
			found.Others = append(found.Others, Other{name, lang.Sayf("not described", "没有描述")})
		}
	}
	return found, nil
}

// pathOf is where the file of a piece is: below the folder of the description, or where
// it is not there below Top.
func (s *Source) pathOf(name string) (string, error) {
	local := filepath.FromSlash(name)
	folder := store.Dir(s.Description)
	outside := fmt.Errorf("file: %q leads out of the folder, want a path below it (or --allow-outside)", lang.Clip(name))
	switch {
	case filepath.IsLocal(local) && !slices.Contains(strings.Split(filepath.ToSlash(local), "/"), ".."):
	case !s.AllowOutside:
		return "", outside
	case store.IsAbs(local):
		return local, nil
	}
	path := store.Join(folder, local)
	if _, err := store.Lstat(path); errors.Is(err, fs.ErrNotExist) && s.Top != "" {
		if below := store.Join(s.Top, local); exists(below) {
			path = below
		}
	}
	if s.AllowOutside {
		return path, nil
	}
	_, err := store.Within(folder, path)
	if errors.Is(err, store.ErrOutside) && s.Top != "" {
		_, err = store.Within(s.Top, path)
	}
	if errors.Is(err, store.ErrOutside) {
		return "", outside
	}
	return path, nil // whoever reads it says what else is wrong
}

package store

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"dumptool/internal/lang"
)

// Mark separates the path of an archive and the name of a file in it: the file a/b.npy of run.zip
// is run.zip!a/b.npy, and run.zip! is the folder of all its files.
const Mark = "!"

// Members are the files in an archive. Several goroutines may use them at a time.
type Members interface {
	// List returns files and folders in any order. Names have slashes between folders; names of
	// folders end with a slash. A name is a local path and occurs once.
	List() []Object
	// Open opens a file of the archive.
	Open(name string) (Source, error)
	// Close releases the resources of opened files.
	Close() error
}

// archives are the mounted archives, by their paths as written and by their absolute paths.
var archives struct {
	open    atomic.Pointer[func(path string) (Members, error)]
	opening sync.Mutex // held while an archive is opened
	any     atomic.Bool
	mu      sync.RWMutex
	known   map[string]*mount
}

// mount is a mounted archive.
type mount struct {
	remote
	members Members
}

// UseArchives sets the function that opens archives; open returns nil for a file that is not an
// archive.
func UseArchives(open func(path string) (Members, error)) { archives.open.Store(&open) }

// Mount returns the path of the folder of all files if path is an archive, which then ends with
// Mark, and path itself otherwise.
func Mount(path string) (string, error) {
	if archive, name, ok := SplitArchive(path); ok && name == "" {
		return archive + Mark, nil
	}
	if info, err := Stat(path); err != nil || !info.Mode().IsRegular() {
		return path, err
	}
	found, err := mountAt(path)
	if err != nil || found == nil {
		return path, err
	}
	return path + Mark, nil
}

// CloseArchives releases the resources of all mounted archives.
func CloseArchives() error {
	archives.mu.Lock()
	defer archives.mu.Unlock()
	var all []error
	closed := make(map[*mount]bool)
	for _, m := range archives.known {
		if !closed[m] {
			all = append(all, m.members.Close())
		}
		closed[m] = true
	}
	archives.known = nil
	archives.any.Store(false)
	return errors.Join(all...)
}

// mountAt returns the archive at a path, nil if the file is not an archive.
func mountAt(path string) (*mount, error) {
	open := archives.open.Load()
	if _, _, inside := SplitArchive(path); inside || open == nil {
		return nil, nil
	}
	abs, err := Abs(path)
	if err != nil {
		return nil, err
	}
	archives.opening.Lock()
	defer archives.opening.Unlock()
	archives.mu.RLock()
	m := cmp.Or(archives.known[path], archives.known[abs])
	archives.mu.RUnlock()
	if m == nil {
		members, err := (*open)(path)
		if err != nil || members == nil {
			return nil, err
		}
		m = &mount{members: members}
		m.listings = []*listing{{"", "", members.List(), map[string]bool{}}}
		slices.SortFunc(m.listings[0].objects, func(a, b Object) int { return strings.Compare(a.Key, b.Key) })
	}
	archives.mu.Lock()
	defer archives.mu.Unlock()
	if archives.known == nil {
		archives.known = make(map[string]*mount)
	}
	archives.known[path], archives.known[abs] = m, m
	archives.any.Store(true)
	return m, nil
}

// withPath calls do with a path. If nothing exists there, it opens the archive in the path, if any,
// and calls do again.
func withPath[T any](path string, do func(path string) (T, error)) (T, error) {
	found, err := do(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	switch opened, failed := openArchive(path); {
	case failed != nil:
		return found, failed
	case opened:
		return do(path)
	}
	return found, err
}

// openArchive opens the archive in a path that does not exist itself: the regular file at the
// longest part before a Mark. It reports whether there is an archive.
func openArchive(path string) (bool, error) {
	if !strings.Contains(path, Mark) || archives.open.Load() == nil {
		return false, nil
	}
	for i := len(path) - 1; i > 0; i-- {
		if path[i] != Mark[0] {
			continue
		}
		info, err := Stat(path[:i])
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		m, err := mountAt(path[:i])
		return m != nil, err
	}
	return false, nil
}

// SplitArchive splits a path into the archive and the name in it; ok is false for paths outside of
// mounted archives.
func SplitArchive(path string) (archive, name string, ok bool) {
	m, i := mountOf(path)
	if m == nil {
		return path, "", false
	}
	return path[:i], path[i+len(Mark):], true
}

// mountOf returns the mounted archive in a path and the offset of its Mark.
func mountOf(path string) (*mount, int) {
	if !archives.any.Load() {
		return nil, 0
	}
	archives.mu.RLock()
	defer archives.mu.RUnlock()
	for i := strings.Index(path, Mark); i >= 0 && i < len(path); {
		if m := archives.known[path[:i]]; m != nil {
			return m, i
		}
		next := strings.Index(path[i+len(Mark):], Mark)
		if next < 0 {
			break
		}
		i += len(Mark) + next
	}
	return nil, 0
}

// errArchive is the error of an attempt to change an archive.
var errArchive = lang.Errorf("is in an archive, which is only read")

// Open implements Objects.
func (m *mount) Open(_ string, o Object) (Source, error) { return m.members.Open(o.Key) }

// List implements Objects. It needs no request: all files of an archive are listed already.
func (m *mount) List(_, prefix string, shallow bool) (objects []Object, prefixes []string, err error) {
	if shallow {
		objects, prefixes = m.listings[0].listFolder(prefix)
		return objects, prefixes, nil
	}
	return m.listings[0].objects, nil, nil
}

// HasPrefix implements Objects.
func (m *mount) HasPrefix(_, prefix string) (bool, error) {
	return m.listings[0].hasPrefix(prefix), nil
}

// Head implements Objects.
func (m *mount) Head(_, key string) (Object, error) {
	if o, ok := m.listings[0].object(key); ok {
		return o, nil
	}
	return Object{}, fs.ErrNotExist
}

// Create implements Objects.
func (*mount) Create(_, _ string, _ bool) (Writer, error) { return nil, errArchive }

// Writable implements Objects.
func (*mount) Writable(_, _ string) error { return errArchive }

// Remove implements Objects.
func (*mount) Remove(_, _ string) error { return errArchive }

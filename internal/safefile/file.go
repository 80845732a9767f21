// Package safefile writes output files that are either complete or absent. A
// file grows under a temporary name in the folder of its final name and is
// renamed into place when it is whole, so an error, a full disk or a killed
// process leaves nothing half-written under a final name. What a killed one left under
// temporary names is removed by the next one that writes to the folder. Remote files grow in
// package store, by the same rule.
//
// It does not sync to disk: it protects readers from partial files, not from
// a power failure.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"dumptool/internal/store"
)

// File is an output file that does not have its final name yet. Exactly one of
// Commit and Abort decides what becomes of it; defer Abort right after Create.
// Write follows the rules of os.File.
type File struct {
	out  store.Writer
	path string

	mu     sync.Mutex
	err    error // first failure of any kind
	closed bool
}

// Create starts the output file path. The folder of path must exist. Whatever
// stands at path stays untouched until Commit; anything but a regular file
// there is an error, so that a device or a folder is never replaced.
func Create(path string) (*File, error) {
	if store.Remote(path) {
		out, err := store.Create(path)
		if err != nil {
			return nil, err
		}
		return &File{out: out, path: path}, nil
	}
	if _, base := filepath.Split(path); base == "" {
		return nil, &os.PathError{Op: "create", Path: path, Err: errors.New("not a file name")}
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, &os.PathError{Op: "create", Path: path, Err: errors.New("is a folder")}
	case err == nil && !info.Mode().IsRegular():
		return nil, &os.PathError{Op: "create", Path: path, Err: errors.New("not a regular file")}
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, named("create", path, err)
	}
	file, err := openTemp(path, 0o666) // as any file a user makes
	if err != nil {
		return nil, named("create", path, err)
	}
	return &File{out: &temp{File: file, path: path}, path: path}, nil
}

// CreateNew is Create for a file that must not replace another one: Commit leaves what
// stands at path by then, and its error wraps os.ErrExist.
func CreateNew(path string) (*File, error) {
	if store.Remote(path) {
		out, err := store.CreateNew(path)
		if err != nil {
			return nil, err
		}
		return &File{out: out, path: path}, nil
	}
	f, err := Create(path)
	if err == nil {
		f.out.(*temp).isNew = true
	}
	return f, err
}

// Path returns the final name of the file.
func (f *File) Path() string { return f.path }

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.out.Write(p)
	return n, f.note(err)
}

// reserveBytes is the size from which files are worth a call of Reserve.
const reserveBytes = 64 << 10

// Reserve says that the file will have about size bytes, so that the system can find
// room for them at once. The file is as long as what is written all the same.
func (f *File) Reserve(size int64) {
	if t, ok := f.out.(*temp); ok && size >= reserveBytes {
		reserve(t.File, size)
	}
}

// WritesAt reports whether WriteAt may be called: a remote file grows from its
// beginning to its end.
func (f *File) WritesAt() bool {
	_, ok := f.out.(io.WriterAt)
	return ok
}

// WriteAt implements io.WriterAt. Several goroutines may write at a time.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	out, ok := f.out.(io.WriterAt)
	if !ok {
		return 0, f.note(errors.ErrUnsupported)
	}
	n, err := out.WriteAt(p, off)
	return n, f.note(err)
}

// Commit gives the file its final name, replacing what stood there in one step.
// When it fails or any earlier call did, nothing is left of the file and the
// first error is returned.
func (f *File) Commit() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return &os.PathError{Op: "commit", Path: f.path, Err: os.ErrClosed}
	}
	f.closed = true
	if f.err != nil {
		f.out.Abort()
	} else {
		f.err = f.out.Commit()
	}
	return f.err
}

// Abort gives the file up. It does nothing after Commit or another Abort.
func (f *File) Abort() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	f.out.Abort()
}

// note remembers the first error of writing and returns err under the final name.
func (f *File) note(err error) error {
	if err == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !store.Remote(f.path) {
		err = named("write", f.path, err)
	}
	if f.err == nil {
		f.err = err
	}
	return err
}

// named puts the final path into an error that knows the temporary one.
func named(op, path string, err error) error {
	var pathErr *os.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		err = pathErr.Err
	case errors.As(err, &linkErr):
		err = linkErr.Err
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}

// WithPath puts a path in front of an error that does not name it already, as
// those of the system do.
func WithPath(path string, err error) error {
	var system *os.PathError
	var remote *store.Error
	if errors.As(err, &system) && system.Path == path || errors.As(err, &remote) && remote.Path == path {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// WriteFile writes data to path as one safe file.
func WriteFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	return f.writeAll(data)
}

// WriteNewFile is WriteFile for a file that must not replace another one, as of
// CreateNew.
func WriteNewFile(path string, data []byte) error {
	f, err := CreateNew(path)
	if err != nil {
		return err
	}
	return f.writeAll(data)
}

// writeAll writes data as all of the file.
func (f *File) writeAll(data []byte) error {
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// MkdirAll makes the folder dir and its parents with the permissions that the
// umask leaves. Errors name dir. Where there are no folders, an object of that name
// is an error all the same: nothing could be read below it.
func MkdirAll(dir string) error {
	if store.Remote(dir) {
		if err := store.CheckFolder(dir); err != nil {
			return fmt.Errorf("cannot make folder %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot make folder %s: %w", dir, err)
	}
	return nil
}

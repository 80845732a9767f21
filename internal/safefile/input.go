package safefile

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// Input is a file opened for reading, from its beginning and at any offset.
type Input interface {
	store.Source
	io.Reader
}

// remoteInput is an object as an Input.
type remoteInput struct {
	store.Source
	io.Reader
}

// Open opens a file that is read whole. It refuses devices, sockets and named pipes,
// which may keep the reader waiting for ever. The null device is an empty file, and
// names of files that the process has open already, such as /dev/stdin and those that
// shells put in place of <(command), are what the user asks for.
func Open(path string) (Input, error) {
	if store.Remote(path) {
		src, err := store.Open(path)
		if err != nil {
			return nil, err
		}
		return remoteInput{src, io.NewSectionReader(src, 0, src.Size())}, nil
	}
	what := ""
	if info, err := os.Stat(path); err == nil {
		what = unbounded(info.Mode())
	}
	if what != "" && path != os.DevNull && !inherited().MatchString(filepath.Clean(path)) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: lang.Errorf("is %s, want a regular file", lang.Say(what))}
	}
	src, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	return src.(Input), nil // local files are both
}

// Read opens a file and calls read with it. The error is one of Open, that of read, or
// a *guard.Panic where that panics.
func Read(path string, read func(Input) error) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return guard.Do(func() error { return read(f) })
}

// ReadFile reads a file as Open opens it.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// inherited matches names of files that a process has open.
var inherited = lang.Pattern(`^(/dev/stdin|/dev/fd/\d+|/proc/(self|thread-self|\d+)/fd/\d+)$`)

// InFolder is the file that is meant by a path: itself, or the first of the names that lies
// in the folder that it is.
func InFolder(path string, names ...string) string {
	if info, err := store.Stat(path); err != nil || !info.IsDir() {
		return path
	}
	for _, name := range names {
		if _, err := store.Stat(store.Join(path, name)); err == nil {
			return store.Join(path, name)
		}
	}
	return store.Join(path, names[0])
}

// CheckFolder reports a folder of results that is a file.
func CheckFolder(out string) error {
	if info, err := store.Stat(out); err == nil && !info.IsDir() {
		return lang.Errorf("%s is a file; -out wants a folder", out)
	}
	return nil
}

// unbounded names a file that may have no end, or is empty.
func unbounded(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	default:
		return ""
	}
}

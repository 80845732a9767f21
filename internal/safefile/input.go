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

// Input is a file opened for sequential and random reading.
type Input interface {
	store.Source
	io.Reader
}

// remoteInput is an object as an Input.
type remoteInput struct {
	store.Source
	io.Reader
}

// Open opens a file that will be read whole. It refuses devices, sockets and named pipes, which may
// block forever. Allowed are the null device, as an empty file, and files that the process has open
// already, such as /dev/stdin and the names that shells substitute for <(command).
func Open(path string) (Input, error) {
	if store.IsRemote(path) {
		src, err := store.Open(path)
		if err != nil {
			return nil, err
		}
		return remoteInput{src, io.NewSectionReader(src, 0, src.Size())}, nil
	}
	what := ""
	if info, err := os.Stat(path); err == nil {
		what = blockingKind(info.Mode())
	}
	if what != "" && path != os.DevNull && !openFileNames().MatchString(filepath.Clean(path)) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: lang.Errorf("is %s, want a regular file", lang.Say(what))}
	}
	src, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	return src.(Input), nil // local files are Inputs
}

// Read opens a file and calls read with it. The error is from Open or read; a panic of read is a
// *guard.Panic.
func Read(path string, read func(Input) error) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return guard.Do(func() error { return read(f) })
}

// ReadFile reads a whole file; see Open.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// openFileNames matches names of files that a process has open already.
var openFileNames = lang.Pattern(`^(/dev/stdin|/dev/fd/\d+|/proc/(self|thread-self|\d+)/fd/\d+)$`)

// ResolveInFolder returns a path of a file. A folder is replaced by the first of names that exists in it,
// else by names[0] in it; any other path is returned unchanged.
func ResolveInFolder(path string, names ...string) string {
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

// CheckFolder returns an error if the output folder is a file.
func CheckFolder(out string) error {
	if info, err := store.Stat(out); err == nil && !info.IsDir() {
		return lang.Errorf("%s is a file; -out wants a folder", out)
	}
	return nil
}

// blockingKind describes a file that may block or never end; empty for others.
func blockingKind(mode fs.FileMode) string {
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

// Package safefile writes output files that are either complete or absent. A file grows under a
// temporary name in the folder of its final name and is renamed when complete, so an error, a full
// disk or a killed process leaves no partial file under a final name. The next process that writes
// to the folder removes the temporary files of killed processes. Package store writes remote files
// by the same rule.
//
// It does not sync to disk: it protects readers from partial files, not from a power failure.
package safefile

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// File is an output file before it has its final name. Exactly one of Commit and Abort ends it;
// defer Abort right after Create. Write follows the rules of os.File.
type File struct {
	out  store.Writer
	path string

	mu     sync.Mutex
	err    error // first failure of any kind
	closed bool
}

// Create starts the output file path. The folder of path must exist. An existing file at path stays
// untouched until Commit; anything but a regular file there is an error, so that a device or a
// folder is never replaced.
func Create(path string) (*File, error) {
	if store.IsRemote(path) {
		out, err := store.Create(path)
		if err != nil {
			return nil, err
		}
		return &File{out: out, path: path}, nil
	}
	if _, base := filepath.Split(path); base == "" {
		return nil, &os.PathError{Op: "create", Path: path, Err: lang.Errorf("not a file name")}
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, &os.PathError{Op: "create", Path: path, Err: lang.Errorf("is a folder")}
	case err == nil && !info.Mode().IsRegular():
		return nil, &os.PathError{Op: "create", Path: path, Err: lang.Errorf("not a regular file")}
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, finalPathError("create", path, err)
	}
	file, err := openTemp(path, 0o666) // the mode of any file that a user creates
	if err != nil {
		return nil, finalPathError("create", path, err)
	}
	return &File{out: &tempFile{File: file, path: path}, path: path}, nil
}

// CreateNew is Create for a file that must not replace another one: if path exists at Commit, the
// error of Commit wraps os.ErrExist.
func CreateNew(path string) (*File, error) {
	if store.IsRemote(path) {
		out, err := store.CreateNew(path)
		if err != nil {
			return nil, err
		}
		return &File{out: out, path: path}, nil
	}
	f, err := Create(path)
	if err == nil {
		f.out.(*tempFile).isNew = true
	}
	return f, err
}

// Path returns the final name of the file.
func (f *File) Path() string { return f.path }

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.out.Write(p)
	return n, f.keepFirstError(err)
}

// reserveBytes is the size from which Reserve is worth a system call.
const reserveBytes = 64 << 10

// Reserve announces the approximate size in bytes, so that the file system can allocate it at once.
// The final length is the number of bytes written.
func (f *File) Reserve(size int64) {
	if t, ok := f.out.(*tempFile); ok && size >= reserveBytes {
		allocate(t.File, size)
	}
}

// CanWriteAt reports whether WriteAt may be called; a remote file is written from front to back.
func (f *File) CanWriteAt() bool {
	_, ok := f.out.(io.WriterAt)
	return ok
}

// WriteAt implements io.WriterAt. Several goroutines may write at a time.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	out, ok := f.out.(io.WriterAt)
	if !ok {
		return 0, f.keepFirstError(errors.ErrUnsupported)
	}
	n, err := out.WriteAt(p, off)
	return n, f.keepFirstError(err)
}

// Commit gives the file its final name and atomically replaces an existing file. If it or any
// earlier call fails, the file is removed and the first error is returned.
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

// Abort discards the file. It does nothing after Commit or another Abort.
func (f *File) Abort() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	f.out.Abort()
}

// keepFirstError keeps the first write error and returns err with the final name.
func (f *File) keepFirstError(err error) error {
	if err == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !store.IsRemote(f.path) {
		err = finalPathError("write", f.path, err)
	}
	if f.err == nil {
		f.err = err
	}
	return err
}

// finalPathError replaces the temporary path in an error by the final path.
func finalPathError(op, path string, err error) error {
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

// WithPath adds the path to an error that does not have it yet, as errors of the system do.
func WithPath(path string, err error) error {
	var system *os.PathError
	var remote *store.Error
	if errors.As(err, &system) && system.Path == path || errors.As(err, &remote) && remote.Path == path {
		return err
	}
	return lang.Errorf("%s: %w", path, err)
}

// WriteFile writes data to path as one safe file.
func WriteFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	return f.writeAll(data)
}

// WriteNewFile is WriteFile for a file that must not replace another one; see CreateNew.
func WriteNewFile(path string, data []byte) error {
	f, err := CreateNew(path)
	if err != nil {
		return err
	}
	return f.writeAll(data)
}

// writeAll writes data as the whole file.
func (f *File) writeAll(data []byte) error {
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// MkdirAll makes the folder dir and its parents with the permissions of the umask. Errors name dir.
// In object storage, without folders, an object named dir is an error: nothing could be read below
// it.
func MkdirAll(dir string) error {
	if store.IsRemote(dir) {
		if err := store.CheckFolder(dir); err != nil {
			return lang.Errorf("cannot make folder %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return lang.Errorf("cannot make folder %s: %w", dir, err)
	}
	return nil
}

const (
	// maxPrefix bounds the part of the base name in a temporary name. It keeps temporary names far
	// below the 255 bytes of most file systems and the 143 of encrypted ones.
	maxPrefix = 64
	// maxTries bounds the search for a free name; with 128 random bits the first is practically
	// always free.
	maxTries = 100
)

// openTemp creates a new file beside path and locks it: a free lock tells later processes that its
// writer has died. The umask applies to mode.
func openTemp(path string, mode os.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	cleanOnce(dir)
	for try := 1; ; try++ {
		name := dir + tempName(base)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			if try == maxTries || lockNew(f) {
				return f, nil
			}
			_ = f.Close() // another process is about to remove it
			_ = os.Remove(name)
		} else if !errors.Is(err, os.ErrExist) || try == maxTries {
			return nil, err
		}
	}
}

// lockNew locks a new file and reports whether it still exists: before the lock, another process may
// have removed it as a leftover. Without file locks it returns true.
func lockNew(f *os.File) bool {
	if err := lock(f); err != nil {
		return !errors.Is(err, errLocked)
	}
	info, err := f.Stat()
	return err != nil || hardLinkCount(info) > 0
}

// tempName returns a hidden name with the final name, the machine and the process that writes it.
func tempName(base string) string {
	return "." + prefix(base, maxPrefix) + "." + processID() + "-" + rand.Text() + ".tmp"
}

// prefix returns at most n bytes of s without splitting a character.
func prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// tempFile is a file under a temporary name.
type tempFile struct {
	*os.File
	path  string // its final name
	isNew bool   // must not replace another file
}

// Commit implements store.Writer.
func (t *tempFile) Commit() error {
	release := keepLock(t.File)
	defer release()
	err := t.Close()
	if err != nil {
		err = finalPathError("close", t.path, err)
	} else if err = t.rename(); err != nil {
		err = finalPathError("create", t.path, err)
	}
	if err != nil {
		t.remove()
	}
	return err
}

// rename gives the file its final name. If it must not replace another, a hard link is made first,
// which fails if path exists; without hard links, rename checks for path before renaming.
func (t *tempFile) rename() error {
	if t.isNew {
		err := os.Link(t.Name(), t.path)
		if err == nil {
			t.remove()
			return nil
		}
		if _, statError := os.Lstat(t.path); statError == nil {
			return os.ErrExist
		}
	}
	return os.Rename(t.Name(), t.path)
}

// Abort implements store.Writer.
func (t *tempFile) Abort() {
	_ = t.Close() // an error of data that is discarded
	t.remove()
}

// remove deletes the temporary file. Its error is ignored: the caller has a more important error,
// or discards the file.
func (t *tempFile) remove() { _ = os.Remove(t.Name()) }

// CheckWritable tests, before hours of work, whether files with these names can be written to dir,
// which need not exist. It leaves nothing behind.
func CheckWritable(dir string, names ...string) error {
	if store.IsRemote(dir) {
		for _, name := range names[:min(1, len(names))] { // one object stands for all names
			if err := store.CheckWritable(store.Join(dir, name)); err != nil {
				return lang.Errorf("cannot write to %w", err)
			}
		}
		return nil
	}
	at := dir
	for {
		_, err := os.Stat(at)
		if err == nil {
			break
		}
		if parent := filepath.Dir(at); errors.Is(err, fs.ErrNotExist) && parent != at {
			at, names = parent, []string{".dumptool"}
			continue
		}
		return lang.Errorf("cannot write to %s: %w", dir, err)
	}
	for _, name := range names {
		f, err := Create(filepath.Join(at, name))
		if err != nil {
			return lang.Errorf("cannot write to %s: %w", dir, err)
		}
		f.Abort()
	}
	return nil
}

// errLocked is the error of lock for a file that is locked already.
var errLocked = lang.Errorf("the file is locked")

// minUnlockedAge is the age from which a temporary file counts as a leftover on file systems
// without locks.
const minUnlockedAge = 24 * time.Hour

// hostID identifies this boot of this machine in temporary names: a hash of the host name and, if
// available, the boot id.
var hostID = sync.OnceValue(func() string {
	name, _ := os.Hostname() // on error the boot id must suffice
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	sum := sha256.Sum256([]byte(name + "\n" + strings.TrimSpace(string(boot))))
	return hex.EncodeToString(sum[:4])
})

// processID identifies this process in temporary names.
var processID = sync.OnceValue(func() string { return fmt.Sprintf("%s-%d", hostID(), os.Getpid()) })

// cleanedFolders has a *sync.Once for each folder with created files.
var cleanedFolders sync.Map

// cleanOnce removes leftovers of killed processes when this process creates its first file in a
// folder.
func cleanOnce(dir string) {
	once, known := cleanedFolders.Load(dir)
	if !known {
		once, _ = cleanedFolders.LoadOrStore(dir, new(sync.Once))
	}
	once.(*sync.Once).Do(func() { removeLeftovers(dir) })
}

// removeLeftovers removes the temporary files of a folder whose writers ran on this machine and have died.
// Errors are ignored.
func removeLeftovers(dir string) {
	f, err := os.Open(filepath.Clean(dir)) // Clean turns an empty path into .
	if err != nil {
		return
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			if isOurs(name) {
				removeIfUnlocked(filepath.Join(dir, name))
			}
		}
		if err != nil || len(names) == 0 {
			return
		}
	}
}

// isOurs reports whether tempName made a name on this machine.
func isOurs(name string) bool {
	stem, ok := strings.CutSuffix(name, ".tmp")
	dot := strings.LastIndexByte(stem, '.')
	return ok && dot > 0 && name[0] == '.' && strings.HasPrefix(stem[dot+1:], hostID()+"-")
}

// removeIfUnlocked removes a temporary file whose lock is free: no process writes it.
func removeIfUnlocked(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < minLeftoverAge {
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	err = lock(f)
	free := err == nil || !errors.Is(err, errLocked) && time.Since(info.ModTime()) > minUnlockedAge
	if free && minLeftoverAge == 0 {
		_ = os.Remove(path) // under the lock: a new writer uses another name
	}
	_ = f.Close()
	if free && minLeftoverAge > 0 {
		_ = os.Remove(path) // Windows cannot remove open files
	}
}

// Scratch creates a file in $TMPDIR for data that only this process reads again. The file is
// removed from the folder at once, so that nothing is left however the process ends; if the system
// cannot remove open files, remove deletes it, and the next process deletes leftovers. Only the
// owner may open it meanwhile.
func Scratch() (f *os.File, remove func() error, err error) {
	f, err = openTemp(filepath.Join(os.TempDir(), "dumptool"), 0o600)
	if err != nil {
		return nil, nil, err
	}
	if os.Remove(f.Name()) == nil {
		return f, f.Close, nil
	}
	return f, func() error {
		err := f.Close()
		if left := os.Remove(f.Name()); err == nil {
			err = left
		}
		return err
	}, nil
}

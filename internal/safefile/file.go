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
		return nil, &os.PathError{Op: "create", Path: path, Err: lang.Errorf("not a file name")}
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, &os.PathError{Op: "create", Path: path, Err: lang.Errorf("is a folder")}
	case err == nil && !info.Mode().IsRegular():
		return nil, &os.PathError{Op: "create", Path: path, Err: lang.Errorf("not a regular file")}
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
	// maxPrefix bounds the part of the base name that a temporary name
	// repeats. It keeps temporary names far below the 255 bytes of most file
	// systems and the 143 of encrypted ones, whatever the final name.
	maxPrefix = 64
	// maxTries bounds the search for a free name; with 128 random bits the
	// second try is unheard of.
	maxTries = 100
)

// openTemp creates a new file beside path and locks it: a lock that is free tells later
// processes that the file is left behind. Its mode is what the umask leaves of one.
func openTemp(path string, mode os.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	cleanOnce(dir)
	for try := 1; ; try++ {
		name := dir + tempName(base)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			if try == maxTries || holds(f) {
				return f, nil
			}
			_ = f.Close() // another process is removing it
			_ = os.Remove(name)
		} else if !errors.Is(err, os.ErrExist) || try == maxTries {
			return nil, err
		}
	}
}

// holds locks a new file and reports whether it is still there: another process may have
// taken it, before it was locked, for one that is left behind. Where files cannot be
// locked it goes without.
func holds(f *os.File) bool {
	if err := lock(f); err != nil {
		return !errors.Is(err, errLocked)
	}
	info, err := f.Stat()
	return err != nil || links(info) > 0
}

// tempName returns a hidden name that says which file it belongs to, and which process of
// which machine writes it.
func tempName(base string) string {
	return "." + prefix(base, maxPrefix) + "." + process() + "-" + rand.Text() + ".tmp"
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

// temp is a file under a temporary name.
type temp struct {
	*os.File
	path  string // its final name
	isNew bool   // it may not replace another file
}

// Commit implements store.Writer.
func (t *temp) Commit() error {
	release := keepLock(t.File)
	defer release()
	err := t.Close()
	if err != nil {
		err = named("close", t.path, err)
	} else if err = t.rename(); err != nil {
		err = named("create", t.path, err)
	}
	if err != nil {
		t.remove()
	}
	return err
}

// rename gives the file its final name. One that may not replace another gets it as a
// second name first, which fails where there is one; where files have one name only, it
// is looked before.
func (t *temp) rename() error {
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
func (t *temp) Abort() {
	_ = t.Close() // what it could not write is given up anyway
	t.remove()
}

// remove deletes the temporary file. Its error has no reader: the caller has a
// better one already, or has given the file up.
func (t *temp) remove() { _ = os.Remove(t.Name()) }

// CheckWritable finds out, before hours of work, whether files of these names
// can be written to dir, which need not exist. It leaves nothing behind.
func CheckWritable(dir string, names ...string) error {
	if store.Remote(dir) {
		for _, name := range names[:min(1, len(names))] { // one object stands for all
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

// errLocked is the error of lock for a file that another one has locked.
var errLocked = lang.Errorf("the file is locked")

// forgotten is how old a temporary file is, where files cannot be locked, before it
// counts as left behind.
const forgotten = 24 * time.Hour

// host stands in temporary names for this machine since it was started: a hash of its
// name and, where there is one, the number of the start.
var host = sync.OnceValue(func() string {
	name, _ := os.Hostname() // without it all machines of one start are one
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	sum := sha256.Sum256([]byte(name + "\n" + strings.TrimSpace(string(boot))))
	return hex.EncodeToString(sum[:4])
})

// process stands in the temporary names of this process.
var process = sync.OnceValue(func() string { return fmt.Sprintf("%s-%d", host(), os.Getpid()) })

// cleaned has a *sync.Once for each folder that files were created in.
var cleaned sync.Map

// cleanOnce removes, when the process creates its first file in a folder, what killed
// processes left there.
func cleanOnce(dir string) {
	once, known := cleaned.Load(dir)
	if !known {
		once, _ = cleaned.LoadOrStore(dir, new(sync.Once))
	}
	once.(*sync.Once).Do(func() { clean(dir) })
}

// clean removes the temporary files of a folder whose writers ran on this machine and are
// no more. Nothing depends on it: what cannot be removed stays.
func clean(dir string) {
	f, err := os.Open(filepath.Clean(dir)) // Clean makes . of an empty one
	if err != nil {
		return
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			if isOurs(name) {
				removeLeft(filepath.Join(dir, name))
			}
		}
		if err != nil || len(names) == 0 {
			return
		}
	}
}

// isOurs reports whether a name is one that tempName made on this machine.
func isOurs(name string) bool {
	stem, ok := strings.CutSuffix(name, ".tmp")
	dot := strings.LastIndexByte(stem, '.')
	return ok && dot > 0 && name[0] == '.' && strings.HasPrefix(stem[dot+1:], host()+"-")
}

// removeLeft removes a temporary file that nobody writes any more: one whose lock is free.
func removeLeft(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < settled {
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	err = lock(f)
	free := err == nil || !errors.Is(err, errLocked) && time.Since(info.ModTime()) > forgotten
	if free && settled == 0 {
		_ = os.Remove(path) // while we have the lock: a writer that begins takes another name
	}
	_ = f.Close()
	if free && settled > 0 {
		_ = os.Remove(path) // files that are open cannot be removed there
	}
}

// Scratch makes a file in $TMPDIR for what this process alone reads again. The file has no
// name, so that nothing is left of it however the process ends; where the system keeps the
// names of open files, remove deletes it, and the next process what a killed one has left.
// Only its owner may open it meanwhile.
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

// Package store reads and writes what users name by a path: local files, objects in
// S3-compatible storage, whose paths are s3://bucket/key or obs://bucket/key, and files in
// archives of either, whose paths are run.zip!name.
//
// An object store has no folders. A path that is exactly the key of one object is a
// file; else it is a folder when objects lie below it, with or without a slash at its
// end, and s3://b/run7 is never the beginning of s3://b/run70. Keys are not cleaned:
// "//" and ".." in them are names like others. An object of no bytes whose key ends with
// a slash is no file but the mark of a folder, as browsers make them.
//
// Errors name the path as the user wrote it and wrap fs.ErrNotExist and
// fs.ErrPermission where they say so.
package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"dumptool/internal/lang"
)

// Source is an open file or object, read at any offset by several at a time.
type Source interface {
	io.ReaderAt
	io.Closer
	// Size is the number of bytes when it was opened.
	Size() int64
	// ID is the same for two sources of the same content: the path, the size and the
	// time of the last change, or the ETag.
	ID() string
}

// Writer is an object that grows. Nothing is under its path before Commit, and after
// Abort nothing is left of it. Abort does nothing after Commit or another Abort.
type Writer interface {
	io.Writer
	Commit() error
	Abort()
}

// Object is one object of a bucket.
type Object struct {
	Key     string
	Size    int64 // bytes; -1 when it is not known yet
	ModTime time.Time
	ETag    string // as the server gives it, without its quotes; empty when it is not known
	hasMD5  bool   // an answer to a request that reads has said that the ETag is the MD5
}

// Objects is a kind of object storage, as far as this package needs one: folders and
// the memory of listings are made of it in remote.go. Its errors are about a bucket and
// a key: they name neither, wrap fs.ErrNotExist for a missing object or bucket and
// fs.ErrPermission for a refused one, and say which server and whose key it was where
// that helps. It is used by several goroutines at a time.
type Objects interface {
	// List returns the objects whose keys begin with prefix, sorted by the bytes of
	// their keys, marks of folders included. With shallow it returns only those
	// without a further slash in the rest of their keys, and the common prefixes of
	// the others, which end with a slash. A missing bucket is an error, no objects
	// are none.
	List(bucket, prefix string, shallow bool) (objects []Object, prefixes []string, err error)
	// Any reports whether there are objects whose keys begin with prefix. A missing
	// bucket is an error.
	Any(bucket, prefix string) (bool, error)
	// Head returns what is known of one object.
	Head(bucket, key string) (Object, error)
	// Open opens an object. One that was listed is read as it was then: when its ETag
	// is another by now, that is an error. One of an unknown size (-1) is found out
	// about by the first request that reads it.
	Open(bucket string, o Object) (Source, error)
	// Create starts an object. With isNew there must be none of that key when it is
	// committed, or the error wraps fs.ErrExist and the other one stays.
	Create(bucket, key string, isNew bool) (Writer, error)
	// Writable finds out whether an object of that key can be written, and leaves
	// nothing behind.
	Writable(bucket, key string) error
	// Remove removes an object. One that is missing is no error.
	Remove(bucket, key string) error
}

// Open opens a file for reading.
func Open(path string) (Source, error) { return reach(path, open) }

func open(path string) (Source, error) {
	if !Remote(path) {
		return openLocal(path)
	}
	l, err := at(path)
	if err != nil {
		return nil, err
	}
	return l.open()
}

// Mode is that of an open file: a local one may be a folder, or no file at all.
func Mode(of Source) fs.FileMode {
	if l, ok := of.(*local); ok {
		return l.info.Mode()
	}
	return 0
}

// Prefetch says that a piece of a source will be read soon, from its beginning to its
// end. Of an object the beginning is fetched meanwhile, if there is room for it; local
// files are left to the system.
func Prefetch(from io.ReaderAt, off, n int64) {
	from, off = Origin(from, off)
	if f, ok := from.(interface{ prefetch(off, n int64) }); ok {
		f.prefetch(off, n)
	}
}

// Origin follows sections of sections to the source that they lie in, and to the offset in
// there of the byte at off.
func Origin(from io.ReaderAt, off int64) (io.ReaderAt, int64) {
	for {
		section, ok := from.(interface {
			Outer() (r io.ReaderAt, off int64, n int64)
		})
		if !ok {
			return from, off
		}
		outer, begin, _ := section.Outer()
		from, off = outer, begin+off
	}
}

// Verifier is the function that compares a source in an archive with the checksum there; it
// reads what nobody has read yet. It is nil for sources without a checksum.
func Verifier(of Source) func() error {
	if s, ok := of.(*source); ok {
		if verify := Verifier(s.Source); verify != nil {
			return func() error { return s.at.error(verify()) }
		}
	}
	if v, ok := of.(interface{ Verify() error }); ok {
		return v.Verify
	}
	return nil
}

// Whole says that all of a source will be read: small objects are fetched by one request
// then. Nothing may have been read of it yet.
func Whole(from Source) {
	if f, ok := from.(interface{ readWhole() }); ok {
		f.readWhole()
	}
}

// Keep says that a file will be opened and read several times, until done is called. Of an
// object that was listed what was fetched is kept till then, in memory or in $TMPDIR.
func Keep(path string) (done func()) {
	if l, err := at(path); Remote(path) && err == nil {
		if known := l.listed(l.bucket, l.key); known != nil {
			o, isThere := known.object(l.key)
			if s, ok := l.objects.(interface {
				keep(bucket string, o *Object) func()
			}); ok && isThere {
				return s.keep(l.bucket, &o)
			}
		}
	}
	return func() {}
}

// Stat describes a file or folder, links followed. A remote file stays for Open and Stat
// what it was when it was described first, unless this process writes it: when it has
// changed since, reading it is an error.
func Stat(path string) (fs.FileInfo, error) { return reach(path, stat) }

func stat(path string) (fs.FileInfo, error) {
	if !Remote(path) {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = missing{err, path}
		case errors.Is(err, syscall.ENOTDIR):
			err = below(err, path)
		}
		return info, err
	}
	l, err := at(path)
	if err != nil {
		return nil, err
	}
	return l.stat()
}

// below is the error of a path below a file: what is in an archive has another name.
func below(err error, path string) error {
	for at := filepath.Dir(path); at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, failed := os.Stat(at); failed == nil && info.Mode().IsRegular() {
			rest, _ := filepath.Rel(at, filepath.Clean(path))
			return lang.Errorf("%s: %s is a file; what is in an archive is called '%s!%s'%w", path, at, at, filepath.ToSlash(rest), hidden{err})
		}
	}
	return err
}

// missing is the error of a path that is not there, in words instead of a system call's.
type missing struct {
	error
	path string
}

// Error names the path as the user wrote it.
func (m missing) Error() string { return m.Text().EN }

// Text is the error in both languages.
func (m missing) Text() lang.Text {
	return lang.Text{EN: "no such file or folder: " + m.path, ZH: "没有这样的文件或目录：" + m.path}
}

// Unwrap is the error of the system.
func (m missing) Unwrap() error { return m.error }

// Lstat is Stat, but that it describes a link itself.
func Lstat(path string) (fs.FileInfo, error) {
	if !Remote(path) {
		return os.Lstat(path)
	}
	return Stat(path)
}

// ReadDir lists a folder in the order of names. Keys may have names that no file system
// takes, such as "..", or "/" where two slashes follow each other.
func ReadDir(path string) ([]fs.DirEntry, error) {
	if !Remote(path) {
		return os.ReadDir(path)
	}
	l, err := at(path)
	if err != nil {
		return nil, err
	}
	return l.readDir()
}

// WalkDir visits all files and folders at and below root as filepath.WalkDir does.
func WalkDir(root string, visit fs.WalkDirFunc) error {
	if !Remote(root) {
		return filepath.WalkDir(root, visit)
	}
	err := Preload(root)
	var info fs.FileInfo
	if err == nil {
		info, err = Stat(root)
	}
	if err != nil {
		err = visit(root, nil, err)
	} else {
		err = walk(root, fs.FileInfoToDirEntry(info), visit)
	}
	if err == fs.SkipDir || err == fs.SkipAll { //nolint:errorlint // never wrapped
		return nil
	}
	return err
}

func walk(path string, at fs.DirEntry, visit fs.WalkDirFunc) error {
	if err := visit(path, at, nil); err != nil || !at.IsDir() {
		return err
	}
	entries, err := ReadDir(path)
	if err != nil {
		return visit(path, at, err)
	}
	for _, e := range entries {
		if err := walk(Join(path, e.Name()), e, visit); err == fs.SkipDir && e.IsDir() { //nolint:errorlint // never wrapped
			continue
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Preload says that all that lies below a folder will be asked for. Of a remote one
// everything is listed at once, a thousand objects a request, and Stat, ReadDir and
// Open at and below the path answer from that from then on, but for what this process
// has written since. Of a local one nothing is done.
func Preload(path string) error {
	if !Remote(path) {
		return nil
	}
	l, err := at(path)
	if err != nil {
		return err
	}
	if l.listed(l.bucket, l.prefix()) != nil {
		return nil
	}
	all, _, err := l.objects.List(l.bucket, l.prefix(), false)
	if err != nil {
		return l.error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listings = append(l.listings, &listing{l.bucket, l.prefix(), all, map[string]bool{}})
	return nil
}

// Create starts an object. Local files are created by package safefile, which comes
// here for remote ones.
func Create(path string) (Writer, error) { return create(path, false) }

// CreateNew is Create for an object that must not replace another one: then Commit fails
// with an error that wraps fs.ErrExist.
func CreateNew(path string) (Writer, error) { return create(path, true) }

func create(path string, isNew bool) (Writer, error) {
	l, err := at(path)
	if err != nil {
		return nil, err
	}
	if l.key == "" || strings.HasSuffix(l.key, "/") {
		return nil, l.error(lang.Errorf("not the name of an object"))
	}
	w, err := l.objects.Create(l.bucket, l.key, isNew)
	if err != nil {
		return nil, l.error(err)
	}
	return &writer{w, l}, nil
}

// CheckWritable finds out whether an object can be written, and leaves nothing behind.
func CheckWritable(path string) error {
	l, err := at(path)
	if err != nil {
		return err
	}
	return l.error(l.objects.Writable(l.bucket, l.key))
}

// CheckFolder finds out whether objects may be put below a path: one of that name would
// hide them.
func CheckFolder(path string) error {
	l, err := at(path)
	if err != nil {
		return err
	}
	if _, inside := l.objects.(*mount); inside {
		return l.error(errArchive)
	}
	folder := [2]string{l.bucket, strings.TrimSuffix(l.key, "/")}
	if _, known := l.folders.Load(folder); known || folder[1] == "" {
		return nil
	}
	_, err = l.objects.Head(l.bucket, folder[1])
	switch {
	case err == nil:
		err = lang.Errorf("an object has that name")
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission): // who may only write is told no more
		l.folders.Store(folder, true)
		return nil
	}
	return l.error(err)
}

// Remove removes a file.
func Remove(path string) error {
	if !Remote(path) {
		return os.Remove(path)
	}
	l, err := at(path)
	if err != nil {
		return err
	}
	if _, err = l.objects.Head(l.bucket, l.key); err == nil { // who may not remove may still find nothing
		err = l.objects.Remove(l.bucket, l.key)
		l.changed()
	}
	return l.error(err)
}

// remoteWorkers is the least number of jobs for object storage: they wait most of the
// time.
const remoteWorkers = 8

// Workers is how many jobs run at the same time where the user does not say: as many as
// there are processors, and some more once object storage is in use.
func Workers() int {
	n := runtime.GOMAXPROCS(0)
	if r := current.Load(); r != nil && r.inUse.Load() {
		n = max(n, remoteWorkers)
	}
	return n
}

// Waiting is how many jobs run at the same time that wait for a few bytes of each file below
// paths: n of local ones, of objects as many as requests may be under way.
func Waiting(n int, paths ...string) int {
	for _, path := range paths {
		requests, _ := limits(path)
		n = max(n, requests)
	}
	return n
}

// Ahead is how many jobs run at the same time that have files below a path open and read
// them by turns: n of local ones, of objects as many as memory has room for, so that the
// next ones are on their way while n are read.
func Ahead(n int, path string) int {
	_, objects := limits(path)
	return max(n, objects)
}

// limits are how many requests may be under way, and of how many objects memory has room
// for blocks; 0 for local paths.
func limits(path string) (requests, objects int) {
	if !Remote(path) {
		return 0, 0
	}
	if l, err := at(path); err == nil {
		if s, ok := l.objects.(interface {
			limits() (requests, objects int)
		}); ok {
			return s.limits()
		}
	}
	return 0, 0
}

// SameFile reports whether two descriptions are of one file, as os.SameFile does.
func SameFile(a, b fs.FileInfo) bool {
	ra, isRemoteA := a.(*info)
	rb, isRemoteB := b.(*info)
	if isRemoteA && isRemoteB {
		return ra.bucket == rb.bucket && ra.object.Key == rb.object.Key
	}
	return !isRemoteA && !isRemoteB && os.SameFile(a, b)
}

// local is an open local file. It can be read from its beginning too, as pipes and
// terminals can only.
type local struct {
	*os.File
	info fs.FileInfo
}

// newLocal is an open file as a source.
func newLocal(file *os.File) (Source, error) {
	info, err := file.Stat()
	if err != nil {
		_ = file.Close() // it was opened for reading
		return nil, err
	}
	return &local{file, info}, nil
}

// Size implements Source.
func (l *local) Size() int64 { return l.info.Size() }

// ID implements Source.
func (l *local) ID() string { return localID(l.Name(), l.Size(), l.info.ModTime().UnixNano()) }

func localID(path string, size, modified int64) string {
	return fmt.Sprintf("%s %d %d", path, size, modified)
}

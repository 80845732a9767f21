// Package store reads and writes paths: local files, objects in S3-compatible storage with paths
// s3://bucket/key or obs://bucket/key, and files in archives of either with paths run.zip!name.
//
// An object store has no folders. A path that is exactly the key of an object is a file; else it is
// a folder if objects lie below it, with or without a trailing slash. s3://b/run7 never matches
// s3://b/run70. Keys are not cleaned: "//" and ".." in them are ordinary names. An empty object
// whose key ends with a slash is not a file but marks a folder, as browsers create them.
//
// Errors name the path as the user wrote it, and wrap fs.ErrNotExist and fs.ErrPermission.
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

// Source is an open file or object for concurrent reads at any offset.
type Source interface {
	io.ReaderAt
	io.Closer
	// Size returns the number of bytes at the time of opening.
	Size() int64
	// ID is equal for two sources with the same content: path, size, and modification time or ETag.
	ID() string
}

// Writer is an object being written. Nothing exists at its path before Commit, and nothing is left
// after Abort. Abort does nothing after Commit or another Abort.
type Writer interface {
	io.Writer
	Commit() error
	Abort()
}

// Object is one object of a bucket.
type Object struct {
	Key     string
	Size    int64 // bytes; -1 if unknown
	ModTime time.Time
	ETag    string // as sent by the server, without quotes; empty if unknown
	hasMD5  bool   // a response to a read says that the ETag is the MD5
}

// Objects is an object storage. remote.go builds folders and cached listings on it. Its errors are
// about a bucket and a key but name neither; they wrap fs.ErrNotExist for a missing object or
// bucket and fs.ErrPermission for a refused one, and name server and key where that helps. Several
// goroutines may use it at a time.
type Objects interface {
	// List returns the objects whose keys begin with prefix, sorted by the bytes of their keys,
	// including marks of folders. With shallow it returns only objects without a further slash in
	// the rest of their keys, and the common prefixes of the others, which end with a slash. A
	// missing bucket is an error; an empty result is not.
	List(bucket, prefix string, shallow bool) (objects []Object, prefixes []string, err error)
	// HasPrefix reports whether an object has a key that begins with prefix. A missing bucket is an
	// error.
	HasPrefix(bucket, prefix string) (bool, error)
	// Head describes one object.
	Head(bucket, key string) (Object, error)
	// Open opens an object. A listed object is read in the listed version: a changed ETag is an
	// error. For an object of unknown size (-1) the first read sets size and version.
	Open(bucket string, o Object) (Source, error)
	// Create starts an object. With isNew, if the key exists at Commit, the error wraps fs.ErrExist
	// and the existing object stays.
	Create(bucket, key string, isNew bool) (Writer, error)
	// Writable tests whether an object with this key can be written, and leaves nothing behind.
	Writable(bucket, key string) error
	// Remove removes an object. A missing object is no error.
	Remove(bucket, key string) error
}

// Open opens a file for reading.
func Open(path string) (Source, error) { return withPath(path, open) }

func open(path string) (Source, error) {
	if !IsRemote(path) {
		return openLocal(path)
	}
	l, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	return l.open()
}

// Mode returns the mode of an open local file, which may be a folder or a device; 0 for other
// sources.
func Mode(of Source) fs.FileMode {
	if l, ok := of.(*local); ok {
		return l.info.Mode()
	}
	return 0
}

// Prefetch announces that a range of a source will be read in order soon. The beginning of a range
// of an object is fetched in the background if there is room; local files are left to the system.
func Prefetch(from io.ReaderAt, off, n int64) {
	from, off = Origin(from, off)
	if f, ok := from.(interface{ prefetch(off, n int64) }); ok {
		f.prefetch(off, n)
	}
}

// Origin resolves nested sections to their source and to the offset in it of the byte at off.
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

// Verifier returns a function that reads the unread rest of a source in an archive and compares its
// checksum. It is nil for sources without a checksum.
func Verifier(of Source) func() error {
	if s, ok := of.(*source); ok {
		if verify := Verifier(s.Source); verify != nil {
			return func() error { return s.at.wrapError(verify()) }
		}
	}
	if v, ok := of.(interface{ Verify() error }); ok {
		return v.Verify
	}
	return nil
}

// AnnounceFullRead announces that all of a source will be read, so that small objects are fetched by one
// request. It must precede the first read.
func AnnounceFullRead(from Source) {
	if f, ok := from.(interface{ readWhole() }); ok {
		f.readWhole()
	}
}

// Keep announces that a file will be opened and read several times until done is called. Fetched
// data of a listed object is kept until then, in memory or in $TMPDIR.
func Keep(path string) (done func()) {
	if l, err := parsePath(path); IsRemote(path) && err == nil {
		if known := l.listingOf(l.bucket, l.key); known != nil {
			o, isThere := known.object(l.key)
			if s, ok := l.objects.(interface {
				announceReopen(bucket string, o *Object) (done func())
			}); ok && isThere {
				return s.announceReopen(l.bucket, &o)
			}
		}
	}
	return func() {}
}

// Stat describes a file or folder and follows links. Open and Stat of a remote file use its first
// description, unless this process writes it: if it has changed since, reading it is an error.
func Stat(path string) (fs.FileInfo, error) { return withPath(path, stat) }

func stat(path string) (fs.FileInfo, error) {
	if !IsRemote(path) {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = missingError{err, path}
		case errors.Is(err, syscall.ENOTDIR):
			err = belowError(err, path)
		}
		return info, err
	}
	l, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	return l.stat()
}

// belowError returns the error of a path below a regular file, with the form of paths in archives.
func belowError(err error, path string) error {
	for at := filepath.Dir(path); at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, failed := os.Stat(at); failed == nil && info.Mode().IsRegular() {
			rest, _ := filepath.Rel(at, filepath.Clean(path))
			return lang.Errorf("%s: %s is a file; a path inside an archive is written '%s!%s'%w", path, at, at, filepath.ToSlash(rest), silentError{err})
		}
	}
	return err
}

// missingError is the error of a missing path, without the name of the system call.
type missingError struct {
	error
	path string
}

// Error names the path as the user wrote it.
func (m missingError) Error() string { return m.Text().String() }

// Text is the error in both languages.
func (m missingError) Text() lang.Text {
	return lang.Say("no such file or folder: %s", m.path).Text()
}

// Unwrap returns the error of the system.
func (m missingError) Unwrap() error { return m.error }

// Lstat is Stat without following a link.
func Lstat(path string) (fs.FileInfo, error) {
	if !IsRemote(path) {
		return os.Lstat(path)
	}
	return Stat(path)
}

// ReadDir lists a folder in the order of names. Remote names may be impossible in a file system:
// "..", or "/" between two consecutive slashes.
func ReadDir(path string) ([]fs.DirEntry, error) {
	if !IsRemote(path) {
		return os.ReadDir(path)
	}
	l, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	return l.readDir()
}

// WalkDir visits all files and folders at and below root like filepath.WalkDir.
func WalkDir(root string, visit fs.WalkDirFunc) error {
	if !IsRemote(root) {
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

// Preload announces that all files below a folder will be needed. A remote folder is listed at
// once, a thousand objects a request; Stat, ReadDir and Open at and below it use this list from
// then on, except for objects that this process writes. For local folders it does nothing.
func Preload(path string) error {
	if !IsRemote(path) {
		return nil
	}
	l, err := parsePath(path)
	if err != nil {
		return err
	}
	if l.listingOf(l.bucket, l.prefix()) != nil {
		return nil
	}
	all, _, err := l.objects.List(l.bucket, l.prefix(), false)
	if err != nil {
		return l.wrapError(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listings = append(l.listings, &listing{l.bucket, l.prefix(), all, map[string]bool{}})
	return nil
}

// Create starts a remote object. Package safefile creates local files, and calls Create for remote
// ones.
func Create(path string) (Writer, error) { return create(path, false) }

// CreateNew is Create for an object that must not replace another one: if it exists, the error of
// Commit wraps fs.ErrExist.
func CreateNew(path string) (Writer, error) { return create(path, true) }

func create(path string, isNew bool) (Writer, error) {
	l, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	if l.key == "" || strings.HasSuffix(l.key, "/") {
		return nil, l.wrapError(lang.Errorf("not the name of an object"))
	}
	w, err := l.objects.Create(l.bucket, l.key, isNew)
	if err != nil {
		return nil, l.wrapError(err)
	}
	return &writer{w, l}, nil
}

// CheckWritable tests whether an object can be written, and leaves nothing behind.
func CheckWritable(path string) error {
	l, err := parsePath(path)
	if err != nil {
		return err
	}
	return l.wrapError(l.objects.Writable(l.bucket, l.key))
}

// CheckFolder tests whether objects may be put below a path: an object with that name would hide
// them.
func CheckFolder(path string) error {
	l, err := parsePath(path)
	if err != nil {
		return err
	}
	if _, inside := l.objects.(*mount); inside {
		return l.wrapError(errArchive)
	}
	folder := [2]string{l.bucket, strings.TrimSuffix(l.key, "/")}
	if _, known := l.folders.Load(folder); known || folder[1] == "" {
		return nil
	}
	_, err = l.objects.Head(l.bucket, folder[1])
	switch {
	case err == nil:
		err = lang.Errorf("an object has that name")
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission): // without permission to read, the object stays unknown
		l.folders.Store(folder, true)
		return nil
	}
	return l.wrapError(err)
}

// Remove removes a file.
func Remove(path string) error {
	if !IsRemote(path) {
		return os.Remove(path)
	}
	l, err := parsePath(path)
	if err != nil {
		return err
	}
	if _, err = l.objects.Head(l.bucket, l.key); err == nil { // without permission to remove, a missing object is still reported
		err = l.objects.Remove(l.bucket, l.key)
		l.noteChange()
	}
	return l.wrapError(err)
}

// remoteWorkers is the minimum number of jobs with object storage, whose jobs mostly wait.
const remoteWorkers = 8

// Workers is the default number of concurrent jobs: the number of processors, and at least
// remoteWorkers once object storage is in use.
func Workers() int {
	n := runtime.GOMAXPROCS(0)
	if r := current.Load(); r != nil && r.inUse.Load() {
		n = max(n, remoteWorkers)
	}
	return n
}

// Waiting returns the number of concurrent jobs for reading a few bytes of each file below paths: n
// for local files, for objects the maximum number of concurrent requests.
func Waiting(n int, paths ...string) int {
	for _, path := range paths {
		requests, _ := requestAndCacheLimits(path)
		n = max(n, requests)
	}
	return n
}

// PrefetchJobs returns the number of jobs that have files below a path open while n of them read in
// turns: n for local files; more for objects, as many as the cache has room for, so that the next
// ones are prefetched.
func PrefetchJobs(n int, path string) int {
	_, objects := requestAndCacheLimits(path)
	return max(n, objects)
}

// requestAndCacheLimits returns the maximum number of concurrent requests and the number of objects whose blocks
// fit the cache; 0 for local paths.
func requestAndCacheLimits(path string) (requests, objects int) {
	if !IsRemote(path) {
		return 0, 0
	}
	if l, err := parsePath(path); err == nil {
		if s, ok := l.objects.(interface {
			requestLimits() (requests, objects int)
		}); ok {
			return s.requestLimits()
		}
	}
	return 0, 0
}

// IsSameFile reports whether two descriptions are of the same file, like os.SameFile.
func IsSameFile(a, b fs.FileInfo) bool {
	ra, isRemoteA := a.(*info)
	rb, isRemoteB := b.(*info)
	if isRemoteA && isRemoteB {
		return ra.bucket == rb.bucket && ra.object.Key == rb.object.Key
	}
	return !isRemoteA && !isRemoteB && os.SameFile(a, b)
}

// local is an open local file. Pipes and terminals support sequential reads only.
type local struct {
	*os.File
	info fs.FileInfo
}

// newLocal returns an open file as a source.
func newLocal(file *os.File) (Source, error) {
	info, err := file.Stat()
	if err != nil {
		_ = file.Close() // only read
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

package store

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dumptool/internal/lang"
)

// UseObjects sets the storage of remote paths. connect is called for the first remote path.
func UseObjects(connect func() (Objects, error)) {
	r := new(remote)
	r.connect = sync.OnceValues(func() (Objects, error) {
		r.inUse.Store(true)
		return connect()
	})
	current.Store(r)
}

// current is the storage of remote paths, nil for none.
var current atomic.Pointer[remote]

// remote presents objects as folders and caches listings.
type remote struct {
	connect func() (Objects, error)
	inUse   atomic.Bool // connect was called

	mu       sync.Mutex
	listings []*listing
	// described caches objects outside all listings that Stat has described, by bucket and key. Open
	// opens the described version.
	described map[[2]string]Object
	folders   sync.Map // by bucket and key: folders that CheckFolder has checked
}

// listing is a cached list of all objects below a prefix.
type listing struct {
	bucket, prefix string
	objects        []Object // sorted by keys
	// written lists the keys that this process has written or removed since the listing, and all
	// folders above them, with a trailing slash.
	written map[string]bool
}

// location is a parsed remote path and its storage.
type location struct {
	path        string // as the user wrote it
	bucket, key string
	*remote
	objects Objects
}

// Error is an error about a remote path.
type Error struct {
	Path string
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// parsePath parses a remote path and finds its storage.
func parsePath(path string) (location, error) {
	root, rest := splitPath(path)
	if m, _ := mountOf(path); m != nil {
		return location{path: path, key: strings.TrimPrefix(rest, "/"), remote: &m.remote, objects: m}, nil
	}
	l := location{path: path, bucket: root[len(schemeOf(path)):], key: strings.TrimPrefix(rest, "/"), remote: current.Load()}
	if l.bucket == "" {
		return l, l.wrapError(lang.Errorf("no bucket is named, want s3://bucket/key"))
	}
	if l.remote == nil {
		return l, l.wrapError(lang.Errorf("object storage is not set up"))
	}
	var err error
	if l.objects, err = l.connect(); err != nil {
		return l, l.wrapError(err)
	}
	return l, nil
}

// wrapError adds the path to an error; nil stays nil.
func (l location) wrapError(err error) error {
	if err == nil {
		return nil
	}
	return &Error{l.path, err}
}

// prefix returns the prefix of all keys below a folder: empty, or with a trailing slash.
func (l location) prefix() string {
	if l.key == "" || strings.HasSuffix(l.key, "/") {
		return l.key
	}
	return l.key + "/"
}

// errMissing is the error of a path without an object at or below it.
var errMissing = lang.Errorf("no such object, and none below it%w", silentError{fs.ErrNotExist})

// silentError is an error for errors.Is that adds nothing to the message.
type silentError struct{ error }

func (silentError) Error() string   { return "" }
func (h silentError) Unwrap() error { return h.error }

// isMark reports whether an object marks a folder, which may be empty.
func isMark(o Object) bool { return o.Size == 0 && strings.HasSuffix(o.Key, "/") }

// listingOf returns a listing with the object of a key, or with all objects below a key that ends with
// a slash; nil for none.
func (r *remote) listingOf(bucket, key string) *listing {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.listings {
		if known.bucket == bucket && strings.HasPrefix(key, known.prefix) && !known.written[key] && !known.written[key+"/"] {
			return known
		}
	}
	return nil
}

// noteChange records that this process has written or removed the object.
func (l location) noteChange() {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.described, [2]string{l.bucket, l.key})
	for _, known := range l.listings {
		if known.bucket != l.bucket || !strings.HasPrefix(l.key, known.prefix) {
			continue
		}
		known.written[l.key] = true
		for i, c := range []byte(l.key) {
			if c == '/' {
				known.written[l.key[:i+1]] = true
			}
		}
		known.written[""] = true
	}
}

// indexFrom returns the index of the first object whose key is not less than key.
func (k *listing) indexFrom(key string) int {
	i, _ := slices.BinarySearchFunc(k.objects, key, func(o Object, key string) int { return strings.Compare(o.Key, key) })
	return i
}

// object returns the object with a key.
func (k *listing) object(key string) (Object, bool) {
	if i := k.indexFrom(key); i < len(k.objects) && k.objects[i].Key == key {
		return k.objects[i], true
	}
	return Object{}, false
}

// hasPrefix reports whether objects lie below a prefix.
func (k *listing) hasPrefix(prefix string) bool {
	i := k.indexFrom(prefix)
	return i < len(k.objects) && strings.HasPrefix(k.objects[i].Key, prefix)
}

// listFolder returns the objects and prefixes directly below a prefix, like List with shallow.
func (k *listing) listFolder(prefix string) (objects []Object, prefixes []string) {
	for i := k.indexFrom(prefix); i < len(k.objects) && strings.HasPrefix(k.objects[i].Key, prefix); {
		o := k.objects[i]
		slash := strings.IndexByte(o.Key[len(prefix):], '/')
		if slash < 0 {
			objects = append(objects, o)
			i++
			continue
		}
		below := o.Key[:len(prefix)+slash+1]
		prefixes = append(prefixes, below)
		i = k.indexFrom(below[:len(below)-1] + "0") // the character after the slash
	}
	return objects, prefixes
}

// maxFound bounds the cached objects outside all listings: about 20 MB.
const maxFound = 100_000

// cache adds an object outside all listings to described.
func (l location) cache(o Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.described == nil || len(l.described) >= maxFound {
		l.described = make(map[[2]string]Object)
	}
	l.described[[2]string{l.bucket, l.key}] = o
}

// uncache drops the object from described.
func (l location) uncache() {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.described, [2]string{l.bucket, l.key})
}

// cachedObject returns the object in described.
func (l location) cachedObject() (Object, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o, ok := l.described[[2]string{l.bucket, l.key}]
	return o, ok
}

func (l location) open() (Source, error) {
	o, isKnown := l.cachedObject()
	if known := l.listingOf(l.bucket, l.key); known != nil {
		listed, ok := known.object(l.key)
		if !ok || isMark(listed) {
			return nil, l.wrapError(errMissing)
		}
		o = listed
	} else if !isKnown {
		o = Object{Key: l.key, Size: -1}
	}
	if l.key == "" {
		return nil, l.wrapError(lang.Errorf("is a bucket or an archive, want a file in it"))
	}
	s, err := l.objects.Open(l.bucket, o)
	if err != nil {
		l.uncache()
		return nil, l.wrapError(err)
	}
	return &source{s, l}, nil
}

// source adds the path to read errors, and drops the object from the cache after an error.
type source struct {
	Source
	at location
}

// prefetch calls Prefetch of the underlying source.
func (s *source) prefetch(off, n int64) { Prefetch(s.Source, off, n) }

// readWhole calls AnnounceFullRead of the underlying source.
func (s *source) readWhole() { AnnounceFullRead(s.Source) }

// ReadAt implements io.ReaderAt.
func (s *source) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.Source.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.at.uncache() // the object may have changed
		err = s.at.wrapError(err)
	}
	return n, err
}

func (l location) stat() (fs.FileInfo, error) {
	if known := l.listingOf(l.bucket, l.key); known != nil {
		if o, ok := known.object(l.key); ok && !isMark(o) {
			return l.fileInfo(o), nil
		}
		if l.key != "" && !known.hasPrefix(l.prefix()) {
			return nil, l.wrapError(errMissing)
		}
		return l.folderInfo(), nil
	}
	if o, ok := l.cachedObject(); ok {
		return l.fileInfo(o), nil
	}
	if l.key != "" {
		o, err := l.objects.Head(l.bucket, l.key)
		if err == nil && !isMark(o) {
			l.cache(o)
			return l.fileInfo(o), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, l.wrapError(err)
		}
	}
	var below bool
	if known := l.listingOf(l.bucket, l.prefix()); known != nil {
		below = known.hasPrefix(l.prefix())
	} else if some, err := l.objects.HasPrefix(l.bucket, l.prefix()); err != nil {
		return nil, l.wrapError(err)
	} else {
		below = some
	}
	if l.key != "" && !below {
		return nil, l.wrapError(errMissing)
	}
	return l.folderInfo(), nil
}

func (l location) readDir() ([]fs.DirEntry, error) {
	var found []Object
	var prefixes []string
	var err error
	if known := l.listingOf(l.bucket, l.prefix()); known != nil {
		found, prefixes = known.listFolder(l.prefix())
	} else if found, prefixes, err = l.objects.List(l.bucket, l.prefix(), true); err != nil {
		return nil, l.wrapError(err)
	}
	if len(found)+len(prefixes) == 0 && l.key != "" {
		return nil, l.wrapError(errMissing)
	}
	found = slices.DeleteFunc(found, isMark)
	list := make([]fs.DirEntry, 0, len(found)+len(prefixes))
	add := func(o Object, mode fs.FileMode) {
		name := cmp.Or(strings.TrimSuffix(o.Key[len(l.prefix()):], "/"), "/")
		o.Key = strings.TrimSuffix(o.Key, "/")
		list = append(list, fs.FileInfoToDirEntry(&info{name, l.bucket, o, mode}))
	}
	for _, o := range found {
		add(o, fileMode)
	}
	for _, p := range prefixes {
		add(Object{Key: p}, folderMode)
	}
	slices.SortStableFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// writer adds the path to write errors, and records that the object has changed.
type writer struct {
	Writer
	at location
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	return n, w.at.wrapError(err)
}

// Commit implements Writer.
func (w *writer) Commit() error {
	err := w.Writer.Commit()
	w.at.noteChange() // even after an error it may have
	return w.at.wrapError(err)
}

// info describes a remote file or folder. The object of a folder has only a key, without a trailing
// slash.
type info struct {
	name, bucket string
	object       Object
	mode         fs.FileMode
}

const (
	fileMode   fs.FileMode = 0o666
	folderMode             = fs.ModeDir | 0o777
)

// fileInfo returns the description of an object.
func (l location) fileInfo(o Object) *info { return &info{Base(l.path), l.bucket, o, fileMode} }

// folderInfo returns the description of a folder.
func (l location) folderInfo() *info {
	return &info{Base(l.path), l.bucket, Object{Key: strings.TrimSuffix(l.key, "/")}, folderMode}
}

// Name implements fs.FileInfo.
func (i *info) Name() string { return i.name }

// Size implements fs.FileInfo.
func (i *info) Size() int64 { return i.object.Size }

// Mode implements fs.FileInfo.
func (i *info) Mode() fs.FileMode { return i.mode }

// ModTime implements fs.FileInfo.
func (i *info) ModTime() time.Time { return i.object.ModTime }

// IsDir implements fs.FileInfo.
func (i *info) IsDir() bool { return i.mode.IsDir() }

// Sys implements fs.FileInfo. It returns the ETag of an object.
func (i *info) Sys() any { return i.object.ETag }

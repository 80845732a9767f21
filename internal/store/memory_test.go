package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// memory is object storage in memory that records every request.
type memory struct {
	mu       sync.Mutex
	buckets  map[string]map[string][]byte
	requests []string
}

func (m *memory) note(format string, args ...any) {
	m.requests = append(m.requests, fmt.Sprintf(format, args...))
}

func (m *memory) object(key string, data []byte) Object {
	return Object{Key: key, Size: int64(len(data)), ModTime: time.Unix(1, 0), ETag: fmt.Sprintf("%x", len(data))}
}

func (m *memory) List(bucket, prefix string, shallow bool) (objects []Object, prefixes []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note("list %s %v", prefix, shallow)
	b, ok := m.buckets[bucket]
	if !ok {
		return nil, nil, fmt.Errorf("no such bucket: %w", fs.ErrNotExist)
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		if slash := strings.IndexByte(rest, '/'); shallow && slash >= 0 {
			if p := prefix + rest[:slash+1]; !slices.Contains(prefixes, p) && p != prefix {
				prefixes = append(prefixes, p)
			}
			continue
		}
		objects = append(objects, m.object(key, b[key]))
	}
	return objects, prefixes, nil
}

func (m *memory) HasPrefix(bucket, prefix string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note("any %s", prefix)
	b, ok := m.buckets[bucket]
	if !ok {
		return false, fmt.Errorf("no such bucket: %w", fs.ErrNotExist)
	}
	for key := range b {
		if strings.HasPrefix(key, prefix) {
			return true, nil
		}
	}
	return false, nil
}

func (m *memory) Head(bucket, key string) (Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note("head %s", key)
	data, ok := m.buckets[bucket][key]
	if !ok {
		return Object{}, fs.ErrNotExist
	}
	return m.object(key, data), nil
}

type memorySource struct {
	*bytes.Reader
	id string
}

func (memorySource) Close() error { return nil }
func (s memorySource) ID() string { return s.id }

func (m *memory) Open(bucket string, o Object) (Source, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note("open %s %d", o.Key, o.Size)
	data, ok := m.buckets[bucket][o.Key]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return memorySource{bytes.NewReader(data), o.Key}, nil
}

type memoryWriter struct {
	bytes.Buffer
	m           *memory
	bucket, key string
}

func (w *memoryWriter) Commit() error {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	w.m.buckets[w.bucket][w.key] = w.Bytes()
	return nil
}
func (w *memoryWriter) Abort() {}

func (m *memory) Create(bucket, key string, _ bool) (Writer, error) {
	return &memoryWriter{m: m, bucket: bucket, key: key}, nil
}
func (m *memory) Writable(string, string) error { return nil }
func (m *memory) Remove(bucket, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.buckets[bucket], key)
	return nil
}

// useMemory fills a bucket b with keys; the content of each is its key.
func useMemory(t *testing.T, keys ...string) *memory {
	t.Helper()
	m := &memory{buckets: map[string]map[string][]byte{"b": {}}}
	for _, k := range keys {
		m.buckets["b"][k] = []byte(strings.TrimSuffix(k, "/"))
		if strings.HasSuffix(k, "/") {
			m.buckets["b"][k] = nil
		}
	}
	before := current.Load()
	UseObjects(func() (Objects, error) { return m, nil })
	t.Cleanup(func() { current.Store(before) })
	return m
}

func names(t *testing.T, path string) string {
	t.Helper()
	entries, err := ReadDir(path)
	if err != nil {
		return err.Error()
	}
	var list []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

// TestFolders: results are equal with and without a cached listing.
func TestFolders(t *testing.T) {
	m := useMemory(t, "run7/", "run7/a.npy", "run7/a/x", "run7/a/y/z", "run7/mark/", "run70/no", "run7x", "run7//odd", "run7/../up", "top")
	for _, loaded := range []bool{false, true} {
		if loaded {
			if err := errors.Join(Preload("s3://b/run7"), Preload("s3://b")); err != nil {
				t.Fatal(err)
			}
			m.requests = nil
		}
		for path, want := range map[string]string{
			"s3://b":               "run7/ run70/ run7x top",
			"s3://b/run7":          "../ // a/ a.npy mark/",
			"s3://b/run7/":         "../ // a/ a.npy mark/",
			"obs://b/run7/a":       "x y/",
			"s3://b/run7/a/y/":     "z",
			"s3://b/run":           "s3://b/run: no such object, and none below it",
			"s3://b/run7/a/x":      "s3://b/run7/a/x: no such object, and none below it",
			"s3://b/run7/..":       "up",
			"s3://b/run7//":        "odd",
			"s3://b/run7/mark":     "",
			"s3://b/run7/a/x/none": "s3://b/run7/a/x/none: no such object, and none below it",
		} {
			if got := names(t, path); got != want {
				t.Errorf("loaded %v: ReadDir(%s) = %q, want %q", loaded, path, got, want)
			}
		}
		for path, want := range map[string]string{
			"s3://b/run7": "folder run7", "s3://b/run7/": "folder run7", "s3://b/run7x": "file run7x 5",
			"s3://b/run7x/": "no such object, and none below it", "s3://b/run": "no such object, and none below it",
			"s3://b": "folder b", "s3://b/run7/a.npy": "file a.npy 10", "obs://b/top": "file top 3", "s3://": "no bucket is named, want s3://bucket/key",
		} {
			got := ""
			switch info, err := Stat(path); {
			case err != nil:
				got = strings.TrimPrefix(err.Error(), path+": ")
			case info.IsDir():
				got = "folder " + info.Name()
			default:
				got = fmt.Sprintf("file %s %d", info.Name(), info.Size())
			}
			if got != want {
				t.Errorf("loaded %v: Stat(%s) = %q, want %q", loaded, path, got, want)
			}
		}
		if loaded && len(m.requests) > 0 {
			t.Errorf("after Preload there were requests: %q", m.requests)
		}
	}
}

func TestChanged(t *testing.T) {
	m := useMemory(t, "in/x", "in/dir/y", "in/out/old")
	if err := Preload("s3://b/in"); err != nil {
		t.Fatal(err)
	}
	w, err := Create("obs://b/in/out/new")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "data")
	if err := errors.Join(w.Commit(), Remove("s3://b/in/out/old")); err != nil {
		t.Fatal(err)
	}
	if got := names(t, "s3://b/in/out"); got != "new" {
		t.Errorf("ReadDir = %q", got)
	}
	if got := names(t, "s3://b/in"); got != "dir/ out/ x" {
		t.Errorf("ReadDir = %q", got)
	}
	if info, err := Stat("s3://b/in/out/new"); err != nil || info.Size() != 4 {
		t.Errorf("Stat = %v, %v", info, err)
	}
	if _, err := Stat("s3://b/in/out/old"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat = %v", err)
	}
	m.requests = nil
	if got := names(t, "s3://b/in/dir"); got != "y" || len(m.requests) > 0 {
		t.Errorf("ReadDir = %q by %q", got, m.requests)
	}
	s, err := Open("s3://b/in/x")
	if err != nil || s.Size() != 4 || !slices.Equal(m.requests, []string{"open in/x 4"}) {
		t.Errorf("Open = %v, %v by %q", s, err, m.requests)
	}
}

func TestCheckFolder(t *testing.T) {
	m := useMemory(t, "out/x", "file")
	for range 2 {
		if err := errors.Join(CheckFolder("s3://b/out"), CheckFolder("obs://b/out/"), CheckFolder("s3://b")); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"head out"}; !slices.Equal(m.requests, want) {
		t.Errorf("requests %q, want %q", m.requests, want)
	}
	if err := CheckFolder("s3://b/file/"); err == nil || err.Error() != "s3://b/file/: an object has that name" {
		t.Errorf("CheckFolder = %v", err)
	}
}

func TestWalkDir(t *testing.T) {
	useMemory(t, "run/a/x", "run/b/y", "run/c", "run//d", "run0")
	var got []string
	err := WalkDir("s3://b/run", func(path string, d fs.DirEntry, err error) error {
		got = append(got, path)
		if d.Name() == "b" {
			return fs.SkipDir
		}
		return err
	})
	want := []string{"s3://b/run", "s3://b/run//", "s3://b/run//d", "s3://b/run/a", "s3://b/run/a/x", "s3://b/run/b", "s3://b/run/c"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("WalkDir: %q, %v", got, err)
	}
	got = nil
	if err := WalkDir("s3://b/none", func(_ string, _ fs.DirEntry, err error) error { return err }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("WalkDir = %v", err)
	}
}

func TestDescribed(t *testing.T) {
	m := useMemory(t, "x")
	for range 2 {
		info, err := Stat("s3://b/x")
		if err != nil || info.Size() != 1 {
			t.Fatalf("Stat = %v, %v", info, err)
		}
		if _, err := Open("obs://b/x"); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"head x", "open x 1", "open x 1"}; !slices.Equal(m.requests, want) {
		t.Errorf("requests %q, want %q", m.requests, want)
	}
	w, err := Create("s3://b/x")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "longer")
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if info, err := Stat("s3://b/x"); err != nil || info.Size() != 6 {
		t.Errorf("Stat = %v, %v", info, err)
	}
}

// TestListings compares cached listings of random keys with requests.
func TestListings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := useMemory(t, rapid.SliceOf(rapid.StringMatching(`[ab./0]{1,6}`)).Draw(rt, "keys")...)
		folder := "s3://b/" + rapid.StringMatching(`[ab./0]{0,3}`).Draw(rt, "folder")
		about := func() string {
			info, err := Stat(folder)
			if err != nil {
				return names(t, folder) + err.Error()
			}
			return fmt.Sprint(names(t, folder), info.Name(), info.IsDir(), info.Size())
		}
		asked := about()
		if err := Preload("s3://b"); err != nil {
			rt.Fatal(err)
		}
		m.requests = nil
		if known := about(); known != asked || len(m.requests) > 0 {
			rt.Errorf("%s: from memory %q, by requests %q; asked again: %q", folder, known, asked, m.requests)
		}
	})
}

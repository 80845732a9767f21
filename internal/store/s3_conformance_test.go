package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
)

// TestConformance checks the behaviour that this package relies on, for each server.
func TestConformance(t *testing.T) {
	for _, srv := range servers(t) {
		t.Run(srv.name, func(t *testing.T) {
			tests := map[string]func(*testing.T, *s3, string){
				"objects": conformObjects, "conditions": conformConditions, "new": conformNew, "list": conformList,
				"multipart": conformMultipart, "abort": conformAbort, "stale": conformStale, "parts": conformParts, "keys": conformKeys, "missing": conformMissing,
			}
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					s := srv.connect(t)
					test(t, s, s.bucket(t))
				})
			}
		})
	}
}

func conformObjects(t *testing.T, s *s3, bucket string) {
	t.Helper()
	for _, n := range []int{0, 1, headSize - 1, headSize, headSize + 1, 3 << 20} {
		data := pattern(n)
		s.mustPut(t, bucket, "run/x", data)
		f := s.mustOpen(t, bucket, "run/x")
		if f.Size() != int64(n) {
			t.Fatalf("size %d, want %d", f.Size(), n)
		}
		if got := readAll(t, f); !bytes.Equal(got, data) {
			t.Errorf("%d bytes: other ones came back", n)
		}
		o, err := s.Head(bucket, "run/x")
		if err != nil || o.Size != int64(n) || o.ETag == "" || o.ModTime.IsZero() {
			t.Errorf("Head = %+v, %v", o, err)
		}
		buf := make([]byte, 10)
		if m, err := f.ReadAt(buf, int64(n)); m != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %d, %v", m, err)
		}
	}
}

func conformConditions(t *testing.T, s *s3, bucket string) {
	t.Helper()
	s.mustPut(t, bucket, "x", pattern(200<<10))
	old, err := s.Head(bucket, "x")
	if err != nil {
		t.Fatal(err)
	}
	s.mustPut(t, bucket, "x", pattern(100<<10))
	f, err := s.Open(bucket, old)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.ReadAt(make([]byte, 10), 0)
	now, _ := s.Head(bucket, "x")
	want := "the object changed while it was read (ETag " + old.ETag[:4] + ".. when listed, " + now.ETag[:4] + ".. now)"
	if err == nil || err.Error() != want {
		t.Errorf("If-Match: %v, want %s", err, want)
	}
	var opt minio.PutObjectOptions
	opt.DisableContentSha256 = true
	opt.SetMatchETagExcept("*")
	md5Sum, shaSum := hashes([]byte("a"))
	_, err = s.core.PutObject(context.Background(), bucket, "x", strings.NewReader("a"), 1, md5Sum, shaSum, opt)
	if answer := statusOf(err); answer == nil || answer.status != http.StatusPreconditionFailed {
		t.Errorf("If-None-Match: %v, want 412", err)
	}
}

// conformNew creates objects that must not replace others.
func conformNew(t *testing.T, s *s3, bucket string) {
	t.Helper()
	for key, n := range map[string]int{"empty": 0, "small": 1000, "parts": partSize + 1} {
		data := pattern(n)
		if err := s.create(bucket, key, data, true); err != nil {
			t.Fatal(err)
		}
		err := s.create(bucket, key, pattern(n+7), true)
		if !errors.Is(err, fs.ErrExist) || err.Error() != "an object of that name already exists" {
			t.Errorf("%s: again: %v", key, err)
		}
		if got := readAll(t, s.mustOpen(t, bucket, key)); !bytes.Equal(got, data) {
			t.Errorf("%s: other %d bytes came back", key, len(got))
		}
	}
	if left, err := s.unfinishedUploads(bucket, ""); err != nil || len(left) > 0 {
		t.Errorf("uploads left: %+v, %v", left, err)
	}
}

func conformList(t *testing.T, s *s3, bucket string) {
	t.Helper()
	keys := []string{"run7/a", "run7/b/1", "run7/b/2", "run7/b/c/3", "run7/d/4", "run70/e", "top"}
	for _, k := range keys {
		s.mustPut(t, bucket, k, []byte(k))
	}
	for prefix, want := range map[string]struct{ all, shallow, prefixes string }{
		"":        {strings.Join(keys, " "), "top", "run7/ run70/"},
		"run7/":   {"run7/a run7/b/1 run7/b/2 run7/b/c/3 run7/d/4", "run7/a", "run7/b/ run7/d/"},
		"run7/b/": {"run7/b/1 run7/b/2 run7/b/c/3", "run7/b/1 run7/b/2", "run7/b/c/"},
		"nothing": {"", "", ""},
	} {
		for _, shallow := range []bool{false, true} {
			objects, prefixes, err := s.List(bucket, prefix, shallow)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objects {
				got = append(got, o.Key)
				if o.Size != int64(len(o.Key)) || o.ETag == "" || strings.Contains(o.ETag, `"`) {
					t.Errorf("%q: %+v", prefix, o)
				}
			}
			wanted, wantedPrefixes := want.all, ""
			if shallow {
				wanted, wantedPrefixes = want.shallow, want.prefixes
			}
			if strings.Join(got, " ") != wanted || strings.Join(prefixes, " ") != wantedPrefixes {
				t.Errorf("%q shallow=%v: %q %q, want %q %q", prefix, shallow, got, prefixes, wanted, wantedPrefixes)
			}
		}
		if found, err := s.HasPrefix(bucket, prefix); err != nil || found != (want.all != "") {
			t.Errorf("%q: any: %v, %v", prefix, found, err)
		}
	}
}

func conformMultipart(t *testing.T, s *s3, bucket string) {
	t.Helper()
	for _, n := range []int{partSize, partSize + 1, 2*partSize + 5} {
		data := pattern(n)
		w, err := s.Create(bucket, "run/big", false)
		if err != nil {
			t.Fatal(err)
		}
		for rest := data; len(rest) > 0; rest = rest[min(len(rest), 1<<20):] {
			if _, err := w.Write(rest[:min(len(rest), 1<<20)]); err != nil {
				t.Fatal(err)
			}
		}
		if n == partSize {
			if o, err := s.Head(bucket, "run/big"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("before Commit: %+v, %v", o, err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		w.Abort()
		if got := readAll(t, s.mustOpen(t, bucket, "run/big")); !bytes.Equal(got, data) {
			t.Errorf("%d bytes: other %d came back", n, len(got))
		}
		if o, err := s.Head(bucket, "run/big"); err != nil || !strings.Contains(o.ETag, "-") && s.endpoint == os.Getenv("TEST_S3_ENDPOINT") {
			t.Errorf("ETag of parts: %+v, %v", o, err)
		}
		if err := w.Commit(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("second Commit: %v", err)
		}
	}
}

func conformAbort(t *testing.T, s *s3, bucket string) {
	t.Helper()
	w, err := s.Create(bucket, "run/big", false)
	if err == nil {
		_, err = w.Write(pattern(partSize + 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	if begun, err := s.unfinishedUploads(bucket, "run/"); err != nil || len(begun) != 1 || begun[0].Key != "run/big" {
		t.Errorf("uploads: %+v, %v", begun, err)
	}
	w.Abort()
	w.Abort()
	if _, err := s.Head(bucket, "run/big"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Abort: %v", err)
	}
	if left, err := s.unfinishedUploads(bucket, ""); err != nil || len(left) > 0 {
		t.Errorf("uploads left: %+v, %v", left, err)
	}
	if err := w.Commit(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Commit after Abort: %v", err)
	}
	if err := s.Writable(bucket, "run/big"); err != nil {
		t.Error(err)
	}
}

// conformStale removes uploads that a killed process left.
func conformStale(t *testing.T, s *s3, bucket string) {
	t.Helper()
	for _, key := range []string{"run/a", "run/b", "run2/c"} {
		w, err := s.Create(bucket, key, false)
		if err == nil {
			_, err = w.Write(make([]byte, partSize))
		}
		if err != nil {
			t.Fatal(err)
		}
		w.(*upload).inFlight.Wait()
	}
	UseObjects(func() (Objects, error) { return s, nil })
	defer current.Store(nil)
	path := "s3://" + bucket + "/run"
	if removed, err := AbortStale(path, time.Now().Add(-time.Hour)); err != nil || len(removed) != 0 {
		t.Errorf("young uploads: %+v, %v", removed, err)
	}
	removed, err := AbortStale(path, time.Now().Add(time.Hour))
	if err != nil || len(removed) != 2 || removed[0].Path != path+"/a" || removed[1].Path != path+"/b" || removed[0].Begun.IsZero() {
		t.Errorf("old uploads: %+v, %v", removed, err)
	}
	if left, err := s.unfinishedUploads(bucket, ""); err != nil || len(left) != 1 || left[0].Key != "run2/c" {
		t.Errorf("left: %+v, %v", left, err)
	}
	if _, err := s.abortStale(bucket, "", time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
}

// conformParts uploads parts out of order.
func conformParts(t *testing.T, s *s3, bucket string) {
	t.Helper()
	ctx, data := context.Background(), pattern(partSize+100)
	id, err := s.core.NewMultipartUpload(ctx, bucket, "x", minio.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	u := &upload{s: s, bucket: bucket, key: "x", id: id, parts: 2, sent: map[int]string{}, size: int64(len(data))}
	u.sendPart(2, data[partSize:])
	u.sendPart(1, data[:partSize])
	if err := u.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, s.mustOpen(t, bucket, "x")); !bytes.Equal(got, data) {
		t.Errorf("other %d bytes came back", len(got))
	}
}

func conformKeys(t *testing.T, s *s3, bucket string) {
	t.Helper()
	keys := []string{"a b+c%20d", "run/x?y=z&u#v", "中文/张量", `back\slash`, "quote'\"<&>", "tab\there", "plus+", "~tilde*(x)!"}
	if s.endpoint != os.Getenv("TEST_S3_ENDPOINT") {
		keys = append(keys, "a//b", "a/../c", "./d", "a//") // servers on a file system refuse them
	}
	for _, k := range keys {
		s.mustPut(t, bucket, k, []byte(k))
	}
	objects, _, err := s.List(bucket, "", false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.Key)
		if data := readAll(t, s.mustOpen(t, bucket, o.Key)); string(data) != o.Key {
			t.Errorf("%q holds %q", o.Key, data)
		}
	}
	slices.Sort(keys)
	if !reflect.DeepEqual(got, keys) {
		t.Errorf("keys %q, want %q", got, keys)
	}
}

func conformMissing(t *testing.T, s *s3, bucket string) {
	t.Helper()
	if _, err := s.Open(bucket, Object{Key: "none", Size: -1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v", err)
	}
	if _, err := s.Head(bucket, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Head: %v", err)
	}
	if err := s.Remove(bucket, "none"); err != nil {
		t.Errorf("Remove: %v", err)
	}
	want := "no such bucket; endpoint " + s.endpoint + ", path style (--s3-endpoint)"
	for name, err := range map[string]error{
		"List":  second(s.List(bucket+"-2", "run7/", false)),
		"Any":   firstError(s.HasPrefix(bucket+"-2", "run7/")),
		"Open":  firstError(s.Open(bucket+"-2", Object{Key: "x", Size: -1})),
		"Write": s.Writable(bucket+"-2", "x"),
	} {
		if err == nil || err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

func second[A, B any](_ A, _ B, err error) error { return err }

func firstError[A any](_ A, err error) error { return err }

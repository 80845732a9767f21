package store

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
)

// TestMain hides the tester's own keys from the tests, except tests with the tester's own server.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_S3_ENDPOINT") == "" {
		for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
			_ = os.Setenv(name, os.DevNull)
		}
	}
	os.Exit(m.Run())
}

// testServer is a server for tests.
type testServer struct {
	name     string
	endpoint string
	getenv   func(string) string
}

// environment returns an environment for settings without the variables and files of the tester's
// machine.
func environment(values map[string]string) func(string) string {
	return func(name string) string {
		if v, ok := values[name]; ok {
			return v
		}
		switch name {
		case "AWS_EC2_METADATA_DISABLED":
			return "true"
		case "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE":
			return os.DevNull
		}
		return ""
	}
}

var testKeys = map[string]string{"AWS_ACCESS_KEY_ID": "AKIATESTKEYOFOURS", "AWS_SECRET_ACCESS_KEY": "not a secret"}

// fakeServer starts a server in this process.
func fakeServer(t testing.TB) testServer {
	t.Helper()
	fake := gofakes3.New(s3mem.New(), gofakes3.WithLogger(gofakes3.DiscardLog()), gofakes3.WithAutoBucket(false))
	srv := httptest.NewUnstartedServer(fake.Server())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	return testServer{"gofakes3", srv.URL, environment(testKeys)}
}

// servers returns the servers for tests: one in this process, and the server of the environment.
func servers(t *testing.T) []testServer {
	t.Helper()
	list := []testServer{fakeServer(t)}
	if endpoint := os.Getenv("TEST_S3_ENDPOINT"); endpoint != "" {
		list = append(list, testServer{"server", endpoint, os.Getenv})
	}
	return list
}

// connect returns a client with settings that make tests quick.
func (srv testServer) connect(t testing.TB, change ...func(*S3Settings)) *s3 {
	t.Helper()
	set := S3Settings{Endpoint: srv.endpoint, Getenv: srv.getenv, RetryTime: 2 * time.Second, firstWait: time.Millisecond}
	for _, c := range change {
		c(&set)
	}
	s, err := newS3(set)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bucket makes a bucket and removes it with its contents at the end, with a client of its own: the
// test may have interrupted s, or made it take the store for down.
func (s *s3) bucket(t testing.TB) string {
	t.Helper()
	name := "test-" + strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, t.Name()))
	name = strings.TrimRight(name[:min(len(name), 60)], "-")
	ctx := context.Background()
	if err := s.core.MakeBucket(ctx, name, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		set := s.set
		set.Context = ctx
		s, err := newS3(set)
		if err != nil {
			t.Fatal(err)
		}
		objects, _, err := s.List(name, "", false)
		if err != nil {
			t.Error(err)
		}
		for _, o := range objects {
			if err := s.Remove(name, o.Key); err != nil {
				t.Error(err)
			}
		}
		if err := s.core.RemoveBucket(ctx, name); err != nil {
			t.Error(err)
		}
	})
	return name
}

// mustPut uploads an object with our own code.
func (s *s3) mustPut(t testing.TB, bucket, key string, data []byte) {
	t.Helper()
	if err := s.create(bucket, key, data, false); err != nil {
		t.Fatal(err)
	}
}

func (s *s3) create(bucket, key string, data []byte, isNew bool) error {
	w, err := s.Create(bucket, key, isNew)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Commit()
	}
	return err
}

// mustOpen opens an object of unknown size and version.
func (s *s3) mustOpen(t testing.TB, bucket, key string) Source {
	t.Helper()
	f, err := s.Open(bucket, Object{Key: key, Size: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// readAll reads an open object from beginning to end.
func readAll(t testing.TB, f Source) []byte {
	t.Helper()
	data, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// pattern returns n pseudorandom bytes.
func pattern(n int) []byte {
	data := make([]byte, n)
	x := uint32(1)
	for i := range data {
		x = x*1664525 + 1013904223
		data[i] = byte(x >> 24)
	}
	return data
}

package main

import (
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/rogpeppe/go-internal/testscript"

	"dumptool/internal/store"
)

// s3Bucket is the bucket of the tests. A server that is named by the environment has it,
// and nothing in it.
const s3Bucket = "dumptool-test"

// s3Server is a server to run scripts with.
type s3Server struct {
	name string
	env  []string
	objects
}

type objects struct{ store.Objects }

// TestObjectStorage runs testdata/s3/*.txtar with a server in this process, and with
// that of the variable DUMPTOOL_TEST_S3.
func TestObjectStorage(t *testing.T) {
	t.Parallel()
	backend := s3mem.New()
	if err := backend.CreateBucket(s3Bucket); err != nil {
		t.Fatal(err)
	}
	fake := httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	t.Cleanup(fake.Close)
	servers := []s3Server{{name: "gofakes3", env: []string{
		"AWS_ENDPOINT_URL_S3=" + fake.URL, "AWS_ACCESS_KEY_ID=AKIAIOSFODNN4F2Q", "AWS_SECRET_ACCESS_KEY=not a secret",
	}}}
	if endpoint := os.Getenv("DUMPTOOL_TEST_S3"); endpoint != "" {
		servers = append(servers, s3Server{name: "server", env: []string{
			"AWS_ENDPOINT_URL_S3=" + endpoint, "AWS_ACCESS_KEY_ID=" + os.Getenv("AWS_ACCESS_KEY_ID"), "AWS_SECRET_ACCESS_KEY=" + os.Getenv("AWS_SECRET_ACCESS_KEY"),
		}})
	}
	for _, srv := range servers {
		t.Run(srv.name, func(t *testing.T) {
			t.Parallel()
			srv.run(t)
		})
	}
}

// run runs the scripts. Each has a folder of the bucket for itself, s3://$BUCKET/....
func (srv *s3Server) run(t *testing.T) {
	t.Helper()
	srv.env = append(srv.env, "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	var err error
	srv.Objects, err = store.NewS3(store.S3Settings{Getenv: func(name string) string {
		for _, v := range srv.env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	testdata, err := filepath.Abs(filepath.Join("..", "..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/s3",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			folder := s3Bucket + "/" + filepath.Base(env.WorkDir)
			env.Vars = append(env.Vars, srv.env...)
			env.Vars = append(env.Vars, "BUCKET="+folder, "DATA="+testdata, "XDG_CONFIG_HOME="+env.WorkDir+"/.config", "LC_ALL=C")
			env.Defer(func() { srv.clean(t, filepath.Base(env.WorkDir)+"/") })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"put": srv.put, "get": srv.get, "status": runForStatus},
	})
}

// key is that of a path s3://bucket/key.
func key(path string) string { return strings.TrimPrefix(path, "s3://"+s3Bucket+"/") }

// put uploads "put FILE|FOLDER s3://...".
func (o objects) put(ts *testscript.TestScript, _ bool, args []string) {
	root := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, _ := filepath.Rel(root, path)
		to := key(args[1])
		if below != "." {
			to += "/" + filepath.ToSlash(below)
		}
		w, err := o.Create(s3Bucket, to, false)
		if err != nil {
			return err
		}
		defer w.Abort()
		if _, err := w.Write(data); err != nil {
			return err
		}
		return w.Commit()
	}))
}

// get downloads "get s3://... FOLDER".
func (o objects) get(ts *testscript.TestScript, _ bool, args []string) {
	prefix := key(args[0]) + "/"
	found, _, err := o.List(s3Bucket, prefix, false)
	ts.Check(err)
	for _, object := range found {
		src, err := o.Open(s3Bucket, object)
		ts.Check(err)
		data, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
		ts.Check(err)
		ts.Check(src.Close())
		path := filepath.Join(ts.MkAbs(args[1]), filepath.FromSlash(strings.TrimPrefix(object.Key, prefix)))
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o777))
		ts.Check(os.WriteFile(path, data, 0o666))
	}
}

// clean removes what is left of a script.
func (o objects) clean(t *testing.T, prefix string) {
	t.Helper()
	found, _, err := o.List(s3Bucket, prefix, false)
	if err != nil {
		t.Error(err)
	}
	for _, object := range found {
		if err := o.Remove(s3Bucket, object.Key); err != nil {
			t.Error(err)
		}
	}
}
